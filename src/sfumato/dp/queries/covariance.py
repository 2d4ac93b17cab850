"""Covariance of two columns of numbers: a private count, two sums and a sum of products about public centres."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.dp.grid import Grid
from sfumato.dp.queries.mean import centred
from sfumato.dp.queries.query import Law, Part, Query
from sfumato.dp.rows import PrivateRows
from sfumato.dp.values import Public, Unit
from sfumato.errors import PolicyError


@dataclass(frozen=True)
class Covariance(Query):
    """The covariance of two columns, over all rows that have both numbers (not one fewer)."""

    one: str
    other: str
    where: Any = None
    how: ClassVar[str] = (
        "a count of rows, and sums of distances from the middle of the bounds of each column and of their products: "
        "half the width of the bounds for each row, and the product of both"
    )

    def __post_init__(self) -> None:
        if self.one == self.other:
            raise PolicyError("a covariance is of two columns", hint="that of a column with itself is its variance")

    @property
    def columns(self) -> tuple[str, ...]:
        """Both columns."""
        return (self.one, self.other)

    def _products(self, public: Public) -> Grid:
        (low, high), (least, most) = (public.ends(name) for name in self.columns)
        largest = (high - low) * (most - least) / 4
        return Grid.of(-largest, largest)

    def parts(self, public: Public, unit: Unit) -> tuple[Part, ...]:
        """A count, a sum about the middle of each column, and a sum of products."""
        sums = [centred(public, name) for name in self.columns]
        return Part(1, unit.rows), *(
            Part(1, unit.rows * unit.times * grid.largest, grid.step) for grid in (*sums, self._products(public))
        )

    def exact(self, rows: PrivateRows) -> list[np.ndarray]:
        """Rows, sums and products, in steps."""
        found = rows.of(self.columns, self.conditions, needed=self.columns)
        both = found.there(self.one) & found.there(self.other)
        near, sums = [], [found.total(both)]
        for name in self.columns:
            low, high = rows.public.ends(name)
            sums.append(found.added(found.steps(name, centred(rows.public, name)) * both))
            near.append((found.column(name).clip(low, high) - (low + high) / 2).fill_null(0.0))
        sums.append(found.added(self._products(rows.public).whole(near[0] * near[1]) * both))
        return [np.array([one]) for one in sums]

    def answer(self, noisy: Sequence[Any], scales: Sequence[float], public: Public, law: Law) -> tuple[Any, Any]:
        """The mean product less the product of the means, and to first order what noise leaves open of it."""
        rows = max(noisy[0][0], 1.0)
        x, y, product = (part[0] / rows for part in noisy[1:])
        value = product - x * y
        largest = self._products(public).largest * self._products(public).step
        errors = [abs(x * y - value) * scales[0], abs(y) * scales[1], abs(x) * scales[2], scales[3]]
        half = law.within([error / rows for error in errors])
        low, high = max(value - half, -largest), min(value + half, largest)
        return min(max(value, -largest), largest), (min(low, largest), max(high, -largest))
