"""Ends: the least and the greatest value that a label covers, where labels are numbers, dates or ranges of them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import polars as pl

_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?"
_RANGE = r"^([\[\](])\s*([^,;]+?)\s*[,;]\s*([^,;]+?)\s*([\])\[])$"  # [20, 30), ]20; 30]
_BETWEEN = rf"^({_NUMBER})\s*(?:-|–|\.\.)\s*({_NUMBER})$"  # 20-29, 20..29
_BEYOND = r"^(<=|>=|<|>|≤|≥)\s*(\S+)$"  # >= 40
SAYS_NOTHING = "*"
LARGEST = 1e300  # beyond it, differences are no numbers any more


@dataclass(frozen=True, eq=False)
class Ends:
    """Of each label the least and the greatest value, nan for those that say nothing; dates count as days."""

    low: np.ndarray
    high: np.ndarray
    dates: bool

    def of(self, which: np.ndarray) -> Ends:
        """Those of some labels."""
        return Ends(self.low[which], self.high[which], self.dates)

    @property
    def whole(self) -> bool:
        """Whether every end is a whole number: a range then includes its last value in full."""
        known = np.concatenate([end[np.isfinite(end)] for end in (self.low, self.high)])
        return bool((known % 1 == 0).all() and (np.abs(known) < 2**53).all())


def ends(labels: pl.Series) -> Ends | None:
    """The ends of labels, or None where one of them is neither a number, a date, nor a range of them.

    >>> found = ends(pl.Series(["[20, 30)", "35", "*"]))
    >>> found.low.tolist(), found.high.tolist()
    ([20.0, 35.0, nan], [29.0, 35.0, nan])
    """
    text = labels.cast(pl.String).str.strip_chars()
    text = text.set((text == SAYS_NOTHING).fill_null(False), None)
    if text.null_count() == len(text) or not text.str.contains("[0-9]").any():
        return None
    return _points(text) or _ranges(text)


def _points(text: pl.Series) -> Ends | None:
    """Labels that are all single values: the quick way for columns released as they are."""
    for dates in (False, True):
        value = _values(text, dates)
        if value.null_count() == text.null_count():
            at = value.to_numpy(allow_copy=True)
            return Ends(at, at, dates) if (np.abs(at[~np.isnan(at)]) <= LARGEST).all() else None
    return None


def _ranges(text: pl.Series) -> Ends | None:
    left, low, high, right = _parts(text, _RANGE)
    first, second = _parts(text, _BETWEEN)
    sign, beyond = _parts(text, _BEYOND)
    above, below = (_is(sign, signs) for signs in ((">", ">=", "≥"), ("<", "<=", "≤")))
    for dates in (False, True):
        single, reach = _values(text, dates), _values(beyond, dates).to_numpy(allow_copy=True)
        start, stop = (_values(end, dates).fill_null(single) for end in (low, high))
        if not dates:
            start, stop = start.fill_null(_values(first, False)), stop.fill_null(_values(second, False))
        a, b = (end.to_numpy(allow_copy=True).copy() for end in (start, stop))
        every = np.concatenate([a, b, reach])
        every = every[np.isfinite(every)]
        if not len(every):
            continue
        a, b = np.where(above, reach, a), np.where(below, reach, b)
        open_ = np.isfinite(reach)  # an open end reaches as far as any other label
        a, b = np.where(below & open_, every.min(), a), np.where(above & open_, every.max(), b)
        if bool((np.isnan(a) | np.isnan(b))[text.is_not_null().to_numpy()].any()):
            continue
        if Ends(a, b, dates).whole:  # an end that is left out is the next whole number
            a = a + (_is(left, ("(", "]")) | _is(sign, (">",)))
            b = b - (_is(right, (")", "[")) | _is(sign, ("<",)))
        a, b = np.where(below & open_, np.minimum(a, b), a), np.where(above & open_, np.maximum(a, b), b)
        known = ~np.isnan(a)
        fits = (np.abs(a[known]) <= LARGEST) & (np.abs(b[known]) <= LARGEST) & (a[known] <= b[known])
        return Ends(a, b, dates) if bool(fits.all()) else None
    return None


def _parts(text: pl.Series, pattern: str) -> list[pl.Series]:
    """The groups of a pattern in each label, null where it does not match."""
    return text.str.extract_groups(pattern).struct.unnest().get_columns()


def _values(text: pl.Series, dates: bool) -> pl.Series:
    """Numbers, or days since 1970; null for what is none."""
    if dates:
        return text.str.to_date("%Y-%m-%d", strict=False).cast(pl.Int32).cast(pl.Float64)
    return text.cast(pl.Float64, strict=False)


def _is(series: pl.Series, texts: tuple[str, ...]) -> np.ndarray:
    return series.is_in(list(texts)).fill_null(False).to_numpy()


MOST = 12
BULK = (0.02, 0.98)
EPOCH = dt.date(1970, 1, 1)
YEARS = (1, 2, 5, 10, 20, 25, 50, 100, 200, 500, 1000, 5000)


class GroupName(str):
    """The name of a group in words of ours: no label of the column."""

    __slots__ = ()


MISSING, OTHER = GroupName("missing"), GroupName("other")


@dataclass(frozen=True, eq=False)
class ChartAxis:
    """Groups of values with their names.

    Ordered columns have `edges`: group i holds what lies from edges[i] to edges[i + 1], the first and the last all
    that lies beyond. Other columns have `named`: the group of each text that has one; the rest is in the group "other".
    """

    groups: tuple[str, ...]
    edges: np.ndarray | None = None
    named: dict[str | None, int] = field(default_factory=dict)
    rest: int | None = None  # the group of what has no group of its own
    gathered: int = 0  # how many labels the rest holds
    spread: bool = False  # whether labels are ranges, their rows spread evenly over them
    whole: bool = False  # whether the values are whole numbers

    def weights(self, labels: pl.Series) -> np.ndarray:
        """float [labels, groups]: the share of the rows of each label that falls into each group."""
        known = None if self.edges is None else ends(labels)
        if known is not None:
            return self._reached(labels, known, np.arange(len(labels)))
        found = np.zeros((len(labels), len(self.groups)))
        for i, text in enumerate(labels.to_list()):
            group = self.named.get(text, self.rest)
            if group is not None:
                found[i, group] = 1.0
        return found

    def counts(self, labels: pl.Series, count: np.ndarray, known: Ends | None = None) -> np.ndarray:
        """Rows per group; `known` are the ends of the labels, where somebody has read them already."""
        known = None if self.edges is None else known or ends(labels)
        if known is None:
            return np.asarray(count @ self.weights(labels))
        assert self.edges is not None
        point = np.isfinite(known.low) & (known.low == known.high)
        group = np.searchsorted(self.edges[1:-1], known.low[point], side="right")
        total = np.bincount(group, count[point], len(self.groups)).astype(np.float64)
        others = np.flatnonzero(~point)
        for start in range(0, len(others), 50_000):  # bounds the memory
            part = others[start : start + 50_000]
            total += count[part] @ self._reached(labels, known, part)
        return total

    def _reached(self, labels: pl.Series, known: Ends, part: np.ndarray) -> np.ndarray:
        assert self.edges is not None
        low, high, inner = known.low[part], known.high[part], self.edges[1:-1]
        found = np.zeros((len(low), len(self.groups)))
        says = np.isfinite(low)
        for i in np.flatnonzero(~says):
            if (group := self.named.get(labels[int(part[i])])) is not None:
                found[i, group] = 1.0
        low, high = low[says][:, None], high[says][:, None] + (1.0 if self.whole else 0.0)
        reach = np.zeros((len(low), len(inner) + 2))
        reach[:, -1] = 1.0
        with np.errstate(over="ignore"):  # a point, however near its neighbours, lies on one side of an edge
            inside = np.clip((inner - low) / np.maximum(high - low, 1e-300), 0.0, 1.0)
        reach[:, 1:-1] = np.where(high == low, inner > low, inside)
        found[says, : len(inner) + 1] = np.diff(reach, axis=1)
        return found


def axis_of(
    labels: pl.Series, count: np.ndarray, known: Ends | None, most: int = MOST, least: int = 1, binned: bool = False
) -> ChartAxis | None:
    """The axis of a column, from its distinct labels (missing as null) and the rows of each; None where no label has
    enough rows to stand alone.

    Parameters
    ----------
    labels, count: the labels as they print, sorted by falling count and then by text, and the rows of each.
    known: the ends of the labels, of `ends`.
    most: how many groups at most.
    least: labels with fewer rows have no group of their own.
    binned: whether values that have an order are gathered in ranges however few they are.
    """
    words = labels.to_list()
    if known is not None and (len(words) > most or binned):
        says = np.isfinite(known.low)
        silent = [words[int(i)] for i in np.flatnonzero(~says)]
        return _ordered(silent, _bulk(count[says], known.of(says)), known.of(says), most)
    alone = [text for text, n in zip(words, count, strict=True) if n >= least]
    if len(alone) > most or (len(alone) < len(words) and len(alone) == most):
        alone = alone[: most - 1]
    if not alone or (len(words) > 1_000 and count.sum() < 2 * len(words)):  # a label per row: nothing to see
        return None
    alone = _in_order(alone)
    rest = len(alone) if len(alone) < len(words) else None
    shown = [MISSING if text is None else text for text in alone]
    return ChartAxis(
        tuple(shown) if rest is None else (*shown, OTHER),
        named={text: i for i, text in enumerate(alone)},
        rest=rest,
        gathered=len(words) - len(alone),
    )


def _in_order(texts: list[str | None]) -> list[str | None]:
    """Numbers, dates and ranges from the least up; other labels stay in the order of their rows, missing last."""
    known = ends(pl.Series(texts, dtype=pl.String))
    if known is None:
        return [text for text in texts if text is not None] + [text for text in texts if text is None]
    order = np.lexsort((known.high, known.low))  # nan comes last
    return [texts[i] for i in order]


def axis_of_points(values: np.ndarray, missing: int, most: int = MOST) -> tuple[ChartAxis, np.ndarray]:
    """The axis of numbers that are given row by row, and the rows of each group: quicker where most rows differ."""
    at = [int(share * (len(values) - 1)) for share in BULK]
    low, high = np.partition(values, at)[at]
    axis = _ordered([None] if missing else [], (float(low), float(high)), Ends(values, values, dates=False), most)
    assert axis.edges is not None
    total = np.bincount(np.searchsorted(axis.edges[1:-1], values, side="right"), minlength=len(axis.groups))
    total[-1] += missing
    return axis, total.astype(np.float64)


def _bulk(count: np.ndarray, known: Ends) -> tuple[float, float]:
    """From where to where most rows lie; the rest is gathered at the ends of the axis."""
    middle = (known.low + known.high) / 2
    order = np.argsort(middle, kind="stable")
    reach = np.cumsum(count[order]) / max(count.sum(), 1)
    low, high = (float(middle[order][min(np.searchsorted(reach, share), len(order) - 1)]) for share in BULK)
    return low, high


def _ordered(silent: Sequence[str | None], bulk: tuple[float, float], known: Ends, most: int) -> ChartAxis:
    """Groups with round edges for labels that have ends, and one for each label that is `silent`."""
    bins = max(most - len(silent), 3)
    low, high = bulk
    edges, marks = _dates(low, high, bins) if known.dates else _numbers(low, high, bins, known.whole)
    whole = known.whole
    names = [GroupName(_between(a, b, whole)) for a, b in pairwise(marks)]
    before, after = ("before", "later") if known.dates else ("below", "more")
    if len(names) > 1 and float(known.low.min()) < edges[0]:
        names[0] = GroupName(f"{before} {marks[1]}")
    if len(names) > 1 and float(known.high.max()) > edges[-1] - whole:
        names[-1] = GroupName(f"{marks[-2]} and {after}")
    spread = bool((known.low != known.high).any())
    named = {text: len(names) + i for i, text in enumerate(silent)}
    groups = (*names, *(MISSING if text is None else text for text in silent))
    return ChartAxis(groups, np.asarray(edges), named, spread=spread, whole=whole)


def _between(first: str, second: str, whole: bool) -> str:
    """A group from its own mark to the next one, which it does not reach where values are whole numbers."""
    if not whole or not second.lstrip("-").isdigit():
        return first if whole else f"{first} to {second}"  # months stand alone
    last = str(int(second) - 1)
    return first if last == first else f"{first} to {last}"


def _numbers(low: float, high: float, bins: int, whole: bool) -> tuple[list[float], list[str]]:
    """Round edges from the first at or below `low`, and how they print."""
    span = max(high - low, 1.0 if whole else 1e-9 * max(abs(high), 1e-290))
    power = int(np.floor(np.log10(span / bins)))
    steps = [s * 10.0**p for p in range(power, max(power, 0) + 3) for s in (1, 2, 5)]
    step = next(s for s in steps if (s >= 1 or not whole) and np.floor(high / s) - np.floor(low / s) < bins)
    first, last = int(np.floor(low / step)), int(np.floor(high / step))
    if whole:
        return [float(i * int(step)) for i in range(first, last + 2)], [
            str(i * int(step)) for i in range(first, last + 2)
        ]
    return [i * step for i in range(first, last + 2)], [f"{i * step:.10g}" for i in range(first, last + 2)]


def _dates(low: float, high: float, bins: int) -> tuple[list[float], list[str]]:
    """The starts of months or years, and how they print."""
    first, last = (EPOCH + dt.timedelta(days=int(day)) for day in (low, high))
    months = 12 * (last.year - first.year) + last.month - first.month + 1
    if months <= bins:
        starts = [divmod(12 * first.year + first.month - 1 + i, 12) for i in range(months + 1)]
        return [_day(y, m + 1) for y, m in starts], [f"{y:04d}-{m + 1:02d}" for y, m in starts]
    step = next(s for s in YEARS if last.year // s - first.year // s < bins)
    marks = range(first.year // step * step, last.year // step * step + 2 * step, step)
    return [_day(y, 1) for y in marks], [str(y) for y in marks]


def _day(year: int, month: int) -> float:
    return float((dt.date(min(max(year, 1), 9999), month, 1) - EPOCH).days)
