"""Tree: cuts of the whole domain into parts. Every row of the table belongs to one leaf, whatever its values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, eq=False)
class Cut:
    """A cut of a column: rows at or above `at`, and those without a value, go right; with `side`, by their code."""

    column: int
    kids: int
    at: float = np.inf
    side: np.ndarray | None = None


@dataclass(eq=False)
class Tree:
    """Nodes by number, the root first. `passed` counts, per node, the cuts of each column that were refused."""

    cuts: list[Cut | None] = field(default_factory=lambda: [None])
    first: list[int] = field(default_factory=lambda: [-1])  # the kids of a node follow each other
    parent: list[int] = field(default_factory=lambda: [-1])
    passed: dict[int, Counter[int]] = field(default_factory=dict)

    def split(self, node: int, cut: Cut) -> range:
        """Cut a leaf; its kids."""
        start = len(self.cuts)
        self.cuts[node], self.first[node] = cut, start
        self.cuts += [None] * cut.kids
        self.first += [-1] * cut.kids
        self.parent += [node] * cut.kids
        return self.kids(node)

    def kids(self, node: int) -> range:
        """The kids of a node."""
        cut = self.cuts[node]
        return range(0) if cut is None else range(self.first[node], self.first[node] + cut.kids)

    def leaves(self, node: int = 0) -> list[int]:
        """The leaves below a node, or itself."""
        found, stack = [], [node]
        while stack:
            at = stack.pop()
            kids = self.kids(at)
            stack += reversed(kids)
            if not kids:
                found.append(at)
        return found

    def refuse(self, node: int) -> None:
        """Take the cut of a node back, with all below it, and remember that."""
        cut = self.cuts[node]
        if cut is not None:
            self.passed.setdefault(node, Counter())[cut.column] += 1
            self.cuts[node], self.first[node] = None, -1


@dataclass(frozen=True, eq=False)
class Branches:
    """The tree in flat arrays, for workers: `side_at` is where the sides of a node's codes begin in `side`."""

    column: np.ndarray
    at: np.ndarray
    first: np.ndarray
    side_at: np.ndarray
    side: np.ndarray

    def leaf(self, places: np.ndarray) -> np.ndarray:
        """The leaf of each row, from its places, [columns, rows]."""
        node = np.zeros(places.shape[1], np.int32)
        live = np.arange(len(node)) if self.column[0] >= 0 else np.zeros(0, np.int64)
        while len(live):
            here = node[live]
            value = places[self.column[here], live]
            side = (value >= self.at[here]).astype(np.int32)
            listed = np.flatnonzero(self.side_at[here] >= 0)
            if len(listed):
                side[listed] = self.side[self.side_at[here[listed]] + value[listed].astype(np.int64)]
            here = self.first[here] + side
            node[live] = here
            live = live[self.column[here] >= 0]
        return node


def branches(tree: Tree) -> Branches:
    """The tree in flat arrays."""
    sides = [np.zeros(0, np.int32) if cut is None or cut.side is None else cut.side for cut in tree.cuts]
    length = np.array([len(side) for side in sides])
    return Branches(
        np.array([-1 if cut is None else cut.column for cut in tree.cuts], dtype=np.int32),
        np.array([np.inf if cut is None else cut.at for cut in tree.cuts]),
        np.array(tree.first, dtype=np.int32),
        np.where(length > 0, np.cumsum(length) - length, -1),
        np.concatenate(sides).astype(np.int32),
    )


def settle(tree: Tree, good: Callable[[Iterable[int]], Iterable[bool]]) -> None:
    """Take back the cuts that leave a leaf that is not good: its siblings and it become one leaf, up to the root.

    `good` says of leaves, some of which were made by this, whether each is.
    """
    doubtful = tree.leaves()
    while doubtful:
        bad = [leaf for leaf, fine in zip(doubtful, good(doubtful), strict=True) if not fine and leaf]
        merged = {tree.parent[leaf] for leaf in bad}
        for node in merged:
            tree.refuse(node)
        leaves = set(tree.leaves()) if merged else set()
        doubtful = sorted(merged & leaves)  # one below another that was taken back is gone
