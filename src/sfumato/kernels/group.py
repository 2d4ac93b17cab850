"""Grouping by exact keys: count cells, roll them up, merge their histograms."""

from __future__ import annotations

import numpy as np

from sfumato.kernels import kernel

EMPTY = np.int64(-1)
SPREAD = np.int64(-7046029254386353131)  # odd 64-bit constant of Fibonacci hashing


@kernel
def dense_ranks(key: np.ndarray, domain: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct keys in order, and the rank of each entry's key; for keys below a small domain."""
    rank = np.zeros(domain, np.int32)
    for i in range(len(key)):
        rank[key[i]] = 1
    distinct = 0
    for j in range(domain):
        if rank[j]:
            rank[j] = distinct
            distinct += 1
        else:
            rank[j] = -1
    keys = np.empty(distinct, np.int64)
    for j in range(domain):
        if rank[j] >= 0:
            keys[rank[j]] = j
    of = np.empty(len(key), np.int32)
    for i in range(len(key)):
        of[i] = rank[key[i]]
    return keys, of


@kernel
def radix_order(key: np.ndarray, domain: int) -> np.ndarray:
    """The order that sorts keys below `domain`, ties by place: eleven bits at a time, the lowest first."""
    n = len(key)
    keys, order = key.astype(np.uint64), np.arange(n).astype(np.uint32)
    keys2, order2 = np.empty_like(keys), np.empty_like(order)
    start = np.empty(2048, np.uint64)
    shift = np.uint64(0)
    while np.uint64(domain - 1) >> shift > 0:
        start[:] = 0
        for i in range(n):
            start[(keys[i] >> shift) & np.uint64(2047)] += np.uint64(1)
        total = np.uint64(0)
        for d in range(2048):
            start[d], total = total, total + start[d]
        for i in range(n):
            d = (keys[i] >> shift) & np.uint64(2047)
            keys2[start[d]] = keys[i]
            order2[start[d]] = order[i]
            start[d] += np.uint64(1)
        keys, keys2 = keys2, keys
        order, order2 = order2, order
        shift += np.uint64(11)
        if shift >= np.uint64(64):
            break
    return order


@kernel
def ranks_of_sorted(key: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same from an order that sorts the keys."""
    of = np.empty(len(key), np.int32)
    keys = np.empty(len(key), np.int64)
    distinct = -1
    last = np.int64(0)
    for j in range(len(order)):
        i = order[j]
        if distinct < 0 or key[i] != last:
            distinct += 1
            last = key[i]
            keys[distinct] = last
        of[i] = distinct
    return keys[: distinct + 1].copy(), of


@kernel
def group(codes: np.ndarray, tables: np.ndarray, offset: np.ndarray, domain: int) -> tuple[np.ndarray, int]:
    """The class of each cell and the number of classes. A cell's key is the sum over the columns of
    tables[offset[column] + code]; classes are numbered by their first cell, which comes in lexicographic order."""
    columns, cells = codes.shape
    of = np.empty(cells, np.int32)
    classes = 0
    if domain <= max(65536, 4 * cells):
        seen = np.full(domain, -1, np.int32)
        for i in range(cells):
            key = np.int64(0)
            for a in range(columns):
                key += tables[offset[a] + codes[a, i]]
            if seen[key] < 0:
                seen[key] = classes
                classes += 1
            of[i] = seen[key]
        return of, classes
    capacity = 16
    while capacity < 2 * cells:
        capacity *= 2
    keys = np.full(capacity, EMPTY, np.int64)
    number = np.empty(capacity, np.int32)
    for i in range(cells):
        key = np.int64(0)
        for a in range(columns):
            key += tables[offset[a] + codes[a, i]]
        j = ((key * SPREAD) >> 32) & (capacity - 1)
        while keys[j] != EMPTY and keys[j] != key:
            j = (j + 1) & (capacity - 1)
        if keys[j] == EMPTY:
            keys[j] = key
            number[j] = classes
            classes += 1
        of[i] = number[j]
    return of, classes


@kernel
def total(of: np.ndarray, count: np.ndarray, classes: int) -> np.ndarray:
    """Rows per class."""
    size = np.zeros(classes, np.int64)
    for i in range(len(of)):
        size[of[i]] += count[i]
    return size


@kernel
def merge(
    of: np.ndarray, classes: int, start: np.ndarray, value: np.ndarray, count: np.ndarray, values: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Histograms of classes from those of their cells: per class a run of (value, count), values ascending.

    Entries are dealt to their class by counting sort, first by value, so that values come out ascending.
    """
    entries = len(value)
    cell_of = np.empty(entries, np.int32)
    for i in range(len(of)):
        for e in range(start[i], start[i + 1]):
            cell_of[e] = of[i]
    place = np.zeros(values + 1, np.int64)
    for e in range(entries):
        place[value[e] + 1] += 1
    for v in range(values):
        place[v + 1] += place[v]
    by_value = np.empty(entries, np.int64)
    for e in range(entries):
        by_value[place[value[e]]] = e
        place[value[e]] += 1
    # distinct values per class: entries come by value, so a class's repeats are adjacent in time
    last = np.full(classes, -1, np.int32)
    width = np.zeros(classes + 1, np.int64)
    for j in range(entries):
        e = by_value[j]
        c = cell_of[e]
        if last[c] != value[e]:
            last[c] = value[e]
            width[c + 1] += 1
    for c in range(classes):
        width[c + 1] += width[c]
        last[c] = -1
    fill = width[:-1].copy()
    new_value = np.empty(width[classes], np.int32)
    new_count = np.empty(width[classes], np.int64)
    for j in range(entries):
        e = by_value[j]
        c = cell_of[e]
        if last[c] != value[e]:
            last[c] = value[e]
            new_value[fill[c]] = value[e]
            new_count[fill[c]] = count[e]
            fill[c] += 1
        else:
            new_count[fill[c] - 1] += count[e]
    return width, new_value, new_count
