"""(n,k)-dominance: L. Willenborg, T. de Waal, Elements of Statistical Disclosure Control, Springer 2001, chapter 6."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sfumato.core.parameters import Real, Whole
from sfumato.tables.rules.largest import TIES, largest_of
from sfumato.tables.rules.model import CellModel, UnsafeCells, found
from sfumato.tables.values import StatTable


@dataclass(frozen=True)
class Dominance(CellModel):
    """A cell is unsafe whose n largest contributions are more than k percent of it.

    n: contributions that are looked at. k: percent of the cell that they may be.
    """

    n: Annotated[int, Whole(1, 100)]
    k: Annotated[float, Real(0, 100, above=True)]

    def unsafe(self, table: StatTable) -> UnsafeCells:
        """The cells that few contributors dominate."""
        top = largest_of(table, self.n, self.model).sum(-1)
        return found(top > self.k / 100 * table.gross * (1 + TIES), 100 / self.k * top - table.gross)

    def sentence(self) -> str:
        """What it says of a cell."""
        return f"The {self.n} largest contributions to a cell are at most {self.k:g}% of it."
