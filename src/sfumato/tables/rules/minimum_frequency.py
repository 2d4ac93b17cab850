"""Minimum frequency: A. Hundepool et al., Statistical Disclosure Control, Wiley 2012, chapter 4."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sfumato.core.parameters import Real, Whole
from sfumato.tables.rules.model import CellModel, UnsafeCells, found
from sfumato.tables.values import StatTable


@dataclass(frozen=True)
class MinimumFrequency(CellModel):
    """A cell that has some contributors, but fewer than n, is unsafe.

    n: contributors that a cell needs. margin: of a sum, the share of it that has to stay open below and above; of a
    count, at least one person does.

    >>> import numpy as np, sfumato as sf
    >>> table = sf.tabulate({"sex": ["f", "f", "f", "m"]}, by=["sex"])
    >>> MinimumFrequency(3).unsafe(table).cells.tolist()  # *, f, m
    [False, False, True]
    """

    n: Annotated[int, Whole(2)]
    margin: Annotated[float, Real(0, above=True)] = 0.1

    def unsafe(self, table: StatTable) -> UnsafeCells:
        """The cells of 1 to n-1 contributors."""
        cells = (table.contributors > 0) & (table.contributors < self.n)
        return found(cells, cells * 1.0 if table.counts else self.margin * abs(table.value))

    def sentence(self) -> str:
        """What it says of a cell."""
        return f"A cell has no contributors, or at least {self.n}."
