"""Checking lattice nodes: class sizes, suppression and loss of many nodes over the same cells."""

from __future__ import annotations

import numpy as np

from sfumato.core.cells import EMPTY, SPREAD
from sfumato.core.compiled import kernel

FREE = np.uint64(2**64 - 1)
SCATTER = np.uint64(11400714819323198485)  # Fibonacci hashing


@kernel
def check_nodes(
    fused: np.ndarray,
    count: np.ndarray,
    maps: np.ndarray,
    map_at: np.ndarray,
    map_size: np.ndarray,
    least: int,
    limit: int,
    codes: np.ndarray,
    gaps: np.ndarray,
    gap_at: np.ndarray,
    members: np.ndarray,
    found: np.ndarray,
    extra: np.ndarray,
) -> None:
    """For each node b, group the cells by the labels maps[map_at[b, g] + fused[g, cell]] of the fused columns g.

    found[b] = suppressed rows (in classes smaller than least), classes, squares of sizes, kept classes, their squares.
    extra[b, m] = sum over suppressed cells of count * gaps[gap_at[b, m] + code of column a], m = members[a] >= 0, where
    0 < suppressed <= limit; a negative gap_at adds nothing.
    """
    nodes, groups = map_at.shape
    cells = len(count)
    dense_limit = max(65536, 4 * cells)
    capacity = np.int64(16)
    while capacity < 2 * cells:
        capacity *= 2
    domains = np.ones(nodes, np.int64)
    slots_needed = np.int64(1)
    for b in range(nodes):
        for g in range(groups):
            domains[b] *= map_size[b, g]
        slots_needed = max(slots_needed, domains[b] if domains[b] <= dense_limit else capacity)
    slot = np.empty(
        cells, np.uint64
    )  # unsigned, as all indices here: numba then leaves out the wrap-around of negatives
    size = np.empty(slots_needed, np.int64)
    keys = np.empty(0, np.uint64)
    for b in range(nodes):
        stride = np.uint64(1)
        for g in range(groups):
            at = np.uint64(map_at[b, g])
            if g == 0:
                for i in range(cells):
                    slot[i] = np.uint64(maps[at + np.uint64(fused[g, i])])
            else:
                for i in range(cells):
                    slot[i] += np.uint64(maps[at + np.uint64(fused[g, i])]) * stride
            stride *= np.uint64(map_size[b, g])
        if domains[b] <= dense_limit:
            slots = domains[b]
            size[:slots] = 0
            for i in range(cells):
                size[slot[i]] += count[i]
        else:
            slots = capacity
            mask = np.uint64(capacity - 1)
            if len(keys) == 0:
                keys = np.empty(capacity, np.uint64)
            keys[:] = FREE
            size[:slots] = 0
            for i in range(cells):
                key = slot[i]
                j = ((key * SCATTER) >> np.uint64(32)) & mask
                while keys[j] != FREE and keys[j] != key:
                    j = (j + np.uint64(1)) & mask
                keys[j] = key
                slot[i] = j
                size[j] += count[i]
        suppressed = 0
        classes = 0
        kept = 0
        squares = 0.0
        kept_squares = 0.0
        for j in range(slots):
            n = size[j]
            if n > 0:
                classes += 1
                squares += float(n) * n
                if n < least:
                    suppressed += n
                else:
                    kept += 1
                    kept_squares += float(n) * n
        found[b, 0] = suppressed
        found[b, 1] = classes
        found[b, 2] = squares
        found[b, 3] = kept
        found[b, 4] = kept_squares
        if 0 < suppressed <= limit:
            for i in range(cells):
                if size[slot[i]] < least:
                    for a in range(codes.shape[0]):
                        m = members[a]
                        if gap_at[b, m] >= 0:
                            extra[b, m] += count[i] * gaps[gap_at[b, m] + codes[a, i]]


@kernel
def label_map(values: np.ndarray, tables: np.ndarray, at: np.ndarray, size: np.ndarray, out: np.ndarray) -> int:
    """Number the distinct label tuples of fused values by first occurrence: out[v] for value v; returns how many.

    The label of column a is tables[at[a] + values[a, v]], of size[a] labels.
    """
    domain = np.int64(1)
    for a in range(len(at)):
        domain *= size[a]
    seen = np.full(domain, -1, np.int32)
    classes = 0
    for v in range(values.shape[1]):
        key = np.int64(0)
        for a in range(len(at)):
            key = key * size[a] + tables[at[a] + values[a, v]]
        if seen[key] < 0:
            seen[key] = classes
            classes += 1
        out[v] = seen[key]
    return classes


@kernel
def raise_boxes(floor: np.ndarray, stride: np.ndarray, lows: np.ndarray, highs: np.ndarray, values: np.ndarray) -> None:
    """For each b, raise floor to at least values[b] at every node between the corners lows[b] and highs[b]."""
    d = len(stride)
    at = np.empty(d, np.int64)
    for b in range(len(values)):
        if values[b] <= 0:
            continue
        low, high, value = lows[b], highs[b], values[b]
        place = np.int64(0)
        for a in range(d):
            at[a] = low[a]
            place += low[a] * stride[a]
        while True:
            for step in range(high[d - 1] - low[d - 1] + 1):
                if floor[place + step] < value:
                    floor[place + step] = value
            a = d - 2
            while a >= 0:
                if at[a] < high[a]:
                    at[a] += 1
                    place += stride[a]
                    break
                place -= (at[a] - low[a]) * stride[a]
                at[a] = low[a]
                a -= 1
            if a < 0:
                break


