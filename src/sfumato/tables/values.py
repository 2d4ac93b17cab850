"""StatTable: counts or magnitudes over the product of hierarchies, with all totals; the sums that it keeps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.hierarchy import Categories, Hierarchy
from sfumato.core.wording import Described, count
from sfumato.errors import ColumnError, HierarchyError, PolicyError

ROOT = "*"
MISSING = "(missing)"  # where a row has no value in a column
VALUE, STATUS = "value", "status"
MOST_CELLS = 5_000_000
PUBLISHED, PRIMARY, SECONDARY = 0, 1, 2  # what a cell is
STATUSES = ("published", "primary", "secondary")


@dataclass(frozen=True, eq=False)
class Dimension:
    """A column of a table and its hierarchy: all nodes, the root first and parents before their children.

    `parent` is the node above each (-1 above the root), `level` the node of each value at every level of the
    hierarchy, from the values themselves up to the root.
    """

    name: str
    labels: tuple[str, ...]
    parent: np.ndarray  # int32 [nodes]
    level: np.ndarray  # int32 [levels, leaves]

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def leaf(self) -> np.ndarray:
        """The node of each value of the column."""
        return self.level[0]

    @cached_property
    def depth(self) -> np.ndarray:
        """How many nodes stand above each."""
        found = np.zeros(len(self), np.int32)
        for node in range(1, len(self)):
            found[node] = found[self.parent[node]] + 1
        return found

    @cached_property
    def children(self) -> tuple[np.ndarray, ...]:
        """The nodes directly below each."""
        order = np.argsort(self.parent, kind="stable")
        start = np.searchsorted(self.parent[order], np.arange(len(self) + 1))
        return tuple(order[start[i] : start[i + 1]] for i in range(len(self)))

    def nodes_at(self, level: int) -> np.ndarray:
        """Which nodes are published at a level: those on it and above, and the brothers of each.

        A node on the level may have brothers below it where branches are not equally deep. Were these left out, they
        could be told from the total and the others.
        """
        found = np.zeros(len(self), np.bool_)
        found[self.level[level:]] = True
        while True:
            parents = np.zeros(len(self), np.bool_)
            parents[self.parent[1:][found[1:]]] = True
            more = found.copy()
            more[1:] |= parents[self.parent[1:]]
            if (more == found).all():
                return found
            found = more

    def upto(self, kept: np.ndarray) -> np.ndarray:
        """The finest of some nodes, the root among them, that each node is part of, by its place among these."""
        place = np.cumsum(kept) - 1
        for node in range(1, len(self)):
            if not kept[node]:
                place[node] = place[self.parent[node]]
        return place

    def coarsened(self, level: int) -> tuple[Dimension, np.ndarray]:
        """The dimension without the categories below a level, and which nodes those are that are left."""
        kept = self.nodes_at(level)
        place = self.upto(kept)
        parent = np.where(self.parent[kept] < 0, -1, place[np.maximum(self.parent[kept], 0)]).astype(np.int32)
        lines = place[np.concatenate([self.level[:1], self.level[level + 1 :]])]
        lines = lines[:, np.sort(np.unique(lines[0], return_index=True)[1])].astype(np.int32)
        labels = tuple(label for label, there in zip(self.labels, kept, strict=True) if there)
        return Dimension(self.name, labels, parent, lines), np.flatnonzero(kept)

    def added_up(self, cells: np.ndarray, axis: int) -> np.ndarray:
        """Numbers per value along an axis as numbers per node."""
        found = np.zeros((len(self), *np.delete(cells.shape, axis)), cells.dtype)
        found[self.leaf] = np.moveaxis(cells, axis, 0)
        with np.errstate(over="ignore"):  # of cell keys, what is over 64 bits is left out
            for node in range(len(self) - 1, 0, -1):
                found[self.parent[node]] += found[node]
        return np.moveaxis(found, 0, axis)


def dimension_of(categories: Categories, hierarchy: Hierarchy | None) -> tuple[Dimension, np.ndarray]:
    """The dimension that a column makes, and the leaf of each of its codes.

    Without a hierarchy its values stand under the root. A label on two levels of one branch is one node.

    >>> sex = Categories("sex", "text", ("f", "m"), None, np.array([1, 2]))
    >>> dimension_of(sex, None)[0].labels
    ('*', 'f', 'm')
    """
    known = [text for text in categories.text if text is not None]
    missing = [MISSING] if categories.missing else []
    if hierarchy is None:
        paths: list[tuple[str, ...]] = [(text, ROOT) for text in known]
        of = np.arange(len(categories))
    else:
        place = hierarchy.locate(known)
        if (place < 0).any():
            raise HierarchyError(
                f'the hierarchy of "{categories.name}" lacks {int((place < 0).sum())} of the {len(known)} values'
                " of the column", hint="add them to the hierarchy",
            )  # fmt: skip
        paths = hierarchy.paths()
        of = np.append(place, [len(paths)] * len(missing))
    root = paths[0][-1] if paths else ROOT
    paths += [(label, root) for label in missing]
    return _of_paths(categories.name, paths, root), of.astype(np.int64)


def _of_paths(name: str, paths: Sequence[tuple[str, ...]], root: str) -> Dimension:
    """The nodes of the paths of all values, each from the value up to the root."""
    labels, parent = [root], [-1]
    number: dict[tuple[str, ...], int] = {(root,): 0}
    levels = max(map(len, paths), default=1)
    level = np.zeros((levels, len(paths)), np.int32)
    for at, path in enumerate(paths):
        down = [root]
        short = levels - len(path)  # a missing value stands right below the root
        for height, label in enumerate(reversed((*path[:1] * short, *path)[:-1]), 2):
            if label != down[-1]:
                above = number[tuple(down)]
                down.append(label)
                if tuple(down) not in number:
                    number[tuple(down)] = len(labels)
                    labels.append(label)
                    parent.append(above)
            level[levels - height, at] = number[tuple(down)]
    inner = set(parent)
    twice = len(labels) - len({*labels}) + sum(int(node) in inner for node in level[0])
    if twice:
        raise HierarchyError(
            f'{twice} {"label" if twice == 1 else "labels"} of "{name}" stand for two different cells, such as a value'
            f' called "{root}", or a town and a region of one name', hint="rename one of them",
        )  # fmt: skip
    return Dimension(name, tuple(labels), np.array(parent, np.int32), level)


@dataclass(frozen=True, eq=False)
class TableGrid:
    """A product of dimensions, and the number of each of its cells, an axis per dimension."""

    dimensions: tuple[Dimension, ...]
    cell: np.ndarray  # int64


@dataclass(frozen=True, eq=False, repr=False)
class StatTable(Described):
    """Cells over the product of hierarchies with all totals; nothing of it is protected.

    Arrays have an axis per dimension, a place per node. `value` is what would be published: the count, or the sum of
    `measured`. `largest` are the largest contributions to each cell, greatest first, by absolute value, after those of
    one contributor were added up; `gross` is the sum of all absolute contributions. Owners alone may see it.
    """

    dimensions: tuple[Dimension, ...]
    measured: str | None  # None: the cells are counts
    count: np.ndarray  # int64, rows
    value: np.ndarray  # float64
    contributors: np.ndarray  # int64
    largest: np.ndarray  # float64 [..., most]
    gross: np.ndarray  # float64
    decimals: int = 0
    requests: np.ndarray | None = None  # int64, contributors who asked for confidentiality
    keys: np.ndarray | None = None  # uint64, the sum of the record keys of its rows, without what is over 64 bits
    negative: bool = False  # whether contributions may be below zero
    reading: Mapping[str, Any] = field(default_factory=dict)
    fingerprint: str | None = None
    finer: StatTable | None = None  # with categories that are not published, where there are any
    kept: tuple[np.ndarray, ...] = ()  # the nodes of its dimensions that are
    private: frozenset[str] = frozenset()  # columns whose categories that are not published are nobody's business

    def full(self, axis: int) -> tuple[Dimension, np.ndarray]:
        """A dimension with the categories below those that are published, where everybody may know these, and which of
        its nodes are published."""
        own = self.dimensions[axis]
        if self.finer is None or own.name in self.private:
            return own, np.arange(len(own))
        return self.finer.dimensions[axis], self.kept[axis]

    @property
    def grids(self) -> tuple[TableGrid, ...]:
        """The products of dimensions that its cells are in: one."""
        return (TableGrid(self.dimensions, np.arange(self.value.size).reshape(self.shape)),)

    @property
    def members(self) -> tuple[tuple[StatTable, np.ndarray], ...]:
        """The tables that are published of it, and the number of each of their cells: itself."""
        return ((self, np.arange(self.value.size).reshape(self.shape)),)

    @property
    def by(self) -> tuple[str, ...]:
        """The columns that the cells are counted by."""
        return tuple(dimension.name for dimension in self.dimensions)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many nodes each dimension has."""
        return tuple(len(dimension) for dimension in self.dimensions)

    @property
    def whole(self) -> bool:
        """Whether its cells are natural numbers."""
        return self.measured is None and self.decimals == 0

    @cached_property
    def counts(self) -> bool:
        """Whether its cells are how many rows there are, without weights."""
        return self.whole and bool((self.value == self.count).all())

    @cached_property
    def people(self) -> bool:
        """Whether each row it counts is a contributor of its own."""
        return self.counts and bool((self.count == self.contributors).all())

    @property
    def data(self) -> pl.DataFrame:
        """Every cell by its labels, with value, rows and contributors; for its owner alone."""
        rows = {"rows": self.count.ravel(), "contributors": self.contributors.ravel()}
        return self.labelled().with_columns(self.published(self.value), **{k: pl.Series(v) for k, v in rows.items()})

    def labelled(self) -> pl.DataFrame:
        """The labels of every cell, in the order of the arrays."""
        return label_frame(self.dimensions)

    def published(self, value: np.ndarray, hidden: np.ndarray | None = None) -> pl.Series:
        """Values of all cells as a column: whole numbers where they are, null where hidden."""
        flat = np.round(value.ravel(), self.decimals)
        column = pl.Series(VALUE, flat)
        column = column.cast(pl.Int64) if self.decimals == 0 and bool((flat == np.rint(flat)).all()) else column
        if hidden is None:
            return column
        return pl.select(pl.when(pl.Series(~hidden.ravel())).then(column).alias(VALUE)).to_series()

    def described(self) -> tuple[str, Sequence[tuple[str, str]]]:
        """Its columns and how many cells it has."""
        what = "counts" if self.measured is None else f'sums of "{self.measured}"'
        return f"Table of {what}, not protected", [
            *((one.name, count(len(one), "category", "categories")) for one in self.dimensions),
            ("cells", f"{self.value.size:,}"),
        ]


