"""Checking lattice nodes: class sizes, suppression and loss of many nodes over the same cells."""

from __future__ import annotations

import numpy as np

from sfumato.kernels import kernel

FREE = np.uint64(2**64 - 1)
SCATTER = np.uint64(11400714819323198485)  # Fibonacci hashing


@kernel
def check_nodes(
    fused: np.ndarray,
    count: np.ndarray,
    maps: np.ndarray,
    map_at: np.ndarray,
    map_size: np.ndarray,
    least: int,
    limit: int,
    codes: np.ndarray,
    gaps: np.ndarray,
    gap_at: np.ndarray,
    members: np.ndarray,
    found: np.ndarray,
    extra: np.ndarray,
) -> None:
    """For each node b, group the cells by the labels maps[map_at[b, g] + fused[g, cell]] of the fused columns g.

    found[b] = suppressed rows (in classes smaller than least), classes, squares of sizes, kept classes, their squares.
    extra[b, m] = sum over suppressed cells of count * gaps[gap_at[b, m] + code of column a], m = members[a] >= 0, where
    0 < suppressed <= limit; a negative gap_at adds nothing.
    """
    nodes, groups = map_at.shape
    cells = len(count)
    dense_limit = max(65536, 4 * cells)
    capacity = np.int64(16)
    while capacity < 2 * cells:
        capacity *= 2
    domains = np.ones(nodes, np.int64)
    slots_needed = np.int64(1)
    for b in range(nodes):
        for g in range(groups):
            domains[b] *= map_size[b, g]
        slots_needed = max(slots_needed, domains[b] if domains[b] <= dense_limit else capacity)
    slot = np.empty(
        cells, np.uint64
    )  # unsigned, as all indices here: numba then leaves out the wrap-around of negatives
    size = np.empty(slots_needed, np.int64)
    keys = np.empty(0, np.uint64)
    for b in range(nodes):
        stride = np.uint64(1)
        for g in range(groups):
            at = np.uint64(map_at[b, g])
            if g == 0:
                for i in range(cells):
                    slot[i] = np.uint64(maps[at + np.uint64(fused[g, i])])
            else:
                for i in range(cells):
                    slot[i] += np.uint64(maps[at + np.uint64(fused[g, i])]) * stride
            stride *= np.uint64(map_size[b, g])
        if domains[b] <= dense_limit:
            slots = domains[b]
            size[:slots] = 0
            for i in range(cells):
                size[slot[i]] += count[i]
        else:
            slots = capacity
            mask = np.uint64(capacity - 1)
            if len(keys) == 0:
                keys = np.empty(capacity, np.uint64)
            keys[:] = FREE
            size[:slots] = 0
            for i in range(cells):
                key = slot[i]
                j = ((key * SCATTER) >> np.uint64(32)) & mask
                while keys[j] != FREE and keys[j] != key:
                    j = (j + np.uint64(1)) & mask
                keys[j] = key
                slot[i] = j
                size[j] += count[i]
        suppressed = 0
        classes = 0
        kept = 0
        squares = 0.0
        kept_squares = 0.0
        for j in range(slots):
            n = size[j]
            if n > 0:
                classes += 1
                squares += float(n) * n
                if n < least:
                    suppressed += n
                else:
                    kept += 1
                    kept_squares += float(n) * n
        found[b, 0] = suppressed
        found[b, 1] = classes
        found[b, 2] = squares
        found[b, 3] = kept
        found[b, 4] = kept_squares
        if 0 < suppressed <= limit:
            for i in range(cells):
                if size[slot[i]] < least:
                    for a in range(codes.shape[0]):
                        m = members[a]
                        if gap_at[b, m] >= 0:
                            extra[b, m] += count[i] * gaps[gap_at[b, m] + codes[a, i]]


@kernel
def label_map(values: np.ndarray, tables: np.ndarray, at: np.ndarray, size: np.ndarray, out: np.ndarray) -> int:
    """Number the distinct label tuples of fused values by first occurrence: out[v] for value v; returns how many.

    The label of column a is tables[at[a] + values[a, v]], of size[a] labels.
    """
    domain = np.int64(1)
    for a in range(len(at)):
        domain *= size[a]
    seen = np.full(domain, -1, np.int32)
    classes = 0
    for v in range(values.shape[1]):
        key = np.int64(0)
        for a in range(len(at)):
            key = key * size[a] + tables[at[a] + values[a, v]]
        if seen[key] < 0:
            seen[key] = classes
            classes += 1
        out[v] = seen[key]
    return classes


@kernel
def raise_boxes(floor: np.ndarray, stride: np.ndarray, lows: np.ndarray, highs: np.ndarray, values: np.ndarray) -> None:
    """For each b, raise floor to at least values[b] at every node between the corners lows[b] and highs[b]."""
    d = len(stride)
    at = np.empty(d, np.int64)
    for b in range(len(values)):
        if values[b] <= 0:
            continue
        low, high, value = lows[b], highs[b], values[b]
        place = np.int64(0)
        for a in range(d):
            at[a] = low[a]
            place += low[a] * stride[a]
        while True:
            for step in range(high[d - 1] - low[d - 1] + 1):
                if floor[place + step] < value:
                    floor[place + step] = value
            a = d - 2
            while a >= 0:
                if at[a] < high[a]:
                    at[a] += 1
                    place += stride[a]
                    break
                place -= (at[a] - low[a]) * stride[a]
                at[a] = low[a]
                a -= 1
            if a < 0:
                break
