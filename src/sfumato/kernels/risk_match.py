"""Counting what matches a cell where a missing value matches anything."""

from __future__ import annotations

import numpy as np

from sfumato.kernels import kernel

EMPTY = np.int64(-1)
SPREAD = np.int64(-7046029254386353131)  # odd 64-bit constant of Fibonacci hashing


@kernel
def project(
    key: np.ndarray,
    codes: np.ndarray,
    strides: np.ndarray,
    free: np.ndarray,
    starts: np.ndarray,
    ends: np.ndarray,
    largest: int,
) -> tuple[np.ndarray, int]:
    """The group of each cell of the runs starts:ends, by its key less the codes times strides of the columns `free`.

    Cells of the run `largest` look their group up and get -1 where no cell of another run is of it. Only the smaller
    runs are put into the hash table, which so stays in the cache. Cells outside of the runs are left undefined.
    """
    group = np.empty(len(key), np.int32)
    inserts = 0
    for r in range(len(starts)):
        if r != largest:
            inserts += ends[r] - starts[r]
    capacity = 16
    while capacity < 2 * inserts:
        capacity *= 2
    keys = np.full(capacity, EMPTY, np.int64)
    number = np.empty(capacity, np.int32)
    groups = 0
    for turn in range(2):
        for r in range(len(starts)):
            if (r == largest) != (turn == 1):
                continue
            for i in range(starts[r], ends[r]):
                k = key[i]
                for c in free:
                    k -= codes[c, i] * strides[c]
                j = ((k * SPREAD) >> 32) & (capacity - 1)
                while keys[j] != EMPTY and keys[j] != k:
                    j = (j + 1) & (capacity - 1)
                if keys[j] == k:
                    group[i] = number[j]
                elif turn == 1:
                    group[i] = -1
                else:
                    keys[j] = k
                    number[j] = groups
                    group[i] = groups
                    groups += 1
    return group, groups


@kernel
def add_met(
    group: np.ndarray,
    count: np.ndarray,
    low: int,
    high: int,
    starts: np.ndarray,
    ends: np.ndarray,
    tally: np.ndarray,
    found: np.ndarray,
) -> None:
    """Add to each cell of low:high the count of the cells of the runs starts:ends that are of its group.

    `tally` is scratch, zero before and after, one entry per group; a group of -1 has no other cell.
    """
    for r in range(len(starts)):
        for i in range(starts[r], ends[r]):
            if group[i] >= 0:
                tally[group[i]] += count[i]
    for i in range(low, high):
        if group[i] >= 0:
            found[i] += tally[group[i]]
    for r in range(len(starts)):
        for i in range(starts[r], ends[r]):
            if group[i] >= 0:
                tally[group[i]] = 0
