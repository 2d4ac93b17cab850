"""Steps: the grids that ends of ranges are rounded to, outward: 5, 10, 20, 50, ... of numbers, days to centuries."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

import numpy as np

from sfumato.categories import Categories
from sfumato.hierarchies.exact import show
from sfumato.hierarchies.times import EPOCH, zoned

SAMPLE = 1000  # values that the resolution of a column is read off
ON_GRID = 2 / 3  # of the values on a grid: the column is no finer than that
COARSER = 3  # times what the values are given in: with less, too many values would be ends by themselves
FINEST = 7  # powers of ten below the span of a column
EXACT = 15  # digits that floats hold
SMALLEST = -300  # power of ten; floats hold little more
DAY = 86400
TIMES = (1, 5, 15, 30, 60, 300, 900, 1800, 3600, 10800, 21600, 43200)  # seconds
DAYS = (5, 10)  # of a month, whose last ones may be longer
MONTHS = (1, 3, 12, 24, 60, 120, 240, 600, 1200)
FIRST, LAST = -719162, 2932896  # days of the years 1 and 9999


class Steps(Protocol):
    """The steps of a column, from fine to coarse, each coarser than what its values are given in.

    Values are known by their codes. An end is a whole number of a step's own units (`key`), which says where it is.
    """

    @property
    def sizes(self) -> Sequence[float]:
        """The width of each step, in positions."""

    @property
    def place(self) -> np.ndarray:
        """Where each code stands; nan where an end cannot be made of it."""

    def low(self, step: int, code: np.ndarray) -> np.ndarray:
        """The keys of the ends at or below values."""

    def high(self, step: int, code: np.ndarray) -> np.ndarray:
        """The keys of the ends at or above values."""

    def positions(self, step: int, key: np.ndarray, high: bool) -> np.ndarray:
        """Where ends are."""

    def texts(self, step: int, key: np.ndarray, high: bool) -> list[str]:
        """How ends print."""


@dataclass(frozen=True, eq=False)
class Numbers:
    """Numbers. Whole ones end before the next point of the grid, `[30, 39]`, others at it, `[1.5, 2]`.

    A step is a digit and a power of ten; its ends count in that power.
    """

    place: np.ndarray
    text: tuple[str | None, ...]
    whole: bool
    steps: tuple[tuple[int, int], ...]

    @property
    def sizes(self) -> list[float]:
        return [float(f"{digit}e{power}") for digit, power in self.steps]

    def low(self, step: int, code: np.ndarray) -> np.ndarray:
        return self._below(step, self.place[code], code)

    def high(self, step: int, code: np.ndarray) -> np.ndarray:
        if self.whole:
            return self._below(step, self.place[code], code[:0]) + self.steps[step][0]
        return -self._below(step, -self.place[code], code)

    def _below(self, step: int, x: np.ndarray, code: np.ndarray) -> np.ndarray:
        digit, power = self.steps[step]
        n = np.floor(x / float(f"{digit}e{power}"))
        for _ in range(2):  # a quotient of floats may be off by one
            n = n - (_number(n * digit, power) > x) + (_number((n + 1) * digit, power) <= x)
        if len(code) and not (self.whole and np.abs(x).max(initial=0) < 10**EXACT):
            for i in np.flatnonzero(_number(n * digit, power) == x).tolist():  # of more digits it may be on either side
                n[i] -= len((self.text[code[i]] or "").lstrip("+-0.")) > EXACT
        return (n * digit).astype(np.int64)

    def positions(self, step: int, key: np.ndarray, high: bool) -> np.ndarray:
        return _number(key.astype(np.float64), self.steps[step][1]) - (high and self.whole)

    def texts(self, step: int, key: np.ndarray, high: bool) -> list[str]:
        unit = Fraction(10) ** self.steps[step][1]
        return [show(n * unit - (high and self.whole)) for n in key.tolist()]


@dataclass(frozen=True, eq=False)
class Calendar:
    """Dates and times. Days end with the last day of a month, quarter, year, ..., times at the next full minute, ...

    A step is seconds, days or months; ends count in seconds or in days.
    """

    place: np.ndarray  # days, or seconds of the clock on the wall
    least: np.ndarray  # where a value, and those after it, surely is not before
    greatest: np.ndarray  # where a value, and those before it, surely is not after
    dates: bool
    steps: tuple[tuple[str, int], ...]

    @property
    def sizes(self) -> list[float]:
        days = 1 if self.dates else DAY
        width = {"seconds": 1.0, "days": days, "months": 30.44 * days}
        return [n * width[unit] for unit, n in self.steps]

    def low(self, step: int, code: np.ndarray) -> np.ndarray:
        unit, n = self.steps[step]
        if unit == "seconds":
            return np.floor(self.least[code] / n).astype(np.int64) * n
        days = self._days(self.least[code])
        return np.maximum(_month(days, n, 0), FIRST) if unit == "months" else _part(days, n, 0)

    def high(self, step: int, code: np.ndarray) -> np.ndarray:
        unit, n = self.steps[step]
        if unit == "seconds":
            return np.ceil(self.greatest[code] / n).astype(np.int64) * n
        days = self._days(self.greatest[code])
        return np.minimum(_month(days, n, 1) - 1, LAST) if unit == "months" else _part(days, n, 1) - 1

    def _days(self, place: np.ndarray) -> np.ndarray:
        return np.floor(place / (1 if self.dates else DAY)).astype(np.int64)

    def positions(self, step: int, key: np.ndarray, high: bool) -> np.ndarray:
        if self.dates or self.steps[step][0] == "seconds":
            return key.astype(np.float64)
        return (key + high) * float(DAY) - high * 1e-6  # a day belongs as a whole

    def texts(self, step: int, key: np.ndarray, high: bool) -> list[str]:
        unit, n = self.steps[step]
        if unit != "seconds":
            return [str(day) for day in np.datetime_as_string(key.astype("M8[D]"))]
        return [str(time) for time in np.datetime_as_string(key.astype("M8[s]"), unit="m" if n % 60 == 0 else "s")]


def steps_of(categories: Categories, released: np.ndarray, ends: np.ndarray) -> Numbers | Calendar:
    """The steps of an ordered column, by its `released` codes alone; `ends` are those that may be rounded."""
    known = released[: len(released) - 1] if categories.missing and released[-1] == len(categories) - 1 else released
    place = _clock(categories) if categories.kind == "datetime" else _finite(categories)
    seen = known[np.isfinite(place[known])]
    some = seen[np.linspace(0, len(seen) - 1, min(len(seen), SAMPLE)).astype(np.int64)] if len(seen) else seen
    if categories.kind in ("date", "datetime"):
        every = [("seconds", n) for n in TIMES] + [("days", 1)] if categories.kind == "datetime" else []
        every += [("days", n) for n in DAYS]
        least, greatest = _surely(categories, place, ends)
        times = Calendar(place, least, greatest, categories.kind == "date", (*every, *(("months", n) for n in MONTHS)))
        return replace(times, steps=times.steps[_resolution(times, some) :])
    first, last = (float(place[seen].min()), float(place[seen].max())) if len(seen) else (0.0, 0.0)
    reach = _power(max(abs(first), abs(last)))
    bottom = max(_power(last / 2 - first / 2) - FINEST, reach - EXACT + 2, SMALLEST)
    whole = categories.kind == "integer"
    powers = range(max(bottom, 0) if whole else bottom, max(reach, bottom, 0 if whole else bottom) + 2)
    numbers = Numbers(place, categories.text, whole, tuple((digit, power) for power in powers for digit in (1, 2, 5)))
    return replace(numbers, steps=numbers.steps[_resolution(numbers, some) :])


def _resolution(steps: Steps, some: np.ndarray) -> int:
    """The number of the first step that is clearly coarser than what the values are given in."""
    place = steps.place[some]
    for step in reversed(range(len(steps.sizes) - 1 if len(some) else 0)):
        low = steps.positions(step, steps.low(step, some), False) == place
        high = np.floor(steps.positions(step, steps.high(step, some), True)) == place
        if max(low.mean(), high.mean()) > ON_GRID:
            coarse = np.flatnonzero(np.array(steps.sizes) >= COARSER * steps.sizes[step])
            return int(coarse[0]) if len(coarse) else len(steps.sizes) - 1
    return 0


def _finite(categories: Categories) -> np.ndarray:
    """Positions; nan for infinite ones, and for days of other years than 1 to 9999."""
    place = np.asarray(categories.position, dtype=np.float64)
    fine = np.isfinite(place)
    if categories.kind == "decimal":  # narrow floats print shorter than they are
        some = np.flatnonzero(fine)[:: max(1, len(place) // SAMPLE)]
        if any(float(categories.text[code] or 0) != place[code] for code in some.tolist()):
            place = np.array([np.nan if text is None else float(text) for text in categories.text])
    if categories.kind == "date":
        fine = fine & (place >= FIRST) & (place <= LAST)
    return np.where(fine, place, np.nan)


def _clock(categories: Categories) -> np.ndarray:
    """What the clock on the wall showed, in seconds; nan for other years than 1 to 9999."""
    place, text = np.asarray(categories.position, dtype=np.float64), categories.text
    if zoned(text[0]):
        place = np.array([np.nan if word is None else _wall(word) for word in text])
    with np.errstate(invalid="ignore"):
        return np.where((place >= FIRST * DAY) & (place < (LAST + 1) * DAY), place, np.nan)


def _surely(categories: Categories, place: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Between what values surely lie: clocks are set back, and floats do not hold billionths of a second."""
    if categories.kind == "date":
        return place, place
    text, least, greatest = categories.text, place.copy(), place.copy()
    unsure = np.array([code for code in ends[place[ends] == np.floor(place[ends])] if "." in (text[code] or "")], int)
    least[unsure] -= 0.5
    greatest[unsure] += 0.5
    if not zoned(text[0]):
        return least, greatest
    return np.fmin.accumulate(least[::-1])[::-1], np.fmax.accumulate(greatest)


