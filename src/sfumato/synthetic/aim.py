"""AIM: noisy tables that are chosen one after the other, each where the model is worst; McKenna, Mullins, Sheldon and
Miklau, "AIM: an adaptive and iterative mechanism for differentially private synthetic data", PVLDB 15, 2022."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from math import pi, prod, sqrt
from typing import Annotated, Any

import numpy as np

from sfumato.core.parameters import Whole
from sfumato.core.wording import number
from sfumato.synthetic.domain import DomainTable
from sfumato.synthetic.fitting import CliqueTree, Columns, NoisyMargin, cliques_of
from sfumato.synthetic.generator import FitContext
from sfumato.synthetic.marginals import Clique
from sfumato.synthetic.private import PrivateGenerator, Spending, expansions, grouped, measured_ones, pooled, shares

TURNS = 16  # of choosing and measuring, for each column, if no table taught anything
MEASURED = 0.9  # of what a turn costs; the rest pays for the choice
RARE = 3.0  # standard deviations below which values are pooled
ROUNDS, LAST_ROUNDS = 60, 400  # of fitting in a turn, and at the end


@dataclass(frozen=True)
class AIM(PrivateGenerator):
    """Rows of a model of noisy tables of counts, chosen where the model is worst: (epsilon, delta)-differentially
    private.

    Noisy counts of each column come first. Then, turn by turn, a set of up to `degree` columns is chosen by the
    exponential mechanism: its score is how far the counts of the model are from those of the table, less what the noise
    of measuring it would be, times how many columns it shares with all sets; one row changes it by that weight at most.
    Its counts are taken with noise, and the model is fitted anew. Where a turn taught less than its noise, the next
    ones have half of it, and cost four times as much, until the budget is spent. `max_cells` bounds the tables of the
    model: a part of it that grows with what is spent.

    degree: how many columns of a table are counted together at most. max_cells: how large the tables of the model may
    be. The other parameters are those of `MST`, which is faster and learns a tree of pairs alone.
    """

    degree: Annotated[Any, Whole(2, 4)] = 2
    max_cells: Annotated[Any, Whole(100, 50_000_000)] = 20_000

    def sentence(self) -> str:
        """How the rows were made."""
        return f"rows of a model of noisy counts of up to {number(self.degree)} columns, chosen where it was worst"

    def learn(self, table: DomainTable, spending: Spending, context: FitContext) -> tuple[list[Clique], float]:
        """Noisy columns, then tables in turn."""
        d = len(table.columns)
        if d == 1:
            fine, total = measured_ones(table, spending, spending.share(1.0))
            return [Clique.of((0,), (), shares(fine[0].counts))], total
        cost = spending.share(MEASURED, TURNS * d)
        choosing = spending.share(1 - MEASURED, TURNS * d)
        context.report_progress("counting columns", None)
        fine, total = measured_ones(table, spending, cost)
        groups = pooled(fine, RARE * spending.deviation(cost))
        margins: list[NoisyMargin] = [grouped(one, group) for one, group in zip(fine, groups, strict=True)]
        sizes = [len(one.counts) for one in margins]
        candidates = candidate_sets(d, self.degree, sizes, self.max_cells)
        weights = set_weights(candidates, d, self.degree)
        exact = {which: table.counts(which, groups) for which in candidates}
        model = FittedMargins.of(margins, sizes, total, None, ROUNDS)
        while candidates:
            context.report_progress("choosing tables", float(spending.spent / spending.whole))
            last = spending.left < 2 * (cost + choosing)
            if last:  # what is left goes into one more turn
                cost = _part(spending.left, MEASURED)
                choosing = spending.left - cost
            room = self.max_cells * float((spending.spent + cost + choosing) / spending.whole)
            fitting = [which for which in candidates if model.cells_with(which, sizes) <= room]
            if not fitting or cost <= 0 or choosing <= 0:
                break
            deviation = spending.deviation(cost)
            scores = [set_score(exact[which], model.counts(which), deviation, weights[which]) for which in fitting]
            most = max(weights[which] for which in fitting)
            which = fitting[spending.choose(scores, most, choosing, "choices of a table")]
            before = model.counts(which)
            noisy = spending.noisy(exact[which], cost, "counts of several columns")
            margins = [*margins, NoisyMargin(which, noisy, deviation)]
            model = FittedMargins.of(margins, sizes, total, model, LAST_ROUNDS if last else ROUNDS)
            if last:
                break
            taught = float(np.abs(model.counts(which) - before).sum())
            if taught <= sqrt(2 / pi) * deviation * noisy.size:
                times = 2 if spending.pure else 4
                cost, choosing = cost * times, choosing * times
        model = FittedMargins.of(margins, sizes, total, model, LAST_ROUNDS)
        pairs = zip(model.order, model.tree.tables, strict=True)
        return [Clique.of(one, shared, part) for (one, shared), part in pairs] + expansions(fine, groups), total


@dataclass(frozen=True, eq=False)
class FittedMargins:
    """A model of noisy margins: a tree of cliques, and the potentials of the margins, from which the next starts."""

    margins: Sequence[NoisyMargin]
    order: list[tuple[Columns, Columns]]
    tree: CliqueTree
    potentials: list[np.ndarray]
    total: float

    @staticmethod
    def of(
        margins: Sequence[NoisyMargin], sizes: Sequence[int], total: float, before: FittedMargins | None, rounds: int
    ) -> FittedMargins:
        """The model that is nearest to the margins, found from that of all but the last."""
        order = cliques_of(len(sizes), [one.columns for one in margins], sizes)
        tree = CliqueTree.of(order, sizes, lambda which: np.ones([sizes[c] for c in which]))
        start = None
        if before is not None:
            fresh = [np.zeros(one.counts.shape) for one in margins[len(before.potentials) :]]
            start = [*before.potentials, *fresh]
        return FittedMargins(margins, order, tree, tree.estimate(margins, total, rounds, start), total)

    def counts(self, which: Columns) -> np.ndarray:
        """The counts of some columns by the model."""
        return self.total * self.tree.margin(which)

    def cells_with(self, which: Columns, sizes: Sequence[int]) -> int:
        """How many cells the cliques of the model would have with one more table."""
        if any(set(which) <= set(one) for one in self.tree.cliques):
            return sum(table.size for table in self.tree.tables)
        joined = [*(one.columns for one in self.margins), which]
        return sum(prod(sizes[c] for c in one) for one, _ in cliques_of(len(sizes), joined, sizes))


def candidate_sets(columns: int, degree: int, sizes: Sequence[int], most: int) -> list[Columns]:
    """The sets of two to `degree` columns whose table is not too large."""
    every = [which for many in range(2, degree + 1) for which in combinations(range(columns), min(many, columns))]
    return [which for which in dict.fromkeys(every) if prod(sizes[c] for c in which) <= most]


def set_weights(candidates: Sequence[Columns], columns: int, degree: int) -> dict[Columns, float]:
    """How many columns a set has in common with all sets of `degree` columns: of more use to more of them; as a share
    of the most, so that scores are in rows."""
    every = list(combinations(range(columns), min(degree, columns)))
    found = {which: float(sum(len(set(which) & set(one)) for one in every)) for which in candidates}
    most = max(found.values(), default=1.0)
    return {which: weight / most for which, weight in found.items()}


def set_score(counts: np.ndarray, expected: np.ndarray, deviation: float, weight: float) -> float:
    """How far a model is from the counts of a table, in rows, less what noise would add, by its weight: one row changes
    it by the weight at most."""
    return weight * (float(np.abs(counts - expected).sum()) - sqrt(2 / pi) * deviation * counts.size)


def _part(whole: Decimal, share: float) -> Decimal:
    return (whole * Decimal(repr(share))).quantize(Decimal(1).scaleb(-24), rounding="ROUND_DOWN")
