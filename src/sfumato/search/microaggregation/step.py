"""Microaggregation as a step that masks: rows take the aggregate of their group. Defays and Nanopoulos, 1993."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.masked import Change, Context, Fact, MaskStep, as_numbers, numbers_of, refuse_few
from sfumato.core.parameters import OneOf, Whole
from sfumato.search.microaggregation.groups import means, standardised

AGGREGATES = ("mean", "median")
BLOCK = 50_000  # rows; larger tables are cut, where pairs of rows are looked at


@dataclass(frozen=True)
class Microaggregation(MaskStep):
    """Rows in groups of at least k near ones, of which each takes the mean or the median.

    Rows that lack the same values are grouped among themselves; where fewer than k do, they lose their other values.

    k: the least number of rows of a group; that of the policy, where a search has one. aggregate: what each row takes.
    """

    k: Annotated[Any, Whole()] = None
    aggregate: Annotated[str, OneOf(AGGREGATES)] = "mean"

    kinds: ClassVar[tuple[str, ...]] = ("number",)
    leaves: ClassVar[str] = (
        "A group whose rows are alike shows their value; values of columns that it does not take still stand out."
    )

    @abstractmethod
    def groups(self, x: np.ndarray, k: int) -> np.ndarray:
        """The group of each row of a matrix, numbers from 0, of at least k rows each."""

    def sentence(self) -> str:
        """What it does."""
        return f"each value is replaced by the {self.aggregate} of a group of at least {self.k} rows that are near"

    def size(self, rows: int) -> int:
        """The least size of a group, checked."""
        if self.k is None:
            raise self.refuse("the size of groups is not given", allowed="a whole number, such as k=5")
        refuse_few(rows, self.k, self)
        return int(self.k)

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Aggregate each group."""
        x, k = numbers_of(columns, self), self.size(columns.height)
        z = standardised(x)
        y = np.full_like(x, np.nan)
        for rows, there in by_missing(np.isnan(x), k):
            inside = np.ix_(rows, there)
            y[inside] = self.aggregated(x[inside], self.groups(z[inside], k))
        return Change(as_numbers(columns, y), facts=(Fact("groups", tuple(columns.columns), {"k": k}),))

    def aggregated(self, x: np.ndarray, groups: np.ndarray) -> np.ndarray:
        """The aggregate of its group for each row."""
        return (means if self.aggregate == "mean" else medians)(x, groups)[groups]


def by_missing(missing: np.ndarray, k: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """The rows that lack values in the same columns, at least k of them, and the columns that they have."""
    patterns, of = np.unique(missing, axis=0, return_inverse=True)
    of = of.reshape(-1)
    parts = [(np.flatnonzero(of == i), np.flatnonzero(~pattern)) for i, pattern in enumerate(patterns)]
    return [(rows, there) for rows, there in parts if len(rows) >= k and len(there)]


def medians(matrix: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The median of each group, [groups, columns]: the mean of the two in the middle where their number is even.

    >>> medians(np.array([[1.0], [2.0], [8.0], [5.0], [7.0]]), np.array([0, 0, 0, 1, 1])).tolist()
    [[2.0], [6.0]]
    """
    size = np.bincount(groups)
    start = np.cumsum(size) - size
    found = np.empty((len(size), matrix.shape[1]))
    for c, column in enumerate(matrix.T):
        ranked = column[np.lexsort((column, groups))]
        found[:, c] = (ranked[start + (size - 1) // 2] + ranked[start + size // 2]) / 2
    return found
