"""Subsets: what each set of columns takes to satisfy the policy, as Incognito finds it."""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from sfumato.core.cells import Cells, roll_up
from sfumato.core.compiled import workers
from sfumato.core.keys import first_of
from sfumato.core.lattice import Lattice, Node, lattice
from sfumato.core.policy import check
from sfumato.core.protocols import Criterion, Search
from sfumato.errors import PolicyError
from sfumato.search.events import (
    Event,
    NodeDropped,
    NodeMarked,
    NodeTried,
    ResultFound,
    RowsSuppressed,
    SubsetOpened,
    SubsetsJoined,
)
from sfumato.search.lattice.checker import Ladders, NodeChecker
from sfumato.search.lattice.kernels import group_room, roll, sweep
from sfumato.search.lattice.state import LISTED, LatticeState
from sfumato.search.lattice.traced import named, tell_result, tell_suppressed
from sfumato.search.problem import Problem, Solution, level_solution, refuse_unprunable


@dataclass(frozen=True, eq=False)
class Subset:
    """Some columns and the lattice of their levels; good[levels - least] says which nodes satisfy the policy."""

    columns: tuple[str, ...]
    lattice: Lattice
    good: np.ndarray  # bool, of the lattice's shape
    checks: int

    @property
    def satisfying(self) -> np.ndarray:
        """The level vectors that satisfy, in lexicographic order, int64 [nodes, columns]."""
        return np.argwhere(self.good) + np.array(self.lattice.least, dtype=np.int64)

    @property
    def minimal(self) -> tuple[Node, ...]:
        """Those of which no specialisation satisfies, in lexicographic order."""
        vectors = np.argwhere(minimal_of(self.good)) + np.array(self.lattice.least, dtype=np.int64)
        return tuple(tuple(vector) for vector in vectors.tolist())

    @property
    def safe(self) -> bool:
        """Whether the columns satisfy at their least levels, as a rule without any generalisation."""
        return bool(self.good.flat[0])


@dataclass(frozen=True, eq=False)
class Incognita:
    """What every set of columns takes: small sets first, then in the order of the columns."""

    columns: tuple[str, ...]
    subsets: Mapping[tuple[str, ...], Subset]
    checks: int

    @property
    def whole(self) -> Subset:
        """The set of all columns."""
        return self.subsets[self.columns]

    @property
    def dangerous(self) -> tuple[Subset, ...]:
        """The smallest dangerous combinations: not safe at the least levels, though all that they contain are."""
        found: list[Subset] = []
        for subset in self.subsets.values():
            inside = any(set(smaller.columns) < set(subset.columns) for smaller in found)
            if not subset.safe and not inside:
                found.append(subset)
        return tuple(found)


def minimal_of(good: np.ndarray) -> np.ndarray:
    """Which nodes of an array over a lattice are true while no node with a lower level in one place is.

    Where truth passes on to all generalisations, those are the minimal ones.

    >>> minimal_of(np.array([[False, False, True], [False, True, True]])).astype(int).tolist()
    [[0, 0, 1], [0, 1, 0]]
    """
    least: np.ndarray = good.copy()
    for axis in range(good.ndim):
        after = [slice(None)] * good.ndim
        before = [slice(None)] * good.ndim
        after[axis], before[axis] = slice(1, None), slice(None, -1)
        least[tuple(after)] &= ~good[tuple(before)]
    return least


TRACED = 50_000  # vectors over all subsets whose steps are told
BATCH = 64  # nodes whose loss is measured together
Members = tuple[int, ...]


