"""Boxes: a class covers the places lo..hi of each column. What a side costs, the boxes of clusters, and their costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.compiled import kernel

# A space is two arrays: shape [columns, 5] (size, at, levels, missing, end) and cost. Per column:
# size > 0: cost[at + lo * size + hi] is the cost of lo..hi;
# size 0, levels 0: cost[at + place] grows along the column; the place `missing` mixes with others at cost[end];
# size 0, levels > 0: cost[at + 2 * (level * -missing + place)] is the node of a place and the next entry what that node
# costs; -missing is then the number of places.


@kernel
def side(a: int, lo: int, hi: int, shape: np.ndarray, cost: np.ndarray) -> Any:
    """What lo..hi costs in column a."""
    size, at = shape[a, 0], shape[a, 1]
    if size > 0:
        return cost[at + lo * size + hi]
    if lo == hi:
        return np.float32(0.0)
    levels, missing = shape[a, 2], shape[a, 3]
    if levels == 0:
        return cost[shape[a, 4]] if hi == missing else cost[at + hi] - cost[at + lo]
    for level in range(1, levels):
        base = at - 2 * level * missing
        if cost[base + 2 * lo] == cost[base + 2 * hi]:
            return cost[base + 2 * lo + 1]
    return cost[shape[a, 4]]


# Boxes are rows of lo and hi, points rows of points, named by number: a slice per call would cost more than the
# sum itself. A sum stops at `enough`: what comes back is then some cost of at least that.


@kernel
def grown(lo: Any, hi: Any, c: int, points: Any, i: int, enough: float, shape: np.ndarray, table: np.ndarray) -> Any:
    """The cost of box c once it takes point i in."""
    cost = np.float32(0.0)
    for a in range(lo.shape[1]):
        cost += side(a, min(lo[c, a], points[i, a]), max(hi[c, a], points[i, a]), shape, table)
        if cost >= enough:
            break
    return cost


@kernel
def joined(lo: Any, hi: Any, b: int, c: int, enough: float, shape: np.ndarray, table: np.ndarray) -> Any:
    """The cost of the box around boxes b and c."""
    cost = np.float32(0.0)
    for a in range(lo.shape[1]):
        cost += side(a, min(lo[b, a], lo[c, a]), max(hi[b, a], hi[c, a]), shape, table)
        if cost >= enough:
            break
    return cost


@kernel
def touched(lo: Any, hi: Any, b: int, c: int, enough: float, shape: np.ndarray, table: np.ndarray) -> Any:
    """The least that box b can cost once it holds any point of box c."""
    cost = np.float32(0.0)
    for a in range(lo.shape[1]):
        cost += side(a, min(lo[b, a], hi[c, a]), max(hi[b, a], lo[c, a]), shape, table)
        if cost >= enough:
            break
    return cost


@kernel
def take_in(lo: Any, hi: Any, c: int, points: Any, i: int) -> None:
    """Grow box c so that it holds point i."""
    for a in range(lo.shape[1]):
        lo[c, a] = min(lo[c, a], points[i, a])
        hi[c, a] = max(hi[c, a], points[i, a])


@kernel
def box_costs(lo: np.ndarray, hi: np.ndarray, shape: np.ndarray, table: np.ndarray) -> np.ndarray:
    """The cost of each box [boxes, columns]."""
    cost = np.zeros(len(lo), np.float32)
    for c in range(len(lo)):
        for a in range(lo.shape[1]):
            cost[c] += side(a, lo[c, a], hi[c, a], shape, table)
    return cost


@kernel
def drawn(state: Any) -> tuple[Any, Any]:
    """The next state of a small generator (xorshift64) and a number in 0..1."""
    x = np.uint64(state)
    x ^= x << np.uint64(13)
    x ^= x >> np.uint64(7)
    x ^= x << np.uint64(17)
    return x, (x >> np.uint64(11)) / np.float64(9007199254740992.0)


@kernel
def seeded(seed: int, number: int) -> Any:
    """The first state of the generator for a seed and the number of a part: one step of splitmix64."""
    x = np.uint64(seed * 1000003 + number + 1) * np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return (x ^ (x >> np.uint64(31))) | np.uint64(1)


@kernel
def select(values: np.ndarray, k: int) -> Any:
    """The value that would stand at place k if they were sorted, by Hoare's quickselect; they change places."""
    low, high = 0, len(values) - 1
    while low < high:
        pivot, i, j = values[(low + high) // 2], low, high
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                i += 1
                j -= 1
        if k <= j:
            high = j
        elif k >= i:
            low = i
        else:
            break
    return values[k]


@kernel
def halving(lo: Any, hi: Any, order: Any, s: int, e: int, a: int, shape: Any, table: Any) -> tuple[Any, Any]:
    """Where to cut the boxes order[s:e] in column a, about in halves, and what a box saves on average; -1: nowhere."""
    m = e - s
    step = max(1, m // 1000)
    some = np.empty((m + step - 1) // step, np.int64)
    for i in range(len(some)):
        c = order[s + i * step]
        some[i] = lo[c, a] + hi[c, a]
    cut = select(some, len(some) // 2)
    least = cut
    for i in range(len(some)):
        least = min(least, some[i])
    if least == cut:
        cut += 1
    ends = np.empty((2, 2), np.int64)
    for part in range(2):
        ends[part, 0] = 2147483647
        ends[part, 1] = -1
    size = np.zeros(2, np.int64)
    for i in range(s, e):
        c = order[i]
        part = 0 if lo[c, a] + hi[c, a] < cut else 1
        size[part] += 1
        ends[part, 0] = min(ends[part, 0], lo[c, a])
        ends[part, 1] = max(ends[part, 1], hi[c, a])
    if size[0] == 0 or size[1] == 0:
        return np.int64(-1), 0.0
    saved = m * side(a, min(ends[0, 0], ends[1, 0]), max(ends[0, 1], ends[1, 1]), shape, table)
    for part in range(2):
        saved -= size[part] * side(a, ends[part, 0], ends[part, 1], shape, table)
    balance = min(size[0], size[1]) / m
    return cut, (1e-6 + saved / m) * balance


@kernel
def blocks(
    lo: np.ndarray, hi: np.ndarray, limit: int, blur: float, seed: int, shape: np.ndarray, table: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The boxes (points where lo is hi) in an order where blocks of at most `limit` stand together, and their bounds.

    Blocks come of cuts about in halves, in the column where that saves most; `blur` makes the choice random.
    """
    n, d = lo.shape
    order, spare = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        order[i] = i
    first, last = np.empty(n + 2, np.int64), np.empty(n + 2, np.int64)  # a stack: numba compiles lists for seconds
    bounds = np.empty(n + 2, np.int64)
    first[0], last[0], bounds[0] = 0, n, 0
    waiting, made = 1, 1
    state = seeded(seed, np.int64(0))
    while waiting > 0:
        waiting -= 1
        s, e = first[waiting], last[waiting]
        if e - s <= limit:
            bounds[made] = e
            made += 1
            continue
        most = 0.0
        column = -1
        middle = np.int64(0)
        for a in range(d):
            cut, saved = halving(lo, hi, order, s, e, a, shape, table)
            state, chance = drawn(state)
            saved *= 1.0 + blur * chance
            if cut >= 0 and saved > most:
                most = saved
                column = a
                middle = cut
        if column < 0:
            bounds[made] = e
            made += 1
            continue
        left, right = s, e
        for i in range(s, e):
            c = order[i]
            if lo[c, column] + hi[c, column] < middle:
                spare[left] = c
                left += 1
            else:
                right -= 1
                spare[right] = c
        for i in range(s, e):
            order[i] = spare[i]
        first[waiting], last[waiting] = left, e
        first[waiting + 1], last[waiting + 1] = s, left
        waiting += 2
    return order, bounds[:made].copy()


@kernel
def reach(
    a: int,
    lo: int,
    hi: int,
    was_lo: int,
    was_hi: int,
    column: np.ndarray,
    m: int,
    cost: np.ndarray,
    step: np.ndarray,
    shape: np.ndarray,
    table: np.ndarray,
) -> None:
    """Add to cost[i] what column a costs once lo..hi reaches column[i]; with was_lo >= 0, less what it did before."""
    if shape[a, 0] > 0:
        for place in range(shape[a, 0]):
            step[place] = side(a, min(lo, place), max(hi, place), shape, table)
            if was_lo >= 0:
                step[place] -= side(a, min(was_lo, place), max(was_hi, place), shape, table)
        for i in range(m):
            cost[i] += step[column[i]]
        return
    for i in range(m):
        cost[i] += side(a, min(lo, column[i]), max(hi, column[i]), shape, table)
        if was_lo >= 0:
            cost[i] -= side(a, min(was_lo, column[i]), max(was_hi, column[i]), shape, table)


@kernel
def k_member(
    points: np.ndarray,
    order: np.ndarray,
    bounds: np.ndarray,
    first: int,
    last: int,
    k: int,
    kind: np.ndarray,
    cap: int,
    of: np.ndarray,
    shape: np.ndarray,
    table: np.ndarray,
) -> int:
    """Greedy k-member clustering of each block order[bounds[b]:bounds[b + 1]], b from `first` to before `last`.

    of[point] becomes its cluster, numbered from 0 over the blocks; the fewer than k left over in a block get -1. A
    cluster starts with the point farthest from the last one taken, and takes the point that costs least until it has
    k. No more than `cap` points of one kind where there is a choice. cost[i] is kept up to date with the growing box:
    a step touches only the columns in which the box grew.
    """
    d = points.shape[1]
    lo = np.empty(d, np.int32)
    hi = np.empty(d, np.int32)
    step = np.empty(max(shape[:, 0].max(), 1), np.float32)
    seen = np.zeros(kind.max() + 1 if len(kind) > 0 else 1, np.int64)
    clusters = 0
    for b in range(first, last):
        left = order[bounds[b] : bounds[b + 1]].copy()
        m = len(left)
        rest = np.empty((d, m), np.int32)
        cost = np.empty(m, np.float32)
        for i in range(m):
            of[left[i]] = -1
            for a in range(d):
                rest[a, i] = points[left[i], a]
        taken = points[left[0]].copy() if m > 0 else lo
        while m >= k:
            cost[:m] = 0.0
            for a in range(d):
                reach(a, taken[a], taken[a], -1, -1, rest[a], m, cost, step, shape, table)
            j = int(np.argmax(cost[:m]))
            for count in range(k):
                if count > 0:
                    near = np.float32(np.inf)
                    j = -1
                    for i in range(m):
                        if cost[i] < near and (cap >= k or seen[kind[left[i]]] < cap):
                            near = cost[i]
                            j = i
                    if j < 0:
                        j = int(np.argmin(cost[:m]))
                of[left[j]] = clusters
                if cap < k:
                    seen[kind[left[j]]] += 1
                for a in range(d):
                    taken[a] = rest[a, j]
                m -= 1
                left[j] = left[m]
                cost[j] = cost[m]
                for a in range(d):
                    rest[a, j] = rest[a, m]
                if count == 0:
                    cost[:m] = 0.0
                    for a in range(d):
                        lo[a] = taken[a]
                        hi[a] = taken[a]
                        reach(a, lo[a], hi[a], -1, -1, rest[a], m, cost, step, shape, table)
                elif count < k - 1:
                    for a in range(d):
                        if taken[a] < lo[a] or taken[a] > hi[a]:
                            low, high = lo[a], hi[a]
                            lo[a] = min(lo[a], taken[a])
                            hi[a] = max(hi[a], taken[a])
                            reach(a, lo[a], hi[a], low, high, rest[a], m, cost, step, shape, table)
            seen[:] = 0
            clusters += 1
    return clusters


@kernel
def to_nearest(
    points: np.ndarray,
    loose: np.ndarray,
    window: np.ndarray,
    lo: np.ndarray,
    hi: np.ndarray,
    size: np.ndarray,
    shape: np.ndarray,
    table: np.ndarray,
) -> np.ndarray:
    """Give each loose point to the cluster that it costs least to join, among window[i, 0] to before window[i, 1]."""
    found = np.empty(len(loose), np.int64)
    cost = np.empty(len(lo), np.float32)
    for c in range(len(lo)):
        cost[c] = joined(lo, hi, c, c, np.float32(np.inf), shape, table)
    for i in range(len(loose)):
        least = np.float32(np.inf)
        best = window[i, 0]
        for c in range(window[i, 0], window[i, 1]):
            enough = (least + cost[c] * size[c]) / (size[c] + 1)
            grow = grown(lo, hi, c, points, loose[i], enough, shape, table)
            if grow < enough:
                least = grow * (size[c] + 1) - cost[c] * size[c]
                best = c
        found[i] = best
        cost[best] = grown(lo, hi, best, points, loose[i], np.float32(np.inf), shape, table)
        size[best] += 1
        take_in(lo, hi, best, points, loose[i])
    return found


@kernel
def pair_up(
    failing: np.ndarray,
    order: np.ndarray,
    reach: int,
    lo: np.ndarray,
    hi: np.ndarray,
    size: np.ndarray,
    shape: np.ndarray,
    table: np.ndarray,
) -> np.ndarray:
    """The cluster that each one becomes when the failing ones join others: itself, or the one it joins.

    Each joins the free cluster that costs least, among those at most `reach` away in the order; a cluster takes part
    in one union only.
    """
    n = len(order)
    into = np.arange(len(lo))
    spent = np.zeros(len(lo), np.bool_)
    cost = np.empty(len(lo), np.float32)
    for c in order:
        cost[c] = joined(lo, hi, c, c, np.float32(np.inf), shape, table)
    for at in range(n):
        b = order[at]
        if not failing[b] or spent[b]:
            continue
        least = np.float64(np.inf)
        best = -1
        for other in range(max(0, at - reach), min(n, at + reach + 1)):
            c = order[other]
            if c == b or spent[c]:
                continue
            both = size[b] + size[c]
            own = cost[b] * size[b] + cost[c] * size[c]
            enough = np.float32((least + own) / both)
            grow = joined(lo, hi, b, c, enough, shape, table)
            if grow < enough or best < 0:
                least = grow * both - own
                best = c
        if best >= 0:
            into[b] = best
            spent[b] = True
            spent[best] = True
    return into


@kernel
def away(
    c: int,
    points: Any,
    i: int,
    mean: Any,
    lo: Any,
    hi: Any,
    along: Any,
    ruler: Any,
    enough: Any,
    shape: Any,
    table: Any,
) -> Any:
    """How far a point is from the centre of cluster c: from its mean along a line, from its node along a tree."""
    far = np.float32(0.0)
    for a in range(points.shape[1]):
        if along[a] >= 0:
            far += abs(ruler[along[a] + points[i, a]] - mean[c, a])
        else:
            far += side(a, min(lo[c, a], points[i, a]), max(hi[c, a], points[i, a]), shape, table)
        if far >= enough:
            break
    return far


@kernel
def settle(c: int, points: Any, i: int, size: Any, mean: Any, lo: Any, hi: Any, along: Any, ruler: Any) -> None:
    """Put a point into cluster c and move its centre."""
    size[c] += 1
    for a in range(points.shape[1]):
        if along[a] >= 0:
            mean[c, a] += (ruler[along[a] + points[i, a]] - mean[c, a]) / np.float32(size[c])
        lo[c, a] = min(lo[c, a], points[i, a])
        hi[c, a] = max(hi[c, a], points[i, a])


@kernel
def one_pass(
    points: np.ndarray,
    seeds: np.ndarray,
    k: int,
    along: np.ndarray,
    ruler: np.ndarray,
    shape: np.ndarray,
    table: np.ndarray,
) -> np.ndarray:
    """The cluster of each point: the nearest centre in one pass; then clusters above k give far points away.

    along[a] is where column a has its coordinates in `ruler`, -1 for a tree.
    """
    n, d = points.shape
    clusters = len(seeds)
    size = np.zeros(clusters, np.int64)
    mean = np.zeros((clusters, d), np.float32)
    lo = np.empty((clusters, d), np.int32)
    hi = np.empty((clusters, d), np.int32)
    of = np.full(n, -1)
    for c in range(clusters):
        lo[c] = points[seeds[c]]
        hi[c] = points[seeds[c]]
        of[seeds[c]] = c
        settle(c, points, seeds[c], size, mean, lo, hi, along, ruler)
    for i in range(n):
        if of[i] >= 0:
            continue
        near = np.float32(np.inf)
        best = 0
        for c in range(clusters):
            far = away(c, points, i, mean, lo, hi, along, ruler, near, shape, table)
            if far < near:
                near = far
                best = c
        of[i] = best
        settle(best, points, i, size, mean, lo, hi, along, ruler)
    # the points beyond k of a cluster, the farthest from its centre first, are loose
    far = np.empty(n, np.float32)
    for i in range(n):
        far[i] = away(of[i], points, i, mean, lo, hi, along, ruler, np.float32(np.inf), shape, table)
    loose = []
    for i in np.argsort(-far, kind="mergesort"):
        if size[of[i]] > k:
            size[of[i]] -= 1
            of[i] = -1
            loose.append(i)
    for c in range(clusters):
        lo[c] = points[seeds[c]]
        hi[c] = points[seeds[c]]
        mean[c] = 0.0
        size[c] = 0
    for c in range(clusters):
        if of[seeds[c]] == c:
            continue
        lo[c] = 2147483647
        hi[c] = -1
    for i in range(n):
        if of[i] >= 0:
            settle(of[i], points, i, size, mean, lo, hi, along, ruler)
    small = np.int64(0)
    for c in range(clusters):
        small += size[c] < k
    for i in loose:
        near = np.float32(np.inf)
        best = -1
        for c in range(clusters):
            if small > 0 and size[c] >= k:
                continue
            far_off = away(c, points, i, mean, lo, hi, along, ruler, near, shape, table)
            if far_off < near or best < 0:
                near = far_off
                best = c
        of[i] = best
        if size[best] == k - 1:
            small -= 1
        settle(best, points, i, size, mean, lo, hi, along, ruler)
    return of
