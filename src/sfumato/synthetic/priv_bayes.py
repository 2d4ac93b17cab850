"""PrivBayes: a Bayesian network with noise; Zhang, Cormode, Procopiuc, Srivastava and Xiao, "PrivBayes: private data
release via Bayesian networks", ACM Transactions on Database Systems 42, 2017."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Annotated, Any

import numpy as np

from sfumato.core.parameters import Real, Whole
from sfumato.core.wording import count
from sfumato.synthetic.domain import DomainTable
from sfumato.synthetic.fitting import Columns
from sfumato.synthetic.generator import FitContext
from sfumato.synthetic.marginals import Clique
from sfumato.synthetic.private import PrivateGenerator, Spending, expansions, grouped, measured_ones, pooled, shares

ONES, NETWORK, TABLES = 0.15, 0.25, 0.6  # shares of the budget
RARE = 3.0  # standard deviations below which values are pooled
TRIED = 2000  # sets of columns that one may depend on, at most; those of the fewest cells
SENSITIVITY = 2.0  # of a score, in rows


@dataclass(frozen=True)
class PrivBayes(PrivateGenerator):
    """Rows of a network in which each column depends on at most `degree` others, with noise: (epsilon,
    delta)-differentially private, or with a delta of 0 purely.

    Noisy counts of each column come first, of which that of the most values begins the network. Then a column and those
    that it depends on are chosen, one after the other, by the exponential mechanism: the score is half of how far their
    counts are from those of columns that do not depend on each other, which one row changes by less than 2. A table is
    taken into account only where its cells would have `theta` times as many rows as noise, on average. The counts of
    each column with those that it depends on are taken with noise, and columns are drawn in the order of the network.

    degree: how many columns a column depends on at most. theta: how many times as many rows as noise a cell has, on
    average. The other parameters are those of `MST`.
    """

    degree: Annotated[Any, Whole(0, 5)] = 2
    theta: Annotated[Any, Real(0, above=True)] = 4.0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.settle(theta=float(self.theta))

    def sentence(self) -> str:
        """How the rows were made."""
        return f"rows of a network in which each column depends on {count(self.degree, 'other')} at most, with noise"

    def learn(self, table: DomainTable, spending: Spending, context: FitContext) -> tuple[list[Clique], float]:
        """Noisy columns, a network, noisy tables."""
        d = len(table.columns)
        alone = d == 1 or not self.degree
        cost = spending.share(1.0 if alone else ONES, d)
        context.report_progress("counting columns", None)
        fine, total = measured_ones(table, spending, cost)
        groups = pooled(fine, RARE * spending.deviation(cost))
        ones = [shares(grouped(one, group).counts) for one, group in zip(fine, groups, strict=True)]
        if alone:
            return [Clique.of((i,), (), one) for i, one in enumerate(ones)] + expansions(fine, groups), total
        each = spending.share(TABLES, d - 1)
        most = total / (self.theta * spending.deviation(each))  # cells of a table that is of use
        sizes = [len(one) for one in ones]
        choosing = spending.share(NETWORK, d - 1)
        placed = [int(np.argmax(sizes))]
        cliques = [Clique.of((placed[0],), (), ones[placed[0]])]
        counted: dict[Columns, np.ndarray] = {}

        def counts(which: Columns) -> np.ndarray:
            if which not in counted:
                counted[which] = table.counts(which, groups)
            return counted[which]

        while len(placed) < d:
            context.report_progress("learning the network", len(placed) / d)
            candidates = self._candidates(placed, sizes, most)
            scores = [
                dependence(np.moveaxis(counts(tuple(sorted((x, *parents)))), _place(x, parents), 0))
                for x, parents in candidates
            ]
            x, parents = candidates[
                spending.choose(scores, SENSITIVITY, choosing, "choices of what a column depends on")
            ]
            which = tuple(sorted((x, *parents)))
            noisy = spending.noisy(counts(which), each, "counts of a column and those that it depends on")
            cliques.append(_given(which, x, parents, shares(noisy), ones[x]))
            placed.append(x)
        return cliques + expansions(fine, groups), total

    def _candidates(self, placed: Sequence[int], sizes: Sequence[int], most: float) -> list[tuple[int, Columns]]:
        """Each column that is left with the sets that it may depend on: as large as is of use, or one column."""
        left = [x for x in range(len(sizes)) if x not in placed]
        found: list[tuple[int, Columns]] = []
        for many in range(min(self.degree, len(placed)), 0, -1):
            sets = combinations(sorted(placed), many)
            found += [
                (x, parents)
                for parents in sets
                for x in left
                if many == 1 or sizes[x] * prod(sizes[y] for y in parents) <= most
            ]
        return sorted(found, key=lambda one: sizes[one[0]] * prod(sizes[y] for y in one[1]))[:TRIED]


def dependence(counts: np.ndarray) -> float:
    """Half of how far counts of a column, on the first axis, and others are from those of a column that does not depend
    on them, in rows: the score R of the paper times the rows. One row changes it by less than 2.

    >>> dependence(np.array([[50, 0], [0, 50]])), dependence(np.array([[25, 25], [25, 25]]))
    (50.0, 0.0)
    """
    table = counts.reshape(len(counts), -1).astype(np.float64)
    if not (total := table.sum()):
        return 0.0
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / total
    return float(np.abs(table - expected).sum()) / 2


def _place(x: int, parents: Sequence[int]) -> int:
    return sorted((x, *parents)).index(x)


def _given(which: Columns, x: int, parents: Columns, table: np.ndarray, own: np.ndarray) -> Clique:
    """A column given those that it depends on; where noise left nothing of them, as it is by itself."""
    turned = np.moveaxis(table, _place(x, parents), -1)
    empty = turned.sum(axis=-1) <= 0
    turned = np.where(empty[..., None], own * 1e-12, turned)
    back = np.moveaxis(turned, -1, _place(x, parents))
    return Clique.of(which, parents, back / back.sum())
