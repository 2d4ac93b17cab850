"""Reclustering: neighbouring clusters are taken apart and their points clustered anew, where that costs less."""

from __future__ import annotations

import numpy as np

from sfumato.core.compiled import kernel
from sfumato.search.clustering.kernels import cluster_room, drawn, extreme, grown, seeded, side, take_in


def neighbourhoods(
    lo: np.ndarray,
    hi: np.ndarray,
    size: np.ndarray,
    members: np.ndarray,
    block: int,
    near: int,
    most: int,
    noise: float,
    seed: int,
    pool: np.ndarray,
    shape: np.ndarray,
    table: np.ndarray,
) -> int:
    """Put the clusters of one block into pools: a cluster and the `near` nearest ones that are in no pool yet.

    pool[cluster] is the pool's number, from 0, or -1; clusters of more than `most` points stay out. Gives the number of
    pools.
    """
    visit, free = members.copy(), members[size[members] <= most]
    room = np.empty(near, np.int64), np.empty(near, np.float32)
    return int(fill_pools(lo, hi, size, visit, free, block, most, noise, seed, pool, *room, shape, table))


@kernel
def fill_pools(
    lo: np.ndarray,
    hi: np.ndarray,
    size: np.ndarray,
    visit: np.ndarray,
    free: np.ndarray,
    block: int,
    most: int,
    noise: float,
    seed: int,
    pool: np.ndarray,
    found: np.ndarray,
    cost: np.ndarray,
    shape: np.ndarray,
    table: np.ndarray,
) -> int:
    """`neighbourhoods` of the clusters to visit, in random order, among those that are free."""
    state = seeded(seed, block)
    for i in range(len(visit) - 1, 0, -1):
        state, chance = drawn(state)
        other = np.int64(chance * (i + 1))
        visit[i], visit[other] = visit[other], visit[i]
    left, near = len(free), len(found)
    pools = 0
    for v in range(len(visit)):
        c = visit[v]
        if pool[c] >= 0 or size[c] > most:
            continue
        have = 0
        for i in range(left):
            e = free[i]
            if e == c:
                continue
            enough = cost[near - 1] if have == near else np.float32(np.inf)
            spread = np.float32(1.0)
            if noise > 0.0:
                state, chance = drawn(state)
                spread = np.float32(1.0 + noise * chance)
            grow = np.float32(0.0)
            for a in range(lo.shape[1]):  # the hot loop: a call of `joined` would double its time
                grow += side(a, lo[c, a], hi[c, a], lo[e, a], hi[e, a], shape, table)
                if grow * spread >= enough:
                    break
            grow *= spread
            if grow < enough:
                j = have if have < near else near - 1
                while j > 0 and cost[j - 1] > grow:
                    cost[j] = cost[j - 1]
                    found[j] = found[j - 1]
                    j -= 1
                cost[j] = grow
                found[j] = i
                if have < near:
                    have += 1
        if have == 0:
            continue
        pool[c] = pools
        for j in range(have):
            pool[free[found[j]]] = pools
        pools += 1
        i = 0
        while i < left:
            if pool[free[i]] >= 0:
                left -= 1
                free[i] = free[left]
            else:
                i += 1
    return pools


