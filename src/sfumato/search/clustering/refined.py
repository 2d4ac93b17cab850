"""Local search refinement: near classes are taken apart and their rows clustered anew while the loss falls.

The moves are those of large neighbourhood search (Shaw, CP 1998: ruin and recreate), which contain the moves, swaps and
unions of rows between near classes. Where rounds or seconds are given, some that lose more are taken at first, as in
simulated annealing (Schrimpf et al., J. Comput. Phys. 159, 2000), and what lost least of all is kept.
"""

from __future__ import annotations

import math
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np

from sfumato.core.cells import classes_of
from sfumato.core.compiled import workers
from sfumato.core.lattice import lattice
from sfumato.core.parameters import OneOf, Real, Whole, Written, check_fields
from sfumato.core.policy import holds
from sfumato.core.protocols import Search
from sfumato.errors import PolicyError
from sfumato.search.clustering.clusters import (
    LARGEST_TABLE,
    Field,
    boxes,
    class_order,
    dense,
    lay_out,
    mended,
    settled,
    with_rest,
)
from sfumato.search.clustering.k_member import KMember
from sfumato.search.clustering.kernels import blocks
from sfumato.search.clustering.recluster import neighbourhoods, recluster
from sfumato.search.iterated.iterated import Iterated
from sfumato.search.iterated.nodes import LISTED
from sfumato.search.mondrian.mondrian import Mondrian
from sfumato.search.problem import LABELS, Columns, Levels, Partition, Problem, Solution, along_hierarchy, level_columns

NEAR = (2, 3, 4, 6)  # how many clusters join one in a round, round by round
WIDE = (3, 4, 6)  # the same where rounds or seconds are given
HEAT = 0.05  # by what share a neighbourhood may lose more than before, then, at first
COLD = 0.9  # the share of the rounds or seconds after which none may
TRIES = 4  # times that the rows of a neighbourhood are clustered anew in a round
LARGE = 3  # times the least size: larger clusters stay out of the rounds
BLOCK = 2000  # rows that are clustered together where a first search left them
PAIRS = 400_000_000  # rows that are clustered anew times rows of a block, where these are many
LOCAL = 1500  # clusters among which near ones are looked for
WORK = 500_000  # rows times rounds, where neither rounds nor seconds are given
MANY = 40_000  # cells from which on iterated goes in rounds: a tenth of the time for some two percent of the loss
ROUND = 0.01  # of the remaining rows, which each of these rounds keeps
LOOKS = 1_000_000_000  # of cells at nodes, which those rounds go through in a second
FEW = 20_000  # nodes that iterated goes through where criteria look at more than sizes


