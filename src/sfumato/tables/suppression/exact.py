"""Exact cell suppression: M. Fischetti, J. J. Salazar, Management Science 47(7), 2001."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from sfumato.core.parameters import Real, check_fields
from sfumato.tables.protection import ProtectedCells, ProtectionProblem
from sfumato.tables.suppression.attack import CapacityCut, Mover, Piece, PieceAttacker
from sfumato.tables.suppression.greedy import KnownMoves, Pattern
from sfumato.tables.suppression.master import Master
from sfumato.tables.suppression.modular import ModularPattern
from sfumato.tables.suppression.pieces import everything, whole_piece
from sfumato.tables.suppression.repair import MOST_WHOLE, Audited, repair

GAPS = (0.05, 0.01, 0.0)  # shares of the cost that integer programs are solved to, one after the other
FIRST = 0.5  # share of the time for the first pattern
MOST_GROWN = 300  # audits that one failing pattern is grown by


@dataclass(frozen=True)
class Exact:
    """Hide cells so that what is hidden costs the least.

    An integer program chooses the cells; attacks on its solutions, by linear programs, give it further inequalities,
    until a solution withstands them, and the audit. A pattern that is safe is known from the beginning, so that there
    is one when the time is over. seconds: how long it looks for a cheaper one.
    """

    seconds: Annotated[float, Real(0, 1e9, above=True)] = 60.0

    hides: ClassVar[bool] = True
    additive: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self, "exact")

    def __call__(self, problem: ProtectionProblem) -> ProtectedCells:
        """Protect the cells of the problem."""
        until = time.monotonic() + self.seconds
        audited = Audited(problem)
        most = everything(audited.problem)
        piece = whole_piece(problem)
        attacker = PieceAttacker(piece)
        best, in_time = first_pattern(audited, piece, attacker, most, time.monotonic() + self.seconds * FIRST)
        run = _Run(audited, Master(piece, attacker, problem.report_progress), best, until)
        run.relax()
        while not run.optimal and time.monotonic() < until:
            if not run.step():
                break
        facts = {"cuts": run.master.cuts, "audits": audited.times}
        in_time &= run.optimal and time.monotonic() < until
        return ProtectedCells(run.best, problem.price(run.best), run.bound, run.optimal, in_time, facts=facts)


def first_pattern(
    audited: Audited, piece: Piece, attacker: PieceAttacker, most: np.ndarray, until: float
) -> tuple[np.ndarray, bool]:
    """A safe pattern: the greedy one, or of a large table the modular one, repaired; and whether no clock had a say."""
    if len(piece) > MOST_WHOLE:
        run = ModularPattern(audited.problem, until)
        return repair(audited, run.hidden, most), run.in_time
    greedy = Pattern(piece, attacker)
    tasks = greedy.tasks()
    greedy.protect(tasks)
    greedy.drop(tasks, None, until)
    in_time = time.monotonic() < until
    hidden = np.zeros(len(most), np.bool_)
    hidden[piece.cell[greedy.hidden]] = True
    return repair(audited, hidden, most), in_time


class _Run:
    """The state of the search: the cheapest safe pattern so far, and what no pattern can cost less than."""

    def __init__(self, audited: Audited, master: Master, best: np.ndarray, until: float) -> None:
        self.audited, self.problem, self.master, self.until = audited, audited.problem, master, until
        self.piece, self.mover, self.moves = master.piece, Mover(master.piece), KnownMoves(len(master.piece))
        self.best, self.bound, self.gaps = best, 0.0, list(GAPS)

    @property
    def optimal(self) -> bool:
        """Whether no pattern can cost less than the cheapest so far."""
        price = self.problem.price(self.best)
        return self.bound >= price - 1e-7 * max(1.0, price)

    def relax(self) -> None:
        """The linear phase."""
        bound, x = self.master.relax(self.until, self.problem.price(self.best))
        self.bound = max(self.bound, bound)
        if x is not None and not self.optimal:
            self.offer(x > 0.5)

    def report(self) -> None:
        """Tell how far it is."""
        price = self.problem.price(self.best)
        gap = 1 - self.bound / price if price else 0.0
        self.problem.report_progress(f"hiding cells, at most {gap:.1%} above the least cost", None)

    def offer(self, x: np.ndarray) -> None:
        """Take a pattern that hides what is missing to some cells as the best, where it is cheaper and safe."""
        greedy = Pattern(self.piece, self.master.attacker, self.mover, self.moves)
        greedy.hidden |= x
        tasks = greedy.tasks()
        if greedy.protect(tasks, self.until):
            return
        greedy.drop(tasks, ~x, self.until)
        hidden = self.of_table(greedy.hidden)
        if self.problem.price(hidden) < self.problem.price(self.best) - 1e-9 and not len(self.audited(hidden)):
            self.best = hidden

    def of_table(self, x: np.ndarray) -> np.ndarray:
        """A pattern of the piece as one of the table."""
        hidden = np.zeros(self.problem.value.size, np.bool_)
        hidden[self.piece.cell[x]] = True
        return hidden

    def step(self) -> bool:
        """Solve the integer program, and add the cuts that its solution does not keep; False where none was found."""
        self.report()
        solved = self.master.solve(self.until, self.gaps[0], self.best[self.piece.cell])
        self.bound = max(self.bound, min(solved.bound, self.problem.price(self.best)))
        if solved.infeasible:  # nothing is cheaper
            self.bound = self.problem.price(self.best)
            return False
        if self.optimal or solved.x is None:
            return solved.x is not None
        x = solved.x > 0.5
        hidden = self.of_table(x)
        cuts = self.master.in_sums(solved.x) + self.master.separate(solved.x, self.until)
        if self.master.add(cuts):
            self.offer(x)
            self.bound = max(self.bound, self.master.relax(self.until, self.problem.price(self.best))[0])
            return True
        exposed = self.audited(hidden)
        if len(exposed):
            return self.master.add([self.grown(hidden)]) > 0
        if self.problem.price(hidden) < self.problem.price(self.best):
            self.best = hidden
        if self.gaps[0] == 0 and solved.optimal:
            self.bound = self.problem.price(self.best)
        self.gaps = self.gaps[1:] or [0.0]
        return True

    def grown(self, hidden: np.ndarray) -> CapacityCut:
        """The cut of a pattern that withstands the attacks by linear programs and fails the audit, as where attackers
        know that counts are whole.

        As many cells are hidden as it fails with still. A pattern that fails does so with fewer cells hidden, so that
        one of those that are left has to be hidden.
        """
        every = self.problem.candidate | self.problem.forced
        tried, lacks = hidden.copy(), np.flatnonzero(every & ~hidden)
        lacks = lacks[np.argsort(-self.problem.cost[lacks], kind="stable")]
        parts, stays, most = [lacks], [], self.audited.times + MOST_GROWN
        while parts:
            part = parts.pop()
            tried[part] = True
            more = self.audited.times < most and time.monotonic() < self.until
            if more and len(self.audited(tried)):
                continue
            tried[part] = False
            if len(part) > 1 and more:
                parts += [part[len(part) // 2 :], part[: len(part) // 2]]
            else:
                stays.append(part)
        found = np.searchsorted(self.piece.cell, np.concatenate(stays) if stays else lacks[:0])
        return CapacityCut(found, np.ones(len(found)), 1.0)
