"""Deterministic linkage: the released records that a known person's values may have become."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.compiled import threads, workers
from sfumato.core.keys import first_of
from sfumato.core.parameters import checked
from sfumato.core.wording import percent, quoted
from sfumato.measures.arguments import HIERARCHIES, LISTED, RELEASED, SOME_COLUMNS, TABLE
from sfumato.measures.attacks.classes import Encoded
from sfumato.measures.attacks.kernels import count_bits, covered
from sfumato.measures.attacks.linkage import LinkedPair, chunks, common_columns, credited, pair_of
from sfumato.measures.attacks.linkage.covering import CodedPair, code_pair, open_parts
from sfumato.measures.attacks.result import MOST, Attack

FITS = 0.9  # share of people whose own record must be among the candidates for the order of the rows to be believed


@checked
def deterministic_linkage(
    released: Annotated[Any, RELEASED],
    external: Annotated[Any, TABLE],
    columns: Annotated[Any, SOME_COLUMNS] = None,
    *,
    truth: Any = None,
    hierarchies: Annotated[Mapping[str, Any] | None, HIERARCHIES] = None,
    most: Annotated[int, LISTED] = MOST,
    encoded: Encoded | None = None,
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
    encoded
        Columns that another attack has encoded.

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
    pair, found, note = _settled(pair, names, hierarchies, encoded or Encoded())
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
    if groups := [name for name, unread in zip(names, found.coded.strange, strict=True) if unread]:
        sentence += (
            f" Texts of {quoted(groups)} that fit no value of the external table are taken for values of others."
        )
    sentence += f" {note}" if note else ""
    details: dict[str, Any] = {
        "columns": list(names),
        "with candidates": matched,
        "single candidate": sole,
        "median candidates": float(np.median(n)),
        "unread labels": dict(zip(names, found.coded.unread, strict=True)),
        "values of others": dict(zip(names, found.coded.strange, strict=True)),
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
    pair, found, _ = _settled(pair, common_columns(pair, columns), hierarchies, Encoded())
    holds = None if pair.truth is None else found.holds
    sole = pl.Series(found.sole).replace(-1, None)
    return pl.DataFrame(
        {"candidates": found.candidates, "row": sole, "among": holds}, schema_overrides={"among": pl.Boolean}
    )


@dataclass(frozen=True, eq=False)
class Matched:
    """Per external row: its candidates, the row of a single one (-1), and whether the right one is among them."""

    candidates: np.ndarray
    sole: np.ndarray
    holds: np.ndarray
    coded: CodedPair


def _settled(
    pair: LinkedPair, names: tuple[str, ...], hierarchies: Mapping[str, Any] | None, encoded: Encoded
) -> tuple[LinkedPair, Matched, str | None]:
    """The tables matched, without a truth that the order of the rows suggests and the records do not bear out.

    Where next to nobody has a candidate, values were moved and not blurred: that says nothing about the order.
    """
    coded = code_pair(pair, names, hierarchies, encoded)
    holds = np.zeros(pair.external.height, np.bool_)
    holds[coded.here] = covered(coded.labels, coded.point, coded.own, coded.point_of[coded.here], *coded.table)
    fits = holds[coded.told]
    if not pair.supposed or not len(fits) or fits.mean() >= FITS:
        return pair, _matched(coded, holds), None
    unknown = LinkedPair(pair.released, pair.external, None)
    learnt = any(coded.unread) or any(coded.strange)
    found = _matched(code_pair(unknown, names, hierarchies, encoded) if learnt else coded, holds)
    if not learnt and (found.candidates > 0).mean() <= 1 - FITS:
        return pair, found, None
    note = (
        "The external table is as long as the one it is held against, but records in the same place do not fit each "
        "other, so its order does not tell who is who."
    )
    return unknown, found, note


def _matched(coded: CodedPair, holds: np.ndarray) -> Matched:
    """The candidates of each person, from the distinct tuples of both tables."""
    found, sole = _count(coded)
    row = np.where(found == 1, first_of(coded.cell_of, len(coded.count))[sole], -1)
    return Matched(found[coded.point_of], row[coded.point_of], holds, coded)


def _count(coded: CodedPair) -> tuple[np.ndarray, np.ndarray]:
    """For each point the rows of the cells that hold it, and one of these cells."""
    found, sole = np.zeros((2, coded.point.shape[1]), np.int64)
    for some in open_parts(coded):
        points = some.point.shape[1]
        rows, cell = np.zeros(points, np.int64), np.full(points, -1, np.int64)
        bits = (some.point, some.columns, some.part, some.holds, some.begin, some.stop, some.coarse, some.cells)
        given = (*bits, coded.labels, *coded.table, coded.count, rows, cell)
        with workers() as pool:
            list(pool.map(lambda part, given=given: count_bits(*part, *given), chunks(points, 4 * threads())))
        found += rows[some.of]
        sole = np.where(cell[some.of] >= 0, cell[some.of], sole)
    return found, sole
