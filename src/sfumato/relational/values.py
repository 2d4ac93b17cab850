"""Values of the room: baskets as codes, the tree over their items, a cut through it, and what a search finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from sfumato.core.hierarchy import Hierarchy
from sfumato.core.progress import Progress, quiet


@dataclass(frozen=True, eq=False)
class Baskets:
    """Sets of items: basket i has the items `item[start[i]:start[i + 1]]`, in order and none twice.

    >>> Baskets(np.array([0, 2, 3]), np.array([0, 1, 1])).height
    2
    """

    start: np.ndarray  # int64, one more than there are baskets
    item: np.ndarray  # int32 codes

    @property
    def height(self) -> int:
        """How many baskets there are."""
        return len(self.start) - 1

    @property
    def longest(self) -> int:
        """The items of the largest basket."""
        return int(np.diff(self.start).max(initial=0))

    @staticmethod
    def of(basket: np.ndarray, item: np.ndarray, items: int) -> Baskets:
        """Pairs of a basket and an item, each a code from 0, as sets; baskets without a pair vanish.

        >>> Baskets.of(np.array([1, 0, 1, 1]), np.array([2, 0, 1, 2]), 3).item.tolist()
        [0, 1, 2]
        """
        key = np.sort(basket.astype(np.int64) * items + item)  # at most rows times items, far below 2 ** 63
        key = key[np.diff(key, prepend=-1) > 0]
        number = key // items
        start = np.append(np.flatnonzero(np.diff(number, prepend=-1)), len(key)).astype(np.int64)
        return Baskets(start, (key % items).astype(np.int32))

    def basket(self) -> np.ndarray:
        """The number of the basket of each item."""
        return np.repeat(np.arange(self.height), np.diff(self.start))

    def mapped(self, to: np.ndarray, size: int) -> Baskets:
        """The baskets with other items for theirs; an item below 0 is left out, and with its last one a basket."""
        item, basket = to[self.item], self.basket()
        there = item >= 0
        return Baskets.of(basket[there], item[there], size)

    def support(self, items: int) -> np.ndarray:
        """How many baskets each item is in."""
        return np.bincount(self.item, minlength=items)


@dataclass(frozen=True, eq=False)
class ItemTree:
    """The groups of a hierarchy over the items of a table: a node for each set of leaves that has some item.

    Nodes stand in preorder, so node 0 is the root and the items below node v are `first[v]` to `last[v] - 1` in
    `order`, which has the code of each item. Of groups with the same leaves only the lowest is a node.
    """

    labels: tuple[str, ...]
    parent: np.ndarray  # int32, -1 of the root
    leaves: np.ndarray  # int64: how many leaves of the hierarchy lie below, also those absent from the table
    first: np.ndarray
    last: np.ndarray
    order: np.ndarray
    node_of_item: np.ndarray  # int32: the node of each item code

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return len(self.labels)

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The nodes right below each node."""
        found: list[list[int]] = [[] for _ in range(self.size)]
        for node in range(1, self.size):
            found[self.parent[node]].append(node)
        return tuple(map(tuple, found))

    @cached_property
    def weight(self) -> np.ndarray:
        """What an occurrence loses at each node: how many leaves it could be, and nothing at a leaf."""
        return np.where(self.leaves == 1, 0, self.leaves)

    @cached_property
    def height(self) -> int:
        """The most steps from an item to the root."""
        depth = np.zeros(self.size, np.int64)
        for node in range(1, self.size):
            depth[node] = depth[self.parent[node]] + 1
        return int(depth.max(initial=0))

    def lies_below(self, node: int, above: int) -> bool:
        """Whether a node is another, or lies below it."""
        while node > above:  # what lies above a node comes before it
            node = int(self.parent[node])
        return node == above

    def below(self, node: int) -> np.ndarray:
        """The codes of the items below a node."""
        return self.order[self.first[node] : self.last[node]]

    @staticmethod
    def flat(items: int) -> ItemTree:
        """The tree of so many items right below a root."""
        every = np.arange(items + 1)
        return ItemTree(
            ("",) * (items + 1), np.where(every, 0, -1).astype(np.int32), np.where(every, 1, items),
            np.maximum(every - 1, 0), np.where(every, every, items), np.arange(items),
            np.arange(1, items + 1, dtype=np.int32),
        )  # fmt: skip

    @staticmethod
    def of(hierarchy: Hierarchy, items: Sequence[str]) -> ItemTree:
        """The tree of a hierarchy over the items of a table, all of which are leaves of it.

        >>> flat = Hierarchy("item", (("a", "b", "c"), ("*",)), np.array([[0, 1, 2], [0, 0, 0]]))
        >>> tree = ItemTree.of(flat, ["a", "c"])
        >>> tree.labels, tree.parent.tolist(), tree.leaves.tolist()
        (('*', 'a', 'c'), [-1, 0, 0], [3, 1, 1])
        """
        leaf = hierarchy.locate(items)
        above = hierarchy.ancestor[:, leaf]
        order = np.lexsort(above)  # the last level is the first key
        under = [np.bincount(row, minlength=len(names)) for row, names in zip(hierarchy.ancestor, hierarchy.labels,
                                                                             strict=True)]  # fmt: skip
        labels: list[str] = []
        parent: list[int] = []
        leaves, first, last = list[int](), list[int](), list[int]()
        node_of_item = np.zeros(len(items), np.int32)
        open_at: list[tuple[int, int]] = []  # (level, label) and node of the groups that lie above the item
        nodes: list[int] = []
        for place, item in enumerate(order.tolist()):
            path = [
                (level, int(above[level, item]))
                for level in range(len(hierarchy.labels) - 1, -1, -1)
                if level == 0 or under[level][above[level, item]] != under[level - 1][above[level - 1, item]]
            ]
            common = 0
            while common < min(len(path), len(open_at)) and path[common] == open_at[common]:
                common += 1
            for node in nodes[common:]:
                last[node] = place
            del open_at[common:], nodes[common:]
            for level, label in path[common:]:
                parent.append(nodes[-1] if nodes else -1)
                nodes.append(len(labels))
                open_at.append((level, label))
                labels.append(hierarchy.labels[level][label])
                leaves.append(int(under[level][label]))
                first.append(place)
                last.append(len(order))
            node_of_item[item] = nodes[-1]
        return ItemTree(
            _apart(labels, np.array(leaves)), np.array(parent, np.int32), np.array(leaves, np.int64),
            np.array(first, np.int64), np.array(last, np.int64), order, node_of_item,
        )  # fmt: skip


