"""OLA, optimal lattice anonymisation. El Emam et al., JAMIA 16(5), 2009."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sfumato.core.compiled import workers
from sfumato.core.lattice import lattice
from sfumato.core.policy import TOLERANCE
from sfumato.core.protocols import Search
from sfumato.search.events import BestFound, Event, NodeTried, ResultFound, RowsSuppressed, TaggedDown, TaggedUp
from sfumato.search.lattice.minimal import SATISFIED, UNKNOWN, VIOLATED, KnownNodes, Minimal, heights
from sfumato.search.lattice.state import LatticeState
from sfumato.search.lattice.traced import named, tell_result, tell_suppressed, tell_tried
from sfumato.search.problem import Problem, Solution, level_solution, refuse_unprunable


@dataclass(frozen=True)
class OLA(Search):
    """The k-minimal level vector of least loss, all k-minimal ones found by bisecting sub-lattices (AG_TS, exact).

    Exact in the paper's sense: for a loss that never falls under generalisation no other vector is better than the best
    k-minimal one. The height is such a loss, and every loss is where nothing may be suppressed. With suppression a more
    general vector may suppress less and lose less; `optimal` of the solution says whether that is ruled out.
    """

    code: ClassVar[str] = "AG_TS"
    counts_population: ClassVar[bool] = True
    guarantee: ClassVar[str] = "exact"
    traces: ClassVar[tuple[type[Event], ...]] = (
        NodeTried,
        TaggedUp,
        TaggedDown,
        BestFound,
        ResultFound,
        RowsSuppressed,
    )

    def __call__(self, problem: Problem) -> Solution:
        """Find the k-minimal vectors and take the best."""
        began = time.perf_counter()
        with workers() as pool:
            walk = _walk(problem, pool)
            found = _search(walk)
            best = found.best
            if best is None:
                raise walk.infeasible()
            bound = best.loss
            if walk.limit:  # else no loss falls under generalisation, and the best minimal vector is the best of all
                good = np.flatnonzero(found.satisfied)
                nodes = np.stack(np.unravel_index(good, walk.lattice.shape), axis=1) + walk.least
                bound = min(float(walk.bounds(nodes, good).min()), best.loss)
        if problem.trace is not None:
            _tell_best(problem, found)
        optimal = best.loss <= bound + TOLERANCE * max(1.0, abs(bound))
        return level_solution(problem, best.levels, found.checks, began, optimal, bound=bound)


def ola(problem: Problem) -> Minimal:
    """All k-minimal generalisations, by the paper's bisection of sub-lattices with predictive tagging."""
    with workers() as pool:
        return _search(_walk(problem, pool))


def _walk(problem: Problem, pool: ThreadPoolExecutor) -> LatticeState:
    refuse_unprunable(problem, "ola")
    return LatticeState(problem, lattice(problem.attributes, problem.levels), pool)


def _search(walk: LatticeState) -> Minimal:
    ledger = KnownNodes(walk)
    bottom, top = np.zeros(walk.d, np.int64), walk.greatest - walk.least
    if _satisfies(ledger, top):  # the paper takes this for granted
        _bisect(ledger, heights(walk.lattice), bottom, top)
    return ledger.minimal()


def _bisect(ledger: KnownNodes, height: np.ndarray, bottom: np.ndarray, top: np.ndarray) -> None:
    """Tag the nodes between two corners, of which the top is known to satisfy: the paper's Kmin.

    Each node half-way up that satisfies leaves the sub-lattice below it to search, each other one that above it. A
    sub-lattice whose nodes are all tagged has nothing left to find.
    """
    box = tuple(map(slice, bottom.tolist(), (top + 1).tolist()))
    tag = ledger.tag[box]
    if tag.all():  # no node is UNKNOWN
        return
    tall = int((top - bottom).sum())
    if tall <= 1:
        _satisfies(ledger, bottom)
        return
    middle = np.argwhere(height[box] == int(bottom.sum()) + tall // 2) + bottom
    ledger.walk.report("bisecting the lattice", None)
    for node in middle:
        if tag.all():
            return
        if _satisfies(ledger, node):
            _bisect(ledger, height, bottom, node)
        else:
            _bisect(ledger, height, node, top)


def _satisfies(ledger: KnownNodes, node: np.ndarray) -> bool:
    """Whether a node satisfies, by its tag or by a check, which tags what is above or below it too."""
    place = tuple(node)
    if ledger.tag[place] == UNKNOWN:
        good = bool(ledger.check(node[None, :])[0])
        box = tuple(slice(level, None) if good else slice(0, level + 1) for level in node)
        if ledger.walk.problem.trace is not None:
            _tell_tagged(ledger, node, box, good)
        ledger.tag[box] = SATISFIED if good else VIOLATED
    return bool(ledger.tag[place] == SATISFIED)


def _tell_tagged(ledger: KnownNodes, node: np.ndarray, box: tuple[slice, ...], good: bool) -> None:
    """Tell the trace of a node that was checked, and of those that it decides."""
    problem, least = ledger.walk.problem, ledger.walk.least
    assert problem.trace is not None
    tell_tried(problem, (node + least)[None, :])
    start = node if good else np.zeros_like(node)
    others = np.argwhere(ledger.tag[box] == UNKNOWN) + start
    tagged = tuple(named(problem, other + least) for other in others if (other != node).any())
    if tagged:
        problem.trace((TaggedUp if good else TaggedDown)(named(problem, node + least), tagged))


def _tell_best(problem: Problem, found: Minimal) -> None:
    """Tell the trace of the k-minimal vectors in turn, each that is better than those before it, and the result."""
    assert problem.trace is not None
    assert found.best is not None
    for i, node in enumerate(found.nodes):
        if replace(found, nodes=found.nodes[: i + 1]).best is node:
            problem.trace(BestFound(named(problem, node.levels), node.loss))
    tell_result(problem, found.best.levels)
    tell_suppressed(problem, found.best.levels)
