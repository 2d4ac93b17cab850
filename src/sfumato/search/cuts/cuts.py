"""Cuts: which values of a column share a label, as strings of bits. The search space of Iyengar, KDD 2002."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.core.cells import roll_up
from sfumato.core.compiled import share, threads
from sfumato.core.keys import first_of, rank_tuples
from sfumato.core.labels import Labels, of_nodes, of_ranges
from sfumato.core.lattice import Lattice, lattice
from sfumato.core.microdata import Attribute
from sfumato.core.policy import TOLERANCE, ClassStatistics, check, class_statistics
from sfumato.errors import Infeasible, PolicyError
from sfumato.search.cuts.kernels import (
    GEOMETRIC,
    MAXIMUM,
    MEAN,
    NO_SUM,
    SUM,
    CutShape,
    CutWork,
    Moves,
    Sheet,
    room,
    weigh_all,
)
from sfumato.search.lattice.optimal import descend
from sfumato.search.lattice.state import LatticeState
from sfumato.search.problem import GENERALISE, Columns, Problem, Solution, judge, nothing_found

AGGREGATES = {"mean": MEAN, "sum": SUM, "geometric": GEOMETRIC, "maximum": MAXIMUM}
FUSED = 1024  # values of a fused column; its map is made anew for each candidate
MOST_GAPS = 1000  # of a column: the costs of all runs are a table of their square
WORTH_A_THREAD = 100_000  # cells to look at before a second core pays


@dataclass(frozen=True, eq=False)
class CutTree:
    """The nodes of a hierarchy over its leaves first..last, in preorder; nodes that cover the same are one."""

    first: np.ndarray
    last: np.ndarray
    up: np.ndarray  # the bit of the node above, -1 for none
    bit: np.ndarray  # the bit that replaces the node by its children, -1 for a leaf
    level: np.ndarray
    label: np.ndarray


@dataclass(frozen=True, eq=False)
class ColumnCuts:
    """The cuts of one column. Its leaves are what is never split, in an order in which a label covers a run of them.

    Without a tree there is a bit per gap between neighbouring leaves, which parts them where it is set. With a tree
    there is a bit per inner node, which replaces the node by its children, and needs the bit of the node above (`up`).
    Iyengar has a bit per gap there too: gaps with the same lowest common ancestor must agree, so here they are one.
    """

    attribute: Attribute
    leaf: np.ndarray  # of each code
    code: np.ndarray  # first code of each leaf
    up: np.ndarray  # per bit, -1 for none
    tree: CutTree | None

    @property
    def cuts(self) -> float:
        """How many cuts there are; infinite where that is no matter."""
        if self.tree is None:
            return 2.0 ** len(self.up) if len(self.up) < 1000 else math.inf
        ways = [1.0] * (len(self.up) + 1)  # of the children of the node of each bit; those without go to the last
        for bit in range(len(self.up) - 1, -1, -1):
            ways[self.up[bit]] *= 1 + ways[bit]
        return ways[-1]

    def at_level(self, level: int) -> np.ndarray:
        """The bits of one level of the hierarchy, or the nearest there is."""
        if self.tree is not None:
            return (self.tree.level[self.tree.bit >= 0] > level).astype(np.uint8)
        of = self.attribute.ladder.of[level]
        return (of[self.code[1:]] != of[self.code[1:] - 1]).astype(np.uint8)

    def labels(self, bits: np.ndarray) -> Labels:
        """The labels of the codes under bits that are valid."""
        if self.tree is not None:
            t, there = self.tree, np.append(bits, 1).astype(np.bool_)  # no bit above: there. A leaf: never split
            cut = np.flatnonzero(there[t.up] & ~np.append(there[:-1], False)[t.bit])
            node = np.repeat(cut, (t.last - t.first + 1)[cut])[self.leaf]
            return of_nodes(self.attribute, t.level[node], t.label[node])
        run = _starts(bits)[self.leaf]
        first = np.flatnonzero(np.diff(run, prepend=-1))
        last = np.append(first[1:], len(run)) - 1
        return of_ranges(self.attribute, first[run], last[run])


def by_gaps(attribute: Attribute, gaps: int) -> ColumnCuts:
    """Cuts between neighbouring values; of more than `gaps` gaps those nearest to the quantiles are used."""
    n, missing = len(attribute.categories), attribute.categories.missing
    at = np.arange(1, n)
    if len(at) > gaps:
        below = np.cumsum(attribute.categories.count)
        goal = below[-1] * np.arange(1, gaps + 1 - missing) / (gaps + 1 - missing)
        at = np.unique(np.clip(np.searchsorted(below, goal) + 1, 1, n - 1))
        at = np.union1d(at, [n - 1]) if missing else at  # missing values can always be apart
    leaf = np.zeros(n, np.int64)
    leaf[at] = 1
    return ColumnCuts(attribute, np.cumsum(leaf), np.concatenate([[0], at]), np.full(len(at), -1), None)


def by_tree(attribute: Attribute, low: int, high: int) -> ColumnCuts:
    """Cuts along the hierarchy, between two of its levels."""
    of = attribute.ladder.of
    _, code, leaf = np.unique(of[low], return_index=True, return_inverse=True)
    order = np.lexsort(of[low : high + 1, code])  # the last row is the first key: leaves of a node stand together
    place = np.argsort(order)
    code = code[order]
    level_of: dict[tuple[int, int], int] = {}  # of all nodes that cover the same leaves the lowest
    for level in range(high, low - 1, -1):
        first = np.flatnonzero(np.diff(of[level, code], prepend=-1))
        last = np.append(first[1:], len(code)) - 1
        level_of |= dict.fromkeys(zip(first.tolist(), last.tolist(), strict=True), level)
    spans = sorted(level_of, key=lambda span: (span[0], -span[1]))
    up: list[int] = []
    bit: list[int] = []
    ups: list[int] = []  # per bit
    above: list[tuple[int, int]] = []  # the last leaf and the bit of each node that may be above the next one
    for first_leaf, last_leaf in spans:
        while above and above[-1][0] < first_leaf:
            above.pop()
        up.append(above[-1][1] if above else -1)
        bit.append(len(ups) if last_leaf > first_leaf else -1)
        if last_leaf > first_leaf:
            above.append((last_leaf, len(ups)))
            ups.append(up[-1])
    first, last = np.array(spans, dtype=np.int64).T.copy()
    levels = np.array([level_of[span] for span in spans])
    tree = CutTree(first, last, np.array(up), np.array(bit), levels, of[levels, code[first]])
    return ColumnCuts(attribute, place[leaf], code, np.array(ups, dtype=np.int64), tree)


class CutSpace:
    """The cuts of all columns, one string of bits; `at` says where the bits of each column begin.

    A column with a given hierarchy whose values have no order of their own, or whose levels are bounded, is cut along
    its hierarchy, any other one between its values.
    """

    def __init__(self, problem: Problem, gaps: int) -> None:
        self.problem = problem
        self.lattice: Lattice = lattice(problem.attributes, problem.levels)
        self.columns: list[ColumnCuts] = []
        for attribute, low, high in zip(problem.attributes, self.lattice.least, self.lattice.greatest, strict=True):
            along = attribute.hierarchy is not None and not attribute.categories.ordered
            along |= attribute.name in problem.levels
            self.columns.append(by_tree(attribute, low, high) if along else by_gaps(attribute, gaps))
        self.at = _starts([len(c.up) for c in self.columns])
        self.bits = int(self.at[-1])
        self.moves = self._moves()

    @property
    def cuts(self) -> float:
        """How many cuts there are."""
        return math.prod(column.cuts for column in self.columns)

    @property
    def top(self) -> np.ndarray:
        """The bits of the most general cut."""
        return np.zeros(self.bits, np.uint8)

    def at_levels(self, node: Sequence[int]) -> np.ndarray:
        """The bits of a level vector."""
        return np.concatenate([c.at_level(level) for c, level in zip(self.columns, node, strict=True)])

    def labels(self, bits: np.ndarray) -> list[tuple[Labels, np.ndarray]]:
        """The labels of each column, and the label of each cell."""
        codes, found = self.problem.cells.codes, []
        for a, column in enumerate(self.columns):
            labels = column.labels(bits[self.at[a] : self.at[a + 1]])
            found.append((labels, labels.of[codes[a]]))
        return found

    def _moves(self) -> Moves:
        up = np.concatenate([_shift(c.up, at) for c, at in zip(self.columns, self.at, strict=False)])
        end = np.arange(1, self.bits + 1)
        for b in range(self.bits - 1, -1, -1):
            if up[b] >= 0:
                end[up[b]] = max(end[up[b]], end[b])
        levels = [range(*pair) for pair in zip(self.lattice.least, np.add(self.lattice.greatest, 1), strict=True)]
        presets = np.zeros((sum(map(len, levels)), self.bits), np.uint8)
        row = 0
        for a, column in enumerate(self.columns):
            for level in levels[a]:
                presets[row, self.at[a] : self.at[a + 1]] = column.at_level(level)
                row += 1
        tree = np.array([c.tree is not None for c in self.columns])
        of_bit = np.repeat(np.arange(len(self.columns)), np.diff(self.at))
        return Moves(up, end, of_bit, self.at, tree, presets, _starts([len(one) for one in levels]))


class Trials:
    """Cuts tried so far: how many, the best, and what is left of the limits.

    `exact` is whether the kernels alone can say what a cut comes to: one quasi-identifier set, criteria on class sizes
    only, a loss of labels. Otherwise they tell which cuts may be any good, and `settle` looks closer at those.
    """

    def __init__(self, problem: Problem, gaps: int, pool: ThreadPoolExecutor) -> None:
        self.problem, self.pool, self.policy = problem, pool, problem.policy
        self.limit = min(problem.limit, problem.rows - 1)
        self.began = self.clock = time.perf_counter()
        self.timed_out = False
        self.seconds = self.most = self.patience = math.inf
        self.space = CutSpace(problem, gaps)
        self.shape, self.sheet = _shape(self.space), _sheet(self.space, self.limit)
        self.work = tuple(room(self.shape, self.sheet) for _ in range(threads()))
        require = self.policy.require
        self.by_label = self.policy.loss.by_label
        self.by_size = len(problem.sets) == 1 and problem.policy.by_size
        self.exact = self.by_size and self.by_label
        closed = ("superset", "merge") if problem.limit == 0 else ("superset",)
        self.monotone = all(c.monotonicity in closed for c in require)  # where the top fails, all else fails
        self.best: list[tuple[float, np.ndarray]] = []  # each better than the one before
        self.closest, self.scale = problem.rows, 1.0
        self.checks = self.idle = 0  # cuts weighed; cuts made since the last improvement

    def late(self) -> bool:
        """Whether the time is up."""
        self.timed_out |= time.perf_counter() - self.clock > self.seconds
        return self.timed_out

    def over(self) -> bool:
        """Whether a limit is reached."""
        done = bool(self.best) and self.best[-1][0] <= 0  # nothing can be better
        return done or self.checks >= self.most or self.idle >= self.patience or self.late()

    @property
    def left(self) -> int:
        """How many cuts may still be weighed, as far as that matters."""
        return int(min(self.most - self.checks, 1 << 30))

    def report(self, message: str) -> None:
        """Tell how far the limits are used up."""
        spent = (time.perf_counter() - self.clock) / self.seconds, self.checks / self.most, self.idle / self.patience
        self.problem.report(message, min(max(spent), 1.0), self.best[-1][0] if self.best else None)

    def start(self, seconds: float | None, evaluations: int | None, patience: int) -> list[np.ndarray]:
        """The most general cut, and what a greedy descent of the level vectors finds; from then on the limits hold.

        `patience` is how many cuts per bit may be made without improvement.
        """
        value, over = self.weigh(self.space.top[None, :])
        self.scale = float(value[0]) if 0 < value[0] < math.inf else 1.0
        if over[0] > 0 and self.monotone:
            raise self.infeasible()
        self.clock = time.perf_counter()  # compiling, once on a machine, is over
        self.seconds = math.inf if seconds is None else seconds
        self.most = math.inf if evaluations is None else evaluations
        self.patience = patience * max(self.space.bits, 1)
        if self.over():
            return [self.space.top]
        walk = LatticeState(self.problem, self.space.lattice, self.pool)
        walk.stop_after(min(self.seconds, 1e9) / 2, None if self.most == math.inf else int(self.most))
        descend(walk)
        self.checks += walk.checks
        self.timed_out |= walk.timed_out
        if walk.best is None:
            return [self.space.top]
        seed = self.space.at_levels(walk.best[2])
        self.weigh(seed[None, :])
        self.scale = self.best[-1][0] if self.best and self.best[-1][0] > 0 else self.scale
        return [self.space.top, seed]

    def weigh(self, bits: np.ndarray, bar: float = math.inf, penalty: float = 0.0) -> tuple[np.ndarray, np.ndarray]:
        """The loss of each cut and its share of rows too many (-1 where it surely costs more than `bar`).

        A loss that includes the penalty and is above the bar may be too low, one below it is right.
        """
        value, found = np.zeros(len(bits)), np.zeros((len(bits), 5))

        def run(part: slice, thread: int) -> None:
            weigh_all(bits[part], self.shape, self.sheet, self.work[thread], bar, value[part], found[part])

        if len(bits) * len(self.sheet.count) >= WORTH_A_THREAD:
            share(run, np.ones(len(bits)), self.pool)
        else:
            run(slice(0, len(bits)), 0)
        weighed = np.flatnonzero(found[:, 0] >= 0)
        self.checks += len(weighed)
        suppressed = found[:, 0].copy()
        for b in weighed if not self.exact else []:
            if value[b] + penalty * self._over(suppressed[b]) <= bar and not self.late():
                value[b], suppressed[b] = self.settle(bits[b], value[b], found[b], self.work[0])
            else:
                suppressed[b] = -1
        if len(known := np.flatnonzero(suppressed >= 0)):
            self.closest = min(self.closest, int(suppressed[known].min()))
            valid = known[suppressed[known] <= self.limit]
            if len(valid):
                b = valid[np.argmin(value[valid])]
                self.offer(bits[b], float(value[b]))
        return value, np.where(suppressed < 0, -1.0, self._over(suppressed))

    def _over(self, suppressed: Any) -> Any:
        return np.maximum(suppressed - self.limit, 0) / self.problem.rows

    def settle(self, bits: np.ndarray, value: float, found: np.ndarray, work: CutWork) -> tuple[float, int]:
        """Loss and suppressed rows of one cut under any policy, from what the kernels found.

        Where classes that are too small have too many rows already, that is all there is to know.
        """
        problem, cells, policy = self.problem, self.problem.cells, self.policy
        if self.by_size or found[0] > self.limit:
            suppressed, classes, squares, kept_classes, kept_squares = found.tolist()
            numbers = int(suppressed), int(classes), squares, int(kept_classes), kept_squares
            statistics = ClassStatistics(problem.rows, *numbers, policy.k, problem.limit)
            return value if self.by_label else self._class_loss(statistics), numbers[0]
        if (not self.by_label and len(problem.sets) > 1) or policy.needs != policy.as_they_are:
            verdict = judge(problem, self.space.labels(bits))[1]
            return verdict.loss, verdict.suppressed
        weigh_all(bits[None, :], self.shape, self.sheet, work, -math.inf, np.zeros(1), np.zeros((1, 5)))  # to decode
        leaf = [at + column.leaf for at, column in zip(self.shape.leaf_at, self.space.columns, strict=False)]
        tables = [work.label[one].astype(np.int64) for one in leaf]
        groupings = [roll_up(cells, [tables[a] for a in members], members) for members in problem.sets]
        kept = check(policy.criteria, cells, groupings)
        if not self.by_label:
            good = np.zeros(len(groupings[0].size), np.bool_)
            good[groupings[0].class_of_cell[kept]] = True
            statistics = class_statistics(policy, groupings[0].size, good, problem.rows)
            return self._class_loss(statistics), statistics.suppressed
        lost = np.flatnonzero(~kept)
        for a in range(len(tables)):
            where = leaf[a][cells.codes[a, lost]]
            work.x[a] += (cells.count[lost] * (self.sheet.gone[where] - work.cost[where])).sum()
        loss = float(policy.loss.combine(work.x / problem.rows, self.shape.weight))
        return loss, int(cells.count[lost].sum())

    def _class_loss(self, statistics: ClassStatistics) -> float:
        return float(self.policy.loss.value(statistics)) if statistics.kept_classes else math.inf

    def offer(self, bits: np.ndarray, value: float) -> None:
        """Keep a valid cut if it is better than the best."""
        if not self.best or value < self.best[-1][0] - TOLERANCE:
            self.best.append((value, bits.copy()))
            self.idle = 0

    def solution(self) -> Solution:
        """The best cut, judged by its labels as they print; those before it where labels that print alike spoil it."""
        seconds = time.perf_counter() - self.began
        for _, bits in reversed(self.best):
            columns = self.space.labels(bits)
            kept, verdict, _ = judge(self.problem, columns)
            if verdict.satisfied:
                recoding = Columns({labels.attribute.name: labels for labels, _ in columns})
                return Solution(recoding, verdict, kept, False, self.checks, seconds, not self.timed_out)
        raise self.infeasible()

    def infeasible(self) -> Infeasible:
        """Why there is no solution."""
        what = "no cut satisfies the policy" if self.monotone else "no cut that was tried satisfies the policy"
        return nothing_found(self.problem, what, self.closest, GENERALISE)


def _starts(sizes: Any) -> np.ndarray:
    """Where each of some things that stand one after the other begins, and where the last one ends."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)


