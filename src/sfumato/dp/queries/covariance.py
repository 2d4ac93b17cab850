"""Covariance of two columns of numbers: a private count, two sums and a sum of products about public centres."""

from __future__ import annotations

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
from sfumato.errors import PolicyError


@dataclass(frozen=True)
class Covariance(Query):
    """The covariance of two columns, over all rows that have both numbers (not one fewer).

    one: a column of numbers. other: another one.
    """

    one: Annotated[str, Column()]
    other: Annotated[str, Column()]
    where: Annotated[Any, Written("text")] = None
    how: ClassVar[str] = (
        "a count of rows, and sums of distances from the middle of the bounds of each column and of their products: "
        "half the width of the bounds for each row, and the product of both"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
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
        """The mean product about the noisy means, and what noise leaves open of it, as these matter to second order
        only."""
        rows, *sums, products = (part[0] for part in noisy)
        halves = [(high - low) / 2 for low, high in map(public.ends, self.columns)]
        x, y = (min(max(one / max(rows, 1.0), -half), half) for one, half in zip(sums, halves, strict=True))
        largest = halves[0] * halves[1]

        def errors(v: float) -> list[float]:
            return [abs(x * y - v) * scales[0], abs(y) * scales[1], abs(x) * scales[2], scales[3]]

        about = products - y * sums[0] - x * sums[1] + x * y * rows
        return ratio_interval(about, rows, (-largest, largest), errors, law)