def coarsened(table: StatTable, levels: Mapping[str, int], private: frozenset[str] = frozenset()) -> StatTable:
    """The table as it is published down to some levels of its hierarchies; the rest of it stays `finer`, and which
    values there are of `private` columns is not told."""
    made = [one.coarsened(levels.get(one.name, 0)) for one in table.dimensions]
    if all(len(nodes) == len(one) for (_, nodes), one in zip(made, table.dimensions, strict=True)):
        return table
    kept = tuple(nodes for _, nodes in made)
    at = np.ix_(*kept)
    arrays: dict[str, Any] = {
        name: None if (own := getattr(table, name)) is None else own[at]
        for name in ("count", "value", "contributors", "largest", "gross", "requests", "keys")
    }
    return replace(table, dimensions=tuple(one for one, _ in made), **arrays, finer=table, kept=kept, private=private)


def label_frame(dimensions: Sequence[Dimension]) -> pl.DataFrame:
    """The labels of every cell of a table, in the order of its arrays."""
    shape = [len(one) for one in dimensions]
    place = np.indices(shape, np.int32).reshape(len(shape), -1)
    return pl.DataFrame(
        [pl.Series(one.name, one.labels, pl.String).gather(at) for one, at in zip(dimensions, place, strict=True)]
    )


@dataclass(frozen=True, eq=False)
class CellSums:
    """The sums that a table has to keep: in each, the cell of a total, and the cells that it is the sum of.

    `cell` has the cells of all sums one after the other, the total first; sum i is start[i]:start[i + 1].
    """

    cell: np.ndarray  # int64
    start: np.ndarray  # int64
    dimension: np.ndarray  # int32, along which each adds up

    def __len__(self) -> int:
        return len(self.start) - 1

    @cached_property
    def sign(self) -> np.ndarray:
        """-1 at the total of each sum, 1 at its parts."""
        found = np.ones(len(self.cell))
        found[self.start[:-1]] = -1
        return found

    @cached_property
    def row(self) -> np.ndarray:
        """The sum that each entry of `cell` belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.start))


def table_sums(table: StatTable) -> CellSums:
    """All sums of a table, or of several that share cells."""
    cells, widths, along = [], [], []
    for grid in table.grids:
        one = cell_sums(grid.dimensions)
        cell, width = grid.cell.ravel()[one.cell], np.diff(one.start)
        first = one.start[:-1]
        # a total that is its only part is the same cell
        same = (width == 2) & (cell[first] == cell[np.minimum(first + 1, len(cell) - 1)])
        cells.append(cell[~same[one.row]])
        widths.append(width[~same])
        along.append(one.dimension[~same])
    start = np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(widths))])
    return CellSums(np.concatenate(cells), start, np.concatenate(along))


def cell_sums(dimensions: Sequence[Dimension]) -> CellSums:
    """All sums of a table: every node with children, with every combination of the other dimensions."""
    shape = tuple(len(one) for one in dimensions)
    every = np.arange(prod(shape)).reshape(shape)
    cells, sizes, along = [], [], []
    for axis, one in enumerate(dimensions):
        lines = np.moveaxis(every, axis, 0).reshape(len(one), -1)
        for node, below in enumerate(one.children):
            if len(below):
                block = np.concatenate([lines[[node]], lines[below]])  # a sum per column
                cells.append(block.T.ravel())
                sizes.append(np.full(block.shape[1], block.shape[0]))
                along.append(np.full(block.shape[1], axis, np.int32))
    start = np.concatenate([[0], np.cumsum(np.concatenate(sizes))]) if sizes else np.zeros(1, np.int64)
    cell = np.concatenate(cells) if cells else np.zeros(0, np.int64)
    return CellSums(cell, start, np.concatenate(along) if along else np.zeros(0, np.int32))


def check_names(by: Sequence[str]) -> None:
    """Raise a ColumnError for columns that would be called as those that a published table has of its own."""
    if clash := [name for name in by if name in (VALUE, STATUS)]:
        raise ColumnError(
            f'a published table has a column "{clash[0]}" of its own', hint="rename the column of the data"
        )


def check_size(dimensions: Sequence[Dimension]) -> None:
    """Raise a PolicyError for a table of more cells than can be held."""
    cells = prod(len(one) for one in dimensions)
    if cells > MOST_CELLS:
        raise PolicyError(
            "the table would have too many cells", got=f"{cells:,}", allowed=f"{MOST_CELLS:,}",
            hint="count by fewer columns, or coarsen them by a hierarchy",
        )  # fmt: skip


def ancestors(dimensions: Sequence[Dimension], cell: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """The cells that a cell is part of, itself first."""
    lines = []
    for one, node in zip(dimensions, cell, strict=True):
        line = [node]
        while one.parent[line[-1]] >= 0:
            line.append(int(one.parent[line[-1]]))
        lines.append(line)
    yield from (
        tuple(int(i) for i in each) for each in np.array(np.meshgrid(*lines, indexing="ij")).reshape(len(lines), -1).T
    )
