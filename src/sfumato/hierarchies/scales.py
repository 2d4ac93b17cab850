"""Scales: where a learned hierarchy may cut an ordered column, and how such a cut prints."""

from __future__ import annotations

import datetime as dt
import math
from bisect import bisect_left
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from sfumato.categories import Categories
from sfumato.hierarchies.exact import exact, show
from sfumato.hierarchies.times import times


class Scale(Protocol):
    """The values of a column in rising order, by rank; ranks `low` <= rank < `high` are finite."""

    @property
    def order(self) -> Sequence[int]:
        """The leaf of each rank."""

    @property
    def low(self) -> int:
        """The first finite rank."""

    @property
    def high(self) -> int:
        """One more than the last finite rank."""

    def value(self, rank: int) -> Any:
        """The value at a rank."""

    def round(self, after: Any, near: Any, last: Any) -> Any:
        """The roundest cut c with after < c <= last; of equally round ones one close to `near`."""

    def show(self, cut: Any) -> str:
        """How a cut prints."""


class Numbers:
    """Numbers, read exactly from their printed form, and only where they are looked at."""

    def __init__(self, categories: Categories, leaves: Sequence[str]) -> None:
        place = np.asarray(categories.position, dtype=np.float64)[: len(leaves)]
        self._leaves, self._place = leaves, place
        rising = np.isfinite(place).all() and bool((place[1:] > place[:-1]).all())
        # floats that differ are in the right order; equal ones may hide different numbers
        self.order: Sequence[int] = (
            range(len(leaves)) if rising else sorted(range(len(leaves)), key=lambda i: (self._read(i), i))
        )
        self.low, self.high = 0, len(leaves)
        if not rising:
            finite = [rank for rank in range(len(leaves)) if isinstance(self.value(rank), Fraction)]
            self.low, self.high = (finite[0], finite[-1] + 1) if finite else (0, 0)

    def value(self, rank: int) -> Fraction | float:
        return self._read(self.order[rank])

    def _read(self, leaf: int) -> Fraction | float:
        try:
            return exact(self._leaves[leaf])
        except ValueError:  # infinite, or of thousands of digits: as near as a float comes
            number = float(self._place[leaf])
            return Fraction(number) if math.isfinite(number) else number

    def round(self, after: Fraction, near: Fraction, last: Fraction) -> Fraction:
        power = max(_magnitude(after), _magnitude(last)) + 1
        while True:
            for digit in (5, 2, 1):
                step = digit * Fraction(10) ** power
                cut = step * math.floor(last / step)
                if cut > after:
                    closer = step * round(near / step)
                    return closer if after < closer <= last else cut
            power -= 1

    def show(self, cut: Fraction) -> str:
        return show(cut)


class Times:
    """Dates and times; cuts fall on the start of years, months, days, ... as coarse as can be."""

    def __init__(self, moments: Sequence[dt.datetime], days: bool) -> None:
        self._moments, self._days = moments, days
        self.order = sorted(range(len(moments)), key=lambda i: (moments[i], i))
        self.low, self.high = 0, len(moments)

    def value(self, rank: int) -> dt.datetime:
        return self._moments[self.order[rank]]

    def round(self, after: dt.datetime, near: dt.datetime, last: dt.datetime) -> dt.datetime:
        for unit, step in STEPS:
            cut = _floor(last, unit, step)
            if cut > after:
                closer = _floor(near, unit, step)
                return closer if after < closer <= last else cut
        return last

    def show(self, cut: dt.datetime) -> str:
        if self._days or cut.time() == dt.time():
            return cut.date().isoformat()
        return cut.isoformat(timespec="auto" if cut.second or cut.microsecond else "minutes")


UNITS = ("year", "month", "day", "hour", "minute", "second", "microsecond")
STEPS = [("year", step) for step in (1000, 500, 200, 100, 50, 20, 10, 5, 2, 1)]
STEPS += [("month", 6), ("month", 3), ("month", 1), ("day", 10), ("day", 5), ("day", 1)]
STEPS += [("hour", 12), ("hour", 6), ("hour", 3), ("hour", 1)]
STEPS += [(unit, step) for unit in ("minute", "second") for step in (30, 15, 5, 1)]
STEPS += [("microsecond", 10**power) for power in (5, 4, 3, 2, 1, 0)]


def _floor(moment: dt.datetime, unit: str, step: int) -> dt.datetime:
    """The last start of a unit (or of a multiple of it) up to a moment."""
    fields = {"month": 1, "day": 1, "hour": 0, "minute": 0, "second": 0, "microsecond": 0}
    finer = {name: fields[name] for name in UNITS[UNITS.index(unit) + 1 :]}
    value, base = getattr(moment, unit), 1 if unit in ("month", "day") else 0
    start = (value - base) // step * step + base
    if unit == "year":
        start = max(start, 1)
    if unit == "day" and step > 1:
        start = min(start, 31 - step)  # no interval of one day at the end of long months
    changed: dict[str, Any] = {unit: start, **finer}
    return moment.replace(**changed)


def scale_of(categories: Categories, leaves: Sequence[str]) -> Scale | None:
    """The scale of an ordered column, None where there is none or its values cannot be read."""
    if categories.position is None or categories.kind == "boolean":
        return None
    if categories.kind in ("integer", "decimal") or (categories.kind == "text" and all(map(_is_number, leaves))):
        return None if np.isnan(categories.position[: len(leaves)]).any() else Numbers(categories, leaves)
    read = times(categories, leaves)
    moments = [moment for moment in read if moment is not None]
    if len(moments) < len(read):
        return None
    return Times(moments, days=all(moment.time() == dt.time() for moment in moments))


def boundary(scale: Scale, first: int, near: int, last: int) -> tuple[int, Any] | None:
    """The first rank from `first` to `last` at or above a round cut, with the cut; None where all values are equal."""
    below, above = scale.value(first - 1), scale.value(last)
    if not below < above:
        return None
    cut = scale.round(below, scale.value(near), above)
    return bisect_left(range(last + 1), cut, lo=first, key=scale.value), cut


def _is_number(text: str) -> bool:
    try:
        exact(text)
    except ValueError:
        return False
    return True


def _magnitude(number: Fraction) -> int:
    """The power of ten that a number reaches, or one more; what 0 reaches is of no matter."""
    return len(str(abs(number.numerator))) - len(str(number.denominator)) + 1 if number else -(10**9)
