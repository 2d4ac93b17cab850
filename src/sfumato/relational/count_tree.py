"""Count tree: the supports of all sets of i items, with the groups above them, as in M. Terrovitis, N. Mamoulis and
P. Kalnis, Privacy-preserving anonymization of set-valued data, PVLDB 1(1), 2008, section 4.2.

A path from the root of the tree is a set of nodes of the item hierarchy, the most frequent first. A node of the count
tree is known by the one above it and its item, which stand in a hash table: so keys are exact, whatever i is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.core.compiled import inner, kernel
from sfumato.core.progress import stoppable
from sfumato.core.wording import count
from sfumato.errors import TooManyCells
from sfumato.relational.values import Baskets, ItemTree

FIRST = 1 << 16  # slots of the table, which doubles
MIX = np.uint64(0x9E3779B97F4A7C15)
DONE, FULL, WIDE = range(3)


@dataclass(frozen=True, eq=False)
class CountTree:
    """The sets of `size` nodes that occur together in some basket, none of which lies above another, in the order of
    the tree; a node is known by its rank among all, the most frequent first."""

    sets: np.ndarray  # int32 [size, sets]: ranks, each column ascending
    support: np.ndarray  # int64
    node: np.ndarray  # the node of each rank
    rank: np.ndarray  # the rank of each node

    def support_of(self, nodes: list[int]) -> int:
        """How many baskets have all of some nodes."""
        wanted = np.sort(self.rank[nodes])
        low, high = 0, len(self.support)
        for place, rank in enumerate(wanted.tolist()):
            column = self.sets[place, low:high]
            low, high = (
                low + int(np.searchsorted(column, rank)),
                low + int(np.searchsorted(column, rank, side="right")),
            )
        return int(self.support[low]) if low < high else 0


def count_tree(
    baskets: Baskets, tree: ItemTree, node_of_item: np.ndarray, size: int, most: int, above: bool = True
) -> CountTree:
    """Count the sets of `size` nodes in the baskets, each extended by what stands for its items and all groups above.

    Without `above` only what stands for the items is counted. At most so many sets are held.
    """
    support = _supports(baskets, tree, node_of_item)
    node = np.lexsort((np.arange(tree.size), -support))  # a group comes before what is in it: preorder settles ties
    rank = np.empty(tree.size, np.int64)
    rank[node] = np.arange(tree.size)
    parent = np.where(tree.parent < 0, -1, rank[tree.parent])[node].astype(np.int64)
    start, ranks = stoppable(_extend, baskets.start, rank[node_of_item][baskets.item], parent, above)
    slots = FIRST
    while True:
        found = stoppable(_count, start, ranks, parent, size, slots, most)
        if found[0] == DONE:
            break
        if found[0] == WIDE:
            what = f"the baskets have more than {count(most, 'set')} of up to {count(size, 'item')}"
            raise TooManyCells(what, hint="let attackers know fewer items, leave rare items out, or give max_sets")
        slots *= 2
    sets, often = found[1], found[2]
    order = np.lexsort(sets[::-1])
    return CountTree(np.ascontiguousarray(sets[:, order]), often[order], node, rank)


def _supports(baskets: Baskets, tree: ItemTree, node_of_item: np.ndarray) -> np.ndarray:
    """How many baskets have each node, or something below it."""
    item, parent = node_of_item[baskets.item].astype(np.int64), tree.parent.astype(np.int64)
    _, nodes = stoppable(_extend, baskets.start, item, parent, True)
    return np.bincount(nodes, minlength=tree.size)


@kernel
def _extend(start: np.ndarray, node: np.ndarray, parent: np.ndarray, above: bool, stop: np.ndarray) -> Any:
    """The different nodes of each basket, sorted, with all above them."""
    seen = np.full(len(parent), -1, np.int64)
    ends = np.zeros(len(start), np.int64)
    for turn in range(2):  # how many, then which
        found = np.empty(ends[-1] if turn else 0, np.int64)
        seen[:] = -1
        at = 0
        for basket in range(len(start) - 1):
            if stop[0]:
                break
            low = at
            for i in range(start[basket], start[basket + 1]):
                v = node[i]
                while v >= 0 and seen[v] != basket:
                    seen[v] = basket
                    if turn:
                        found[at] = v
                    at += 1
                    if not above:
                        break
                    v = parent[v]
            if turn:
                found[low:at].sort()
            ends[basket + 1] = at
    return ends, found


@inner
def _place(key_above: np.ndarray, key_item: np.ndarray, above: int, item: int) -> int:
    """The slot of a node of the count tree, or the free one where it belongs."""
    mask = np.uint64(len(key_above) - 1)
    mixed = (np.uint64(above) * np.uint64(0x100000001B3) + np.uint64(item)) * MIX
    place = (mixed ^ (mixed >> np.uint64(29))) & mask
    while key_item[place] >= 0 and (key_item[place] != item or key_above[place] != above):
        place = (place + np.uint64(1)) & mask
    return int(place)


@kernel
def _count(
    start: np.ndarray, ranks: np.ndarray, parent: np.ndarray, size: int, slots: int, most: int, stop: np.ndarray
) -> Any:
    """The sets of `size` nodes of the baskets, none above another, and their supports; FULL where the table is,
    WIDE where it has as many nodes as it may."""
    key_above = np.empty(slots, np.int64)
    key_item = np.full(slots, -1, np.int32)
    often = np.zeros(slots, np.int64)
    used, ends = 0, 0
    path = np.empty(size, np.int64)  # places in the basket
    under = np.empty(size + 1, np.int64)  # slots of the count tree
    none = np.empty((size, 0), np.int32)
    for basket in range(len(start) - 1):
        if stop[0]:
            break
        low, high = start[basket], start[basket + 1]
        depth, path[0], under[0] = 0, low, slots  # the root is no slot
        while depth >= 0:
            if path[depth] >= high:
                depth -= 1
                if depth >= 0:
                    path[depth] += 1
                continue
            item = ranks[path[depth]]
            v = parent[item]  # an ancestor has a smaller rank
            apart = True
            while v >= 0 and apart:
                for i in range(depth):
                    if ranks[path[i]] == v:
                        apart = False
                v = parent[v]
            if not apart:
                path[depth] += 1
                continue
            place = _place(key_above, key_item, under[depth], item)
            if key_item[place] < 0:
                if used >= most or 8 * used > 7 * slots:
                    return WIDE if used >= most else FULL, none, often[:0]
                key_above[place], key_item[place] = under[depth], item
                used += 1
                ends += depth == size - 1
            if depth == size - 1:
                often[place] += 1
                path[depth] += 1
            else:
                under[depth + 1] = place
                path[depth + 1] = path[depth] + 1
                depth += 1
    sets = np.empty((size, ends), np.int32)
    support = np.empty(ends, np.int64)
    at = 0
    for place in range(slots):
        if often[place] > 0:
            support[at] = often[place]
            p = place
            for depth in range(size - 1, -1, -1):
                sets[depth, at] = key_item[p]
                p = key_above[p]
            at += 1
    return DONE, sets, support


@kernel
def next_rare(sets: np.ndarray, support: np.ndarray, k: int, dead: np.ndarray, since: int) -> int:
    """The first set from a place on that fewer than k baskets have and in which no node is dead; -1 where none is."""
    for at in range(since, len(support)):
        if support[at] < k:
            alive = True
            for i in range(len(sets)):
                if dead[sets[i, at]]:
                    alive = False
                    break
            if alive:
                return at
    return -1
