"""Similarity: an order of categories in which those whose rows look alike in the other columns stand together."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from sfumato.core.hierarchy import Categories

MOST_VALUES = 256  # of a column that is ordered by similarity
BINS = 32  # most frequent values of another column that are told apart
STEPS = 16  # the same for columns with an order, in groups of even frequency
TOGETHER = 1 << 14  # counts of several columns that are made at once
SOME = 1 << 16  # rows at a time: what fits the processor's cache
Column = tuple[np.ndarray, int]  # the group of each row, and how many groups there are


def grouped(categories: Categories) -> tuple[np.ndarray, int]:
    """The group of each code of a column that others are compared by: steps of a scale, or its frequent values."""
    count = categories.count.astype(np.float64)
    if categories.ordered:
        middle = np.cumsum(count) - count / 2
        return np.minimum(middle / max(count.sum(), 1) * STEPS, STEPS - 1).astype(np.int64), STEPS
    if len(count) <= BINS:
        return np.arange(len(count)), len(count)
    group = np.full(len(count), BINS - 1)
    group[np.argsort(-count, kind="stable")[: BINS - 1]] = np.arange(BINS - 1)
    return group, BINS


def similar_order(
    codes: np.ndarray, values: int, others: Sequence[Column], row_counts: np.ndarray | None = None
) -> np.ndarray:
    """The values 0..values - 1 in the order of the leaves of a tree that joins similar ones first, by Ward's method.

    A value is the distribution of its rows over the groups of each other column, drawn towards that of all rows by one
    row, as square roots: their distances are Hellinger's. Where two branches join, the ends that are closest meet.
    What comes out depends on counts alone, not on the order of rows.

    >>> similar_order(np.array([0, 0, 1, 1, 2, 2]), 3, [(np.array([0, 1, 5, 5, 0, 1]), 6)]).tolist()
    [0, 2, 1]

    References
    ----------
    Ward, "Hierarchical grouping to optimize an objective function", J. Am. Stat. Assoc. 58, 1963.
    """
    size = np.maximum(np.bincount(codes, weights=row_counts, minlength=values).astype(np.float64), 1.0)
    parts = [
        np.sqrt((table + table.sum(axis=0) / max(table.sum(), 1)) / (size[:, None] + 1))
        for table in _tables(codes, values, others, row_counts)
    ]
    centre = np.hstack(parts)
    squares = (centre**2).sum(axis=1)
    apart = np.maximum(squares[:, None] + squares - 2 * centre @ centre.T, 0.0)
    whole = max(float((apart * size).max()), 1e-300)

    def cost(of: int) -> np.ndarray:
        gap = ((centre - centre[of]) ** 2).sum(axis=1)
        return np.round(size * size[of] / (size + size[of]) * gap / whole, 9)  # what differs by less ties everywhere

    costs = np.stack([cost(i) for i in range(values)])
    np.fill_diagonal(costs, np.inf)
    runs, most = [[i] for i in range(values)], int(size.argmax())
    for _ in range(values - 1):
        a, b = sorted(divmod(int(costs.argmin()), values))
        runs[a] = _joined(runs[a], runs[b], apart, most)
        centre[a] = (centre[a] * size[a] + centre[b] * size[b]) / (size[a] + size[b])
        size[a] += size[b]
        gone = np.isinf(costs[a])
        costs[b] = costs[:, b] = np.inf
        costs[a] = costs[:, a] = np.where(gone, np.inf, cost(a))
        costs[a, a] = costs[a, b] = costs[b, a] = np.inf
    return np.array(runs[0], dtype=np.int64)


def _tables(
    codes: np.ndarray, values: int, others: Sequence[Column], row_counts: np.ndarray | None
) -> Iterator[np.ndarray]:
    """The rows of each value in each group of each other column: those of several columns are counted together."""
    packs: list[list[Column]] = []
    for column in others:
        if not packs or values * math.prod(n for _, n in packs[-1]) * column[1] > TOGETHER:
            packs.append([])
        packs[-1].append(column)
    for pack in packs:
        shape = (values, *(n for _, n in pack))
        found = np.zeros(math.prod(shape))
        for low in range(0, len(codes), SOME):
            some = slice(low, low + SOME)
            key = codes[some].astype(np.min_scalar_type(len(found)))
            for group, groups in pack:
                key *= groups
                key += group[some].astype(key.dtype)
            found += np.bincount(key, None if row_counts is None else row_counts[some], len(found))
        for axis in range(1, len(shape)):
            yield found.reshape(shape).sum(axis=tuple(i for i in range(1, len(shape)) if i != axis))


def _joined(first: list[int], second: list[int], apart: np.ndarray, stays: int) -> list[int]:
    """Two runs as one, with the ends that are closest in the middle; the run of the value that `stays` begins it."""
    if stays in second:
        first, second = second, first
    lefts = [first] if stays in first else [first, first[::-1]]
    ways = [(left, right) for left in lefts for right in (second, second[::-1])]
    left, right = min(ways, key=lambda way: round(float(apart[way[0][-1], way[1][0]]), 9))
    return left + right
