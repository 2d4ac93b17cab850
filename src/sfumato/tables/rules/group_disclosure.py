"""Group disclosure: A. Hundepool et al., Statistical Disclosure Control, Wiley 2012, chapter 5."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.tables.rules.model import CellModel, UnsafeCells, found
from sfumato.tables.values import StatTable, cell_sums


@dataclass(frozen=True)
class GroupDisclosure(CellModel):
    """All of a total lies in one of its cells: whoever is known to be in the total is known to be in that cell.

    That cell is unsafe, and so are the empty ones beside it, which say so.
    """

    def unsafe(self, table: StatTable) -> UnsafeCells:
        """The only full cell of a total, and the empty cells beside it."""
        sums = cell_sums(table.dimensions)
        rows = table.count.ravel()
        part = sums.sign > 0
        full = np.bincount(sums.row[part], rows[sums.cell[part]] > 0, len(sums))
        parts = np.bincount(sums.row[part], minlength=len(sums))
        alone = part & ((full == 1) & (parts > 1))[sums.row]
        cells = np.zeros(table.count.size, np.bool_)
        cells[sums.cell[alone]] = True
        shaped = cells.reshape(table.count.shape)
        return found(shaped, shaped * (10.0**-table.decimals), zeros=bool(cells.any()))

    def sentence(self) -> str:
        """What it says of a cell."""
        return "No total lies in one of its cells alone."
