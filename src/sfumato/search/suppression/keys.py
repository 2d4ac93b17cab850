"""Tuples packed into words, so that leaving columns out is a mask; hash tables over them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.compiled import kernel
from sfumato.core.keys import SPREAD
from sfumato.search.clustering.kernels import side

BITS = 62  # of a word


def packed(codes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Codes [rows, columns], -1 for missing, as words [rows, words], and the bits of each column [columns, words].

    A missing value is zero in its bits, as is a column that is masked away; values are not.
    """
    rows, columns = codes.shape
    need = [int(codes[:, c].max(initial=-1) + 1).bit_length() for c in range(columns)]
    place, word, used = [], 0, 0
    for bits in need:
        if used + bits > BITS:
            word, used = word + 1, 0
        place.append((word, used))
        used += bits
    words, fields = np.zeros((rows, word + 1), np.int64), np.zeros((columns, word + 1), np.int64)
    for c, (word, shift) in enumerate(place):
        words[:, word] |= (codes[:, c].astype(np.int64) + 1) << shift
        fields[c, word] = ((1 << need[c]) - 1) << shift
    return words, fields


def kept_bits(fields: np.ndarray, blank: np.ndarray) -> np.ndarray:
    """For each set of blank columns (bits of an integer) the words that mask them away, [sets, words]."""
    shown = (blank[:, None] >> np.arange(len(fields)) & 1) == 0
    kept: np.ndarray = shown.astype(np.int64) @ fields
    return kept


def sets_of_columns(weight: np.ndarray, most: int) -> tuple[np.ndarray, bool]:
    """Sets of columns, as bits, by weight: all of them where they are no more than `most`, else the smallest ones.

    >>> sets_of_columns(np.array([1.0, 1.5]), 8)[0].tolist()
    [0, 1, 2, 3]
    """
    columns = len(weight)
    if 1 << columns <= most:
        every = np.arange(1 << columns, dtype=np.int64)
        return every[np.argsort(weight_of(every, weight), kind="stable")], True
    level, found = [0], [0]
    while len(found) + len(level) * (columns - 1) <= most or len(found) == 1:
        level = [bits | 1 << c for bits in level for c in range(bits.bit_length(), columns)]
        found += level
    some = np.array(found, dtype=np.int64)
    some = some[np.argsort(weight_of(some, weight), kind="stable")]
    return np.append(some, (1 << columns) - 1), False


def weight_of(bits: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The weight of sets of columns."""
    total: np.ndarray = (bits[:, None] >> np.arange(len(weight)) & 1) @ weight
    return total


@kernel
def capacity_for(entries: int) -> int:
    """Slots of a hash table: a power of two, at least twice the entries."""
    capacity = 16
    while capacity < 2 * entries:
        capacity *= 2
    return capacity


@kernel
def slot(slots: np.ndarray, table: np.ndarray, kept: np.ndarray, words: np.ndarray, e: int, shown: np.ndarray) -> Any:
    """Where words[e] & shown stands in a table of entries that are equal in table[entry] & kept, or would stand."""
    key = np.int64(0)
    for w in range(len(shown)):
        key = (key ^ (words[e, w] & shown[w])) * SPREAD
        key ^= key >> 29
    j = (key ^ (key >> 32)) & (len(slots) - 1)
    while slots[j] >= 0:
        same = True
        for w in range(len(shown)):
            if table[slots[j], w] & kept[w] != words[e, w] & shown[w]:
                same = False
                break
        if same:
            break
        j = (j + 1) & (len(slots) - 1)
    return j


@kernel
def ranked(key: np.ndarray) -> np.ndarray:
    """The order that sorts the keys: a shell sort, which compiles much faster than numpy's."""
    order = np.arange(len(key))
    gap = len(key) // 2
    while gap:
        for i in range(gap, len(key)):
            moving = order[i]
            j = i
            while j >= gap and key[order[j - gap]] > key[moving]:
                order[j] = order[j - gap]
                j -= gap
            order[j] = moving
        gap //= 2
    return order


@kernel
def weight_of_bits(bits: int, weight: np.ndarray) -> float:
    """The weight of a set of columns."""
    total = 0.0
    c = 0
    while bits:
        if bits & 1:
            total += weight[c]
        bits >>= 1
        c += 1
    return total


@kernel
def nearest_by_cells(
    label: np.ndarray, size: np.ndarray, weight: np.ndarray, failing: np.ndarray, fresh: np.ndarray
) -> np.ndarray:
    """For each failing class the other class with which it blanks the least weight of cells; ties by the smaller one.

    `label` [classes, columns] is the code of a class or -1, `fresh` [classes, columns] its rows that have a value.
    """
    found = np.full(len(failing), -1, np.int64)
    for i in range(len(failing)):
        c = failing[i]
        best = np.inf
        for o in range(len(label)):
            if o == c:
                continue
            cost = 0.0
            for a in range(label.shape[1]):
                if label[c, a] != label[o, a]:
                    if label[c, a] >= 0:
                        cost += weight[a] * fresh[c, a]
                    if label[o, a] >= 0:
                        cost += weight[a] * fresh[o, a]
                    if cost > best:
                        break
            if cost < best or (cost == best and size[o] < size[found[i]]):
                best = cost
                found[i] = o
    return found


@kernel
def nearest_by_boxes(
    lo: np.ndarray, hi: np.ndarray, size: np.ndarray, failing: np.ndarray, shape: np.ndarray, table: np.ndarray
) -> np.ndarray:
    """For each failing class the other class with which the rows of both lose least more than alone."""
    alone = np.zeros(len(lo))
    for o in range(len(lo)):
        for a in range(lo.shape[1]):
            alone[o] += side(a, lo[o, a], hi[o, a], shape, table)
    found = np.full(len(failing), -1, np.int64)
    for i in range(len(failing)):
        c = failing[i]
        best = np.inf
        for o in range(len(lo)):
            if o == c:
                continue
            rows, spent = size[c] + size[o], size[c] * alone[c] + size[o] * alone[o]
            both = 0.0
            for a in range(lo.shape[1]):
                both += side(a, min(lo[c, a], lo[o, a]), max(hi[c, a], hi[o, a]), shape, table)
                if rows * both - spent > best:
                    break
            cost = rows * both - spent
            if cost < best or (cost == best and size[o] < size[found[i]]):
                best = cost
                found[i] = o
    return found
