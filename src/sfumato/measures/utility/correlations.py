"""Correlations: how far the association of each pair of columns is from that in the real rows.

W. Bergsma, A bias-correction for Cramér's V and Tschuprow's T, Journal of the Korean Statistical Society 42, 2013;
T. L. Kelley, An unbiased correlation ratio measure, Proceedings of the National Academy of Sciences 21, 1935.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from sfumato.core.keys import number_tuples, tally
from sfumato.core.parameters import checked
from sfumato.core.wording import count, quoted
from sfumato.errors import ColumnError
from sfumato.measures.arguments import ORIGINAL, SOME_COLUMNS, TABLE
from sfumato.measures.measure import Measure
from sfumato.measures.risk.synthetic_tables import SyntheticTables, tables_of
from sfumato.measures.utility.coded_rows import MOST_LEVELS, levels_of, numbers_of


@checked
def correlations(
    original: Annotated[Any, ORIGINAL],
    synthetic: Annotated[Any, TABLE] = None,
    columns: Annotated[Any, SOME_COLUMNS] = None,
    *,
    hold_out: Annotated[Any, TABLE] = None,
) -> Measure:
    """The mean absolute difference between the correlations of real and of synthetic rows, over all pairs of columns.

    Pearson's correlation of two numbers, where both are known; Cramér's V of two categories and the correlation ratio
    of a number by a category, both corrected for chance, so that tables of different lengths compare. A missing
    category is a value. What is not defined, as with a column that has one value, is 0. The baseline is the same
    between the real rows and `hold_out`, real rows that the model never saw.

    Returns
    -------
    A Measure. `details`: `largest`, the largest difference with its `columns` and both correlations; `original` and
    `synthetic`, the matrices; `hold_out`, the mean and the largest difference of its rows.

    Examples
    --------
    >>> real = {"a": [1, 2, 3, 4], "b": [1, 2, 3, 4]}
    >>> correlations(real, {"a": [1, 2, 3, 4], "b": [4, 3, 2, 1]}).value
    2.0
    """
    tables = tables_of(original, synthetic, hold_out, columns)
    names = tables.names
    if len(names) < 2:
        raise ColumnError("a correlation needs two columns", hint="name two columns that the tables share, or more")
    real, drawn, *others = _matrices(tables, names)
    value, largest = _difference(real, drawn, names)
    details: dict[str, Any] = {
        "largest": largest, "pairs": math.comb(len(names), 2), "columns": list(names),
        "original": real.tolist(), "synthetic": drawn.tolist(),
    }  # fmt: skip
    baseline, beside = None, ""
    for other in others:
        baseline, most = _difference(real, other, names)
        details["hold_out"] = {"mean": baseline, "largest": most}
        beside = f", against {baseline:.3f} of held-out real rows"
    sentence = (
        f"The correlations of {count(details['pairs'], 'pair')} of columns differ by {value:.3f} on average{beside}; "
        f"most in {quoted(largest['columns'])}, by {largest['difference']:.3f}."
    )
    return Measure("correlations", value, (0.0, 2.0), sentence, None, baseline, details)


def _difference(real: np.ndarray, other: np.ndarray, names: Sequence[str]) -> tuple[float, dict[str, Any]]:
    above = np.triu_indices(len(names), 1)
    far = np.abs(real - other)[above]
    i, j = (int(side[far.argmax()]) for side in above)
    largest = {"columns": [names[i], names[j]], "difference": float(far.max())}
    return float(far.mean()), largest | {"original": float(real[i, j]), "other": float(other[i, j])}


def _matrices(tables: SyntheticTables, names: Sequence[str]) -> list[np.ndarray]:
    """The associations of all pairs of columns in each table."""
    numeric = [tables.column(name).position is not None for name in names]
    numbers = {i: tables.parts(numbers_of(tables.column(names[i]))) for i, is_number in enumerate(numeric) if is_number}
    levels = {
        i: levels_of(tables.column(names[i]), tables.original.height, MOST_LEVELS)
        for i, is_number in enumerate(numeric)
        if not is_number
    }
    categories = {i: (tables.parts(level.astype(np.int32)), len(text)) for i, (level, text) in levels.items()}
    found = []
    for at in range(len(tables.tables)):
        matrix = np.eye(len(names))
        if numbers:
            among = list(numbers)
            matrix[np.ix_(among, among)] = pearson(np.column_stack([numbers[i][at] for i in among]))
        for i, (parts, size) in categories.items():
            for j, x in numbers.items():
                matrix[i, j] = matrix[j, i] = correlation_ratio(x[at], parts[at], size)
            for j, (other, wide) in categories.items():
                if j > i:
                    matrix[i, j] = matrix[j, i] = cramers_v(parts[at], other[at], (size, wide))
        found.append(matrix)
    return found


def pearson(x: np.ndarray) -> np.ndarray:
    """The correlations of columns of numbers, of each pair where both are known; 0 where one does not vary."""
    known = ~np.isnan(x)
    seen = np.where(known, x, 0.0)
    unit = np.abs(seen).max(axis=0, initial=0.0)
    seen = seen / np.where(unit > 0, unit, 1.0)
    mean = seen.sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    seen = np.where(known, seen - mean, 0.0)
    here = known.astype(np.float64)
    n = np.maximum(here.T @ here, 1.0)
    total, square = seen.T @ here, (seen**2).T @ here  # [i, j]: of column i where j is known
    spread = np.maximum(square - total**2 / n, 0.0)
    scale = np.sqrt(spread * spread.T)
    both = seen.T @ seen - total * total.T / n
    vary = (spread > 1e-12 * square) & (square > 0)
    vary &= vary.T
    found = np.where(vary, np.clip(both / np.where(vary, scale, 1.0), -1.0, 1.0), 0.0)
    np.fill_diagonal(found, 1.0)
    return found


def correlation_ratio(x: np.ndarray, level: np.ndarray, levels: int) -> float:
    """The square root of the share of a number's variance that a category explains, beyond what chance does.

    >>> round(correlation_ratio(np.array([1.0, 1.0, 2.0, 4.0]), np.array([0, 0, 1, 1]), 2), 4)
    0.7071
    """
    known = ~np.isnan(x)
    x, level = x[known], level[known]
    unit = float(np.abs(x).max()) if len(x) else 0.0
    if unit == 0:
        return 0.0
    y = x / unit - (x / unit).mean()
    size, total = np.bincount(level, minlength=levels), float((y**2).sum())
    groups = int((size > 0).sum())
    if total <= 1e-12 * len(y) or groups < 2 or len(y) <= groups:
        return 0.0
    between = float((np.bincount(level, y, levels) ** 2 / np.maximum(size, 1)).sum())
    return math.sqrt(min(max(0.0, 1 - (1 - between / total) * (len(y) - 1) / (len(y) - groups)), 1.0))


def cramers_v(one: np.ndarray, other: np.ndarray, sizes: tuple[int, int]) -> float:
    """Cramér's V of two categories, beyond what chance gives.

    >>> cramers_v(np.array([0, 0, 1, 1], np.int32), np.array([0, 0, 1, 1], np.int32), (2, 2))
    1.0
    """
    n = len(one)
    rows, columns = (np.bincount(side, minlength=size) for side, size in zip((one, other), sizes, strict=True))
    r, c = int((rows > 0).sum()), int((columns > 0).sum())
    if min(r, c) < 2 or n < 2:
        return 0.0
    of, cells = number_tuples([one, other], [np.arange(size) for size in sizes], n)
    expected = np.empty(cells)
    expected[of] = rows[one] * columns[other]  # of each cell that occurs, times n
    phi = float((tally(of, cells) ** 2 / expected).sum()) - 1
    r_fair, c_fair = r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)
    room = min(r_fair, c_fair) - 1
    return math.sqrt(min(max(0.0, phi - (r - 1) * (c - 1) / (n - 1)) / room, 1.0)) if room > 0 else 0.0
