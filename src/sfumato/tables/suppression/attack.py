"""PieceAttacker: how far published sums let somebody narrow a hidden cell, and the capacity cut that this gives.

M. Fischetti, J. J. Salazar, Solving the cell suppression problem on tabular data with linear constraints,
Management Science 47(7), 2001.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.tables.suppression.solver import linear_program

TIES = 1e-6  # of the protection that a cell needs, within which it has it
GRAIN = 2.0**20  # multipliers are rounded to its parts, so that what a cut is made of is exact


@dataclass(frozen=True, eq=False)
class Piece:
    """A table, or a part of it, as its cells that may be hidden and the sums they stand in; all other cells are known.

    `cell` are their numbers in the table. Sums have entries at start[i]:start[i + 1] of `column` (places in `cell`) and
    `sign`. `down` and `up`: how far below and above its value everybody reckons a cell may be. `below` and `above`: how
    far an attacker must be left in doubt of it. `person`: who is alone in each cell, and knows it; -1 nobody.
    """

    cell: np.ndarray
    start: np.ndarray
    column: np.ndarray
    sign: np.ndarray
    down: np.ndarray
    up: np.ndarray
    below: np.ndarray
    above: np.ndarray
    cost: np.ndarray
    forced: np.ndarray
    person: np.ndarray

    def __len__(self) -> int:
        return len(self.cell)

    @property
    def row(self) -> np.ndarray:
        """The sum of each entry."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))


@dataclass(frozen=True, eq=False)
class CapacityCut:
    """An inequality that every safe pattern keeps: the sum of coefficient x over some cells is at least `least`."""

    column: np.ndarray
    coefficient: np.ndarray
    least: float

    def short_of(self, x: np.ndarray) -> float:
        """How much a pattern falls short of it, as a share."""
        return 1 - float(self.coefficient @ x[self.column]) / self.least


