"""p-percent rule: L. Willenborg, T. de Waal, Elements of Statistical Disclosure Control, Springer 2001, chapter 6."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sfumato.core.parameters import Real
from sfumato.tables.rules.largest import TIES, remainder
from sfumato.tables.rules.model import CellModel, UnsafeCells, found
from sfumato.tables.values import StatTable


@dataclass(frozen=True)
class PPercent(CellModel):
    """A cell is unsafe whose second largest contributor can estimate the largest contribution to within p percent.

    p: percent of the largest contribution that the estimate has to miss it by.
    """

    p: Annotated[float, Real(0, 100, above=True)]

    def unsafe(self, table: StatTable) -> UnsafeCells:
        """The cells whose rest, without the two largest contributions, is too small."""
        return too_near(table, self.p / 100, self.model)

    def sentence(self) -> str:
        """What it says of a cell."""
        return f"Nobody in a cell can estimate the largest contribution to within {self.p:g}%."


def too_near(table: StatTable, share: float, model: str) -> UnsafeCells:
    """Cells whose rest, without the two largest contributions, is less than a share of the largest."""
    first, rest = remainder(table, model)
    return found(rest < share * first * (1 - TIES), share * first - rest)
