"""Cuts: the levels of a hierarchy that somebody gave are steps too, where their labels are ranges: ages 0-17, 18-64."""

from __future__ import annotations

import datetime as dt
import math
import re
from dataclasses import dataclass

import numpy as np

from sfumato.hierarchies.exact import exact, show
from sfumato.hierarchies.spec import fixed
from sfumato.hierarchies.times import EPOCH, zoned
from sfumato.measures.labels_cover import ABOVE, BETWEEN, BEYOND, BRACKETS, DECADE
from sfumato.microdata import Attribute
from sfumato.recode.steps import DAY, EXACT, FIRST, LAST, Calendar, Numbers, Steps

UNIT = re.compile(  # as `hierarchies.dates` prints them
    r"(?P<year>[0-9]{4})(?:(?P<decade>s)|-Q(?P<quarter>[1-4])|-W(?P<week>[0-9]{2})|-(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2}))?)?"
)
INFINITE = re.compile(r"[+-]?(?:inf|infinity|∞)", re.IGNORECASE)
NEARLY = 0.9  # quarters have 90 to 92 days

Cut = tuple[float, str]  # where it is, and how it prints
Sides = tuple[tuple[str, bool] | None, tuple[str, bool] | None]  # the text of each end, and whether it belongs


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


def with_cuts(grid: Numbers | Calendar, attribute: Attribute, count: np.ndarray) -> Cuts:
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
    grid: Numbers | Calendar,
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


def _surely_in(grid: Numbers | Calendar, code: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Whether values surely lie between their cuts: floats do not hold all digits of a value."""
    if isinstance(grid, Calendar):
        return ~((grid.least[code] < low) | (grid.greatest[code] > high))
    place = grid.place[code]
    sure = ~((place < low) | (place > high))
    if not (grid.whole and np.abs(place).max(initial=0) < 10**EXACT):
        for i in np.flatnonzero((place == low) | (place == high)).tolist():
            sure[i] &= len((grid.text[code[i]] or "").lstrip("+-0.")) <= EXACT
    return sure


def cuts_of(label: str | None, kind: str) -> tuple[Cut | None, Cut | None] | None:
    """Where the range that a label of a hierarchy says begins and ends, None where it is open; None if it says none.

    Whole numbers and days end with the last one that belongs.

    >>> cuts_of("[18, 65)", "integer"), cuts_of("65+", "integer"), cuts_of("1970s", "date")
    (((18.0, '18'), (64.0, '64')), ((65.0, '65'), None), ((0.0, '1970-01-01'), (3651.0, '1979-12-31')))
    """
    if kind not in ("integer", "decimal", "date", "datetime"):
        return None
    text, numbers = (label or "").strip(), kind in ("integer", "decimal")
    try:
        unit = None if numbers else UNIT.fullmatch(text)
        sides = _sides(text) if unit is None else _days(unit)
        if sides is None:
            return None
        read = _number if numbers else _moment
        low, high = (None if end is None else read(*end, kind, side) for side, end in enumerate(sides))
    except (ValueError, OverflowError):
        return None
    return None if low is not None and high is not None and low[0] > high[0] else (low, high)


def _sides(text: str) -> Sides | None:
    """The ends that a label writes."""
    if match := BRACKETS.match(text):
        first, low, high, last = match.groups()
        ends = (low, first == "["), (high, last == "]")
        start, stop = (None if INFINITE.fullmatch(end[0]) else end for end in ends)
        return start, stop
    if match := BEYOND.match(text):
        sign, bound = match.groups()
        end = bound, sign in ("<=", ">=", "≤", "≥")
        return (None, end) if sign[0] in "<≤" else (end, None)
    if match := ABOVE.match(text):
        return (match[1], True), None
    if match := DECADE.match(text):
        return (match[1], True), (str(int(match[1]) + 10), False)
    if match := BETWEEN.match(text):
        low, high = (bound for bound in match.groups() if bound is not None)
        return (low, True), (high, True)
    return None


def _number(text: str, belongs: bool, kind: str, side: int) -> Cut:
    number = exact(text)
    if kind == "integer":
        whole = math.floor(number) if (side == 1) == belongs else math.ceil(number)
        number = exact(whole if belongs else whole + (1, -1)[side])
    return float(number), show(number)


def _moment(text: str, belongs: bool, kind: str, side: int) -> Cut:
    moment = dt.datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        raise ValueError("a time zone")
    midnight = moment.time() == dt.time()
    if kind == "date" and not midnight:
        raise ValueError("a time of day")
    if midnight and not belongs and (side == 1 or kind == "date"):  # the day before, or after, is the last one
        moment += dt.timedelta(days=(1, -1)[side])
    days = (moment - EPOCH).days
    if kind == "date":
        return float(days), str(moment.date())
    if midnight and (side == 0 or len(text) == 10 or not belongs):
        return days * float(DAY) + side * (DAY - 1e-6), str(moment.date())  # a day belongs as a whole
    even = not (moment.second or moment.microsecond)
    return (moment - EPOCH).total_seconds(), moment.isoformat(timespec="minutes" if even else "auto")


def _days(unit: re.Match[str]) -> Sides:
    """The first and the last day of a day, week, month, quarter, year or decade."""
    year, week = int(unit["year"]), unit["week"]
    if unit["day"]:
        return (unit[0], True), (unit[0], True)
    if week:
        first = dt.date.fromisocalendar(year, int(week), 1)
        return (str(first), True), (str(first + dt.timedelta(days=6)), True)
    month, long = int(unit["month"] or 1), 1 if unit["month"] else 120 if unit["decade"] else 12
    if unit["quarter"]:
        month, long = 3 * int(unit["quarter"]) - 2, 3
    if not 1 <= month <= 12:
        raise ValueError("no month")
    months = np.array([0, long]) + (year - 1970) * 12 + month - 1
    days = np.clip(months.astype("M8[M]").astype("M8[D]").astype(np.int64) - (0, 1), FIRST, LAST)
    start, stop = ((str(day), True) for day in days.astype("M8[D]"))
    return start, stop
