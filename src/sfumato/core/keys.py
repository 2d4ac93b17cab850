"""Exact keys: one number for a tuple of codes, the ranks of such numbers, the classes that they make.

A key stays below 62 bits, as one that wraps would merge different tuples: what there is so far is ranked first. Kernels
get their room from outside: numba takes longer to compile an allocation than a loop.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sfumato.core.compiled import kernel
from sfumato.core.printed import LARGEST_KEY

EMPTY = np.int64(-1)
SPREAD = np.int64(-7046029254386353131)  # odd 64-bit constant of Fibonacci hashing
FREE = np.uint64(2**64 - 1)
SCATTER = np.uint64(11400714819323198485)  # the same constant, unsigned
SOME = 1 << 16  # entries at a time, where they are made wide
DIGIT = 11  # bits that are sorted at a time


@kernel
def rank_by_table(key: np.ndarray, rank: np.ndarray, keys: np.ndarray, of: np.ndarray) -> int:
    """Rank keys below the length of `rank`, whose entries come as zeros; how many distinct ones there are."""
    for i in range(len(key)):
        rank[key[i]] = 1
    distinct = 0
    for j in range(len(rank)):
        there, rank[j], keys[distinct] = rank[j], distinct, j
        distinct += there  # without a branch, which would be guessed wrong too often
    for i in range(len(key)):
        of[i] = rank[key[i]]
    return distinct


@kernel
def sort_digit(
    key: np.ndarray, order: np.ndarray, shift: np.uint64, start: np.ndarray, keys: np.ndarray, orders: np.ndarray
) -> None:
    """Sort keys and where they stood by one digit, ties by place. `start` has room for each value of a digit."""
    mask = np.uint64(len(start) - 1)
    for d in range(len(start)):
        start[d] = 0
    for i in range(len(key)):
        start[(key[i] >> shift) & mask] += np.uint64(1)
    total = np.uint64(0)
    for d in range(len(start)):
        here = start[d]
        start[d] = total
        total += here
    for i in range(len(key)):
        d = (key[i] >> shift) & mask
        keys[start[d]], orders[start[d]] = key[i], order[i]
        start[d] += np.uint64(1)


@kernel
def rank_sorted(keys: np.ndarray, order: np.ndarray, of: np.ndarray) -> int:
    """Rank sorted keys, of which the distinct ones move to the front; how many these are."""
    distinct = 0
    for j in range(len(keys)):
        if j > 0 and keys[j] != keys[distinct]:
            distinct += 1
            keys[distinct] = keys[j]
        of[order[j]] = distinct
    return distinct + 1 if len(keys) else 0


@kernel
def add_labels(code: np.ndarray, label: np.ndarray, stride: np.uint64, key: np.ndarray) -> None:
    """Add the label of each code, times the stride, to a key."""
    for i in range(len(code)):
        key[i] += np.uint64(label[np.uint64(code[i])]) * stride


@kernel
def number_by_table(key: np.ndarray, seen: np.ndarray, of: np.ndarray) -> int:
    """Number the distinct keys as they come; `seen` comes with -1 for each key that there may be."""
    classes = 0
    for i in range(len(key)):
        if seen[key[i]] < 0:
            seen[key[i]] = classes
            classes += 1
        of[i] = seen[key[i]]
    return classes


@kernel
def number_by_hash(key: np.ndarray, keys: np.ndarray, number: np.ndarray, of: np.ndarray) -> int:
    """The same by a hash table of twice as many places or more, a power of two; `keys` come as FREE."""
    mask, classes = np.uint64(len(keys) - 1), 0
    for i in range(len(key)):
        j = ((key[i] * SCATTER) >> np.uint64(32)) & mask
        while keys[j] != FREE and keys[j] != key[i]:
            j = (j + np.uint64(1)) & mask
        if keys[j] == FREE:
            keys[j] = key[i]
            number[j] = classes
            classes += 1
        of[i] = number[j]
    return classes


@kernel
def add_counts(of: np.ndarray, count: np.ndarray, size: np.ndarray) -> None:
    """Add the count of each entry to the size of its class."""
    for i in range(len(of)):
        size[of[i]] += count[i]


def rank_keys(key: np.ndarray, domain: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct keys in order and the rank of each entry, by table where the domain is small, else by sorting."""
    of = np.empty(len(key), np.int32)
    if domain <= max(1 << 16, 8 * len(key)):
        keys = np.empty(min(domain, len(key)) + 1, np.int64)
        return keys[: rank_by_table(key.view(np.uint64), np.zeros(domain, np.int32), keys, of)], of
    keys, order, start = key.view(np.uint64), np.arange(len(key), dtype=np.uint32), np.empty(1 << DIGIT, np.uint64)
    room = [(np.empty_like(keys), np.empty_like(order)) for _ in range(2)]
    for turn, shift in enumerate(range(0, (domain - 1).bit_length(), DIGIT)):
        sort_digit(keys, order, np.uint64(shift), start, *room[turn % 2])
        keys, order = room[turn % 2]
    return keys[: rank_sorted(keys, order, of)].astype(np.int64), of


