"""MST: a tree of noisy pairs; McKenna, Miklau and Sheldon, "Winning the NIST contest: a scalable and general approach
to differentially private synthetic data", Journal of Privacy and Confidentiality 11, 2021."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from math import pi, sqrt

import numpy as np

from sfumato.synthetic.domain import DomainTable
from sfumato.synthetic.fitting import CliqueTree, NoisyMargin, cliques_of
from sfumato.synthetic.generator import FitContext
from sfumato.synthetic.marginals import Clique
from sfumato.synthetic.private import PrivateGenerator, Spending, expansions, grouped, measured_ones, pooled, shares

ONES, CHOICES, PAIRS = 0.3, 0.1, 0.6  # shares of the budget
POWER = 2 / 3  # of its cells, that a pair has a share by: the sum of the errors is then least
NOISE = 0.3  # of what noise adds to a pair, that its score is less by: where cells are empty it is cut off
RARE = 3.0  # standard deviations below which values are pooled
ROUNDS = 400


@dataclass(frozen=True)
class MST(PrivateGenerator):
    """Rows of a tree of pairs of columns, whose counts have noise: (epsilon, delta)-differentially private.

    Noisy counts of each column come first; values of which there are fewer than three standard deviations of the noise
    are pooled. Then a maximum spanning tree of the columns is chosen, edge by edge, by the exponential mechanism: the
    score of a pair is how far its counts are from those of two columns that do not depend on each other, less what the
    noise of measuring it would be; one row changes it by 1 at most. The pairs of the tree are counted with noise, the
    distribution that is nearest to all noisy counts is found, and rows are drawn from it.

    A value that is not in its domain is taken as missing. Unless `rows` are asked for, there are as many as the noisy
    counts say.
    """

    def sentence(self) -> str:
        """How the rows were made."""
        return "rows of a tree of pairs of columns, whose counts have noise"

    def learn(self, table: DomainTable, spending: Spending, context: FitContext) -> tuple[list[Clique], float]:
        """Noisy columns, a tree, noisy pairs."""
        d = len(table.columns)
        whole = d == 1
        cost = spending.share(1.0 if whole else ONES, d)
        context.report_progress("counting columns", None)
        fine, total = measured_ones(table, spending, cost)
        groups = pooled(fine, RARE * spending.deviation(cost))
        ones = [grouped(one, group) for one, group in zip(fine, groups, strict=True)]
        if whole:
            return [Clique.of((0,), (), shares(ones[0].counts)), *expansions(fine, groups)], total
        deviation = spending.deviation(spending.share(PAIRS, d - 1))
        context.report_progress("choosing pairs", None)
        pairs = list(combinations(range(d), 2))
        scores = {pair: score(table.counts(pair, groups), ones, pair, total, deviation) for pair in pairs}
        tree = chosen_tree(scores, d, spending, spending.share(CHOICES, d - 1))
        margins = list(ones)
        cells = np.array([ones[one].counts.size * ones[two].counts.size for one, two in tree])
        parts = PAIRS * (1 - 1e-9) * cells**POWER / (cells**POWER).sum()
        for number, pair in enumerate(tree):
            context.report_progress("counting pairs", number / len(tree))
            cost = spending.share(float(parts[number]))
            counts = spending.noisy(table.counts(pair, groups), cost, "counts of two columns")
            margins.append(NoisyMargin(pair, counts, spending.deviation(cost)))
        context.report_progress("fitting", None)
        sizes = [len(one.counts) for one in ones]
        order = cliques_of(d, tree, sizes)
        fitted = CliqueTree.of(order, sizes, lambda which: np.ones([sizes[c] for c in which]))
        fitted.estimate(margins, total, ROUNDS)
        cliques = [Clique.of(one, shared, part) for (one, shared), part in zip(order, fitted.tables, strict=True)]
        return cliques + expansions(fine, groups), total


def score(
    counts: np.ndarray, ones: Sequence[NoisyMargin], pair: tuple[int, int], total: float, deviation: float
) -> float:
    """How far counts of two columns are from those of columns that do not depend on each other, in rows, less what
    noise would add: one row changes one count by 1, and so this by 1 at most."""
    one, two = (shares(ones[i].counts) for i in pair)
    expected = sqrt(2 / pi) * deviation * counts.size
    return float(np.abs(counts - total * np.outer(one, two)).sum()) - NOISE * expected


def chosen_tree(
    scores: dict[tuple[int, int], float], columns: int, spending: Spending, cost: Decimal
) -> list[tuple[int, int]]:
    """A maximum spanning tree, whose edges are chosen one after the other among those that join two trees."""
    tree, root = list[tuple[int, int]](), np.arange(columns)
    while len(tree) < columns - 1:
        open_ones = [pair for pair in scores if root[pair[0]] != root[pair[1]]]
        at = spending.choose([scores[pair] for pair in open_ones], 1.0, cost, "choices of a pair of columns")
        one, two = open_ones[at]
        root[root == root[two]] = root[one]
        tree.append((one, two))
    return tree
