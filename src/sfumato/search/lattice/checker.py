"""Cells made ready for checking many lattice nodes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.core.cells import Cells, Classes, Histogram, classes_of, roll_up
from sfumato.core.compiled import share
from sfumato.core.keys import first_of, number_tuples
from sfumato.core.microdata import Attribute
from sfumato.search.lattice.kernels import check_nodes, group_room, merge_classes, number_classes, number_labels
from sfumato.search.lattice.value_limits import DENSE, Limits, bound_nodes

FUSED = 8192  # values of a fused column; its maps then stay in the processor's cache
WORTH_A_THREAD = 500_000  # cells to look at before a second core pays
SMALL_TABLE = 1 << 12  # keys of few cells that are counted in a table

NO_VALUE, NO_COUNT = np.zeros(0, np.int32), np.zeros(0, np.int64)

Maps = tuple[np.ndarray, np.ndarray]  # per node and fused column, where its map lies, and of how many labels
Room = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Ladders:
    """The ladders of all attributes in flat arrays: label of code c at level l of attribute a is flat[at[a][l] + c]."""

    flat: np.ndarray
    at: tuple[np.ndarray, ...]
    size: tuple[np.ndarray, ...]  # labels per level
    values: tuple[int, ...]

    @cached_property
    def tables(self) -> np.ndarray:
        """Where the labels of each attribute and level begin, and how many there are."""
        found = np.zeros((2, len(self.at), max(map(len, self.at))), np.int64)
        for a, (at, size) in enumerate(zip(self.at, self.size, strict=True)):
            found[:, a, : len(at)] = at, size
        return found

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


class FusedColumns:
    """Columns fused into a few wide ones: a class key is then the sum of two or three look-ups per cell instead of one
    per attribute. The map of a fused column at given levels is made once."""

    def __init__(self, ladders: Ladders, cells: Cells, members: np.ndarray) -> None:
        self.ladders, self.members = ladders, members
        self.columns: list[list[int]] = []  # columns that are fused together
        for i in range(len(members)):
            together = [*self.columns[-1], i] if self.columns else []
            values = math.prod(ladders.values[members[j]] for j in together)
            levels = math.prod(len(ladders.at[members[j]]) for j in together)
            if together and values <= FUSED and levels <= FUSED:
                self.columns[-1].append(i)
            else:
                self.columns.append([i])
        parts = [self._fuse(cells, column) for column in self.columns]
        self.codes = np.stack([of for of, _ in parts])  # of each cell
        self.values = [values for _, values in parts]
        shapes = [tuple(len(ladders.at[members[j]]) for j in column) for column in self.columns]
        self.radix = [np.array([math.prod(shape[i + 1 :]) for i in range(len(shape))]) for shape in shapes]
        self.at = [np.full(math.prod(shape), -1, np.int64) for shape in shapes]
        self.size = [np.ones(math.prod(shape), np.int64) for shape in shapes]
        self.maps, self.used = np.zeros(1 << 14, np.int32), 0
        labels = [math.prod(int(ladders.size[members[j]].max()) for j in column) for column in self.columns]
        self.seen = np.empty(max(labels), np.int32)
        self.rooms: dict[int, Room] = {}  # of each thread

    def _fuse(self, cells: Cells, column: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """The fused code of each cell, and the codes of the columns per fused code."""
        values = [self.ladders.values[self.members[j]] for j in column]
        if len(column) == 1:
            return cells.codes[column[0]], np.arange(values[0], dtype=np.int32)[None, :]
        codes = cells.codes[column]
        of, classes = number_tuples(codes, [np.arange(size) for size in values], len(cells))
        return of, np.ascontiguousarray(codes[:, first_of(of, classes)])

    def prepare(self, nodes: np.ndarray) -> Maps:
        """Where the map of each fused column lies for each node, and how many labels it has."""
        where = np.empty((len(nodes), len(self.columns)), np.int64)
        size = np.empty_like(where)
        for g, column in enumerate(self.columns):
            levels = nodes[:, self.members[column]]
            number = levels @ self.radix[g]
            at = self.at[g][number]
            if at.min() < 0:
                for b in np.flatnonzero(at < 0):
                    if self.at[g][number[b]] < 0:
                        self._make(g, int(number[b]), levels[b])
                at = self.at[g][number]
            where[:, g], size[:, g] = at, self.size[g][number]
        return where, size

    def _make(self, g: int, number: int, levels: np.ndarray) -> None:
        """The map of a fused column at given levels."""
        values, used = self.values[g], self.used
        width = values.shape[1]
        while used + width > len(self.maps):
            self.maps = np.concatenate([self.maps, np.zeros_like(self.maps)])
        ladders, members = self.ladders, self.members[self.columns[g]]
        at, size = (table[members, levels] for table in ladders.tables)  # each in one piece, as the kernel takes them
        to = self.maps[used : used + width]
        self.size[g][number] = number_labels(values, ladders.flat, at, size, self.seen, to)
        self.at[g][number] = used
        self.used += width

    def room(self, cells: int, thread: int) -> Room:
        """Room of a thread to group so many of the cells."""
        if thread not in self.rooms:
            self.rooms[thread] = group_room(self.codes.shape[1])
        slot, rows, keys = self.rooms[thread]
        return slot, rows if cells == len(slot) else rows[: max(SMALL_TABLE, 4 * cells)], keys


@dataclass(frozen=True, eq=False)
class NodeClasses:
    """The classes of several nodes that have rows enough, one after the other, as criteria see them."""

    node: np.ndarray  # which of the nodes each class is of
    size: np.ndarray
    counted: Mapping[str, Histogram]

    def histogram(self, attribute: str) -> Histogram:
        """Counts of a sensitive attribute per class."""
        return self.counted[attribute]


class NodeChecker:
    """Cells over some attributes, to be grouped at many nodes."""

    def __init__(self, ladders: Ladders, cells: Cells, members: Sequence[int]) -> None:
        self.ladders, self.cells = ladders, cells
        self.members = np.array(members, dtype=np.int64)  # position of each column among all attributes
        self.columns = FusedColumns(ladders, cells, self.members)
        self.fused = self.columns.codes
        self.owners: dict[str, np.ndarray] = {}

    @property
    def maps(self) -> np.ndarray:
        """The maps of the fused columns."""
        return self.columns.maps

    def prepare(self, nodes: np.ndarray) -> Maps:
        """Where the map of each fused column lies for each node, and how many labels it has."""
        return self.columns.prepare(nodes)

    def classes(self, node: np.ndarray) -> Classes:
        """The classes of one node."""
        where, size = self.columns.prepare(node[None, :])
        widths = [values.shape[1] for values in self.columns.values]
        tables = [self.columns.maps[w : w + width] for w, width in zip(where[0], widths, strict=True)]
        fused = Cells((), self.fused, self.cells.count, tuple(int(s) for s in size[0]), self.cells.histograms)
        return roll_up(fused, tables, range(len(tables)))

    def rolled(self, node: np.ndarray, pool: ThreadPoolExecutor) -> NodeChecker:
        """The same for the generalisations of a node: what is one class there is one cell."""
        _, classes, of = self.number(node[None, :], self.prepare(node[None, :]), 1, 0, pool)
        found = node_classes([(self, np.zeros(1, np.int64), classes, of)], tuple(self.cells.histograms))
        first = first_of(of[0], len(found.size))
        less = copy(self)
        less.cells = Cells((), self.cells.codes.take(first, axis=1), found.size, (), found.counted)
        less.fused, less.owners = self.fused.take(first, axis=1), {}
        return less

    def owner(self, name: str) -> np.ndarray:
        """The cell of each entry of a histogram."""
        if name not in self.owners:
            self.owners[name] = np.repeat(
                np.arange(len(self.cells), dtype=np.int32), np.diff(self.cells.histograms[name].start)
            )
        return self.owners[name]

    def check(
        self,
        nodes: np.ndarray,
        maps: Maps,
        least: int,
        limit: int,
        gaps: np.ndarray,
        gap_at: np.ndarray,
        pool: ThreadPoolExecutor,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Class sizes, suppression and loss of nodes with their maps; see `kernels.check_nodes`."""
        found, extra = np.zeros((len(nodes), 5)), np.zeros(gap_at.shape)

        def run(some: slice, fused: np.ndarray, room: Room) -> None:
            check_nodes(
                fused, self.cells.count, self.maps, maps[0][some], maps[1][some], least, limit, self.cells.codes, gaps,
                gap_at[some], self.members, *room, found[some], extra[some],
            )  # fmt: skip

        self._run(run, nodes, pool)
        return found, extra

    def number(
        self, nodes: np.ndarray, maps: Maps, least: int, limit: int, pool: ThreadPoolExecutor
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The same without the loss, how many classes of at least so many rows each node has, and which of them each
        cell lies in; see `kernels.number_classes`."""
        found, classes = np.zeros((len(nodes), 5)), np.zeros(len(nodes), np.int64)
        of = np.empty((len(nodes), len(self.cells)), np.int32)

        def run(some: slice, fused: np.ndarray, room: Room) -> None:
            number_classes(
                fused, self.cells.count, self.maps, maps[0][some], maps[1][some], least, limit, *room, found[some],
                classes[some], of[some],
            )  # fmt: skip

        self._run(run, nodes, pool)
        return found, classes, of

    def bound(
        self, nodes: np.ndarray, maps: Maps, least: int, limit: int, limits: Limits, pool: ThreadPoolExecutor
    ) -> tuple[np.ndarray, np.ndarray]:
        """What nodes suppress at least under limits per value, and their specialisations; see `bound_nodes`."""
        found, floor = np.zeros((len(nodes), 5)), np.zeros(len(nodes))
        h = self.cells.histograms[limits.attribute]
        cell = self.owner(limits.attribute)

        def run(some: slice, fused: np.ndarray, room: Room) -> None:
            table = limits.room(room)
            bound_nodes(
                fused, self.cells.count, cell, h.value, h.count, self.maps, maps[0][some], maps[1][some], least,
                limit, limits.rows, limits.shares, limits.numbers, limits.logs, *room, table, found[some], floor[some],
            )  # fmt: skip

        self._run(run, nodes, pool)
        return found, floor

    def merge(self, classes: np.ndarray, of: np.ndarray, name: str | None) -> tuple[np.ndarray, ...]:
        """Of the classes of several nodes that were numbered: sizes, lengths of the runs of a histogram, its values and
        counts."""
        cells = self.cells
        nothing = Histogram(np.zeros(len(cells) + 1, np.int64), NO_VALUE, NO_COUNT, NO_COUNT, ())
        h = cells.histograms[name] if name else nothing
        total, most, values = int(classes.sum()), int(classes.max()), len(h.overall)
        if most * values > DENSE:
            return _merge_by_sorting(cells, classes, of, str(name))
        size, width = np.zeros(total, np.int64), np.zeros(total, np.int64)
        entries = min(total * values, len(of) * len(h.value)) + 1
        value, count = np.empty(entries, np.int32), np.empty(entries, np.int64)
        table = np.zeros(most * values, np.int64)
        run = h.start, h.value, h.count, values
        used = merge_classes(classes, of, cells.count, *run, table, size, width, value, count)
        return size, width, value[:used], count[:used]

    def _run(self, run: Callable[[slice, np.ndarray, Room], None], nodes: np.ndarray, pool: ThreadPoolExecutor) -> None:
        """Run over all nodes, in several threads where that pays."""

        def part(some: slice, thread: int) -> None:
            room = self.columns.room(len(self.cells), thread)
            for these, fused in self._fused(nodes, some):
                run(these, fused, room)

        if len(nodes) < 2 or len(nodes) * len(self.cells) < WORTH_A_THREAD:
            part(slice(0, len(nodes)), 0)
        else:
            share(part, np.ones(len(nodes)), pool)

    def _fused(self, nodes: np.ndarray, some: slice) -> Iterator[tuple[slice, np.ndarray]]:
        """The fused codes of the cells, for some of the nodes at a time."""
        yield some, self.fused

    def extra(self, gone: np.ndarray, gaps: np.ndarray, gap_at: np.ndarray) -> np.ndarray:
        """What suppressing the cells `gone` adds to the cost of each attribute of this source."""
        extra, count = np.zeros(len(gap_at)), self.cells.count[gone]
        for a, m in enumerate(self.members):
            if gap_at[m] >= 0:
                extra[m] = (count * gaps[gap_at[m] + self.cells.codes[a, gone]]).sum()
        return extra

    def project(self, members: Sequence[int]) -> tuple[NodeChecker, np.ndarray]:
        """The cells over some of the attributes, and which of them each cell lies in."""
        keep = [i for i, m in enumerate(self.members) if m in members]
        tables = [np.arange(self.ladders.values[self.members[i]]) for i in keep]
        rolled = roll_up(self.cells, tables, keep)
        first = first_of(rolled.class_of_cell, len(rolled.size))
        histograms = {name: rolled.histogram(name) for name in self.cells.histograms}
        cells = Cells((), np.ascontiguousarray(self.cells.codes[keep][:, first]), rolled.size, (), histograms)
        return NodeChecker(self.ladders, cells, [int(self.members[i]) for i in keep]), rolled.class_of_cell


def _merge_by_sorting(cells: Cells, classes: np.ndarray, of: np.ndarray, name: str) -> tuple[np.ndarray, ...]:
    """The same for an attribute with so many values that there is no table of them."""
    parts = []
    for n, own in zip(classes, of, strict=True):
        if n:
            inside = np.flatnonzero(own >= 0)
            found = classes_of(cells.take(inside), own[inside], int(n))
            h = found.histogram(name)
            parts.append((found.size, np.diff(h.start), h.value, h.count))
    return tuple(np.concatenate(arrays) for arrays in zip(*parts, strict=True))


Numbered = tuple[NodeChecker, np.ndarray, np.ndarray, np.ndarray]  # a source, its nodes, their classes, those of cells


def node_classes(parts: Sequence[Numbered], names: Sequence[str]) -> NodeClasses:
    """The classes of nodes that were numbered, with the histograms of the attributes."""
    node = np.concatenate([np.repeat(nodes, classes) for _, nodes, classes, _ in parts])
    counted, size = {}, np.zeros(0, np.int64)
    for name in names or (None,):
        runs = [source.merge(classes, of, name) for source, _, classes, of in parts]
        size, width, value, count = (np.concatenate(arrays) for arrays in zip(*runs, strict=True))
        if name:
            h = parts[0][0].cells.histograms[name]
            start = np.concatenate([[0], np.cumsum(width)])
            counted[name] = Histogram(start, value, count, h.overall, h.text, h.ancestor)
    return NodeClasses(node, size, counted)
