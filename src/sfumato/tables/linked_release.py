"""ProtectedTables: tables that share cells, protected together, or beside those that were published before."""

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
from sfumato.criteria.sets.published import TableLink
from sfumato.release.release_set import ReleaseSet, SetTable, in_order, make_set
from sfumato.tables.before import EARLIER
from sfumato.tables.known import Known, audit_of
from sfumato.tables.linked import JointTable
from sfumato.tables.protection import ProtectedCells, Protection, ProtectionProblem
from sfumato.tables.release import (
    CELLS,
    HIDDEN,
    MADE_BY,
    described_rules,
    edges_of,
    frequency_of,
    parents_of,
    statuses,
    without_determined,
)
from sfumato.tables.rules.model import CellRule, Primary, primary_cells
from sfumato.tables.sdmx import sdmx_csv
from sfumato.tables.settle import is_total
from sfumato.tables.values import STATUS, STATUSES, VALUE, StatTable


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ProtectedTables(ReleaseSet):
    """Protected tables that share cells: `data` has for each table every cell with its status, for its owner; `tables`
    what leaves. A cell that several tables have is hidden in all of them or in none.

    Of one table that was protected beside earlier ones `data` is a frame.
    """

    source: JointTable
    primary: Primary
    rules: tuple[CellRule, ...]
    method: Protection
    cells: ProtectedCells
    known: Known
    alone: bool

    @cached_property
    def status(self) -> np.ndarray:
        """What each cell is, by its number in all tables: 0 published, 1 primary, 2 secondary."""
        return statuses(self.primary, self.cells)

    @cached_property
    def data(self) -> Any:
        """Every cell by its labels, its value, null where hidden, and its status, by table; for the owner."""
        found = {
            name: frame_of(one, cell, self.source, self.cells.hidden).with_columns(
                pl.Series(STATUS, STATUSES, pl.String).gather(self.status[cell.ravel()])
            )
            for name, (one, cell) in zip(self.source.names, self.source.members, strict=True)
        }
        return found[CELLS] if self.alone else found

    def audit(self, coalition: int | None = None) -> TableAudit:
        """What attackers can compute of the hidden cells from all tables together, and those before: an outsider, each
        contributor who is alone in a cell, and up to `coalition` of them who are all of one."""
        known = self.known if coalition is None else replace(self.known, coalition=coalition)
        return audit_of(known)(self.cells.hidden)

    def described(self) -> tuple[str, Sequence[tuple[str, str]]]:
        """How many cells are hidden, and what that costs."""
        tables = count(len(self.parts), "protected table")
        return f"{tables[0].upper()}{tables[1:]}, by {self.manifest['method']['protection']}", [
            *self.loss(),
            *self.verification.described()[1],
        ]

    def loss(self) -> list[tuple[str, str]]:
        """What the protection cost; for the owner alone, since it counts hidden values."""
        shown, value = self.source.shown, np.abs(self.source.value)
        hidden, inner = self.cells.hidden & shown, ~is_total(self.source) & shown
        unsafe, unseen = self.primary.cells & shown, self.primary.cells & self.source.unseen
        share = float(value[hidden & inner].sum()) / (float(value[inner].sum()) or 1.0)
        known = "least cost, proven" if self.cells.optimal else "not proven to cost least"
        return [
            ("cells, each once", f"{int(shown.sum()):,}"),
            ("unsafe", f"{int(unsafe.sum()):,}"),
            *([("unsafe differences of tables", f"{int(unseen.sum()):,}")] if unseen.any() else []),
            ("hidden", f"{int(hidden.sum()):,} ({percent(float(hidden[shown].mean()))})"),
            ("value hidden inside", percent(share)),
            ("pattern", known),
        ]

    def beside(self) -> Mapping[str, str]:
        """The tables once more, as SDMX-CSV."""
        by = {name: one.by for name, (one, _) in zip(self.source.names, self.source.members, strict=True)}
        return {f"{part.name}.sdmx.csv": sdmx_csv(part.frame, by[part.name]) for part in self.parts}


