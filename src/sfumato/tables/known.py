"""Known: what attackers know of a table beside what is published, and the audit of any pattern of hidden cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl

from sfumato.criteria.cells.audit import TableAudit, audit_cells
from sfumato.criteria.cells.linked import LinkedCells, LinkedTable, link_tables
from sfumato.criteria.cells.published import PublishedCells, TableDimension
from sfumato.errors import BrokenPromise
from sfumato.tables.linked import JointTable
from sfumato.tables.protection import Audit
from sfumato.tables.rules.model import Primary
from sfumato.tables.values import Dimension, StatTable

AuditPattern = Callable[[np.ndarray], TableAudit]


@dataclass(frozen=True, eq=False)
class Known:
    """What attackers know of a table beside what is published: of a hidden cell, what it is at least and at most, and
    how many contributors together know what they contributed.

    With a `frequency` the status of a hidden cell is published: an unsafe count is then known to be below it.
    """

    table: StatTable
    primary: Primary
    least: float
    coalition: int
    frequency: int | None = None

    @cached_property
    def joint(self) -> JointAudit:
        """The audit of tables that share cells."""
        assert isinstance(self.table, JointTable)
        return JointAudit(self, self.table)

    @cached_property
    def lower(self) -> np.ndarray:
        """What each cell is known to be at least, if it is hidden: a total at least what its cells are together."""
        found = np.full(self.table.value.size, min(self.least, 0.0))
        for one, cell in self.table.members:
            within = np.full(one.shape, self.least)
            if self.least > 0:
                leaves = np.ix_(*(dimension.leaf for dimension in one.dimensions))
                within = np.minimum(self.least, one.value[leaves])
                for axis, dimension in enumerate(one.dimensions):
                    within = dimension.added_up(within, axis)
            found[cell] = np.maximum(found[cell], within)
            if self.frequency is not None and self.least > 0:  # where empty cells are hidden, others may be empty
                other = cell[~self.primary.cells.reshape(-1)[cell]]
                found[other] = np.maximum(found[other], self.frequency)
        if isinstance(self.table, JointTable):
            found = np.maximum(found, self.table.lower)
        return np.minimum(found, self.table.value.ravel())  # empty cells are not hidden where that is known

    @cached_property
    def upper(self) -> np.ndarray:
        """What each cell is known to be at most, if it is hidden."""
        found = np.full(self.table.value.size, np.inf)
        if self.frequency is not None:
            for _, cell in self.table.members:
                found[cell[self.primary.cells.reshape(-1)[cell]]] = self.frequency - 1
        return np.minimum(found, self.table.upper) if isinstance(self.table, JointTable) else found


def audit_of(known: Known) -> AuditPattern:
    """The audit of any pattern of hidden cells of a table, with the protection that the unsafe ones need."""
    if isinstance(known.table, JointTable):
        joint = known.joint
        return lambda hidden: joint(hidden, joint.exhibited(hidden))
    table, primary = known.table, known.primary
    dimensions = tuple(plain_dimension(one) for one in table.dimensions)
    shape, true = table.shape, table.value.ravel()
    below = np.minimum(primary.below.ravel(), true - known.lower).reshape(shape)
    above = np.minimum(primary.above.ravel(), known.upper - true).reshape(shape)
    people = table.contributors if known.coalition else None
    largest = None if table.negative or not table.largest.shape[-1] else table.largest

    def audit(hidden: np.ndarray) -> TableAudit:
        value = np.where(hidden, np.nan, true).reshape(shape)
        published = PublishedCells(
            dimensions, value, table.whole, -np.inf, known.lower.reshape(shape), known.upper.reshape(shape)
        )
        return audit_cells(
            published, contributors=people, coalition=known.coalition, true=table.value, below=below, above=above,
            largest=largest,
        )  # fmt: skip

    return audit


def auditor(known: Known) -> Audit:
    """What a protection asks: the cells that an attacker narrows too far under a pattern."""
    if isinstance(known.table, JointTable):
        return known.joint.narrowed
    audit = audit_of(known)
    return lambda hidden: np.flatnonzero(hidden)[audit(hidden).intervals["exposed"].to_numpy()]


def determined(known: Known, hidden: np.ndarray) -> tuple[int, np.ndarray, bool]:
    """How many cells a pattern exposes, the hidden cells that everybody can compute, and whether no clock had a say."""
    if isinstance(known.table, JointTable):
        joint = known.joint
        found, cells = joint(hidden), np.flatnonzero(joint.cells(hidden, None).hidden)
        theirs = np.zeros(joint.links.size, np.bool_)
        theirs[cells[_same(found)]] = True
        return found.exposed, np.flatnonzero(theirs[joint.place] & hidden), found.exact
    found = audit_of(known)(hidden)
    return found.exposed, np.flatnonzero(hidden)[_same(found)], found.exact


def _same(found: TableAudit) -> np.ndarray:
    ends: np.ndarray = found.intervals.select((pl.col("low") == pl.col("high")).alias("same"))["same"].to_numpy()
    return ends


class JointAudit:
    """The audit of tables that share cells. Which cells are the same the auditor finds out by itself, from labels."""

    def __init__(self, known: Known, table: JointTable) -> None:
        self.known, self.table = known, table
        every = [linked_table(name, one) for name, (one, _) in zip(table.names, table.members, strict=True)]
        self.links = link_tables([*every, *(linked_table(one.name, one.table) for one in table.before)])
        self.place = np.full(table.value.size, -1)  # of each cell, its number among the auditor's
        for own, grid in zip(table.grids, self.links.grids, strict=False):
            order = [
                np.array([two.labels.index(label) for label in one.labels])
                for one, two in zip(own.dimensions, grid.dimensions, strict=True)
            ]
            theirs = grid.cell[np.ix_(*order)]
            again = self.place[own.cell]
            if ((again >= 0) & (again != theirs)).any():
                raise _disagreed()
            self.place[own.cell] = theirs
        if (self.place < 0).any() or len(np.unique(self.place)) < len(self.place):
            raise _disagreed()
        below = np.minimum(known.primary.below, table.value - known.lower)
        above = np.minimum(known.primary.above, known.upper - table.value)
        self.below, self.above = self._of(below, 0.0), self._of(above, 0.0)
        self.true = self._of(np.where(table.guessed, np.nan, table.value), np.nan)
        self.lower, self.upper = self._of(known.lower, min(known.least, 0.0)), self._of(known.upper, np.inf)
        wide = np.where(table.hidden_before, 1.0 if table.whole else 1e-300, 0.0)
        self.sliding = self._of(wide, 0.0)
        self.largest = None
        if not table.negative and table.largest.shape[-1]:
            self.largest = np.zeros((self.links.size, table.largest.shape[-1]))
            self.largest[self.place] = table.largest
        self.people = self._of(table.contributors, 0).astype(np.int64) if known.coalition else None

    def __call__(self, hidden: np.ndarray, exhibited: np.ndarray | None = None) -> TableAudit:
        """The audit of a pattern; `exhibited` are the cells that are asked for, None for all."""
        return audit_cells(
            self.cells(hidden, exhibited), contributors=self.people, coalition=self.known.coalition, true=self.true,
            below=self.below, above=self.above, sliding=self.sliding, largest=self.largest,
        )  # fmt: skip

    def cells(self, hidden: np.ndarray, exhibited: np.ndarray | None) -> LinkedCells:
        """What is published under a pattern."""
        value = self._of(np.where(hidden, np.nan, self.table.value), np.nan)
        shown = self._of(np.ones_like(hidden) if exhibited is None else exhibited, exhibited is None)
        return LinkedCells(
            (), value, self.table.whole, -np.inf, self.lower, self.upper, links=self.links, exhibited=shown
        )  # fmt: skip

    def narrowed(self, hidden: np.ndarray) -> np.ndarray:
        """The cells that an attacker narrows too far under a pattern."""
        found = self(hidden)
        cells = np.flatnonzero(np.isnan(self.cells(hidden, None).values))
        exposed = np.zeros(self.links.size, np.bool_)
        exposed[cells[found.intervals["exposed"].to_numpy()]] = True
        return np.flatnonzero(exposed[self.place])

    def exhibited(self, hidden: np.ndarray) -> np.ndarray:
        """The cells whose intervals are shown: those that are hidden in a table, and unsafe ones that none shows."""
        own = self.table.shown | self.table.hidden_before | self.known.primary.cells.reshape(-1)
        return hidden & own

    def _of(self, own: np.ndarray, other: float) -> np.ndarray:
        found = np.full(self.links.size, other, np.result_type(own.dtype, type(other)))
        found[self.place] = own
        return found


def _disagreed() -> BrokenPromise:
    return BrokenPromise("the audit finds other cells to be the same. It is not released; this is a fault of Sfumato")


def plain_dimension(one: Dimension) -> TableDimension:
    """A dimension as the auditor has it."""
    return TableDimension(one.name, one.labels, tuple(int(p) for p in one.parent))


def linked_table(name: str, table: StatTable) -> LinkedTable:
    """A table as the auditor has it: all labels, and which are shown."""
    full = [table.full(axis) for axis in range(len(table.dimensions))]
    shown = tuple(tuple(np.isin(np.arange(len(one)), kept).tolist()) for one, kept in full)
    return LinkedTable(name, tuple(plain_dimension(one) for one, _ in full), shown)
