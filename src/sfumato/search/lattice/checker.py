"""Source: cells made ready for checking many lattice nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from sfumato.core.cells import Cells, Classes, roll_up
from sfumato.core.compiled import share
from sfumato.core.keys import first_of, number_tuples
from sfumato.core.microdata import Attribute
from sfumato.search.lattice.kernels import check_nodes, group_room

FUSED = 8192  # values of a fused column; its maps then stay in the processor's cache
WORTH_A_THREAD = 100_000  # cells to look at before a second core pays


@dataclass(frozen=True, eq=False)
class Ladders:
    """The ladders of all attributes in flat arrays: label of code c at level l of attribute a is flat[at[a][l] + c]."""

    flat: np.ndarray
    at: tuple[np.ndarray, ...]
    size: tuple[np.ndarray, ...]  # labels per level
    values: tuple[int, ...]

    @staticmethod
    def of(attributes: Sequence[Attribute]) -> Ladders:
        """Flatten the ladders of the attributes."""
        at, start = [], 0
        for a in attributes:
            levels, values = a.ladder.of.shape
            at.append(start + values * np.arange(levels))
            start += levels * values
        flat = np.concatenate([a.ladder.of.reshape(-1) for a in attributes]).astype(np.int32)
        size = tuple(np.array([len(text) for text in a.ladder.text]) for a in attributes)
        return Ladders(flat, tuple(at), size, tuple(a.ladder.of.shape[1] for a in attributes))

    def table(self, attribute: int, level: int) -> np.ndarray:
        """The label of each code of an attribute at a level."""
        at = self.at[attribute][level]
        return self.flat[at : at + self.values[attribute]]


class NodeChecker:
    """Cells over some attributes, whose columns are fused into a few wide ones: a class key is then the sum of two or
    three look-ups per cell instead of one per attribute. The map of a fused column at given levels is made once."""

    def __init__(self, ladders: Ladders, cells: Cells, members: Sequence[int]) -> None:
        self.ladders, self.cells = ladders, cells
        self.members = np.array(members, dtype=np.int64)  # position of each column among all attributes
        self.columns: list[list[int]] = []  # columns that are fused together
        for i in range(len(members)):
            together = [*self.columns[-1], i] if self.columns else []
            values = math.prod(ladders.values[members[j]] for j in together)
            levels = math.prod(len(ladders.at[members[j]]) for j in together)
            if together and values <= FUSED and levels <= FUSED:
                self.columns[-1].append(i)
            else:
                self.columns.append([i])
        parts = [self._fuse(column) for column in self.columns]
        self.fused = np.stack([of for of, _ in parts])
        self.values = [values for _, values in parts]
        shapes = [tuple(len(ladders.at[members[j]]) for j in column) for column in self.columns]
        self.radix = [np.array([math.prod(shape[i + 1 :]) for i in range(len(shape))]) for shape in shapes]
        self.at = [np.full(math.prod(shape), -1, np.int64) for shape in shapes]
        self.size = [np.ones(math.prod(shape), np.int64) for shape in shapes]
        self.maps, self.used = np.zeros(1 << 14, np.int32), 0

    def _fuse(self, column: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """The fused code of each cell, and the codes of the columns per fused code."""
        values = [self.ladders.values[self.members[j]] for j in column]
        if len(column) == 1:
            return self.cells.codes[column[0]], np.arange(values[0], dtype=np.int32)[None, :]
        codes = self.cells.codes[column]
        of, classes = number_tuples(codes, [np.arange(size) for size in values], len(self.cells))
        return of, np.ascontiguousarray(codes[:, first_of(of, classes)])

    def prepare(self, nodes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the map of each fused column lies for each node, and how many labels it has."""
        where = np.empty((len(nodes), len(self.columns)), np.int64)
        size = np.empty_like(where)
        for g, column in enumerate(self.columns):
            levels = nodes[:, self.members[column]]
            number = levels @ self.radix[g]
            for b in np.flatnonzero(self.at[g][number] < 0):
                if self.at[g][number[b]] < 0:
                    self._make(g, column, int(number[b]), levels[b])
            where[:, g], size[:, g] = self.at[g][number], self.size[g][number]
        return where, size

    def _make(self, g: int, column: list[int], number: int, levels: np.ndarray) -> None:
        """The map of a fused column at given levels."""
        values, used = self.values[g], self.used
        width = values.shape[1]
        while used + width > len(self.maps):
            self.maps = np.concatenate([self.maps, np.zeros_like(self.maps)])
        members = self.members[column]
        tables = [self.ladders.table(m, level) for m, level in zip(members, levels, strict=True)]
        self.maps[used : used + width], self.size[g][number] = number_tuples(values, tables, width)
        self.at[g][number] = used
        self.used += width

    def classes(self, node: np.ndarray) -> Classes:
        """The classes of one node."""
        where, size = self.prepare(node[None, :])
        tables = [self.maps[w : w + values.shape[1]] for w, values in zip(where[0], self.values, strict=True)]
        fused = Cells((), self.fused, self.cells.count, tuple(int(s) for s in size[0]), self.cells.histograms)
        return roll_up(fused, tables, range(len(tables)))

    def check(
        self, nodes: np.ndarray, least: int, limit: int, gaps: np.ndarray, gap_at: np.ndarray, pool: ThreadPoolExecutor
    ) -> tuple[np.ndarray, np.ndarray]:
        """Class sizes, suppression and loss of nodes; see `kernels.check_nodes`."""
        where, size = self.prepare(nodes)
        found, extra = np.zeros((len(nodes), 5)), np.zeros(gap_at.shape)

        def run(part: slice, thread: int = 0) -> None:
            check_nodes(
                self.fused, self.cells.count, self.maps, where[part], size[part], least, limit, self.cells.codes,
                gaps, gap_at[part], self.members, *group_room(len(self.cells)), found[part], extra[part],
            )  # fmt: skip

        if len(nodes) < 2 or len(nodes) * len(self.cells) < WORTH_A_THREAD:
            run(slice(0, len(nodes)))
        else:
            share(run, np.ones(len(nodes)), pool)
        return found, extra

    def extra(self, gone: np.ndarray, gaps: np.ndarray, gap_at: np.ndarray) -> np.ndarray:
        """What suppressing the cells `gone` adds to the cost of each attribute of this source."""
        extra, count = np.zeros(len(gap_at)), self.cells.count[gone]
        for a, m in enumerate(self.members):
            if gap_at[m] >= 0:
                extra[m] = (count * gaps[gap_at[m] + self.cells.codes[a, gone]]).sum()
        return extra

    def without(self, members: np.ndarray) -> NodeChecker:
        """The same cells with some attributes at their root, which drops them."""
        return self.project([int(m) for m in self.members if m not in members])[0]

    def project(self, members: Sequence[int]) -> tuple[NodeChecker, np.ndarray]:
        """The cells over some of the attributes, and which of them each cell lies in."""
        keep = [i for i, m in enumerate(self.members) if m in members]
        tables = [np.arange(self.ladders.values[self.members[i]]) for i in keep]
        rolled = roll_up(self.cells, tables, keep)
        first = first_of(rolled.class_of_cell, len(rolled.size))
        histograms = {name: rolled.histogram(name) for name in self.cells.histograms}
        cells = Cells((), np.ascontiguousarray(self.cells.codes[keep][:, first]), rolled.size, (), histograms)
        return NodeChecker(self.ladders, cells, [int(self.members[i]) for i in keep]), rolled.class_of_cell
