"""Ordered columns that iterated lattice recoding releases as ranges: it then need not follow their hierarchy."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from sfumato.core.cells import classes_of
from sfumato.core.compiled import workers
from sfumato.core.hierarchy import Hierarchy
from sfumato.core.labels import of_ranges
from sfumato.core.lattice import lattice
from sfumato.core.microdata import Attribute
from sfumato.core.parameters import OneOf, Real, Whole, check_fields
from sfumato.core.policy import holds
from sfumato.core.protocols import Search
from sfumato.errors import PolicyError
from sfumato.losses import LabelLoss
from sfumato.search.iterated.nodes import LISTED, LabelCosts, LabelGroups, label_loss, next_node, nodes_by_cost, release
from sfumato.search.lattice.checker import Ladders, NodeChecker
from sfumato.search.lattice.optimal import PATIENCE, climb, descend, sweep
from sfumato.search.lattice.state import LISTED as WALKED
from sfumato.search.lattice.state import LatticeState
from sfumato.search.problem import (
    LABELS,
    Partition,
    Problem,
    Solution,
    along_hierarchy,
    by_class,
    judge,
    level_solution,
)

WIDEST = 2 / 3  # of the whole cost; each level below is half as wide
WIDTHS = 5


def as_ranges(problem: Problem, loss: LabelLoss, labels: str) -> Problem:
    """The problem with the columns that print as ranges generalised to intervals of equal cost."""

    def ranges(a: Attribute) -> bool:
        return a.categories.ordered and a.name not in problem.levels and not along_hierarchy(a, labels)

    return replace(
        problem,
        attributes=tuple(_halved(a, loss) if ranges(a) else a for a in problem.attributes),
    )


def _halved(attribute: Attribute, loss: LabelLoss) -> Attribute:
    """The column with intervals that start at its least value, each level about twice as wide as the one below."""
    known = len(attribute.categories) - attribute.categories.missing
    if known < 2:
        return attribute
    code = np.arange(known)
    cost = loss.cost(labels := of_ranges(attribute, np.zeros(known, np.int64), code))[labels.of]
    place = np.maximum.accumulate(cost - cost[0])
    place = place / place[-1] if place[-1] > 0 else code / (known - 1)
    finest = np.floor(place / (WIDEST * 0.5 ** (WIDTHS - 1)) + 1e-9).astype(np.int64)
    levels = [code]
    for halvings in range(WIDTHS):
        number = np.unique(finest >> halvings, return_inverse=True)[1]
        if levels[-1][-1] > number[-1] > 0:  # neither what there is, nor the root
            levels.append(number)
    levels.append(np.zeros(known, np.int64))
    names = [attribute.categories.text[:known], *(tuple(str(i) for i in range(level[-1] + 1)) for level in levels[1:])]
    texts = tuple(tuple(str(text) for text in level) for level in names)
    return replace(attribute, hierarchy=Hierarchy(attribute.name, texts, np.stack(levels).astype(np.int32)))


LONGER = 128  # times the step of the cost, where criteria look at more than sizes
BUDGET = 4_000_000  # cells looked at between two looks at the clock
HURRIED = 64  # nodes that are left when time is up


@dataclass(frozen=True)
class Iterated(Search):
    """Level vectors by rising cost, each for the classes of the remaining rows that satisfy under it (CG_, heuristic).

    A class is released at the lowest cost at which it satisfies the policy; what remains goes on to costlier level
    vectors. `share`: instead, in rounds, the cheapest level vector that keeps at least this share of the remaining
    rows: more loss, but fewer level vectors. `rounds`: how many of them at most; the last one keeps all that is left.
    `labels`: "given" prints ranges where no hierarchy was given, "hierarchy" a learned one's labels there, "ranges"
    ranges wherever there is an order. `seconds`: when time is up, the rest goes through a few level vectors only.
    Rows that are left over at the end join the class that they cost least, or stay out where the policy lets them.
    Never loses more than the best level vector, where the lattice is small enough to list (65,536); of a larger
    one, some chains of level vectors are gone through.
    """

    code: ClassVar[str] = "CG_"
    by_level: ClassVar[bool] = True  # its labels are levels of the hierarchies, so levels bound it
    guarantee: ClassVar[str] = "heuristic"
    share: Annotated[float | None, Real(0, 1, above=True)] = None
    rounds: Annotated[int | None, Whole()] = None
    labels: Annotated[str, OneOf(LABELS)] = "hierarchy"
    seconds: Annotated[float | None, Real(0, 1e9, above=True)] = None

    def __post_init__(self) -> None:
        check_fields(self, "iterated")
        if self.rounds is not None and self.share is None:
            raise PolicyError("iterated: rounds limit a search by share", hint="give share, such as 0.05, too")

    def __call__(self, problem: Problem) -> Solution:
        """Release the cells of the problem, class by class."""
        began = time.perf_counter()
        if len(problem.sets) > 1:
            raise PolicyError(
                "iterated takes one set of quasi-identifiers",
                got=f"{len(problem.sets)} sets",
                hint='give one set, or use search="optimal"',
            )
        searched = by_class(as_ranges(problem, label_loss(problem), self.labels))
        rest = _Rest(searched, LabelCosts.of(searched, problem.attributes), self)
        rest.run(began + self.seconds if self.seconds is not None else math.inf)
        found = _finish(problem, rest) if rest.made else None
        space = lattice(problem.attributes, problem.levels)
        node, checks, in_time = None, rest.looked, not rest.hurried
        if found is None or space.size <= LISTED:
            with workers() as pool:
                walk = LatticeState(problem, space, pool)
                node = _better(walk, found, self)
            checks, in_time = checks + walk.checks, in_time and not walk.timed_out
        if node is None:
            assert found is not None
            return replace(found, checks=checks, seconds=time.perf_counter() - began, reproducible=in_time)
        return level_solution(problem, node, checks, began, reproducible=in_time)


def _finish(problem: Problem, rest: _Rest) -> Solution | None:
    """Place what is left, label the classes, and judge; None where that does not make a release."""
    groups = LabelGroups(rest.problem, rest.space, rest.costs, rest.class_of_cell)
    if rest.left:
        groups.place_rest(rest.by_size)
    labels = groups.labels(problem.attributes)
    kept, verdict, _ = judge(
        problem, [(labels[a.name], labels[a.name].of[groups.class_of_cell]) for a in problem.attributes]
    )
    if not verdict.satisfied or groups.gone_for_good(~kept):
        return None
    return Solution(Partition(groups.class_of_cell, labels), verdict, kept, False, 0, 0.0)


def _better(walk: LatticeState, found: Solution | None, search: Iterated) -> tuple[int, ...] | None:
    """The level vector that loses less than what was found, or as much; the best one where nothing was found."""
    if found is None:
        walk.stop_after(search.seconds, None)
        descend(walk)
    else:  # only those that may lose less are looked at; a range, which says more, is kept at a tie
        height = -1 if search.labels != "hierarchy" else int(walk.tops.sum()) + 1
        walk.best = (found.verdict.loss, height, (), found.verdict.suppressed)
    finished = sweep(walk) if walk.lattice.size <= WALKED else climb(walk, search.seconds or PATIENCE)
    if walk.best is None:
        raise walk.infeasible(finished)
    return walk.best[2] or None


class _Rest:
    """The cells that are not released yet, in front of arrays that only shrink, and the classes made so far."""

    def __init__(self, problem: Problem, costs: LabelCosts, search: Iterated) -> None:
        self.problem, self.search, self.costs = problem, search, costs
        self.space = lattice(problem.attributes, problem.levels)
        self.nodes = nodes_by_cost(self.space, costs)
        self.source = NodeChecker(Ladders.of(problem.attributes), problem.cells, range(len(problem.attributes)))
        self.map_at, self.map_size = self.source.prepare(self.nodes)
        cells = len(problem.cells)
        self.fused, self.count = self.source.fused.copy(), problem.cells.count.copy()
        self.cell, self.left, self.rows = np.arange(cells), cells, problem.rows
        self.class_of_cell, self.made = np.full(cells, -1, np.int32), 0
        places = max(4 * cells, 16)
        self.scratch = np.empty(cells, np.uint64), np.empty(places, np.int64), np.empty(places, np.uint64)
        self.number, self.mark = np.empty(places, np.int32), np.empty(cells, np.int32)
        self.by_size = problem.policy.by_size
        by_cost = search.share is None
        # classes that are large enough and fail otherwise are found again at each step, so the steps are longer then
        self.step = costs.step * (1 if self.by_size else LONGER) if by_cost else 0.0
        self.pending = np.zeros(len(self.nodes), np.int64)
        if by_cost:
            self.pending[:] = costs.of_nodes(costs.least, self.nodes) / self.step
        self.most = np.full(len(self.nodes), problem.rows)
        self.looked, self.hurried = 0, False

    def run(self, deadline: float) -> None:
        """Release classes until no node has any that satisfies."""
        due = first = rounds = 0
        closing = self.search.share is None  # the end of rounds: any class that satisfies
        while self.left:
            if not self.hurried and time.perf_counter() > deadline:
                self.hurried = True
                self._thin()
                due = first = 0
            need = 1 if closing else self._need(rounds)
            due, b, classes, looked = self._look(due, first, need)
            self.looked += looked
            if b == len(self.nodes):
                if closing:
                    return
                closing, first, self.most[:] = True, 0, self.rows
            elif not classes:  # the budget is spent
                first = b
            elif self._release(b, classes, need) and not closing:
                first, rounds = 0, rounds + 1
            else:
                first = b + 1
            self.problem.progress("releasing classes", 1 - self.rows / self.problem.rows)

    def _need(self, rounds: int) -> int:
        """How many rows the next round must keep."""
        if self.search.rounds is not None and rounds >= self.search.rounds - 1:
            return max(1, self.rows - self.problem.limit)
        return max(1, math.ceil((self.search.share or 0.0) * self.rows))

    def _look(self, due: int, first: int, need: int) -> tuple[int, int, int, int]:
        """The next node that has classes to release."""
        due, b, classes, looked = next_node(
            self.fused, self.count, self.cell, self.left, self.source.maps, self.map_at, self.map_size, self.nodes,
            self.problem.cells.codes, self.costs.flat, self.costs.at, self.problem.policy.least_size, need, self.step,
            self.pending, self.most, due, first, BUDGET, *self.scratch, self.number, self.mark,
        )  # fmt: skip
        return int(due), int(b), int(classes), int(looked)

    def _release(self, b: int, classes: int, need: int) -> bool:
        """Take out those of the classes found at node b that satisfy, if they have as many rows as needed."""
        mark = self.mark[: self.left]
        good, kept = np.ones(classes, np.bool_), need
        if not self.by_size:
            inside = mark >= 0
            found = classes_of(self.problem.cells.take(self.cell[: self.left][inside]), mark[inside], classes)
            good = holds(self.problem.policy.require, found)
            kept = int(found.size[good].sum())
        if self.step == 0:  # what is left of its classes is too small, or does not satisfy
            self.most[b] = 0 if kept >= need else kept
        if kept < need:
            return False
        name = np.where(good, self.made + np.cumsum(good) - 1, -1)
        self.made += int(good.sum())
        self.left = release(self.fused, self.count, self.cell, self.left, self.mark, name, self.class_of_cell)
        self.rows = int(self.count[: self.left].sum())
        return True

    def _thin(self) -> None:
        """Keep a few of the nodes, evenly by cost, the most general one among them."""
        few = np.unique(np.linspace(0, len(self.nodes) - 1, HURRIED).astype(np.int64))
        self.nodes, self.map_at, self.map_size = self.nodes[few], self.map_at[few], self.map_size[few]
        self.pending, self.most = np.zeros(len(few), np.int64), np.full(len(few), self.rows)
        self.step = 0.0
