"""Random and deterministic rounding: L. Willenborg, T. de Waal, Elements of Statistical Disclosure Control, Springer
2001, chapter 9; the first by I. P. Fellegi, Controlled random rounding, Survey Methodology 1, 1975."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sfumato.core.parameters import Whole
from sfumato.tables.perturbation.draws import cell_draws, repeats
from sfumato.tables.perturbation.model import Perturbation, in_units, perturbed
from sfumato.tables.protection import ProtectedCells, ProtectionProblem

MOST_BASE = 10**9


@dataclass(frozen=True)
class RandomRounding(Perturbation):
    """Round each cell by itself to a multiple of the base next to it, up or down by chance, so that no value is biased.

    Multiples stay. The same cell is rounded in the same way in every table. base: of whose multiples the published
    values are. seed: of the draws, which the owner's key makes secret. Tables of the same data must not be published
    under two seeds: their mean comes nearer to the true value with each.
    """

    base: Annotated[int, Whole(2, MOST_BASE)] = 5
    seed: Annotated[int | None, Whole(-(2**53))] = None

    def __call__(self, problem: ProtectionProblem) -> ProtectedCells:
        """The rounded cells."""
        problem.report_progress("rounding", None)
        units = in_units(problem.table, problem.value)
        base = self.base * 10**problem.table.decimals
        rest = units % base
        cells = np.flatnonzero(rest)
        up = np.zeros(len(units), np.bool_)
        up[cells] = cell_draws(problem.table, cells, self.seed, "random-rounding") < rest[cells] / base
        found = units - rest + base * up
        return perturbed(problem, found, (found - base + 1, found + base - 1), reproducible=repeats())

    def statement(self) -> str:
        """What it guarantees by construction."""
        return (
            f"Each value is a multiple of {self.base}, less than {self.base} away from the true one and equal to it on "
            "average; totals need not be the sums of their parts, and where they are far from these, both tell more."
        )


@dataclass(frozen=True)
class DeterministicRounding(Perturbation):
    """Round each cell by itself to the nearest multiple of the base, halves up.

    base: of whose multiples the published values are.
    """

    base: Annotated[int, Whole(2, MOST_BASE)] = 5

    def __call__(self, problem: ProtectionProblem) -> ProtectedCells:
        """The rounded cells."""
        problem.report_progress("rounding", None)
        units = in_units(problem.table, problem.value)
        base = self.base * 10**problem.table.decimals
        found = (units + base // 2) // base * base
        return perturbed(problem, found, (found - base // 2, found + (base - 1) // 2), optimal=True)

    def statement(self) -> str:
        """What it guarantees by construction."""
        return (
            f"Each value is the multiple of {self.base} that is nearest to the true one; totals need not be the sums "
            "of their parts, and where they are not, both together can determine the true values."
        )
