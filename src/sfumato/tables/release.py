"""ProtectedTable: a table that may be published, as its owner has it; what leaves of it, and the audit it passed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.wording import count, percent
from sfumato.criteria.cells.audit import TableAudit, audit_cells
from sfumato.criteria.cells.published import PublishedCells, TableDimension
from sfumato.criteria.sets import HiddenCells, PublishedFrequency, StatedCells
from sfumato.criteria.sets.perturbed_cells import PerturbedCells
from sfumato.errors import BrokenPromise
from sfumato.release.release_set import ReleaseSet, SetTable, in_order, make_set
from sfumato.tables.protection import Audit, ChangesCells, ProtectedCells, Protection, ProtectionProblem
from sfumato.tables.rules import CELL_RULES, MinimumFrequency
from sfumato.tables.rules.model import CellRule, Primary
from sfumato.tables.sdmx import sdmx_csv
from sfumato.tables.settle import is_total
from sfumato.tables.values import PUBLISHED, STATUS, STATUSES, VALUE, Dimension, StatTable

MADE_BY = "table"
CELLS = "cells"  # what the published table is called
HIDDEN = "hidden"  # what is said of a cell that is not published, whyever


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
    def lower(self) -> np.ndarray:
        """What each cell is known to be at least, if it is hidden: a total at least what its cells are together."""
        found = np.full(self.table.value.size, self.least)
        if self.least > 0:
            leaves = np.ix_(*(one.leaf for one in self.table.dimensions))
            within = np.minimum(self.least, self.table.value[leaves])
            for axis, one in enumerate(self.table.dimensions):
                within = one.added_up(within, axis)
            found = within.ravel()
        if self.frequency is not None and self.least > 0:  # where empty cells are hidden, others may be empty
            found[~self.primary.cells.ravel()] = max(self.least, self.frequency)
        return np.minimum(found, self.table.value.ravel())  # empty cells are not hidden where that is known

    @cached_property
    def upper(self) -> np.ndarray:
        """What each cell is known to be at most, if it is hidden."""
        found = np.full(self.table.value.size, np.inf)
        if self.frequency is not None:
            found[self.primary.cells.ravel()] = self.frequency - 1
        return found


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ProtectedTable(ReleaseSet):
    """A protected table: `data` is every cell with its status, for its owner; `tables` what leaves.

    Which hidden cells are unsafe and which protect them is not published, unless asked for with `flags`: who knows the
    rule would learn from it what an unsafe cell is at most.
    """

    source: StatTable
    primary: Primary
    rules: tuple[CellRule, ...]
    method: Protection
    cells: ProtectedCells
    known: Known

    @cached_property
    def status(self) -> np.ndarray:
        """What each cell is, in the order of the table's arrays: 0 published, 1 primary, 2 secondary."""
        return statuses(self.primary, self.cells)

    @property
    def data(self) -> pl.DataFrame:
        """Every cell by its labels, its value, null where hidden, and its status; for the owner."""
        there = slice(None) if self.cells.published is None else self.cells.published
        words = pl.Series(STATUS, STATUSES, pl.String).gather(self.status[there])
        return published_frame(self.source, self.cells).with_columns(words)

    def audit(self, coalition: int | None = None) -> TableAudit:
        """What attackers can compute of the hidden cells, and how many they narrow too far: an outsider, each
        contributor who is alone in a cell, and up to `coalition` of them who are all of one."""
        known = self.known if coalition is None else replace(self.known, coalition=coalition)
        return audit_of(known)(self.cells.hidden)

    def described(self) -> tuple[str, Sequence[tuple[str, str]]]:
        """How many cells are hidden, and what that costs."""
        return f"Protected table, by {self.manifest['method']['protection']}", [
            *self.loss(),
            *self.verification.described()[1],
        ]

    def loss(self) -> list[tuple[str, str]]:
        """What the protection cost; for the owner alone, since it counts hidden values."""
        hidden, value = self.cells.hidden, np.abs(self.source.value.ravel())
        inner = ~is_total(self.source)
        unsafe = int(self.primary.cells.sum())
        found = [("cells", f"{hidden.size:,}"), ("unsafe", f"{unsafe:,}")]
        if self.method.hides:
            share = float(value[hidden & inner].sum()) / (float(value[inner].sum()) or 1.0)
            found.append(("hidden", f"{int(hidden.sum()):,} ({percent(float(hidden.mean()))})"))
            found.append(("value hidden inside", percent(share)))
            known = "least cost, proven" if self.cells.optimal else "not proven to cost least"
            found.append(("pattern", known))
        elif self.cells.changed is not None:
            moved = np.abs(self.cells.changed - self.source.value.ravel())
            found.append(("changed", count(int((moved > 0).sum()), "cell")))
            if sure := self.cells.facts.get("determined"):
                found.append(("unsafe cells that the sums give away", f"{sure:,}"))
            found.append(("distance", percent(float(moved.sum()) / (float(value.sum()) or 1.0))))
        return found

    def beside(self) -> Mapping[str, str]:
        """The table once more, as SDMX-CSV."""
        [part] = self.parts
        return {f"{CELLS}.sdmx.csv": sdmx_csv(part.frame, self.source.by)}


