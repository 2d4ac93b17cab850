"""Distinct count: how many different values a column has, missing ones left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from sfumato.core.parameters import Column, Written, known_columns
from sfumato.core.printed import printed
from sfumato.dp.queries.query import Law, Part, Query
from sfumato.dp.rows import PrivateRows
from sfumato.dp.values import Public, Unit


@dataclass(frozen=True)
class DistinctCount(Query):
    """How many different values a column has."""

    column: Annotated[str, Column()]
    where: Annotated[Any, Written("text")] = None
    how: ClassVar[str] = "a unit has at most so many rows, and each brings or takes one value at most"

    @property
    def columns(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    def parts(self, public: Public, unit: Unit) -> tuple[Part, ...]:
        """A number that one unit changes by its rows, also where another takes its place."""
        known_columns(self.columns, public.schema)
        return (Part(1, unit.rows),)

    def exact(self, rows: PrivateRows) -> list[np.ndarray]:
        """The different values, by their printed form."""
        found = rows.of(self.columns, self.conditions)
        return [np.array([printed(found.column(self.column)).drop_nulls().n_unique()])]

    def answer(self, noisy: Sequence[Any], scales: Sequence[float], public: Public, law: Law) -> tuple[Any, Any]:
        """A whole number."""
        value, half = int(noisy[0][0]), law.whole(scales[0])
        return value, (value - half, value + half)
