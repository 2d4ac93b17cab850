"""Means, spreads and correlations of columns of numbers, of rows that may stand for several."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from sfumato.core.parameters import OneOf, checked
from sfumato.core.wording import count
from sfumato.errors import ColumnError
from sfumato.measures.arguments import HIERARCHIES, KEY, ORIGINAL, RELEASED, ROWS, SOME_COLUMNS
from sfumato.measures.measure import Measure
from sfumato.measures.utility.column import RowCounts
from sfumato.measures.utility.pair import Pair, pair_of


def mean(x: np.ndarray, row_counts: np.ndarray | None) -> np.ndarray:
    """The mean of each column.

    >>> mean(np.array([[1.0], [4.0]]), np.array([2, 1])).tolist()
    [2.0]
    """
    return np.asarray(x.mean(axis=0) if row_counts is None else np.average(x, axis=0, weights=row_counts))


def spread(x: np.ndarray, row_counts: np.ndarray | None) -> np.ndarray:
    """The standard deviation of each column, with n."""
    if row_counts is None:
        return np.asarray(x.std(axis=0))
    return np.sqrt(mean((x - mean(x, row_counts)) ** 2, row_counts))


def covariance(x: np.ndarray, row_counts: np.ndarray | None) -> np.ndarray:
    """The covariance matrix, with n - 1."""
    return np.atleast_2d(np.cov(x, rowvar=False, fweights=row_counts))


def correlation(x: np.ndarray, row_counts: np.ndarray | None) -> np.ndarray:
    """The correlation matrix; a column without spread correlates with none."""
    s = spread(x, row_counts)
    z = (x - mean(x, row_counts)) / np.where(s > 0, s, 1.0)
    product = z.T @ z / len(x) if row_counts is None else (z * row_counts[:, None]).T @ z / row_counts.sum()
    return np.asarray(np.clip(product, -1.0, 1.0))


STATISTICS = ("values", "means", "covariances", "correlations")
WORST = {  # what 100 on the scale means
    "values": "as far off as the mean of each column",
    "means": "off by a standard deviation",
    "covariances": "off by as much as they are",
    "correlations": "turned round",
}
ERRORS = ("mean-squared-error", "mean-absolute-error", "mean-variation")


@dataclass(frozen=True, eq=False)
class Numbers:
    """The numeric columns of both tables, rows with a missing value in either left out, row by row where aligned."""

    names: tuple[str, ...]
    before: np.ndarray  # float64 [rows, columns]
    after: np.ndarray
    aligned: bool
    left_out: int  # released rows with a missing value
    row_counts: RowCounts = (None, None)  # how many rows each row stands for

    @property
    def rows(self) -> tuple[int, int]:
        """How many rows both tables have."""
        one, other = self.row_counts
        return len(self.before) if one is None else int(one.sum()), len(self.after) if other is None else int(
            other.sum()
        )


def numbers_of(pair: Pair, columns: Any = None) -> Numbers:
    """The shared numeric columns, or those named. A generalised label counts as the middle between the least and the
    greatest original value that it covers."""
    names = pair.names(columns)
    numeric = tuple(name for name in names if pair.column(name).numeric)
    if columns is not None and len(numeric) < len(names):
        other = next(name for name in names if name not in numeric)
        raise ColumnError(f'column "{other}" does not hold numbers', hint="name numeric columns only")
    if not numeric:
        raise ColumnError("the original and the release share no numeric column")
    together = pair.on(numeric)
    before = np.stack([together.column(name).original_numbers() for name in numeric], axis=1)
    after = np.stack([together.column(name).released_numbers() for name in numeric], axis=1)
    known = np.isfinite(after).all(axis=1)
    often, stands = together.row_counts
    if often is not None and stands is not None:
        return _counted(numeric, before, after, often, stands)
    if pair.rows is None:
        return Numbers(numeric, before[np.isfinite(before).all(axis=1)], after[known], False, int((~known).sum()))
    before = before[pair.rows]
    known &= np.isfinite(before).all(axis=1)
    return Numbers(numeric, before[known], after[known], True, int((~known).sum()))


def _counted(
    names: tuple[str, ...], before: np.ndarray, after: np.ndarray, often: np.ndarray, stands: np.ndarray
) -> Numbers:
    """The same of distinct tuples that were counted; sorted, so that sums repeat to the last bit."""
    parts = []
    for x, row_counts in ((before, often), (after, stands)):
        known = np.isfinite(x).all(axis=1)
        x, row_counts = x[known], row_counts[known]
        order = np.lexsort((row_counts, *x.T))
        parts.append((x[order], row_counts[order]))
    (before, often), (after, stands_of) = parts
    return Numbers(names, before, after, False, int(stands.sum() - stands_of.sum()), (often, stands_of))


def statistic(x: np.ndarray, on: str, row_counts: np.ndarray | None = None) -> np.ndarray:
    """The values, means, covariances or correlations of a table, as one list per column or pair of columns."""
    if on == "values":
        return x
    if on == "means":
        return mean(x, row_counts)
    if on == "covariances":
        return np.asarray(covariance(x, row_counts)[np.triu_indices(x.shape[1])])
    return np.asarray(correlation(x, row_counts)[np.triu_indices(x.shape[1], 1)])


@checked
def numeric_error(
    original: Annotated[Any, ORIGINAL],
    released: Annotated[Any, RELEASED] = None,
    columns: Annotated[Any, SOME_COLUMNS] = None,
    *,
    error: Annotated[str, OneOf(ERRORS, help="how differences are summed up")] = "mean-squared-error",
    on: Annotated[str, OneOf(STATISTICS, help="what is compared")] = "values",
    hierarchies: Annotated[Mapping[str, Any] | None, HIERARCHIES] = None,
    rows: Annotated[Sequence[int] | np.ndarray | None, ROWS] = None,
    key: Annotated[str | None, KEY] = None,
) -> Measure:
    """How far the numbers of a release, or their means, covariances or correlations, are from the original's.

    With x the original and x' the released statistics: the mean of (x - x')^2, of abs(x - x') or of abs(x - x')/abs(x)
    (terms with x = 0 are left out, and counted). Covariances include the variances; correlations are those of different
    columns. On values, only rows that are known in both count. `details["percent"]` is the same in 0..100: against a
    release that gives every column as its mean (values), against one standard deviation (means), against covariances
    of zero, and against the greatest difference of 2 (correlations); a mean variation in percent; 100 at most. The
    baseline, on values, is a release that gives every column as its mean.

    >>> numeric_error({"x": [1.0, 2.0, 3.0, 4.0]}, {"x": [1.0, 2.0, 3.0, 6.0]}).value
    1.0
    """
    pair = pair_of(original, released, rows=rows, key=key, hierarchies=hierarchies)
    if on == "values":
        pair.aligned(f"the {error} of values")
    found = numbers_of(pair, columns)
    return error_of(found, error, on)


def error_of(found: Numbers, error: str, on: str) -> Measure:
    """The same of numbers that were read already."""
    name = f"{error} of {on}"
    few = _too_few(found, on)
    if few:
        return Measure(name, math.nan, (0.0, math.inf), f"There is no {name}: {few}.")
    with np.errstate(over="ignore", invalid="ignore"):
        measured = _measured(found, error, on, name)
    if math.isinf(measured.value):
        return Measure(name, math.nan, measured.range, f"There is no {name}: the numbers are too large to be squared.")
    return measured


def _measured(found: Numbers, error: str, on: str, name: str) -> Measure:
    x, y = statistic(found.before, on, found.row_counts[0]), statistic(found.after, on, found.row_counts[1])
    gap = np.abs(x - y)
    value = _mean(error, x, gap)
    skipped = int((x == 0).sum()) if error == "mean-variation" else 0
    most = (
        {"mean-squared-error": 4.0, "mean-absolute-error": 2.0}.get(error, math.inf)
        if on == "correlations"
        else math.inf
    )
    percent = _percent(found, x, gap, error, on, value)
    words = error.replace("-", " ")
    worst = WORST["covariances" if error == "mean-variation" else on]
    sentence = (
        f"The {words} of the {on} of {count(len(found.names), 'numeric column')} is {value:.4g} "
        f"({percent:.1f} on a scale from 0, as in the original, to 100, {worst})."
    )
    if math.isnan(value):
        zero = error == "mean-variation" and not (x != 0).any()
        why = f"all original {on} are 0" if zero else "the numbers are too large to be squared"
        sentence = f"There is no {name}: {why}."
    elif found.left_out:
        sentence += f" Left out: {count(found.left_out, 'released row')} with a missing value."
    baseline = _mean(error, x, np.abs(x - x.mean(axis=0))) if on == "values" and not math.isnan(value) else None
    details: dict[str, Any] = {
        "percent": percent,
        "columns": list(found.names),
        "rows": found.rows[1],
        "left_out": found.left_out,
    }
    if on in ("values", "means"):
        per = gap if on == "values" else gap[None, :]
        details["per_column"] = dict(
            zip(found.names, (per**2 if "squared" in error else per).mean(axis=0).tolist(), strict=True)
        )
    details["zeros_left_out"] = skipped
    return Measure(name, value, (0.0, most), sentence, baseline=baseline, details=details)


def _mean(error: str, x: np.ndarray, gap: np.ndarray) -> float:
    """The mean of the gaps, squared, as they are, or over the original; nan where all of those are 0."""
    if error == "mean-squared-error":
        return float((gap**2).mean())
    if error == "mean-absolute-error":
        return float(gap.mean())
    known = x != 0
    return float((gap[known] / np.abs(x[known])).mean()) if known.any() else math.nan


def _too_few(found: Numbers, on: str) -> str | None:
    if not min(found.rows):
        return "no row is known in all numeric columns"
    if on == "covariances" and min(found.rows) < 2:
        return "it takes two rows"
    if on == "correlations" and len(found.names) < 2:
        return "it takes two numeric columns"
    return None


def _percent(found: Numbers, x: np.ndarray, gap: np.ndarray, error: str, on: str, value: float) -> float:
    """The error in 0..100."""
    if error == "mean-variation":
        share = value
    elif on == "correlations":
        share = value / (4.0 if error == "mean-squared-error" else 2.0)
    else:
        sd = spread(found.before, found.row_counts[0])
        if on == "values":
            scale: np.ndarray = sd if error == "mean-squared-error" else _absolute_spread(found.before)
        elif on == "means":
            scale = sd
        else:
            scale = np.abs(x)
        power = 2 if error == "mean-squared-error" else 1
        known = scale > 0
        each = np.where(known, gap / np.where(known, scale, 1.0), np.where(gap > 0, 1.0, 0.0)) ** power
        share = float(each.mean())
    return 100.0 * min(share, 1.0) if not math.isnan(share) else math.nan


def _absolute_spread(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.abs(x - x.mean(axis=0)).mean(axis=0))
