"""Top-down local recoding by certainty penalty. Xu, Wang, Pei, Wang, Shi and Fu, KDD 2006."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.kernels.utility_based import adjust, top_down
from sfumato.search.clusters import check, lay_out, settled, with_rest
from sfumato.search.problem import Problem, Solution


@dataclass(frozen=True)
class TopDown:
    """Halve the table around two far rows, again and again, and mend what gets too small (CG_, heuristic).

    Two rows far from each other are the seeds; every other row, in random order (`seed`), goes to the side whose
    penalty grows less; sides of more than k rows are halved again. Groups of fewer than k rows then borrow rows from a
    group that can spare them, or join another, as costs less. Classes may overlap. Clusters that fail other criteria
    join near ones until none fails. `labels` as for k-member. The penalty is that of the loss: with loss="ncp" it is
    the paper's.
    """

    code: ClassVar[str] = "CG_"
    guarantee: ClassVar[str] = "heuristic"
    splits: ClassVar[bool] = True
    seed: int = 0
    labels: str = "range"

    def __post_init__(self) -> None:
        check("top-down", self.labels, seed=self.seed)

    def __call__(self, problem: Problem) -> Solution:
        """Halve, then mend."""
        began = time.perf_counter()
        field = lay_out(problem, "top-down", self.labels)
        of = np.full(len(field.points), -1)
        loose = np.flatnonzero(~field.whole)
        if len(loose) >= field.least:
            points, space = np.ascontiguousarray(field.points[loose]), field.space.arrays
            problem.progress("halving", None)
            found = top_down(points, np.arange(len(loose)), field.least, self.seed, *space)
            problem.progress("mending small groups", None)
            adjust(points, found, int(found.max()) + 1, field.least, *space)
            of[loose] = found
        of = with_rest(field, of, None)
        return settled(field, of, began, int(of.max()) + 1)
