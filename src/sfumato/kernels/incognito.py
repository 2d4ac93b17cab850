"""Incognito's inner loop: which generalisations of one set of columns satisfy a bound on small classes."""

from __future__ import annotations

import numpy as np

from sfumato.kernels import kernel
from sfumato.kernels.group import EMPTY, SPREAD

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
