"""Exchange: rows that repeat a unique row of the original give a value for that of another row of the same leaf."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from sfumato.synthetic.tree_columns import TreeColumn, among, index_of

TRIES = 15  # partners that a row is offered, in each column


class Exchange:
    """Drawn rows while values are exchanged between them, each with a number that tells it from others: the sum of a
    random number for each of its values (Zobrist, "A new hashing method with application for game playing", 1970)."""

    def __init__(self, trees: Sequence[TreeColumn], drawn: pl.DataFrame, original: pl.DataFrame) -> None:
        self.trees, self.rows = trees, drawn.height
        self.x, self.index, self.number = [], [], []
        self.codes = np.zeros((len(trees) + 1, self.rows), np.uint16)
        self.mark, real = np.zeros(self.rows, np.uint64), np.zeros(original.height, np.uint64)
        chance = np.random.default_rng(0)
        for j, one in enumerate(trees):
            x, given = (one.column.encode(frame.get_column(one.column.name)) for frame in (drawn, original))
            values, place = np.unique(np.concatenate([x, given]), return_inverse=True)
            numbers = chance.integers(0, 2**64, len(values), np.uint64)[place]
            self.x.append(x.copy())
            self.index.append(index_of(x, one.column, one.points))
            self.number.append(numbers[: self.rows])
            self.codes[j] = one.places[self.index[j]]
            self.mark += numbers[: self.rows]
            real += numbers[self.rows :]
        found, often = np.unique(real, return_counts=True)
        self.alone = found[often == 1]
        self.repeats = self._repeated(self.mark)
        self.taken = np.full(self.rows, self.rows, np.int64)

    def _repeated(self, mark: np.ndarray) -> np.ndarray:
        return among(mark, self.alone)

    def among_leaves(self, j: int, up: int, rng: np.random.Generator) -> None:
        """Exchange values of a column between rows that repeat one and others of their leaf, or of a node so far up."""
        leaf = self.trees[j].leaf_of(self.codes, self.index[j])
        parent = self.trees[j].stages[-1].tree.parents()
        for _ in range(up):
            leaf = parent[leaf]
        order, size = np.argsort(leaf, kind="stable"), np.bincount(leaf)
        first = np.cumsum(size) - size
        number, index = self.number[j], self.index[j]
        for _ in range(TRIES):
            one = np.flatnonzero(self.repeats)
            other = order[first[leaf[one]] + (rng.random(len(one)) * size[leaf[one]]).astype(np.int64)]
            turn = np.arange(len(one))
            np.minimum.at(self.taken, one, turn)
            np.minimum.at(self.taken, other, turn)
            own = (number[one] != number[other]) & (self.taken[one] == turn) & (self.taken[other] == turn)
            self.taken[one] = self.taken[other] = self.rows
            one, other = one[own], other[own]
            moved = number[other] - number[one]
            after = self._repeated(self.mark[one] + moved), self._repeated(self.mark[other] - moved)
            fewer = after[0].astype(np.int8) + after[1] < 1 + self.repeats[other]
            fewer[fewer] = self._possible(j, one[fewer], other[fewer])
            if not fewer.any():
                return
            one, other, moved = one[fewer], other[fewer], moved[fewer]
            self.mark[one] += moved
            self.mark[other] -= moved
            self.repeats[one], self.repeats[other] = after[0][fewer], after[1][fewer]
            for values in (number, index, self.x[j], self.codes[j]):
                values[one], values[other] = values[other], values[one]

    def _possible(self, j: int, one: np.ndarray, other: np.ndarray) -> np.ndarray:
        """Whether the exchanged values and those of later columns go with others: rows of their leaves have them."""
        both, swapped, found = np.append(one, other), np.append(other, one), np.ones(len(one), np.bool_)
        codes = self.codes[:, both]
        codes[j] = self.codes[j, swapped]
        for k in range(j, len(self.trees)):
            if self.trees[k].stages:
                fits = self.trees[k].fits(codes, self.index[k][swapped if k == j else both])
                found &= fits[: len(one)] & fits[len(one) :]
        return found