class PieceAttacker:
    """Somebody who knows all cells that are not hidden, bounds for the others, and the sums.

    A deviation y of all cells keeps the sums, M y = 0, and -down x <= y <= up x, where x is 1 for hidden cells; what y
    can be at a cell is what the attacker cannot tell from its value.
    """

    def __init__(self, piece: Piece) -> None:
        self.piece = piece
        n, sums = len(piece), len(piece.start) - 1
        self.program = linear_program(np.zeros(n), np.zeros(n), np.zeros(n))
        self.program.add_rows(piece.start, piece.column, piece.sign, np.zeros(sums), np.zeros(sums))
        self.row = piece.row
        self.none = np.zeros(n)
        self.reach = max(1.0, float(np.max([*piece.below, *piece.above], initial=1.0))) * 1e4

    def deviation(self, i: int, way: int, x: np.ndarray, most: float, known: int = -1) -> tuple[np.ndarray, np.ndarray]:
        """The y with the greatest way * y[i] where no cell moves by more than `most`, and the multipliers that prove
        it. `known`: the person who attacks, and knows cells; -1 an outsider."""
        piece = self.piece
        low, high = -np.minimum(piece.down, most) * x, np.minimum(piece.up, most) * x
        if known >= 0:
            low[piece.person == known] = high[piece.person == known] = 0
        self.program.bound(low, high)
        cost = self.none.copy()
        cost[i] = -way
        self.program.price(cost)
        found = self.program.solve()
        if found.x is None or found.dual is None:
            return self.none, np.zeros(len(piece.start) - 1)
        return found.x, found.dual

    def need(self, i: int, way: int) -> float:
        """How far cell i has to be able to deviate: above its value for 1, below it for -1."""
        return float((self.piece.above if way > 0 else self.piece.below)[i])

    def escape(self, i: int, way: int, x: np.ndarray, known: int = -1, narrow: bool = False) -> np.ndarray | None:
        """A deviation that protects cell i one way, or None where none does; where `narrow`, none in which another
        cell moves by more."""
        need = self.need(i, way)
        for most in (need,) if narrow else (need, self.reach):
            y, _ = self.deviation(i, way, x, most, known)
            if way * y[i] >= need * (1 - TIES):
                return y
        return None

    def attack(self, i: int, x: np.ndarray, known: int = -1) -> list[CapacityCut]:
        """Cuts that x does not keep, none where cell i is protected both ways.

        First no cell may move by more than the protection: that gives the cuts with coefficients rounded down to it.
        """
        found, same = [], False
        for way in (1, -1):
            need = self.need(i, way)
            if need <= 0 or same:
                continue
            for most in (need, self.reach):
                y, dual = self.deviation(i, way, x, most, known)
                if way * y[i] >= need * (1 - TIES):
                    same = most == need and self.symmetric(i)
                    break
                cut = self.cut(i, way, need, dual, known)
                if cut is not None and cut.short_of(x) > TIES / 10:
                    found.append(cut)
                    same = self.symmetric(i)
                    break
        return found

    def lonely(self, j: int, x: np.ndarray) -> CapacityCut | None:
        """A cut that x does not keep which says that cell j is hidden in vain unless others are that it can move with.
        The cheapest patterns keep it: who can work out a cell that is hidden without need may as well be told it."""
        y, dual = self.deviation(j, 1, x, 1.0)
        if y[j] >= x[j] - 1e-3:
            return None
        entries = np.rint(dual * GRAIN)[self.row] * self.piece.sign
        r = np.bincount(self.piece.column, entries, len(self.piece)) / GRAIN
        r[j] += 1
        if abs(r[j]) > TIES:
            return None
        r[j] = 0
        there = np.flatnonzero(r)
        cut = CapacityCut(np.append(there, j), np.append(np.ones(len(there)), -1.0), 0.0)
        return cut if x[there].sum() < x[j] - 1e-3 else None

    def cut(self, i: int, way: int, need: float, dual: np.ndarray, known: int) -> CapacityCut | None:
        """The capacity cut of multipliers: way * y[i] = r y for every y that keeps the sums, so that cells with r above
        0 have to give up, those with r below 0 give down, together what is needed."""
        piece = self.piece
        entries = np.rint(dual * GRAIN)[self.row] * piece.sign
        r = np.bincount(piece.column, entries, len(piece)) / GRAIN
        r[i] += way
        own = 1 - way * r[i]  # what is left of cell i itself
        if own <= TIES:
            return None
        r /= own
        r[i] = 0
        with np.errstate(invalid="ignore"):
            gives = np.where(r > 0, r * piece.up, np.where(r < 0, -r * piece.down, 0.0))
        gives = np.minimum(np.nan_to_num(gives, nan=0.0, posinf=np.inf), need)
        if known >= 0:
            gives[piece.person == known] = 0
        there = np.flatnonzero(gives > 0)
        return CapacityCut(there, gives[there], need)

    def symmetric(self, i: int) -> bool:
        """Whether what is true above a cell is true below it."""
        need = self.piece.above[i]
        same = np.minimum(self.piece.up, need) == np.minimum(self.piece.down, need)
        return bool(self.piece.below[i] == need and same.all())


class Mover:
    """Finds the cheapest way to let a cell deviate: which other cells to hide with it."""

    def __init__(self, piece: Piece) -> None:
        self.piece, n, sums = piece, len(piece), len(piece.start) - 1
        self.program = linear_program(np.zeros(2 * n), np.zeros(2 * n), np.zeros(2 * n))
        width = np.diff(piece.start)
        double = np.concatenate([[0], np.cumsum(2 * width)])
        column = np.stack([piece.column, piece.column + n], 1).ravel()
        sign = np.stack([piece.sign, -piece.sign], 1).ravel()
        self.program.add_rows(double, column, sign, np.zeros(sums), np.zeros(sums))

    def move(self, i: int, way: int, price: np.ndarray, allowed: np.ndarray, need: float) -> np.ndarray | None:
        """The deviation that is cheapest by the price of a unit of each cell; None where there is none. Cells that are
        not `allowed` stay."""
        piece, n = self.piece, len(self.piece)
        up = np.where(allowed, np.minimum(piece.up, need), 0.0)
        down = np.where(allowed, np.minimum(piece.down, need), 0.0)
        for most in (1.0, 1e4):
            if most > 1:  # some cell has to move by more than cell i
                up, down = (np.where(allowed, np.minimum(one, need * most), 0.0) for one in (piece.up, piece.down))
            low, high = np.zeros(2 * n), np.concatenate([up, down])
            low[i if way > 0 else i + n] = high[i if way > 0 else i + n] = need
            high[i + n if way > 0 else i] = 0
            self.program.bound(low, high)
            self.program.price(np.concatenate([price, price]))
            found = self.program.solve()
            if found.x is not None:
                y = found.x[:n] - found.x[n:]
                return np.where(np.abs(y) > need * 1e-7, y, 0.0)
        return None
