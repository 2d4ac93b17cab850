"""One round of Mondrian: propose a cut for each part, and move its cells to their side."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.compiled import inner, kernel


@inner
def weighted_median(
    code: np.ndarray, n: np.ndarray, low: int, high: int, rank: int, hist: np.ndarray
) -> tuple[Any, Any, Any]:
    """The code m at row `rank` (from 0) in sorted order, and how many rows lie below m and up to m.

    Counts by code where the range is short, else narrows the range by halving around pivots.
    """
    cells = len(code)
    if high - low + 1 <= len(hist) and high - low < 2 * cells + 64:
        hist[: high - low + 1] = 0
        for i in range(cells):
            hist[code[i] - low] += n[i]
        below = np.int64(0)
        j = 0
        while below + hist[j] <= rank:
            below += hist[j]
            j += 1
        return low + j, below, below + hist[j]
    work = code.copy()
    weight = n.copy()
    first, last = 0, cells - 1  # the median lies in work[first..last], `below` rows lie before it
    below = np.int64(0)
    while True:
        a, b, c = work[first], work[(first + last) // 2], work[last]
        pivot = max(min(a, b), min(max(a, b), c))
        # three-way partition around the pivot
        less, i, more = first, first, last
        light = np.int64(0)
        same = np.int64(0)
        while i <= more:
            v = work[i]
            if v < pivot:
                light += weight[i]
                work[i], work[less] = work[less], v
                weight[i], weight[less] = weight[less], weight[i]
                less += 1
                i += 1
            elif v > pivot:
                work[i], work[more] = work[more], v
                weight[i], weight[more] = weight[more], weight[i]
                more -= 1
            else:
                same += weight[i]
                i += 1
        if rank < below + light:
            last = less - 1
        elif rank < below + light + same:
            return pivot, below + light, below + light + same
        else:
            below += light + same
            first = more + 1


@kernel
def propose(
    codes: np.ndarray,
    n: np.ndarray,
    idx: np.ndarray,
    codes2: np.ndarray,
    n2: np.ndarray,
    idx2: np.ndarray,
    start: np.ndarray,
    end: np.ndarray,
    skip: np.ndarray,
    least: int,
    balanced: bool,
    widest: bool,
    values: np.ndarray,
    missing: np.ndarray,
    span: np.ndarray,
    position: np.ndarray,
    position_at: np.ndarray,
    levels: np.ndarray,
    tree: np.ndarray,
    width: np.ndarray,
    tree_at: np.ndarray,
    kids: np.ndarray,
    bounds: np.ndarray,
) -> None:
    """For each part [start, end) find its cut number `skip` among the allowed ones and deal its cells to the sides.

    Allowed: every side keeps `least` rows. Columns are tried by falling width, each with its cuts by falling balance.
    Columns with levels > 0 are trees whose leaves stand in order; they are cut into the children of the node they span.
    kids[p] is the number of sides (0: no cut left), bounds[start[p] + j] where side j begins.
    """
    d = codes.shape[0]
    low = np.empty(d, np.int64)
    high = np.empty(d, np.int64)
    wide = np.empty(d, np.float64)
    rank = np.empty(d, np.int64)
    cuts = np.empty(3, np.int64)
    lefts = np.empty(3, np.int64)
    longest, most = 0, 0
    for p in range(len(start)):
        longest = max(longest, end[p] - start[p])
    for a in range(d):
        most = max(most, values[a])
    hist = np.zeros(min(2 * longest + 64, most + 1), np.int64)
    child_rows = np.zeros(most + 1, np.int64)
    child_at = np.zeros(most + 1, np.int64)
    for p in range(len(start)):
        s, e = start[p], end[p]
        kids[p] = 0
        rows = np.int64(0)
        for i in range(s, e):
            rows += n[i]
        if rows < 2 * least or e - s < 2:
            continue
        for a in range(d):
            lo = codes[a, s]
            hi = lo
            for i in range(s + 1, e):
                v = codes[a, i]
                lo = min(lo, v)
                hi = max(hi, v)
            low[a], high[a] = lo, hi
            rank[a] = a
            if lo == hi:
                wide[a] = -1.0
            elif levels[a] > 0:
                level = 0
                while tree[tree_at[a] + level * values[a] + lo] != tree[tree_at[a] + level * values[a] + hi]:
                    level += 1
                wide[a] = width[tree_at[a] + level * values[a] + lo]
            elif hi == missing[a]:
                wide[a] = 1.0
            elif span[a] > 0:
                wide[a] = (position[position_at[a] + hi] - position[position_at[a] + lo]) / span[a]
            else:
                wide[a] = 0.0
        if widest:
            for i in range(1, d):
                a = rank[i]
                j = i - 1
                while j >= 0 and wide[rank[j]] < wide[a]:
                    rank[j + 1] = rank[j]
                    j -= 1
                rank[j + 1] = a
        wait = skip[p]
        for r in range(d):
            a = rank[r]
            if low[a] == high[a]:
                continue
            if levels[a] > 0:
                level = 0
                base = tree_at[a]
                while tree[base + level * values[a] + low[a]] != tree[base + level * values[a] + high[a]]:
                    level += 1
                base += (level - 1) * values[a]
                for v in range(low[a], high[a] + 1):
                    child_rows[tree[base + v]] = 0
                    child_at[tree[base + v]] = 0
                for i in range(s, e):
                    child_rows[tree[base + codes[a, i]]] += n[i]
                    child_at[tree[base + codes[a, i]]] += 1
                allowed = True
                for v in range(low[a], high[a] + 1):
                    c = tree[base + v]
                    if 0 < child_rows[c] < least:
                        allowed = False
                        break
                if not allowed:
                    continue
                if wait > 0:
                    wait -= 1
                    continue
                place = s
                seen = -1
                for v in range(low[a], high[a] + 1):
                    c = tree[base + v]
                    if c != seen and child_rows[c] > 0:
                        bounds[s + kids[p]] = place
                        kids[p] += 1
                        step = child_at[c]
                        child_at[c] = place
                        place += step
                    seen = c
                for i in range(s, e):
                    c = tree[base + codes[a, i]]
                    j = child_at[c]
                    child_at[c] += 1
                    for b in range(d):
                        codes2[b, j] = codes[b, i]
                    n2[j] = n[i]
                    idx2[j] = idx[i]
                for b in range(d):
                    codes[b, s:e] = codes2[b, s:e]
                n[s:e] = n2[s:e]
                idx[s:e] = idx2[s:e]
                break
            options = 0
            if high[a] == missing[a]:
                gone = np.int64(0)
                for i in range(s, e):
                    if codes[a, i] == missing[a]:
                        gone += n[i]
                cuts[0], lefts[0] = missing[a], rows - gone
                options = 1
            m, below, upto = weighted_median(codes[a, s:e], n[s:e], low[a], high[a], (rows - 1) // 2, hist)
            if not balanced:
                cuts[options], lefts[options] = m + 1, upto
                options += 1
            elif abs(rows - 2 * below) < abs(rows - 2 * upto):
                cuts[options], lefts[options] = m, below
                cuts[options + 1], lefts[options + 1] = m + 1, upto
                options += 2
            else:
                cuts[options], lefts[options] = m + 1, upto
                cuts[options + 1], lefts[options + 1] = m, below
                options += 2
            cut = np.int64(-1)
            for o in range(options):
                if lefts[o] >= least and rows - lefts[o] >= least:
                    if wait > 0:
                        wait -= 1
                        continue
                    cut = cuts[o]
                    break
            if cut < 0:
                continue
            j = s
            for i in range(s, e):
                if codes[a, i] < cut:
                    j += 1
            left, right = s, j
            for i in range(s, e):
                if codes[a, i] < cut:
                    t = left
                    left += 1
                else:
                    t = right
                    right += 1
                for b in range(d):
                    codes2[b, t] = codes[b, i]
                n2[t] = n[i]
                idx2[t] = idx[i]
            for b in range(d):
                codes[b, s:e] = codes2[b, s:e]
            n[s:e] = n2[s:e]
            idx[s:e] = idx2[s:e]
            bounds[s], bounds[s + 1] = s, j
            kids[p] = 2
            break
