"""A loss that no level vector can be below: the sum of what small groups of attributes lose at least."""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from sfumato.core.cells import roll_up
from sfumato.core.compiled import workers
from sfumato.core.lattice import lattice
from sfumato.core.parameters import Real, Whole, check_fields
from sfumato.core.policy import Policy, class_statistics
from sfumato.core.protocols import Search
from sfumato.criteria import KAnonymity
from sfumato.losses import LabelLoss
from sfumato.search.events import BestFound, Event, NodePruned, NodeTried, ResultFound, RowsSuppressed, TaggedDown
from sfumato.search.lattice.state import LISTED, LatticeState
from sfumato.search.lattice.traced import tell_result, tell_suppressed, visit_lattice
from sfumato.search.lattice.visit import visitor
from sfumato.search.problem import Problem, Solution, level_solution, project

LARGEST = (1 << 8, 1 << 11, 1 << 14, 1 << 17, 1 << 20)  # nodes in the lattice of a group, round by round
CHECKS = 10_000  # per group
SAYS = "bounding the loss"


def group_bound(problem: Problem, seconds: float | None, pool: ThreadPoolExecutor) -> float:
    """A loss that no level vector of the problem can be below; infinite where none satisfies the policy.

    With all attributes outside a group at their root, classes only grow: what the group loses there at least, in
    classes of the size that the criteria imply, it loses in every solution. Groups share no attribute, so their losses
    add up. The groups are searched to their optimum, or to the bound of that search where it is cut. Larger groups
    give a better bound: they grow while there is time.
    """
    if not problem.policy.loss.by_label:
        return _class_bound(problem)
    end = math.inf if seconds is None else time.perf_counter() + seconds
    bound = 0.0
    for largest in LARGEST:
        groups = _groups(problem, largest)
        bound = max(bound, _round(problem, groups, end, pool))
        if time.perf_counter() > end or len(groups) == len(problem.sets):
            break
    return bound


def _round(problem: Problem, groups: list[list[int]], end: float, pool: ThreadPoolExecutor) -> float:
    """The bound by one choice of groups; the time left is shared out evenly."""
    loss, values, weights = problem.policy.loss, [], []
    for number, group in enumerate(groups):
        part = _part(problem, group)
        left = max(end - time.perf_counter(), 0.0) / (len(groups) - number)
        values.append(_least(part, left, pool))
        weights.append(np.array([loss.weight(a) for a in part.attributes]))
    return _joined(loss, np.array(values), weights)


def _groups(problem: Problem, largest: int) -> list[list[int]]:
    """Attributes with many values together, as many as a small lattice allows, each within one set."""
    groups: list[list[int]] = []
    free = set(range(len(problem.attributes)))
    for members in problem.sets:
        size = largest + 1
        for a in sorted(free & set(members), key=lambda a: (-len(problem.attributes[a].categories), a)):
            shape = lattice([problem.attributes[a]], problem.levels).shape[0]
            if size * shape > largest:
                groups.append([])
                size = 1
            groups[-1].append(a)
            size *= shape
            free.discard(a)
    return groups


def _part(problem: Problem, group: list[int]) -> Problem:
    """The problem of a group alone: its cells, and classes of the size that the criteria imply."""
    attributes = tuple(problem.attributes[a] for a in group)
    names = tuple(a.name for a in attributes)
    sets = zip(problem.policy.quasi, problem.policy.least_sizes, strict=True)
    least = max(size for of, size in sets if {*names} <= {*of})
    policy = Policy((names,), (KAnonymity(least),), problem.limit, problem.policy.loss)
    levels = {name: bounds for name, bounds in problem.levels.items() if name in names}
    cells = project(problem.cells, group)
    return Problem(attributes, cells, policy, problem.rows, levels, lambda _, __: problem.progress(SAYS, None))


def _least(problem: Problem, seconds: float, pool: ThreadPoolExecutor) -> float:
    """What the attributes of a small problem lose at least."""
    walk = LatticeState(problem, lattice(problem.attributes, problem.levels), pool)
    walk.stop_after(seconds, CHECKS)
    finished = search_lattice(walk, seconds)
    best = walk.best[0] if walk.best else math.inf
    return best if finished else min(walk.open_bound, best)


