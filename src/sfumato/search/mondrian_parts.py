"""The parts of a table that Mondrian cuts: slices of its cells, moved within them by each cut."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from sfumato.cells import Cells
from sfumato.kernels.mondrian import propose
from sfumato.kernels.mondrian_choice import choose
from sfumato.kernels.mondrian_cuts import Cells as Room
from sfumato.kernels.mondrian_cuts import Rules, Shape, cut_parts, settle
from sfumato.kernels.mondrian_scores import Goal
from sfumato.search.mondrian_shape import Column
from sfumato.search.pieces import refined
from sfumato.search.problem import Problem, Split

WORTH_A_THREAD = 20_000  # cells in a round before a second core pays


class Parts:
    """Strict cuts of the widest or first column at its median: moved at once, also by cuts that are then refused."""

    def __init__(self, problem: Problem, columns: list[Column], shape: Shape, rules: Rules) -> None:
        cells = problem.cells
        self.cells, self.shape = cells, shape
        self.codes = np.stack([column.place[cells.codes[i]] for i, column in enumerate(columns)])
        self.n, self.idx = cells.count.copy(), np.arange(len(cells), dtype=np.int32)
        self.spare = np.empty_like(self.codes), np.empty_like(self.n), np.empty_like(self.idx)
        self.bounds = np.zeros(len(cells), np.int64)
        self.rules = rules

    def cut(self, start: np.ndarray, end: np.ndarray, skip: np.ndarray, pool: ThreadPoolExecutor) -> np.ndarray:
        """Cut each part [start, end), passing over `skip` cuts; the number of its sides, 0 where none is allowed."""
        kids = np.zeros(len(start), np.int64)
        rules = self.rules.least, self.rules.how == 1, self.rules.widest

        def run(part: slice) -> None:
            cells = self.codes, self.n, self.idx, *self.spare
            propose(*cells, start[part], end[part], skip[part], *rules, *self.shape[:9], kids[part], self.bounds)

        share(run, start, end, pool)
        return kids

    def sides(self, start: np.ndarray, end: np.ndarray, kids: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where the sides of all cut parts begin and end, and the part that each comes from."""
        of_part, nth = _each(kids)
        first = self.bounds[start[of_part] + nth]
        last = np.append(first[1:], 0)
        final = np.append(of_part[1:] != of_part[:-1], True) if len(of_part) else np.zeros(0, np.bool_)
        last[: len(of_part)][final] = end[of_part[final]]
        return first, last[: len(of_part)], of_part

    def taken(self, at: np.ndarray) -> tuple[Cells, np.ndarray]:
        """The cells that stand at some places after the cut, ascending, and the order that this takes."""
        order = np.argsort(self.idx[at])
        return self.cells.take(self.idx[at][order]), order

    def accept(self, first: np.ndarray, last: np.ndarray) -> None:
        """Let sides stand."""

    def settled(self, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Places, rows and cell of each piece, in the order of the parts."""
        return self.codes, self.n, self.idx


class FreeParts(Parts):
    """Any cuts; a cut takes effect when it is accepted. Relaxed cuts divide cells, for whose pieces there is room."""

    def __init__(
        self, problem: Problem, columns: list[Column], shape: Shape, rules: Rules, goal: Goal | None = None
    ) -> None:
        super().__init__(problem, columns, shape, rules)
        self.goal = goal
        cells, rows = len(self.n), int(self.n.sum())
        if rules.relaxed and (more := min(rows // rules.least - 1, rows - cells)) > 0:
            self.codes = np.pad(self.codes, ((0, 0), (0, more)))
            self.n, self.idx = np.pad(self.n, (0, more)), np.pad(self.idx, (0, more))
            self.spare = np.empty_like(self.codes), np.empty_like(self.n), np.empty_like(self.idx)
        self.room = Room(self.codes, self.n, self.idx, *self.spare)
        self.first, self.last = np.zeros(len(self.n), np.int64), np.zeros(len(self.n), np.int64)

    def cut(self, start: np.ndarray, end: np.ndarray, skip: np.ndarray, pool: ThreadPoolExecutor) -> np.ndarray:
        """Deal the cells of each part [start, end) to the sides of its cut number `skip`, beside."""
        kids, skip = np.zeros(len(start), np.int64), skip.copy()
        column, cut, take = np.full(len(start), -1), np.zeros_like(start), np.zeros_like(start)

        def run(part: slice) -> None:
            fixed = self.room, self.shape, self.rules
            own = start[part], end[part], skip[part], column[part], cut[part], take[part]
            if self.goal is not None:
                choose(*fixed, self.goal, *own)
            cut_parts(*fixed, *own, kids[part], self.first, self.last)

        share(run, start, end, pool)
        return kids

    def sides(self, start: np.ndarray, end: np.ndarray, kids: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Where the sides of all cut parts begin and end, and the part that each comes from."""
        of_part, nth = _each(kids)
        at = start[of_part] + nth
        return self.first[at], self.last[at], of_part

    def taken(self, at: np.ndarray) -> tuple[Cells, np.ndarray]:
        """The cells, or pieces of them, that stand at some places after the cut, ascending, and the order."""
        _, n, idx = self.spare
        order = np.argsort(idx[at], kind="stable")
        return refined(self.cells, Split(idx[at][order], n[at][order])), order

    def accept(self, first: np.ndarray, last: np.ndarray) -> None:
        """Let sides stand."""
        settle(self.room, first, last)

    def settled(self, starts: np.ndarray, ends: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Places, rows and cell of each piece, in the order of the parts."""
        at = stretch(starts, ends)
        return self.codes[:, at], self.n[at], self.idx[at]


def share(run: Callable[[slice], None], start: np.ndarray, end: np.ndarray, pool: ThreadPoolExecutor) -> None:
    """Run over all parts, in two halves at a time where that pays."""
    size = np.cumsum(end - start)
    if len(start) == 1 or size[-1] < WORTH_A_THREAD:
        run(slice(0, len(start)))
        return
    middle = int(np.searchsorted(size, size[-1] / 2))
    other = pool.submit(run, slice(0, middle))
    run(slice(middle, len(start)))
    other.result()


def stretch(first: np.ndarray, last: np.ndarray) -> np.ndarray:
    """The numbers of all ranges [first, last), one after the other.

    >>> stretch(np.array([0, 7]), np.array([2, 9])).tolist()
    [0, 1, 7, 8]
    """
    width = last - first
    return np.arange(width.sum()) - np.repeat(np.cumsum(width) - width, width) + np.repeat(first, width)


def _each(kids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """For every side of every part: its part, and its number there."""
    of_part = np.repeat(np.arange(len(kids)), kids)
    return of_part, np.arange(len(of_part)) - np.repeat(np.cumsum(kids) - kids, kids)
