"""The study's Mondrian cuts a random column among the allowed ones: every choice it can make, and seeded draws."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from benchmarks.study.inputs import Case

BINS = 40
Box = tuple[int, int, int, int]  # first and last code of both columns


class Cuts:
    """The cuts of a table of two numeric columns, counted on the grid of their values."""

    def __init__(self, case: Case) -> None:
        columns = [case.table.get_column(name).cast(int).to_numpy() for name in case.quasi]
        self.values, codes = zip(*(np.unique(column, return_inverse=True) for column in columns), strict=True)
        self.grid = np.zeros([len(values) for values in self.values], np.int64)
        np.add.at(self.grid, codes, 1)
        self.k, self.rows = case.k, len(columns[0])
        self.sides = cache(self._sides)
        self.cost = cache(self._cost)
        self.reach = cache(self._reach)
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


def run(case: Case, draws: int = 2000, seed: int = 1) -> dict[str, Any]:
    """The reachable losses, exactly, and a histogram of seeded draws."""
    cuts = Cuts(case)
    least, greatest, mean = cuts.reach(cuts.whole)
    rng = np.random.default_rng(seed)
    sample = [cuts.draw(rng) for _ in range(draws)]
    counts, edges = np.histogram(sample, bins=BINS, range=(least, greatest))
    return {
        "least": least,
        "greatest": greatest,
        "mean": mean,
        "draws": draws,
        "seed": seed,
        "counts": counts.tolist(),
        "edges": [round(edge, 9) for edge in edges.tolist()],
    }
