"""Numbers as whole ones on a public grid, so that sums are exact and noise is added to whole numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import polars as pl

STEPS = 2**20  # from the centre to the farther bound of a column, at least


@dataclass(frozen=True)
class Grid:
    """Numbers between two ends, less a centre, in steps of a power of two; whole numbers in steps of one.

    >>> Grid.of(0, 120, 60, whole=True)
    Grid(low=-60, high=60, centre=60.0, step=1.0)
    """

    low: int
    high: int
    centre: float
    step: float

    @staticmethod
    def of(low: float, high: float, centre: float = 0.0, whole: bool = False) -> Grid:
        """The grid of a column with these bounds."""
        farthest = max(abs(low - centre), abs(high - centre))
        step = 2.0 ** math.floor(math.log2(farthest / STEPS))
        if whole and centre == round(centre):
            step = max(step / 2**10, 1.0)  # whole numbers up to a thousand million are exact
        return Grid(math.floor((low - centre) / step), math.ceil((high - centre) / step), float(centre), step)

    @property
    def largest(self) -> int:
        """The most that a number can be away from the centre, in steps."""
        return max(abs(self.low), abs(self.high))

    def whole(self, column: pl.Series) -> np.ndarray:
        """Numbers of a column in steps, clipped to the ends; missing ones are 0."""
        known = column.fill_null(self.centre).to_numpy()
        near = np.clip(known, self.centre + self.low * self.step, self.centre + self.high * self.step)  # none overflows
        steps = np.rint((near - self.centre) / self.step)
        return np.clip(steps, self.low, self.high).astype(np.int64)