def rank_tuples(codes: Iterable[np.ndarray], sizes: Iterable[int], rows: int) -> tuple[np.ndarray, int]:
    """The group of each row under some columns of codes, in lexicographic order, and the number of groups.

    >>> of, groups = rank_tuples([np.array([1, 0, 1])], [2], 3)
    >>> of.tolist(), groups
    ([1, 0, 1], 2)
    """
    key, domain, few = np.zeros(rows, np.int64), 1, max(1 << 16, rows)
    for code, size in zip(codes, sizes, strict=True):
        if domain * size >= LARGEST_KEY or domain <= few < domain * size:  # a small table now saves sorting at the end
            distinct, of = rank_keys(key, domain)
            key, domain = of.astype(np.int64), len(distinct)
        key *= size
        key += code
        domain *= size
    distinct, of = rank_keys(key, domain)
    return of, len(distinct)


def number_tuples(codes: Iterable[np.ndarray], labels: Iterable[np.ndarray], rows: int) -> tuple[np.ndarray, int]:
    """The class of each row by its labels, labels[i][code] in column i, numbered as they come; how many there are.

    >>> of, classes = number_tuples([np.array([2, 0, 1], np.int32)], [np.array([0, 0, 1])], 3)
    >>> of.tolist(), classes
    ([0, 1, 1], 2)
    """
    key, domain = np.zeros(rows, np.uint64), 1
    for code, label in zip(codes, labels, strict=True):
        size = int(np.maximum.reduce(label)) + 1
        if domain * size >= LARGEST_KEY:
            of, domain = _numbered(key, domain)
            key = of.astype(np.uint64)
        if size > 1:
            add_labels(_plain(code, np.int32), _plain(label, np.int64), np.uint64(domain), key)
            domain *= size
    return _numbered(key, domain)


def _numbered(key: np.ndarray, domain: int) -> tuple[np.ndarray, int]:
    of = np.empty(len(key), np.int32)
    if domain <= max(1 << 16, 4 * len(key)):
        return of, number_by_table(key, np.full(domain, -1, np.int32), of)
    places = 1 << (2 * len(key)).bit_length()
    return of, number_by_hash(key, np.full(places, FREE), np.empty(places, np.int32), of)


def first_of(of: np.ndarray, classes: int) -> np.ndarray:
    """The first entry of each class; -1 where it has none."""
    first = np.full(classes, -1, np.int64)
    for low in reversed(range(0, len(of), SOME)):  # some at a time, to bound memory
        some = of[low : low + SOME]
        first[some[::-1]] = np.arange(low + len(some) - 1, low - 1, -1)
    return first


def tally(of: np.ndarray, classes: int, count: np.ndarray | None = None) -> np.ndarray:
    """The entries of each class, each counted so often."""
    if count is None:
        found, step = np.zeros(classes, np.int64), max(SOME, classes)
        for low in range(0, len(of), step):
            found += np.bincount(of[low : low + step], minlength=classes)
        return found
    size = np.zeros(classes, np.int64)
    add_counts(_plain(of, np.int32), _plain(count, np.int64), size)
    return size


def merge_runs(
    of: np.ndarray, classes: int, start: np.ndarray, value: np.ndarray, count: np.ndarray, values: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
    """The runs of classes whose entries have runs of (value, count); None where a table of all values is too large.

    >>> of, start, value = np.array([0, 0], np.int32), np.array([0, 1, 3]), np.array([1, 0, 1], np.int32)
    >>> [a.tolist() for a in merge_runs(of, 1, start, value, np.array([5, 2, 1]), 2)]
    [[0, 2], [0, 1], [2, 6]]
    """
    if classes * values > min(max(1 << 16, 8 * len(value)), np.iinfo(np.int32).max):
        return None
    place = np.repeat(of * np.int32(values), np.diff(start)) + value
    table = tally(place, classes * values, count)
    filled = np.flatnonzero(table)
    starts = np.searchsorted(filled, np.arange(classes + 1) * values)
    return starts, (filled % values).astype(np.int32), table[filled]


def _plain(array: np.ndarray, dtype: type) -> np.ndarray:
    """The array as kernels are compiled for it; a read-only one would be compiled for again."""
    return array if array.flags.carray and array.dtype == dtype else np.array(array, dtype, order="C")
