"""Barnardisation: G. A. Barnard's change of small counts, as in N. Shlomo, Statistical disclosure control methods
for census frequency tables, International Statistical Review 75, 2007."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from sfumato.core.parameters import Real, Whole
from sfumato.tables.perturbation.draws import cell_draws, repeats
from sfumato.tables.perturbation.model import Perturbation, add_up, in_units, leaf_places, perturbed, require_counts
from sfumato.tables.protection import ProtectedCells, ProtectionProblem


@dataclass(frozen=True)
class Barnardisation(Perturbation):
    """Change each count that is no total and not 0 by +1, 0 or -1 with probabilities p, 1 - 2p and p; totals are added
    up anew.

    The same cell changes in the same way in every table. p: the probability of either change. seed: of the draws, which
    the owner's key makes secret.
    """

    additive: ClassVar[bool] = True
    p: Annotated[float, Real(0, 0.5, above=True)] = 0.1
    seed: Annotated[int | None, Whole(-(2**53))] = None

    def __call__(self, problem: ProtectionProblem) -> ProtectedCells:
        """The changed cells."""
        table = problem.table
        require_counts(table, self.model)
        problem.report_progress("changing counts by one", None)
        units = in_units(table, problem.value)
        places = leaf_places(table.dimensions)
        cells = places.ravel()[units[places.ravel()] > 0]
        u = cell_draws(table, cells, self.seed, "barnardisation")
        changed = units.copy()
        changed[cells] += (u < self.p).astype(np.int64) - (u > 1 - self.p)
        found = add_up(table.dimensions, changed[places])
        moved = int((changed != units)[places.ravel()].sum())
        return perturbed(problem, found, reproducible=repeats(), facts={"leaves_changed": moved})

    def statement(self) -> str:
        """What it guarantees by construction."""
        return (
            f"Each count other than 0 that is no total was changed by 1, up or down, with probability {2 * self.p:g}, "
            f"and is true with probability {1 - 2 * self.p:g}; parts add up to their totals, and no count is below 0."
        )