@dataclass(frozen=True)
class Incognito(Search):
    """The level vector of least loss among all that satisfy, found subset by subset of the columns (AG_TS, exact).

    `incognito(problem)` gives what it finds on the way: every satisfying generalisation of every subset.
    """

    code: ClassVar[str] = "AG_TS"
    guarantee: ClassVar[str] = "exact"
    traces: ClassVar[tuple[type[Event], ...]] = (
        SubsetOpened,
        NodeTried,
        NodeMarked,
        NodeDropped,
        SubsetsJoined,
        ResultFound,
        RowsSuppressed,
    )

    def __call__(self, problem: Problem) -> Solution:
        """Find all satisfying level vectors, then the one that loses least."""
        began = time.perf_counter()
        found = incognito(problem)
        with workers() as pool:
            walk = LatticeState(problem, lattice(problem.attributes, problem.levels), pool)
            if not found.whole.good.any():
                walk.examine(walk.greatest[None, :])
                raise walk.infeasible()
            least_loss(walk, found.whole.satisfying)
        assert walk.best is not None
        loss, _, node, _ = walk.best
        tell_result(problem, node)
        tell_suppressed(problem, node)
        return level_solution(problem, node, found.checks + walk.checks, began, optimal=True, bound=loss)


def incognito(problem: Problem) -> Incognita:
    """For every subset of the quasi-identifiers, the generalisations that satisfy the policy.

    Subsets are taken by size. A candidate is a level vector whose projections to all smaller subsets satisfy (the
    subset property: the paper's join and prune, here an intersection of arrays; its edges are the steps along one
    axis). Candidates are visited specialisations first; one that generalises a satisfying one satisfies (the
    generalisation property), the others are counted, from the frequency set of a node below all candidates of the
    subset (the paper's super-root), rolled up. With several quasi-identifier sets, a subset has to satisfy on what it
    shares with each of them. Criteria closed under merging only are taken where nothing may be suppressed.

    Raises
    ------
    PolicyError: the criteria do not allow pruning, or there are more than 4,194,304 vectors over all subsets.
    """
    refuse_unprunable(problem, "incognito")
    whole = lattice(problem.attributes, problem.levels)
    vectors = math.prod(levels + 1 for levels in whole.shape) - 1
    most = LISTED if problem.trace is None else TRACED
    if vectors > most:
        raise PolicyError(
            "incognito visits every subset of the quasi-identifiers, which are too many here",
            got=f"{vectors} level vectors of {len(whole.shape)} columns and their subsets",
            allowed=f"at most {most}",
            hint='bound the levels, take fewer columns, or use search="optimal"',
        )
    by_size = len(problem.sets) == 1 and problem.policy.by_size
    counting = _BySize(problem) if by_size and problem.trace is None else _ByCriteria(problem)
    good: dict[Members, np.ndarray] = {}
    subsets: list[Subset] = []
    d = len(whole.shape)
    for size in range(1, d + 1):
        wanted = list(itertools.combinations(range(d), size))
        waiting = [_Candidates(whole, members, _joined(whole, members, good)) for members in wanted]
        if problem.trace is not None and size > 1:
            _tell_joined(problem, waiting, good)
        checks = counting.decide(waiting)
        for members, candidates, checked in zip(wanted, waiting, checks, strict=True):
            good[members] = candidates.good
            names = tuple(problem.attributes[m].name for m in members)
            subsets.append(Subset(names, candidates.lattice, candidates.good, checked))
        problem.progress(f"subsets of {size} columns", len(subsets) / (2**d - 1))
    columns = tuple(a.name for a in problem.attributes)
    return Incognita(columns, {s.columns: s for s in subsets}, sum(s.checks for s in subsets))


def _tell_joined(problem: Problem, waiting: list[_Candidates], good: dict[Members, np.ndarray]) -> None:
    """Tell the trace which vectors of the next subsets are dropped, and what is left of each."""
    assert problem.trace is not None
    for candidates in waiting:
        members = candidates.members
        left = set(candidates.number.tolist())
        for number, steps in enumerate(np.ndindex(candidates.lattice.shape)):
            if number in left:
                continue
            axis = next(i for i in range(len(steps)) if not good[_but(members, i)][_but(steps, i)])
            levels = named(problem, np.add(steps, candidates.lattice.least), members)
            problem.trace(NodeDropped(levels, _but(levels, axis)))
    names = [tuple(problem.attributes[m].name for m in candidates.members) for candidates in waiting]
    problem.trace(SubsetsJoined(tuple((of, len(c.number)) for of, c in zip(names, waiting, strict=True))))


def _but(entries: tuple[Any, ...], axis: int) -> tuple[Any, ...]:
    """All entries but one."""
    return entries[:axis] + entries[axis + 1 :]


