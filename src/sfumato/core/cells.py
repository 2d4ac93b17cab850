"""Grouping by exact keys: count cells, roll them up, merge their histograms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sfumato.core.compiled import kernel

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


LARGEST_KEY = 2**62


@dataclass(frozen=True, eq=False)
class Histogram:
    """How often each value of a sensitive attribute occurs, per cell or class: a run of (value, count) for each.

    The run of class c is start[c]:start[c + 1], values ascending. `whole` counts the table before suppression.
    """

    start: np.ndarray  # int64 [classes + 1]
    value: np.ndarray  # int32 [entries]
    count: np.ndarray  # int64 [entries]
    whole: np.ndarray  # int64 [values]
    text: tuple[str | None, ...]
    ancestor: np.ndarray | None = None  # int32 [levels, values] where the attribute has a hierarchy


@dataclass(frozen=True, eq=False)
class Cells:
    """Distinct tuples of codes in lexicographic order, with rows per cell and sensitive histograms per cell."""

    names: tuple[str, ...]
    codes: np.ndarray  # int32 [columns, cells]
    count: np.ndarray  # int64 [cells]
    sizes: tuple[int, ...]  # number of values per column
    histograms: Mapping[str, Histogram] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.count)

    def take(self, cells: np.ndarray) -> Cells:
        """Some of the cells, by number, ascending."""
        histograms = {}
        for name, h in self.histograms.items():
            width = h.start[cells + 1] - h.start[cells]
            start = np.concatenate([[0], np.cumsum(width)])
            entry = np.arange(start[-1]) - np.repeat(start[:-1] - h.start[cells], width)
            histograms[name] = Histogram(start, h.value[entry], h.count[entry], h.whole, h.text, h.ancestor)
        return Cells(self.names, self.codes[:, cells], self.count[cells], self.sizes, histograms)


@dataclass(frozen=True, eq=False)
class Classes:
    """A grouping of cells: the class of each cell, and rows per class."""

    cells: Cells
    of_cell: np.ndarray  # int32 [cells]
    size: np.ndarray  # int64 [classes]

    def histogram(self, attribute: str) -> Histogram:
        """Counts of a sensitive attribute per class."""
        h = self.cells.histograms[attribute]
        start, value, count = merge(self.of_cell, len(self.size), h.start, h.value, h.count, len(h.whole))
        return Histogram(start, value, count, h.whole, h.text, h.ancestor)


def classes_of(cells: Cells, of_cell: np.ndarray, classes: int) -> Classes:
    """The classes that `of_cell` makes of the cells."""
    return Classes(cells, of_cell, total(of_cell, cells.count, classes))


def count_cells(
    names: Sequence[str], codes: Sequence[np.ndarray], sizes: Sequence[int], times: np.ndarray | None = None
) -> tuple[Cells, np.ndarray]:
    """The one GROUP BY: cells of the coded columns, and the cell of each row. `times`: how often each row counts."""
    rows = len(codes[0])
    key, spent, domain = np.zeros(rows, np.int64), np.zeros(rows, np.int32), 1
    for code, size in zip(codes, sizes, strict=True):
        if domain * size >= LARGEST_KEY:  # a wider key would wrap and merge different rows: rank what there is so far
            distinct, spent = rank_keys(key, domain)
            key, domain = spent.astype(np.int64), len(distinct)
        key = key * size + code
        domain *= size
    distinct, of_row = rank_keys(key, domain)
    first = np.empty(len(distinct), np.int64)
    first[of_row[::-1]] = np.arange(rows - 1, -1, -1)
    table = np.stack([np.asarray(code, dtype=np.int32)[first] for code in codes])
    count = tally(of_row, len(distinct), times)
    return Cells(tuple(names), table, count, tuple(sizes)), of_row


def rank_keys(key: np.ndarray, domain: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct keys in order and the rank of each entry, by table where the domain is small, else by sorting."""
    if domain <= max(1 << 16, 8 * len(key)):
        return dense_ranks(key, domain)
    return ranks_of_sorted(key, radix_order(key, domain))


def tally(of: np.ndarray, groups: int, times: np.ndarray | None) -> np.ndarray:
    """Rows per group, each counted as often as `times` says."""
    if times is None:
        return np.bincount(of, minlength=groups).astype(np.int64)
    return total(of.astype(np.int32), times, groups)


def count_histogram(
    of_row: np.ndarray,
    cells: int,
    code: np.ndarray,
    text: tuple[str | None, ...],
    ancestor: np.ndarray | None,
    times: np.ndarray | None = None,
) -> Histogram:
    """How often each value of a sensitive attribute occurs in each cell."""
    values = len(text)
    keys, of = rank_keys(of_row.astype(np.int64) * values + code, cells * values)
    start = np.searchsorted(keys, np.arange(cells + 1, dtype=np.int64) * values)
    count, whole = tally(of, len(keys), times), tally(code, values, times)
    return Histogram(start.astype(np.int64), (keys % values).astype(np.int32), count, whole, text, ancestor)


def roll_up(cells: Cells, tables: Sequence[np.ndarray], columns: Sequence[int]) -> Classes:
    """The classes of cells under a recoding: tables[i][code] is the label of a value of column columns[i].

    Two cells are one class where all their labels agree. Keys are exact: where the product of the label counts would
    not fit in 64 bits, the columns so far are ranked first.
    """
    of, classes = np.zeros(len(cells), np.int32), 1
    pending: list[tuple[np.ndarray, np.ndarray, int]] = []
    domain = 1

    def settle() -> tuple[np.ndarray, int]:
        every = [(of, np.arange(classes, dtype=np.int64), classes)] if classes > 1 else []
        every += pending
        if not every:
            return of, classes
        stride, offsets, at = 1, [], 0
        scaled: list[np.ndarray] = []
        for _, table, size in reversed(every):
            scaled.insert(0, table * stride)
            stride *= size
        for table in scaled:
            offsets.append(at)
            at += len(table)
        stacked = np.stack([code for code, _, _ in every])
        return group(stacked, np.concatenate(scaled), np.array(offsets), stride)

    for table, column in zip(tables, columns, strict=True):
        size = int(table.max()) + 1
        if size == 1:
            continue
        if domain * size >= LARGEST_KEY:
            of, classes = settle()
            pending, domain = [], classes
        pending.append((cells.codes[column], table.astype(np.int64), size))
        domain *= size
    of, classes = settle()
    return classes_of(cells, of, classes)
