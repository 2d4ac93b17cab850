"""Scales: where a learned hierarchy may cut an ordered column, and how such a cut prints."""

from __future__ import annotations

import datetime as dt
import heapq
import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from sfumato.core.exact import exact, show, times
from sfumato.core.hierarchy import Categories, Groups, Hierarchy, grow, leaves_of
from sfumato.core.label_grammar import set_text
from sfumato.core.parameters import whole_number
from sfumato.hierarchies.intervals import between


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


class NumberScale:
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
        return None if np.isnan(categories.position[: len(leaves)]).any() else NumberScale(categories, leaves)
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


FAN_OUT = 4  # levels between values and root where there are values enough: six levels in all

Cuts = dict[int, Any]  # first rank of a group -> the cut before it


@dataclass(frozen=True)
class Learned:
    """Nested quantiles for ordered columns, groups of even frequency for the others."""

    groups: int = 256

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", whole_number(self.groups, "groups of learned", 2))

    def build(self, categories: Categories) -> Hierarchy:
        """Up to four levels between values and root, from coarse to fine, each splitting the groups above it."""
        leaves = leaves_of(categories)
        scale = scale_of(categories, leaves)
        order = np.arange(len(leaves)) if scale is None else np.asarray(scale.order, dtype=np.int64)
        weight = np.concatenate([[0.0], np.cumsum(np.maximum(categories.count[: len(leaves)][order], 1.0))])
        most = min(self.groups, (len(leaves) + 1) // 2)
        cuts: Cuts = {}
        levels: list[Groups] = []
        for goal in sorted({round(most ** (step / FAN_OUT)) for step in range(1, FAN_OUT + 1)}):
            finer = _split(cuts, goal, weight, scale)
            if len(finer) > len(cuts):
                levels.append(_groups(leaves, order, finer, scale))
            cuts = finer
        return grow(categories.name, leaves, levels[::-1], learned=True)

    def describe(self) -> str:
        """A few words for the manifest."""
        return "learned" if self.groups == 256 else f"learned, {self.groups} groups"


def learned(groups: int = 256) -> Learned:
    """A hierarchy made from the data: nested quantiles for numbers and dates, groups of even frequency for categories.

    At most `groups` groups at the first level, and about six levels in all. Cuts of numbers and dates fall on round
    numbers near the quantiles, the end intervals are open: `< 23`, `[23, 31)`, `>= 67`. Categories that follow each
    other print as `{a, b}`, more than eight of them as `first..last`.

    >>> learned().describe()
    'learned'
    """
    return Learned(groups)


def _split(cuts: Cuts, goal: int, weight: npt.NDArray[np.float64], scale: Scale | None) -> Cuts:
    """The cuts and more of them, until there are `goal` groups of about even weight (fewer where values repeat)."""
    starts = [0, *sorted(cuts), len(weight) - 1]
    pieces = list(pairwise(starts))
    shares = [1] * len(pieces)
    heap = [(-float(weight[e] - weight[s]), i) for i, (s, e) in enumerate(pieces) if e - s > 1]
    heapq.heapify(heap)
    for _ in range(goal - len(pieces)):
        if not heap:
            break
        _, i = heapq.heappop(heap)  # the piece whose groups are the heaviest gets one more
        shares[i] += 1
        s, e = pieces[i]
        if shares[i] < e - s:
            heapq.heappush(heap, (-float(weight[e] - weight[s]) / shares[i], i))
    finer = dict(cuts)
    for (start, end), share in zip(pieces, shares, strict=True):
        finer.update(_quantiles(start, end, share, weight, scale))
    return finer


def _quantiles(start: int, end: int, share: int, weight: npt.NDArray[np.float64], scale: Scale | None) -> Cuts:
    """Cuts near the quantiles of one group: each may be off by a quarter of a part, to be a round number."""
    total = float(weight[end] - weight[start])
    lowest, highest = start + 1, end - 1
    if scale is not None:
        lowest, highest = max(lowest, scale.low + 1), min(highest, scale.high - 1)
    found: Cuts = {}
    for part in range(1, share):
        target, slack = float(weight[start]) + total * part / share, total / share / 4
        near = int(np.searchsorted(weight, target))
        if near > 0 and target - weight[near - 1] < weight[min(near, end)] - target:
            near -= 1
        first = max(int(np.searchsorted(weight, target - slack)), lowest)
        last = min(int(np.searchsorted(weight, target + slack, side="right")) - 1, highest)
        if lowest > highest:
            break
        if first > last:  # one heavy value takes the whole window: cut beside it, once
            if found and near < lowest:
                continue
            first = last = min(max(near, lowest), highest)
        near = min(max(near, first), last)
        cut = (near, None) if scale is None else boundary(scale, first, near, last)
        if cut is not None:
            found[cut[0]] = cut[1]
            lowest = cut[0] + 1
    return found


def _groups(leaves: tuple[str, ...], order: npt.NDArray[np.int64], cuts: Cuts, scale: Scale | None) -> Groups:
    starts = sorted(cuts)
    which = np.empty(len(leaves), dtype=np.int64)
    which[order] = np.searchsorted(starts, np.arange(len(leaves)), side="right")
    if scale is not None:
        edges = [None, *(cuts[start] for start in starts), None]
        return which, [between(low, high, scale.show) for low, high in pairwise(edges)]
    runs = zip([0, *starts], [*starts, len(leaves)], strict=True)
    return which, [set_text(leaves[start:end]) for start, end in runs]
