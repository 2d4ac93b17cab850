"""Reclustering: neighbouring clusters are taken apart and their points clustered anew, where that costs less."""

from __future__ import annotations

import numpy as np

from sfumato.core.compiled import kernel
from sfumato.search.clustering.kernels import drawn, grown, seeded, side, take_in


@kernel
def neighbourhoods(
    lo: np.ndarray,
    hi: np.ndarray,
    size: np.ndarray,
    order: np.ndarray,
    bounds: np.ndarray,
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
    state = seeded(seed, block)
    members = order[bounds[block] : bounds[block + 1]]
    m = len(members)
    visit = np.arange(m)
    for i in range(m - 1, 0, -1):
        state, chance = drawn(state)
        j = int(chance * (i + 1))
        visit[i], visit[j] = visit[j], visit[i]
    free = members[size[members] <= most]
    left = len(free)
    found = np.empty(near, np.int64)
    cost = np.empty(near, np.float32)
    pools = 0
    for v in range(m):
        c = members[visit[v]]
        if pool[c] >= 0 or size[c] > most:
            continue
        have = 0
        for i in range(left):
            e = free[i]
            if e == c:
                continue
            enough = cost[near - 1] if have == near else np.float32(np.inf)
            if noise > 0.0:
                state, chance = drawn(state)
                spread = np.float32(1.0 + noise * chance)
            else:
                spread = np.float32(1.0)
            grow = np.float32(0.0)
            for a in range(lo.shape[1]):  # the hot loop: a call of `joined` would double its time
                grow += side(a, min(lo[c, a], lo[e, a]), max(hi[c, a], hi[e, a]), shape, table)
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


@kernel
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
    d = points.shape[1]
    largest = 0
    for p in range(len(starts) - 1):
        largest = max(largest, starts[p + 1] - starts[p])
    left = np.empty(largest, np.int64)
    rest = np.empty((d, largest), np.int32)
    reach = np.empty(largest, np.float32)
    trial = np.empty(largest, np.int64)
    most = max(largest // k, 1)
    lo = np.empty((most, d), np.int32)
    hi = np.empty((most, d), np.int32)
    size = np.empty(most, np.int64)
    cost = np.empty(most, np.float64)
    seen = np.zeros(kind.max() + 1 if len(kind) > 0 else 1, np.int64)
    for p in range(len(starts) - 1):
        s, e = starts[p], starts[p + 1]
        if e - s < 2 * k:
            continue
        state, _ = drawn(seeded(seed, p))
        best = old[p] * (1.0 - 1e-6)
        for attempt in range(tries):
            m = e - s
            for i in range(m):
                left[i] = i
                for a in range(d):
                    rest[a, i] = points[order[s + i], a]
            state, chance = drawn(state)
            j = int(chance * m)
            groups = 0
            total = 0.0
            while m >= k and total < best:
                if groups > 0 and attempt % 2 == 0:
                    j = int(np.argmax(reach[:m]))  # farthest from the last cluster
                elif groups > 0:
                    state, chance = drawn(state)
                    j = int(chance * m)
                near = np.float32(0.0)
                for count in range(k):
                    if count > 0:
                        near = np.float32(np.inf)
                        j = -1
                        for i in range(m):
                            if reach[i] < near and (cap >= k or seen[kind[order[s + left[i]]]] < cap):
                                near = reach[i]
                                j = i
                        if j < 0:
                            j = int(np.argmin(reach[:m]))
                            near = reach[j]
                    trial[left[j]] = groups
                    if cap < k:
                        seen[kind[order[s + left[j]]]] += 1
                    m -= 1
                    left[j], left[m] = left[m], left[j]
                    reach[j] = reach[m]
                    for a in range(d):
                        v = rest[a, j]
                        rest[a, j], rest[a, m] = rest[a, m], v
                        if count == 0:
                            lo[groups, a] = v
                            hi[groups, a] = v
                        elif v < lo[groups, a] or v > hi[groups, a]:
                            low, high = lo[groups, a], hi[groups, a]
                            lo[groups, a] = min(low, v)
                            hi[groups, a] = max(high, v)
                            for i in range(m):
                                w = rest[a, i]
                                reach[i] -= side(a, min(low, w), max(high, w), shape, table)
                                reach[i] += side(a, min(lo[groups, a], w), max(hi[groups, a], w), shape, table)
                    if count == 0:
                        for i in range(m):
                            reach[i] = 0.0
                        for a in range(d):
                            v = lo[groups, a]
                            for i in range(m):
                                reach[i] += side(a, min(v, rest[a, i]), max(v, rest[a, i]), shape, table)
                seen[:] = 0
                size[groups] = k
                cost[groups] = near
                total += float(near) * k
                groups += 1
            if total >= best:
                continue
            for i in range(m):
                least = np.float64(np.inf)
                g = 0
                became = 0.0
                point = order[s + left[i]]
                for c in range(groups):
                    grow = grown(lo, hi, c, points, point, np.float32(np.inf), shape, table)
                    more = grow * (size[c] + 1) - cost[c] * size[c]
                    if more < least:
                        least = more
                        g = c
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