def least_loss(walk: LatticeState, nodes: np.ndarray) -> None:
    """Measure the loss of satisfying nodes, the most promising first, until none of the rest can be better."""
    places = (nodes - walk.least) @ walk.stride
    open_ = np.ones(len(nodes), np.bool_)
    height = nodes.sum(axis=1)
    while True:
        bounds = walk.bounds(nodes, places)
        rest = np.flatnonzero(open_ & walk.promising(bounds))
        if not len(rest):
            return
        first = rest[np.lexsort((height[rest], bounds[rest]))[:BATCH]]
        walk.examine(nodes[first])
        open_[first] = False
        walk.report("measuring the losses", None)


def _joined(whole: Lattice, members: Members, good: dict[Members, np.ndarray]) -> np.ndarray:
    """The candidates of a subset: vectors whose projections to all subsets with one column less satisfy."""
    found = np.ones(tuple(whole.shape[m] for m in members), np.bool_)
    if len(members) > 1:
        for axis in range(len(members)):
            found &= np.expand_dims(good[_but(members, axis)], axis)
    return found


class _Candidates:
    """The candidates of one subset in the order of visit, as steps above the least levels."""

    def __init__(self, whole: Lattice, members: Members, wanted: np.ndarray) -> None:
        self.members = members
        self.lattice = Lattice(tuple(whole.least[m] for m in members), tuple(whole.greatest[m] for m in members))
        self.good = np.zeros(wanted.shape, np.bool_)
        self.stride = self.lattice.strides
        self.number = np.flatnonzero(wanted)
        self.steps = np.stack(np.unravel_index(self.number, wanted.shape), axis=1)

    def sort(self, axis: int | None) -> None:
        """By the level of one axis, then by height: specialisations come before what generalises them. By height alone
        without an axis."""
        height = self.steps.sum(axis=1)
        order = np.argsort(height, kind="stable") if axis is None else np.lexsort((height, self.steps[:, axis]))
        self.number, self.steps = self.number[order], np.ascontiguousarray(self.steps[order])

    @property
    def levels(self) -> np.ndarray:
        """The level vectors."""
        return self.steps + np.array(self.lattice.least, dtype=np.int64)


class _BySize:
    """Decides candidates by class sizes alone, subsets of one size side by side."""

    def __init__(self, problem: Problem) -> None:
        self.limit, self.least = problem.limit, problem.policy.least_size
        self.source = NodeChecker(Ladders.of(problem.attributes), problem.cells, range(len(problem.attributes)))
        self.fused, self.count = self.source.fused, problem.cells.count
        self.tops = np.array([a.ladder.height for a in problem.attributes])
        self.values = [len(a.categories) for a in problem.attributes]

    def decide(self, waiting: Iterable[_Candidates]) -> list[int]:
        """Fill in `good` of each subset; how many vectors of each were counted."""
        waiting = list(waiting)
        jobs = [self._job(candidates) if len(candidates.number) else None for candidates in waiting]
        roots = [job[0] for job in jobs if job is not None]
        if roots:  # every later candidate generalises this node: its frequency set serves from now on
            at, size = self.source.prepare(np.min(roots, axis=0)[None, :])
            room = group_room(len(self.count))
            self.fused, self.count = roll(self.fused, self.count, self.source.maps, at[0], size[0], *room)

        def run(pair: tuple[_Candidates, tuple[np.ndarray, ...] | None]) -> int:
            candidates, job = pair
            if job is None:
                return 0
            how = self.least, self.limit, candidates.good.ravel()
            return int(sweep(self.fused, self.count, self.source.maps, *job[1:], *how, *group_room(len(self.count))))

        with workers() as pool:
            return list(pool.map(run, zip(waiting, jobs, strict=True)))

    def _job(self, candidates: _Candidates) -> tuple[np.ndarray, ...]:
        """The arrays of the kernel, before them the node that all candidates generalise."""
        members = list(candidates.members)
        axis = int(np.argmax([self.values[m] for m in members]))  # the widest column shrinks a frequency set most
        candidates.sort(axis)
        nodes = np.tile(self.tops, (len(candidates.number), 1))  # a column at its root is as good as dropped
        nodes[:, members] = candidates.levels
        start = np.flatnonzero(np.diff(candidates.steps[:, axis], prepend=-1))
        groups = np.minimum.reduceat(nodes, start, axis=0)
        root = groups.min(axis=0)
        prepare = self.source.prepare
        root_at, root_size = prepare(root[None, :])
        starts = np.append(start, len(nodes))
        which = candidates.number, candidates.steps, candidates.stride
        return root, root_at[0], root_size[0], starts, *prepare(groups), *which, *prepare(nodes)


