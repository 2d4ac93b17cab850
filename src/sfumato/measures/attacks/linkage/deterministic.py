"""Deterministic linkage: the released records that a known person's values may have become."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.cells import Cells, count_cells
from sfumato.core.keys import first_of
from sfumato.core.microdata import encode
from sfumato.core.wording import percent, quoted
from sfumato.measures.attacks.kernels import count_boxes, covered, grow, hulls
from sfumato.measures.attacks.linkage import THREADS, LinkedPair, chunks, common_columns, credited, pair_of
from sfumato.measures.attacks.result import MOST, Attack
from sfumato.measures.labels_cover import Cover, ValueRun, read_labels

FITS = 0.9  # share of people whose own record must be among the candidates for the order of the rows to be believed


def deterministic_linkage(
    released: Any,
    external: Any,
    columns: Any = None,
    *,
    truth: Any = None,
    hierarchies: Mapping[str, Any] | None = None,
    most: int = MOST,
) -> Attack:
    """How many people of an external table are found in the release by what their values may have become.

    The candidates of a person are the released records whose labels cover the person's values in every column: the
    value itself, a range, a set, a mask, a label of a hierarchy; `*` and missing values cover anything. A text that
    cannot be read, such as a town where nobody known lives, covers the values that its people have, where it is known
    who is who; else nothing, or where no label of its column can be read, anything. One of n candidates is picked
    blindly: right with probability 1/n where the person's record is among them. Where it is not known who is who, the
    record is taken to be among its candidates; so it is where only the order of the rows suggests who is who, and
    records in the same place do not fit each other.

    Parameters
    ----------
    released, external
        Frames or paths: the release, and the table with the people an attacker knows.
    columns
        The columns to link on; by default all that both tables have.
    truth
        Who is who: a pair of column names (released, external), the released row of each external row (-1: none), or
        "unknown"; by default row i is row i where both tables have as many rows.
    hierarchies
        Column to the hierarchy that explains its labels.
    most
        How many row numbers to name.

    Examples
    --------
    >>> people = {"age": [21, 25, 33, 38], "sex": ["f", "m", "f", "f"]}
    >>> release = {"age": ["[20, 30)", "[20, 30)", "[30, 40)", "[30, 40)"], "sex": ["f", "m", "*", "*"]}
    >>> deterministic_linkage(release, people).success
    0.75

    References
    ----------
    Sweeney, "k-anonymity: a model for protecting privacy", 2002; Duncan, Lambert, "Disclosure-limited data
    dissemination", JASA 1986.
    """
    pair = pair_of(released, external, truth)
    names = common_columns(pair, columns)
    pair, found, note = _settled(pair, names, hierarchies)
    n = found.candidates
    credit = np.divide(1.0, n, out=np.zeros(len(n)), where=n > 0)
    rows = None
    if pair.truth is None:
        rows = found.sole
        told = "; taking each to be among the candidates,"
    else:
        credit[~found.holds] = 0.0
        told = ", and"
    matched, sole = int((n > 0).sum()), int((n == 1).sum())
    expected = float(credit.sum())
    sentence = (
        f"Of {len(n)} people known by {quoted(names)}, {matched} have candidates among the released records, {sole} a "
        f"single one{told} {expected:.1f} ({percent(expected / len(n))}) are expected to be found; "
        f"guessing finds {percent(pair.baseline)}."
    )
    if groups := [name for name, unread in zip(names, found.strange, strict=True) if unread]:
        sentence += (
            f" Texts of {quoted(groups)} that fit no value of the external table are taken for values of others."
        )
    sentence += f" {note}" if note else ""
    details: dict[str, Any] = {
        "columns": list(names),
        "with candidates": matched,
        "single candidate": sole,
        "median candidates": float(np.median(n)),
        "unread labels": dict(zip(names, found.unread, strict=True)),
        "values of others": dict(zip(names, found.strange, strict=True)),
        "truth known": pair.truth is not None,
    } | ({"note": note} if note else {})
    return credited("deterministic linkage", pair, credit, sentence, most, rows=rows, details=details)


def candidates(
    released: Any,
    external: Any,
    columns: Any = None,
    *,
    truth: Any = None,
    hierarchies: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """Per external record: how many released records it may be, that record's row where there is only one, and
    whether the right one is among them (missing where that is not known).

    >>> candidates({"age": ["2*", "2*", "33"]}, {"age": [21, 25, 33]}).rows()
    [(2, None, True), (2, None, True), (1, 2, True)]
    """
    pair = pair_of(released, external, truth)
    pair, found, _ = _settled(pair, common_columns(pair, columns), hierarchies)
    holds = None if pair.truth is None else found.holds
    sole = pl.Series(found.sole).replace(-1, None)
    return pl.DataFrame(
        {"candidates": found.candidates, "row": sole, "among": holds}, schema_overrides={"among": pl.Boolean}
    )


@dataclass(frozen=True, eq=False)
class Matched:
    """Per external row: its candidates, the row of a single one (-1), and whether the right one is among them.

    `told` says whether a label that can be read bears that out. Per column `unread` has the labels that may be anything
    or were learnt from who is who, `strange` those that are taken for values of other people.
    """

    candidates: np.ndarray
    sole: np.ndarray
    holds: np.ndarray
    told: np.ndarray
    unread: list[int]
    strange: list[int]


def _settled(
    pair: LinkedPair, names: tuple[str, ...], hierarchies: Mapping[str, Any] | None
) -> tuple[LinkedPair, Matched, str | None]:
    """The tables matched, without a truth that the order of the rows suggests and the records do not bear out.

    Where next to nobody has a candidate, values were moved and not blurred: that says nothing about the order.
    """
    found = match(pair, names, hierarchies)
    fits = found.holds[found.told]
    if not pair.supposed or not len(fits) or fits.mean() >= FITS or (found.candidates > 0).mean() <= 1 - FITS:
        return pair, found, None
    note = (
        "The external table is as long as the one it is held against, but records in the same place do not fit each "
        "other, so its order does not tell who is who."
    )
    unknown = LinkedPair(pair.released, pair.external, None)
    return unknown, match(unknown, names, hierarchies), note


def match(pair: LinkedPair, names: tuple[str, ...], hierarchies: Mapping[str, Any] | None) -> Matched:
    """Match the distinct tuples of both tables: labels against values once per column, then boxes against points."""
    values, points, point_of = _coded(pair.external, names)
    texts, cells, cell_of = _coded(pair.released, names)
    here = np.empty(0, np.int64) if pair.truth is None else np.flatnonzero(pair.truth >= 0)
    own = here if pair.truth is None else cell_of[pair.truth[here]]  # the cell of each person who is released
    begin, low, high, listed_, stars, unread, strange = [np.zeros(1, np.int64)], [], [], [], [], [], []
    told = np.zeros(pair.external.height, np.bool_)
    for c, (name, label, value) in enumerate(zip(names, texts, values, strict=True)):
        known = value[:-1] if value and value[-1] is None else value
        spec = (hierarchies or {}).get(name)
        cover = read_labels(label, known, spec, unread=True, strangers=True, wildcard=True, name=name)
        if len(here) and not cover.read.all():
            cover = _learnt(cover, cells.codes[c][own], points.codes[c][point_of[here]])
        lo, hi, lists = _ranges(cover)
        low.append(lo)
        high.append(hi)
        begin.append(np.cumsum([len(entries) for entries in lists]) + begin[-1][-1])
        listed_ += lists
        stars.append((lo == 0) & (hi == len(known) - 1) & np.array([not len(entries) for entries in lists]))
        unread.append(int((~cover.read & (lo <= hi)).sum()))
        strange.append(int((~cover.read & (lo > hi)).sum()))
        if pair.supposed:
            told[here] |= (cover.read & ~stars[-1])[cells.codes[c][own]]
    offset = np.concatenate([[0], np.cumsum([len(label) for label in texts])])[:-1]
    labels = cells.codes + offset[:, None]
    point = points.codes.astype(np.int64)
    for c, value in enumerate(values):
        if value and value[-1] is None:  # what the attacker does not know fits anything
            point[c][point[c] == len(value) - 1] = -1
    no_list = np.empty(0, np.int64)
    table = [np.concatenate(part) for part in (low, high, begin, [*listed_, no_list])]
    found, sole = _count(point, labels, cells.count, np.concatenate(stars), table)
    holds = np.zeros(pair.external.height, np.bool_)
    holds[here] = covered(labels, point, own, point_of[here], *table)
    row = np.where(found == 1, first_of(cell_of, len(cells))[sole], -1)
    return Matched(found[point_of], row[point_of], holds, told, unread, strange)


def _learnt(cover: Cover, label: np.ndarray, value: np.ndarray) -> Cover:
    """The cover with labels that cannot be read as groups of the values that their people have: label[i], value[i]."""
    some = ~cover.read[label] & (value < cover.values)  # not those whose value nobody knows
    pairs = np.unique(np.stack([label[some], value[some]]).astype(np.int64), axis=1)
    start = np.searchsorted(pairs[0], np.arange(len(cover.found) + 1))
    found = [
        f if read else pairs[1][start[i] : start[i + 1]]
        for i, (f, read) in enumerate(zip(cover.found, cover.read.tolist(), strict=True))
    ]
    return Cover(tuple(found), cover.read, cover.values)


def _coded(frame: pl.DataFrame, names: tuple[str, ...]) -> tuple[list[tuple[str | None, ...]], Cells, np.ndarray]:
    coded = [encode(frame.get_column(name)) for name in names]
    cells, cell_of_row = count_cells(names, [code for _, code in coded], [len(categories) for categories, _ in coded])
    return [categories.text for categories, _ in coded], cells, cell_of_row


def _ranges(cover: Cover) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
    """Least and greatest value of each label, and the values themselves where it has gaps."""
    low, high = np.zeros(len(cover.found), np.int64), np.full(len(cover.found), -1, np.int64)
    nothing = np.empty(0, np.int64)
    lists = []
    ascending: dict[int, bool] = {}
    for i, members in enumerate(cover.found):
        entries = members
        if isinstance(members, ValueRun):
            number = members.order.number
            key = id(members.order)
            if key not in ascending:
                ascending[key] = bool((np.diff(number) == 1).all())
            if ascending[key] and members.stop > members.start:  # a range of values in their order: no need to list it
                low[i], high[i] = number[members.start], number[members.stop - 1]
                lists.append(nothing)
                continue
            entries = members.numbers()
        entries = np.sort(np.asarray(entries))
        if len(entries):
            low[i], high[i] = entries[0], entries[-1]
        lists.append(entries if len(entries) and high[i] - low[i] + 1 > len(entries) else nothing)
    return low, high, lists


def _count(
    point: np.ndarray, labels: np.ndarray, count: np.ndarray, star: np.ndarray, table: list[np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """For each point the rows of the boxes that hold it and one of the boxes; a tree for each set of open columns."""
    low, high, begin, listed_ = table
    found, sole = np.zeros(point.shape[1], np.int64), np.zeros(point.shape[1], np.int64)
    width = np.maximum(point.max(axis=1), 1)
    patterns, of = np.unique(star[labels].T, axis=0, return_inverse=True)
    for pattern in range(len(patterns)):
        items = np.flatnonzero(of.reshape(-1) == pattern)
        labels_here = labels[:, items]
        place = np.concatenate([low[labels_here], high[labels_here]]).T.astype(np.float64)
        order, start, stop, right = grow(place, np.tile(1.0 / width, 2))
        here = items[order]
        hull, rows = hulls(labels, here, start, stop, right, low, high, begin, count)
        tree = (labels, here, start, stop, right, hull, rows, low, high, begin, listed_, count, found, sole)
        with ThreadPoolExecutor(THREADS) as pool:
            list(
                pool.map(lambda part, tree=tree: count_boxes(point, *part, *tree), chunks(point.shape[1], 4 * THREADS))
            )
    return found, sole
