"""Repair: hide further cells where the audit finds that an attacker narrows a hidden one too far.

G. Sande, Automated cell suppression to preserve confidentiality of business statistics, SSDBM 1983.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from sfumato.core.progress import check_cancelled
from sfumato.core.wording import count
from sfumato.tables.protection import ProtectionProblem
from sfumato.tables.suppression.attack import OUTSIDER
from sfumato.tables.suppression.greedy import Pattern, Task
from sfumato.tables.suppression.pieces import around, infeasible, piece_of, whole_piece

MOST_WHOLE = 3_000  # cells of a table that moves are looked for in all of; of a larger one, around a cell
MOVES = 2  # of other cells that are looked for for a cell
MOST_AROUND = 500  # exposed cells around which others are looked for in a large table
MOST_KEPT = 20_000  # audits that are remembered


class Audited:
    """The audit of a problem, which is asked once about each pattern."""

    def __init__(self, problem: ProtectionProblem) -> None:
        self.asked: dict[bytes, np.ndarray] = {}
        self.audit, self.times = problem.audit, 0
        self.problem = replace(problem, audit=self)

    def __call__(self, hidden: np.ndarray) -> np.ndarray:
        check_cancelled()
        key = np.packbits(hidden).tobytes()
        if key not in self.asked:
            if len(self.asked) >= MOST_KEPT:
                self.asked.clear()
            self.asked[key] = np.asarray(self.audit(hidden), np.int64)
            self.times += 1
        return self.asked[key]


def repair(audited: Audited, hidden: np.ndarray, most: np.ndarray) -> np.ndarray:
    """The pattern with so many further cells hidden that it passes the audit; `most` is all that may be
    hidden; Infeasible where not even that does.

    For a cell that is exposed, first the moves are hidden that protect it from each person who knows a cell; then, if
    that changes nothing, moves of other cells, then all cells of its sums, then of its subtables, then all.
    """
    run = _Repair(audited.problem, hidden.copy(), most)
    while len(exposed := audited(run.hidden)):
        run.problem.report_progress(f"repairing {count(len(exposed), 'cell')}", None)
        if not run.against_people(exposed):
            run.hide_more(exposed)
    return run.hidden


class _Repair:
    """A pattern under repair: what people can do has been met so far, and how often moves did not help a cell."""

    def __init__(self, problem: ProtectionProblem, hidden: np.ndarray, most: np.ndarray) -> None:
        self.problem, self.hidden, self.most = problem, hidden, most
        self.whole = problem.value.size <= MOST_WHOLE
        self.times = np.zeros(len(hidden), np.int64)
        self.kept = problem.forced.copy()  # not to be dropped
        self.known: Pattern | None = None
        self.tasks: dict[Task, None] = {}

    def pattern(self, exposed: np.ndarray) -> Pattern:
        """The cells that moves for exposed cells are looked for among, as they are hidden now: all, or of a large table
        all that are hidden and those in the subtables of the exposed ones."""
        if self.whole:
            self.known = self.known or Pattern(whole_piece(self.problem))
            self.known.hidden = self.hidden[self.known.piece.cell]
            return self.known
        cells = self.hidden.copy()
        for cell in exposed[:MOST_AROUND]:
            cells[around(self.problem, int(cell))] = True
        found = Pattern(piece_of(self.problem, np.flatnonzero(cells)))
        found.hidden = self.hidden[found.piece.cell]
        return found

    def against_people(self, exposed: np.ndarray) -> bool:
        """Protect cells from everybody who knows a cell; whether further cells are hidden for that."""
        before, pattern = self.hidden.copy(), self.pattern(exposed)
        for cell in exposed:
            check_cancelled()
            i, already = pattern.place(int(cell)), pattern.hidden.copy()
            tasks = [(i, way, OUTSIDER) for way in pattern.ways(i)]
            failed = {*pattern.protect(tasks)}
            tasks = [task for task in tasks if task not in failed]
            if self.whole:
                self.tasks.update(dict.fromkeys(tasks))
            elif (pattern.hidden != already).any():
                pattern.drop(tasks, ~already)
        self.hidden[pattern.piece.cell] = pattern.hidden
        self.hidden &= self.most
        if not (self.hidden & ~before).any():
            return False
        if self.whole:
            pattern = self.pattern(exposed)
            outsider = [task for task in pattern.tasks() if pattern.holds(task)]
            pattern.drop([*outsider, *self.tasks], ~self.kept[pattern.piece.cell])
            self.hidden[pattern.piece.cell] = pattern.hidden
        return bool((self.hidden != before).any())

    def hide_more(self, exposed: np.ndarray) -> None:
        """Hide further cells for cells that are exposed though nobody who knows one cell narrows them too far."""
        before, pattern = self.hidden.copy(), self.pattern(exposed)
        for cell in exposed:
            check_cancelled()
            times = int(self.times[cell])
            self.times[cell] += 1
            if times >= MOVES:
                self.hidden |= self.most & _near(self.problem, int(cell), 1 + times - MOVES)
            else:
                i = pattern.place(int(cell))
                for way in pattern.ways(i):
                    pattern.move_others(i, way)
        self.hidden[pattern.piece.cell[pattern.hidden]] = True
        self.hidden &= self.most
        self.kept |= self.hidden & ~before
        if (before == self.most).all():
            raise infeasible(self.problem, exposed)


def _near(problem: ProtectionProblem, cell: int, steps: int) -> np.ndarray:
    """The cells in the sums of a cell, or two steps away from it in its subtables, or all."""
    found = np.ones(problem.value.size, np.bool_)
    if steps == 1:
        sums = problem.sums
        mine = np.zeros(len(sums), np.bool_)
        mine[sums.row[sums.cell == cell]] = True
        found[:] = False
        found[sums.cell[mine[sums.row]]] = True
    elif steps == 2:
        found[:] = False
        found[around(problem, cell)] = True
    return found
