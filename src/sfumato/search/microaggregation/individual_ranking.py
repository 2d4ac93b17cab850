"""Individual ranking, each column microaggregated by itself: Defays and Nanopoulos, Panels of enterprises and
confidentiality: the small aggregates method, 1993."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np
import polars as pl

from sfumato.core.masked import Change, Context, Fact, as_numbers, numbers_of
from sfumato.core.parameters import YesNo
from sfumato.search.microaggregation.mhm import MHM
from sfumato.search.microaggregation.step import Microaggregation


@dataclass(frozen=True)
class IndividualRanking(Microaggregation):
    """Group each column by itself: its values in order, cut into the groups of k to 2k - 1 rows that lose least.

    It loses far less than groups of all columns together, and protects less: a row takes part in another group in each
    column, so that rows may still be alone in what they have together. `fixed`: groups of k rows in place of the best.
    """

    fixed: Annotated[bool, YesNo()] = False

    leaves = "Columns are grouped one by one: a row may be the only one with its values in two of them."

    def groups(self, x: np.ndarray, k: int) -> np.ndarray:
        """The groups of one column, where they are optimal."""
        return MHM(fixed=self.fixed).groups(x[:, :1], k)

    def sentence(self) -> str:
        """What it does."""
        return (
            f"column by column, each value is replaced by the {self.aggregate} of a group of at least {self.k} values "
            "that are near"
        )

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Aggregate each group of each column."""
        x, k = numbers_of(columns, self), self.size(columns.height)
        y = np.full_like(x, np.nan)
        for c in range(x.shape[1]):
            rows = np.flatnonzero(~np.isnan(x[:, c]))
            if len(rows) >= k:
                inside = x[rows, c : c + 1]
                y[rows, c] = self.aggregated(inside, self.groups(inside - inside.mean(), k))[:, 0]
        stated = {"k": k, "each": True}
        return Change(as_numbers(columns, y), facts=(Fact("groups", tuple(columns.columns), stated),))
