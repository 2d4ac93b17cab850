"""Boxes: a class covers the places lo..hi of each column. What a side costs, the boxes of clusters, and their costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.compiled import inner, kernel
from sfumato.core.progress import stoppable

# A space is two arrays: shape [columns, 5] (size, at, levels, missing, end) and cost. Per column:
# size > 0: cost[at + lo * size + hi] is the cost of lo..hi;
# size 0, levels 0: cost[at + place] grows along the column; the place `missing` mixes with others at cost[end];
# size 0, levels > 0: cost[at + 2 * (level * -missing + place)] is the node of a place and the next entry what that node
# costs; -missing is then the number of places.


@inner
def side(a: int, lo: int, hi: int, other_lo: int, other_hi: int, shape: np.ndarray, cost: np.ndarray) -> Any:
    """What the range around lo..hi and another one costs in column a."""
    if other_lo < lo:
        lo = other_lo
    if other_hi > hi:
        hi = other_hi
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
# sum itself. A sum stops at `enough`: what comes back is then some cost of at least that. Each is called with the same
# types everywhere: others would be compiled for once more.


@inner
def grown(lo: Any, hi: Any, c: int, points: Any, i: int, enough: float, shape: np.ndarray, table: np.ndarray) -> Any:
    """The cost of box c once it takes point i in."""
    cost = np.float32(0.0)
    for a in range(lo.shape[1]):
        cost += side(a, lo[c, a], hi[c, a], points[i, a], points[i, a], shape, table)
        if cost >= enough:
            break
    return cost


@inner
def joined(lo: Any, hi: Any, b: int, c: int, enough: float, shape: np.ndarray, table: np.ndarray) -> Any:
    """The cost of the box around boxes b and c."""
    cost = np.float32(0.0)
    for a in range(lo.shape[1]):
        cost += side(a, lo[b, a], hi[b, a], lo[c, a], hi[c, a], shape, table)
        if cost >= enough:
            break
    return cost


@inner
def touched(lo: Any, hi: Any, b: int, c: int, enough: float, shape: np.ndarray, table: np.ndarray) -> Any:
    """The least that box b can cost once it holds any point of box c."""
    cost = np.float32(0.0)
    for a in range(lo.shape[1]):
        cost += side(a, lo[b, a], hi[b, a], hi[c, a], lo[c, a], shape, table)
        if cost >= enough:
            break
    return cost


@inner
def take_in(lo: Any, hi: Any, c: int, points: Any, i: int) -> None:
    """Grow box c so that it holds point i."""
    for a in range(lo.shape[1]):
        if points[i, a] < lo[c, a]:
            lo[c, a] = points[i, a]
        if points[i, a] > hi[c, a]:
            hi[c, a] = points[i, a]


@kernel
def box_costs(lo: np.ndarray, hi: np.ndarray, cost: np.ndarray, shape: np.ndarray, table: np.ndarray) -> None:
    """The cost of each box [boxes, columns]."""
    for c in range(len(lo)):
        cost[c] = joined(lo, hi, c, c, np.inf, shape, table)


@inner
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


@inner
def select(values: np.ndarray, low: int, high: int, k: int) -> Any:
    """The value that would stand at place k if those from low to high were sorted, by Hoare's quickselect."""
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


