"""Bins for class sizes: one bar per size where that fits, equal steps where the bulk allows it, else growing steps."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import ceil

from sfumato.report.markup import Markup, drawing, join, n, tag

_SERIES = ((1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8), (1, 1.5, 2, 3, 5, 7), (1, 2, 5), (1,))


@dataclass(frozen=True)
class Bins:
    """Bar i counts the sizes from edges[i] to edges[i + 1] - 1; the last has no upper end where `open` is set."""

    edges: tuple[int, ...]
    count: tuple[int, ...]
    growing: bool
    open: bool

    def label(self, i: int) -> str:
        low, high = self.edges[i], self.edges[i + 1] - 1
        if self.open and i == len(self.count) - 1:
            return f"{low:,} and more"
        return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def bins(sizes: Mapping[int, int], bound: int | None = None, most: int = 30) -> Bins:
    """Bins of a histogram {size: number of classes}, with an edge at `bound` where it is given.

    >>> bins({10: 4, 12: 1}).count
    (4, 0, 1)
    """
    values = sorted(size for size, classes in sizes.items() if classes > 0)
    if not values:
        return Bins((1,), (), growing=False, open=False)
    low, high = values[0], values[-1]
    start = low if bound is None or bound > high else min(low, bound)
    running = list(accumulate(sizes[size] for size in values))
    median, bulk = (values[bisect_right(running, share * running[-1] - 0.5)] for share in (0.5, 0.95))
    anchor = start if bound is None else bound
    for end in (high, bulk):
        step = _step((end - start + 1) / most)
        if (step == 1 and end == high) or median - start >= 2 * step:
            edges = _equal(start, end, step, anchor)
            tail = edges[-1] <= high
            return _count(sizes, [*edges, high + 1] if tail else edges, growing=False, open=tail)
    return _count(sizes, _growing(start, high, anchor, most), growing=True, open=False)


def _equal(low: int, high: int, step: int, anchor: int) -> list[int]:
    first = anchor - step * -((low - anchor) // step)  # the last edge at or before `low` that meets the anchor
    edges = list(range(first, high + step + 1, step))
    return [max(edges[0], 1), *(edge for edge in edges[1:] if edge - step <= high)]


def _step(least: float) -> int:
    """The least of 1, 2, 5, 10, 20, ... that is enough."""
    steps: list[int] = [s * 10**p for p in range(19) for s in (1, 2, 5)]
    return next(step for step in steps if step >= least)


def _growing(low: int, high: int, anchor: int, most: int) -> list[int]:
    edges: set[int] = set()
    for series in _SERIES:
        edges = {round(s * 10**p) for p in range(20) for s in series} | {anchor}
        edges = {e for e in edges if low < e <= high} | {low, next(e for e in sorted(edges) if e > high)}
        if len(edges) <= most + 1:
            break
    return sorted(edges)


def _count(sizes: Mapping[int, int], edges: Sequence[int], growing: bool, open: bool) -> Bins:
    found = [0] * (len(edges) - 1)
    for size, classes in sizes.items():
        if classes > 0:
            found[bisect_right(edges, size) - 1] += classes
    return Bins(tuple(edges), tuple(found), growing, open)


_HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 244, 44, 10, 34, 50
_CHARACTER = 6.6  # width of a digit at the size of axis labels


def mark(holds: bool) -> Markup:
    """A tick or a cross, for the eye; the word beside it says the same."""
    path = "M3 8.6 6.6 12.2 13 4.4" if holds else "M4 4 12 12M12 4 4 12"
    line = tag("path", d=path, fill="none", stroke="currentColor", stroke_width="2.2", stroke_linecap="round")
    return tag("svg", line, viewBox="0 0 16 16", width="16", height="16", aria_hidden="true", class_="mark")


def bar(share: float, class_: str = "bar") -> Markup:
    """A share of 0..1 as a bar on its track; stretches to the width it is given.

    >>> 'width="25"' in bar(0.25)
    True
    """
    length = 100 * min(max(share, 0.0), 1.0)
    track = tag("rect", class_="track", width="100", height="10")
    filled = tag("rect", class_=class_, width=n(length), height="10") if length else None
    return tag(
        "svg", track, filled, viewBox="0 0 100 10", preserveAspectRatio="none", aria_hidden="true", class_="share"
    )


def histogram(bins: Bins, title: str, description: str, key: str, bound: int | None = None, width: int = 680) -> Markup:
    """Bars of class sizes over an axis of records per class.

    Parameters
    ----------
    bins: of `sfumato.report.charts.svg`.
    title, description: what the chart shows, for those who hear the page.
    key: makes the ids of title and description unique in the page.
    bound: the least size promised; drawn as a line where a bin starts there.
    width: in pixels; the chart is drawn for it, so that the text keeps its size.
    """
    ticks = _ticks(max(bins.count, default=1))
    floor, right = _HEIGHT - _BOTTOM, width - _RIGHT
    pitch = min(44, (right - _LEFT - 14) / (len(bins.count) + (0.6 if bins.open else 0)))
    lefts = [_LEFT + 10 + i * pitch for i in range(len(bins.count) + 1)]
    if bins.open:  # a gap says that the last bar is of another kind
        lefts[-2:] = [lefts[-2] + 0.6 * pitch, lefts[-1] + 0.6 * pitch]
    parts = [_grid(ticks, floor, right)]
    for i, classes in enumerate(bins.count):
        if classes:
            tall = max((floor - _TOP) * classes / ticks[-1], 1.5)  # a single class stays visible
            low = bound is not None and bins.edges[i] < bound
            kind = "bar low" if low else "bar rest" if bins.open and i == len(bins.count) - 1 else "bar"
            gap = 1.0 if pitch > 5 else 0.0
            box = {"x": n(lefts[i] + gap / 2), "y": n(floor - tall), "width": n(pitch - gap), "height": n(tall)}
            hint = tag("title", f"{bins.label(i)} records: {classes:,}")
            parts.append(tag("rect", hint, class_=kind, **box))
    parts.append(tag("line", class_="axis", x1=n(_LEFT), x2=n(right), y1=n(floor), y2=n(floor)))
    parts.append(_labels(bins, lefts, pitch, floor))
    if bound is not None and bound in bins.edges[:-1]:
        at = lefts[bins.edges.index(bound)]
        parts.append(tag("line", class_="bound", x1=n(at), x2=n(at), y1="3", y2=n(floor + 4)))
        parts.append(tag("text", f"promised: {bound:,} or more", class_="bound", x=n(at + 6), y="12"))
    axis = "records in the class" + (", steps growing with size" if bins.growing else "")
    parts.append(tag("text", axis, x=n(right), y=n(_HEIGHT - 6), text_anchor="end"))
    parts.append(tag("text", "classes", x="0", y="12"))
    return drawing(title, description, key, width, _HEIGHT, *parts, class_="chart")


def _grid(ticks: list[int], floor: float, right: float) -> Markup:
    lines = []
    for tick in ticks:
        y = floor - (floor - _TOP) * tick / ticks[-1]
        lines.append(tag("line", class_="grid", x1=n(_LEFT), x2=n(right), y1=n(y), y2=n(y)))
        lines.append(tag("text", short(tick), x=n(_LEFT - 7), y=n(y + 4), text_anchor="end"))
    return join(lines)


def _labels(bins: Bins, lefts: list[float], pitch: float, floor: float) -> Markup:
    """Sizes under the bars, or under the edges where a bar spans several sizes; as many as there is room for."""
    single = not bins.growing and all(b - a == 1 for a, b in zip(bins.edges[:-2], bins.edges[1:-1], strict=True))
    shown = list(bins.edges[:-1])
    widest = max((len(short(edge)) for edge in shown), default=1)
    every = max(1, ceil((widest * _CHARACTER + 10) / pitch)) if shown else 1
    parts = []
    for i in range(0, len(shown) - bins.open, every):
        at = lefts[i] + (pitch / 2 if single else 0)
        if bins.open and i > len(shown) - 1 - every and every > 1 and i:
            continue  # room for the label of the last bar
        parts.append(tag("line", class_="axis", x1=n(at), x2=n(at), y1=n(floor), y2=n(floor + 4)))
        parts.append(tag("text", short(shown[i]), x=n(at), y=n(floor + 17), text_anchor="middle"))
    if bins.open:
        label = f"{short(shown[-1])}+"
        parts.append(tag("text", label, x=n(lefts[-1]), y=n(floor + 17), text_anchor="end"))
    return join(parts)


def _ticks(top: int) -> list[int]:
    """Whole numbers from 0 to at least `top`, three to six of them."""
    step = next(s * 10**p for p in range(19) for s in (1, 2, 5) if s * 10**p * 5 >= top)
    return list(range(0, top + step, step))[: ceil(top / step) + 1]


def short(value: int) -> str:
    """A whole number in few characters.

    >>> short(950), short(20_000), short(1_500_000)
    ('950', '20k', '1.5M')
    """
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if value >= 10_000 and value >= size and value % (size // 10) == 0:
            return f"{value / size:g}{letter}"
    return f"{value:,}"