def _wall(text: str) -> float:
    try:
        return (dt.datetime.fromisoformat(text).replace(tzinfo=None) - EPOCH).total_seconds()
    except (ValueError, OverflowError):
        return float("nan")


def _month(days: np.ndarray, n: int, later: int) -> np.ndarray:
    """The first day of the n months that days are in, or of the n months after."""
    zero = 1970 * 12
    month = days.astype("M8[D]").astype("M8[M]").astype(np.int64) + zero
    first = (month // n + later) * n - zero
    return np.asarray(first.astype("M8[M]").astype("M8[D]").astype(np.int64))


def _part(days: np.ndarray, n: int, later: int) -> np.ndarray:
    """The first day of the n days of a month that days are in, or of what comes after."""
    first, after = _month(days, 1, 0), _month(days, 1, 1)
    part = np.minimum((days - first) // n, 30 // n - 1 if n > 1 else 30)
    last = (part == 30 // n - 1) if n > 1 else np.zeros(len(days), np.bool_)
    return np.where(last & (later > 0), after, first + (part + later) * n)


def _number(n: np.ndarray, power: int) -> np.ndarray:
    """n times a power of ten, as the nearest float."""
    if abs(power) <= 22:  # those powers are floats themselves, so that there is one rounding
        return n * 10.0**power if power >= 0 else n / 10.0**-power
    return np.array([float(f"{int(x)}e{power}") if np.isfinite(x) else x for x in n.tolist()])


def _power(x: float) -> int:
    """The power of ten that a number reaches.

    >>> _power(999.0), _power(1000.0)
    (2, 3)
    """
    return int(np.floor(np.log10(x))) if x > 0 else 0
