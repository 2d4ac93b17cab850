"""Individual risk per class: the mean of 1/F given the sample count, in a form that stays exact for every f."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sfumato.core.compiled import inner, kernel
from sfumato.core.keys import EMPTY, SPREAD

FEW = 24  # from this f on the series needs few terms whatever p is


@kernel
def individual_risks(f: np.ndarray, p: np.ndarray) -> np.ndarray:
    """p^f/f 2F1(f, f; f+1; 1-p) for whole f >= 1 and 0 < p <= 1.

    By Euler's transformation it is p/f 2F1(1, 1; f+1; 1-p), whose terms n!/((f+1)...(f+n)) (1-p)^n are positive and
    fall by (1-p)(n+1)/(f+n+1). Where they fall slowly (p < 1/2 and few records) the recurrence r_{f+1} = q(1/f - r_f),
    q = p/(1-p) <= 1, from r_1 = q ln(1/p) is stable instead.
    """
    risk = np.empty(len(f))
    for i in range(len(f)):
        z = 1.0 - p[i]
        if p[i] < 0.5 and f[i] < FEW:
            q = p[i] / z
            r = -q * math.log(p[i])
            for n in range(1, f[i]):
                r = q * (1.0 / n - r)
            risk[i] = r
        else:
            term, total, n = 1.0, 1.0, 0
            while term > 1e-18 * total:
                term *= z * (n + 1) / (f[i] + n + 1)
                total += term
                n += 1
            risk[i] = p[i] / f[i] * total
    return risk


@kernel
def fit_pairs(
    codes: np.ndarray,
    firsts: np.ndarray,
    seconds: np.ndarray,
    widths: np.ndarray,
    target: np.ndarray,
    starts: np.ndarray,
    most: int,
    tolerance: float,
) -> tuple[np.ndarray, int, float]:
    """Expected counts of the cells whose pairwise margins are the target's; sweeps done; greatest gap left.

    Pair k is of columns firsts[k], seconds[k]; its margin is target[starts[k]:starts[k + 1]], at first code times
    widths[k] plus second code.
    """
    cells = codes.shape[1]
    mean = np.ones(cells)
    gap, sweeps = np.inf, 0
    while sweeps < most and gap > tolerance:
        sweeps += 1
        gap = 0.0
        for k in range(len(firsts)):
            one, other, width = codes[firsts[k]], codes[seconds[k]], widths[k]
            wanted = target[starts[k] : starts[k + 1]]
            margin = np.zeros(len(wanted))
            for i in range(cells):
                margin[one[i] * width + other[i]] += mean[i]
            for j in range(len(wanted)):
                # relative to the count, so that the rare are fitted as well as the frequent
                if wanted[j] > 0:
                    if sweeps > 1:
                        gap = max(gap, abs(margin[j] - wanted[j]) / wanted[j])
                    margin[j] = wanted[j] / margin[j] if margin[j] > 0 else 0.0
            for i in range(cells):
                mean[i] *= margin[one[i] * width + other[i]]
        if sweeps == 1:
            gap = np.inf
    return mean, sweeps, gap


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


@kernel
def refine(
    code: np.ndarray,
    items: np.ndarray,
    ends: np.ndarray,
    groups: int,
    out_items: np.ndarray,
    out_ends: np.ndarray,
    scratch: np.ndarray,
    marks: np.ndarray,
    mark: int,
) -> int:
    """Split each group by one column: groups of two and more go out, cells left alone get the mark.

    Which cells are alone cannot be predicted, so there is arithmetic where branches would be: a cell left alone is
    written too, to a place past the end.
    """
    nowhere = len(out_items) - 1
    seen, place, touched = scratch
    none = mark ^ mark
    at, out, found = 0, 0, 0
    for g in range(groups):
        end = ends[g]
        if end - at == 2:  # most groups are pairs in the end
            first, second = items[at], items[at + 1]
            alike = code[first] == code[second]
            out_items[out], out_items[out + 1] = first, second
            out += 2 * alike
            out_ends[found] = out
            found += alike
            flag = none if alike else mark
            marks[first] |= flag
            marks[second] |= flag
        else:
            values = 0
            for i in range(at, end):
                c = code[items[i]]
                touched[values] = c
                values += seen[c] == 0
                seen[c] += 1
            for t in range(values):
                c = touched[t]
                n = seen[c]
                seen[c] = 0
                place[c] = nowhere if n == 1 else out
                out += n * (n > 1)
                out_ends[found] = out
                found += n > 1
            for i in range(at, end):
                item = items[i]
                c = code[item]
                p = place[c]
                out_items[p] = item
                place[c] = p + (p != nowhere)
                marks[item] |= mark if p == nowhere else none
        at = end
    return found


@inner
def mark_alone(
    code: np.ndarray,
    items: np.ndarray,
    ends: np.ndarray,
    groups: int,
    scratch: np.ndarray,
    marks: np.ndarray,
    mark: int,
) -> None:
    """The same where the new groups are not needed."""
    seen, _, touched = scratch
    none = mark ^ mark
    at = 0
    for g in range(groups):
        end = ends[g]
        if end - at == 2:
            first, second = items[at], items[at + 1]
            flag = none if code[first] == code[second] else mark
            marks[first] |= flag
            marks[second] |= flag
        else:
            values, alone = 0, 0
            for i in range(at, end):
                c = code[items[i]]
                touched[values] = c
                values += seen[c] == 0
                seen[c] += 1
            for t in range(values):
                alone += seen[touched[t]] == 1
            if alone > 0:
                for i in range(at, end):
                    item = items[i]
                    marks[item] |= mark if seen[code[item]] == 1 else none
            for t in range(values):
                seen[touched[t]] = 0
        at = end


@kernel
def uniques(codes: np.ndarray, values: int, low: int, above: int, most: int, marks: np.ndarray) -> None:
    """For each cell the sets of the `low` first columns that, with the columns of mask `above`, first make it unique.

    Bit L of `marks` stands for the set L of low columns. First: the set without its lowest column does not make it
    unique. `above` counts from the first column that is not low. `most` limits the number of columns in all.
    """
    columns, cells = codes.shape
    local, nowhere = np.zeros(cells, np.uint64), np.zeros(cells, np.uint64)
    items = np.empty((low + 2, cells + 1), np.int32)
    ends = np.empty((low + 2, cells // 2 + 2), np.int32)
    groups = np.zeros(low + 2, np.int64)
    scratch = np.zeros((3, values + 1), np.int32)
    near = np.empty((low, cells), codes.dtype)
    origin = np.empty(cells, np.int32)
    items[0, :cells] = np.arange(cells)
    ends[0, 0], groups[0] = cells, 1
    taken, last = 0, -1
    for j in range(columns - 1, low - 1, -1):
        if above >> (j - low) & 1:
            taken, last = taken + 1, j
    for j in range(columns - 1, low - 1, -1):
        if above >> (j - low) & 1:
            into = marks if j == last else nowhere
            n = refine(codes[j], items[0], ends[0], groups[0], items[1], ends[1], scratch, into, np.uint64(1))
            items[0], ends[0], groups[0] = items[1], ends[1], n
    for h in range(low):  # the sets whose highest low column is h
        if taken == most:
            break
        mark = np.uint64(1) << np.uint64(1 << h)
        if h == 0 or taken + 1 == most:
            mark_alone(codes[h], items[0], ends[0], groups[0], scratch, marks, mark)
            continue
        groups[1] = refine(codes[h], items[0], ends[0], groups[0], items[1], ends[1], scratch, marks, mark)
        if groups[1] == 0:
            continue
        size = ends[1, groups[1] - 1]
        for i in range(size):  # cells of a group come to lie side by side: all that follows stays in the cache
            origin[i] = items[1, i]
            local[i] = 0
            items[1, i] = i
        for j in range(h):
            for i in range(size):
                near[j, i] = codes[j, origin[i]]
        for L in range((1 << h) + 1, 2 << h):
            at, rest, lowest = 0, L, 0
            while L >> lowest & 1 == 0:
                lowest += 1
            while rest:
                rest &= rest - 1
                at += 1
            if taken + at > most:
                continue
            mark = np.uint64(1) << np.uint64(L)
            if lowest == 0 or taken + at == most:
                groups[at] = 0
                mark_alone(near[lowest], items[at - 1], ends[at - 1], groups[at - 1], scratch, local, mark)
            else:
                groups[at] = refine(
                    near[lowest], items[at - 1], ends[at - 1], groups[at - 1], items[at], ends[at], scratch, local, mark
                )
        for i in range(size):
            marks[origin[i]] |= local[i]


@kernel
def bits(x: Any) -> Any:
    """How many bits of 64 are set."""
    x -= (x >> np.uint64(1)) & np.uint64(0x5555555555555555)
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@kernel
def weigh(
    marks: np.ndarray,
    start: int,
    stop: int,
    low: int,
    above: np.ndarray,
    parent: np.ndarray,
    weight: np.ndarray,
    score: np.ndarray,
    parts: np.ndarray,
    number: np.ndarray,
    least: np.ndarray,
) -> None:
    """Score, part of it per column, number and least size of the minimal ones among the marked sets of each cell.

    marks[p, cell] holds the sets with the columns above[p] (a mask) above the `low` first, and parent[p, j] says where
    the same without column j of those stands (-1: it has none). `weight[s]` is what a set of s columns adds.
    """
    patterns, tall = parent.shape
    without = np.zeros(low, np.uint64)  # the sets that lack a low column
    sized = np.zeros(low + 1, np.uint64)  # the sets of so many low columns
    for L in range(1 << low):
        s = 0
        for j in range(low):
            if L >> j & 1:
                s += 1
            else:
                without[j] |= np.uint64(1) << np.uint64(L)
        sized[s] |= np.uint64(1) << np.uint64(L)
    tops = np.zeros(patterns, np.int64)
    for p in range(patterns):
        tops[p] = bits(np.uint64(above[p]))
    closed = np.zeros(patterns, np.uint64)
    sums = np.zeros(low + tall)
    for i in range(start, stop):
        marked = False
        for p in range(patterns):
            marked |= marks[p, i] != 0
        if not marked:
            continue
        total, smallest, count = 0.0, low + tall, 0
        sums[:] = 0
        for p in range(patterns):
            below = np.uint64(0)  # sets that hold a smaller unique one
            for j in range(tall):
                if parent[p, j] >= 0:
                    below |= closed[parent[p, j]]
            every = marks[p, i] | below
            for j in range(low):
                every |= (every & without[j]) << np.uint64(1 << j)
            for j in range(low):
                below |= (every & without[j]) << np.uint64(1 << j)
            closed[p] = every
            minimal = every & ~below
            if minimal == 0:
                continue
            here = 0.0
            for s in range(low + 1):
                some = minimal & sized[s]
                if some:
                    w, n = weight[s + tops[p]], bits(some)
                    smallest = min(smallest, s + tops[p])
                    count += n
                    here += w * n
                    for j in range(low):
                        sums[j] += w * (n - bits(some & without[j]))
            total += here
            for j in range(tall):
                if parent[p, j] >= 0:
                    sums[low + j] += here
        score[i], number[i], least[i] = total, count, smallest
        for j in range(low + tall):
            parts[j, i] = sums[j]
