"""The compiled inner loops of series: arrivals taken as signatures, and buckets cut into groups of neighbours."""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np

from sfumato.core.compiled import inner, kernel


@kernel
def take_signatures(counts, rank, m):  # type: ignore[no-untyped-def]
    """Sets of at least m values with how many rows of each value they take, until no row is left.

    `counts` are rows per value, none more than an m-th of all; `rank` breaks ties. The most frequent values go first,
    as many rows of each as leave the others eligible. Gives the start of each set, its values, and its rows per value.
    """
    heap: Any = [(np.int64(0), np.int64(0), np.int64(0)) for _ in range(0)]
    total: Any = np.int64(0)
    for v in range(len(counts)):
        if counts[v] > 0:
            heap.append((-np.int64(counts[v]), np.int64(rank[v]), np.int64(v)))
            total += counts[v]
    heapq.heapify(heap)
    taken = [np.int64(0) for _ in range(0)]
    start: Any = [np.int64(0)]
    often = [np.int64(0) for _ in range(0)]
    while total > 0:
        out = [heapq.heappop(heap)]
        alpha: Any = np.int64(0)
        most = -out[0][0]
        while True:
            beta = len(out)
            last = -out[beta - 1][0]
            after = -heap[0][0] if len(heap) > 0 else np.int64(0)
            if beta >= m:
                alpha = min(last, (total - m * after) // beta)
                if beta > m:
                    alpha = min(alpha, (total - m * most) // (beta - m))
                if alpha >= 1:
                    break
            if len(heap) == 0:  # not eligible: the caller has seen to it that this cannot be
                return np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64)
            out.append(heapq.heappop(heap))
        for minus, tie, v in out:
            taken.append(v)
            if minus + alpha < 0:
                heapq.heappush(heap, (minus + alpha, tie, v))
        start.append(len(taken))
        often.append(alpha)
        total -= alpha * len(out)
    return np.array(start), np.array(taken), np.array(often)


@inner
def _select(units, points, low, high, middle, axis):  # type: ignore[no-untyped-def]
    """Reorder units[low:high] so that those before `middle` are not above those from there on, on an axis."""
    left, right = low, high - 1
    while left < right:
        third = (left + right) // 2
        a, b, c = points[units[left], axis], points[units[third], axis], points[units[right], axis]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = left, right
        while i <= j:
            while points[units[i], axis] < pivot:
                i += 1
            while points[units[j], axis] > pivot:
                j -= 1
            if i <= j:
                units[i], units[j] = units[j], units[i]
                i += 1
                j -= 1
        if middle <= j:
            right = j
        elif middle >= i:
            left = i
        else:
            return


@kernel
def split_buckets(units, points, at, width, height):  # type: ignore[no-untyped-def]
    """Reorder the units of each bucket so that those at the same place of its rows are neighbours.

    A bucket b has `width[b]` values with `height[b]` units each, value by value from `at[b]` on; `units` are rows of
    `points`. As Mondrian does, it is halved on the widest axis again and again, each value's units in the same
    proportion, until one of each is left: unit i of every value is then in group i.
    """
    axes = points.shape[1]
    for b in range(len(at)):
        stack = [(np.int64(0), np.int64(height[b]))]
        while len(stack) > 0:
            low, high = stack.pop()
            if high - low < 2:
                continue
            widest, axis = -1.0, 0
            for d in range(axes):
                least, most = np.inf, -np.inf
                for value in range(width[b]):
                    base = at[b] + value * height[b]
                    for i in range(base + low, base + high):
                        x = points[units[i], d]
                        least, most = min(least, x), max(most, x)
                if most - least > widest:
                    widest, axis = most - least, d
            if widest <= 0:
                continue
            middle = (low + high) // 2
            for value in range(width[b]):
                base = at[b] + value * height[b]
                _select(units, points, base + low, base + high, base + middle, axis)
            stack.append((low, middle))
            stack.append((middle, high))
