"""Local suppression: groups over any columns, minimal unsafe combinations, and the cells that break them."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.kernels import kernel
from sfumato.kernels.group import SPREAD


@kernel
def mixed(code: Any, column: Any) -> Any:
    """Spread a code of a column over 64 bits."""
    key = (np.int64(code) * 64 + column + 1) * SPREAD
    key ^= key >> 29
    key *= SPREAD
    return key ^ (key >> 32)


@kernel
def sums_of(codes: np.ndarray) -> np.ndarray:
    """Per entry (a row of codes) the sum of its spread codes: without some columns, theirs are taken off."""
    sums = np.zeros(len(codes), np.int64)
    for e in range(len(codes)):
        for c in range(codes.shape[1]):
            sums[e] += mixed(codes[e, c], c)
    return sums


@kernel
def group_without(codes: np.ndarray, sums: np.ndarray, take: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, int]:
    """The group of each taken entry and the number of groups: entries that are equal in all but the columns.

    Entries with equal sums are compared in full, so that the groups are exact.
    """
    entries = len(take)
    capacity = np.int64(16)
    while capacity < 2 * entries:
        capacity *= 2
    keys = np.empty(capacity, np.int64)
    group = np.full(capacity, -1, np.int32)
    leader = np.empty(entries, np.int64)
    of = np.empty(entries, np.int32)
    matters = np.ones(codes.shape[1], np.bool_)
    for c in columns:
        matters[c] = False
    groups = 0
    for i in range(entries):
        e = take[i]
        key = sums[e]
        for c in columns:
            key -= mixed(codes[e, c], c)
        j = (key ^ (key >> 32)) & (capacity - 1)
        while group[j] >= 0:
            if keys[j] == key:
                other = leader[group[j]]
                same = True
                for c in range(codes.shape[1]):
                    if matters[c] and codes[e, c] != codes[other, c]:
                        same = False
                        break
                if same:
                    break
            j = (j + 1) & (capacity - 1)
        if group[j] < 0:
            group[j] = groups
            keys[j] = key
            leader[groups] = e
            groups += 1
        of[i] = group[j]
    return of, groups


@kernel
def rows_of(of: np.ndarray, groups: int, take: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Rows per group."""
    size = np.zeros(groups, np.int64)
    for i in range(len(take)):
        size[of[i]] += count[take[i]]
    return size


@kernel
def blank_if_enough(
    codes: np.ndarray,
    sums: np.ndarray,
    count: np.ndarray,
    small: np.ndarray,
    columns: np.ndarray,
    blank: np.ndarray,
    least: int,
) -> np.ndarray:
    """Blank the columns of those small entries that then are equal in `least` rows: small entries, and entries in which
    the columns are blank already. Gives the small entries that are left."""
    entries = len(codes)
    take = np.empty(entries, np.int64)
    is_small = np.zeros(entries, np.bool_)
    for i in range(len(small)):
        take[i] = small[i]
        is_small[small[i]] = True
    taken = len(small)
    for e in range(entries):
        if is_small[e]:
            continue
        bare = True
        for c in columns:
            if codes[e, c] != blank[c]:
                bare = False
                break
        if bare:
            take[taken] = e
            taken += 1
    take = take[:taken]
    of, groups = group_without(codes, sums, take, columns)
    size = rows_of(of, groups, take, count)
    left = np.empty(len(small), np.int64)
    remain = 0
    for i in range(len(small)):
        e = small[i]
        if size[of[i]] >= least:
            for c in columns:
                sums[e] += mixed(blank[c], c) - mixed(codes[e, c], c)
                codes[e, c] = blank[c]
        else:
            left[remain] = e
            remain += 1
    return left[:remain]


@kernel
def add_unsafe(
    of: np.ndarray,
    size: np.ndarray,
    least: int,
    small: np.ndarray,
    combination: int,
    head: np.ndarray,
    link: np.ndarray,
    bits: np.ndarray,
    used: int,
) -> int:
    """Add a combination of columns to the list of each small entry in which it is rarer than `least` rows and holds no
    combination that is in the list already: those are the minimal unsafe ones. Returns how many links are used."""
    for e in small:
        if size[of[e]] >= least:
            continue
        at = head[e]
        while at >= 0 and bits[at] & combination != bits[at]:
            at = link[at]
        if at < 0:
            bits[used] = combination
            link[used] = head[e]
            head[e] = used
            used += 1
    return used


@kernel
def break_unsafe(
    head: np.ndarray, link: np.ndarray, bits: np.ndarray, weight: np.ndarray, by_weight: bool, gone: np.ndarray
) -> None:
    """Mark cells as gone until every unsafe combination of every entry has one: greedily the column that breaks most
    of those left (per weight, where asked), ties by the lighter column, then the first."""
    columns = len(weight)
    hits = np.zeros(columns, np.int64)
    for e in range(len(head)):
        broken = np.int64(0)
        while True:
            hits[:] = 0
            at = head[e]
            left = 0
            while at >= 0:
                if bits[at] & broken == 0:
                    left += 1
                    for a in range(columns):
                        hits[a] += bits[at] >> a & 1
                at = link[at]
            if left == 0:
                break
            best, best_score = -1, -1.0
            for a in range(columns):
                if hits[a] > 0:
                    score = hits[a] / weight[a] if by_weight else float(hits[a])
                    if score > best_score or (score == best_score and weight[a] < weight[best]):
                        best, best_score = a, score
            broken |= np.int64(1) << best
            gone[e, best] = True
