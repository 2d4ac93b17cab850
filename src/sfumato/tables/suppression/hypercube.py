"""Hypercube method: D. Repsilber, Preservation of confidentiality in aggregated data, 1994; S. Giessing, D. Repsilber,
Tools and strategies to protect multiple tables with the GHQUAR cell suppression engine, LNCS 2316, 2002.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import ClassVar

import numpy as np

from sfumato.core.progress import check_cancelled
from sfumato.tables.protection import ProtectedCells, ProtectionProblem
from sfumato.tables.suppression.pieces import everything, simple_subtables
from sfumato.tables.suppression.repair import Audited, repair

Corner = tuple[int, ...]
Signs = list[float]
MOST_BOXES = 6  # for one cell, where none alone is wide enough
WARY = 4.0  # times that a cell costs whose value somebody knows, for it hides nothing from them


@dataclass(frozen=True)
class Hypercube:
    """Hide, for each unsafe cell, the corners of the cheapest box of cells around it in each simple subtable.

    The corners move together, alternately up and down. A cell that is hidden in one subtable is unsafe in the others
    that it lies in, until nothing changes. Quick for many columns; it hides more than an exact search.
    """

    hides: ClassVar[bool] = True
    additive: ClassVar[bool] = True

    def __call__(self, problem: ProtectionProblem) -> ProtectedCells:
        """Protect the cells of the problem."""
        audited = Audited(problem)
        most = everything(audited.problem)
        hidden, rounds = box_pattern(problem)
        hidden = repair(audited, hidden, most)
        facts = {"rounds": rounds, "audits": audited.times}
        return ProtectedCells(hidden, problem.price(hidden), facts=facts)


def box_pattern(problem: ProtectionProblem) -> tuple[np.ndarray, int]:
    """The corners of boxes around all cells that are unsafe or were hidden, and in how many rounds they were found."""
    boxes, tables, rounds, changed = _Boxes(problem), list(simple_subtables(problem)), 0, True
    while changed:
        changed, rounds = False, rounds + 1
        for done, cells in enumerate(tables):
            problem.report_progress("hiding boxes", done / len(tables))
            changed |= boxes.protect(done, cells)
    return boxes.hidden, rounds


class _Boxes:
    """The hidden cells, how far each has to be able to move up and down, and how far it can in each subtable."""

    def __init__(self, problem: ProtectionProblem) -> None:
        self.candidate = problem.candidate | problem.forced
        self.room = np.stack([problem.most - problem.value, problem.value - problem.least], -1)
        self.cost = problem.cost
        self.alone = problem.table.contributors.ravel() == 1
        self.hidden = problem.forced.copy()
        self.need = np.stack([problem.above, problem.below], -1) * problem.forced.reshape(-1, 1)
        self.done: dict[int, np.ndarray] = {}  # of each subtable, how far its cells can move

    def protect(self, number: int, cells: np.ndarray) -> bool:
        """Hide boxes for the cells of a subtable that cannot move far enough in it; whether any cell was hidden."""
        need = self.need[cells]
        moves = self.done.setdefault(number, np.zeros((*cells.shape, 2)))
        wanted = self.hidden[cells] & (need > moves).any(-1)
        if not wanted.any():
            return False
        table = _Subtable(self.candidate[cells], self.room[cells], self.cost[cells], self.alone[cells])
        before = int(self.hidden.sum())
        places = np.argwhere(wanted)
        for at in places[np.argsort(-need.max(-1)[wanted], kind="stable")]:
            check_cancelled()
            place = tuple(int(i) for i in at)
            far = need[place]
            for corners, signs, reach in table.boxes(place, far - moves[place], self.hidden[cells]):
                for corner, sign in zip(corners, signs, strict=True):
                    cell = cells[corner]
                    can = reach if sign > 0 else reach[::-1]
                    asked = np.minimum(far if sign > 0 else far[::-1], can)
                    moves[corner] = np.maximum(moves[corner], asked)
                    self.hidden[cell] = True
                    self.need[cell] = np.maximum(self.need[cell], asked)
            moves[place] = np.maximum(moves[place], far)  # no other boxes are left to look for
        return int(self.hidden.sum()) > before


@dataclass(frozen=True, eq=False)
class _Subtable:
    """A table without a hierarchy; along each axis its total is first. `room`: how far cells can go up and down."""

    candidate: np.ndarray
    room: np.ndarray
    cost: np.ndarray
    alone: np.ndarray

    def boxes(
        self, at: Corner, need: np.ndarray, hidden: np.ndarray
    ) -> Iterator[tuple[list[Corner], Signs, np.ndarray]]:
        """The cheapest box around a cell that is wide enough; where none is, the widest, until they are together. Each
        with its corners, whether each goes up (1) or down (-1) as the cell goes up, and how far the cell can go."""
        axes = [axis for axis, size in enumerate(self.cost.shape) if size > 1]
        others = [np.delete(np.arange(self.cost.shape[axis]), at[axis]) for axis in axes]
        size = tuple(map(len, others))
        # parts of a total move against each other, a part and its total together
        turns = [
            np.where((other == 0) | (at[axis] == 0), 1.0, -1.0).reshape([-1 if k == n else 1 for k in range(len(axes))])
            for n, (axis, other) in enumerate(zip(axes, others, strict=True))
        ]
        price, fits, reach = np.zeros(size), np.ones(size, np.bool_), np.full((*size, 2), np.inf)
        every = list(product((False, True), repeat=len(axes)))
        for chosen in every:
            index: list[np.ndarray] = [np.array([i]) for i in at]
            sign = np.ones(size)
            for axis, other, turn, opposite in zip(axes, others, turns, chosen, strict=True):
                if opposite:
                    index[axis], sign = other, sign * turn
            grid, flat = np.ix_(*index), [len(index[axis]) for axis in axes]
            room = self.room[grid].reshape(*flat, 2)
            reach = np.minimum(reach, np.where(sign[..., None] > 0, room, room[..., ::-1]))
            if any(chosen):
                wary = np.where(self.alone[grid], WARY, 1.0) * self.cost[grid]
                price = price + np.where(hidden[grid], 0.0, wary).reshape(flat)
                fits = fits & self.candidate[grid].reshape(flat)
        asked = need > 1e-9
        share = np.full(size, np.inf)
        for way in np.flatnonzero(asked):
            share = np.minimum(share, reach[..., way] / need[way])
        fits &= share > 0
        left = 1.0
        for _ in range(MOST_BOXES):
            if left <= 1e-9 or not fits.any():
                return
            enough = fits & (share >= left * (1 - 1e-9))
            best = int(
                (np.where(enough, price, np.inf)).argmin() if enough.any() else np.where(fits, share, -1).argmax()
            )
            place = np.unravel_index(best, size)
            corners, signs = [], []
            for chosen in every:
                one, sign_of = list(at), 1.0
                for n, (axis, opposite) in enumerate(zip(axes, chosen, strict=True)):
                    if opposite:
                        one[axis], sign_of = int(others[n][place[n]]), sign_of * float(turns[n].ravel()[place[n]])
                corners.append(tuple(one))
                signs.append(sign_of)
            yield corners, signs, reach[place]
            fits[place] = False
            left -= float(share[place])
