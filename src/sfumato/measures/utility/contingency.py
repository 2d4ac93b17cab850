"""Contingency tables: how far the tables of counts that a release gives are from the original's."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Annotated, Any

import numpy as np

from sfumato.core.parameters import Whole, checked
from sfumato.core.wording import count, percent, quoted
from sfumato.errors import ColumnError
from sfumato.measures.arguments import HIERARCHIES, KEY, ORIGINAL, RELEASED, ROWS, SOME_COLUMNS
from sfumato.measures.measure import Measure
from sfumato.measures.utility.column import ComparedColumn
from sfumato.measures.utility.pair import CountedPair, Pair, pair_of

MOST_VALUES = 100  # columns with more values are left out unless named
MOST_CELLS = 4_000_000  # larger tables are left out
MOST_TABLES = 500


@checked
def contingency(
    original: Annotated[Any, ORIGINAL],
    released: Annotated[Any, RELEASED] = None,
    columns: Annotated[Any, SOME_COLUMNS] = None,
    *,
    dimension: Annotated[int, Whole(1, 4, help="how many columns a table has at most")] = 2,
    hierarchies: Annotated[Mapping[str, Any] | None, HIERARCHIES] = None,
    rows: Annotated[Sequence[int] | np.ndarray | None, ROWS] = None,
    key: Annotated[str | None, KEY] = None,
) -> Measure:
    """The mean total variation distance between the contingency tables of up to `dimension` columns, in 0..1.

    For each set of columns, half the sum over the cells of the table of abs(p - p'), p the share of the original rows
    and p' of the released rows, each spread evenly over the cells that its labels cover. No alignment is needed. By
    default the columns with at most 100 values. Tables of more than 4,000,000 cells, and more than 500 tables of a
    dimension, are left out, and counted.

    >>> contingency({"a": [1, 1, 2, 2], "b": [1, 1, 2, 2]}, {"a": [1, 1, 2, 2], "b": ["*"] * 4}).details["2"]
    0.5
    """
    pair = pair_of(original, released, rows=rows, key=key, hierarchies=hierarchies)
    names = pair.names(columns)
    if columns is None:
        names = tuple(name for name in names if len(pair.column(name).support) <= MOST_VALUES)
        if not names:
            raise ColumnError(f"no shared column has at most {MOST_VALUES} values", hint="name columns to compare")
    pair.holds(names)  # all of them counted together answer every table
    counted = None if dimension == 1 or isinstance(pair, CountedPair) else names
    means: dict[str, float] = {}
    worst: tuple[float, tuple[str, ...]] = (-1.0, ())
    left_out, every = 0, []
    for size in range(1, min(dimension, len(names)) + 1):
        found = []
        for number, chosen in enumerate(combinations(names, size)):
            cells = math.prod(len(pair.column(name).support) for name in chosen)
            if cells > MOST_CELLS or number >= MOST_TABLES:
                left_out += 1
                continue
            distance = table_distance(pair, chosen, counted)
            found.append(distance)
            worst = max(worst, (distance, chosen), key=lambda entry: entry[0])
        every += found
        if found:
            means[str(size)] = float(np.mean(found))
    value = float(np.mean(every)) if every else math.nan
    sentence = (
        f"In {count(len(every), 'table')} of up to {count(dimension, 'column')}, {percent(value)} of the records are "
        f"counted in another cell than before, on average; in the worst, of {quoted(worst[1])}, {percent(worst[0])}."
        if every
        else "There is no contingency table: all of them are too large."
    )
    details = means | {"worst": {"columns": list(worst[1]), "distance": worst[0]}, "tables": len(every)}
    details |= {"left_out": left_out, "columns": list(names), "percent": 100 * value}
    return Measure("contingency", value, (0.0, 1.0), sentence, details=details)


def table_distance(pair: Pair, names: Sequence[str], counted: Sequence[str] | None = None) -> float:
    """The total variation distance of one table, from the tuples of the columns `counted` where these are given."""
    if len(names) == 1:
        column = pair.column(names[0])
        return float(np.abs(column.before - column.after).sum() / 2)
    together = pair.on(names)
    columns = [together.column(name) for name in names]
    shape = [len(column.support) for column in columns]
    codes, labels, often = [c.code for c in columns], [c.label for c in columns], together.row_counts
    if counted is not None:
        found, at = pair.boxes(counted), [counted.index(name) for name in names]
        codes, labels, often = list(found.cells[at]), list(found.boxes[at]), (found.cell_count, found.box_count)
    cells, wide = _counts(codes, shape, often[0]), [len(column.text) for column in columns]
    spread = _counts(labels, wide, often[1]).reshape(wide)
    for axis, column in enumerate(columns):  # one column after the other: labels become values
        spread = np.moveaxis(np.tensordot(_weights(column), np.moveaxis(spread, axis, 0), axes=1), 0, axis)
    before = cells.reshape(shape) / columns[0].original_rows
    return float(np.abs(before - spread / max(columns[0].released_rows, 1)).sum() / 2)


def _counts(codes: Sequence[np.ndarray], shape: Sequence[int], row_counts: np.ndarray | None) -> np.ndarray:
    key = np.zeros(len(codes[0]), np.int64)
    for code, size in zip(codes, shape, strict=True):
        key = key * size + code
    return np.bincount(key, weights=row_counts, minlength=math.prod(shape)).astype(np.float64)


def _weights(column: ComparedColumn) -> np.ndarray:
    """float [values, labels]: the share of a label's rows that each value gets."""
    weights = np.zeros((len(column.support), len(column.text)))
    weights[column.members, np.repeat(np.arange(len(column.text)), column.size)] = np.repeat(
        1 / np.maximum(column.size, 1), column.size
    )
    return weights
