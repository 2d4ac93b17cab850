"""Boxes: the columns as lines of places, on which a class covers a range, and what a range costs under the loss."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.kernels.boxes import box_costs
from sfumato.labels import Labels, at_level, of_nodes, of_ranges
from sfumato.losses import LM, NCP, LabelLoss
from sfumato.microdata import Attribute
from sfumato.search.problem import Partition, Problem, Split

LARGEST_TABLE = 512  # values of a column up to which the cost of every range is tabled


@dataclass(frozen=True, eq=False)
class Space:
    """The columns as lines of places: values in order, or the leaves of a hierarchy as they stand under its tree.

    A class covers a range of places in each column. In a column with order that is a range of values; along a tree it
    stands for the lowest node above it. `labels="hierarchy"` runs along the trees of all columns.
    """

    attributes: tuple[Attribute, ...]
    loss: Any
    labels: str = "range"

    @cached_property
    def columns(self) -> tuple[_Column, ...]:
        """One line per column, those first in which two rows are likely to cost most: sums then soon pass a bound."""
        loss = self.loss if isinstance(self.loss, LabelLoss) else LM()
        lines = [_Column(i, a, loss, self.labels == "hierarchy" or by_tree(a)) for i, a in enumerate(self.attributes)]
        return tuple(sorted(lines, key=lambda column: -column.spread()))

    @cached_property
    def arrays(self) -> tuple[np.ndarray, np.ndarray]:
        """The space as the kernels want it: see `kernels.boxes`."""
        shape, at = np.zeros((len(self.columns), 5), np.int64), 0
        parts: list[np.ndarray] = []
        for i, column in enumerate(self.columns):
            cost = column.table if column.places <= LARGEST_TABLE else column.line()
            shape[i] = column.shape(at, cost.size)
            parts += [cost.reshape(-1), np.array([column.weight])]
            at += cost.size + 1
        return shape, np.concatenate(parts).astype(np.float32)

    def points(self, problem: Problem) -> np.ndarray:
        """The place of each cell in each column, int32 [cells, columns]."""
        codes = problem.cells.codes
        return np.stack([column.place[codes[column.index]] for column in self.columns], axis=1)

    def partition(self, points: np.ndarray, of_cell: np.ndarray, split: Split | None = None) -> Partition:
        """The classes with the labels of their boxes."""
        lo, hi = boxes(points, of_cell)
        labels = {column.attribute.name: column.labels(lo[:, i], hi[:, i]) for i, column in enumerate(self.columns)}
        return Partition(of_cell.astype(np.int32), labels, split)

    def costs(self, lo: np.ndarray, hi: np.ndarray) -> np.ndarray:
        """The cost of each box: what a row in it loses, summed over the columns with their weights."""
        return np.asarray(box_costs(lo, hi, *self.arrays))


class _Column:
    """A column as a line of places; `place` gives the place of each code, `tree` the nodes [level, place] above."""

    def __init__(self, index: int, attribute: Attribute, loss: LabelLoss, by_tree: bool) -> None:
        self.index, self.attribute, self.loss = index, attribute, loss
        self.places = len(attribute.categories)
        self.weight = loss.weight(attribute)
        self.missing = self.places - 1 if attribute.categories.missing else -1
        self.tree: np.ndarray | None = None
        self.place = np.arange(self.places, dtype=np.int32)
        if by_tree:
            of = attribute.ladder.of
            standing = np.lexsort(of)  # the last row, the root, is the first key: leaves of a node stand together
            self.place[standing] = np.arange(self.places, dtype=np.int32)
            self.tree = of[:, standing]

    def labels(self, lo: np.ndarray, hi: np.ndarray) -> Labels:
        """The labels of ranges of places; `of` is per range."""
        if self.tree is None:
            return of_ranges(self.attribute, lo, hi)
        level = np.argmax(self.tree[:, lo] == self.tree[:, hi], axis=0)
        return of_nodes(self.attribute, level, self.tree[level, lo])

    def spread(self) -> float:
        """What two rows drawn at random cost together."""
        if self.places > LARGEST_TABLE:
            return self.weight / 3
        share = np.empty(self.places)
        share[self.place] = self.attribute.categories.count / self.attribute.categories.count.sum()
        return float(2 * share @ self.table @ share)

    @cached_property
    def table(self) -> np.ndarray:
        """The cost of every range, [lo, hi]; what lies below the diagonal is never asked for, and 0."""
        lo, hi = np.triu_indices(self.places)
        labels = self.labels(lo, hi)
        cost = np.zeros((self.places, self.places))
        cost[lo, hi] = self.loss.cost(labels)[labels.of] * self.weight
        return cost

    def line(self) -> np.ndarray:
        """Costs along the column from its first place; along a tree, per level and place, the node and its cost."""
        if self.tree is not None:
            levels = [at_level(self.attribute, level) for level in range(len(self.tree))]
            cost = [self.loss.cost(labels)[nodes] for labels, nodes in zip(levels, self.tree, strict=True)]
            return np.stack([self.tree, np.stack(cost) * self.weight], axis=-1)
        known = self.places if self.missing < 0 else self.missing
        additive = self.loss if isinstance(self.loss, LM | NCP) else NCP()
        labels = of_ranges(self.attribute, np.zeros(known, np.int64), np.arange(known))
        return np.append(additive.cost(labels)[labels.of] * self.weight, np.zeros(self.places - known))

    def shape(self, at: int, size: int) -> tuple[int, ...]:
        """Size, where its costs are, levels, place of missing values (along a tree: minus the places), their end."""
        if self.places <= LARGEST_TABLE:
            return self.places, at, 0, -1, at + size
        if self.tree is None:
            return 0, at, 0, self.missing, at + size
        return 0, at, len(self.tree), -self.places, at + size


def by_tree(attribute: Attribute) -> bool:
    """Whether a column runs along its hierarchy: it was given one, and its values have no order of their own."""
    return attribute.hierarchy is not None and not attribute.categories.ordered


def boxes(points: np.ndarray, of_cell: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least and greatest place of each class in each column, [classes, columns]; no class is empty."""
    order = np.argsort(of_cell, kind="stable")
    starts = np.flatnonzero(np.diff(of_cell[order], prepend=-1))
    sorted_points = points[order]
    return np.minimum.reduceat(sorted_points, starts), np.maximum.reduceat(sorted_points, starts)
