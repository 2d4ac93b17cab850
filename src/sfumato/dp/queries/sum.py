"""Sum of a column of numbers, clipped to public bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from sfumato.core.parameters import Column, Written
from sfumato.dp.grid import Grid
from sfumato.dp.queries.query import Law, Part, Query
from sfumato.dp.rows import PrivateRows
from sfumato.dp.values import Public, Unit


@dataclass(frozen=True)
class Sum(Query):
    """The sum of a column; a missing number counts as none."""

    column: Annotated[str, Column()]
    where: Annotated[Any, Written("text")] = None
    how: ClassVar[str] = "a unit has at most so many rows, and none adds more than the bound that is farther from zero"

    @property
    def columns(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    def _grid(self, public: Public) -> Grid:
        return Grid.of(*public.ends(self.column), whole=public.schema[self.column].is_integer())

    def parts(self, public: Public, unit: Unit) -> tuple[Part, ...]:
        """A number that one unit changes by the larger bound, or where it is exchanged by all between them and zero."""
        grid = self._grid(public)
        most = grid.largest if unit.times == 1 else max(grid.high, 0) - min(grid.low, 0)
        return (Part(1, unit.rows * most, grid.step),)

    def exact(self, rows: PrivateRows) -> list[np.ndarray]:
        """The sum in steps."""
        found = rows.of(self.columns, self.conditions, needed=self.columns)
        return [np.array([found.added(found.steps(self.column, self._grid(rows.public)))])]

    def answer(self, noisy: Sequence[Any], scales: Sequence[float], public: Public, law: Law) -> tuple[Any, Any]:
        """The sum, and what noise leaves open."""
        value, half = noisy[0][0], law.within(scales)
        return value, (value - half, value + half)
