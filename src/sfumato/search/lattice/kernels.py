"""Checking lattice nodes: class sizes, suppression and loss of many nodes over the same cells."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.compiled import inner, kernel
from sfumato.core.keys import FREE, SCATTER
from sfumato.core.printed import LARGEST_KEY

WIDEST = np.uint64(LARGEST_KEY)
TABLE = 1 << 16  # keys that are always counted in a table


def group_room(cells: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Room to group so many cells: `slot`, `rows` and `keys`; rows come as zeros."""
    places = 1 << max(4, (2 * cells - 1).bit_length())
    return np.empty(cells, np.uint64), np.zeros(max(TABLE, 4 * cells), np.int64), np.empty(places, np.uint64)


@inner
def hash_slots(slot: np.ndarray, cells: int, keys: np.ndarray) -> int:
    """Replace the key of each of the first cells by its place in a hash table of the keys; how many places it has."""
    places = 16
    while places < 2 * cells:
        places *= 2
    mask = np.uint64(places - 1)
    keys[:places] = FREE
    for i in range(cells):
        key = slot[i]
        j = ((key * SCATTER) >> np.uint64(32)) & mask
        while keys[j] != FREE and keys[j] != key:
            j = (j + np.uint64(1)) & mask
        keys[j] = key
        slot[i] = j
    return places


@kernel
def group_cells(
    fused: np.ndarray,
    count: np.ndarray,
    cells: int,
    maps: np.ndarray,
    map_at: np.ndarray,
    map_size: np.ndarray,
    slot: np.ndarray,
    rows: np.ndarray,
    keys: np.ndarray,
) -> Any:
    """Give each of the first cells the slot of its class at a node, and each slot its rows; how many slots.

    The label of a cell in the fused column g is maps[map_at[g] + fused[g, cell]], of map_size[g] labels. Keys are
    exact: before they leave 62 bits, what there is is hashed, as it is in the end where `rows` has too little room for
    a table of all keys. All indices are unsigned: numba then leaves out the wrap-around of negatives.
    """
    domain = np.uint64(1)
    begun = False
    for g in range(len(map_at)):
        at, size = np.uint64(map_at[g]), np.uint64(map_size[g])
        if size == 1:
            continue
        if domain >= WIDEST // size:
            domain = np.uint64(hash_slots(slot, cells, keys))
        if not begun:
            begun = True
            for i in range(cells):
                slot[i] = np.uint64(maps[at + np.uint64(fused[g, i])])
        else:
            for i in range(cells):
                slot[i] += np.uint64(maps[at + np.uint64(fused[g, i])]) * domain
        domain *= size
    if not begun:
        slot[:cells] = 0
    slots = np.int64(domain) if domain <= np.uint64(len(rows)) else hash_slots(slot, cells, keys)
    rows[:slots] = 0
    for i in range(cells):
        rows[slot[i]] += count[i]
    return slots


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
    slot: np.ndarray,
    rows: np.ndarray,
    keys: np.ndarray,
    found: np.ndarray,
    extra: np.ndarray,
) -> None:
    """For each node b, group the cells by the maps map_at[b] of the fused columns.

    found[b] = suppressed rows (in classes smaller than least), classes, squares of sizes, kept classes, their squares.
    extra[b, m] = sum over suppressed cells of count * gaps[gap_at[b, m] + code of column a], m = members[a] >= 0, where
    0 < suppressed <= limit; a negative gap_at adds nothing.
    """
    for b in range(len(map_at)):
        slots = group_cells(fused, count, len(count), maps, map_at[b], map_size[b], slot, rows, keys)
        suppressed = 0
        for j in range(slots):
            n = rows[j]
            if n > 0:
                square = np.float64(n) * n
                found[b, 1] += 1
                found[b, 2] += square
                if n < least:
                    suppressed += n
                else:
                    found[b, 3] += 1
                    found[b, 4] += square
        found[b, 0] = suppressed
        if 0 < suppressed <= limit:
            for i in range(len(count)):
                if rows[slot[i]] < least:
                    for a in range(len(codes)):
                        m = members[a]
                        if gap_at[b, m] >= 0:
                            extra[b, m] += count[i] * gaps[gap_at[b, m] + codes[a, i]]


@kernel
def number_classes(
    fused: np.ndarray,
    count: np.ndarray,
    maps: np.ndarray,
    map_at: np.ndarray,
    map_size: np.ndarray,
    least: int,
    limit: int,
    slot: np.ndarray,
    rows: np.ndarray,
    keys: np.ndarray,
    found: np.ndarray,
    classes: np.ndarray,
    of: np.ndarray,
) -> None:
    """For each node b, group the cells by the maps map_at[b] of the fused columns, and number the classes of at least
    `least` rows where others have at most `limit`; else classes[b] stays 0.

    found[b] = rows in smaller classes, classes, squares of sizes. of[b, i] is the number of the class of cell i, -1 for
    a smaller one.
    """
    for b in range(len(map_at)):
        slots = group_cells(fused, count, len(count), maps, map_at[b], map_size[b], slot, rows, keys)
        suppressed, large = 0, 0
        for j in range(slots):
            n = rows[j]
            if n > 0:
                found[b, 1] += 1
                found[b, 2] += np.float64(n) * n
                if n < least:
                    suppressed += n
                    rows[j] = -1
                else:
                    rows[j] = large
                    large += 1
        found[b, 0] = suppressed
        if suppressed <= limit:
            classes[b] = large
            for i in range(len(count)):
                of[b, i] = rows[slot[i]]