def frame_of(one: StatTable, cell: np.ndarray, joint: JointTable, hidden: np.ndarray) -> pl.DataFrame:
    """Every cell of a table by its labels, and its value, null where it is hidden."""
    return one.labelled().with_columns(one.published(joint.value[cell], hidden[cell]))


def joint_primary(rules: Sequence[CellRule], joint: JointTable) -> Primary:
    """The cells that any of the rules finds in any of the tables, or in what they are made of: those differences of
    tables are as unsafe as if they were published."""
    rule = np.full(joint.value.size, -1, np.int8)
    below, above, zeros = np.zeros(joint.value.size), np.zeros(joint.value.size), False
    for number, grid in enumerate(joint.grids[: len(joint.names)]):
        found = primary_cells(rules, joint.refined(number))
        new = (rule[grid.cell] < 0) & (found.rule >= 0)
        rule[grid.cell[new]] = found.rule[new]
        below[grid.cell] = np.maximum(below[grid.cell], found.below)
        above[grid.cell] = np.maximum(above[grid.cell], found.above)
        zeros |= found.zeros
    return Primary(rule, below, above, zeros)


def release_tables(
    problem: ProtectionProblem, known: Known, rules: Sequence[CellRule], method: Protection, named: str, flags: bool,
    links: Sequence[TableLink], alone: bool,
) -> ProtectedTables:  # fmt: skip
    """Protect, audit what would be published of all tables, and verify it as its readers would."""
    joint, primary = problem.table, problem.primary
    assert isinstance(joint, JointTable)
    cells = method(problem)
    problem.report_progress("auditing", None)
    cells = without_determined(problem, known, cells)
    status = statuses(primary, cells)
    words = pl.Series(STATUS, STATUSES if flags else (STATUSES[0], HIDDEN, HIDDEN), pl.String)
    parts = []
    for name, (one, cell) in zip(joint.names, joint.members, strict=True):
        frame = frame_of(one, cell, joint, cells.hidden).with_columns(words.gather(status[cell.ravel()]))
        roles = dict.fromkeys(one.by, "insensitive") | {VALUE: "count", STATUS: "insensitive"}
        parts.append(SetTable(name, in_order(frame), roles))
    by = {name: list(one.by) for name, (one, _) in zip(joint.names, joint.members, strict=True)}
    policy = {"by": by[CELLS] if alone else by, "value": joint.measured, "rules": described_rules(rules)}
    how = {"protection": named, "optimal": cells.optimal or None, "reproducible": cells.reproducible}
    links = [replace(link, tables=joint.names) for link in links]
    made = make_set(
        MADE_BY, parts, links, _promises(known, joint, rules, alone), policy=policy, method=how, before=None,
        fingerprint=joint.fingerprint, reading=joint.reading, solution=cells,
    )  # fmt: skip
    return ProtectedTables(
        **{one.name: getattr(made, one.name) for one in fields(made)}, source=joint, primary=primary,
        rules=tuple(rules), method=method, cells=cells, known=known, alone=alone,
    )  # fmt: skip


def _promises(known: Known, joint: JointTable, rules: Sequence[CellRule], alone: bool) -> list[Any]:
    """What is promised of the published tables."""
    least = None if np.isinf(known.least) else known.least
    n = frequency_of(rules) if joint.people else None
    parents = {name: parents_of(one) for name, (one, _) in zip(joint.names, joint.members, strict=True)}
    shown = {one.name: edges_of(one) for one in joint.members[0][0].dimensions}
    if alone and parents[CELLS] == shown:
        first: Any = HiddenCells(parents[CELLS], whole=joint.whole, least=least, frequency=known.frequency)
    else:
        first = LinkedHiddenCells(parents, whole=joint.whole, least=least, n=n, frequency=known.frequency)
    stated = StatedCells(tuple(rule.sentence() for rule in rules), known.coalition)
    return [first, *([] if n is None else [PublishedFrequency(n)]), stated]


__all__ = ["EARLIER", "ProtectedTables", "joint_primary", "release_tables"]
