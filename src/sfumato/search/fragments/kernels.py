"""The loop of Anatomy: groups of rows with different sensitive values, from the values with the most rows left."""

from __future__ import annotations

import numpy as np

from sfumato.core.compiled import inner, kernel


@inner
def sink(heap: np.ndarray, size: int, left: np.ndarray, at: int) -> None:
    """Move an entry of the heap down to its place: values with more rows left are above, ties by the lesser number."""
    moved = heap[at]
    while 2 * at + 1 < size:
        child = 2 * at + 1
        a, b = heap[child], heap[min(child + 1, size - 1)]
        if left[b] > left[a] or (left[b] == left[a] and b < a):
            child += 1
            a = b
        if left[moved] > left[a] or (left[moved] == left[a] and moved < a):
            break
        heap[at] = a
        at = child
    heap[at] = moved


@kernel
def group_rows(
    left: np.ndarray, l: int, first: np.ndarray, group: np.ndarray, heap: np.ndarray, some: np.ndarray
) -> int:
    """Give rows to groups of l, one of each of the l values with the most rows left, while so many have any; how many
    groups there are. `first` is where the rows of each value begin, which are taken from the last to the first; others
    keep a group of -1. `left` is how many rows each value has, and comes to what is left of them."""
    size = 0
    for v in range(len(left)):
        if left[v] > 0:
            heap[size] = v
            size += 1
    for at in range(size // 2 - 1, -1, -1):
        sink(heap, size, left, at)
    groups = 0
    while size >= l:
        for i in range(l):
            v = heap[0]
            some[i] = v
            size -= 1
            heap[0] = heap[size]
            sink(heap, size, left, 0)
        for i in range(l):
            v = some[i]
            left[v] -= 1
            group[first[v] + left[v]] = groups
            if left[v] > 0:  # back into the heap
                at = size
                size += 1
                while at > 0:
                    above = heap[(at - 1) // 2]
                    if left[above] > left[v] or (left[above] == left[v] and above < v):
                        break
                    heap[at] = above
                    at = (at - 1) // 2
                heap[at] = v
        groups += 1
    return groups