def _joined(loss: LabelLoss, values: np.ndarray, weights: list[np.ndarray]) -> float:
    """The losses of the groups as one, by the aggregate of the loss."""
    share = np.array([w.sum() for w in weights])
    whole = share.sum()
    if whole == 0 or not np.isfinite(values).all():
        return 0.0 if whole == 0 else math.inf
    if loss.aggregate == "sum":
        return float(values.sum())
    if loss.aggregate == "maximum":
        heaviest = np.array([w.max() for w in weights])
        return float((values * heaviest).max() / heaviest.max())
    if loss.aggregate == "geometric":
        return float(np.expm1(np.log1p(values) @ share / whole))
    return float(values @ share / whole)


def _class_bound(problem: Problem) -> float:
    """The loss of class sizes at the most special node, with nothing suppressed: merging classes only adds to it."""
    if len(problem.sets) > 1:
        return 0.0
    low = lattice(problem.attributes, problem.levels).least
    tables = [a.ladder.of[level] for a, level in zip(problem.attributes, low, strict=True)]
    size = roll_up(problem.cells, tables, range(len(tables))).size
    everything = class_statistics(problem.policy, size, np.ones(len(size), np.bool_), problem.rows)
    return float(problem.policy.loss.floor(everything))


ASIDE = 2  # wide columns that are tried at their root first
BATCH = 32  # nodes checked together; fixed, so that the result does not depend on the number of cores
WINDOW = 512  # nodes looked at for the next batch
PATIENCE = 60.0  # seconds for a lattice too large to list, where no limit is given


@dataclass(frozen=True)
class Optimal(Search):
    """The level vector of least loss among all that satisfy the policy (AG_TS, exact).

    Nodes are visited from the most general on. A node is passed over where the loss of its labels alone exceeds the
    best found, and where a generalisation of it already suppresses too much: for criteria closed under supersets at any
    limit, for those closed under merging only when nothing may be suppressed. A limited result
    carries the best found and a bound that no solution can be below.

    `seconds`: when the search ends at the latest. `nodes`: how many level vectors are checked at most.
    """

    code: ClassVar[str] = "AG_TS"
    counts_population: ClassVar[bool] = True
    guarantee: ClassVar[str] = "exact"
    counts_labels: ClassVar[bool] = True
    seconds: Annotated[float | None, Real(0, 1e9, above=True)] = None
    nodes: Annotated[int | None, Whole()] = None

    def __post_init__(self) -> None:
        check_fields(self, "optimal")

    @property
    def traces(self) -> tuple[type[Event], ...]:
        """The kinds of its events, where it is not limited."""
        if self.seconds is not None or self.nodes is not None:
            return ()
        return NodeTried, TaggedDown, NodePruned, BestFound, ResultFound, RowsSuppressed

    def __call__(self, problem: Problem) -> Solution:
        """Search the lattice of the problem."""
        began = time.perf_counter()
        with workers() as pool:
            walk = LatticeState(problem, lattice(problem.attributes, problem.levels), pool)
            walk.stop_after(self.seconds, self.nodes)
            finished = search_lattice(walk, self.seconds or PATIENCE)
        if walk.best is None:
            raise walk.infeasible(finished)
        loss, _, node, _ = walk.best
        tell_result(problem, node)
        tell_suppressed(problem, node)
        bound = loss if finished else min(walk.open_bound, loss)
        return level_solution(problem, node, walk.checks, began, finished, not walk.timed_out, bound)


def search_lattice(walk: LatticeState, patience: float) -> bool:
    """Search a lattice, one too large to list for so many seconds; says whether it finished."""
    if walk.problem.trace is not None:
        visit_lattice(walk)
        return True
    if (one_by_one := visitor(walk)) and one_by_one.descend():
        return one_by_one.sweep()
    if walk.examine(walk.greatest[None, :]).good[0]:
        descend(walk)
    return sweep(walk) if walk.lattice.size <= LISTED else climb(walk, patience)