@kernel
def merge_classes(
    classes: np.ndarray,
    of: np.ndarray,
    count: np.ndarray,
    start: np.ndarray,
    value: np.ndarray,
    times: np.ndarray,
    values: int,
    table: np.ndarray,
    size: np.ndarray,
    width: np.ndarray,
    run_value: np.ndarray,
    run_count: np.ndarray,
) -> int:
    """Sizes and runs of (value, count) of classes that `number_classes` numbered, from those of cells: the run of cell
    i is start[i]:start[i + 1]. One node after the other; returns how many entries all runs have.

    `table` is room for the values of all classes of a node, of zeros, as `size` is; there is room for an entry more.
    """
    first = used = 0
    wide = np.uint64(values)
    for b in range(len(classes)):
        large = classes[b]
        if large == 0:
            continue
        for i in range(len(count)):
            c = of[b, i]
            if c >= 0:
                size[first + c] += count[i]
                at = np.uint64(c) * wide
                for e in range(np.uint64(start[i]), np.uint64(start[i + 1])):
                    table[at + np.uint64(value[e])] += times[e]
        for c in range(large):
            before, run = used, c * values
            for v in range(values):  # without a branch, which would be guessed wrong too often
                n = table[run + v]
                run_value[used], run_count[used] = v, n
                used += n > 0
                table[run + v] = 0
            width[first + c] = used - before
        first += large
    return used


@kernel
def number_labels(
    codes: np.ndarray, labels: np.ndarray, at: np.ndarray, size: np.ndarray, seen: np.ndarray, numbers: np.ndarray
) -> int:
    """Number the tuples of labels as they come: of column a labels[at[a] + c] for code c, of size[a]; how many there
    are. `seen` has room for all that there may be."""
    domain = 1
    for a in range(len(at)):
        domain *= size[a]
    seen[:domain] = -1
    found = 0
    for i in range(codes.shape[1]):
        key = 0
        for a in range(len(at)):
            key = key * size[a] + labels[at[a] + codes[a, i]]
        if seen[key] < 0:
            seen[key] = found
            found += 1
        numbers[i] = seen[key]
    return found


@kernel
def drop_small_classes(
    of: np.ndarray, count: np.ndarray, size: np.ndarray, least: np.ndarray, gone: np.ndarray
) -> None:
    """Mark cells as gone until every class with a cell that stays has at least `least[s]` rows.

    of[s, i] is the class of cell i in grouping s, `size` the rows of the classes of all groupings, which shrink. What
    is left in the end does not depend on the order: a class that is too small stays so when others shrink.
    """
    changed = True
    while changed:
        changed = False
        for i in range(of.shape[1]):
            if gone[i]:
                continue
            for s in range(len(of)):
                if size[of[s, i]] < least[s]:
                    gone[i] = True
                    break
            if gone[i]:
                for s in range(len(of)):
                    size[of[s, i]] -= count[i]
                changed = True


@kernel
def raise_boxes(
    floor: np.ndarray, stride: np.ndarray, lows: np.ndarray, highs: np.ndarray, values: np.ndarray, at: np.ndarray
) -> None:
    """For each b, raise floor to at least values[b] at every node between the corners lows[b] and highs[b].

    `at` is room for a node.
    """
    d = len(stride)
    for b in range(len(values)):
        if values[b] <= 0:
            continue
        place = np.int64(0)
        for a in range(d):
            at[a] = lows[b, a]
            place += at[a] * stride[a]
        while True:
            for step in range(place, place + highs[b, d - 1] - lows[b, d - 1] + 1):
                if floor[step] < values[b]:
                    floor[step] = values[b]
            a = d - 2
            while a >= 0:
                if at[a] < highs[b, a]:
                    at[a] += 1
                    place += stride[a]
                    break
                place -= (at[a] - lows[b, a]) * stride[a]
                at[a] = lows[b, a]
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


@kernel
def tally(
    fused: np.ndarray, count: np.ndarray, maps: np.ndarray, at: np.ndarray, size: np.ndarray, sums: np.ndarray
) -> int:
    """The rows of each key in one pass without `slot`, for up to three fused columns that are not at their root and a
    key domain that fits `sums`, which come as zeros; -1 where it does not."""
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
    sums: np.ndarray,
    keys: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """The frequency set of a node, each class as the fused codes of one of its cells, and its rows."""
    groups, cells = fused.shape
    slots = group_cells(fused, count, cells, maps, at, size, slot, sums, keys)
    classes = 0
    for j in range(slots):
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
    slot: np.ndarray,
    sums: np.ndarray,
    keys: np.ndarray,
) -> int:
    """Decide the candidate nodes of one set of columns; returns how many had to be counted.

    Candidates come specialisations first; candidate c is good[number[c]], its levels above the least are levels[c], its
    maps at[c], size[c]. It satisfies where a direct specialisation does, else where its frequency set has at most
    `limit` rows, and not all, in classes smaller than `least`. Candidates group_start[b]:group_start[b + 1] are counted
    from the frequency set of a node that all of them generalise (group_at, group_size), which is itself rolled up from
    that of the node root_at, root_size, which all candidates generalise.
    """
    rows = count.sum()
    base, base_count = roll(fused, count, maps, root_at, root_size, slot, sums, keys)
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
                here, here_count = roll(base, base_count, maps, group_at[b], group_size[b], slot, sums, keys)
            width = min(len(sums), max(4 * len(here_count), 4096))
            used = tally(here, here_count, maps, at[c], size[c], sums[:width])
            if used < 0:
                used = group_cells(here, here_count, len(here_count), maps, at[c], size[c], slot, sums[:width], keys)
            small = np.int64(0)
            for j in range(used):
                if sums[j] < least:
                    small += sums[j]
                sums[j] = 0
            checks += 1
            good[number[c]] = small <= limit and small < rows
    return checks
