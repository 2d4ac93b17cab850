"""A tree over points or boxes: halves of halves, each cut where it is widest."""

from __future__ import annotations

import numpy as np

from sfumato.kernels import kernel

LEAF = 8  # items of a leaf
DEEPEST = 64  # nodes that wait on a walk: one per level of a tree of halves


@kernel
def halve(order: np.ndarray, key: np.ndarray, start: int, stop: int, middle: int) -> None:
    """Arrange order[start:stop] so that no key before `middle` is above one behind it; key[i] belongs to order[i]."""
    low, high = start, stop - 1
    while low < high:
        a, b, c = key[low], key[(low + high) // 2], key[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while key[i] < pivot:
                i += 1
            while key[j] > pivot:
                j -= 1
            if i <= j:
                key[i], key[j] = key[j], key[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@kernel
def grow(place: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The items in tree order, and per node (a node before its children, the left one next) where its items start and
    stop, and its right child (-1: a leaf).

    place[item, column] is where an item stands, nan where that is unknown. A node is cut at the median of the column in
    which its items are furthest apart: weight times the distance, or the weight itself where it is negative (names that
    are either equal or not), or where some are unknown.
    """
    n, columns = place.shape
    order = np.arange(n)
    key = np.empty(n)
    most = 2 * (n // (LEAF // 2) + 1) + 1
    start, stop, right = np.zeros(most, np.int64), np.zeros(most, np.int64), np.full(most, -1, np.int64)
    waiting = np.zeros((DEEPEST + 2, 3), np.int64)  # start, stop, whose right child
    waiting[0, 1], waiting[0, 2] = n, -1
    left_to_do, nodes = 1, 0
    while left_to_do:
        left_to_do -= 1
        a, b, parent = waiting[left_to_do]
        if parent >= 0:
            right[parent] = nodes
        start[nodes], stop[nodes] = a, b
        nodes += 1
        if b - a <= LEAF:
            continue
        widest, cut = 0.0, -1
        for c in range(columns):
            low, high, unknown = np.inf, -np.inf, 0
            for i in range(a, b):
                x = place[order[i], c]
                if np.isnan(x):
                    unknown += 1
                else:
                    low, high = min(low, x), max(high, x)
            spread = 0.0
            if high > low:
                spread = weight[c] * (high - low) if weight[c] > 0 else -weight[c]
            if 0 < unknown < b - a:
                spread = max(spread, abs(weight[c]))
            if spread > widest:
                widest, cut = spread, c
        if cut < 0:
            continue
        for i in range(a, b):
            x = place[order[i], cut]
            key[i] = np.inf if np.isnan(x) else x
        middle = (a + b) // 2
        halve(order, key, a, b, middle)
        waiting[left_to_do, 0], waiting[left_to_do, 1], waiting[left_to_do, 2] = middle, b, nodes - 1
        waiting[left_to_do + 1, 0], waiting[left_to_do + 1, 1], waiting[left_to_do + 1, 2] = a, middle, -1
        left_to_do += 2
    return order, start[:nodes].copy(), stop[:nodes].copy(), right[:nodes].copy()
