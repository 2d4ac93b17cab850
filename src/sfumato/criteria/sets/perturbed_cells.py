"""Cells of a statistical table that were changed: what follows from how they were, which no table shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from sfumato.core.parameters import Declared, PlainText
from sfumato.core.protocols import BY_CONSTRUCTION, Side
from sfumato.criteria.audit import Finding
from sfumato.criteria.sets.hidden_cells import CELLS, VALUE
from sfumato.criteria.sets.model import SetModel
from sfumato.criteria.sets.published import PublishedSet
from sfumato.errors import PolicyError


@dataclass(frozen=True)
class PerturbedCells(SetModel):
    """The cells of a table are not those that were counted.

    Parameters: `statement`, what follows from how they were changed; `missing`, how many cells have no number: none.

    >>> PerturbedCells("Each count is a multiple of 5.").sentence()
    'Each count is a multiple of 5.'
    """

    statement: Annotated[str, PlainText()]
    missing: Annotated[int, Declared()] = 0

    bounded_by: ClassVar[str] = "missing"
    side: ClassVar[Side] = "at most"

    @property
    def how(self) -> str:
        """It follows from how the table was made."""
        return BY_CONSTRUCTION

    def sentence(self) -> str:
        """The promise in words."""
        return self.statement

    def audit(self, published: PublishedSet) -> Finding:
        """What the published table says: every cell has a number."""
        value = published.table(CELLS).texts.get_column(VALUE).cast(pl.Float64, strict=False)
        if value.null_count():
            raise PolicyError("a cell has no number")
        return Finding(True, 0, 0, 0)
