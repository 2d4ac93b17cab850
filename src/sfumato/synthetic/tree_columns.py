"""How a column is drawn by its trees: what their leaves give, and numbers smoothed inside a leaf."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.synthetic.columns import SyntheticColumn
from sfumato.synthetic.tree import Tree


@dataclass(frozen=True, eq=False, repr=False)
class Stage:
    """A tree and what its leaves give."""

    predictors: np.ndarray  # int32: columns by their visits
    offset: np.ndarray  # int64: where the ranks of a predictor begin, -1 where its codes are in order
    ranks: np.ndarray  # uint16
    tree: Tree
    donors: np.ndarray  # int32, leaf by leaf

    def leaf_of(self, codes: np.ndarray, root: np.ndarray) -> np.ndarray:
        """The leaf of each row."""
        own = np.empty((len(self.predictors), len(root)), np.uint16)
        for k, (i, at) in enumerate(zip(self.predictors.tolist(), self.offset.tolist(), strict=True)):
            own[k] = codes[i] if at < 0 else self.ranks[at + codes[i].astype(np.int64)]
        return self.tree.leaves(own, root)

    def pick(self, leaf: np.ndarray, u: np.ndarray) -> np.ndarray:
        """A donor of the leaf of each row."""
        return self.donors[self.tree.start[leaf] + (u * self.tree.size[leaf]).astype(np.int64)]


@dataclass(frozen=True, eq=False, repr=False)
class TreeColumn:
    """How a column is drawn given those before it, by its trees; without any it is kept, or computed."""

    column: SyntheticColumn
    points: np.ndarray  # the different numbers of the column, ascending
    places: np.ndarray  # uint16: code of each of them as a predictor, missing first
    stages: tuple[Stage, ...]
    smoothing: str | None

    def codes(self, x: np.ndarray) -> np.ndarray:
        """Values as codes for later trees; a number between two of the column counts as the lower."""
        return self.places[index_of(x, self.column, self.points)]

    @cached_property
    def _root(self) -> np.ndarray:
        """The root of the tree that each value is drawn from."""
        tree, root = self.stages[-1].tree, np.zeros(len(self.places), np.int32)
        root[self.stages[-1].donors] = np.repeat(np.arange(tree.roots), tree.size[: tree.roots])
        return root

    @cached_property
    def _pairs(self) -> np.ndarray:
        """The leaves with the values of their rows, each pair as a number, sorted."""
        return np.unique(self.stages[-1].tree.leaf_of_donors() * len(self.places) + self.stages[-1].donors)

    def leaf_of(self, codes: np.ndarray, index: np.ndarray) -> np.ndarray:
        """The leaf of each row, by its earlier columns and the group of its value."""
        return self.stages[-1].leaf_of(codes, self._root[index])

    def fits(self, codes: np.ndarray, index: np.ndarray) -> np.ndarray:
        """Whether the leaf of each row has a row with its value."""
        return among(self.leaf_of(codes, index).astype(np.int64) * len(self.places) + index, self._pairs)

    def draw(self, codes: np.ndarray, rows: int, rng: np.random.Generator) -> np.ndarray:
        """New values of rows whose earlier columns are known."""
        root = np.zeros(rows, np.int32)
        for stage in self.stages[:-1]:
            root = stage.pick(stage.leaf_of(codes, root), rng.random(rows))
        last = self.stages[-1]
        leaf, u = last.leaf_of(codes, root), rng.random(rows)
        if not self.column.is_number:
            return last.pick(leaf, u) - np.int32(1)
        values = np.append(np.nan, self.points)
        if self.smoothing == "spline":
            x = spline(values[last.donors], last.tree.start[leaf], last.tree.size[leaf], u)
        else:
            x = values[last.pick(leaf, u)]
            if self.smoothing == "kernel":
                x = kernel_of(x, values[last.donors], last.tree, leaf, rng.standard_normal(rows))
        if self.smoothing is None:
            return x
        low, high = self.column.low, self.column.high  # what leads beyond the ends comes back, or they would be a spike
        return self.column.encode(self.column.decode(high - np.abs(high - low - np.abs(x - low))))


def index_of(x: np.ndarray, column: SyntheticColumn, points: np.ndarray) -> np.ndarray:
    """The place of each value among those of its column, from 1 on; 0 where it is missing."""
    if not column.is_number:
        return np.asarray(x + 1, np.int64)
    below = np.searchsorted(points, x, "right") if len(points) else np.zeros(len(x), np.int64)
    return np.where(np.isnan(x), 0, np.maximum(below, min(len(points), 1)))


def among(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Which values are among some known ones, which are sorted."""
    if not len(known):
        return np.zeros(len(values), np.bool_)
    return known[np.minimum(np.searchsorted(known, values), len(known) - 1)] == values


def spline(values: np.ndarray, start: np.ndarray, size: np.ndarray, u: np.ndarray) -> np.ndarray:
    """A quantile of the sorted values of a leaf, by monotone cubic pieces between them (Fritsch and Carlson 1980), and
    by straight ones for half a step beyond the ends, so that no value is drawn as it was."""
    at = u * size - 0.5
    i = np.clip(np.floor(at).astype(np.int64), 0, np.maximum(size - 2, 0))
    t = at - i

    def value(place: np.ndarray) -> np.ndarray:
        return values[start + np.clip(place, 0, size - 1)]

    low, high = value(i), value(i + 1)
    step = high - low
    with np.errstate(invalid="ignore", divide="ignore"):
        before, after = low - value(i - 1), value(i + 2) - high
        rise = np.where(before * step > 0, 2 * before * step / (before + step), 0.0)
        fall = np.where(after * step > 0, 2 * after * step / (after + step), 0.0)
    t2, t3 = t * t, t * t * t
    inside = low + step * (3 * t2 - 2 * t3) + rise * (t3 - 2 * t2 + t) + fall * (t3 - t2)
    return np.where((t < 0) | (t > 1), low + step * t, inside)


def kernel_of(x: np.ndarray, values: np.ndarray, tree: Tree, leaf: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Values moved by a normal kernel, and drawn to the mean of their leaf to keep its variance (Silverman 1986)."""
    leaves = np.flatnonzero((tree.feature < 0) & (tree.size > 0))
    start, size = tree.start[leaves], tree.size[leaves]
    order = np.argsort(start)
    start, size, leaves = start[order], size[order], leaves[order]
    mean, spread = np.zeros(len(tree.size)), np.zeros(len(tree.size))
    mean[leaves] = np.add.reduceat(values, start) / size
    spread[leaves] = np.sqrt(np.add.reduceat((values - np.repeat(mean[leaves], size)) ** 2, start) / size)
    width = 0.9 * tree.size[leaf] ** -0.2
    return mean[leaf] + (x - mean[leaf] + width * spread[leaf] * z) / np.sqrt(1 + width * width)
