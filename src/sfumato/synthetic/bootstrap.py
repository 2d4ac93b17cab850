"""Bootstrap: rows of the table, drawn with replacement; Efron, Annals of Statistics 1979. The baseline that protects
nobody."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from sfumato.synthetic.generator import FitContext, SyntheticGenerator
from sfumato.synthetic.model import FittedModel


@dataclass(frozen=True)
class Bootstrap(SyntheticGenerator):
    """Rows of the table, drawn with replacement: as useful as can be, and every row is a person's."""

    @property
    def copies_people(self) -> bool:
        """Always."""
        return True

    @property
    def leaves(self) -> str:
        """What it does not protect from."""
        return "Every row is a row of a person: it is a baseline for measures, and no protection."

    def fit(self, table: pl.DataFrame, context: FitContext) -> BootstrapModel:
        """Keep the rows."""
        return BootstrapModel(table)

    def sentence(self) -> str:
        """How the rows were made."""
        return "rows of the table, drawn with replacement"


@dataclass(frozen=True, eq=False, repr=False)
class BootstrapModel(FittedModel):
    """The rows of a table."""

    table: pl.DataFrame

    def draw(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """Some of the rows."""
        return self.table[rng.integers(0, self.table.height, rows)]