def descend(walk: LatticeState) -> None:
    """A first good node: from the root, lower the level that helps most while the policy holds."""
    here = walk.greatest
    steps = np.eye(walk.d, dtype=np.int64)
    while not walk.over():
        lower = (here - steps)[here > walk.least]
        before = walk.best
        if not len(lower):
            return
        walk.examine(lower[: walk.room(len(lower))])
        if walk.best is None or walk.best == before:
            return
        here = np.array(walk.best[2], dtype=np.int64)
        walk.report("searching the lattice", 0.0)


def sweep(walk: LatticeState) -> bool:
    """Visit every node of the lattice that is still in question, the most general first; says whether it finished."""
    nodes = walk.lattice.nodes().astype(np.int64)
    ahead = np.flatnonzero(walk.promising(walk.bounds(nodes)))
    reach = np.prod(nodes[ahead] - walk.least + 1.0, axis=1)
    order = ahead[np.argsort(-reach, kind="stable")]
    seen = np.zeros(len(nodes), np.bool_)
    at = 0
    while at < len(order):
        window = order[at : at + WINDOW]
        alive = window[~seen[window] & (walk.floor[window] <= walk.limit)]
        alive = alive[walk.promising(walk.bounds(nodes[alive], alive))] if len(alive) else alive
        if not len(alive):
            at += WINDOW
            continue
        if walk.over():
            rest = order[at:]
            rest = rest[~seen[rest] & (walk.floor[rest] <= walk.limit)]
            walk.open_bound = float(walk.bounds(nodes[rest], rest).min())
            return False
        batch = alive[: walk.room(BATCH)]
        if walk.by_size and walk.limit < walk.rows // 2:  # else a look aside costs as much as it saves
            for column in walk.widest[:ASIDE]:
                batch = _without(walk, nodes, seen, batch, int(column))
        if len(batch):
            seen[batch] = True
            walk.examine(nodes[batch[: walk.room(BATCH)]])
        walk.report("searching the lattice", at / len(order))
    return True


def _without(walk: LatticeState, nodes: np.ndarray, seen: np.ndarray, batch: np.ndarray, column: int) -> np.ndarray:
    """What is left of a batch when its nodes were tried with one wide column at its root: that is cheap to check, and
    where it suppresses too much already, so do all nodes below it."""
    top = walk.greatest[column]
    if top != walk.tops[column] or not len(batch):
        return batch
    raised = np.unique(batch + (top - nodes[batch, column]) * walk.stride[column])
    seen[batch] = True  # for now: they are tried as they are
    raised = raised[~seen[raised] & (walk.floor[raised] <= walk.limit)][: walk.room(BATCH)]
    seen[batch] = False
    if len(raised):
        seen[raised] = True
        walk.examine(nodes[raised])
    return batch[walk.floor[batch] <= walk.limit]


def climb(walk: LatticeState, seconds: float) -> bool:
    """A lattice too large to list: visit nodes by rising bound, so that what is left cannot be below the last one."""
    walk.deadline = min(walk.deadline, time.perf_counter() + seconds)
    least = walk.lattice.least
    heap = [(float(walk.bounds(walk.least[None, :])[0]), least, 0)]
    while heap:
        if walk.over():
            walk.open_bound = heap[0][0]
            return False
        bound, node, first = heapq.heappop(heap)
        if not walk.promising(np.array([bound]))[0]:
            return True
        walk.examine(np.array([node], dtype=np.int64))
        walk.report("searching the lattice", None)
        for upper, a in _above(node, first, walk.lattice.greatest):
            heapq.heappush(heap, (float(walk.bounds(np.array([upper]))[0]), upper, a))
    return True


def _above(node: tuple[int, ...], first: int, greatest: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], int]]:
    """The nodes one level up from attribute `first` on: every node is reached in one way only."""
    for a in range(first, len(node)):
        if node[a] < greatest[a]:
            yield (*node[:a], node[a] + 1, *node[a + 1 :]), a
