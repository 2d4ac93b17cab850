"""Intervals: numbers grouped by nested widths or own cut points, with top and bottom coding."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated

import numpy as np

from sfumato.core.exact import exact, ratio, show
from sfumato.core.hierarchy import Categories, Groups, Hierarchy, grow, leaves_of
from sfumato.core.label_grammar import range_text
from sfumato.core.parameters import Written
from sfumato.errors import HierarchyError, PolicyError

Ratios = list[tuple[int, int]]  # numerators and denominators
Bounds = tuple[Fraction | None, Fraction | None]  # from, up to; None: open


@dataclass(frozen=True)
class Intervals:
    """Half-open intervals of nested widths, or between own cut points, with top and bottom coding."""

    widths: tuple[Fraction, ...] = ()
    origin: Fraction = Fraction(0)
    cuts: tuple[tuple[Fraction, ...], ...] = ()
    bottom: Fraction | None = None
    top: Fraction | None = None

    def __post_init__(self) -> None:
        faults = []
        if self.widths and self.cuts:
            faults.append("give widths or cuts, not both")
        if not (self.widths or self.cuts or self.bottom is not None or self.top is not None):
            faults.append("give widths, cuts, bottom or top")
        if any(width <= 0 for width in self.widths):
            faults.append("a width must be greater than 0")
        for fine, coarse in zip(self.widths, self.widths[1:], strict=False):
            if fine > 0 and (coarse <= fine or (coarse / fine).denominator != 1):
                faults.append(f"widths must nest: {show(coarse)} is no multiple of {show(fine)}")
        if any(list(level) != sorted(set(level)) or not level for level in self.cuts):
            faults.append("the cut points of a level must rise, and there must be one at least")
        for level, (finer, coarser) in enumerate(zip(self.cuts, self.cuts[1:], strict=False), start=2):
            if stray := sorted(set(coarser) - set(finer)):
                faults.append(
                    f"cuts must nest: {', '.join(map(show, stray))} of level {level} not in level {level - 1}"
                )
        if self.bottom is not None and self.top is not None and self.bottom > self.top:
            faults.append(f"bottom {show(self.bottom)} is above top {show(self.top)}")
        if faults:
            raise PolicyError("these intervals make no hierarchy", faults)

    def build(self, categories: Categories) -> Hierarchy:
        """One level per width (or list of cuts), then the root."""
        leaves = leaves_of(categories)
        values = _numbers(categories, leaves)
        if self.widths:
            levels = [self._level(values, *self._by_width(values, width)) for width in self.widths]
        elif self.cuts:
            levels = [self._level(values, *_by_cuts(values, cuts)) for cuts in self.cuts]
        else:  # top and bottom coding alone: the other values stay as they are
            levels = [self._level(values, list(range(len(leaves))), lambda i: (None, None), leaves)]
        return grow(categories.name, leaves, levels)

    def _by_width(self, values: Ratios, width: Fraction) -> tuple[list[int], Callable[[int], Bounds]]:
        # floor((v - origin) / width) in integers alone: exact, and much cheaper than fractions
        (o, od), (w, wd) = self.origin.as_integer_ratio(), width.as_integer_ratio()
        number = [((n * od - o * d) * wd) // (d * od * w) for n, d in values]
        return number, lambda i: (self.origin + i * width, self.origin + (i + 1) * width)

    def _level(
        self,
        values: Ratios,
        group: list[int],
        bounds: Callable[[int], Bounds],
        names: Sequence[str] = (),
    ) -> Groups:
        """The groups of one level, cut off at bottom and top."""
        of: dict[object, int] = {}
        labels: list[str] = []
        which = np.empty(len(values), dtype=np.int64)
        for row, ((n, d), i) in enumerate(zip(values, group, strict=True)):
            if self.bottom is not None and n * self.bottom.denominator < self.bottom.numerator * d:
                key: object = "bottom"
            elif self.top is not None and n * self.top.denominator >= self.top.numerator * d:
                key = "top"
            else:
                key = i
            if key not in of:
                of[key] = len(labels)
                labels.append(names[i] if names and key == i else self._label(key, bounds))
            which[row] = of[key]
        return which, labels

    def _label(self, key: object, bounds: Callable[[int], Bounds]) -> str:
        if not isinstance(key, int):
            return between(None, self.bottom) if key == "bottom" else between(self.top, None)
        low, high = bounds(key)
        if self.bottom is not None:
            low = self.bottom if low is None else max(low, self.bottom)
        if self.top is not None:
            high = self.top if high is None else min(high, self.top)
        return between(low, high)

    def describe(self) -> str:
        """A few words for the manifest."""
        words = []
        if self.widths:
            words.append("intervals " + ", ".join(map(show, self.widths)))
        if self.cuts:
            words.append("cuts " + " / ".join(", ".join(map(show, level)) for level in self.cuts))
        if self.origin:
            words.append(f"origin {show(self.origin)}")
        words += [f"{word} {show(at)}" for word, at in (("bottom", self.bottom), ("top", self.top)) if at is not None]
        return ", ".join(words)


def between(low: Fraction | None, high: Fraction | None, text: Callable[[Fraction], str] = show) -> str:
    """An interval as it prints: `[20, 30)`, `< 20`, `>= 30`.

    >>> between(Fraction(20), Fraction(30)), between(None, Fraction(20)), between(Fraction(30), None)
    ('[20, 30)', '< 20', '>= 30')
    """
    return range_text(None if low is None else text(low), None if high is None else text(high), closed=False)


def _by_cuts(values: Ratios, cuts: Sequence[Fraction]) -> tuple[list[int], Callable[[int], Bounds]]:
    edges = [None, *cuts, None]
    return [bisect_right(cuts, Fraction(n, d)) for n, d in values], lambda i: (edges[i], edges[i + 1])


def _numbers(categories: Categories, leaves: Sequence[str]) -> Ratios:
    """The values as exact fractions, read from their printed form."""
    if categories.kind in ("date", "datetime"):
        raise HierarchyError(f'"{categories.name}" holds dates: intervals are for numbers', hint="use dates")
    if leaves and (categories.position is None or categories.kind == "boolean"):
        hint = "use levels, order or a hierarchy file"
        raise HierarchyError(
            f'"{categories.name}" does not hold numbers only: no intervals', got=categories.kind, hint=hint
        )
    values, unread = [], 0
    for text in leaves:
        try:
            values.append(ratio(text))
        except ValueError:
            unread += 1
    if unread:
        what = f'{unread} of {len(leaves)} values of "{categories.name}" are no finite numbers'
        raise HierarchyError(what, hint="leave the hierarchy out to have one learned")
    return values


def intervals(
    *widths: Annotated[object, Written()],
    origin: Annotated[object, Written()] = 0,
    cuts: Annotated[Iterable[object] | None, Written("lists")] = None,
    bottom: Annotated[object, Written()] = None,
    top: Annotated[object, Written()] = None,
) -> Intervals:
    """Numbers in half-open intervals, `[20, 30)`, of nested widths or between own cut points.

    `widths` rise and each is a multiple of the one before; intervals start at multiples of the width from `origin`.
    `cuts` is a list of levels, finest first, each a rising list of cut points that stand in the finer level too.
    Values below `bottom` print as `< bottom` and values from `top` on as `>= top`, at every level but the first (0);
    an interval that crosses one of them is cut off there. With bottom or top alone the other values stay as they are.

    `widths`: the widths of the levels, each a multiple of the one before. `origin`: a number where an interval starts.
    `cuts`: own cut points, a list of them for each level. `bottom`: below it all numbers are one group. `top`: so are
    all from it on.

    >>> intervals(5, 10, 20, bottom=18).describe()
    'intervals 5, 10, 20, bottom 18'
    """
    faults: list[str] = []

    def number(value: object, name: str) -> Fraction:
        try:
            return exact(value)
        except ValueError:
            faults.append(f"{name} of intervals must be a number; got {type(value).__name__}")
            return Fraction(0)

    if len(widths) == 1 and isinstance(widths[0], list | tuple):
        widths = tuple(widths[0])
    steps = tuple(number(width, "a width") for width in widths)
    levels: list[tuple[Fraction, ...]] = []
    given = [] if cuts is None else list(cuts)
    if given and not any(isinstance(level, Sequence) and not isinstance(level, str) for level in given):
        given = [given]  # one level, written without its own brackets
    for level in given:
        if isinstance(level, Sequence) and not isinstance(level, str):
            levels.append(tuple(number(cut, "a cut") for cut in level))
        else:
            faults.append("cuts of intervals must be a list of lists of numbers")
    start = number(origin, "origin")
    low = None if bottom is None else number(bottom, "bottom")
    high = None if top is None else number(top, "top")
    if faults:
        raise PolicyError("these intervals make no hierarchy", faults)
    return Intervals(steps, start, tuple(levels), low, high)
