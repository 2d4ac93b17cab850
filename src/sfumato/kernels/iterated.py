"""Iterated lattice recoding: find the next node that has classes worth releasing, and take them out of the rest."""

from __future__ import annotations

import numpy as np

from sfumato.kernels import kernel

FREE = np.uint64(2**64 - 1)
SCATTER = np.uint64(11400714819323198485)  # Fibonacci hashing
WIDEST = np.uint64(2**62)  # keys stay below


@kernel
def hash_slots(slot: np.ndarray, rest: int, keys: np.ndarray) -> int:
    """Replace the key of each of the first cells by its place in a hash table of the keys; how many places it has."""
    places = 16
    while places < 2 * rest:
        places *= 2
    mask = np.uint64(places - 1)
    keys[:places] = FREE
    for i in range(rest):
        key = slot[i]
        j = ((key * SCATTER) >> np.uint64(32)) & mask
        while keys[j] != FREE and keys[j] != key:
            j = (j + np.uint64(1)) & mask
        keys[j] = key
        slot[i] = j
    return places


@kernel
def group_rest(
    fused: np.ndarray,
    count: np.ndarray,
    rest: int,
    maps: np.ndarray,
    map_at: np.ndarray,
    map_size: np.ndarray,
    slot: np.ndarray,
    rows: np.ndarray,
    keys: np.ndarray,
) -> int:
    """Give each of the first `rest` cells the slot of its class at a node, and each slot its rows; how many slots."""
    domain = np.uint64(1)
    for g in range(len(map_at)):
        at, size = np.uint64(map_at[g]), np.uint64(map_size[g])
        if domain >= WIDEST // size:  # a wider key would wrap
            domain = np.uint64(hash_slots(slot, rest, keys))
        if g == 0:
            for i in range(rest):
                slot[i] = np.uint64(maps[at + np.uint64(fused[g, i])])
        else:
            for i in range(rest):
                slot[i] += np.uint64(maps[at + np.uint64(fused[g, i])]) * domain
        domain *= size
    slots = int(domain) if domain <= np.uint64(4 * rest) else hash_slots(slot, rest, keys)
    rows[:slots] = 0
    for i in range(rest):
        rows[slot[i]] += count[i]
    return slots


@kernel
def next_node(
    fused: np.ndarray,
    count: np.ndarray,
    cell: np.ndarray,
    rest: int,
    maps: np.ndarray,
    map_at: np.ndarray,
    map_size: np.ndarray,
    nodes: np.ndarray,
    codes: np.ndarray,
    cost: np.ndarray,
    cost_at: np.ndarray,
    least: int,
    need: int,
    step: float,
    pending: np.ndarray,
    most: np.ndarray,
    due: int,
    first: int,
    budget: int,
    slot: np.ndarray,
    rows: np.ndarray,
    keys: np.ndarray,
    number: np.ndarray,
    mark: np.ndarray,
) -> tuple[int, int, int, int]:
    """Look from node `first` on for a node that is due, with classes of at least `least` rows that together have at
    least `need` rows; mark[i] is then the number of the class of cell i of the rest, or -1.

    A class is due when its cost in steps, the sum over the columns of cost[cost_at[column, level] + code], is at most
    `due`. pending[b] is when node b is due next: as classes of the rest only shrink, it need not be looked at before.
    `step` 0: every class is due, and most[b], the rows of its large classes when last seen, says when b may be left
    out. Returns due, node, the number of classes (0: none found within the budget, or none at all: then the node is
    the number of nodes), and the nodes looked at.
    """
    columns, last, looked = codes.shape[0], len(nodes), 0
    never = np.iinfo(np.int64).max
    while True:
        following = never
        for b in range(first, last):
            if pending[b] > due:
                following = min(following, pending[b])
                continue
            if most[b] < need:
                continue
            if budget < 0:
                return due, b, 0, looked
            budget -= rest + 64
            looked += 1
            slots = group_rest(fused, count, rest, maps, map_at[b], map_size[b], slot, rows, keys)
            large = 0
            for j in range(slots):
                if rows[j] >= least:
                    large += rows[j]
            if step > 0:
                pending[b] = never
            most[b] = large
            if large < need or large == 0:
                continue
            number[:slots] = -1
            classes, wanted = 0, 0
            for i in range(rest):
                s = slot[i]
                mark[i] = -1
                if rows[s] < least:
                    continue
                if number[s] == -1:
                    when = 0
                    if step > 0:
                        c = 0.0
                        for a in range(columns):
                            c += cost[cost_at[a, nodes[b, a]] + codes[a, cell[i]]]
                        when = int(c / step)
                    if when <= due:
                        number[s] = classes
                        classes += 1
                        wanted += rows[s]
                    else:
                        number[s] = -2
                        pending[b] = min(pending[b], when)
                mark[i] = number[s] if number[s] >= 0 else -1
            following = min(following, pending[b])
            if classes > 0 and wanted >= need:
                return due, b, classes, looked
        whole = first == 0
        first = 0
        if following == never and whole:
            return due, last, 0, looked
        if not whole:  # nodes before the first were not looked at
            for b in range(last):
                if pending[b] > due:
                    following = min(following, pending[b])
        if following == never:
            return due, last, 0, looked
        due = following


@kernel
def release(
    fused: np.ndarray,
    count: np.ndarray,
    cell: np.ndarray,
    rest: int,
    mark: np.ndarray,
    name: np.ndarray,
    of_cell: np.ndarray,
) -> int:
    """Take the cells of class number c out of the rest and name their class name[c], unless that is negative; how many
    cells are left, which keep their order."""
    left = 0
    for i in range(rest):
        c = mark[i]
        if c >= 0 and name[c] >= 0:
            of_cell[cell[i]] = name[c]
            continue
        for g in range(fused.shape[0]):
            fused[g, left] = fused[g, i]
        count[left], cell[left] = count[i], cell[i]
        left += 1
    return left