class _ByCriteria:
    """Decides candidates by any criteria, and for several quasi-identifier sets, one by one: the extended form."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.limit = problem, problem.limit

    def decide(self, waiting: Iterable[_Candidates]) -> list[int]:
        """Fill in `good` of each subset; how many vectors of each were counted."""
        return [self._sweep(candidates) for candidates in waiting]

    def _sweep(self, candidates: _Candidates) -> int:
        members, trace = candidates.members, self.problem.trace
        if trace is not None:
            names = tuple(self.problem.attributes[m].name for m in members)
            trace(SubsetOpened(names, len(candidates.number)))
        if not len(candidates.number):
            return 0
        candidates.sort(0 if trace is None else None)
        good, stride = candidates.good.ravel(), candidates.stride
        levels = candidates.levels
        root = levels.min(axis=0)
        cells, sets = self._project(members, root)
        self.problem.progress("counting subsets", None)
        checks = 0
        for number, steps, node in zip(candidates.number, candidates.steps, levels, strict=True):
            lower = (number - stride)[steps > 0]
            if good[lower].any():
                good[number] = True
                if trace is not None:
                    below = np.add(
                        np.unravel_index(lower[good[lower]][0], candidates.good.shape), candidates.lattice.least
                    )
                    trace(NodeMarked(named(self.problem, node, members), named(self.problem, below, members)))
                continue
            failing = self._failing(cells, sets, members, node)
            good[number] = failing <= self.limit and failing < self.problem.rows
            checks += 1
            if trace is not None:
                told = named(self.problem, node, members), failing, self.limit, bool(good[number])
                trace(NodeTried(*told, None if (node == root).all() else named(self.problem, root, members)))
        return checks

    def _project(self, members: Members, levels: np.ndarray) -> tuple[Cells, dict[Members, list[Criterion]]]:
        """The cells of some columns at given levels, and the quasi-identifier sets as positions among the columns, with
        the criteria of each: sets that share the same of these columns are one."""
        cells, attributes = self.problem.cells, self.problem.attributes
        tables = [attributes[m].ladder.of[level] for m, level in zip(members, levels, strict=True)]
        rolled = roll_up(cells, tables, members)
        first = first_of(rolled.class_of_cell, len(rolled.size))
        histograms = {name: rolled.histogram(name) for name in cells.histograms}
        codes = np.ascontiguousarray(cells.codes[list(members)][:, first])
        shared: dict[Members, list[Criterion]] = {}
        for names, criteria in zip(self.problem.sets, self.problem.policy.criteria, strict=True):
            if places := tuple(i for i, m in enumerate(members) if m in names):
                known = shared.setdefault(places, [])
                known += [c for c in criteria if c not in known]
        return Cells((), codes, rolled.size, (), histograms), shared

    def _failing(self, cells: Cells, sets: dict[Members, list[Criterion]], members: Members, node: np.ndarray) -> int:
        """How many rows are in classes that fail; some more than the limit, where that is known without a look inside
        the classes and nobody is told."""
        of = [self.problem.attributes[m].ladder.of[level] for m, level in zip(members, node, strict=True)]
        groupings = [roll_up(cells, [of[i] for i in places], places) for places in sets]
        for criteria, g in zip(sets.values(), groupings, strict=True):
            least = max((c.least_size for c in criteria), default=1)
            too_small = int(g.size[g.size < least].sum())
            if too_small > self.limit and self.problem.trace is None:
                return too_small
        kept = check(list(sets.values()), cells, groupings)
        return int(cells.count[~kept].sum())
