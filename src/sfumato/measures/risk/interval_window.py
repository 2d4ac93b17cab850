"""Interval disclosure: how often an original value lies near the released one.

J. M. Mateo-Sanz, F. Sebe, J. Domingo-Ferrer, Outlier protection in continuous microdata masking, PSD 2004; J.
Domingo-Ferrer, V. Torra, A quantitative comparison of disclosure control methods for microdata, 2001.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.microdata import encode
from sfumato.core.parameters import Real, checked, column_names, known_columns, mapping
from sfumato.engines.memory.table import enter
from sfumato.errors import ColumnError, InputError, PolicyError
from sfumato.hierarchies.order import orders_of, ranks_in
from sfumato.measures.arguments import LIMIT, ORIGINAL, RELEASED, SOME_COLUMNS
from sfumato.measures.risk.keys import stacked

RANK, SD = 10.0, 0.1  # how wide the intervals are: percent of the ranks, and standard deviations


@checked
def interval_disclosure(
    original: Annotated[Any, ORIGINAL],
    released: Annotated[Any, RELEASED],
    columns: Annotated[Sequence[str], SOME_COLUMNS],
    *,
    rank: Annotated[float, Real(0, 100)] = RANK,
    sd: Annotated[float, LIMIT] = SD,
    order: Mapping[str, Any] | None = None,
) -> pl.DataFrame:
    """The share of original values that lie inside an interval around the released value of the same row.

    Two intervals. By rank: from the released value that is `rank` percent of the rows below it in the order of the
    released column, to the one as far above; for every column, values in the order of numbers, dates or text, or in
    the one that `order` gives a column: its categories, the least first. By standard deviation: the released value plus
    and minus `sd` standard deviations of the original column; for numbers, dates and times only.

    Rows are paired by position. A suppressed (missing) released value discloses nothing; rows whose original is missing
    are left out. The baselines are what the same intervals give for somebody else's released value: the mean over all
    pairs of rows.

    Returns a frame with a row per column and one, `column` null, for records with all columns inside at once: `rank`,
    `rank_baseline`, `sd`, `sd_baseline` (null where it is not defined), `rows`.

    >>> one, other = {"pay": [10, 20, 30, 40]}, {"pay": [10, 21, 29, 60]}
    >>> interval_disclosure(one, other, ["pay"], rank=10, sd=0.1).row(0, named=True)["sd"]
    0.75
    >>> sizes, moved = {"size": ["S", "M", "L", "XL"]}, {"size": ["M", "S", "XL", "S"]}
    >>> interval_disclosure(sizes, moved, ["size"], rank=25, order={"size": ["S", "M", "L", "XL"]})["rank"][0]
    0.75
    """
    before, after = enter(original)[0], enter(released)[0]
    names = tuple(dict.fromkeys(column_names(columns, "columns")))
    if not names:
        raise PolicyError("no column is given", allowed='one column or more, as in ["age", "income"]')
    known_columns(names, before.columns, "the original table")
    known_columns(names, after.columns, "the released table")
    if before.height != after.height:
        got = f"{before.height} original and {after.height} released rows"
        raise InputError("rows are paired by position, so both tables need equally many", got=got)
    orders = orders_of(mapping(order, "order", names))
    found: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    every: dict[str, np.ndarray] = {name: np.ones(before.height, dtype=np.bool_) for name in ("rank", "sd", "known")}
    for name in names:
        value, mask, deviates = _values(before.get_column(name), after.get_column(name), orders.get(name))
        known = ~np.isnan(value)
        by_rank = _by_rank(value, mask, rank)
        by_sd = _by_deviation(value[known], mask, sd) if deviates else None
        line: dict[str, Any] = {"column": name, "rows": int(known.sum())}
        for window, ends in (("rank", by_rank), ("sd", by_sd)):
            if ends is None or not known.any():
                line[window] = line[f"{window}_baseline"] = None
                every[window][:] = False
                continue
            inside = _inside(value, *ends)
            every[window] &= inside
            line[window] = float(inside[known].mean())
            line[f"{window}_baseline"] = _baseline(value[known], *ends, known)
        every["known"] &= known
        for column, entries in found.items():
            entries.append(line[column])
    rows = int(every["known"].sum())
    with_sd = rows > 0 and None not in found["sd"]
    found["column"].append(None)
    found["rank"].append(float(every["rank"][every["known"]].mean()) if rows else None)
    found["sd"].append(float(every["sd"][every["known"]].mean()) if with_sd else None)
    found["rank_baseline"].append(None)
    found["sd_baseline"].append(None)
    found["rows"].append(rows)
    return pl.DataFrame(found, schema=COLUMNS)


def interval_figures(
    original: pl.DataFrame, released: pl.DataFrame, names: Sequence[str], hierarchies: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """The same as plain values, for those of the columns that both tables hold as numbers, dates or times.

    And for those of which an `order` among the hierarchies holds all values of both.

    `columns` maps each to its figures, `all` has those of records with all columns inside at once.
    """
    orders = orders_of(None, hierarchies)

    def moves(frame: pl.DataFrame, name: str) -> bool:
        if name not in frame.columns:
            return False
        categories = encode(frame.get_column(name))[0]
        return categories.ordered or {text for text in categories.text if text is not None} <= set(orders.get(name, ()))

    moved = [name for name in dict.fromkeys(names) if moves(original, name) and moves(released, name)]
    if not moved:
        return {"columns": {}, "note": "no interval disclosure: no column is released as numbers, dates or times"}
    found = {line.pop("column"): line for line in _lines(original, released, moved, orders)}
    return {"rank": RANK, "sd": SD, "all": found.pop(None), "columns": found}


def _lines(
    original: pl.DataFrame, released: pl.DataFrame, names: Sequence[str], orders: Mapping[str, tuple[str, ...]]
) -> list[dict[str, Any]]:
    some = {name: orders[name] for name in names if name in orders}
    return interval_disclosure(original, released, names, order=some).to_dicts()


COLUMNS: dict[str, Any] = {
    "column": pl.String,
    "rank": pl.Float64,
    "rank_baseline": pl.Float64,
    "sd": pl.Float64,
    "sd_baseline": pl.Float64,
    "rows": pl.Int64,
}


def _values(before: pl.Series, after: pl.Series, order: tuple[str, ...] | None) -> tuple[np.ndarray, np.ndarray, bool]:
    """Both columns on one line, missing as nan, and whether distances on it mean something."""
    categories, code = encode(stacked(before, after))
    if order is not None:
        value = ranks_in(order, categories.text, before.name)[code]
        return value[: len(before)], value[len(before) :], False
    one, other = encode(before)[0], encode(after)[0]
    told = len(other) > other.missing
    if one.ordered and told and not other.ordered:
        raise ColumnError(
            f'column "{before.name}" holds {one.kind} values, but its release does not',
            hint="interval disclosure is for values that were moved, not for labels of groups",
        )
    deviates = one.ordered and categories.position is not None
    place = categories.position if categories.position is not None else np.arange(len(categories), dtype=np.float64)
    line = np.where(np.isfinite(place), place, np.nan)  # what is infinite is near nothing
    if categories.missing:
        line[-1] = np.nan
    value = line[code]
    return value[: len(before)], value[len(before) :], deviates


def _by_rank(value: np.ndarray, mask: np.ndarray, percent: float) -> tuple[np.ndarray, np.ndarray]:
    """The ends of the interval of each row: the released values so many ranks below and above it."""
    ranked = np.sort(mask[~np.isnan(mask)])
    low, high = np.full(len(mask), np.nan), np.full(len(mask), np.nan)
    if not len(ranked):
        return low, high
    reach = math.floor(len(value) * percent / 100 + 1e-9)
    here = ~np.isnan(mask)
    first = np.searchsorted(ranked, mask[here], side="left")  # of equal values the outermost count
    last = np.searchsorted(ranked, mask[here], side="right") - 1
    low[here] = ranked[np.maximum(first - reach, 0)]
    high[here] = ranked[np.minimum(last + reach, len(ranked) - 1)]
    return low, high


def _by_deviation(value: np.ndarray, mask: np.ndarray, times: float) -> tuple[np.ndarray, np.ndarray] | None:
    """The same by standard deviations of the original; None where it has none, or one beyond floats."""
    if len(value) < 2:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        reach = times * float(np.std(value, ddof=1))
        return (mask - reach, mask + reach) if math.isfinite(reach) else None


def _inside(value: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    slack = _slack(low, high)
    with np.errstate(over="ignore"):
        found: np.ndarray = (value >= low - slack) & (value <= high + slack)  # nan is inside of nothing
    return found


def _baseline(value: np.ndarray, low: np.ndarray, high: np.ndarray, known: np.ndarray) -> float:
    """The mean, over the intervals of these rows, of the share of all originals that lie inside."""
    ranked = np.sort(value)
    told = known & ~np.isnan(low)
    low, high = low[told], high[told]
    slack = _slack(low, high)
    with np.errstate(over="ignore"):
        met = np.searchsorted(ranked, high + slack, "right") - np.searchsorted(ranked, low - slack, "left")
    return float(met.sum() / len(ranked) ** 2)


def _slack(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """What rounding may have taken from an end that is a sum."""
    found: np.ndarray = 1e-12 * np.maximum(np.abs(low), np.abs(high))
    return found