@dataclass(frozen=True)
class Refined(Search):
    """Improve the classes of another search by clustering near ones anew while the loss falls (CG_, heuristic).

    In a round every class and a few classes near it are taken apart and their rows clustered anew, several times; what
    loses least and satisfies the policy stays. The first of given rounds or seconds may lose a little more than before,
    so as to lose less in the end. Rows that the first search suppressed come back where that loses less. Never
    worse than the first search. With rounds or seconds, `improving` of the solution says how far it still improves:
    by what share of the loss the second half of the rounds lowered it.

    `start`: the search to improve on; without one, the best of k-member in blocks, iterated and, on wide columns,
    Mondrian. `rounds`: how many of them at most. `seconds`: when they end at the latest; with neither, as many
    rounds as take a second or two on Adult. `seed`: of the random numbers. `labels`: "given" prints ranges where no
    hierarchy was given, "hierarchy" a learned one's labels there, "ranges" ranges wherever there is an order.
    """

    code: ClassVar[str] = "CG_"
    guarantee: ClassVar[str] = "heuristic"
    splits: ClassVar[bool] = True
    start: Annotated[Any, Written("variant", "searches")] = None
    rounds: Annotated[int | None, Whole()] = None
    seconds: Annotated[float | None, Real(0, 1e9, above=True)] = None
    seed: Annotated[int, Whole(0)] = 0
    labels: Annotated[str, OneOf(LABELS)] = "given"

    def __post_init__(self) -> None:
        check_fields(self, "refined")
        if self.start is not None:
            from sfumato.search import search

            object.__setattr__(self, "start", search(self.start))
            if self.start.wildcard:
                raise PolicyError(
                    "refined cannot improve on the wildcard rule, under which classes overlap",
                    hint='start from minimal-suppression with rule="value"',
                )

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns that the first search looks at."""
        return () if self.start is None else tuple(self.start.needs)

    def _starts(self, problem: Problem) -> list[Any]:
        """The searches to improve on: the one given, or a few, of which the best is taken."""
        if self.start is not None:
            return [self.start]
        by_tree = self.labels == "hierarchy"  # boxes are then wider than what k-member looks at
        starts: list[Any] = [] if by_tree else [KMember(2000, self.labels)]
        compared = any(c.uses_overall_distribution for c in problem.policy.require)
        by_size = not any(c.needs for c in problem.policy.require)  # else each node is looked at once more per class
        many = len(problem.cells) > MANY
        most = min(LISTED if by_size else FEW, LOOKS * (4 if by_tree else 1) // len(problem.cells) if many else LISTED)
        listed = not compared and lattice(problem.attributes, problem.levels).size <= most
        if listed:
            starts.append(Iterated(ROUND if many else None, labels=self.labels))
        wide = any(len(a.categories) > LARGEST_TABLE and a.hierarchy is None for a in problem.attributes)
        apart = any(c.monotonicity == "none" for c in problem.policy.require)  # classes of cuts that print alike
        labels = "ranges" if apart and by_tree else self.labels
        if not by_size and not many:  # what clusters lose to satisfy a criterion of values, cuts need not
            starts.append(Mondrian(cut="best", dimension="ncp", labels=labels))
        elif wide or not listed:  # where levels are too coarse or too many, cuts are better
            starts.append(Mondrian(labels=labels))
        return starts

    def __call__(self, problem: Problem) -> Solution:
        """Search, then refine."""
        began = time.perf_counter()
        field = lay_out(problem, "refined", self.labels)
        firsts = [start(problem) for start in self._starts(problem)]
        of = min((_opening(field, problem, first) for first in firsts), key=lambda of: _cost(field, of))
        rounds = self.rounds
        if rounds is None and self.seconds is None:
            rounds = int(np.clip(WORK // (len(of) * max(1, field.least // 25)), 2, 100))
        checks = done = 0
        watched = self.rounds is not None or self.seconds is not None
        costs: list[float] = []
        best, least, near, heat = of, np.inf, WIDE if watched else NEAR, 0.0
        with workers() as pool:
            while rounds is None or done < rounds:
                spent = time.perf_counter() - began
                if self.seconds is not None and spent > self.seconds:
                    break
                share = max(done / rounds if rounds else 0.0, spent / self.seconds if self.seconds else 0.0)
                problem.report("refining", share, _mean(field, least))
                if watched:
                    heat = HEAT * max(0.0, 1 - share / COLD) ** 2
                before = of
                of, cost, tried = _round(field, of, self.seed * 1_000_003 + done, near[done % len(near)], heat, pool)
                best, least = (before, cost) if cost < least else (best, least)
                costs.append(least)
                checks += tried
                done += 1
                if tried == 0:
                    break
        costs.append(min(cost := _cost(field, of), least))
        best = of if cost <= least else best
        cut = self.seconds is not None and (rounds is None or done < rounds)
        same = not cut and all(first.reproducible for first in firsts)
        found = replace(
            settled(field, best, began, checks, reproducible=same), improving=_improving(costs) if watched else None
        )
        for first in firsts:  # a loss that boxes do not measure may have been lower before
            if first.verdict.satisfied and first.verdict.loss < found.verdict.loss and self._prints(first.recoding):
                found = replace(first, checks=checks, seconds=found.seconds, reproducible=same, choice=None)
        return found

    def _prints(self, recoding: Levels | Columns | Partition) -> bool:
        """Whether a recoding prints its labels as asked."""
        if isinstance(recoding, Levels):
            return True
        wanted = (labels for labels in recoding.labels.values() if along_hierarchy(labels.attribute, self.labels))
        return all(labels.fixed_level is not None for labels in wanted)


def _opening(field: Field, problem: Problem, first: Solution) -> np.ndarray:
    """The clusters that a first solution gives to start from. No round would ever look at large classes: those that
    lose anything, or more than half of all, are clustered anew where that costs less."""
    of = mended(field, with_rest(field, _classes(field, problem, first), BLOCK))
    size = np.bincount(of, weights=field.problem.cells.count)
    cost = field.space.costs(*boxes(field.points, of))
    large = (size > LARGE * field.least) & (cost > 0)
    found, tried = [of], 2 * len(of) + 1
    for some in (large, large & (cost > cost.max() / 2)):
        apart = some[of] & ~field.whole
        if 0 < apart.sum() < tried / 2:
            tried = int(apart.sum())
            block = int(np.clip(PAIRS // tried, BLOCK // 4, BLOCK))
            found.append(mended(field, with_rest(field, np.where(apart, -1, of), block)))
    return min(found, key=lambda of: _cost(field, of))


def _cost(field: Field, of: np.ndarray) -> float:
    """What all rows lose in their boxes."""
    rows = np.bincount(of, weights=field.problem.cells.count)
    return float((field.space.costs(*boxes(field.points, of)) * rows).sum())


def _mean(field: Field, cost: float) -> float | None:
    """The loss that a cost of all rows comes to; None where the loss is made of it in another way."""
    loss = field.problem.policy.loss
    aggregate = getattr(loss, "aggregate", None)
    if not math.isfinite(cost) or aggregate not in ("mean", "sum"):
        return None
    weight = sum(loss.weight(a) for a in field.problem.attributes) if aggregate == "mean" else 1.0
    return cost / field.problem.rows / weight if weight else None


def _improving(costs: list[float]) -> float | None:
    """By what share of itself the cost fell in the second half of the rounds; None where there were too few."""
    if len(costs) < 3 or costs[-1] <= 0:
        return None
    return costs[len(costs) // 2] / costs[-1] - 1


def _round(
    field: Field, of: np.ndarray, seed: int, near: int, heat: float, pool: ThreadPoolExecutor
) -> tuple[np.ndarray, float, int]:
    """One round: the clusters, what all rows lost before, and how many neighbourhoods were clustered anew; with `heat`
    they may lose more."""
    space, least = field.space.arrays, field.least
    clusters = int(of.max()) + 1
    count = field.problem.cells.count
    lo, hi = boxes(field.points, of)
    size = np.bincount(of, weights=count, minlength=clusters).astype(np.int64)
    each = field.space.costs(lo, hi)
    total = float((each * size).sum())
    size[of[field.whole]] = 1 << 40  # equal rows that are a class of their own stay so
    order, bounds = blocks(lo, hi, LOCAL, 1.0, seed, *space)
    pools = np.full(clusters, -1)

    def gather(block: int) -> int:
        rules = near, LARGE * least, 0.1, seed
        members = order[bounds[block] : bounds[block + 1]]
        return neighbourhoods(lo, hi, size, members, block, *rules, pools, *space)

    made = np.array(list(pool.map(gather, range(len(bounds) - 1))))
    if not made.sum():
        return of, total, 0
    block_of = np.empty(clusters, np.int64)
    block_of[order] = np.repeat(np.arange(len(made)), np.diff(bounds))
    number = np.where(pools >= 0, pools + (np.cumsum(made) - made)[block_of], -1)
    cost = np.bincount(number + 1, weights=each * size * (number >= 0), minlength=made.sum() + 1)[1:]
    of_point = number[of]
    inside = np.flatnonzero(of_point >= 0)
    inside = inside[class_order(of_point[inside])]
    starts = np.searchsorted(of_point[inside], np.arange(made.sum() + 1))
    found, gain = np.full(len(inside), -1), np.zeros(made.sum())

    def again(part: slice) -> None:
        first, last = starts[part.start], starts[part.stop]
        some = inside[first:last], starts[part.start : part.stop + 1] - first, cost[part] * (1 + heat)
        rules = least, TRIES, seed + part.start
        recluster(field.points, *some, *rules, field.kind, field.cap, found[first:last], gain[part], *space)

    ends = np.linspace(0, made.sum(), 1 + min(8, int(made.sum()))).astype(int)
    list(pool.map(again, [slice(a, b) for a, b in pairwise(ends.tolist())]))
    better = gain > 0
    return _accepted(field, of, inside, of_point[inside], found, better), total, int(made.sum())


def _accepted(
    field: Field, of: np.ndarray, inside: np.ndarray, pool: np.ndarray, found: np.ndarray, better: np.ndarray
) -> np.ndarray:
    """The clusters with those neighbourhoods anew that are better and satisfy the policy."""
    change = better[pool]
    width = int(found.max(initial=0)) + 1
    anew = of.copy()
    anew[inside[change]] = int(of.max()) + 1 + pool[change] * width + found[change]
    anew = dense(anew)
    if field.by_size:
        return anew
    classes = classes_of(field.problem.cells, anew.astype(np.int32), int(anew.max()) + 1)
    failing = ~holds(field.problem.policy.require, classes)
    if not failing.any():
        return anew
    better = better.copy()
    better[pool[change & failing[anew[inside]]]] = False
    return _accepted(field, of, inside, pool, found, better)


def _classes(field: Field, problem: Problem, solution: Solution) -> np.ndarray:
    """The class of each point under the solution of another search; -1 for suppressed rows and for large cells.

    A large cell leaves its class where enough rows remain there, or none.
    """
    recoding, cells = solution.recoding, problem.cells
    if isinstance(recoding, Partition) and recoding.split is not None:
        rows, of = recoding.split.count, recoding.class_of_cell.astype(np.int64)
    else:
        rows, of = cells.count, _of_cell(problem, recoding)
    of = np.where(solution.kept, of, -1)
    by_row = np.repeat(of, rows)  # in cell order, as the points of the field are
    own = field.problem.cells.count
    first = np.cumsum(own) - own
    points = by_row[first]
    whole = field.whole
    size = np.bincount(by_row[by_row >= 0], minlength=int(of.max(initial=0)) + 1)
    inside = points[whole & (points >= 0)], own[whole & (points >= 0)]
    rest = size - np.bincount(inside[0], weights=inside[1], minlength=len(size)).astype(np.int64)
    leaves = (rest == 0) | (rest >= field.least)
    return np.where(whole & (points >= 0) & leaves[points], -1, points)


def _of_cell(problem: Problem, recoding: Levels | Columns | Partition) -> np.ndarray:
    """The class of each cell: cells with equal labels."""
    if isinstance(recoding, Partition):
        return recoding.class_of_cell.astype(np.int64)
    if isinstance(recoding, Levels):
        columns = level_columns(problem, [recoding.levels[a.name] for a in problem.attributes])
        labels = np.stack([label for _, label in columns])
    else:
        codes = problem.cells.codes
        labels = np.stack([recoding.labels[a.name].of[codes[i]] for i, a in enumerate(problem.attributes)])
    return np.unique(labels, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)