def _shift(numbers: np.ndarray, by: int) -> np.ndarray:
    """Numbers that stand for things, moved on; -1 stands for none."""
    return np.where(numbers < 0, -1, numbers + by).astype(np.int64)


def _shape(space: CutSpace) -> CutShape:
    """The cuts and what their labels cost, for the kernels."""
    loss, columns = space.problem.policy.loss, space.columns
    by_label = loss.by_label
    pair, price = [np.zeros(0)] * len(columns), [np.zeros(0)] * len(columns)
    own, rows = np.zeros(len(columns)), []
    for a, column in enumerate(columns):
        attribute, tree, n = column.attribute, column.tree, len(column.code)
        if tree is not None:
            labels = of_nodes(attribute, tree.level, tree.label)
            price[a] = loss.cost(labels)[labels.of] if by_label else np.zeros(len(tree.first))
        else:
            i, j = np.triu_indices(n)
            labels = of_ranges(attribute, column.code[i], np.append(column.code[1:], len(column.leaf))[j] - 1)
            table = np.zeros((n, n))
            table[i, j] = loss.cost(labels)[labels.of] if by_label else 0.0
            pair[a] = table.reshape(-1)
        if by_label:
            if loss.suppressed(attribute) is None:
                raise PolicyError("a loss to which suppression is free asks for a full-domain search")
            own[a] = (loss.own(attribute) * attribute.categories.count).sum()
        rows.append(_starts(np.bincount(column.leaf, weights=attribute.categories.count, minlength=n).tolist()))
    none = np.zeros(0, np.int64)
    trees = [c.tree or CutTree(none, none, none, none, none, none) for c in columns]
    at = space.at[:-1]
    return CutShape(
        space.moves.tree,
        _starts([len(c.code) for c in columns]),
        space.at,
        np.concatenate(rows),
        _starts([len(p) for p in pair]),
        np.concatenate(pair),
        _starts([len(t.first) for t in trees]),
        np.concatenate([_shift(t.up, by) for t, by in zip(trees, at, strict=True)]),
        np.concatenate([_shift(t.bit, by) for t, by in zip(trees, at, strict=True)]),
        np.concatenate([t.first for t in trees]),
        np.concatenate([t.last for t in trees]),
        np.concatenate(price),
        own,
        np.array([loss.weight(c.attribute) if by_label else 0.0 for c in columns]),
        AGGREGATES[loss.aggregate] if by_label else NO_SUM,
    )


