"""Prior-posterior (p/q) rule: L. H. Cox, Linear sensitivity measures in statistical disclosure control, 1981."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sfumato.core.parameters import Real
from sfumato.errors import PolicyError
from sfumato.tables.rules.model import CellModel, UnsafeCells
from sfumato.tables.rules.p_percent import too_near
from sfumato.tables.values import StatTable


@dataclass(frozen=True)
class PriorPosterior(CellModel):
    """A cell is unsafe if contributors who know all contributions to within q percent learn one to within p percent.

    p: percent that nobody may learn a contribution to. q: percent that everybody knew them to before.
    """

    p: Annotated[float, Real(0, 100, above=True)]
    q: Annotated[float, Real(0, 100, above=True)]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.p >= self.q:
            raise PolicyError(f"{self.model}: p must be below q", got=f"p={self.p:g}, q={self.q:g}")

    def unsafe(self, table: StatTable) -> UnsafeCells:
        """The cells whose rest, known to within q percent, is too small."""
        return too_near(table, self.p / self.q, self.model)

    def sentence(self) -> str:
        """What it says of a cell."""
        return f"Who knew contributions to within {self.q:g}% learns none to within {self.p:g}%."
