"""Frequent itemsets by the sets of baskets that have them: M. J. Zaki, Scalable algorithms for association mining, IEEE
Transactions on Knowledge and Data Engineering 12(3), 2000 (Eclat).

An itemset is extended by the later items that its shorter siblings could be extended by; the baskets that have it are
bits, and two sets of baskets meet in one pass.
"""

from __future__ import annotations

import numpy as np

from sfumato.core.compiled import inner, kernel
from sfumato.core.progress import stoppable
from sfumato.core.wording import count
from sfumato.errors import TooManyCells
from sfumato.mining.values import Itemsets, Transactions

MOST_ITEMSETS = 1_000_000
WIDEST = 20  # items of an itemset, whose parts are looked at all together


def frequent_itemsets(
    data: Transactions, support: int, longest: int | None = None, most: int = MOST_ITEMSETS
) -> Itemsets:
    """The empty itemset, and all itemsets of up to `longest` items that at least `support` baskets have."""
    item = np.flatnonzero(data.support >= support)
    longest = min(len(item), WIDEST + 1 if longest is None else longest)
    parent, last, often = stoppable(_eclat, data.bits[item], data.support[item], data.height, support, longest, most)
    if len(parent) > most:
        what = f"more than {count(most, 'itemset')} are in {support} baskets"
        raise TooManyCells(what, hint="ask for a larger support, or for itemsets of fewer items (longest)")
    found = _arranged(parent.astype(np.int64), np.append(item, -1)[last], often)
    if found.sets.shape[1] > WIDEST:
        what = f"an itemset of more than {WIDEST} items is frequent"
        raise TooManyCells(what, hint="ask for a larger support, or for itemsets of fewer items (longest)")
    return found


def _arranged(parent: np.ndarray, last: np.ndarray, often: np.ndarray) -> Itemsets:
    """Itemsets in the order of a walk through their tree, by the one that each extends, and by what."""
    size = np.zeros(len(parent), np.int64)
    level = np.array([0])
    while len(level := np.flatnonzero(np.isin(parent, level))):
        size[level] = size[parent[level[0]]] + 1
    order = np.argsort(size, kind="stable")
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    above = np.where(parent[order] < 0, -1, rank[parent[order]])
    return linked(size[order], above, last[order], often[order])


def linked(size: np.ndarray, above: np.ndarray, last: np.ndarray, support: np.ndarray) -> Itemsets:
    """Itemsets by size and codes, each by the one without its last item, and that item."""
    longest = int(size.max())
    sets = np.full((len(size), longest), -1, np.int32)
    facet = np.zeros((len(size), longest), np.int32)
    span = int(last.max(initial=0)) + 1
    key = above * span + last  # ascending within a size
    start = np.searchsorted(size, np.arange(longest + 2))
    for many in range(1, longest + 1):
        rows, before = np.arange(start[many], start[many + 1]), slice(start[many - 1], start[many])
        sets[rows] = sets[above[rows]]
        sets[rows, many - 1] = last[rows]
        facet[rows, many - 1] = above[rows]
        for place in range(many - 1):
            wanted = facet[above[rows], place] * span + last[rows]
            facet[rows, place] = start[many - 1] + np.searchsorted(key[before], wanted)
    return Itemsets(sets, size, support, facet)


@inner
def _both(one: np.ndarray, other: np.ndarray, to: np.ndarray) -> int:
    """Which baskets are in both sets, and how many."""
    found = 0
    for word in range(len(one)):
        bits = one[word] & other[word]
        to[word] = bits
        bits -= bits >> np.uint64(1) & np.uint64(0x5555555555555555)
        bits = (bits & np.uint64(0x3333333333333333)) + (bits >> np.uint64(2) & np.uint64(0x3333333333333333))
        bits = bits + (bits >> np.uint64(4)) & np.uint64(0x0F0F0F0F0F0F0F0F)
        found += np.int64(bits * np.uint64(0x0101010101010101) >> np.uint64(56))  # type: ignore[assignment]
    return found


@kernel
def _eclat(
    bits: np.ndarray, often: np.ndarray, height: int, least: int, longest: int, most: int, stop: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The itemsets in the order of a walk: which one each extends, by which item, and how many baskets have it."""
    items, words = bits.shape
    parent, last, support = np.empty(1024, np.int64), np.empty(1024, np.int64), np.empty(1024, np.int64)
    parent[0], last[0], support[0], many = -1, -1, height, 1
    having = np.empty((longest + 1, max(items, 1), words), np.uint64)  # of each extension at each depth
    able = np.empty((longest + 1, items), np.int64)
    count = np.empty((longest + 1, items), np.int64)
    length, at, node = np.zeros(longest + 1, np.int64), np.zeros(longest + 1, np.int64), np.zeros(longest + 2, np.int64)
    for item in range(items):
        able[0, item], count[0, item] = item, often[item]
        having[0, item] = bits[item]
    length[0] = items if longest else 0
    depth = 0
    while depth >= 0 and not stop[0]:
        if at[depth] >= length[depth]:
            depth -= 1
            continue
        here = at[depth]
        at[depth] += 1
        if many == len(parent):
            parent, last = np.concatenate((parent, parent)), np.concatenate((last, last))
            support = np.concatenate((support, support))
        parent[many], last[many], support[many] = node[depth], able[depth, here], count[depth, here]
        many += 1
        if many > most:
            break
        if depth + 1 >= longest:
            continue
        node[depth + 1], new = many - 1, 0
        for other in range(here + 1, length[depth]):
            found = _both(having[depth, here], having[depth, other], having[depth + 1, new])
            if found >= least:
                able[depth + 1, new], count[depth + 1, new] = able[depth, other], found
                new += 1
        depth += 1
        length[depth], at[depth] = new, 0
    return parent[:many], last[:many], support[:many]
