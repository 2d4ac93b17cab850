"""Steps: the grids that ends of ranges are rounded to, outward: 5, 10, 20, 50, ... of numbers, days to centuries."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

import numpy as np

from sfumato.core.exact import EPOCH, HELD, in_tens, show, steps_below, zoned
from sfumato.core.hierarchy import Categories
from sfumato.core.microdata import Attribute
from sfumato.hierarchies.bounds import cuts_of
from sfumato.hierarchies.spec import fixed

SAMPLE = 1000  # values that the resolution of a column is read off
ON_GRID = 2 / 3  # of the values on a grid: the column is no finer than that
COARSER = 3  # times what the values are given in: with less, too many values would be ends by themselves
FINEST = 7  # powers of ten below the span of a column
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
class NumberSteps:
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
        n = steps_below(x, digit, power)
        if len(code) and not (self.whole and np.abs(x).max(initial=0) < 10**HELD):
            for i in np.flatnonzero(in_tens(n * digit, power) == x).tolist():  # of more digits it may be on either side
                n[i] -= len((self.text[code[i]] or "").lstrip("+-0.")) > HELD
        return (n * digit).astype(np.int64)

    def positions(self, step: int, key: np.ndarray, high: bool) -> np.ndarray:
        return in_tens(key.astype(np.float64), self.steps[step][1]) - (high and self.whole)

    def texts(self, step: int, key: np.ndarray, high: bool) -> list[str]:
        unit = Fraction(10) ** self.steps[step][1]
        return [show(n * unit - (high and self.whole)) for n in key.tolist()]


@dataclass(frozen=True, eq=False)
class CalendarSteps:
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


def steps_of(categories: Categories, released: np.ndarray, ends: np.ndarray) -> NumberSteps | CalendarSteps:
    """The steps of an ordered column, by its `released` codes alone; `ends` are those that may be rounded."""
    known = released[: len(released) - 1] if categories.missing and released[-1] == len(categories) - 1 else released
    place = _clock(categories) if categories.kind == "datetime" else _finite(categories)
    seen = known[np.isfinite(place[known])]
    some = seen[np.linspace(0, len(seen) - 1, min(len(seen), SAMPLE)).astype(np.int64)] if len(seen) else seen
    if categories.kind in ("date", "datetime"):
        every = [("seconds", n) for n in TIMES] + [("days", 1)] if categories.kind == "datetime" else []
        every += [("days", n) for n in DAYS]
        least, greatest = _surely(categories, place, ends)
        times = CalendarSteps(
            place, least, greatest, categories.kind == "date", (*every, *(("months", n) for n in MONTHS))
        )
        return replace(times, steps=times.steps[_resolution(times, some) :])
    first, last = (float(place[seen].min()), float(place[seen].max())) if len(seen) else (0.0, 0.0)
    reach = _power(max(abs(first), abs(last)))
    bottom = max(_power(last / 2 - first / 2) - FINEST, reach - HELD + 2, SMALLEST)
    whole = categories.kind == "integer"
    powers = range(max(bottom, 0) if whole else bottom, max(reach, bottom, 0 if whole else bottom) + 2)
    numbers = NumberSteps(
        place, categories.text, whole, tuple((digit, power) for power in powers for digit in (1, 2, 5))
    )
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


def _power(x: float) -> int:
    """The power of ten that a number reaches.

    >>> _power(999.0), _power(1000.0)
    (2, 3)
    """
    return int(np.floor(np.log10(x))) if x > 0 else 0


NEARLY = 0.9  # quarters have 90 to 92 days


@dataclass(frozen=True, eq=False)
class Step:
    """A step of the grid, or a level of a hierarchy with the step of the grid that serves where it has no cut.

    `label` is the label that each code ends at, below and above, `place` and `words` its cuts; nan where it is open.
    """

    size: float
    grid: int
    label: np.ndarray | None = None
    place: np.ndarray | None = None
    words: tuple[list[str], list[str]] = ([], [])

    def cut(self, side: int, label: np.ndarray) -> np.ndarray:
        assert self.place is not None
        return np.asarray(self.place[side][label])


@dataclass(frozen=True, eq=False)
class Cuts:
    """The steps of a grid and, by width among them, levels of a hierarchy; the last one is of the grid.

    The key of an end is twice that of the grid, or twice the number of a label, and one.
    """

    grid: Steps
    steps: tuple[Step, ...]

    @property
    def sizes(self) -> list[float]:
        return [step.size for step in self.steps]

    @property
    def given(self) -> np.ndarray:
        """Which steps are levels of a hierarchy."""
        return np.array([step.label is not None for step in self.steps])

    @property
    def place(self) -> np.ndarray:
        return self.grid.place

    def low(self, step: int, code: np.ndarray) -> np.ndarray:
        return self._keys(self.steps[step], self.grid.low(self.steps[step].grid, code), code, 0)

    def high(self, step: int, code: np.ndarray) -> np.ndarray:
        return self._keys(self.steps[step], self.grid.high(self.steps[step].grid, code), code, 1)

    def _keys(self, step: Step, key: np.ndarray, code: np.ndarray, side: int) -> np.ndarray:
        if step.label is None:
            return key * 2
        label = step.label[side, code]
        return np.where(np.isnan(step.cut(side, label)), key * 2, label * 2 + 1)

    def positions(self, step: int, key: np.ndarray, high: bool) -> np.ndarray:
        own = self.steps[step]
        found = self.grid.positions(own.grid, key >> 1, high)
        cut = (key & 1).astype(np.bool_)
        if cut.any():
            found[cut] = own.cut(int(high), key[cut] >> 1)
        return found

    def texts(self, step: int, key: np.ndarray, high: bool) -> list[str]:
        own, words = self.steps[step], np.empty(len(key), object)
        cut = (key & 1).astype(np.bool_)
        words[cut] = [own.words[high][label] for label in key[cut] >> 1]
        words[~cut] = self.grid.texts(own.grid, key[~cut] >> 1, high)
        return words.tolist()


def with_cuts(grid: NumberSteps | CalendarSteps, attribute: Attribute, count: np.ndarray) -> Cuts:
    """The steps of a grid with the levels of the attribute's hierarchy; `count` are the released rows of each code.

    Only what somebody gave counts: what is learned, or made by an unknown recipe, may cut at values of the table. A
    level counts where the labels of all released values are ranges. A label that is narrower than the finest step, or
    that does not cover its value, is not used: such values are rounded to the grid.
    """
    steps = [Step(size, i) for i, size in enumerate(grid.sizes)]
    hierarchy, released = attribute.hierarchy, np.flatnonzero(count)
    seen = released[np.isfinite(grid.place[released])]
    if hierarchy is None or hierarchy.learned or not fixed(attribute.recipe) or not len(seen):
        return Cuts(grid, tuple(steps))
    if not zoned(attribute.categories.text[0]):
        of, text = attribute.ladder.of, attribute.ladder.text
        levels = [_level(grid, attribute.kind, of[i], text[i], seen, count[seen]) for i in range(1, len(of))]
        steps += [level for level in levels if level is not None]
    return Cuts(grid, tuple(sorted(steps, key=lambda step: step.size)))


def _level(
    grid: NumberSteps | CalendarSteps,
    kind: str,
    of: np.ndarray,
    text: tuple[str | None, ...],
    seen: np.ndarray,
    rows: np.ndarray,
) -> Step | None:
    """A level as a step, by the labels of the codes that are `seen`, which have so many rows; None where it is none."""
    none = len(text)  # the number of no label
    place = np.full((2, none + 1), np.nan)
    words = [""] * (none + 1), [""] * (none + 1)
    for i in np.unique(of[seen]).tolist():
        found = cuts_of(text[i], kind)
        if found is None:
            return None
        for side, cut in enumerate(found):
            if cut is not None:
                place[side, i], words[side][i] = cut
    with np.errstate(over="ignore"):
        width = place[1] - place[0]
    place[:, width + (kind in ("integer", "date")) < NEARLY * grid.sizes[0]] = np.nan
    label = np.full((2, len(of)), none)
    label[:, seen] = np.where(_surely_in(grid, seen, *place[:, of[seen]]), of[seen], none)
    low, high = place[:, label[0, seen]]
    used = ~(np.isnan(low) & np.isnan(high))
    if not used.any():
        return None
    if kind == "decimal":  # [20, 30] ends with 30 itself, though it is of the next label
        label[1, seen[grid.place[seen] == low]] += none + 1
        place, words = np.hstack([place, place[[0, 0]]]), (words[0], words[1] + words[0])
    first, last = grid.place[seen].min(), grid.place[seen].max()  # how far open labels reach, for their width alone
    with np.errstate(over="ignore"):
        wide = np.where(np.isnan(high), last, high) - np.where(np.isnan(low), first, low)
        size = float(np.average(wide[used], weights=rows[used]))
    nearest = max(int(np.searchsorted(grid.sizes, size, side="right")) - 1, 0)
    return Step(size, nearest, label, place, words) if size < grid.sizes[-1] else None


def _surely_in(grid: NumberSteps | CalendarSteps, code: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Whether values surely lie between their cuts: floats do not hold all digits of a value."""
    if isinstance(grid, CalendarSteps):
        return ~((grid.least[code] < low) | (grid.greatest[code] > high))
    place = grid.place[code]
    sure = ~((place < low) | (place > high))
    if not (grid.whole and np.abs(place).max(initial=0) < 10**HELD):
        for i in np.flatnonzero((place == low) | (place == high)).tolist():
            sure[i] &= len((grid.text[code[i]] or "").lstrip("+-0.")) <= HELD
    return sure
