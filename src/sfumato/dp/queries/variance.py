"""Variance and standard deviation of a column: a private count, sum and sum of squares about a public centre."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from sfumato.core.parameters import Column, Written
from sfumato.dp.grid import Grid
from sfumato.dp.queries.mean import centred
from sfumato.dp.queries.query import Law, Part, Query, ratio_interval
from sfumato.dp.rows import PrivateRows
from sfumato.dp.values import Public, Unit


@dataclass(frozen=True)
class Variance(Query):
    """The variance of a column, over all its rows (not one fewer); never below 0."""

    column: Annotated[str, Column()]
    where: Annotated[Any, Written("text")] = None
    how: ClassVar[str] = (
        "a count of rows, and sums of distances from the middle of the bounds and of their squares: half the width of "
        "the bounds for each row, and its square"
    )

    @property
    def columns(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    def _squares(self, public: Public) -> Grid:
        low, high = public.ends(self.column)
        return Grid.of(0.0, ((high - low) / 2) ** 2)

    def parts(self, public: Public, unit: Unit) -> tuple[Part, ...]:
        """A count, a sum about the middle, and a sum of squares about it."""
        grid, squares = centred(public, self.column), self._squares(public)
        return (
            Part(1, unit.rows),
            Part(1, unit.rows * unit.times * grid.largest, grid.step),
            Part(1, unit.rows * squares.largest, squares.step),
        )

    def exact(self, rows: PrivateRows) -> list[np.ndarray]:
        """Rows, sum and sum of squares, in steps."""
        found = rows.of(self.columns, self.conditions, needed=self.columns)
        known = found.column(self.column)
        low, high = rows.public.ends(self.column)
        near = (known.clip(low, high) - (low + high) / 2).fill_null(0.0)
        steps = found.steps(self.column, centred(rows.public, self.column))
        return [
            np.array([found.total(found.there(self.column))]),
            np.array([found.added(steps)]),
            np.array([found.added(self._squares(rows.public).whole(near * near))]),
        ]

    def answer(self, noisy: Sequence[Any], scales: Sequence[float], public: Public, law: Law) -> tuple[Any, Any]:
        """The mean square about the noisy mean, and what noise leaves open of it, as that mean matters to second order
        only."""
        low, high = public.ends(self.column)
        half = (high - low) / 2
        rows, total, squares = (part[0] for part in noisy)
        mean = min(max(total / max(rows, 1.0), -half), half)

        def errors(v: float) -> list[float]:
            return [abs(mean * mean - v) * scales[0], 2 * abs(mean) * scales[1], scales[2]]

        about = squares - 2 * mean * total + mean * mean * rows
        return ratio_interval(about, rows, (0.0, half * half), errors, law)


@dataclass(frozen=True)
class StandardDeviation(Variance):
    """The square root of the variance of a column."""

    def answer(self, noisy: Sequence[Any], scales: Sequence[float], public: Public, law: Law) -> tuple[Any, Any]:
        """The roots of those of the variance."""
        value, (low, high) = super().answer(noisy, scales, public, law)
        return math.sqrt(value), (math.sqrt(low), math.sqrt(high))
