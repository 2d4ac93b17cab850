"""The study's Mondrian cuts a random column among the allowed ones: every choice it can make, and seeded draws."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import polars as pl
from scipy.signal import fftconvolve

from benchmarks.study.inputs import Case

BINS = 40
Box = tuple[int, int, int, int]  # first and last code of both columns


class Cuts:
    """The cuts of a table of two numeric columns, counted on the grid of their values."""

    def __init__(self, case: Case) -> None:
        columns = [_numbers(case.table.get_column(name)) for name in case.quasi]
        self.values, codes = zip(*(np.unique(column, return_inverse=True) for column in columns), strict=True)
        self.grid = np.zeros([len(values) for values in self.values], np.int64)
        np.add.at(self.grid, codes, 1)
        self.k, self.rows = case.k, len(columns[0])
        self.sides = cache(self._sides)
        self.cost = cache(self._cost)
        self.reach = cache(self._reach)
        self.sums = cache(self._sums)
        spans = [int(values[-1] - values[0]) for values in self.values]
        self.whole_loss = spans[0] * spans[1] * self.rows  # losses are whole numbers over this one
        self.whole: Box = (0, self.grid.shape[0] - 1, 0, self.grid.shape[1] - 1)

    def _sides(self, box: Box) -> list[tuple[Box, Box]]:
        """The two sides of every allowed cut: v <= lower median, v > it, both with k rows at least."""
        found = []
        part = self.grid[box[0] : box[1] + 1, box[2] : box[3] + 1]
        for axis in (0, 1):
            below = np.cumsum(part.sum(1 - axis))
            cut = int(np.searchsorted(below, (below[-1] - 1) // 2, side="right"))
            if min(below[cut], below[-1] - below[cut]) >= self.k:
                at, left, right = box[2 * axis] + cut, list(box), list(box)
                left[2 * axis + 1], right[2 * axis] = at, at + 1
                found.append((tuple(left), tuple(right)))
        return found

    def _cost(self, box: Box) -> float:
        """What the rows of a class cost: the range of its values over that of the table, per column."""
        part = self.grid[box[0] : box[1] + 1, box[2] : box[3] + 1]
        cost = 0.0
        for axis, values in enumerate(self.values):
            held = box[2 * axis] + np.flatnonzero(part.sum(1 - axis))
            cost += float(values[held[-1]] - values[held[0]]) / float(values[-1] - values[0])
        return cost * int(part.sum()) / self.rows

    def _reach(self, box: Box) -> tuple[float, float, float]:
        """The least and the greatest loss that any choices give, and the mean over choices at even odds."""
        sides = self.sides(box)
        if not sides:
            return (self.cost(box),) * 3
        ends = np.array([np.add(self.reach(left), self.reach(right)) for left, right in sides])
        return float(ends[:, 0].min()), float(ends[:, 1].max()), float(ends[:, 2].mean())

    def reaches(self, numerator: int) -> bool:
        """Whether some choices give a loss of exactly so many parts of `whole_loss`."""
        least, found = self.sums(self.whole)
        return 0 <= numerator - least < len(found) and bool(found[numerator - least])

    def _sums(self, box: Box) -> tuple[int, np.ndarray]:
        """The least numerator that any choices give, and which of those from it on can be given."""
        if not (sides := self.sides(box)):
            return round(self.cost(box) * self.whole_loss), np.ones(1, np.bool_)
        both = [(self.sums(left), self.sums(right)) for left, right in sides]
        found = [(a + b, fftconvolve(x, y.astype(np.float64)) > 0.5) for (a, x), (b, y) in both]
        least = min(start for start, _ in found)
        reached = np.zeros(max(start + len(some) for start, some in found) - least, np.bool_)
        for start, some in found:
            reached[start - least : start - least + len(some)] |= some
        return least, reached

    def draw(self, rng: np.random.Generator) -> float:
        """The loss of one draw."""
        open_boxes, loss = [self.whole], 0.0
        while open_boxes:
            box = open_boxes.pop()
            sides = self.sides(box)
            if sides:
                open_boxes += sides[int(rng.integers(len(sides)))]
            else:
                loss += self.cost(box)
        return loss


def _numbers(column: pl.Series) -> np.ndarray:
    """A column of numbers as it is, texts as their places in the alphabet."""
    try:
        return column.cast(pl.Int64).to_numpy()
    except pl.exceptions.InvalidOperationError:
        return (column.rank("dense") - 1).cast(pl.Int64).to_numpy()


def run(case: Case, numerator: int, draws: int = 2000, seed: int = 1) -> dict[str, Any]:
    """The reachable losses, exactly, whether a published one is among them, and a histogram of seeded draws."""
    cuts = Cuts(case)
    least, greatest, mean = cuts.reach(cuts.whole)
    rng = np.random.default_rng(seed)
    sample = [cuts.draw(rng) for _ in range(draws)]
    counts, edges = np.histogram(sample, bins=BINS, range=(least, greatest))
    return {
        "least": least,
        "greatest": greatest,
        "mean": mean,
        "published": {"numerator": numerator, "of": cuts.whole_loss, "reached": cuts.reaches(numerator)},
        "draws": draws,
        "seed": seed,
        "counts": counts.tolist(),
        "edges": [round(edge, 9) for edge in edges.tolist()],
    }
