"""Linked tables: L. H. Cox, Suppression methodology and statistical disclosure control, Journal of the American
Statistical Association 75(370), 1980; A. Dobra and S. E. Fienberg, Bounds for cell entries in contingency tables given
marginal totals and decomposable graphs, PNAS 97(22), 2000 (when margins that agree always come from one table).

A cell is a set of people: those who have some of the values of each column. Cells of two tables with the same values
are one cell, and a coarser one is the sum of finer ones, whether these are published or not. Nothing here knows how the
tables were protected: tables of other tools are linked in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
import polars as pl

from sfumato.core.wording import count
from sfumato.criteria.cells.published import (
    ROOT,
    CellGrid,
    Edges,
    PublishedCells,
    TableDimension,
    infer_dimensions,
)
from sfumato.errors import HierarchyError, PolicyError

MOST_LINKED = 2_000_000  # cells of all tables together, with those that they are the sums of
TABLE = "table"  # the column that says which table a cell is of

Values = frozenset[str]


@dataclass(frozen=True, eq=False)
class LinkedTable:
    """A table of a set: of each of its dimensions all labels, down to the values of the column, and which are shown.

    Values that no label of the table shows by itself are known to be part of the labels above them.
    """

    name: str
    dimensions: tuple[TableDimension, ...]
    shown: tuple[tuple[bool, ...], ...]

    @staticmethod
    def of(name: str, frame: pl.DataFrame, by: Sequence[str], edges: Mapping[str, Edges] | None = None) -> LinkedTable:
        """The table of a frame: it shows the labels that it has; `edges` may go further down."""
        found = infer_dimensions(frame, by, edges)
        there = [{*frame.get_column(one.name).cast(pl.String)} for one in found]
        shown = tuple(tuple(label in own for label in one.labels) for one, own in zip(found, there, strict=True))
        return LinkedTable(name, found, shown)

    def published(self) -> tuple[TableDimension, ...]:
        """The dimensions as the table shows them."""
        return tuple(_thinned(one, shown) for one, shown in zip(self.dimensions, self.shown, strict=True))


def _thinned(one: TableDimension, shown: Sequence[bool]) -> TableDimension:
    """A dimension without some of its nodes: what was below one of them is below the node above it."""
    if not shown[0]:
        raise HierarchyError(f'"{one.name}" has no total', allowed="one root")
    place = [0] * len(shown)
    labels: list[str] = []
    parent: list[int] = []
    for node, (label, above) in enumerate(zip(one.labels, one.parent, strict=True)):
        if shown[node]:
            place[node] = len(labels)
            labels.append(label)
            parent.append(-1 if above < 0 else place[above])
        else:
            place[node] = place[above]
    return TableDimension(one.name, tuple(labels), tuple(parent))


@dataclass(frozen=True, eq=False)
class CellLinks:
    """Which cells of some tables are the same: `grids` has each table with all cells that it is made of, as they are
    numbered in all tables together, and the table that links them all where only that says all that is known.

    `places` has the number of each cell that a table shows; `first` of each cell the first table that shows it, -1
    where none does.
    """

    tables: tuple[LinkedTable, ...]
    grids: tuple[CellGrid, ...]
    places: tuple[np.ndarray, ...]
    first: np.ndarray

    @property
    def size(self) -> int:
        """How many cells there are."""
        return len(self.first)


@dataclass(frozen=True, eq=False)
class LinkedCells(PublishedCells):
    """The cells of several tables, by number; those that no table shows are hidden, and not asked for.

    `exhibited`: what is asked for, among all cells; None for all that are hidden in a table.
    """

    links: CellLinks | None = field(default=None, repr=False)
    exhibited: np.ndarray | None = field(default=None, repr=False)

    @property
    def grids(self) -> tuple[CellGrid, ...]:
        """The tables that its cells are in."""
        assert self.links is not None
        return self.links.grids

    @property
    def asked(self) -> np.ndarray:
        """Which of the hidden cells are asked for."""
        assert self.links is not None
        every = self.links.first >= 0 if self.exhibited is None else self.exhibited
        return every[self.hidden_cells]

    def labelled(self, cells: np.ndarray) -> pl.DataFrame:
        """The first table that has each cell, and its labels there; of columns that the table does not have, none."""
        assert self.links is not None
        tables, of = self.links.tables, np.full(self.values.size, -1)
        at = np.zeros(self.values.size, np.int64)
        for i, grid in reversed([*enumerate(self.links.grids)]):
            of[grid.cell], at[grid.cell] = i, np.arange(grid.cell.size).reshape(grid.cell.shape)
        shown = self.links.first >= 0
        of[shown] = self.links.first[shown]
        for i, grid in enumerate(self.links.grids):
            own = of[grid.cell] == i
            at[grid.cell[own]] = np.arange(grid.cell.size).reshape(grid.cell.shape)[own]
        columns = dict.fromkeys(one.name for grid in self.links.grids for one in grid.dimensions)
        named = [tables[i].name if 0 <= i < len(tables) else "all together" for i in of[cells]]
        texts: dict[str, list[str | None]] = {name: [None] * len(cells) for name in columns}
        for i, grid in enumerate(self.links.grids):
            own = np.flatnonzero(of[cells] == i)
            for one, nodes in zip(grid.dimensions, np.unravel_index(at[cells[own]], grid.cell.shape), strict=True):
                for place, node in zip(own.tolist(), nodes.tolist(), strict=True):
                    texts[one.name][place] = one.labels[node]
        return pl.DataFrame({TABLE: named, **texts}, schema={TABLE: pl.String, **dict.fromkeys(columns, pl.String)})


def link_tables(tables: Sequence[LinkedTable]) -> CellLinks:
    """Find which cells of some tables are the same, and what they are made of.

    A HierarchyError where a column has other values in one of the tables, so that nobody can say which.
    """
    columns = [*dict.fromkeys(one.name for table in tables for one in table.dimensions)]
    atoms: dict[str, list[Values]] = {}
    refined: dict[tuple[int, str], tuple[TableDimension, list[Values]]] = {}
    for name in columns:
        of = {i: _holds(table, name) for i, table in enumerate(tables) if _axis(table, name) is not None}
        atoms[name] = _atoms(name, [finest for _, finest in of.values()])
        for i, (holds, finest) in of.items():
            refined[i, name] = _refined(tables[i], name, holds, finest, atoms[name])
    grids = [tuple(refined[i, one.name] for one in table.dimensions) for i, table in enumerate(tables)]
    if not _decomposable([{one.name for one in table.dimensions} for table in tables]):
        grids.append(tuple(_flat(name, atoms[name]) for name in columns))
    sizes = [prod(len(one.labels) for one, _ in grid) for grid in grids]
    if sum(sizes) > MOST_LINKED:
        what = "the tables together would have too many cells"
        raise PolicyError(what, got=f"{sum(sizes):,}", allowed=f"{MOST_LINKED:,}", hint="link fewer tables")
    numbers, size = _numbered(columns, atoms, grids, sizes)
    made = tuple(CellGrid(tuple(one for one, _ in grid), cell) for grid, cell in zip(grids, numbers, strict=True))
    places = tuple(
        grid.cell[np.ix_(*([one.labels.index(t) for t in two.labels] for one, two in _pairs(grid, table)))]
        for grid, table in zip(made, tables, strict=False)
    )
    first = np.full(size, -1)
    for i in reversed(range(len(tables))):
        first[places[i]] = i
    return CellLinks(tuple(tables), made, places, first)


def _pairs(grid: CellGrid, table: LinkedTable) -> Iterable[tuple[TableDimension, TableDimension]]:
    return zip(grid.dimensions, table.published(), strict=True)


def _axis(table: LinkedTable, name: str) -> int | None:
    return next((i for i, one in enumerate(table.dimensions) if one.name == name), None)


def _holds(table: LinkedTable, name: str) -> tuple[dict[str, Values], dict[str, str]]:
    """The values of the column that each label holds, and the finest shown label that each value is part of."""
    axis = _axis(table, name)
    assert axis is not None
    one, shown = table.dimensions[axis], table.shown[axis]
    own: list[set[str]] = [set() for _ in one.labels]
    inner = {int(p) for p in one.parent}
    finest = {}
    for leaf, label in enumerate(one.labels):
        if leaf in inner:
            continue
        node, found = leaf, None
        while node >= 0:
            own[node].add(label)
            found = one.labels[node] if found is None and shown[node] else found
            node = one.parent[node]
        finest[label] = str(found)
    return {label: frozenset(values) for label, values in zip(one.labels, own, strict=True)}, finest


def _atoms(name: str, finest: Sequence[Mapping[str, str]]) -> list[Values]:
    """The sets of values that no table tells apart."""
    if any(own.keys() != finest[0].keys() for own in finest):
        raise HierarchyError(
            f'"{name}" has other values in one of the tables',
            hint="give the hierarchy of the column down to the same values for each, also where it does not show them",
        )  # fmt: skip
    found: dict[tuple[str, ...], set[str]] = {}
    for value in finest[0]:
        found.setdefault(tuple(own[value] for own in finest), set()).add(value)
    return [frozenset(values) for values in found.values()]


def _refined(
    table: LinkedTable, name: str, holds: Mapping[str, Values], finest: Mapping[str, str], atoms: Sequence[Values]
) -> tuple[TableDimension, list[Values]]:
    """A dimension with the sets of values that are told apart below its finest labels, and what each node holds."""
    axis = _axis(table, name)
    assert axis is not None
    one = table.published()[axis]
    labels, parent, own = [*one.labels], [*one.parent], [holds[label] for label in one.labels]
    place = {label: i for i, label in enumerate(labels)}
    for atom in atoms:
        above = place[finest[min(atom)]]
        if own[above] != atom:
            labels.append(_name(atom, place))
            parent.append(above)
            own.append(atom)
    return TableDimension(name, tuple(labels), tuple(parent)), own


def _name(atom: Values, taken: Mapping[str, int]) -> str:
    """What a set of values is called that no table has a label for."""
    found = " + ".join(sorted(atom))
    while found in taken:
        found += "'"
    return found


def _flat(name: str, atoms: Sequence[Values]) -> tuple[TableDimension, list[Values]]:
    """A dimension of a total and of all sets of values that are told apart."""
    every = frozenset[str]().union(*atoms)
    parts = [atom for atom in atoms if atom != every]
    labels = (ROOT, *(_name(atom, {ROOT: 0}) for atom in parts))
    return TableDimension(name, labels, (-1, *(0 for _ in parts))), [every, *parts]


def _decomposable(schemes: Sequence[set[str]]) -> bool:
    """Whether tables with these columns that agree on what they share always come from one table: the rule of Graham,
    and of Yu and Ozsoyoglu."""
    left = [set(one) for one in schemes]
    while True:
        before = [len(one) for one in left]
        for one in left:
            one -= {name for name in one if sum(name in other for other in left) == 1}
        left = [one for i, one in enumerate(left) if one and not any(
            one < other or (one == other and i < j) for j, other in enumerate(left) if i != j
        )]  # fmt: skip
        if [len(one) for one in left] == before:
            return len(left) <= 1


def _numbered(
    columns: Sequence[str], atoms: Mapping[str, Sequence[Values]],
    grids: Sequence[Sequence[tuple[TableDimension, Sequence[Values]]]], sizes: Sequence[int],
) -> tuple[list[np.ndarray], int]:  # fmt: skip
    """A number for each cell, the same for cells of the same values."""
    key = np.zeros(sum(sizes), np.int64)
    for name in columns:
        sets: dict[Values, int] = {frozenset[str]().union(*atoms[name]): 0}
        ids = []
        for grid in grids:
            shape = [len(one.labels) for one, _ in grid]
            own = np.zeros(shape, np.int64)
            for axis, (one, holds) in enumerate(grid):
                if one.name == name:
                    number = np.array([sets.setdefault(values, len(sets)) for values in holds])
                    own += number.reshape([-1 if i == axis else 1 for i in range(len(shape))])
            ids.append(own.reshape(-1))
        _, key = np.unique(key * len(sets) + np.concatenate(ids), return_inverse=True)
    parts = np.split(key.reshape(-1), np.cumsum(sizes)[:-1])
    shapes = [tuple(len(one.labels) for one, _ in grid) for grid in grids]
    return [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)], int(key.max()) + 1


def linked_cells(links: CellLinks, tables: Sequence[PublishedCells], *, whole: bool) -> LinkedCells:
    """The cells of published tables together. What a cell is known to be at least, each table that hides it says.

    A cell that one table hides and another publishes is hidden, and everybody knows it. A PolicyError where two tables
    publish different values for the same cell.
    """
    value, hidden = np.full(links.size, np.nan), np.zeros(links.size, np.bool_)
    differ = 0
    for place, table in zip(links.places, tables, strict=True):
        own, there = table.values, ~table.hidden
        known = value[place]
        both = there & ~np.isnan(known)
        near = 0.0 if whole else 1e-9 * np.abs(own)
        differ += int((np.abs(own - known) > near)[both].sum())
        value[place[there]] = own[there]
        hidden[place[~there]] = True
    if differ:
        raise PolicyError(
            "the tables publish different values of the same cells",
            got=count(differ, "cell"),
            hint="tables are linked that were counted from the same data",
        )
    lower, upper = np.full(links.size, -np.inf), np.full(links.size, np.inf)
    for place, table in zip(links.places, tables, strict=True):
        np.maximum.at(lower, place[table.hidden], table.least)
        for bound, mine, narrower in ((table.lower, lower, np.maximum), (table.upper, upper, np.minimum)):
            if bound is not None:
                mine[place] = np.where(table.hidden, narrower(mine[place], bound), mine[place])
    told = hidden & ~np.isnan(value)
    lower[told] = upper[told] = value[told]
    return LinkedCells(
        (), np.where(hidden, np.nan, value), whole, min(0.0, *(one.least for one in tables)), lower, upper, None, links,
    )  # fmt: skip
