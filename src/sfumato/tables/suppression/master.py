"""Master: the 0/1 program of Benders cuts whose solutions are candidates for the cheapest pattern.

M. Fischetti, J. J. Salazar, Solving the cell suppression problem on tabular data with linear constraints,
Management Science 47(7), 2001.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from sfumato.core.progress import Progress, check_cancelled
from sfumato.tables.suppression.attack import CapacityCut, Piece, PieceAttacker
from sfumato.tables.suppression.fenchel import Robust
from sfumato.tables.suppression.solver import Solved, linear_program

TAIL, STALL = 4, 1e-4  # rounds of cuts that have to raise the bound by this share of it, or the linear phase ends
MOST_LONELY = 200  # cells a round that are asked whether they are hidden in vain


@dataclass(eq=False)
class Master:
    """A 0/1 variable for each cell that may be hidden and need not be, and the cuts so far."""

    piece: Piece
    attacker: PieceAttacker
    report_progress: Progress
    known: set[bytes] = field(default_factory=set)
    cuts: int = 0

    def __post_init__(self) -> None:
        piece = self.piece
        self.free = np.flatnonzero(~piece.forced)
        self.place = np.full(len(piece), -1)
        self.place[self.free] = np.arange(len(self.free))
        self.cost = piece.cost[self.free]
        self.scale = float(self.cost.max(initial=1.0)) / 100
        self.whole = bool((self.cost == np.rint(self.cost)).all()) and float(self.cost.sum()) < 2**50
        self.program = linear_program(self.cost / self.scale, np.zeros(len(self.free)), np.ones(len(self.free)))
        needs = np.maximum(piece.above, piece.below)
        self.primary = [int(i) for i in np.flatnonzero(needs > 0)]
        self.inside = bool(len(piece.insiders.who))
        self.rows: list[tuple[np.ndarray, np.ndarray, int]] = []  # columns, coefficients, and what each is part of
        self.robust: list[Robust] = []
        self.parts: dict[bytes, int] = {}

    def pattern(self, x: np.ndarray) -> np.ndarray:
        """Values of the variables as values of all cells."""
        found = self.piece.forced * 1.0
        found[self.free] = np.clip(x, 0, 1)
        return found

    def rounded(self, bound: float) -> float:
        """A bound in units of the solver as one of the cost, up to the next whole number where costs are whole."""
        cost = max(bound * self.scale, 0.0)
        return float(np.ceil(cost - 1e-5 * max(1.0, cost * 1e-3))) if self.whole else cost * (1 - 1e-9)

    def add(self, cuts: Sequence[CapacityCut]) -> int:
        """Add cuts that are new, without the cells that are hidden anyway, and tightened; how many there were."""
        start, columns, numbers, least = [0], [], [], []
        for cut in cuts:
            at = self.place[cut.column]
            rest = cut.least - float(cut.coefficient[at < 0].sum())
            there = (at >= 0) & (cut.coefficient != 0)
            column, number = at[there], cut.coefficient[there]
            if cut.least > 0 and (number >= 0).all():
                if rest <= 1e-9 * cut.least:
                    continue
                number = np.minimum(number / rest, 1.0)  # no cell has to give more than is needed
                rest = 1.0
                if len(number) and number.min() > 1 - 1e-9 <= number.max():
                    number = np.ones(len(number))
                elif len(number) and np.ptp(number) < 1e-9 * number[0]:  # so many cells at least
                    rest, number = float(np.ceil(1 / number[0] - 1e-6)), np.ones(len(number))
            order = np.argsort(column)
            mark = column[order].tobytes() + np.append(np.round(number[order], 9), rest).tobytes()
            if mark in self.known:
                continue
            self.known.add(mark)
            self.rows.append((column[order], number[order], self.part_of(cut.robust)))
            columns.append(column[order])
            numbers.append(number[order])
            start.append(start[-1] + len(column))
            least.append(rest)
        if least:
            self.program.add_rows(
                np.array(start), np.concatenate(columns), np.concatenate(numbers), np.array(least),
                np.full(len(least), np.inf),
            )  # fmt: skip
            self.cuts += len(least)
        return len(least)

    def in_sums(self, x: np.ndarray) -> list[CapacityCut]:
        """Cuts that x does not keep: a cell that is hidden needs others in each of its sums."""
        piece, row, found = self.piece, self.attacker.row, []
        total = np.bincount(row, x[piece.column], len(piece.start) - 1)
        short = 2 * x[piece.column] - total[row]
        short[piece.forced[piece.column]] = 0
        for at in np.flatnonzero(short > 0.01):
            line = piece.column[piece.start[row[at]] : piece.start[row[at] + 1]]
            number = np.where(line == piece.column[at], -1.0, 1.0)
            found.append(CapacityCut(line, number, 0.0))
        return found

    def separate(self, x: np.ndarray, until: float = np.inf) -> list[CapacityCut]:
        """Cuts that x does not keep of the attacks on all cells that need protection, as far as there is time: of
        insiders where outsiders find none."""
        return self.attacks(x, False, until) or (self.attacks(x, True, until) if self.inside else [])

    def attacks(self, x: np.ndarray, inside: bool, until: float) -> list[CapacityCut]:
        """Cuts that x does not keep, of outsiders or of insiders."""
        found = []
        for i in self.primary:
            check_cancelled()
            if time.monotonic() > until:
                break
            found += self.attacker.attack(i, x, inside)
        return found

    def lonely(self, x: np.ndarray) -> list[CapacityCut]:
        """Cuts that x does not keep of cells that are hidden in vain."""
        there = self.free[x[self.free] > 0.05]
        there = there[np.argsort(-(x * self.piece.cost)[there], kind="stable")][:MOST_LONELY]
        return [cut for j in there if (cut := self.attacker.lonely(int(j), x)) is not None]

    def part_of(self, robust: Robust | None) -> int:
        """The number of what a cut is part of, over the variables; -1 for none."""
        if robust is None:
            return -1
        key = robust.column.tobytes() + np.round(np.append(robust.full, robust.least), 9).tobytes()
        if key not in self.parts:
            at = self.place[robust.column]
            free = at >= 0
            least = robust.least - float(robust.full[~free].sum())
            drop = robust.drop - float(robust.drop[~free].max(initial=0.0))  # what the greatest drop is beyond theirs
            least += float(robust.drop[~free].max(initial=0.0))
            self.parts[key] = len(self.robust)
            self.robust.append(Robust(at[free], robust.full[free], np.maximum(drop[free], 0), least))
        return self.parts[key]

    def convexified(self, solved: Solved) -> list[CapacityCut]:
        """Cuts that the solution of the linear program does not keep: what 0/1 solutions cost that keep all rows which
        are part of the same."""
        assert solved.x is not None
        assert solved.dual is not None
        cost, x = self.cost / self.scale, np.clip(solved.x, 0, 1)
        paid: dict[int, np.ndarray] = {}
        for (column, number, part), price in zip(self.rows, solved.dual, strict=True):
            if price:
                own = np.bincount(column, price * number, len(x))
                cost = cost - own
                if part >= 0:
                    paid[part] = paid.get(part, 0.0) + own
        found = []
        for part, own in paid.items():
            robust = self.robust[part]
            if robust.least > 0 and (cut := robust.cut((cost + own)[robust.column], x[robust.column])) is not None:
                found.append(CapacityCut(self.free[robust.column], cut[0], cut[1], robust))
        return found

    def relax(self, until: float, enough: float) -> tuple[float, np.ndarray | None]:
        """Add cuts to the linear program until they raise its bound no more; the bound, and the last solution."""
        bound, best, still = 0.0, 0.0, 0
        x = None
        while time.monotonic() < until:
            solved = self.program.solve()
            if solved.x is None:
                break
            x = self.pattern(solved.x)
            bound = max(bound, self.rounded(solved.bound))
            self.report_progress("raising the bound", None)
            if bound >= enough:
                break
            still = still + 1 if solved.bound < best * (1 + STALL) + 1e-9 else 0
            best = max(best, solved.bound)
            found = self.in_sums(x) + self.separate(x, until)
            if still > 2 * TAIL:
                break
            if still > TAIL // 2 or not found:
                found += self.convexified(solved)
            if len(found) < 5 and time.monotonic() < until:
                found += self.lonely(x)
            if not self.add(found):
                break
        return bound, x

    def solve(self, until: float, gap: float, known: np.ndarray | None) -> Solved:
        """The cheapest pattern that keeps all cuts, to within a share of its cost."""
        begin = None if known is None else known[self.free]
        solved = self.program.solve_whole(until - time.monotonic(), gap, begin)
        x = None if solved.x is None else self.pattern(solved.x)
        return Solved(x, solved.cost * self.scale, self.rounded(solved.bound), solved.optimal, None, solved.infeasible)
