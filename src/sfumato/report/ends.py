"""Ends: the least and the greatest value that a label covers, where labels are numbers, dates or ranges of them."""

from __future__ import annotations

from dataclasses import dataclass

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
    if text.null_count() == len(text):
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
