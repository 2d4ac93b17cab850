"""A sample of a table, and the cuts that Mondrian would make of it: by its own kernels, of the same columns."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator
from dataclasses import dataclass, replace

import numpy as np

from sfumato.cells import classes_of
from sfumato.distributed.tree import Cut
from sfumato.kernels.mondrian_choice import choose
from sfumato.kernels.mondrian_cuts import BEST, REACH, Rules, children_of, cuts_of, look
from sfumato.kernels.mondrian_cuts import Cells as Room
from sfumato.policy import holds
from sfumato.search.mondrian import CUTS, Mondrian
from sfumato.search.mondrian_goals import goal_of
from sfumato.search.mondrian_shape import columns_of, shape_of
from sfumato.search.problem import Problem, by_class

TRIES = 40  # cuts of a node that are looked at


@dataclass(frozen=True, eq=False)
class Proposal:
    """A cut, and the side of each cell of the sample."""

    cut: Cut
    side: np.ndarray


class Sample:
    """Rows of a table each of which stands for `unit` rows: which cuts Mondrian would make of them.

    The problem counts units. Columns in `lines` are cut at positions, the others by the side of each code.
    """

    def __init__(self, problem: Problem, method: Mondrian, unit: int, lines: Container[str]) -> None:
        self.problem, self.unit = by_class(problem), unit
        self.cells, self.require = problem.cells, self.problem.policy.require
        self.columns = columns_of(problem, method.categories, method.output)
        self.lines = [column.attribute.name in lines for column in self.columns]
        self.shape = shape_of(self.columns, problem.policy.loss)
        least = max(1, math.ceil(self.problem.policy.least_size / unit))
        self.rules = Rules(least, CUTS[method.cut], False, method.dimension != "first")
        self.goal = goal_of(
            self.problem, self.columns, self.shape, method.dimension, method.class_attribute, method.queries
        )
        self.codes = np.stack([column.place[self.cells.codes[i]] for i, column in enumerate(self.columns)])

    def rows(self, cells: np.ndarray) -> int:
        """About how many rows of the table some cells stand for."""
        return int(self.cells.count[cells].sum()) * self.unit

    def proposals(self, cells: np.ndarray) -> Iterator[Proposal]:
        """The cuts of a part, best first."""
        codes, n, idx = np.ascontiguousarray(self.codes[:, cells]), self.cells.count[cells], cells.astype(np.int32)
        room = Room(codes, n, idx, np.empty_like(codes), np.empty_like(n), np.empty_like(idx))
        for skip in range(TRIES):
            found = self._cut(room, skip)
            if found is None:
                return
            yield found

    def allowed(self, cells: np.ndarray, proposal: Proposal) -> bool:
        """Whether the sides satisfy the criteria, as far as the sample tells."""
        if all(not criterion.needs for criterion in self.require):
            return True
        taken = self.cells.take(cells)
        scaled = {name: replace(h, count=h.count * self.unit) for name, h in taken.histograms.items()}
        sides = replace(taken, count=taken.count * self.unit, histograms=scaled)
        classes = classes_of(sides, proposal.side.astype(np.int32), proposal.cut.kids)
        there = classes.size > 0
        return bool(holds(self.require, classes)[there].all())

    def around(self, cells: np.ndarray, low: np.ndarray, high: np.ndarray) -> Iterator[Proposal]:
        """Cuts beside the median of each column that has other values, also such as the sample has not: from `low` to
        `high` are all of them."""
        for a, column in enumerate(self.columns):
            if low[a] == high[a] or not len(cells):
                continue
            place = self.codes[a, cells]
            order = np.argsort(place, kind="stable")
            upto = np.cumsum(self.cells.count[cells][order])
            middle = int(place[order[np.searchsorted(upto, (upto[-1] + 1) // 2)]])
            if self.lines[a]:
                position = self._position(a, middle)
                ends = position, np.nextafter(position, np.inf)
                yield from (self._at(a, at, cells) for at in ends if low[a] < at <= high[a])
            else:
                for cut in (middle, middle + 1):
                    if 0 < cut < len(column.place):
                        yield Proposal(Cut(a, 2, side=(column.place >= cut).astype(np.int32)), (place >= cut) * 1)

    def _cut(self, room: Room, skip: int) -> Proposal | None:
        """Cut number `skip` of a part: as `cut_parts` of the kernels has it."""
        d, shape, rules = len(self.columns), self.shape, self.rules
        start, end, wait = np.array([0]), np.array([len(room.n)]), np.array([skip])
        rows = room.n.sum()
        if rows < 2 * rules.least or len(room.n) < 2:
            return None
        column, cut, take = np.array([-1]), np.array([0]), np.array([0])
        if self.goal is not None:
            choose(room, shape, rules, self.goal, start, end, wait, column, cut, take)
        low, high, rank = np.empty(d, np.int64), np.empty(d, np.int64), np.empty(d, np.int64)
        look(room, shape, 0, len(room.n), rules.widest, low, high, np.empty(d), rank)
        longest = int(shape.values.max()) + 1
        side_of = np.full(longest, -1, np.int32)
        if column[0] >= 0:
            a = int(column[0])
            if not shape.multiway[a]:
                return self._below(a, int(cut[0]), room)
            kids, _ = self._children(a, room, low, high, side_of)
            return self._dealt(a, kids, side_of, room)
        left = int(wait[0])
        hist = np.zeros(max(min(2 * len(room.n) + 64, longest), 1), np.int64)
        cuts, takes = np.empty(REACH + 3, np.int64), np.empty(REACH + 3, np.int64)
        for a in rank.tolist():
            if low[a] == high[a]:
                continue
            if shape.multiway[a]:
                kids, _ = self._children(a, room, low, high, side_of)
                if kids >= 2 and left == 0:
                    return self._dealt(a, kids, side_of, room)
                left -= kids >= 2
                continue
            found = cuts_of(
                room.codes[a], room.n, low[a], high[a], shape.missing[a], rows, rules, shape.loose[a],
                min(left + 1, REACH + 3), hist, cuts, takes,
            )  # fmt: skip
            if found > left:
                return self._below(a, int(cuts[left]), room)
            left -= found
        return None

    def _children(self, a: int, room: Room, low: np.ndarray, high: np.ndarray, side_of: np.ndarray) -> tuple[int, int]:
        most = len(side_of)
        work = np.empty(most, np.int64), np.empty(most, np.int32)
        side_of[:] = -1
        kids, kind = children_of(room.codes[a], room.n, self.shape, a, low[a], high[a], self.rules, side_of, *work)
        return int(kids), int(kind)

    def _dealt(self, a: int, kids: int, side_of: np.ndarray, room: Room) -> Proposal:
        """A cut into children of a node: children that the sample has not go to the smallest side, or, where cuts may
        not put children together, to a side of their own."""
        own = side_of[room.codes[a]]
        side = side_of[self.columns[a].place].astype(np.int32)
        if (side < 0).any():
            if self.rules.how == BEST:
                rest = int(np.argmin(np.bincount(own, weights=room.n, minlength=kids)))
            else:
                rest, kids = kids, kids + 1
            side = np.where(side < 0, rest, side).astype(np.int32)
        return Proposal(Cut(a, kids, side=side), own)

    def _below(self, a: int, cut: int, room: Room) -> Proposal:
        """A cut in two: places below `cut` to the left; on a line half-way to the next value."""
        place = room.codes[a]
        side = (place >= cut) * 1
        if not self.lines[a]:
            return Proposal(Cut(a, 2, side=(self.columns[a].place >= cut).astype(np.int32)), side)
        under, over = (self._position(a, int(p)) for p in (place[side == 0].max(), place[side == 1].min()))
        at = over if math.isinf(over) else max((under + over) / 2, float(np.nextafter(under, np.inf)))
        return Proposal(Cut(a, 2, at), side)

    def _at(self, a: int, at: float, cells: np.ndarray) -> Proposal:
        position = np.array([self._position(a, int(p)) for p in self.codes[a, cells]])
        return Proposal(Cut(a, 2, at), (position >= at) * 1)

    def _position(self, a: int, place: int) -> float:
        """The position of a place on a line; missing values stand after all others."""
        attribute = self.columns[a].attribute
        lacks = attribute.categories.missing and place == len(attribute.categories) - 1
        return math.inf if lacks else float(attribute.positions[place])
