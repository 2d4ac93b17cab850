"""Interval overlap: whether a regression on synthetic rows says what it says on real rows.

A. F. Karr, C. N. Kohnen, A. Oganian, J. P. Reiter, A. P. Sanil, A framework for evaluating the utility of data altered
to protect confidentiality, The American Statistician 60, 2006.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Annotated, Any

import numpy as np

from sfumato.core.parameters import Real, checked, column_names
from sfumato.core.wording import count, percent
from sfumato.errors import ColumnError, PolicyError
from sfumato.measures.arguments import ORIGINAL, SOME_COLUMNS, TABLE, TARGET
from sfumato.measures.measure import Measure
from sfumato.measures.risk.synthetic_tables import SyntheticTables, tables_of
from sfumato.measures.utility.coded_rows import Term, design, numbers_of
from sfumato.measures.utility.regression import Design, linear, logistic


def overlap(one: tuple[float, float], other: tuple[float, float]) -> float:
    """The mean share of each of two intervals that lies in the other; below 0 where they are apart.

    >>> overlap((0.0, 2.0), (1.0, 5.0)), overlap((0.0, 1.0), (0.0, 1.0)), overlap((0.0, 1.0), (2.0, 3.0))
    (0.375, 1.0, -1.0)
    """
    common = min(one[1], other[1]) - max(one[0], other[0])
    shares = [common / (high - low) if high > low else float(common >= 0) for low, high in (one, other)]
    return sum(shares) / 2


@checked
def interval_overlap(
    original: Annotated[Any, ORIGINAL],
    synthetic: Annotated[Any, TABLE] = None,
    *,
    outcome: Annotated[str, TARGET],
    predictors: Annotated[Any, SOME_COLUMNS] = None,
    hold_out: Annotated[Any, TABLE] = None,
    level: Annotated[float, Real(0, 1, above=True)] = 0.95,
) -> Measure:
    """The overlap of the confidence intervals of a regression's coefficients on real and on synthetic rows, in 0..1.

    The regression is linear where the outcome is a number and logistic where it has two values. The value is the mean
    over its coefficients, the intercept included, of ((min u - max l)/(u_o - l_o) + (min u - max l)/(u_s - l_s))/2, of
    which one below 0, of intervals apart, counts as 0, and so does a coefficient that the synthetic rows do not tell.
    1 is the same intervals. The baseline is the same with `hold_out`, real rows that the model never saw.

    Parameters
    ----------
    original, synthetic
        The rows that the model was fitted on, and those drawn from it.
    outcome, predictors
        The column that is explained, and those that explain it: all others unless given. A category enters by an
        indicator of each value but the most frequent. Rows that lack any of them are left out.
    level
        Of the confidence intervals.

    Returns
    -------
    A Measure. `details`: `coefficients`, for each its term, the intervals on both tables and the overlap as it is, and
    `left_out`, the rows of each table that lack a value. Terms name values of categories: for the owner only.

    Examples
    --------
    >>> real = {"x": [1, 2, 3, 4, 5], "y": [1.1, 1.9, 3.2, 3.9, 5.1]}
    >>> interval_overlap(real, real, outcome="y", predictors="x").value
    1.0
    """
    level = float(level)
    if not level < 1:
        raise PolicyError("level is out of range", got=level, allowed="a number above 0 and below 1")
    outcome = column_names(outcome, "outcome")[0]
    if predictors is None:
        shared = tables_of(original, synthetic, hold_out)
        names = tuple(name for name in shared.names if name != outcome)
        tables = tables_of(shared, columns=(outcome, *names))
    else:
        names = tuple(name for name in column_names(predictors, "predictors") if name != outcome)
        tables = tables_of(original, synthetic, hold_out, (outcome, *names))
    if not names:
        raise ColumnError(f'there is no column to explain "{outcome}" by')
    y, two = _outcome(tables, outcome)
    x, terms = design(tables, names)
    whole = ~np.isnan(y)
    for name in names:
        column = tables.column(name)
        whole &= np.array([text is not None for text in column.text])[column.code]
    fits = []
    for at, told in zip(tables.parts(np.arange(len(y))), tables.parts(whole), strict=True):
        fits.append(_fitted(x[at[told]], y[at[told]], two, terms))
    z = NormalDist().inv_cdf((1 + level) / 2)
    found = [_compared(fits[0], fit, terms, z) for fit in fits[1:]]
    details: dict[str, Any] = {
        "regression": "logistic" if two else "linear", "outcome": outcome, "predictors": list(names), "level": level,
        "coefficients": found[0], "left_out": [int((~told).sum()) for told in tables.parts(whole)],
    }  # fmt: skip
    value = _mean(found[0])
    baseline = _mean(found[1]) if len(found) > 1 else None
    if not found[0]:
        sentence = f'The real rows are too few to explain "{outcome}".'
        return Measure("interval-overlap", math.nan, (0.0, 1.0), sentence, None, baseline, details)
    apart = sum(entry["overlap"] is None or entry["overlap"] < 0 for entry in found[0])
    beside = f", against {percent(baseline)} of held-out real rows" if baseline is not None else ""
    sentence = (
        f"The intervals of {count(len(found[0]), 'coefficient')} of a {details['regression']} regression of "
        f'"{outcome}" overlap by {percent(value)} on average{beside}; {apart} of them lie apart or are not told.'
    )
    return Measure("interval-overlap", value, (0.0, 1.0), sentence, None, baseline, details)


def _mean(found: Sequence[dict[str, Any]]) -> float:
    return float(np.mean([max(entry["overlap"] or 0.0, 0.0) for entry in found])) if found else math.nan


def _outcome(tables: SyntheticTables, name: str) -> tuple[np.ndarray, bool]:
    """The outcome of each row, nan where it is missing, and whether it has two values: then it is 0 or 1."""
    column = tables.column(name)
    known = np.array([text is not None for text in column.text])
    parts = tables.parts(column.code)
    values = [np.flatnonzero(np.bincount(part, minlength=column.size) * known) for part in parts]
    if len(values[0]) == 2 and (column.position is None or all(np.isin(of, values[0]).all() for of in values)):
        as_number = np.full(column.size, np.nan)
        as_number[values[0]] = [0.0, 1.0]
        return as_number[column.code], True
    if column.position is None:
        raise PolicyError(
            f'"{name}" is no number and has not two values', got=f"{len(values[0])} values",
            allowed="a column of numbers, or of two values",
        )  # fmt: skip
    return numbers_of(column), False


Estimates = tuple[np.ndarray, np.ndarray]  # of the coefficients in the units of the columns, and their errors


def _fitted(x: Design, y: np.ndarray, two: bool, terms: Sequence[Term]) -> Estimates:
    """The coefficients and their standard errors, nan where the rows do not tell them."""
    estimate, error = np.full((2, len(terms)), np.nan)
    if not len(y):
        return estimate, error
    unit = 1.0 if two else float(np.abs(y).max()) or 1.0
    fit = logistic(x, y) if two else linear(x, y / unit)
    kept = ~np.isnan(fit.estimate)
    scale = np.array([term.scale for term in terms])[kept]
    at_zero = np.array([-term.centre / term.scale for term in terms])[kept]
    at_zero[0] = 1.0  # the intercept is where all numbers are zero
    covariance = fit.covariance[np.ix_(kept, kept)]
    estimate[kept] = unit / scale * fit.estimate[kept]
    error[kept] = unit / scale * np.sqrt(np.diag(covariance))
    estimate[0] = unit * (at_zero @ fit.estimate[kept])
    error[0] = unit * math.sqrt(max(float(at_zero @ covariance @ at_zero), 0.0))
    return estimate, error


def _compared(real: Estimates, other: Estimates, terms: Sequence[Term], z: float) -> list[dict[str, Any]]:
    """For each coefficient that the real rows tell, its intervals and their overlap."""
    found: list[dict[str, Any]] = []
    for i, term in enumerate(terms):
        one, two = (_interval(estimate[i], error[i], z) for estimate, error in (real, other))
        if one is not None:
            shared = None if two is None else overlap(one, two)
            found.append({"term": term.name, "original": list(one), "other": two and list(two), "overlap": shared})
    return found


def _interval(estimate: float, error: float, z: float) -> tuple[float, float] | None:
    low, high = estimate - z * error, estimate + z * error
    return (float(low), float(high)) if math.isfinite(low) and math.isfinite(high) else None
