"""Bins for class sizes: one bar per size where that fits, equal steps where the bulk allows it, else growing steps."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

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
