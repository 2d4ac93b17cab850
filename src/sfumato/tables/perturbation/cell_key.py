"""Cell-key perturbation: B. Fraser, J. Wooton, A proposed method for confidentialising tabular output to protect
against differencing, UNECE 2005; J. K. Marley, V. L. Leaver, ISI 2011; T. Enderle, S. Giessing, R. Tent, PSD 2018."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sfumato.core.parameters import Real, Whole
from sfumato.errors import PolicyError
from sfumato.tables.perturbation.draws import repeats
from sfumato.tables.perturbation.model import Perturbation, in_units, perturbed, require_counts
from sfumato.tables.perturbation.perturbation_table import perturbation_table
from sfumato.tables.protection import ProtectedCells, ProtectionProblem

UNIT = 2.0**-53


@dataclass(frozen=True)
class CellKey(Perturbation):
    """Change each count by what a perturbation table has for it and for the key of its cell, the sum of the secret keys
    of its records modulo 1: the same records have the same change in every table.

    largest: the most that a count changes by (D). variance: of the changes, whose mean is 0 (V). forbidden: counts
    above 0 and below it are not published (js).
    """

    largest: Annotated[int, Whole(1, 100)] = 3
    variance: Annotated[float, Real(0, above=True)] = 1.0
    forbidden: Annotated[int, Whole(0, 100)] = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        perturbation_table(self.largest, float(self.variance), self.forbidden)  # or a PolicyError

    def __call__(self, problem: ProtectionProblem) -> ProtectedCells:
        """The changed cells."""
        table = problem.table
        require_counts(table, self.model)
        if table.keys is None:
            raise PolicyError(
                f"{self.model} needs the keys of the records, and the table has none",
                hint='tabulate with record="column", the column that says which record a row is',
            )  # fmt: skip
        problem.report_progress("looking changes up", None)
        units = in_units(table, problem.value)
        keys = (table.keys.ravel() >> np.uint64(11)).astype(np.float64) * UNIT
        found = units + perturbation_table(self.largest, float(self.variance), self.forbidden).changes(units, keys)
        known = found - self.largest, found + self.largest
        known = np.where(found > 0, np.maximum(known[0], 1), 0), known[1]  # what is not 0 was not
        return perturbed(problem, found, known, reproducible=repeats())

    def statement(self) -> str:
        """What it guarantees by construction."""
        none = f" no count from 1 to {self.forbidden - 1} is published," if self.forbidden > 1 else ""
        return (
            f"Each count other than 0 was changed by at most {self.largest}, by 0 on average and with a variance of "
            f"{self.variance:g};{none} the same records have the same change in every table; 0 stays 0, and totals "
            "need not be the sums of their parts. Whoever adds up many ways to divide a total comes nearer to it."
        )
