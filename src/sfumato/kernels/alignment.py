"""The longest alignment of two lists that keeps the order of both: a longest increasing run of places."""

from __future__ import annotations

import numpy as np

from sfumato.kernels import kernel


@kernel
def align(start: np.ndarray, places: np.ndarray) -> np.ndarray:
    """For each item of a list its place in the other, -1 where it gets none; places grow along the list.

    The places that item i may have are places[start[i]:start[i + 1]], ascending. As many items as possible get one.
    """
    items = len(start) - 1
    last = np.empty(items + 1, np.int64)  # per length of a run the entry with the least place that ends one
    before = np.empty(len(places), np.int64)
    owner = np.empty(len(places), np.int64)
    longest = 0
    for i in range(items):
        for entry in range(start[i + 1] - 1, start[i] - 1, -1):  # backwards, so that an item is in a run once
            low, high = 0, longest
            while low < high:
                middle = (low + high) // 2
                if places[last[middle]] < places[entry]:
                    low = middle + 1
                else:
                    high = middle
            last[low] = entry
            before[entry] = last[low - 1] if low else -1
            owner[entry] = i
            longest = max(longest, low + 1)
    found = np.full(items, -1, np.int64)
    entry = last[longest - 1] if longest else -1
    while entry >= 0:
        found[owner[entry]] = places[entry]
        entry = before[entry]
    return found