def recluster(
    points: np.ndarray,
    order: np.ndarray,
    starts: np.ndarray,
    old: np.ndarray,
    k: int,
    tries: int,
    seed: int,
    kind: np.ndarray,
    cap: int,
    of: np.ndarray,
    gain: np.ndarray,
    shape: np.ndarray,
    table: np.ndarray,
) -> None:
    """Cluster the points order[starts[p]:starts[p + 1]] of each pool anew, `tries` times from a random point.

    The next cluster starts at the point farthest from the last, in every other try at a random one.

    of[i] is set to the cluster of point order[i] within its pool where that costs less than `old[p]`, and gain[p] to
    what it saves. Otherwise they stay.
    """
    columns, largest = points.shape[1], int(np.diff(starts).max(initial=1))
    most = max(largest // k, 1)
    lo, hi = np.empty((most, columns), np.int32), np.empty((most, columns), np.int32)
    room = np.empty(most, np.int64), np.empty(most, np.float64), np.empty(largest, np.int64)
    rules = k, tries, seed, kind, cap
    some = cluster_room(columns, largest, kind, 0)[:-1]
    recluster_pools(points, order, starts, old, *rules, of, gain, *some, lo, hi, *room, shape, table)


@kernel
def recluster_pools(
    points: np.ndarray,
    order: np.ndarray,
    starts: np.ndarray,
    old: np.ndarray,
    k: int,
    tries: int,
    seed: int,
    kinds: np.ndarray,
    cap: int,
    of: np.ndarray,
    gain: np.ndarray,
    left: np.ndarray,
    rest: np.ndarray,
    kind: np.ndarray,
    reach: np.ndarray,
    seen: np.ndarray,
    lo: np.ndarray,
    hi: np.ndarray,
    size: np.ndarray,
    cost: np.ndarray,
    trial: np.ndarray,
    shape: np.ndarray,
    table: np.ndarray,
) -> None:
    """`recluster` with room for a pool."""
    for p in range(len(starts) - 1):
        s, e = starts[p], starts[p + 1]
        if e - s < 2 * k:
            continue
        state, _ = drawn(seeded(seed, p))
        best = old[p] * (1.0 - 1e-6)
        for attempt in range(tries):
            m = e - s
            for i in range(m):
                point = order[s + i]
                left[i] = i
                if len(kinds) > 0:
                    kind[i] = kinds[point]
                for a in range(len(rest)):
                    rest[a, i] = points[point, a]
            groups = np.int64(0)
            total = 0.0
            while m >= k and total < best:
                if groups > 0 and attempt % 2 == 0:
                    j = extreme(reach, m, np.float32(-1.0), kind, seen, k)  # farthest from the last cluster
                else:
                    state, chance = drawn(state)
                    j = np.int64(chance * m)
                near = np.float32(0.0)
                for count in range(k):  # as `cluster` does: a call of it would take half as long again
                    if count > 0:
                        near = np.float32(np.inf)
                        j = -1
                        for i in range(m):
                            if reach[i] < near and seen[kind[i]] < cap:
                                near = reach[i]
                                j = i
                        if j < 0:
                            j = extreme(reach, m, np.float32(1.0), kind, seen, k)
                            near = reach[j]
                    trial[left[j]] = groups
                    seen[kind[j]] += 1
                    m -= 1
                    left[j] = left[m]
                    reach[j] = reach[m]
                    kind[j], kind[m] = kind[m], kind[j]
                    for a in range(len(rest)):
                        v = rest[a, j]
                        rest[a, j] = rest[a, m]
                        if count == 0:
                            lo[groups, a] = v
                            hi[groups, a] = v
                        elif v < lo[groups, a] or v > hi[groups, a]:
                            low, high = lo[groups, a], hi[groups, a]
                            lo[groups, a] = min(low, v)
                            hi[groups, a] = max(high, v)
                            for i in range(m):
                                w = rest[a, i]
                                reach[i] -= side(a, low, high, w, w, shape, table)
                                reach[i] += side(a, lo[groups, a], hi[groups, a], w, w, shape, table)
                    if count == 0:
                        for i in range(m):
                            reach[i] = 0.0
                        for a in range(len(rest)):
                            v = lo[groups, a]
                            for i in range(m):
                                reach[i] += side(a, v, v, rest[a, i], rest[a, i], shape, table)
                for i in range(m, m + k):
                    seen[kind[i]] = 0
                size[groups] = k
                cost[groups] = near
                total += np.float64(near) * k
                groups += 1
            if total >= best:
                continue
            for i in range(m):
                least = np.inf
                g = np.int64(0)
                became = 0.0
                point = order[s + left[i]]
                for c in range(groups):
                    grow = grown(lo, hi, c, points, point, np.inf, shape, table)
                    more = grow * (size[c] + 1) - cost[c] * size[c]
                    if more < least:
                        least = more
                        g = np.int64(c)
                        became = grow
                trial[left[i]] = g
                total += least
                size[g] += 1
                cost[g] = became
                take_in(lo, hi, g, points, point)
            if total < best:
                best = total
                gain[p] = old[p] - total
                for i in range(e - s):
                    of[s + i] = trial[i]
