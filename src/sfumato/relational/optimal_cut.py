"""Optimal anonymisation: M. Terrovitis, N. Mamoulis and P. Kalnis, Privacy-preserving anonymization of set-valued data,
PVLDB 1(1), 2008, section 4.1.

The cuts through the item hierarchy are visited breadth first, from the items themselves upward. Of a cut that is safe
all cuts above are safe too and lose more, so none of them is visited.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Annotated, ClassVar

import numpy as np

from sfumato.core.parameters import Whole, check_fields
from sfumato.core.progress import check_cancelled
from sfumato.core.wording import number
from sfumato.errors import TooManyCells
from sfumato.relational.apriori import MOST_SETS, refuse_few
from sfumato.relational.count_tree import count_tree
from sfumato.relational.values import BasketProblem, BasketSolution, ItemTree, ncp

MOST_CUTS = 200_000

Cut = frozenset[int]


@dataclass(frozen=True)
class OptimalCut:
    """Optimal anonymisation: every cut through a small hierarchy that may lose least, breadth first.

    max_cuts: how many cuts the hierarchy may have. max_sets: how many sets of items are held in memory, at most.
    """

    max_cuts: Annotated[int, Whole(1)] = MOST_CUTS
    max_sets: Annotated[int, Whole(1)] = MOST_SETS

    optimal: ClassVar[bool] = True
    model: ClassVar[str] = "km-anonymity"

    def __post_init__(self) -> None:
        check_fields(self, "optimal-cut")

    def __call__(self, problem: BasketProblem) -> BasketSolution:
        """The safe recoding that loses least, or Infeasible where fewer than k baskets have an item at all."""
        since = perf_counter()
        tree = problem.tree
        refuse_few(problem)
        cuts = number_of_cuts(tree)
        if cuts > self.max_cuts:
            hint = "take apriori, which looks at few of them, or give max_cuts"
            raise TooManyCells("the hierarchy has too many cuts", got=number(cuts), allowed=number(self.max_cuts),
                               hint=hint)  # fmt: skip
        largest = min(problem.promise.m, problem.baskets.longest)
        rare = [_rare(problem, size, self.max_sets) for size in range(1, largest + 1)]
        support = problem.baskets.support(len(problem.items))
        lost = [int(tree.weight[v]) * int(support[tree.below(v)].sum()) for v in range(tree.size)]

        def safe(cut: Cut) -> bool:
            there = np.zeros(tree.size, np.bool_)
            there[list(cut)] = True
            return not any(there[sets].all(axis=0).any() for sets in rare)

        best: tuple[int, list[int]] | None = None
        layer: dict[Cut, None] = {frozenset(tree.node_of_item.tolist()): None}
        covered: set[Cut] = set()  # of the layer, what lies above a safe cut
        checks = 0
        while layer:
            check_cancelled()
            above: dict[Cut, None] = {}
            for cut in layer.keys() - covered:
                checks += 1
                if safe(cut):
                    covered.add(cut)
                    found = sum(lost[v] for v in cut), sorted(cut)
                    best = found if best is None or found < best else best
                else:
                    above |= dict.fromkeys(_raised(cut, tree))
            covered = {higher for cut in covered for higher in _raised(cut, tree)}
            layer = above
        assert best is not None  # the root alone is safe: at least k baskets have it
        node_of_item = np.empty(len(problem.items), np.int32)
        for v in best[1]:
            node_of_item[tree.below(v)] = v
        return BasketSolution(node_of_item, ncp(problem, node_of_item), True, checks, perf_counter() - since)


def number_of_cuts(tree: ItemTree) -> int:
    """How many cuts there are through a tree.

    >>> from sfumato.core.hierarchy import Hierarchy
    >>> number_of_cuts(ItemTree.of(Hierarchy("item", (("a", "b"), ("*",)), np.array([[0, 1], [0, 0]])), ["a", "b"]))
    2
    """
    found = [1] * tree.size
    for v in range(tree.size - 1, -1, -1):
        if tree.children[v]:
            several = 1
            for child in tree.children[v]:
                several *= found[child]
            found[v] = 1 + several
    return found[0]


def _rare(problem: BasketProblem, size: int, most: int) -> np.ndarray:
    """All sets of so many nodes that some baskets have, and fewer than k."""
    counted = count_tree(problem.baskets, problem.tree, problem.tree.node_of_item, size, most)
    return counted.node[counted.sets[:, counted.support < problem.promise.k]]


def _raised(cut: Cut, tree: ItemTree) -> Iterator[Cut]:
    """The cuts right above one: a group takes the place of its children, all of which are in the cut."""
    for v in sorted({int(tree.parent[node]) for node in cut} - {-1}):
        if all(child in cut for child in tree.children[v]):
            yield cut.difference(tree.children[v]) | {v}
