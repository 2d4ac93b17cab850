"""Apriori-based anonymisation: M. Terrovitis, N. Mamoulis and P. Kalnis, Privacy-preserving anonymization of set-valued
data, PVLDB 1(1), 2008, section 4.3.

For i = 1 to m the baskets, extended by the groups above their items, are put into a count tree of i-sets. The tree is
walked in preorder; a set of items that fewer than k baskets have, and none of which has been generalised on the way, is
mended by the cheapest generalisation of its items that k baskets have. A group that stands for one of its items stands
for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heappop, heappush
from time import perf_counter
from typing import Annotated, ClassVar

import numpy as np

from sfumato.core.compiled import warn_of_compiling
from sfumato.core.parameters import Whole, check_fields
from sfumato.core.progress import check_cancelled
from sfumato.core.wording import count
from sfumato.errors import Infeasible
from sfumato.relational.count_tree import CountTree, count_tree, next_rare
from sfumato.relational.values import BasketProblem, BasketSolution, ItemTree, ncp

MOST_SETS = 30_000_000  # about two gigabytes


@dataclass(frozen=True)
class Apriori:
    """Apriori-based anonymisation: sets of one item, of two and so on are counted, and each rare one is mended at once.

    max_sets: how many sets of items are held in memory, at most.
    """

    max_sets: Annotated[int, Whole(1)] = MOST_SETS

    optimal: ClassVar[bool] = False
    model: ClassVar[str] = "km-anonymity"

    def __post_init__(self) -> None:
        check_fields(self, "apriori")

    def __call__(self, problem: BasketProblem) -> BasketSolution:
        """The recoding, or Infeasible where fewer than k baskets have an item at all."""
        since = perf_counter()
        warn_of_compiling(problem.report_progress)
        tree, baskets = problem.tree, problem.baskets
        refuse_few(problem)
        cut = _Cut(tree, baskets.support(len(problem.items)))
        checks = 0
        for size in range(1, min(problem.promise.m, baskets.longest) + 1):
            problem.report_progress(f"counting sets of {count(size, 'item')}", (size - 1) / problem.promise.m)
            counted = count_tree(baskets, tree, cut.node_of_item, size, self.max_sets)
            checks += len(counted.support)
            _mend(counted, cut, problem.promise.k)
        found = cut.node_of_item
        return BasketSolution(found, ncp(problem, found), False, checks, perf_counter() - since)


def refuse_few(problem: BasketProblem) -> None:
    """Raise Infeasible where no recoding helps: fewer than k baskets have any item."""
    if 0 < problem.baskets.height < problem.promise.k:
        what = f"k = {problem.promise.k} needs as many baskets that are not empty"
        raise Infeasible(what, got=count(problem.baskets.height, "basket"), hint="take a smaller k")


class _Cut:
    """What stands for each item while the walk goes on; it only ever rises."""

    def __init__(self, tree: ItemTree, occurrences: np.ndarray) -> None:
        self.tree = tree
        self.node_of_item = tree.node_of_item.copy()
        self.dead = np.zeros(tree.size, np.bool_)  # nodes below what stands for their items
        self.occurrences = occurrences
        self.below = np.concatenate([[0], np.cumsum(occurrences[tree.order])])

    def cost(self, nodes: list[int]) -> int:
        """What it loses more if these nodes, none above another, stand for all below them."""
        tree, found = self.tree, 0
        for node in nodes:
            items = tree.below(node)
            now = int((tree.weight[self.node_of_item[items]] * self.occurrences[items]).sum())
            found += int(tree.weight[node]) * int(self.below[tree.last[node]] - self.below[tree.first[node]]) - now
        return found

    def rise(self, nodes: list[int]) -> None:
        """Let these nodes stand for all below them."""
        for node in nodes:
            self.node_of_item[self.tree.below(node)] = node
            below = node + 1  # nodes below one follow it, in preorder
            while below < self.tree.size and self.tree.first[below] < self.tree.last[node]:
                below += 1
            self.dead[node + 1 : below] = True


def _mend(counted: CountTree, cut: _Cut, k: int) -> None:
    """Walk the count tree in preorder and mend each set that too few baskets have."""
    dead, at = cut.dead[counted.node], 0
    while (at := next_rare(counted.sets, counted.support, k, dead, at)) >= 0:
        check_cancelled()
        rare = [int(counted.node[rank]) for rank in counted.sets[:, at]]
        cut.rise(_cheapest(rare, counted, cut, k))
        dead = cut.dead[counted.node]
        at += 1


def _cheapest(rare: list[int], counted: CountTree, cut: _Cut, k: int) -> list[int]:
    """The generalisation of a rare set that k baskets have and that loses least.

    Generalisations are looked at by what they lose, which never falls when a node is raised further: the first that is
    frequent enough is the one. In the end all are the root, which no fewer than k baskets have.
    """
    first = tuple(sorted(rare))
    seen, queue = {first}, [(cut.cost(rare), first)]
    while True:
        _, nodes = heappop(queue)
        # a set of fewer nodes was counted before, when all of these that some basket had were mended
        if len(nodes) < len(rare) or counted.support_of(list(nodes)) >= k:
            return list(nodes)
        check_cancelled()
        for node in nodes:
            above = int(cut.tree.parent[node])
            raised = tuple(sorted({above, *(v for v in nodes if not cut.tree.lies_below(v, above))}))
            if above >= 0 and raised not in seen:
                seen.add(raised)
                heappush(queue, (cut.cost(list(raised)), raised))
