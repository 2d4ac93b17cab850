"""Greedy patterns: each cell in turn is protected by the cheapest move, and cells that none needs are dropped again.

J. P. Kelly, B. L. Golden, A. A. Assad, Cell suppression: disclosure protection for sensitive tabular data, Networks
22(4), 1992.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np

from sfumato.core.progress import check_cancelled
from sfumato.tables.suppression.attack import TIES, Mover, Piece, PieceAttacker

MOST_MOVES = 2_000  # deviations that are kept
Task = tuple[int, int, int]  # a cell, the way it has to be able to move, and who attacks (-1 an outsider)


class Pattern:
    """Hidden cells of a piece, and deviations that meet its tasks, each a row of `moves`."""

    def __init__(self, piece: Piece, attacker: PieceAttacker | None = None, mover: Mover | None = None) -> None:
        self.piece, self.attacker, self.mover = piece, attacker or PieceAttacker(piece), mover or Mover(piece)
        self.hidden = piece.forced.copy()
        self.moves = np.zeros((0, len(piece)))
        self.mirrors = np.zeros(0, np.bool_)  # whether the opposite deviation is one, too
        self.last: dict[Task, int] = {}

    def tasks(self) -> list[Task]:
        """What has to be met against an outsider, the hardest first."""
        needs = np.maximum(self.piece.above, self.piece.below)
        cells = [int(i) for i in np.argsort(-needs, kind="stable") if needs[i] > 0]
        return [(i, way, -1) for i in cells for way in self.ways(i)]

    def people(self, i: int) -> list[int]:
        """Those who are alone in a hidden cell, and not in cell i."""
        person = self.piece.person
        return [int(k) for k in np.unique(person[self.hidden & (person >= 0)]) if k != person[i]]

    def met(self, task: Task, narrow: bool = False) -> bool:
        """Whether a task is met, by a deviation that is known or one that is found, quickly where `narrow`."""
        i, way, known = task
        at = self.last.get(task)
        if at is not None and not self.moves[at][~self.hidden].any():
            return True
        if len(self.moves):
            need = self.attacker.need(i, way) * (1 - TIES)
            fits = (way * self.moves[:, i] >= need) | ((-way * self.moves[:, i] >= need) & self.mirrors)
            if known >= 0:
                fits &= ~self.moves[:, self.piece.person == known].any(1)
            of = np.flatnonzero(fits)[::-1]
            of = of[~self.moves[np.ix_(of, np.flatnonzero(~self.hidden))].any(1)]
            if len(of):
                self.last[task] = int(of[0])
                return True
        y = self.attacker.escape(i, way, self.hidden * 1.0, known, narrow)
        if y is None:
            return False
        self.meet(task, np.where(np.abs(y) > 1e-9, y, 0.0))
        return True

    def meet(self, task: Task, y: np.ndarray) -> None:
        """Keep a deviation that meets a task."""
        if len(self.moves) >= MOST_MOVES:
            self.moves, self.mirrors, self.last = self.moves[:0], self.mirrors[:0], {}
        self.last[task] = len(self.moves)
        self.moves = np.vstack([self.moves, y])
        piece = self.piece
        mirrors = bool((-y <= piece.up * (1 + TIES)).all() and (-y >= -piece.down * (1 + TIES)).all())
        self.mirrors = np.append(self.mirrors, mirrors)

    def protect(self, tasks: Iterable[Task], until: float = np.inf) -> list[Task]:
        """Hide the cheapest cells for each task that is not met; the tasks for which there are none, or no time."""
        piece, failed = self.piece, []
        for task in tasks:
            check_cancelled()
            if time.monotonic() > until:
                failed.append(task)
                continue
            if self.met(task):
                continue
            i, way, known = task
            need = self.attacker.need(i, way)
            reach = np.minimum(np.maximum(piece.up, piece.down), need)
            price = np.where(self.hidden, 0.0, piece.cost / np.maximum(reach, need * 1e-6))
            allowed = np.ones(len(piece), np.bool_)
            if known >= 0:
                allowed[piece.person == known] = False
            moved = self.mover.move(i, way, price, allowed, need)
            if moved is None:
                failed.append(task)
                continue
            self.hidden |= moved != 0
            self.meet(task, moved)
        return failed

    def drop(self, tasks: Iterable[Task], which: np.ndarray | None = None, until: float = np.inf) -> None:
        """Publish cells again that no task needs, the dearest first; of some cells only; as long as there is time."""
        tasks = list(tasks)
        free = np.flatnonzero(self.hidden & ~self.piece.forced & (True if which is None else which))
        for j in free[np.argsort(-self.piece.cost[free], kind="stable")]:
            check_cancelled()
            if time.monotonic() > until:
                return
            self.hidden[j] = False
            for n, task in enumerate(tasks):
                if not self.met(task, narrow=True):
                    self.hidden[j] = True
                    tasks.insert(0, tasks.pop(n))  # it may well be the next to fail
                    break

    def reach(self, tasks: Iterable[Task]) -> tuple[np.ndarray, np.ndarray]:
        """How far each cell goes up and down in the deviations that meet tasks."""
        up, down = np.zeros(len(self.piece)), np.zeros(len(self.piece))
        for task in tasks:
            if self.met(task):
                y = self.moves[self.last[task]]
                y = y if task[1] * y[task[0]] > 0 else -y
                up, down = np.maximum(up, y), np.maximum(down, -y)
        return up, down

    def place(self, cell: int) -> int:
        """Where a cell of the table is in the piece."""
        return int(np.searchsorted(self.piece.cell, cell))

    def ways(self, i: int) -> list[int]:
        """The ways that a cell has to be able to move."""
        return [way for way in (1, -1) if self.attacker.need(i, way) > 0]

    def move_others(self, i: int, way: int) -> None:
        """Hide the cells of a move of cell i that is not hidden yet: of others alone, or else the cheapest."""
        new = ~self.hidden
        new[i] = True
        for allowed in (new, np.ones(len(self.piece), np.bool_)):
            moved = self.mover.move(i, way, self.piece.cost, allowed, self.attacker.need(i, way))
            if moved is not None and not self.hidden[moved != 0].all():
                self.hidden |= moved != 0
                return
