"""ProtectedTable: a table that may be published, as its owner has it; what leaves of it, and the audit it passed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.wording import count, percent
from sfumato.criteria.cells.audit import TableAudit
from sfumato.criteria.sets import HiddenCells, LinkedHiddenCells, PublishedFrequency, StatedCells
from sfumato.criteria.sets.perturbed_cells import PerturbedCells
from sfumato.errors import BrokenPromise
from sfumato.release.release_set import ReleaseSet, SetTable, in_order, make_set
from sfumato.tables.known import Known, audit_of, determined
from sfumato.tables.protection import ChangesCells, ProtectedCells, Protection, ProtectionProblem
from sfumato.tables.rules import CELL_RULES, MinimumFrequency
from sfumato.tables.rules.model import CellRule, Primary
from sfumato.tables.sdmx import sdmx_csv
from sfumato.tables.settle import is_total
from sfumato.tables.values import PUBLISHED, STATUS, STATUSES, VALUE, Dimension, StatTable

MADE_BY = "table"
CELLS = "cells"  # what the published table is called
HIDDEN = "hidden"  # what is said of a cell that is not published, whyever


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
    policy = {"by": list(table.by), "value": table.measured, "rules": described_rules(rules)}
    how = {"protection": named, "optimal": cells.optimal or None, "reproducible": cells.reproducible}
    made = make_set(
        MADE_BY, [SetTable(CELLS, in_order(frame), roles)], [], _promises(known, rules, method), policy=policy,
        method=how, before=None, fingerprint=table.fingerprint, reading=table.reading, solution=cells,
    )  # fmt: skip
    return ProtectedTable(
        **{one.name: getattr(made, one.name) for one in fields(made)}, source=table, primary=primary,
        rules=tuple(rules), method=method, cells=cells, known=known,
    )  # fmt: skip


def described_rules(rules: Sequence[CellRule]) -> list[dict[str, Any]]:
    """Rules as the manifest has them."""
    return [{"rule": CELL_RULES.name_of(rule), **rule.parameters()} for rule in rules]


def without_determined(problem: ProtectionProblem, known: Known, cells: ProtectedCells) -> ProtectedCells:
    """The same pattern, once it has passed its audit, without cells that everybody can compute and nobody has to hide:
    to publish them tells nothing."""
    exposed, open_, exact = determined(known, cells.hidden)
    if not exposed:
        open_ = open_[~problem.forced[open_]]
        cells = replace(cells, reproducible=cells.reproducible and exact)
        if not len(open_):
            return cells
        hidden = cells.hidden.copy()
        hidden[open_] = False
        cells = replace(cells, hidden=hidden, cost=problem.price(hidden))
        exposed, _, _ = determined(known, hidden)
    if exposed:
        raise BrokenPromise("a protected table does not pass its audit. It is not released; this is a fault of Sfumato")
    return cells


def _promises(known: Known, rules: Sequence[CellRule], method: Protection) -> list[Any]:
    """What is promised of the published table."""
    table = known.table
    if isinstance(method, ChangesCells):
        return [PerturbedCells(method.statement())]
    parents = parents_of(table)
    least = None if np.isinf(known.least) else known.least
    n = frequency_of(rules) if table.people else None
    told: dict[str, Any] = {"whole": table.whole, "least": least, "frequency": known.frequency}
    found: list[Any] = [HiddenCells(parents, **told)]
    if parents != {
        one.name: edges_of(one) for one in table.dimensions
    }:  # what its cells are made of links it to other tables
        found = [LinkedHiddenCells({CELLS: parents}, n=n, **told)]
    if n is not None:
        found.append(PublishedFrequency(n))
    found.append(StatedCells(tuple(rule.sentence() for rule in rules), known.coalition))
    return found


def frequency_of(rules: Sequence[CellRule]) -> int | None:
    """How many contributors rules ask of a cell, where one of them does."""
    return max((rule.n for rule in rules if isinstance(rule, MinimumFrequency)), default=None)


def parents_of(table: StatTable) -> dict[str, list[list[str]]]:
    """Of each column all labels that everybody may know, each with the one above it."""
    return {one.name: edges_of(table.full(axis)[0]) for axis, one in enumerate(table.dimensions)}


def edges_of(one: Dimension) -> list[list[str]]:
    """Each label with the one above it."""
    return [[label, one.labels[p]] for label, p in zip(one.labels[1:], one.parent[1:], strict=True)]