def statuses(primary: Primary, cells: ProtectedCells) -> np.ndarray:
    """What each cell is: published, primary or secondary."""
    found = np.where(cells.hidden, 2, PUBLISHED).astype(np.int8)
    found[primary.cells.ravel() & cells.hidden] = 1
    return found


def published_frame(table: StatTable, cells: ProtectedCells) -> pl.DataFrame:
    """Every cell by its labels, and its value, null where it is hidden."""
    value = table.value.ravel() if cells.changed is None else cells.changed
    frame = table.labelled().with_columns(table.published(value, cells.hidden))
    return frame if cells.published is None else frame.filter(pl.Series(cells.published))


def audit_of(known: Known) -> Callable[[np.ndarray], TableAudit]:
    """The audit of any pattern of hidden cells of a table, with the protection that the unsafe ones need."""
    table, primary = known.table, known.primary
    dimensions = tuple(_plain(one) for one in table.dimensions)
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
    audit = audit_of(known)
    return lambda hidden: np.flatnonzero(hidden)[audit(hidden).intervals["exposed"].to_numpy()]


def release_table(
    problem: ProtectionProblem, known: Known, rules: Sequence[CellRule], method: Protection, named: str, flags: bool
) -> ProtectedTable:
    """Protect, audit what would be published, and verify it as its readers would."""
    table, primary = problem.table, problem.primary
    cells = method(problem)
    problem.report_progress("auditing", None)
    if method.hides:
        cells = without_determined(problem, known, cells)
    frame = published_frame(table, cells)
    status = statuses(primary, cells)
    if cells.published is not None:
        status = status[cells.published]
    words = STATUSES if flags else (STATUSES[0], HIDDEN, HIDDEN)
    frame = frame.with_columns(pl.Series(STATUS, words, pl.String).gather(status))
    roles = dict.fromkeys(table.by, "insensitive") | {VALUE: "count", STATUS: "insensitive"}
    policy = {
        "by": list(table.by), "value": table.measured,
        "rules": [{"rule": CELL_RULES.name_of(rule), **rule.parameters()} for rule in rules],
    }  # fmt: skip
    how = {"protection": named, "optimal": cells.optimal or None, "reproducible": cells.reproducible}
    made = make_set(
        MADE_BY, [SetTable(CELLS, in_order(frame), roles)], [], _promises(known, rules, method), policy=policy,
        method=how, before=None, fingerprint=table.fingerprint, reading=table.reading, solution=cells,
    )  # fmt: skip
    return ProtectedTable(
        **{one.name: getattr(made, one.name) for one in fields(made)}, source=table, primary=primary,
        rules=tuple(rules), method=method, cells=cells, known=known,
    )  # fmt: skip


def without_determined(problem: ProtectionProblem, known: Known, cells: ProtectedCells) -> ProtectedCells:
    """The same pattern, once it has passed its audit, without cells that everybody can compute and nobody has to hide:
    to publish them tells nothing."""
    audit = audit_of(known)
    found = audit(cells.hidden)
    if not found.exposed:
        ends = found.intervals.select((pl.col("low") == pl.col("high")).alias("same"))["same"].to_numpy()
        open_ = np.flatnonzero(cells.hidden)[ends]
        open_ = open_[~problem.forced[open_]]
        cells = replace(cells, reproducible=cells.reproducible and found.exact)
        if not len(open_):
            return cells
        hidden = cells.hidden.copy()
        hidden[open_] = False
        cells, found = replace(cells, hidden=hidden, cost=problem.price(hidden)), audit(hidden)
    if found.exposed:
        raise BrokenPromise("a protected table does not pass its audit. It is not released; this is a fault of Sfumato")
    return cells


def _promises(known: Known, rules: Sequence[CellRule], method: Protection) -> list[Any]:
    """What is promised of the published table."""
    table = known.table
    if isinstance(method, ChangesCells):
        return [PerturbedCells(method.statement())]
    parents = {one.name: _edges(one) for one in table.dimensions}
    least = None if np.isinf(known.least) else known.least
    found: list[Any] = [HiddenCells(parents, whole=table.whole, least=least, frequency=known.frequency)]
    if table.people and (n := frequency_of(rules)) is not None:
        found.append(PublishedFrequency(n))
    found.append(StatedCells(tuple(rule.sentence() for rule in rules), known.coalition))
    return found


def frequency_of(rules: Sequence[CellRule]) -> int | None:
    """How many contributors rules ask of a cell, where one of them does."""
    return max((rule.n for rule in rules if isinstance(rule, MinimumFrequency)), default=None)


def _edges(one: Dimension) -> list[list[str]]:
    """Each label with the one above it."""
    return [[label, one.labels[p]] for label, p in zip(one.labels[1:], one.parent[1:], strict=True)]


def _plain(one: Dimension) -> TableDimension:
    return TableDimension(one.name, one.labels, tuple(int(p) for p in one.parent))
