"""What a protection of a table is given, and what it gives back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np

from sfumato.core.progress import Progress, quiet
from sfumato.tables.insiders import Insiders, no_insiders
from sfumato.tables.rules.model import Primary
from sfumato.tables.values import PRIMARY, PUBLISHED, SECONDARY, CellSums, StatTable, table_sums

# The audit of a pattern: the cells that an attacker narrows too far, by number, of the hidden cells that are given.
Audit = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class ProtectionProblem:
    """A table, the cells that must not be published as they are, and what it costs to hide each of the others.

    All arrays are flat, a place per cell in the order of the table's arrays. `least` is what everybody knows a hidden
    cell to be at least, `most` at most. `audit` asks for a pattern of hidden cells (bool per cell) which of them some
    attacker narrows too far, an empty array where none is: it is the auditor's, which shares no code with protections.
    A pattern that fails it fails with any cell of it published, too. `known_by` are the contributors whom that audit
    tries, so that a protection can meet them from the beginning.
    """

    table: StatTable
    primary: Primary
    cost: np.ndarray  # float64 [cells], above 0
    candidate: np.ndarray  # bool [cells], may be hidden; primary cells are candidates
    must_hide: np.ndarray  # bool [cells]
    least: np.ndarray  # float64 [cells], -inf where nothing is known
    most: np.ndarray  # float64 [cells], inf where nothing is known
    audit: Audit
    known_by: Insiders = field(default_factory=no_insiders)
    report_progress: Progress = field(default=quiet)

    @cached_property
    def sums(self) -> CellSums:
        """The sums that the table keeps."""
        return table_sums(self.table)

    @cached_property
    def entries_of_cells(self) -> tuple[np.ndarray, np.ndarray]:
        """The entries of the sums in order of their cells, and where those of each cell start, and the last end."""
        order = np.argsort(self.sums.cell, kind="stable")
        return np.searchsorted(self.sums.cell[order], np.arange(self.value.size + 1)), order

    @cached_property
    def value(self) -> np.ndarray:
        """The value of each cell."""
        return self.table.value.ravel()

    @cached_property
    def below(self) -> np.ndarray:
        """How far below its value an attacker's interval for a primary cell has to reach; no further than is known."""
        with np.errstate(invalid="ignore"):
            return np.minimum(self.primary.below.ravel(), self.value - self.least)

    @cached_property
    def above(self) -> np.ndarray:
        """How far above it has to reach."""
        return np.minimum(self.primary.above.ravel(), self.most - self.value)

    @cached_property
    def forced(self) -> np.ndarray:
        """The cells that are hidden in every pattern: the primary ones, and those that must be."""
        return self.primary.cells.ravel() | self.must_hide

    def price(self, hidden: np.ndarray) -> float:
        """What a pattern costs: the sum over the cells that are hidden beside those that have to be."""
        return float(self.cost[hidden & ~self.forced].sum())

    def status(self, hidden: np.ndarray) -> np.ndarray:
        """What each cell is under a pattern."""
        found = np.where(hidden, SECONDARY, PUBLISHED).astype(np.int8)
        found[self.primary.cells.ravel()] = PRIMARY
        return found


@dataclass(frozen=True, eq=False)
class ProtectedCells:
    """What a protection decided: the hidden cells, or other values, or both.

    `bound` is what no pattern can cost less than, as far as was proven; `optimal` that none costs less; `reproducible`
    that no clock had a say. `changed` are the values to publish where these are not those of the table. `facts` are
    figures for the owner.
    """

    hidden: np.ndarray  # bool [cells]
    cost: float = 0.0
    bound: float = 0.0
    optimal: bool = False
    reproducible: bool = True
    changed: np.ndarray | None = None
    published: np.ndarray | None = None  # bool [cells], where some are left out of the table altogether
    facts: Mapping[str, Any] = field(default_factory=dict)


class Protection(Protocol):
    """A way to protect a table."""

    hides: ClassVar[bool]  # it hides cells and changes none
    additive: ClassVar[bool]  # the totals of what it publishes are the sums of their parts

    def __call__(self, problem: ProtectionProblem) -> ProtectedCells:
        """Protect the cells of the problem; Infeasible where that cannot be done."""


@runtime_checkable
class ChangesCells(Protocol):
    """A protection that publishes every cell, with other values or in fewer categories."""

    def statement(self) -> str:
        """What follows from how it did, in a sentence."""
