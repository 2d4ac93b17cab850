"""Groups of texts that have something in common: neighbours in an order, or codes with the same prefix."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from sfumato.core.hierarchy import Categories, Groups, by_label
from sfumato.core.label_grammar import LONGEST_LIST, set_text
from sfumato.hierarchies.words import codes_of, prefix_levels, word_order

LEVELS = 4  # between values and root, where there are values enough


def text_levels(categories: Categories, leaves: Sequence[str], groups: int, digits: str = "numbers") -> list[Groups]:
    """The levels of a column of texts, finest first; none where nothing tells what its values have in common.

    Texts in an order in which neighbours are alike make nested groups of about even frequency. Each names its values;
    a level with a group that would be too long for a cell is left out.
    """
    most = min(groups, (len(leaves) + 1) // 2)
    if (found := codes_of(leaves, categories.count, digits)) is not None:
        return [by_label(labels) for labels in prefix_levels(found, categories.count, most)]
    order = range(len(leaves)) if categories.sequence in ("words", "similar") else word_order(leaves, digits)
    if order is None:
        return []
    standing = np.array(order, np.int64)
    weight = np.concatenate([[0.0], np.cumsum(np.maximum(categories.count[standing], 1.0))])
    starts, levels = [0], list[Groups]()
    for goal in sorted({round(most ** (step / LEVELS)) for step in range(1, LEVELS + 1)}):
        starts = _split(starts, goal, weight)
        names = [set_text([leaves[i] for i in standing[a:b]], True) for a, b in pairwise([*starts, len(leaves)])]
        if max(map(len, names)) <= LONGEST_LIST:
            which = np.empty(len(leaves), np.int64)
            which[standing] = np.searchsorted(starts, np.arange(len(leaves)), side="right") - 1
            levels.append((which, names))
    return levels[::-1]


def _split(starts: list[int], goal: int, weight: np.ndarray) -> list[int]:
    """Where groups start, with more of them until there are `goal` of about even weight: the heaviest are split."""
    pieces = list(pairwise([*starts, len(weight) - 1]))
    shares = [1] * len(pieces)
    heap = [(-float(weight[b] - weight[a]), i) for i, (a, b) in enumerate(pieces) if b - a > 1]
    heapq.heapify(heap)
    for _ in range(goal - len(pieces)):
        if not heap:
            break
        _, i = heapq.heappop(heap)
        shares[i] += 1
        a, b = pieces[i]
        if shares[i] < b - a:
            heapq.heappush(heap, (-float(weight[b] - weight[a]) / shares[i], i))
    found = set(starts)
    for (a, b), share in zip(pieces, shares, strict=True):
        lowest = a + 1
        for part in range(1, share):
            goal_weight = float(weight[a] + (weight[b] - weight[a]) * part / share)
            near = int(np.searchsorted(weight, goal_weight))
            near -= near > 0 and goal_weight - weight[near - 1] < weight[near] - goal_weight
            near = min(max(near, lowest), b - share + part)  # every part has a value
            found.add(near)
            lowest = near + 1
    return sorted(found)
