"""Approximate bounds: powers of two that the numbers of a column lie between; Wilson et al., "Differentially private
SQL with bounded user contribution", 2020."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import Column, Written, known_columns
from sfumato.dp.queries.query import Law, Part, Query
from sfumato.dp.rows import PrivateRows
from sfumato.dp.values import Public, Unit
from sfumato.errors import PolicyError

SMALLEST, LARGEST = -20, 49  # exponents of two of the ends of bins; numbers beyond are in the last
BY_CHANCE = 0.01  # how often a bin that nobody is in is taken for one that somebody is in


@dataclass(frozen=True)
class ApproximateBounds(Query):
    """The least and greatest powers of two between which the numbers of a column lie, for an owner who has no bounds.

    Rows are counted in public bins, each twice as wide as the one before it, on both sides of 0. The bounds are the
    ends of the outermost bins whose noisy counts are clearly above 0, so that a few extreme numbers are left out; None
    where none is.
    """

    column: Annotated[str, Column()]
    where: Annotated[Any, Written("text")] = None
    how: ClassVar[str] = "a unit has at most so many rows, and each is in one bin; where units are exchanged, in two"

    @property
    def columns(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    def _ends(self, public: Public) -> np.ndarray:
        """The ends of bins above 0; those below are the same with their signs changed."""
        known_columns(self.columns, public.schema)
        dtype = public.schema[self.column]
        if not (dtype.is_numeric() or dtype == pl.String):  # texts that are no numbers are in no bin
            raise PolicyError(f'"{self.column}" is no column of numbers', got=str(dtype))
        return 2.0 ** np.arange(0 if dtype.is_integer() else SMALLEST, LARGEST + 1)

    def parts(self, public: Public, unit: Unit) -> tuple[Part, ...]:
        """All bins together."""
        rows = unit.rows * unit.times
        return (Part(2 * len(self._ends(public)), rows, l2=unit.rows * math.sqrt(unit.times)),)

    def exact(self, rows: PrivateRows) -> list[np.ndarray]:
        """The rows of each bin, from the least to the greatest."""
        found = rows.of(self.columns, self.conditions)
        ends = self._ends(rows.public)
        x = found.column(self.column).cast(pl.Float64, strict=False).fill_null(float("nan")).to_numpy()
        size = np.minimum(np.searchsorted(ends, np.abs(x)), len(ends) - 1)
        place = np.where(x < 0, len(ends) - 1 - size, len(ends) + size)
        return [found.per_cell(np.where(np.isnan(x), -1, place), 2 * len(ends))]

    def answer(self, noisy: Sequence[Any], scales: Sequence[float], public: Public, law: Law) -> tuple[Any, Any]:
        """The ends of the outermost bins that somebody is in, but for a chance of 1%."""
        ends = self._ends(public)
        least = law.within(scales) * math.log(2 * len(ends) / (2 * BY_CHANCE)) / math.log(20)
        there = np.flatnonzero(np.array(noisy[0]) > least)
        if not len(there):
            return None, None
        edges = np.concatenate([-ends[::-1], [0.0], ends])
        return (float(edges[there[0]]), float(edges[there[-1] + 1])), None

    def read(self, stored: Any) -> Any:
        """Two ends, or None."""
        return None if stored is None else tuple(stored)
