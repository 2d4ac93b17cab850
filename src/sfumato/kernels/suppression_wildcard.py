"""Rows that match where a missing value matches anything: how many, and the cells to blank until they are enough."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.kernels import kernel
from sfumato.kernels.suppression_keys import capacity_for, ranked, slot, weight_of_bits


@kernel
def match_counts(
    words: np.ndarray,
    count: np.ndarray,
    take: np.ndarray,
    kept: np.ndarray,
    parts: np.ndarray,
) -> np.ndarray:
    """For each taken tuple, which knows all columns of `kept`, the rows that match it in those columns.

    `parts` [patterns, words]: what of `kept` the rows of the table know, each pattern once.
    """
    slots = np.full(capacity_for(len(words)), -1, np.int64)
    rows = np.zeros(len(slots), np.int64)
    for e in range(len(words)):
        j = slot(slots, words, kept, words, e, kept)
        slots[j] = e
        rows[j] += count[e]
    found = np.zeros(len(take), np.int64)
    for i in range(len(take)):
        for p in range(len(parts)):
            j = slot(slots, words, kept, words, take[i], parts[p])
            if slots[j] >= 0:
                found[i] += rows[j]
    return found


@kernel
def blank_one_by_one(
    codes: np.ndarray, count: np.ndarray, take: np.ndarray, weight: np.ndarray, least: int
) -> np.ndarray:
    """Per taken tuple columns to blank until it matches `least` rows: those in which it differs from the nearest rows,
    and of those only the ones that are needed, heavy ones spared first."""
    n, d = codes.shape
    differ = np.empty(n, np.int64)
    blank = np.empty(len(take), np.int64)
    heavy_first = ranked(-weight)
    for i in range(len(take)):
        r = take[i]
        for t in range(n):
            differ[t] = 0
            for c in range(d):
                if codes[r, c] >= 0 and codes[t, c] >= 0 and codes[t, c] != codes[r, c]:
                    differ[t] |= np.int64(1) << c
        gone, rows = np.int64(0), 0
        for t in range(n):
            if differ[t] == 0:
                rows += count[t]
        while rows < least:
            best, cheapest = np.int64(0), np.inf
            for t in range(n):
                more = differ[t] & ~gone
                if more:
                    price = weight_of_bits(more, weight)
                    if price < cheapest:
                        best, cheapest = more, price
            gone |= best
            rows = 0
            for t in range(n):
                if differ[t] & ~gone == 0:
                    rows += count[t]
        for c in heavy_first:
            if gone >> c & 1:
                without = gone & ~(np.int64(1) << c)
                rows = 0
                for t in range(n):
                    if differ[t] & ~without == 0:
                        rows += count[t]
                if rows >= least:
                    gone = without
        blank[i] = gone
    return blank


@kernel
def match(one: np.ndarray, two: np.ndarray) -> bool:
    """Whether each value is equal, or missing in one of the two."""
    same = True
    for c in range(len(one)):
        if one[c] >= 0 and two[c] >= 0 and one[c] != two[c]:
            same = False
            break
    return same


@kernel
def rows_matching(codes: np.ndarray, count: np.ndarray, e: int) -> int:
    """The rows that match entry e."""
    rows = 0
    for t in range(len(codes)):
        if count[t] and match(codes[t], codes[e]):
            rows += count[t]
    return rows


@kernel
def unblank(
    codes: np.ndarray,
    count: np.ndarray,
    origin: np.ndarray,
    original: np.ndarray,
    weight: np.ndarray,
    least: int,
) -> None:
    """Give back every cell that is not needed, heavy ones first; entry e is a row of tuple origin[e] if count is 1."""
    n = len(codes)
    rows = np.zeros(n, np.int64)
    for e in range(n):
        if count[e]:
            rows[e] = rows_matching(codes, count, e)
    for c in ranked(-weight):
        for e in range(n):
            value = original[origin[e], c]
            if codes[e, c] >= 0 or value < 0 or count[e] == 0:
                continue
            lost, needed = 0, False
            for t in range(n):
                if t != e and count[t] and codes[t, c] >= 0 and codes[t, c] != value and match(codes[t], codes[e]):
                    lost += count[t]
                    if rows[t] - count[e] < least:
                        needed = True
                        break
            if needed or rows[e] - lost < least:
                continue
            for t in range(n):
                if t != e and count[t] and codes[t, c] >= 0 and codes[t, c] != value and match(codes[t], codes[e]):
                    rows[t] -= count[e]
            rows[e] -= lost
            codes[e, c] = value


@kernel
def best_helper(
    words: np.ndarray, known: np.ndarray, short: np.ndarray, masks: np.ndarray, kept: np.ndarray, weight: np.ndarray
) -> tuple[Any, Any]:
    """The entry, and the columns to blank in it, that come to match most entries in `short` per weight of cells."""
    best, best_share, best_mask = -1, 0.0, np.int64(0)
    slots = np.empty(capacity_for(len(short)), np.int64)
    rows = np.empty(len(slots), np.int64)
    for m in range(len(masks)):
        if masks[m] == 0 or len(short) / weight_of_bits(masks[m], weight) <= best_share:
            continue
        slots[:] = -1
        for e in short:
            j = slot(slots, words, kept[m], words, e, kept[m])
            if slots[j] < 0:
                slots[j] = e
                rows[j] = 0
            rows[j] += 1
        for e in short:
            price = weight_of_bits(masks[m] & known[e], weight)
            if price > 0:
                share = rows[slot(slots, words, kept[m], words, e, kept[m])] / price
                if share > best_share:
                    best, best_share, best_mask = e, share, masks[m]
    return best, best_mask