def _apart(labels: Sequence[str], leaves: np.ndarray) -> tuple[str, ...]:
    """Labels of groups that other nodes have too, numbered: an item keeps its own."""
    taken, used = set(labels), set[str]()
    found = list(labels)
    for node in np.argsort(leaves, kind="stable").tolist():
        new, turn = labels[node], 1
        while new in used or (turn > 1 and new in taken):
            turn += 1
            new = f"{labels[node]} ({turn})"
        used.add(new)
        found[node] = new
    return tuple(found)


@dataclass(frozen=True, eq=False)
class BasketProblem:
    """What a search of baskets is given."""

    baskets: Baskets
    items: tuple[str, ...]
    tree: ItemTree
    promise: Any
    report_progress: Progress = quiet


@dataclass(frozen=True, eq=False)
class BasketSolution:
    """What a search of baskets found: the node that stands for each item, -1 where it is suppressed, and what it loses.

    `loss` is the NCP of the paper: over all occurrences of items, the share of all items that an occurrence could be,
    0 where the item itself is released, 1 where it is suppressed.
    """

    node_of_item: np.ndarray
    loss: float
    optimal: bool
    checks: int
    seconds: float


class BasketSearch(Protocol):
    """A search for the recoding of items that makes every basket safe."""

    @property
    def optimal(self) -> bool:
        """Whether nothing that is as safe loses less."""

    @property
    def model(self) -> str:
        """The promise that it keeps."""

    def __call__(self, problem: BasketProblem) -> BasketSolution:
        """The recoding."""


def ncp(problem: BasketProblem, node_of_item: np.ndarray) -> float:
    """The NCP of a recoding of items.

    >>> tree = ItemTree.of(Hierarchy("item", (("a", "b"), ("*",)), np.array([[0, 1], [0, 0]])), ["a", "b"])
    >>> problem = BasketProblem(Baskets.of(np.array([0, 1]), np.array([0, 1]), 2), ("a", "b"), tree, None)
    >>> ncp(problem, np.array([0, 0])), ncp(problem, tree.node_of_item), ncp(problem, np.array([-1, 2]))
    (1.0, 0.0, 0.5)
    """
    whole = int(problem.tree.leaves[0])
    weight = np.where(node_of_item < 0, whole, problem.tree.weight[node_of_item])
    return int(weight[problem.baskets.item].sum()) / (len(problem.baskets.item) * whole)