def _sheet(space: CutSpace, limit: int) -> Sheet:
    """The cells and what suppressing them costs, for the kernels; classes are those of the first quasi-identifiers.

    Cells of the same leaves are one. The cost of a suppressed row is taken as even within a leaf, as it is for all
    losses there are.
    """
    problem, columns, loss = space.problem, space.columns, space.problem.policy.loss
    stood = roll_up(problem.cells, [c.leaf for c in columns], range(len(columns)))
    first = first_of(stood.class_of_cell, len(stood.size))
    leaf = [c.leaf[problem.cells.codes[a, first]] for a, c in enumerate(columns)]
    leaves = [len(c.code) for c in columns]
    leaf_at = _starts(leaves)
    groups: list[list[int]] = []
    for a in sorted(problem.sets[0], key=lambda a: -leaves[a]):
        group = next((g for g in groups if math.prod(leaves[b] for b in g) * leaves[a] <= FUSED), None)
        if group is None:
            groups.append([a])
        else:
            group.append(a)
    fused, parts = [], []
    for group in groups:
        of, tuples = rank_tuples([leaf[a] for a in group], [leaves[a] for a in group], len(first))
        fused.append(of.astype(np.uint32))
        some = first_of(of, tuples)
        parts.append(np.concatenate([leaf_at[a] + leaf[a][some] for a in group]))
    gone = []
    for column in columns:
        cost, rows = np.zeros(len(column.leaf)), column.attribute.categories.count
        if loss.by_label:
            cost = loss.suppressed(column.attribute) + loss.own(column.attribute)
        gone.append(np.bincount(column.leaf, cost * rows) / np.bincount(column.leaf, rows))
    return Sheet(
        np.stack(fused),
        stood.size,
        np.array([a for group in groups for a in group]),
        _starts([len(group) for group in groups]),
        np.array([len(part) // len(group) for part, group in zip(parts, groups, strict=True)]),
        max((math.prod(leaves[a] for a in group) for group in groups if len(group) > 1), default=1),
        np.concatenate(parts).astype(np.uint32),
        _starts([len(part) for part in parts]),
        np.stack([at + one for at, one in zip(leaf_at, leaf, strict=False)]).astype(np.uint32),
        np.concatenate(gone),
        problem.policy.least_sizes[0],
        limit,
        problem.rows,
    )
