"""A statistical table as it is published: its dimensions with their totals, and the values of all cells but the hidden.

Nothing here knows how the table was protected: tables of other tools are read in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np
import polars as pl

from sfumato.core.wording import count
from sfumato.errors import ColumnError, HierarchyError, PolicyError, ReadError

ROOT = "*"  # the label of totals
VALUE = "value"
RELATIVE = 1e-9  # how far totals of magnitudes may be off, of the largest of their parts
LARGEST = 2.0**53  # counts beyond are not exact
SHOWN = 5  # positions that a message lists

Edges = Mapping[str, str] | Iterable[tuple[str, str]]


@dataclass(frozen=True)
class TableDimension:
    """A column of the table: the labels of all its nodes, the root first and parents before children.

    `parent` has for each label the position of its parent, and -1 for the root.
    """

    name: str
    labels: tuple[str, ...]
    parent: tuple[int, ...]

    def __post_init__(self) -> None:
        faults = []
        if not self.labels or len(self.labels) != len(self.parent):
            faults.append("it has no labels, or others than parents")
        elif self.parent[0] != -1 or not all(0 <= p < i for i, p in enumerate(self.parent) if i):
            faults.append("the root must be first, and parents before their children")
        if len({*self.labels}) < len(self.labels):
            faults.append("a label is there twice")
        if faults:
            raise HierarchyError(f'the dimension "{self.name}" is no tree:', faults)

    @cached_property
    def parents(self) -> np.ndarray:
        """The parent of each node."""
        return np.array(self.parent, np.int64)

    @cached_property
    def totals(self) -> np.ndarray:
        """The nodes that have children."""
        return np.unique(self.parents[1:])

    @property
    def nested(self) -> bool:
        """Whether a node other than the root has children."""
        return len(self.totals) > 1

    @cached_property
    def within(self) -> np.ndarray:
        """Which nodes (the second axis) each node holds, itself included."""
        found = np.eye(len(self.labels), dtype=bool)
        for node in range(len(self.labels) - 1, 0, -1):
            found[self.parent[node]] |= found[node]
        return found


def infer_dimensions(
    frame: pl.DataFrame, by: Sequence[str], edges: Mapping[str, Edges] | None = None, *, root: str = ROOT
) -> tuple[TableDimension, ...]:
    """The dimensions of a table that was made elsewhere.

    `edges` has, for a column with a hierarchy, the parent of each label that has one, as a mapping or as pairs of child
    and parent; labels without one are put under the root. The others are flat: the root, and the rest its children.
    """
    for name in by:
        if name not in frame.columns:
            raise ColumnError(f'the table has no column "{name}"')
    unknown = [name for name in edges or {} if name not in by]
    if unknown:
        raise PolicyError(f'there are edges for "{unknown[0]}", which is no dimension of the table')
    return tuple(_dimension(frame.get_column(name), name, (edges or {}).get(name, ()), root) for name in by)


def _dimension(column: pl.Series, name: str, edges: Edges, root: str) -> TableDimension:
    pairs = [*(edges.items() if isinstance(edges, Mapping) else edges)]
    parent = dict(pairs)
    if len({*pairs}) > len(parent):
        raise HierarchyError(f'a label of "{name}" has two parents')
    found = column.cast(pl.String).unique(maintain_order=True)
    if found.null_count():
        raise ReadError(f'a label of "{name}" is missing')
    names = dict.fromkeys([*found.to_list(), *(label for pair in pairs for label in pair)])
    tops = [label for label in names if label not in parent]
    if root in names and root not in parent:
        parent.update({label: root for label in tops if label != root})
        tops = [root]
    if len(tops) != 1:
        what = "has no total" if tops else "goes round in a circle"
        raise HierarchyError(f'"{name}" {what}', allowed="one root", hint=f'the label of totals is "{root}"')
    children: dict[str, list[str]] = {}
    for label in names:
        if label in parent:
            children.setdefault(parent[label], []).append(label)
    order = tops
    for label in order:  # it grows
        order.extend(children.get(label, ()))
    if len(order) < len(names):
        raise HierarchyError(f'the hierarchy of "{name}" goes round in a circle')
    place = {label: i for i, label in enumerate(order)}
    return TableDimension(name, tuple(order), (-1, *(place[parent[label]] for label in order[1:])))


@dataclass(frozen=True, eq=False)
class CellGrid:
    """A table among several: its dimensions, and the number of each of its cells, an axis per dimension."""

    dimensions: tuple[TableDimension, ...]
    cell: np.ndarray


@dataclass(frozen=True)
class AdditivityFault:
    """A published total that is not the sum of its published parts.

    `parent` is the label of the total in the dimension, `cell` the flat position of the total among all cells, and
    `row` its row in the frame that the table was read from, where there is one.
    """

    dimension: str
    parent: str
    cell: int
    row: int | None = None


@dataclass(frozen=True, eq=False)
class PublishedCells:
    """All cells of a published table, an axis per dimension; NaN where hidden.

    `whole` says that the values are counts. `least` is what hidden cells are known to be at least; `lower` and `upper`
    are bounds for each cell that attackers know beside.
    """

    dimensions: tuple[TableDimension, ...]
    values: np.ndarray
    whole: bool = True
    least: float = 0.0
    lower: np.ndarray | None = None
    upper: np.ndarray | None = None
    rows: np.ndarray | None = field(default=None, repr=False)  # of each cell in the frame

    def __post_init__(self) -> None:
        shape = self.values.shape
        if self.dimensions and shape != tuple(len(one.labels) for one in self.dimensions):
            raise PolicyError("the values do not have the shape of the dimensions")
        for name, bound in (("lower", self.lower), ("upper", self.upper)):
            if bound is not None and (bound.shape != shape or np.isnan(bound).any()):
                raise PolicyError(f"the {name} bounds do not have a number for each cell")
        if np.isnan(self.least) or self.least == np.inf:
            raise PolicyError("what hidden cells are known to be at least is no number")
        if np.isinf(self.values).any():
            raise ReadError("a published value is infinite", got=self._places(np.isinf(self.values)))
        if self.whole:
            given = np.where(self.hidden, 0.0, self.values)
            if (wrong := given < 0).any():
                raise ReadError("a published count is negative", got=self._places(wrong))
            if (wrong := given != np.rint(given)).any():
                raise ReadError("a published count is no whole number", got=self._places(wrong))
            if (wrong := given >= LARGEST).any():
                raise ReadError("a published count is too large", got=self._places(wrong))

    @staticmethod
    def of(
        frame: pl.DataFrame,
        dimensions: Sequence[TableDimension],
        *,
        value: str = VALUE,
        whole: bool = True,
        least: float = 0.0,
        lower: np.ndarray | None = None,
        upper: np.ndarray | None = None,
    ) -> PublishedCells:
        """The table of a frame that has each cell once: a column of labels per dimension, and the value or null."""
        lacking = [name for name in (*(one.name for one in dimensions), value) if name not in frame.columns]
        if lacking:
            raise ColumnError(f'the table has no column "{lacking[0]}"')
        shape = tuple(len(one.labels) for one in dimensions)
        place = cell_positions(frame, dimensions)
        often = np.bincount(place, minlength=prod(shape))
        if (often > 1).any():
            twice = np.flatnonzero(often[place] > 1)
            raise ReadError("a cell is there more than once", got=_listed(twice))
        if (often == 0).any():
            what = f"the table lacks {count(int((often == 0).sum()), 'cell')}"
            raise ReadError(
                what, hint="every combination of labels has a row, totals and zeros too; hidden ones are null"
            )
        column = frame.get_column(value)
        if not column.dtype.is_numeric() and column.dtype != pl.Null:
            raise ReadError(f'"{value}" is no column of numbers', got=str(column.dtype))
        column = column.cast(pl.Float64)
        if column.is_nan().any():
            wrong = np.flatnonzero(column.is_nan().fill_null(False).to_numpy())
            raise ReadError(f'"{value}" has a NaN', got=_listed(wrong), hint="hidden values are null")
        values, rows = np.empty(prod(shape)), np.empty(prod(shape), np.int64)
        values[place] = column.fill_null(np.nan).to_numpy()
        rows[place] = np.arange(frame.height)
        return PublishedCells(tuple(dimensions), values.reshape(shape), whole, least, lower, upper, rows.reshape(shape))

    @cached_property
    def grids(self) -> tuple[CellGrid, ...]:
        """The tables that its cells are in: here one, which has each cell once."""
        return (CellGrid(self.dimensions, np.arange(self.values.size).reshape(self.values.shape)),)

    @cached_property
    def hidden(self) -> np.ndarray:
        """Which cells are hidden."""
        return np.isnan(self.values)

    @property
    def asked(self) -> np.ndarray | None:
        """Which of the hidden cells are asked for; None for all."""
        return None

    @cached_property
    def hidden_cells(self) -> np.ndarray:
        """The flat positions of the hidden cells."""
        return np.flatnonzero(self.hidden)

    def bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """What attackers know each hidden cell to be at least and at most, before they look at a total."""
        size = len(self.hidden_cells)
        low, high = np.full(size, float(self.least)), np.full(size, np.inf)
        if self.lower is not None:
            low = np.maximum(low, self.lower.reshape(-1)[self.hidden_cells])
        if self.upper is not None:
            high = np.minimum(high, self.upper.reshape(-1)[self.hidden_cells])
        return (np.ceil(np.maximum(low, 0.0)), np.floor(high)) if self.whole else (low, high)

    def labelled(self, cells: np.ndarray) -> pl.DataFrame:
        """The labels of cells given by flat position."""
        places = np.unravel_index(cells, self.values.shape)
        columns = {
            one.name: pl.Series(one.name, one.labels, pl.String).gather(place)
            for one, place in zip(self.dimensions, places, strict=True)
        }
        return pl.DataFrame(columns)

    def additivity_faults(self, absolute: float | None = None) -> tuple[AdditivityFault, ...]:
        """The published totals whose parts are all published and add up to something else.

        Counts must be exact; magnitudes may be off by `absolute`, or by 1e-9 of their largest part.
        """
        found: list[AdditivityFault] = []
        for axis, one, index in (
            (axis, one, grid.cell) for grid in self.grids for axis, one in enumerate(grid.dimensions)
        ):
            cells = np.moveaxis(index, axis, 0)
            values = self.values.reshape(-1)[cells]
            for total in one.totals:
                parts = values[1:][one.parents[1:] == total]
                off = np.abs(values[total] - parts.sum(0))  # NaN where any is hidden
                if absolute is not None or self.whole:
                    near = np.asarray(absolute or 0.0)
                else:
                    near = RELATIVE * np.maximum(np.abs(values[total]), np.abs(parts).max(0))
                with np.errstate(invalid="ignore"):
                    wrong = cells[total][off > near]
                for cell in wrong.reshape(-1).tolist():
                    row = None if self.rows is None else int(self.rows.reshape(-1)[cell])
                    found.append(AdditivityFault(one.name, one.labels[total], cell, row))
        return tuple(found)

    def _places(self, which: np.ndarray) -> str:
        rows = np.flatnonzero(which) if self.rows is None else np.sort(self.rows[which])
        return _listed(rows, "cell" if self.rows is None else "row")


def cell_positions(frame: pl.DataFrame, dimensions: Sequence[TableDimension]) -> np.ndarray:
    """The flat position of the cell that each row of a frame has the labels of."""
    place = np.zeros(frame.height, np.int64)
    for one in dimensions:
        codes = pl.DataFrame({"v": one.labels, "c": np.arange(len(one.labels))}, schema_overrides={"v": pl.String})
        texts = frame.get_column(one.name).cast(pl.String).to_frame("v")
        code = texts.join(codes, on="v", how="left", maintain_order="left")["c"].fill_null(-1).to_numpy()
        if (code < 0).any():
            raise ReadError(f'"{one.name}" has a label that its dimension does not have', got=_listed(code < 0))
        place = place * len(one.labels) + code
    return place


def _listed(rows: np.ndarray, noun: str = "row") -> str:
    """A few positions, from 0."""
    places = np.flatnonzero(rows) if rows.dtype == bool else rows
    shown = ", ".join(map(str, places[:SHOWN].tolist()))
    return f"{noun}{'s' if len(places) > 1 else ''} {shown}{' and others' if len(places) > SHOWN else ''}"
