"""What can be known of the cells of one connected component: how far each can go, for whoever knows whatever.

Bounds are closed in on from two sides. From outside by equations and by optima; from inside by points that fit: each
optimum is one, and widens the bounds of all cells. A cell whose two bounds meet needs no program of its own. Points are
kept: whoever knows more still has those of them that agree with what they know.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.criteria.cells.equations import Equations, contradiction
from sfumato.criteria.cells.linear import CLOSE, CellProgram, NotDecided, linear_model, whole_point
from sfumato.errors import PolicyError

GROUPED = 12  # programs for all open cells at once
FEW, TRIES = 32, 3  # cells of one program that share no equation, at first; programs that a cell is in so
LARGE = 500  # cells from which on several are tried in one program
BATCH = 25  # programs between which bounds are carried on
POOL = 1 << 27  # bytes of points that are kept for a component
SECONDS = 20.0  # for one integer program
UNIT = 1e6  # the largest number that the solver is given of magnitudes


@dataclass(eq=False)
class Ranges:
    """Bounds from outside, and how far points that fit have gone; `whole_*` by points of whole numbers alone."""

    low: np.ndarray
    high: np.ndarray
    seen_low: np.ndarray
    seen_high: np.ndarray
    whole_low: np.ndarray
    whole_high: np.ndarray
    exact: bool = True

    @staticmethod
    def between(low: np.ndarray, high: np.ndarray) -> Ranges:
        """Bounds without a point yet."""
        most, least = np.full(len(low), np.inf), np.full(len(low), -np.inf)
        return Ranges(low.copy(), high.copy(), most, least, most.copy(), least.copy())


Settled = Callable[[Ranges], np.ndarray]


def _nothing(ranges: Ranges) -> np.ndarray:
    return np.zeros(len(ranges.low), bool)


class Polytope:
    """The values that fit the equations and bounds of a component.

    `integral` says that all its vertices are known to be whole, where the values are counts; `deadline` is when to
    stop, by the monotonic clock.
    """

    def __init__(
        self,
        equations: Equations,
        low: np.ndarray,
        high: np.ndarray,
        whole: bool,
        integral: bool,
        deadline: float = np.inf,
    ) -> None:
        self.equations, self.whole, self.deadline = equations, whole, deadline
        self.integral = whole and (integral or equations.is_network)
        finite = np.concatenate((equations.right, low[np.isfinite(low)], high[np.isfinite(high)]))
        largest = float(np.abs(finite).max(initial=0.0))
        self.scale = 1.0 if whole or not largest else largest / UNIT
        self.near = 1e-6 if whole else 10 * CLOSE * self.scale
        self._low, self._high = low, high
        self._model: CellProgram | None = None
        self._pool: list[np.ndarray] = []
        self._stack: np.ndarray | None = None
        self._random = np.random.default_rng(len(low))
        self.ranges = Ranges.between(low, high)

    # -- points

    def see(self, point: np.ndarray, ranges: Ranges, keep: bool = True) -> None:
        """Take note of a point that fits."""
        point = np.clip(point, ranges.low, ranges.high)
        counts = True
        if self.whole:
            near = np.rint(point)
            counts = bool((np.abs(near - point) < 1e-5).all()) and self.equations.residual(near) == 0
            point = near if counts else point
        ranges.seen_low, ranges.seen_high = np.minimum(ranges.seen_low, point), np.maximum(ranges.seen_high, point)
        if counts or self.integral:
            ranges.whole_low = np.minimum(ranges.whole_low, point)
            ranges.whole_high = np.maximum(ranges.whole_high, point)
        if keep and (counts or self.integral) and (len(self._pool) + 1) * point.nbytes <= POOL:
            self._pool.append(point)

    # -- the outsider

    def solve(self, point: np.ndarray | None = None) -> Ranges:
        """The exact range of each cell for an outsider; `point`, where known, is one that fits."""
        ranges = self.ranges
        if point is not None:
            self.see(point, ranges)
        if np.isinf(ranges.high).any() or np.isinf(ranges.low).any():
            self._unbounded(ranges)
        if point is None:  # that there is one is to be seen, also where no program is left
            self._extreme(ranges, np.arange(1), np.zeros(1), keep=True)
        self._search(ranges, _nothing, keep=True)
        return ranges

    def _unbounded(self, ranges: Ranges) -> None:
        """Find the cells without end, by the directions in which points can be moved for ever.

        A direction is the sum of a bounded part and a rest, so that one program finds them all, but for cells that can
        go both ways.
        """
        one, low, high = self.equations, ranges.low, ranges.high
        size, down, up = len(low), np.isinf(low), np.isinf(high)
        order = np.argsort(np.concatenate((one.row, one.row)), kind="stable")
        twice = Equations(
            np.arange(2 * size),
            np.concatenate((one.row, one.row))[order],
            np.concatenate((one.member, one.member + size))[order],
            np.concatenate((one.sign, one.sign))[order],
            np.zeros(len(one.right)),
        )
        near, far = np.ones(size), np.full(size, np.inf)
        model = linear_model(
            twice,
            np.concatenate((np.where(down, -near, 0.0), np.where(down, -far, 0.0))),
            np.concatenate((np.where(up, near, 0.0), np.where(up, far, 0.0))),
        )
        ends = np.zeros((2, size), bool)
        for cells, sign in ((up & ~down, 1.0), (down & ~up, -1.0)):
            places = np.flatnonzero(cells)
            if len(places):
                found = model.extreme(places, np.full(len(places), sign))
                if found is not None:
                    ends[int(sign < 0)] |= cells & (sign * (found[:size] + found[size:]) > 0.5)
        for place in np.flatnonzero(up & down):
            for side, sign in ((0, 1.0), (1, -1.0)):
                found = model.extreme(np.array([place]), np.array([sign]))
                ends[side, place] = found is not None and sign * found[place] > 0.5
        for side, (seen, whole) in enumerate(
            ((ranges.seen_high, ranges.whole_high), (ranges.seen_low, ranges.whole_low))
        ):
            seen[ends[side]] = whole[ends[side]] = np.inf if side == 0 else -np.inf

    # -- others

    def narrowed(
        self,
        cells: np.ndarray,
        low: np.ndarray,
        high: np.ndarray,
        enough: Callable[[np.ndarray, np.ndarray], np.ndarray],
    ) -> tuple[np.ndarray, Ranges]:
        """The cells that are not `enough` for somebody who knows bounds of some, and the ranges of these cells.

        `enough` takes bounds that points have reached and says of which cells they are far enough apart.
        """
        mine = Ranges.between(self.ranges.low, self.ranges.high)
        mine.low[cells] = np.maximum(mine.low[cells], low)
        mine.high[cells] = np.minimum(mine.high[cells], high)
        near = 0.0 if self.whole else self.near
        if (mine.low > mine.high + 10 * near).any():
            raise contradiction()
        mine.high = np.maximum(mine.low, mine.high)
        mine.low, mine.high = self.equations.tightened(mine.low, mine.high, self.whole, near)
        self._see_agreeing(mine, cells)
        endless = np.isinf(mine.high) | np.isinf(mine.low)

        def settled(state: Ranges) -> np.ndarray:
            return enough(state.whole_low, state.whole_high) | ~enough(state.low, state.high)

        if not settled(mine).all():
            if endless.any():
                self._unbounded(mine)
                endless[:] = False
            self._search_with(mine, cells, settled)
        lacking = ~enough(mine.whole_low, mine.whole_high)
        if lacking.any():  # both of their ends are to be stated
            if endless.any():
                self._unbounded(mine)
            self._search_with(mine, cells, lambda state: ~lacking)
        return np.flatnonzero(lacking), mine

    def _search_with(self, mine: Ranges, cells: np.ndarray, settled: Settled) -> None:
        model = self._started()
        model.bound(cells, mine.low[cells] / self.scale, mine.high[cells] / self.scale)
        try:
            self._search(mine, settled, keep=False)
        finally:
            model.bound(cells, self._low[cells] / self.scale, self._high[cells] / self.scale)

    def _see_agreeing(self, mine: Ranges, cells: np.ndarray) -> None:
        """Take note of the points that agree with what is known of some cells, and of mixtures of two that do."""
        if not self._pool:
            return
        if self._stack is None or len(self._stack) < len(self._pool):
            self._stack = np.array(self._pool)
        pool = self._stack
        near = 0.0 if self.whole else self.near
        inside = ((pool[:, cells] >= mine.low[cells] - near) & (pool[:, cells] <= mine.high[cells] + near)).all(1)
        if inside.any():
            fit = pool[inside]
            mine.seen_low, mine.seen_high = fit.min(0), fit.max(0)
            mine.whole_low, mine.whole_high = mine.seen_low.copy(), mine.seen_high.copy()
        if len(cells) != 1 or (self.whole and not self.integral):
            return
        value, at = float(mine.low[cells[0]]), pool[:, cells[0]]
        below, above = pool[at < value - near], pool[at > value + near]
        if not len(below) or not len(above):
            return
        for shift in range(3):
            many = min(max(len(below), len(above)), 256)
            one, other = below[np.arange(many) % len(below)], above[(np.arange(many) + shift) % len(above)]
            share = (value - one[:, cells]) / (other[:, cells] - one[:, cells])
            mixed = one + share * (other - one)
            mine.seen_low = np.minimum(mine.seen_low, mixed.min(0))
            mine.seen_high = np.maximum(mine.seen_high, mixed.max(0))
        mine.whole_low = np.minimum(mine.whole_low, mine.seen_low)
        mine.whole_high = np.maximum(mine.whole_high, mine.seen_high)

    # -- the search

    def _started(self) -> CellProgram:
        if self._model is None:
            one = self.equations
            scaled = Equations(one.cells, one.row, one.member, one.sign, one.right / self.scale)
            self._model = linear_model(scaled, self._low / self.scale, self._high / self.scale)
        return self._model

    def _extreme(self, ranges: Ranges, cells: np.ndarray, weights: np.ndarray, keep: bool) -> np.ndarray:
        try:
            found = self._started().extreme(cells, weights)
        except NotDecided:
            raise PolicyError("a linear program of the table could not be solved") from None
        if found is None:
            raise contradiction()
        found = found * self.scale
        self.see(found, ranges, keep)
        return found

    def _search(self, ranges: Ranges, settled: Settled, keep: bool) -> None:
        """Close in on the ranges of all cells that are not settled.

        Where time is over, bounds are put at what was reached: no cell is said to be wider than is known.
        """
        real, counts = _Ends(self.near, settled, False), _Ends(0.5, settled, True)

        def vertex(cells: np.ndarray, signs: np.ndarray) -> None:
            self._extreme(ranges, cells, signs, keep)

        def whole(cells: np.ndarray, signs: np.ndarray) -> None:
            try:
                self._whole(ranges, ranges.low, ranges.high, cells, signs, keep, SECONDS / 5)
            except NotDecided:
                return

        for _ in range(GROUPED):
            before = len(real.open(ranges)[0])
            for sign in (1.0, -1.0):
                cells, signs = real.open(ranges)
                cells = cells[signs == sign]
                if len(cells) and not self._over():
                    vertex(cells, sign * self._random.uniform(0.5, 1.5, len(cells)))
            if before - len(real.open(ranges)[0]) <= max(1, before // 30):
                break
        self._apiece(ranges, real, vertex)
        self._single(ranges, real, keep)
        last = real
        if self.whole and not self.integral and not self._over():
            last = counts
            if len(counts.open(ranges)[0]) and not np.isfinite(ranges.whole_low).any():
                self._first(ranges, keep)
            self._apiece(ranges, counts, whole)
            self._reach(ranges, counts, keep)
        if self._over() and len(last.open(ranges)[0]):
            self._give_up(ranges, settled)

    def _over(self) -> bool:
        return time.monotonic() > self.deadline

    def _give_up(self, ranges: Ranges, settled: Settled) -> None:
        for cells, _ in (_Ends(self.near, settled, True).open(ranges),):
            reached = cells[ranges.whole_low[cells] <= ranges.whole_high[cells]]
            ranges.low[reached], ranges.high[reached] = ranges.whole_low[reached], ranges.whole_high[reached]
            ranges.exact = False

    def _apiece(self, ranges: Ranges, ends: _Ends, program: Callable[[np.ndarray, np.ndarray], None]) -> None:
        """Programs for cells that share no equation, some up and some down, as many at once as mostly all succeed.

        Small components are quicker cell by cell.
        """
        if len(ranges.low) < LARGE:
            return
        tried = np.zeros((2, len(ranges.low)), np.int8)
        many = FEW
        while not self._over():
            cells, signs = ends.open(ranges)
            fresh = tried[(signs > 0).astype(int), cells] < TRIES
            if not fresh.any():
                return
            cells, signs = self._spread(cells[fresh], signs[fresh], many)
            program(cells, signs)
            missed = ends.gap(ranges, cells, signs) > ends.near
            tried[(signs[missed] > 0).astype(int), cells[missed]] += 1
            many = max(2, many // 2) if missed.mean() > 0.4 else many * 2 if missed.mean() < 0.2 else many

    def _spread(self, cells: np.ndarray, signs: np.ndarray, many: int) -> tuple[np.ndarray, np.ndarray]:
        """At most so many of the cells, no two of them in one equation: each is the first by lot in all of its own."""
        lot = self._random.permutation(len(cells))
        first = np.full(len(self.ranges.low), len(cells))
        np.minimum.at(first, cells, lot)
        one = self.equations
        best = np.full(len(one.right), len(cells))
        np.minimum.at(best, one.row, first[one.member])
        beaten = np.bincount(one.member[first[one.member] > best[one.row]], minlength=len(first)) > 0
        chosen = np.flatnonzero((lot == first[cells]) & ~beaten[cells])
        chosen = chosen[np.argsort(lot[chosen])][:many]
        return cells[chosen], signs[chosen]

    def _single(self, ranges: Ranges, ends: _Ends, keep: bool) -> None:
        """A program for each cell and end that is left; every few, what they found is carried on."""
        near = 0.0 if self.whole else self.near
        while not self._over():
            cells, signs = ends.open(ranges)
            if not len(cells):
                return
            for i in self._random.permutation(len(cells))[:BATCH]:
                one, sign = cells[i : i + 1], signs[i : i + 1]
                if ends.gap(ranges, one, sign)[0] <= ends.near:
                    continue
                cell = int(one[0])
                found = self._extreme(ranges, one, sign, keep)[cell]
                if sign[0] > 0:
                    ranges.high[cell] = min(ranges.high[cell], np.floor(found + 1e-6) if self.whole else found)
                    ranges.seen_high[cell] = max(ranges.seen_high[cell], ranges.high[cell])
                else:
                    ranges.low[cell] = max(ranges.low[cell], np.ceil(found - 1e-6) if self.whole else found)
                    ranges.seen_low[cell] = min(ranges.seen_low[cell], ranges.low[cell])
            ranges.low, ranges.high = self.equations.tightened(ranges.low, ranges.high, self.whole, near, 4)

    # -- whole numbers where vertices need not be whole

    def _whole(
        self,
        ranges: Ranges,
        low: np.ndarray,
        high: np.ndarray,
        cells: np.ndarray,
        signs: np.ndarray,
        keep: bool,
        seconds: float = SECONDS,
    ) -> tuple[np.ndarray | None, bool]:
        left = max(0.1, min(seconds, self.deadline - time.monotonic()))
        point, proven = whole_point(self.equations, low, high, cells, signs, left)
        if point is not None:
            self.see(point, ranges, keep)
            proven = proven and bool((point == np.clip(point, ranges.whole_low, ranges.whole_high)).all())
        return point, proven

    def _first(self, ranges: Ranges, keep: bool) -> None:
        try:
            point, _ = self._whole(ranges, ranges.low, ranges.high, np.zeros(0, int), np.zeros(0), keep)
        except NotDecided:
            hint = "give the true values, which fit"
            raise PolicyError("no whole numbers that fit the table were found in time", hint=hint) from None
        if point is None:
            raise contradiction()

    def _reach(self, ranges: Ranges, ends: _Ends, keep: bool) -> None:
        """Take each cell that is left as far as whole numbers go, and its bound to there; or to what time allows."""
        while not self._over():
            cells, signs = ends.open(ranges)
            if not len(cells):
                return
            cell, up = int(cells[0]), signs[0] > 0
            low, high = ranges.low.copy(), ranges.high.copy()
            if up:
                low[cell] = max(low[cell], ranges.whole_high[cell] + 1)
            else:
                high[cell] = min(high[cell], ranges.whole_low[cell] - 1)
            try:
                _, proven = self._whole(ranges, low, high, cells[:1], signs[:1], keep)
            except NotDecided:
                proven = False
            ranges.exact = ranges.exact and proven
            if up:
                ranges.high[cell] = ranges.whole_high[cell]
            else:
                ranges.low[cell] = ranges.whole_low[cell]


@dataclass(frozen=True, eq=False)
class _Ends:
    """The ends of cells that are open: further out by more than `near` than points have gone, and not settled."""

    near: float
    settled: Settled
    whole: bool

    def gap(self, ranges: Ranges, cells: np.ndarray, signs: np.ndarray) -> np.ndarray:
        """How far bounds and points are apart, upwards or downwards; NaN where there is no end."""
        seen_high, seen_low = (
            (ranges.whole_high, ranges.whole_low) if self.whole else (ranges.seen_high, ranges.seen_low)
        )
        with np.errstate(invalid="ignore"):
            return np.where(signs > 0, ranges.high[cells] - seen_high[cells], seen_low[cells] - ranges.low[cells])

    def open(self, ranges: Ranges) -> tuple[np.ndarray, np.ndarray]:
        """The cells that are open upwards, then those that are downwards, and which of the two."""
        size = len(ranges.low)
        cells, signs = np.tile(np.arange(size), 2), np.repeat((1.0, -1.0), size)
        left = (self.gap(ranges, cells, signs) > self.near) & ~np.tile(self.settled(ranges), 2)
        return cells[left], signs[left]
