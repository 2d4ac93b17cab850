"""Minimal sample uniques: the smallest sets of columns on which a record stands alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from math import comb, factorial
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.cells import count_cells
from sfumato.core.compiled import threads, workers
from sfumato.core.parameters import YesNo, checked, share_of, whole_number
from sfumato.core.wording import quoted
from sfumato.engines.memory.table import enter
from sfumato.errors import PolicyError
from sfumato.measures.arguments import COUNT, FRACTION, QUASI, TABLE, WILDCARD
from sfumato.measures.measure import Measure
from sfumato.measures.risk.kernels import uniques, weigh
from sfumato.measures.risk.keys import Keys, keys_of, matched
from sfumato.measures.table import table_of

WORD = 6  # the sets of so many columns are the bits of one word
MOST_BYTES = 2**31  # of marks


@dataclass(frozen=True, eq=False)
class Uniques:
    """Per cell: the weighted number of its minimal sample uniques, the part of it with each column, their number and
    least size (0: it has none), the number of its rows, and of those that match it on all columns. `cell_of_row` is
    None where the table is known by counts alone."""

    names: tuple[str, ...]
    cell_of_row: np.ndarray | None
    rows: np.ndarray
    size: np.ndarray
    score: np.ndarray
    parts: np.ndarray  # [columns, cells]
    number: np.ndarray
    least: np.ndarray


def minimal_uniques(
    data: Any, quasi: Any, up_to: int | None, wildcard: bool, weight: Callable[[int, int], float]
) -> Uniques:
    """Find them for every row; a minimal unique of s of M columns counts weight(s, M)."""
    up_to = None if up_to is None else whole_number(up_to, "up_to")
    keys = keys_of(table_of(data), quasi, wildcard=wildcard)
    columns = len(keys.cells.names)
    most = columns if up_to is None else min(up_to, columns)
    weights = np.array([0.0, *(weight(s, columns) for s in range(1, columns + 1))])
    cells = len(keys.cells)
    score, parts = np.zeros(cells), np.zeros((columns, cells))
    number, least = np.zeros(cells, np.int64), np.zeros(cells, np.int64)
    cell_of_row = keys.cell_of_row if keys.row_counts is None else None
    found = Uniques(keys.cells.names, cell_of_row, keys.sample, keys.size, score, parts, number, least)
    (_by_level if wildcard and not keys.known.all() else _by_partition)(keys, most, weights, found)
    return found


def _by_partition(keys: Keys, most: int, weights: np.ndarray, found: Uniques) -> None:
    """Per cell, by walking all sets of columns once; columns of many values split first: groups end soon."""
    cells = keys.cells
    columns, values = len(cells.names), max(cells.sizes)
    low = max(min(columns, 1), min(WORD, columns - 2))
    tall = columns - low
    if tall > 62 or sum(comb(tall, s) for s in range(min(most, tall) + 1)) * len(cells) * 8 > MOST_BYTES:
        what = f"{columns} columns of {len(cells)} different tuples have too many sets of columns to look at"
        hint = "limit their size, as in up_to=3 (suda=3 of sf.risk, --suda-up-to 3), or leave columns out"
        raise PolicyError(what, hint=hint)
    chosen = (some for s in range(min(most, tall) + 1) for some in combinations(range(tall), s))
    above = sorted(sum(1 << j for j in some) for some in chosen)  # a set comes after those within it
    at = {mask: i for i, mask in enumerate(above)}
    parent = np.array([[at[m ^ 1 << j] if m >> j & 1 else -1 for j in range(tall)] for m in above], np.int64)
    parent = parent.reshape(len(above), tall)
    order = np.argsort(cells.sizes, kind="stable")
    codes = np.ascontiguousarray(cells.codes[order].astype(np.uint8 if values <= 256 else np.int32))
    marks = np.zeros((len(above), len(cells)), np.uint64)
    if len(cells) == 1:  # alone on any column
        marks[at[0]] = sum(1 << (1 << j) for j in range(low))
        marks[[at[1 << j] for j in range(tall)]] = 1
    edges = np.linspace(0, len(cells), threads() + 1).astype(np.int64).tolist()
    with workers() as pool:
        if len(cells) > 1:
            list(pool.map(lambda m: uniques(codes, values, low, m, most, marks[at[m]]), above))
        marks[:, cells.count > 1] = 0  # who has a double is never unique
        parts = np.zeros_like(found.parts)  # columns as ordered here
        per_cell = (found.score, parts, found.number, found.least)
        rest = (low, np.array(above), parent, weights, *per_cell)
        list(pool.map(lambda a, b: weigh(marks, a, b, *rest), edges[:-1], edges[1:]))
    found.parts[order] = parts


def _by_level(keys: Keys, most: int, weights: np.ndarray, found: Uniques) -> None:
    """The same where a missing value matches anything: set by set, the smaller first.

    Only sets of columns that a cell knows can be minimal: on a missing one it matches everybody.
    """
    cells, known = keys.cells, keys.known
    score, parts, number, least = found.score, found.parts, found.number, found.least
    smaller: dict[tuple[int, ...], np.ndarray] = {}
    for s in range(1, most + 1):
        level: dict[tuple[int, ...], np.ndarray] = {}
        for chosen in combinations(range(len(cells.names)), s):
            at = list(chosen)
            sizes, knows = [cells.sizes[c] for c in chosen], known[at].all(axis=0)
            part, of = count_cells([cells.names[c] for c in chosen], list(cells.codes[at]), sizes)
            tells = np.empty(part.codes.shape, np.bool_)
            tells[:, of] = known[at]
            rows = np.bincount(of, weights=cells.count).astype(np.int64)
            met = matched(part.codes, sizes, tells, rows)[of]
            alone = (met == 1) & knows
            if not alone.any():
                continue
            level[chosen] = alone
            lesser = [smaller[rest] for rest in combinations(chosen, s - 1) if rest in smaller]
            first = alone & ~np.logical_or.reduce(lesser) if lesser else alone
            score[first] += weights[s]
            parts[np.ix_(at, first)] += weights[s]
            number[first] += 1
            least[first & (least == 0)] = s
        smaller = level


@checked
def suda(
    data: Annotated[Any, TABLE],
    quasi: Annotated[Any, QUASI],
    sampling_fraction: Annotated[float, FRACTION] = 0.1,
    *,
    up_to: Annotated[int | None, COUNT] = None,
    wildcard: Annotated[bool, WILDCARD] = False,
    original_scores: Annotated[bool, YesNo()] = True,
) -> pl.DataFrame:
    """SUDA scores, disclosure risk (DIS) and what each column contributes, per record.

    A minimal sample unique of a record is a set of columns on which it stands alone while it does not on any smaller
    set within. With M columns, one of s columns adds (M - s)! to the score: the fewer columns it takes, and the more
    such sets there are, the more special the record is. DIS = 1/(1 + P (1 - f)/f / (S^Q sum_j S_j^-Q)) estimates the
    probability that a link to a record of score S is correct, with f the sampling fraction, P the records in classes of
    two, Q = 1 + (8 - M)/20 and the sum over all records of a score; it is 0 where the score is.

    Parameters
    ----------
    data
        A frame or the path of a file.
    quasi
        The columns.
    sampling_fraction
        The share of the population that is in the table, above 0 and up to 1.
    up_to
        Look at sets of so many columns at most; all where None.
    wildcard
        Whether a missing value (and `*`) matches anything; else it is a value of its own.
    original_scores
        False weighs a minimal unique of s columns by (2^(M-s) - 1) s! (M-s)!/M! instead, which for s = M is 0.

    Returns
    -------
    One row per record: `score`, `dis`, and for each column `<name>_contribution`, the share of the score that comes
    from minimal uniques with that column.

    Examples
    --------
    >>> table = {"sex": ["f", "f", "m", "m"], "town": ["A", "A", "A", "B"]}
    >>> suda(table, ["sex", "town"])["score"].to_list()
    [0.0, 0.0, 1.0, 1.0]

    References
    ----------
    Elliot, Manning, Ford, "A computational algorithm for handling the special uniques problem", 2002; Manning, Haglin,
    Keane, "A recursive search algorithm for statistical disclosure assessment", Data Mining and Knowledge Discovery
    2008; Elliot, "Integrating file and record level disclosure risk assessment", 2002.
    """
    found, dis = _scored(enter(data)[0], quasi, sampling_fraction, up_to, wildcard, original_scores)
    part = np.divide(found.parts, found.score, out=np.zeros_like(found.parts), where=found.score > 0)
    per_cell = {"score": found.score, "dis": dis}
    per_cell |= {f"{name}_contribution": share for name, share in zip(found.names, part, strict=True)}
    return pl.DataFrame({name: values[found.cell_of_row] for name, values in per_cell.items()})


def suda_attributes(
    data: Any, quasi: Any, *, up_to: int | None = None, wildcard: bool = False, original_scores: bool = True
) -> pl.DataFrame:
    """For each column, the percentage of all scores that comes from minimal uniques with that column.

    The percentages do not add up to 100: a minimal unique counts for each of its columns.

    >>> table = {"sex": ["f", "f", "m", "m"], "town": ["A", "A", "A", "B"]}
    >>> suda_attributes(table, ["sex", "town"]).rows()
    [('sex', 50.0), ('town', 100.0)]
    """
    found, _ = _scored(data, quasi, 1.0, up_to, wildcard, original_scores)
    total = float(found.score.sum())  # who has a score is the only row of its cell
    percent = found.parts.sum(axis=1) * (100 / total if total else 0.0)
    return pl.DataFrame({"attribute": found.names, "contribution": percent})


def suda_risk(
    data: Any, quasi: Any, sampling_fraction: float = 0.1, *, up_to: int | None = None, wildcard: bool = False
) -> Measure:
    """The mean DIS of the records: the share expected to be linked correctly by someone who tries them all.

    >>> suda_risk({"town": ["A", "A", "A"]}, ["town"]).value
    0.0
    """
    found, dis = _scored(data, quasi, sampling_fraction, up_to, wildcard, True)
    special, records = int((found.score > 0).sum()), int(found.rows.sum())
    expected = float(dis.sum())  # who has a score is the only row of its cell
    exposed: list[int] = []
    if found.cell_of_row is not None:  # rows that are counted elsewhere have no numbers
        of_record = dis[found.cell_of_row]
        exposed = [int(i) for i in np.argsort(-of_record, kind="stable")[:10] if of_record[i] > 0]
    some = "some of these columns" if up_to is None else f"up to {up_to} of these columns"
    sentence = (
        f"{special} of {records} records stand alone on {quoted(found.names)} or on {some}; a link to "
        f"such a record is correct with probability {dis.max():.3f} at most, and {expected / records:.5f} on average "
        f"over all, where the table holds {sampling_fraction:.4g} of the population."
    )
    details = {
        "records": records,
        "with_score": special,
        "highest_score": float(found.score.max()),
        "highest": float(dis.max()),
        "expected": expected,
        "sampling_fraction": float(sampling_fraction),
        "most_exposed": exposed,
    }
    return Measure("SUDA", expected / records, (0.0, 1.0), sentence, details=details)


def _scored(
    data: Any, quasi: Any, fraction: float, up_to: int | None, wildcard: bool, original: bool
) -> tuple[Uniques, np.ndarray]:
    fraction = share_of(fraction, "sampling_fraction", above=True)
    found = minimal_uniques(data, quasi, up_to, wildcard, _original if original else _share)
    pairs = int(found.rows[found.size == 2].sum())
    # a cell with a score has one row, so sums over cells are sums over rows
    return found, _dis(found.score, len(found.names), pairs, fraction)


def _original(s: int, columns: int) -> float:
    return float(factorial(columns - s))


def _share(s: int, columns: int) -> float:
    return (2 ** (columns - s) - 1) / comb(columns, s)


def _dis(score: np.ndarray, columns: int, pairs: int, fraction: float) -> np.ndarray:
    """The data intrusion simulation, spread over the records by their scores."""
    dis, scored = np.zeros(len(score)), score > 0
    power = score[scored] ** (1 + (8 - columns) / 20)
    if len(power):
        dis[scored] = 1 / (1 + pairs * (1 - fraction) / fraction / (power * (1 / power).sum()))
    return dis
