"""Fenchel cuts: what 0/1 solutions of one inequality cost at least. E. A. Boyd, Fenchel cutting planes for integer
programs, Operations Research 42(1), 1994.

The inequality is that of a cell that some others protect, from whichever insider knows most of one of them; as in D.
Bertsimas and M. Sim, Robust discrete optimization and network flows, Mathematical Programming 98, 2003, where one datum
may change.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

PARTS = 4_096  # of what an inequality asks, that coefficients are rounded to
NEAR = 1e-9  # of the least cost, by which it is taken to be lower


@dataclass(frozen=True, eq=False)
class Robust:
    """Every safe pattern has sum(full x) - max(drop x) >= least: an insider knows most of one of the cells.

    No drop is greater than its coefficient.
    """

    column: np.ndarray
    full: np.ndarray
    drop: np.ndarray
    least: float

    def least_cost(self, cost: np.ndarray) -> float:
        """What it costs at least to keep it; or a little less, for coefficients are rounded.

        >>> one = Robust(np.arange(3), np.array([4.0, 7.0, 5.0]), np.zeros(3), 10.0)
        >>> float(round(one.least_cost(np.array([2.0, 3.0, 4.0])), 6))
        5.0
        >>> one = Robust(np.arange(3), np.array([4.0, 7.0, 5.0]), np.array([4.0, 1.0, 0.0]), 10.0)
        >>> float(round(one.least_cost(np.array([2.0, 3.0, 4.0])), 6))
        7.0
        """
        free = cost <= 0  # what costs nothing is chosen
        price, drop, unit = cost[~free], self.drop[~free], PARTS / self.least
        lacks, dropped = self.least - float(self.full[free].sum()), float(self.drop[free].max(initial=0.0))
        weight = np.ceil(self.full[~free] * unit).astype(np.int64)
        asked = np.maximum(np.floor((lacks + np.maximum(drop, dropped)) * unit), 0).astype(np.int64)
        enough = max(int(np.floor((lacks + dropped) * unit)), 0)  # where no drop is greater
        best = np.full(max(enough, int(asked.max(initial=0))) + 1, np.inf)  # the least cost by how much is covered
        best[0] = 0.0
        later = drop > dropped
        for j in np.flatnonzero(~later):
            best = _with(best, int(weight[j]), price[j])
        found = float(best[enough:].min())
        for j in np.flatnonzero(later)[np.argsort(drop[later], kind="stable")]:  # the greatest drop of those chosen
            found = min(found, price[j] + float(best[max(int(asked[j] - weight[j]), 0) :].min()))
            best = _with(best, int(weight[j]), price[j])
        return float(cost[free].sum()) + found * (1 - NEAR)

    def cut(self, cost: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, float] | None:
        """Coefficients of its columns, and what they are together with x at least: the cost of a 0/1 solution, where
        that of x is less. `cost` is what a column costs without what other inequalities pay for it."""
        found = self.least_cost(cost)
        room = found - float(np.minimum(cost, 0).sum())
        number = np.minimum(cost, room)
        if not np.isfinite(found) or room <= 0 or number @ x >= found - 1e-5 * room:
            return None
        return number / room, found / room


def _with(best: np.ndarray, weight: int, price: float) -> np.ndarray:
    """The least costs where one more may be chosen."""
    most = len(best) - 1
    weight = min(weight, most)
    moved = np.full(most + 1, np.inf)
    moved[weight:] = best[: most + 1 - weight]
    moved[most] = best[most - weight :].min()
    return np.minimum(best, moved + price)
