"""Modular cell suppression: P.-P. de Wolf, HiTaS: a heuristic approach to cell suppression in hierarchical tables,
Inference Control in Statistical Databases, LNCS 2316, 2002.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from sfumato.core.parameters import Real, check_fields
from sfumato.core.progress import check_cancelled
from sfumato.tables.protection import ProtectedCells, ProtectionProblem
from sfumato.tables.suppression.attack import Piece, PieceAttacker
from sfumato.tables.suppression.greedy import Pattern, Task
from sfumato.tables.suppression.master import Master
from sfumato.tables.suppression.pieces import everything, simple_subtables, subtable
from sfumato.tables.suppression.repair import Audited, repair

GAP = 0.01  # of the cost of what a subtable hides
SHARE = 4.0  # times its share of the time that a subtable may take at most


@dataclass(frozen=True)
class Modular:
    """Split the hierarchies into simple subtables, and protect these one after the other, higher levels first.

    In each the cheapest cells are hidden. A cell that is hidden in one subtable is unsafe in the others that it lies
    in, and needs to be able to move as far there; they are protected anew until nothing changes. Then the audit of the
    whole, and repairs. seconds: how long integer programs look for cheaper cells; what they are not done with is left
    as a greedy search hides it.
    """

    seconds: Annotated[float, Real(0, 1e9, above=True)] = 60.0

    hides: ClassVar[bool] = True
    additive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self, "modular")

    def __call__(self, problem: ProtectionProblem) -> ProtectedCells:
        """Protect the cells of the problem."""
        audited = Audited(problem)
        most = everything(audited.problem)
        run = ModularPattern(problem, time.monotonic() + self.seconds)
        hidden = repair(audited, run.hidden, most)
        facts = {"subtables": len(run.tables), "visits": run.visits, "audits": audited.times}
        return ProtectedCells(hidden, problem.price(hidden), reproducible=run.in_time, facts=facts)


class ModularPattern:
    """The hidden cells, and how far each has to be able to move above and below its value."""

    def __init__(self, problem: ProtectionProblem, until: float) -> None:
        self.problem, self.until, self.in_time, self.visits = problem, until, True, 0
        self.hidden = problem.forced.copy()
        unsafe = problem.primary.cells.ravel()
        self.above, self.below = np.where(unsafe, problem.above, 0.0), np.where(unsafe, problem.below, 0.0)
        self.tables = list(simple_subtables(problem))
        self.of: list[list[int]] = [[] for _ in range(problem.value.size)]  # the subtables of each hidden cell
        self.cells = []
        for number, table in enumerate(self.tables):
            cells = table.ravel()
            self.cells.append(cells[(problem.candidate | problem.forced)[cells]])
            for cell in self.cells[-1]:
                self.of[cell].append(number)
        waits = deque(range(len(self.tables)))
        queued = np.ones(len(self.tables), np.bool_)
        while waits:
            number = waits.popleft()
            queued[number] = False
            self.visits += 1
            share = self.visits / (self.visits + len(waits) + 1)
            problem.report_progress(f"subtable {self.visits:,} of {self.visits + len(waits):,}", share)
            for cell in self.protect(number, len(waits) + 1):
                for other in self.of[cell]:
                    if other != number and not queued[other]:
                        waits.append(other)
                        queued[other] = True

    def protect(self, number: int, left: int) -> np.ndarray:
        """Protect a subtable; the cells that are hidden now and were not, or have to move further than before."""
        cells = self.cells[number]
        if not (self.hidden[cells] & ((self.above[cells] > 0) | (self.below[cells] > 0))).any():
            return cells[:0]
        piece = subtable(self.problem, self.tables[number])
        piece = replace(
            piece, forced=self.hidden[piece.cell], above=self.above[piece.cell], below=self.below[piece.cell]
        )
        now = time.monotonic()
        share = (self.until - now) / left * SHARE
        pattern, tasks, in_time = cheapest(piece, min(self.until, now + share))
        self.in_time &= in_time
        up, down = pattern.reach(tasks)
        more = pattern.hidden & ~piece.forced
        changed = piece.cell[more]
        self.hidden[changed] = True
        self.above[changed] = np.maximum(self.above[changed], up[more])
        self.below[changed] = np.maximum(self.below[changed], down[more])
        return changed


def cheapest(piece: Piece, until: float) -> tuple[Pattern, list[Task], bool]:
    """A pattern of a subtable that is safe from an outsider, nearly the cheapest; what it meets; and whether the time
    was enough."""
    pattern = Pattern(piece)
    tasks = pattern.tasks()
    missed = {*pattern.protect(tasks)}
    met = [task for task in tasks if task not in missed]
    if (pattern.hidden == piece.forced).all():
        return pattern, met, True
    if time.monotonic() > until:
        pattern.drop(met)
        return pattern, met, False
    pattern, in_time = _cheaper(piece, pattern, met, until)
    in_time &= time.monotonic() < until
    pattern.drop(met)
    return pattern, met, in_time


def _cheaper(piece: Piece, pattern: Pattern, tasks: list[Task], until: float) -> tuple[Pattern, bool]:
    """The same by the exact method, as long as there is time; tasks that nothing meets are left to the audit."""
    able = np.zeros((2, len(piece)), np.bool_)
    for i, way, _ in tasks:
        able[0 if way > 0 else 1, i] = True
    asked = replace(piece, above=piece.above * able[0], below=piece.below * able[1])
    attacker = PieceAttacker(asked)
    master = Master(asked, attacker, lambda _message, _share: check_cancelled())
    cost = float(piece.cost[pattern.hidden & ~piece.forced].sum())
    bound, x = master.relax(until, cost)
    fresh = True
    while bound < cost * (1 - GAP):
        if fresh and x is not None:
            other = Pattern(asked, attacker, pattern.mover, pattern.moves)
            other.failed |= pattern.failed
            other.hidden |= x > 0.5
            other.protect(tasks)
            other.drop(tasks, None, until)
            price = float(piece.cost[other.hidden & ~piece.forced].sum())
            if price < cost:
                pattern, cost = other, price
                continue
        if time.monotonic() > until:
            return pattern, False
        solved = master.solve(until, GAP, pattern.hidden * 1.0)
        if solved.x is None:
            return pattern, solved.infeasible
        bound, x = max(bound, solved.bound), solved.x
        fresh = master.add(master.in_sums(x) + master.separate(x, until)) > 0
        if not fresh:
            pattern.hidden = x > 0.5
            return pattern, solved.optimal
    return pattern, True
