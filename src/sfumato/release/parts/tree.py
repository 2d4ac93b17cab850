"""Tree: cuts of the whole domain into parts. Every row of the table belongs to one leaf, whatever its values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from sfumato.core.cells import classes_of
from sfumato.core.policy import holds
from sfumato.search.mondrian.cuts import BEST, REACH, WIDEST, CutRules, children_of, cuts_of, look
from sfumato.search.mondrian.cuts import PartCells as Room
from sfumato.search.mondrian.goals import goal_of
from sfumato.search.mondrian.mondrian import CUTS, ORDERS, Mondrian
from sfumato.search.mondrian.parts import columns_of, shape_of
from sfumato.search.mondrian.scores import choose
from sfumato.search.problem import Problem, by_class


@dataclass(frozen=True, eq=False)
class Cut:
    """A cut of a column: rows at or above `at`, and those without a value, go right; with `side`, by their code."""

    column: int
    kids: int
    at: float = np.inf
    side: np.ndarray | None = None


@dataclass(eq=False)
class PartTree:
    """Nodes by number, the root first. `passed` counts, per node, the cuts of each column that were refused."""

    cuts: list[Cut | None] = field(default_factory=lambda: [None])
    first: list[int] = field(default_factory=lambda: [-1])  # the kids of a node follow each other
    parent: list[int] = field(default_factory=lambda: [-1])
    passed: dict[int, Counter[int]] = field(default_factory=dict)

    def split(self, node: int, cut: Cut) -> range:
        """Cut a leaf; its kids."""
        start = len(self.cuts)
        self.cuts[node], self.first[node] = cut, start
        self.cuts += [None] * cut.kids
        self.first += [-1] * cut.kids
        self.parent += [node] * cut.kids
        return self.kids(node)

    def kids(self, node: int) -> range:
        """The kids of a node."""
        cut = self.cuts[node]
        return range(0) if cut is None else range(self.first[node], self.first[node] + cut.kids)

    def leaves(self, node: int = 0) -> list[int]:
        """The leaves below a node, or itself."""
        found, stack = [], [node]
        while stack:
            at = stack.pop()
            kids = self.kids(at)
            stack += reversed(kids)
            if not kids:
                found.append(at)
        return found

    def refuse(self, node: int) -> None:
        """Take the cut of a node back, with all below it, and remember that."""
        cut = self.cuts[node]
        if cut is not None:
            self.passed.setdefault(node, Counter())[cut.column] += 1
            self.cuts[node], self.first[node] = None, -1


@dataclass(frozen=True, eq=False)
class Branches:
    """The tree in flat arrays, for workers: `side_at` is where the sides of a node's codes begin in `side`."""

    column: np.ndarray
    at: np.ndarray
    first: np.ndarray
    side_at: np.ndarray
    side: np.ndarray

    def leaf(self, places: np.ndarray) -> np.ndarray:
        """The leaf of each row, from its places, [columns, rows]."""
        node = np.zeros(places.shape[1], np.int32)
        live = np.arange(len(node)) if self.column[0] >= 0 else np.zeros(0, np.int64)
        while len(live):
            here = node[live]
            value = places[self.column[here], live]
            side = (value >= self.at[here]).astype(np.int32)
            listed = np.flatnonzero(self.side_at[here] >= 0)
            if len(listed):
                side[listed] = self.side[self.side_at[here[listed]] + value[listed].astype(np.int64)]
            here = self.first[here] + side
            node[live] = here
            live = live[self.column[here] >= 0]
        return node


def branches(tree: PartTree) -> Branches:
    """The tree in flat arrays."""
    sides = [np.zeros(0, np.int32) if cut is None or cut.side is None else cut.side for cut in tree.cuts]
    length = np.array([len(side) for side in sides])
    return Branches(
        np.array([-1 if cut is None else cut.column for cut in tree.cuts], dtype=np.int32),
        np.array([np.inf if cut is None else cut.at for cut in tree.cuts]),
        np.array(tree.first, dtype=np.int32),
        np.where(length > 0, np.cumsum(length) - length, -1),
        np.concatenate(sides).astype(np.int32),
    )


def settle(tree: PartTree, good: Callable[[Iterable[int]], Iterable[bool]]) -> None:
    """Take back the cuts that leave a leaf that is not good: its siblings and it become one leaf, up to the root.

    `good` says of leaves, some of which were made by this, whether each is.
    """
    doubtful = tree.leaves()
    while doubtful:
        bad = [leaf for leaf, fine in zip(doubtful, good(doubtful), strict=True) if not fine and leaf]
        merged = {tree.parent[leaf] for leaf in bad}
        for node in merged:
            tree.refuse(node)
        leaves = set(tree.leaves()) if merged else set()
        doubtful = sorted(merged & leaves)  # one below another that was taken back is gone


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
        self.columns = columns_of(problem, method.categories, method.labels, method.cut)
        self.lines = [column.attribute.name in lines for column in self.columns]
        self.shape = shape_of(self.columns, problem.policy.loss)
        least = max(1, math.ceil(self.problem.policy.least_size / unit))
        self.rules = CutRules(least, CUTS[method.cut], False, ORDERS.get(method.dimension, WIDEST), method.seed)
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
            choose(room, shape, rules, *self.goal, start, end, wait, column, cut, take)
        low, high, rank = np.empty(d, np.int64), np.empty(d, np.int64), np.empty(d, np.int64)
        look(room, shape, 0, len(room.n), rules, low, high, np.empty(d), rank)
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


def grow(
    tree: PartTree,
    node: int,
    sample: Sample,
    cells: np.ndarray,
    bound: int,
    extent: tuple[np.ndarray, np.ndarray] | None = None,
) -> bool:
    """Cut a leaf, and its sides, until each has about `bound` rows; whether there was a cut.

    With `extent`, the least and greatest place of its rows in each column, it is known to be too large and is cut at
    least once, if need be beside its median.
    """
    stack, must = [(node, cells)], extent is not None
    while stack:
        at, own = stack.pop()
        if not must and sample.rows(own) <= bound:
            continue
        found = _pick(sample, own, tree.passed.get(at, Counter()), extent if must else None)
        must = False
        if found is not None:
            stack += [(kid, own[found.side == i]) for i, kid in enumerate(tree.split(at, found.cut))]
    return tree.cuts[node] is not None


def _pick(
    sample: Sample, cells: np.ndarray, passed: Mapping[int, int], extent: tuple[np.ndarray, np.ndarray] | None
) -> Proposal | None:
    """The best cut that the sample says is allowed, else the best: only a count of all rows can refuse it.

    Of a column, as many are passed over as were refused.
    """
    seen: Counter[int] = Counter()
    first = None
    for proposal in _both(sample, cells, extent):
        column = proposal.cut.column
        seen[column] += 1
        if seen[column] <= passed.get(column, 0):
            continue
        if sample.allowed(cells, proposal):
            return proposal
        first = first or proposal
    return first


def _both(sample: Sample, cells: np.ndarray, extent: tuple[np.ndarray, np.ndarray] | None) -> Iterator[Proposal]:
    if len(cells):
        yield from sample.proposals(cells)
        if extent is not None:
            yield from sample.around(cells, *extent)
