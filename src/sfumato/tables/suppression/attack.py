"""PieceAttacker: how far published sums let somebody narrow a hidden cell, and the capacity cut that this gives.

M. Fischetti, J. J. Salazar, Solving the cell suppression problem on tabular data with linear constraints,
Management Science 47(7), 2001.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sfumato.tables.insiders import Insiders
from sfumato.tables.suppression.fenchel import Robust
from sfumato.tables.suppression.solver import linear_program

TIES = 1e-6  # of the protection that a cell needs, within which it has it
MOST_SEEN = 50_000  # deviations that are remembered
GRAIN = 2.0**20  # multipliers are rounded to its parts, so that what a cut is made of is exact

Who = tuple[int, ...]  # insiders who tell each other what they know
OUTSIDER: Who = ()
NONE = np.zeros(0, np.int64)


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
    insiders: Insiders

    def __len__(self) -> int:
        return len(self.cell)

    @property
    def row(self) -> np.ndarray:
        """The sum of each entry."""
        return np.repeat(np.arange(len(self.start) - 1), np.diff(self.start))


@dataclass(frozen=True, eq=False)
class CapacityCut:
    """An inequality that every safe pattern keeps: the sum of coefficient x over some cells is at least `least`.

    `robust`: what it is part of, against all insiders.
    """

    column: np.ndarray
    coefficient: np.ndarray
    least: float
    robust: Robust | None = None

    def short_of(self, x: np.ndarray) -> float:
        """How much a pattern falls short of it, as a share."""
        return 1 - float(self.coefficient @ x[self.column]) / self.least


class PieceAttacker:
    """Somebody who knows all cells that are not hidden, bounds for the others, and the sums; and insiders, who know
    more.

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
        self.needs: dict[tuple[int, int, Who], float] = {}
        self.shared = bool(piece.insiders.shares.any())
        self.owned: dict[Who, np.ndarray] = {}
        self.seen: dict[tuple[int, int, Who], np.ndarray] = {}

    def room(self, who: Who) -> tuple[np.ndarray, np.ndarray]:
        """How far below and above its value somebody reckons each cell may be."""
        if not who:
            return self.piece.down, self.piece.up
        down, up = self.room_of(self.piece.insiders.entries(who))
        down[self.own(who)] = up[self.own(who)] = 0
        return down, up

    def own(self, who: Who) -> np.ndarray:
        """The cells that several insiders are all of together."""
        if len(who) < 2:
            return NONE
        if who not in self.owned:
            self.owned[who] = self.piece.insiders.own(who)
        return self.owned[who]

    def room_of(self, of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The same for whoever knows all that some entries say."""
        piece = self.piece
        down, up = piece.down.copy(), piece.up.copy()
        np.minimum.at(down, piece.insiders.cell[of], piece.insiders.down[of])
        np.minimum.at(up, piece.insiders.cell[of], piece.insiders.up[of])
        return down, up

    def need(self, i: int, way: int, who: Who = OUTSIDER) -> float:
        """How far cell i has to be able to deviate: above its value for 1, below it for -1; no further than what
        somebody has in it."""
        need = float((self.piece.above if way > 0 else self.piece.below)[i])
        if who and (i, way, who) in self.needs:
            return self.needs[i, way, who]
        if who:
            known = self.piece.insiders
            of = known.entries(who)
            if len(who) > 1 and i in self.own(who):
                return 0.0
            need = min([need, *(known.up if way > 0 else known.down)[of[known.cell[of] == i]].tolist()])
            self.needs[i, way, who] = need
        return need

    def touched(self, y: np.ndarray, need: float) -> np.ndarray:
        """The insiders who know that a deviation is not so."""
        known = self.piece.insiders
        at, near = y[known.cell], need * TIES
        return np.unique(known.who[(at < -known.down - near) | (at > known.up + near)])

    def joined(self, who: Who, y: np.ndarray, need: float) -> list[Who]:
        """Those who know, together with somebody, that a deviation is not so, as many as may talk to each other."""
        known = self.piece.insiders
        left = known.coalition - int(known.size[list(who)].sum())
        if left <= 0 or not len(known.who):
            return []
        some = self.touched(y, need)
        some = some[known.size[some] <= left]
        if who and known.shares[list(who)].any():  # those of one cell alone put shares together
            some = some[~known.shares[some]]
        return [tuple(sorted((*who, int(k)))) for k in some if k not in who]

    def others_than(self, i: int) -> np.ndarray:
        """What is known by insiders who do not know cell i."""
        known = self.piece.insiders
        mine = np.zeros(len(known.size), np.bool_)
        mine[known.who[known.cell == i]] = True
        return np.flatnonzero(~mine[known.who])

    def against_all(self, i: int, way: int, x: np.ndarray) -> np.ndarray | None:
        """A deviation that protects cell i one way from everybody at once, but for those who know the cell itself."""
        need = self.need(i, way)
        y, _ = self.deviation(i, way, x, need, self.room_of(self.others_than(i)))
        return y if way * y[i] >= need * (1 - TIES) else None

    def deviation(
        self, i: int, way: int, x: np.ndarray, most: float, room: tuple[np.ndarray, np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        """The y with the greatest way * y[i] where no cell moves by more than `most`, and the multipliers that prove
        it."""
        down, up = room
        self.program.bound(-np.minimum(down, most) * x, np.minimum(up, most) * x)
        cost = self.none.copy()
        cost[i] = -way
        self.program.price(cost)
        found = self.program.solve()
        if found.x is None or found.dual is None:
            return self.none, np.zeros(len(self.piece.start) - 1)
        return found.x, found.dual

    def escape(
        self, i: int, way: int, x: np.ndarray, who: Who = OUTSIDER, narrow: bool = False, wary: bool = False
    ) -> np.ndarray | None:
        """A deviation that protects cell i one way, or None where none does; where `narrow`, none in which another
        cell moves by more; where `wary`, none that somebody who has a share of a cell knows not to be so."""
        need = self.need(i, way, who)
        if not who and len(self.piece.insiders.who) and (y := self.against_all(i, way, x)) is not None:
            return y
        room = self.wary_room if wary else self.room(who)
        for most in (need,) if narrow else (need, self.reach):
            y, _ = self.deviation(i, way, x, most, room)
            if way * y[i] >= need * (1 - TIES):
                return y
        return None

    @cached_property
    def wary_room(self) -> tuple[np.ndarray, np.ndarray]:
        """How far everybody who has a share of a cell beside others reckons each may be."""
        return self.room_of(np.flatnonzero(np.isinf(self.piece.insiders.up)))

    def attack(self, i: int, x: np.ndarray, inside: bool = False) -> list[CapacityCut]:
        """Cuts that x does not keep, none where cell i is protected both ways; where `inside`, from insiders too."""
        found: list[CapacityCut] = []
        other: np.ndarray | None = None  # what protects it the other way, where that is known
        for way in (1, -1):
            if self.need(i, way) <= 0:
                continue
            y, cut = (other, None) if other is not None else self.against(i, way, x, OUTSIDER)
            if cut is not None:
                found.append(cut)
            elif inside and y is not None and self.joined(OUTSIDER, y, self.need(i, way)):
                if (safe := self.against_all(i, way, x)) is not None:
                    self.remember(i, way, safe, OUTSIDER)
                else:
                    found += self.from_inside(i, way, x, y, OUTSIDER, {OUTSIDER})
            if way > 0 and self.symmetric(i):
                if y is None or not inside:
                    break
                other = -y
        return found

    def from_inside(
        self, i: int, way: int, x: np.ndarray, y: np.ndarray, who: Who, done: set[Who]
    ) -> list[CapacityCut]:
        """Cuts that x does not keep of insiders, who know that what protects the cell from others is not so."""
        found = []
        for joined in self.joined(who, y, self.need(i, way, who)):
            if joined in done:
                continue
            done.add(joined)
            if self.need(i, way, joined) <= 0:
                continue
            other, cut = self.against(i, way, x, joined)
            if cut is not None:
                found.append(cut)
            elif other is not None:
                found += self.from_inside(i, way, x, other, joined, done)
        return found

    def against(self, i: int, way: int, x: np.ndarray, who: Who) -> tuple[np.ndarray | None, CapacityCut | None]:
        """A deviation that protects cell i one way, or a cut that x does not keep.

        First no cell may move by more than the protection: that gives the cuts with coefficients rounded down to it.
        """
        need = self.need(i, way, who)
        if (y := self.remembered(i, way, x, who)) is not None:
            return y, None
        for most in (need, self.reach):
            y, dual = self.deviation(i, way, x, most, self.room(who))
            if way * y[i] >= need * (1 - TIES):
                self.remember(i, way, y, who)
                return y, None
            cut = self.cut(i, way, need, dual, who)
            if cut is not None and cut.short_of(x) > TIES / 10:
                return None, cut
        return None, None

    def remember(self, i: int, way: int, y: np.ndarray, who: Who) -> None:
        """Keep a deviation, for patterns that leave it possible."""
        if len(self.seen) >= MOST_SEEN:
            self.seen.clear()
        there = np.flatnonzero(np.abs(y) > TIES * 1e-3)
        self.seen[i, way, who] = np.stack([there, y[there]])

    def remembered(self, i: int, way: int, x: np.ndarray, who: Who) -> np.ndarray | None:
        """The deviation that protected cell i last, where it is possible still."""
        kept = self.seen.get((i, way, who))
        if kept is None:
            return None
        there, amount = kept[0].astype(np.int64), kept[1]
        down, up = (np.minimum(one[there], self.reach) for one in (self.piece.down, self.piece.up))
        near = 1e-7 * np.abs(amount)
        if ((amount > up * x[there] + near) | (amount < -down * x[there] - near)).any():
            return None
        y = self.none.copy()
        y[there] = amount
        return y

    def lonely(self, j: int, x: np.ndarray) -> CapacityCut | None:
        """A cut that x does not keep which says that cell j is hidden in vain unless others are that it can move with.
        The cheapest patterns keep it: who can work out a cell that is hidden without need may as well be told it."""
        y, dual = self.deviation(j, 1, x, 1.0, self.room(OUTSIDER))
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

    def cut(self, i: int, way: int, need: float, dual: np.ndarray, who: Who) -> CapacityCut | None:
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
        r[np.abs(r) < TIES] = 0
        overall = self.need(i, way)
        full = _gives(r, self.room(OUTSIDER), overall)
        there = np.flatnonzero(full > 0)
        drop = (
            full - _gives(r, self.room_of(self.others_than(i)), overall) if self.piece.insiders.coalition else full * 0
        )
        gives = _gives(r, self.room(who), need) if who else full
        return CapacityCut(there, gives[there], need, Robust(there, full[there], drop[there], overall))

    def symmetric(self, i: int) -> bool:
        """Whether what is true above a cell is true below it."""
        need = self.piece.above[i]
        same = np.minimum(self.piece.up, need) == np.minimum(self.piece.down, need)
        return bool(self.piece.below[i] == need and same.all())


def _gives(r: np.ndarray, room: tuple[np.ndarray, np.ndarray], need: float) -> np.ndarray:
    """What each cell gives to a sum with the coefficients r where it goes up or down, at most what is needed."""
    down, up = room
    with np.errstate(invalid="ignore"):
        found = np.where(r > 0, r * up, np.where(r < 0, -r * down, 0.0))
    return np.minimum(np.nan_to_num(found, nan=0.0, posinf=np.inf), need)


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

    def move(
        self, i: int, way: int, price: np.ndarray, room: tuple[np.ndarray, np.ndarray], need: float
    ) -> np.ndarray | None:
        """The deviation that is cheapest by the price of a unit of each cell; None where there is none. `room`: how far
        each cell can go down and up."""
        n = len(self.piece)
        for most in (1.0, 1e4):  # in the second, some cell has to move by more than cell i
            down, up = (np.minimum(one, need * most) for one in room)
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
