"""Mean of a column of numbers: a private sum about a public centre over a private count, never noise on the ratio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from sfumato.core.parameters import Column, Written
from sfumato.dp.grid import Grid
from sfumato.dp.queries.query import Law, Part, Query, ratio_interval
from sfumato.dp.rows import PrivateRows
from sfumato.dp.values import Public, Unit


def centred(public: Public, column: str) -> Grid:
    """The grid of a column about the middle of its bounds."""
    low, high = public.ends(column)
    return Grid.of(low, high, (low + high) / 2)


@dataclass(frozen=True)
class Mean(Query):
    """The mean of a column, of the rows that have a number."""

    column: Annotated[str, Column()]
    where: Annotated[Any, Written("text")] = None
    how: ClassVar[str] = (
        "a count of rows, and a sum of distances from the middle of the bounds: half the width of the bounds for each "
        "row"
    )

    @property
    def columns(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    def parts(self, public: Public, unit: Unit) -> tuple[Part, ...]:
        """A count, and a sum about the middle."""
        grid = centred(public, self.column)
        return Part(1, unit.rows), Part(1, unit.rows * unit.times * grid.largest, grid.step)

    def exact(self, rows: PrivateRows) -> list[np.ndarray]:
        """The rows with a number, and the sum of their distances in steps."""
        found = rows.of(self.columns, self.conditions, needed=self.columns)
        steps = found.steps(self.column, centred(rows.public, self.column))
        return [np.array([found.total(found.there(self.column))]), np.array([found.added(steps)])]

    def answer(self, noisy: Sequence[Any], scales: Sequence[float], public: Public, law: Law) -> tuple[Any, Any]:
        """The ratio, within the bounds, and what noise leaves open of it."""
        low, high = public.ends(self.column)
        middle, half = (low + high) / 2, (high - low) / 2
        value, ends = ratio_interval(
            noisy[1][0], noisy[0][0], (-half, half), lambda v: [scales[0] * abs(v), scales[1]], law
        )
        return middle + value, (middle + ends[0], middle + ends[1])