@inner
def halving(
    lo: Any, hi: Any, order: Any, spare: Any, s: int, e: int, a: int, shape: Any, table: Any
) -> tuple[Any, Any]:
    """Where to cut the boxes order[s:e] in column a, about in halves, and what a box saves on average; -1: nowhere."""
    m = e - s
    step = m // 1000 if m >= 2000 else 1
    some = (m + step - 1) // step
    least = lo[order[s], a] + hi[order[s], a]
    for i in range(some):
        c = order[s + i * step]
        spare[s + i] = lo[c, a] + hi[c, a]
        if spare[s + i] < least:
            least = spare[s + i]
    cut = select(spare, s, s + some - 1, s + some // 2)
    if least == cut:
        cut += 1
    low = lo[order[s], a]
    left_low, left_high, right_low, right_high = low, low, low, low
    left = right = 0
    for i in range(s, e):
        c = order[i]
        low, high = lo[c, a], hi[c, a]
        if low + high < cut:
            if left == 0 or low < left_low:
                left_low = low
            if left == 0 or high > left_high:
                left_high = high
            left += 1
        else:
            if right == 0 or low < right_low:
                right_low = low
            if right == 0 or high > right_high:
                right_high = high
            right += 1
    if left == 0 or right == 0:
        return -1, 0.0
    saved = m * side(a, left_low, left_high, right_low, right_high, shape, table)
    saved -= left * side(a, left_low, left_high, left_low, left_high, shape, table)
    saved -= right * side(a, right_low, right_high, right_low, right_high, shape, table)
    return cut, (1e-6 + saved / m) * ((left if left < right else right) / m)


@kernel
def cut_blocks(
    lo: np.ndarray,
    hi: np.ndarray,
    limit: int,
    blur: float,
    seed: int,
    order: np.ndarray,
    spare: np.ndarray,
    ends: np.ndarray,
    shape: np.ndarray,
    table: np.ndarray,
) -> int:
    """Bring the boxes into the order of `blocks`; ends[0] is then where blocks begin and end, of which so many."""
    first, last, bounds = ends[1], ends[2], ends[0]  # a stack: numba compiles lists for seconds
    first[0], last[0], bounds[0] = 0, len(lo), 0
    waiting, made = 1, 1
    state = seeded(seed, np.int64(0))
    while waiting > 0:
        waiting -= 1
        s, e = first[waiting], last[waiting]
        most = 0.0
        column = -1
        middle = 0
        if e - s > limit:
            for a in range(lo.shape[1]):
                cut, saved = halving(lo, hi, order, spare, s, e, a, shape, table)
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
    return made


def blocks(
    lo: np.ndarray, hi: np.ndarray, limit: int, blur: float, seed: int, shape: np.ndarray, table: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The boxes (points where lo is hi) in an order where blocks of at most `limit` stand together, and their bounds.

    Blocks come of cuts about in halves, in the column where that saves most; `blur` makes the choice random.
    """
    order, spare, ends = np.arange(len(lo)), np.empty(len(lo), np.int64), np.empty((3, len(lo) + 2), np.int64)
    made = cut_blocks(lo, hi, limit, blur, seed, order, spare, ends, shape, table)
    return order, ends[0, :made]


@inner
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
    """Add to cost[i] what column a costs once lo..hi reaches column[i]; with was_lo >= 0, less what it did before.

    Where the costs of all ranges are tabled, each place is looked up once.
    """
    if shape[a, 0] > 0:
        for i in range(shape[a, 0]):
            place = np.int32(i)
            step[i] = side(a, lo, hi, place, place, shape, table)
            if was_lo >= 0:
                step[i] -= side(a, was_lo, was_hi, place, place, shape, table)
        for i in range(m):
            cost[i] += step[column[i]]
        return
    for i in range(m):
        cost[i] += side(a, lo, hi, column[i], column[i], shape, table)
        if was_lo >= 0:
            cost[i] -= side(a, was_lo, was_hi, column[i], column[i], shape, table)


@inner
def reach_from(
    at: int, m: int, rest: np.ndarray, cost: np.ndarray, step: np.ndarray, shape: np.ndarray, table: np.ndarray
) -> None:
    """Set cost[i] to what the box around points `at` and i of rest costs."""
    for i in range(m):
        cost[i] = 0.0
    for a in range(len(rest)):
        v = rest[a, at]
        reach(a, v, v, np.int32(-1), np.int32(-1), rest[a], m, cost, step, shape, table)


@inner
def extreme(cost: np.ndarray, m: int, sign: float, kind: np.ndarray, seen: np.ndarray, cap: int) -> Any:
    """The first least cost, with sign -1 the first greatest, among kinds seen less than `cap` times; -1 if none is."""
    best = np.float32(np.inf)
    j = -1
    for i in range(m):
        if cost[i] * sign < best and seen[kind[i]] < cap:
            best = cost[i] * sign
            j = i
    return j


@inner
def cluster(
    j: int,
    k: int,
    m: int,
    kept: int,
    left: np.ndarray,
    rest: np.ndarray,
    kind: np.ndarray,
    cost: np.ndarray,
    seen: np.ndarray,
    cap: int,
    lo: np.ndarray,
    hi: np.ndarray,
    step: np.ndarray,
    number: int,
    of: np.ndarray,
    shape: np.ndarray,
    table: np.ndarray,
) -> Any:
    """Take k of the first m points into a cluster, which starts with point j and takes the point that costs least.

    No more than `cap` points of one kind where there is a choice. of[left[i]] becomes the number of the cluster, lo and
    hi its box; the points left move to the front, and the last one taken stands behind them. cost[i] is kept up to
    date with the growing box while it has no more than `kept` points: a step touches only the columns in which the box
    grew. Gives what the last point made it cost.
    """
    near = np.float32(0.0)
    for count in range(k):
        if count > 0:
            j = extreme(cost, m, np.float32(1.0), kind, seen, cap)
            if j < 0:
                j = extreme(cost, m, np.float32(1.0), kind, seen, k)
            near = cost[j]
        of[left[j]] = number
        seen[kind[j]] += 1
        m -= 1
        left[j] = left[m]
        cost[j] = cost[m]
        kind[j], kind[m] = kind[m], kind[j]
        for a in range(len(rest)):
            v = rest[a, j]
            rest[a, j], rest[a, m] = rest[a, m], v
            if count == 0:
                lo[a] = v
                hi[a] = v
            elif v < lo[a] or v > hi[a]:
                low, high = lo[a], hi[a]
                if v < low:
                    lo[a] = v
                if v > high:
                    hi[a] = v
                if count < kept:
                    reach(a, lo[a], hi[a], low, high, rest[a], m, cost, step, shape, table)
        if count == 0:
            reach_from(m, m, rest, cost, step, shape, table)
    for i in range(m, m + k):
        seen[kind[i]] = 0
    return near


def cluster_room(columns: int, most: int, kind: np.ndarray, places: int) -> tuple[np.ndarray, ...]:
    """Room to cluster up to `most` points: left, rest, kind, cost, seen, step."""
    return (
        np.empty(most, np.int64),
        np.empty((columns, most), np.int32),
        np.zeros(most, np.int64),
        np.empty(most, np.float32),
        np.zeros(int(kind.max(initial=0)) + 1, np.int64),
        np.empty(places, np.float32),
    )


@kernel
def cluster_blocks(
    points: np.ndarray,
    order: np.ndarray,
    bounds: np.ndarray,
    first: int,
    last: int,
    k: int,
    kinds: np.ndarray,
    cap: int,
    of: np.ndarray,
    left: np.ndarray,
    rest: np.ndarray,
    kind: np.ndarray,
    cost: np.ndarray,
    seen: np.ndarray,
    step: np.ndarray,
    box: np.ndarray,
    shape: np.ndarray,
    table: np.ndarray,
    stop: np.ndarray,
) -> Any:
    """`k_member` with room for a block."""
    clusters = np.int64(0)
    for b in range(first, last):
        s = bounds[b]
        m = bounds[b + 1] - s
        for i in range(m):
            point = order[s + i]
            left[i] = point
            of[point] = -1
            if len(kinds) > 0:
                kind[i] = kinds[point]
            for a in range(len(rest)):
                rest[a, i] = points[point, a]
        at = np.int64(0)
        while m >= k and not stop[0]:
            reach_from(at, m, rest, cost, step, shape, table)
            j = extreme(cost, m, np.float32(-1.0), kind, seen, k)
            cluster(j, k, m, k - 1, left, rest, kind, cost, seen, cap, box[0], box[1], step, clusters, of, shape, table)
            m -= k
            at = m
            clusters += 1
    return clusters


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
    k. No more than `cap` points of one kind where there is a choice.
    """
    columns, most = points.shape[1], int(np.diff(bounds[first : last + 1]).max(initial=1))
    room = cluster_room(columns, most, kind, max(int(shape[:, 0].max()), 1))
    box = np.empty((2, columns), np.int32)
    return int(
        stoppable(cluster_blocks, points, order, bounds, first, last, k, kind, cap, of, *room, box, shape, table)
    )


@kernel
def to_nearest(
    points: np.ndarray,
    loose: np.ndarray,
    window: np.ndarray,
    lo: np.ndarray,
    hi: np.ndarray,
    size: np.ndarray,
    cost: np.ndarray,
    found: np.ndarray,
    shape: np.ndarray,
    table: np.ndarray,
    stop: np.ndarray,
) -> None:
    """Give each loose point to the cluster that it costs least to join, among window[i, 0] to before window[i, 1].

    cost[c] is what the box of a cluster costs.
    """
    for i in range(len(loose)):
        if stop[0]:
            return
        least = np.float32(np.inf)
        best = window[i, 0]
        for c in range(window[i, 0], window[i, 1]):
            enough = (least + cost[c] * size[c]) / (size[c] + 1)
            grow = grown(lo, hi, c, points, loose[i], enough, shape, table)
            if grow < enough:
                least = grow * (size[c] + 1) - cost[c] * size[c]
                best = c
        found[i] = best
        cost[best] = grown(lo, hi, best, points, loose[i], np.inf, shape, table)
        size[best] += 1
        take_in(lo, hi, best, points, loose[i])


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
    stop: np.ndarray,
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
        cost[c] = joined(lo, hi, c, c, np.inf, shape, table)
    for at in range(n):
        b = order[at]
        if not failing[b] or spent[b]:
            continue
        if stop[0]:
            break
        least = np.float64(np.inf)
        best = -1
        for other in range(max(0, at - reach), min(n, at + reach + 1)):
            c = order[other]
            if c == b or spent[c]:
                continue
            both = size[b] + size[c]
            own = cost[b] * size[b] + cost[c] * size[c]
            enough = np.float64(np.float32((least + own) / both))
            grow = joined(lo, hi, b, c, enough, shape, table)
            if grow < enough or best < 0:
                least = grow * both - own
                best = c
        if best >= 0:
            into[b] = best
            spent[b] = True
            spent[best] = True
    return into