@kernel
def distance_vectors(
    codes: np.ndarray,
    count: np.ndarray,
    outliers: np.ndarray,
    ladders: np.ndarray,
    at: np.ndarray,
    values: np.ndarray,
    least: np.ndarray,
    greatest: np.ndarray,
    stride: np.ndarray,
    nodes: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """For each outlier the distance vectors to all cells, equal ones once, with the rows at that distance.

    The label of code c of column a at level l is ladders[at[a] + l * values[a] + c]. A distance below `least` counts as
    that; a cell farther than `greatest` in a column is left out. Returns where the vectors of an outlier begin, the
    number of each vector among the nodes of the lattice, and its rows.
    """
    columns, cells = codes.shape
    step = np.empty((columns, values.max()), np.int64)
    beyond = -np.int64(nodes)  # makes any sum negative
    listed_at = np.full(nodes, -1, np.int64)
    start = np.zeros(len(outliers) + 1, np.int64)
    number = np.empty(1024, np.int64)
    rows = np.empty(1024, np.int64)
    used = 0
    for o in range(len(outliers)):
        for a in range(columns):
            mine = codes[a, outliers[o]]
            for c in range(values[a]):
                level = least[a]
                while level <= greatest[a]:
                    row = at[a] + level * values[a]
                    if ladders[row + c] == ladders[row + mine]:
                        break
                    level += 1
                step[a, c] = (level - least[a]) * stride[a] if level <= greatest[a] else beyond
        for i in range(cells):
            place = np.int64(0)
            for a in range(columns):
                place += step[a, codes[a, i]]
            if place < 0:
                continue
            if listed_at[place] < start[o]:
                if used == len(number):
                    number = np.concatenate((number, np.empty_like(number)))
                    rows = np.concatenate((rows, np.empty_like(rows)))
                listed_at[place] = used
                number[used] = place
                rows[used] = 0
                used += 1
            rows[listed_at[place]] += count[i]
        start[o + 1] = used
    return start, number[:used].copy(), rows[:used].copy()


@kernel
def too_far(
    nodes: np.ndarray,
    start: np.ndarray,
    vectors: np.ndarray,
    rows: np.ndarray,
    own: np.ndarray,
    k: int,
    limit: int,
    suppressed: np.ndarray,
) -> None:
    """Per node, the rows of outliers that have fewer than k rows within it, counted until they exceed the limit."""
    columns = nodes.shape[1]
    for b in range(len(nodes)):
        total = 0
        for o in range(len(own)):
            reached = 0
            for e in range(start[o], start[o + 1]):
                within = True
                for a in range(columns):
                    if vectors[e, a] > nodes[b, a]:
                        within = False
                        break
                if within:
                    reached += rows[e]
                    if reached >= k:
                        break
            if reached < k:
                total += own[o]
                if total > limit:
                    break
        suppressed[b] = total


WIDEST_KEY = 2.0**62


@kernel
def frequencies(
    fused: np.ndarray,
    count: np.ndarray,
    maps: np.ndarray,
    at: np.ndarray,
    size: np.ndarray,
    slot: np.ndarray,
    keys: np.ndarray,
    ids: np.ndarray,
    sums: np.ndarray,
) -> int:
    """Group cells by the labels maps[at[g] + fused[g, cell]] of the fused columns g, of which there are size[g].

    slot[cell] is its class, sums[class] its rows, which must come as zeros; returns how many classes were numbered,
    some of them empty. Keys are exact: before a product of label counts leaves 62 bits, what there is is ranked.
    `slot`, `keys`, `ids` and `sums` are workspace.
    """
    groups, cells = fused.shape
    capacity = len(keys)
    domain = 1
    for g in range(groups + 1):
        # after the last column: rank only where a table over the keys would not fit
        wide = domain > len(sums) if g == groups else float(domain) * float(size[g]) >= WIDEST_KEY
        if wide:
            keys[:] = EMPTY
            classes = 0
            for i in range(cells):
                key = slot[i]
                j = ((key * SPREAD) >> 32) & (capacity - 1)
                while keys[j] != EMPTY and keys[j] != key:
                    j = (j + 1) & (capacity - 1)
                if keys[j] == EMPTY:
                    keys[j] = key
                    ids[j] = classes
                    classes += 1
                slot[i] = ids[j]
            domain = classes
        if g < groups:
            start = at[g]
            if g == 0:
                for i in range(cells):
                    slot[i] = maps[start + fused[g, i]]
            elif size[g] > 1:
                for i in range(cells):
                    slot[i] += maps[start + fused[g, i]] * domain
            domain *= size[g]
    for i in range(cells):
        sums[slot[i]] += count[i]
    return domain


@kernel
def tally(
    fused: np.ndarray, count: np.ndarray, maps: np.ndarray, at: np.ndarray, size: np.ndarray, sums: np.ndarray
) -> int:
    """The same in one pass without `slot`, for up to three fused columns that are not at their root and a key domain
    that fits `sums`; -1 where it does not."""
    groups = len(size)
    active = np.zeros(3, np.int64)
    used = 0
    domain = 1.0
    for g in range(groups):
        domain *= size[g]
        if size[g] > 1:
            if used == 3:
                return -1
            active[used] = g
            used += 1
    if domain > len(sums):
        return -1
    cells = len(count)
    a, b, c = active[0], active[1], active[2]
    u, v, w = fused[a], fused[b], fused[c]
    x, y, z = maps[at[a] :], maps[at[b] :], maps[at[c] :]
    if used == 3:
        m, n = size[a], size[a] * size[b]
        for i in range(cells):
            sums[np.uint64(x[np.uint32(u[i])] + m * y[np.uint32(v[i])] + n * z[np.uint32(w[i])])] += count[i]
    elif used == 2:
        m = size[a]
        for i in range(cells):
            sums[np.uint64(x[np.uint32(u[i])] + m * y[np.uint32(v[i])])] += count[i]
    else:
        for i in range(cells):
            sums[np.uint64(x[np.uint32(u[i])])] += count[i]
    return int(domain)


@kernel
def roll(
    fused: np.ndarray,
    count: np.ndarray,
    maps: np.ndarray,
    at: np.ndarray,
    size: np.ndarray,
    slot: np.ndarray,
    keys: np.ndarray,
    ids: np.ndarray,
    sums: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The frequency set of a node, each class as the fused codes of one of its cells, and its rows."""
    groups, cells = fused.shape
    domain = frequencies(fused, count, maps, at, size, slot, keys, ids, sums)
    classes = 0
    for j in range(domain):
        if sums[j] > 0:
            classes += 1
    codes = np.empty((groups, classes), np.int32)
    rows = np.empty(classes, np.int64)
    at_class = 0
    for i in range(cells):
        n = sums[slot[i]]
        if n > 0:
            for g in range(groups):
                codes[g, at_class] = fused[g, i]
            rows[at_class] = n
            at_class += 1
            sums[slot[i]] = 0
    return codes, rows


@kernel
def workspace(cells: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Room to group so many cells: `slot`, `keys`, `ids` and `sums`."""
    capacity = 16
    while capacity < 2 * cells:
        capacity *= 2
    keys, ids = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    return np.empty(cells, np.int64), keys, ids, np.zeros(max(4 * cells, 4096), np.int64)


@kernel
def frequency_set(
    fused: np.ndarray, count: np.ndarray, maps: np.ndarray, at: np.ndarray, size: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The frequency set of a node, with room of its own."""
    slot, keys, ids, sums = workspace(len(count))
    return roll(fused, count, maps, at, size, slot, keys, ids, sums)


@kernel
def sweep(
    fused: np.ndarray,
    count: np.ndarray,
    maps: np.ndarray,
    root_at: np.ndarray,
    root_size: np.ndarray,
    group_start: np.ndarray,
    group_at: np.ndarray,
    group_size: np.ndarray,
    number: np.ndarray,
    levels: np.ndarray,
    stride: np.ndarray,
    at: np.ndarray,
    size: np.ndarray,
    least: int,
    limit: int,
    good: np.ndarray,
) -> int:
    """Decide the candidate nodes of one set of columns; returns how many had to be counted.

    Candidates come specialisations first; candidate c is good[number[c]], its levels above the least are levels[c], its
    maps at[c], size[c]. It satisfies where a direct specialisation does, else where its frequency set has at most
    `limit` rows, and not all, in classes smaller than `least`. Candidates group_start[b]:group_start[b + 1] are counted
    from the frequency set of a node that all of them generalise (group_at, group_size), which is itself rolled up from
    that of the node root_at, root_size, which all candidates generalise.
    """
    slot, keys, ids, sums = workspace(len(count))
    rows = count.sum()
    base, base_count = roll(fused, count, maps, root_at, root_size, slot, keys, ids, sums)
    checks = 0
    for b in range(len(group_start) - 1):
        first, last = group_start[b], group_start[b + 1]
        here, here_count = base, base_count
        rolled = last - first < 3  # too few to pay for a frequency set of their own
        for c in range(first, last):
            known = False
            for a in range(len(stride)):
                if levels[c, a] > 0 and good[number[c] - stride[a]]:
                    known = True
                    break
            if known:
                good[number[c]] = True
                continue
            if not rolled:
                rolled = True
                here, here_count = roll(base, base_count, maps, group_at[b], group_size[b], slot, keys, ids, sums)
            width = min(len(sums), max(4 * len(here_count), 4096))
            used = tally(here, here_count, maps, at[c], size[c], sums[:width])
            if used < 0:
                used = frequencies(here, here_count, maps, at[c], size[c], slot, keys, ids, sums[:width])
            small = np.int64(0)
            for j in range(used):
                if sums[j] < least:
                    small += sums[j]
                sums[j] = 0
            checks += 1
            good[number[c]] = small <= limit and small < rows
    return checks
