"""Greedy patterns: each cell in turn is protected by the cheapest move, and cells that none needs are dropped again.

J. P. Kelly, B. L. Golden, A. A. Assad, Cell suppression: disclosure protection for sensitive tabular data, Networks
22(4), 1992.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

import numpy as np

from sfumato.core.progress import check_cancelled
from sfumato.tables.suppression.attack import OUTSIDER, TIES, Mover, Piece, PieceAttacker, Who

MOST_MOVES = 2_000  # deviations that are kept
MOST_TRIED = 100  # of these, the last ones, that are tried for a task
Task = tuple[int, int, Who]  # a cell, the way it has to be able to move, and who attacks


class KnownMoves:
    """Deviations that are known, a column each, with the number of published cells that each would move."""

    def __init__(self, cells: int) -> None:
        self.y = np.zeros((cells, 16))
        self.hidden, self.times = np.ones(cells, np.bool_), 0
        self.count = 0
        self.published = np.zeros(self.y.shape[1], np.int64)
        self.mirrors = np.zeros(self.y.shape[1], np.bool_)  # whether the opposite deviation is one, too

    def keep(self, which: np.ndarray) -> None:
        """Forget all but some."""
        self.count, self.times = len(which), self.times + 1
        for one in (self.y.T, self.published, self.mirrors):
            one[: len(which)] = one[which]

    def add(self, y: np.ndarray, mirrors: bool) -> int:
        """Keep a deviation; its number."""
        if self.count == self.y.shape[1]:
            more = np.zeros_like(self.y)
            self.y = np.concatenate([self.y, more], 1)
            self.published = np.concatenate([self.published, more[0].astype(np.int64)])
            self.mirrors = np.concatenate([self.mirrors, more[0] > 0])
        at, self.count = self.count, self.count + 1
        self.y[:, at], self.mirrors[at] = y, mirrors
        self.published[at] = int((y[~self.hidden] != 0).sum())
        return at

    def follow(self, hidden: np.ndarray) -> None:
        """Take note of which cells are hidden now."""
        changed = np.flatnonzero(hidden != self.hidden)
        if len(changed):
            moved = (self.y[changed, : self.count] != 0) * np.where(hidden[changed], -1, 1)[:, None]
            self.published[: self.count] += moved.sum(0)
            self.hidden[changed] = hidden[changed]

    def fitting(self, i: int, way: int, need: float) -> np.ndarray:
        """Those of hidden cells alone in which cell i moves far enough one way, or the other where that may be turned
        round; the last one first."""
        n = self.count
        at = self.y[i, :n] * way
        fits = (self.published[:n] == 0) & ((at >= need) | ((at <= -need) & self.mirrors[:n]))
        return np.flatnonzero(fits)[::-1]

    def turned(self, at: int, i: int, way: int) -> np.ndarray:
        """A deviation, or its opposite, as cell i moves one way."""
        y = self.y[:, at]
        return y if way * y[i] > 0 else -y


class Pattern:
    """Hidden cells of a piece, and deviations that meet its tasks.

    A task is met from the outset against all who have a share of a cell beside others, if it can be: so that it need
    not be met against each of them.
    """

    def __init__(
        self, piece: Piece, attacker: PieceAttacker | None = None, mover: Mover | None = None,
        moves: KnownMoves | None = None,
    ) -> None:  # fmt: skip
        self.piece, self.attacker, self.mover = piece, attacker or PieceAttacker(piece), mover or Mover(piece)
        self.hidden, self.moves = piece.forced.copy(), moves or KnownMoves(len(piece))
        self.times = self.moves.times
        self.last: dict[Task, int] = {}
        self.others: dict[Task, tuple[int, list[Task]]] = {}  # what has to be met beside a task, as it is met by a move
        self.failed: set[Task] = set()
        self.bold: set[Task] = set()  # tasks that cannot be met so

    def tasks(self) -> list[Task]:
        """What has to be met against an outsider, the hardest first."""
        needs = np.maximum(self.piece.above, self.piece.below)
        cells = [int(i) for i in np.argsort(-needs, kind="stable") if needs[i] > 0]
        return [(i, way, OUTSIDER) for i in cells for way in self.ways(i)]

    def met(self, task: Task, narrow: bool = False) -> bool:
        """Whether a task is met, by a deviation that is known or one that is found, quickly where `narrow`."""
        i, way, who = task
        self.moves.follow(self.hidden)
        if self.times != self.moves.times:  # they were forgotten
            self.times, self.last, self.others = self.moves.times, {}, {}
        at = self.last.get(task)
        if at is not None and not self.moves.published[at]:
            return True
        need = self.attacker.need(i, way, who)
        fits = self.moves.fitting(i, way, need * (1 - TIES))[:MOST_TRIED]
        wary = not who and task not in self.bold and self.attacker.shared
        if len(fits) and (who or wary):
            fits = fits[self.possible(fits, i, way, who, need)]
        if len(fits):
            self.last[task] = int(fits[0])
            return True
        y = self.attacker.escape(i, way, self.hidden * 1.0, who, narrow, wary)
        if y is None:
            return False
        self.meet(task, np.where(np.abs(y) > 1e-9, y, 0.0))
        return True

    def possible(self, which: np.ndarray, i: int, way: int, who: Who, need: float) -> np.ndarray:
        """Which of some deviations, as cell i moves one way in them, somebody cannot rule out."""
        known, turn, near = self.piece.insiders, way * np.sign(self.moves.y[i, which]), need * TIES
        if not who:  # those who have shares, all at once
            down = self.attacker.wary_room[0]
            return (self.moves.y[:, which] * turn >= -down[:, None] - near).all(0)
        of = known.entries(who)
        at = self.moves.y[np.ix_(known.cell[of], which)] * turn
        return ((at >= -known.down[of, None] - near) & (at <= known.up[of, None] + near)).all(0)

    def meet(self, task: Task, y: np.ndarray) -> None:
        """Keep a deviation that meets a task."""
        if self.moves.count >= MOST_MOVES:
            used = np.unique([*self.last.values()]).astype(np.int64)
            used = used if len(used) < MOST_MOVES // 2 else used[:0]
            self.moves.keep(used)
            place = {int(at): n for n, at in enumerate(used)}
            self.last = {one: place[at] for one, at in self.last.items() if at in place}
            self.times, self.others = self.moves.times, {}
        piece = self.piece
        mirrors = bool((-y <= piece.up * (1 + TIES)).all() and (-y >= -piece.down * (1 + TIES)).all())
        self.last[task] = self.moves.add(y, mirrors)

    def joined(self, task: Task) -> list[Task]:
        """What has to be met beside a task that is met: against insiders who know that its move is not so."""
        i, way, who = task
        at = self.last[task]
        kept = self.others.get(task)
        if kept is None or kept[0] != at:
            need = self.attacker.need(i, way, who)
            more = self.attacker.joined(who, self.moves.turned(at, i, way), need)
            kept = at, [(i, way, one) for one in more if self.attacker.need(i, way, one) > 0]
            self.others[task] = kept
        return kept[1]

    def holds(self, task: Task, narrow: bool = False) -> bool:
        """Whether a task is met, also against insiders; without what nothing meets."""
        if task in self.failed:
            return True
        return self.met(task, narrow) and all(self.holds(one, narrow) for one in self.joined(task))

    def protect(self, tasks: Iterable[Task], until: float = np.inf) -> list[Task]:
        """Hide the cheapest cells for each task that is not met, also against insiders; the tasks for which there are
        none, or no time."""
        failed, left = [], [*tasks][::-1]
        while left:
            check_cancelled()
            task = left.pop()
            if task in self.failed or time.monotonic() > until:
                failed.append(task)
            elif self.met(task) or self.hide_for(task):
                left += self.joined(task)
            else:
                self.failed.add(task)
                failed.append(task)
        return failed

    def hide_for(self, task: Task) -> bool:
        """Hide the cheapest cells with which a task is met; whether there are any."""
        i, way, who = task
        piece, need = self.piece, self.attacker.need(i, way, who)
        reach = np.minimum(np.maximum(piece.up, piece.down), need)
        price = np.where(self.hidden, 0.0, piece.cost / np.maximum(reach, need * 1e-6))
        moved = None
        if not who and self.attacker.shared and task not in self.bold:
            moved = self.mover.move(i, way, price, self.attacker.wary_room, need)
            if moved is None:
                self.bold.add(task)
        if moved is None:
            moved = self.mover.move(i, way, price, self.attacker.room(who), need)
        if moved is None:
            return False
        self.hidden |= moved != 0
        self.moves.follow(self.hidden)
        self.meet(task, moved)
        return True

    def drop(self, tasks: Iterable[Task], which: np.ndarray | None = None, until: float = np.inf) -> None:
        """Publish cells again that no task needs, the dearest first; of some cells only; as long as there is time."""
        free = np.flatnonzero(self.hidden & ~self.piece.forced & (True if which is None else which))
        active = dict.fromkeys(self.beside(tasks))
        for j in free[np.argsort(-self.piece.cost[free], kind="stable")]:
            check_cancelled()
            if time.monotonic() > until:
                return
            self.hidden[j] = False
            uses = self.moves.y[j] != 0
            stale = [task for task in active if (at := self.last.get(task)) is None or uses[at]]
            for n, task in enumerate(stale):
                if not self.holds(task, narrow=True):
                    self.hidden[j] = True
                    active = {task: None, **active}  # it may well be the next to fail
                    stale = stale[: n + 1]
                    break
            active.update(dict.fromkeys(self.beside(stale)))

    def beside(self, tasks: Iterable[Task]) -> list[Task]:
        """Tasks, and what has to be met beside them, as they are met now."""
        found, left = [], [*tasks][::-1]
        while left:
            task = left.pop()
            if task not in self.failed:
                found.append(task)
                if task in self.last:
                    left += self.joined(task)
        return found

    def reach(self, tasks: Iterable[Task]) -> tuple[np.ndarray, np.ndarray]:
        """How far each cell goes up and down in the deviations that meet tasks, also against insiders."""
        up, down = np.zeros(len(self.piece)), np.zeros(len(self.piece))
        left = [*tasks]
        while left:
            task = left.pop()
            if task not in self.failed and self.met(task):
                y = self.moves.turned(self.last[task], task[0], task[1])
                up, down = np.maximum(up, y), np.maximum(down, -y)
                left += self.joined(task)
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
        piece = self.piece
        for allowed in (new, np.ones(len(piece), np.bool_)):
            room = np.where(allowed, piece.down, 0.0), np.where(allowed, piece.up, 0.0)
            moved = self.mover.move(i, way, piece.cost, room, self.attacker.need(i, way))
            if moved is not None and not self.hidden[moved != 0].all():
                self.hidden |= moved != 0
                return
