"""SPALM: presence on the lattice, bottom-up. Nergiz, Atzori and Clifton, Hiding the presence of individuals, 2007."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.core.compiled import workers
from sfumato.core.lattice import lattice
from sfumato.core.protocols import Search
from sfumato.search.events import BestFound, Event, NodeTried, ResultFound, TaggedUp
from sfumato.search.lattice.minimal import BATCH, SATISFIED, UNKNOWN, VIOLATED, KnownNodes, heights
from sfumato.search.lattice.state import LatticeState
from sfumato.search.lattice.traced import named, tell_tried
from sfumato.search.problem import Problem, Solution, level_solution, refuse_unprunable


@dataclass(frozen=True)
class SPALM(Search):
    """The satisfying level vector of least loss, bottom-up and breadth-first (AG_TS, exact).

    Heights are visited from the least on. A vector that satisfies is not generalised any further: what is above it
    satisfies too, and loses no less where nothing is suppressed. Made for delta-presence, it takes any criterion that
    it can prune by.
    """

    code: ClassVar[str] = "AG_TS"
    guarantee: ClassVar[str] = "exact"
    counts_population: ClassVar[bool] = True
    traces: ClassVar[tuple[type[Event], ...]] = (NodeTried, TaggedUp, BestFound, ResultFound)

    def __call__(self, problem: Problem) -> Solution:
        """Search the lattice of the problem."""
        began = time.perf_counter()
        refuse_unprunable(problem, "spalm")
        with workers() as pool:
            walk = LatticeState(problem, lattice(problem.attributes, problem.levels), pool)
            known = KnownNodes(walk)
            climb(known)
            found = known.minimal()
            if found.best is None:
                raise walk.infeasible()
        if problem.trace is not None:
            best = named(problem, found.best.levels), found.best.loss
            problem.trace(BestFound(*best))
            problem.trace(ResultFound(*best))
        exact = walk.limit == 0  # else a more general vector may suppress less, and lose less
        bound = found.best.loss if exact else None
        return level_solution(problem, found.best.levels, found.checks, began, exact, bound=bound)


def climb(known: KnownNodes) -> None:
    """Check the nodes height by height, those above a satisfying one excepted."""
    walk, tag = known.walk, known.tag
    height = heights(walk.lattice).ravel()
    for level in range(int(height.max()) + 1):
        here = np.flatnonzero((height == level) & (tag.ravel() == UNKNOWN))
        for at in range(0, len(here), BATCH):
            steps = np.stack(np.unravel_index(here[at : at + BATCH], known.shape), axis=1)
            tell_tried(walk.problem, steps + walk.least)
            good = known.check(steps)
            tag.ravel()[here[at : at + BATCH]] = np.where(good, SATISFIED, VIOLATED)
            for step in steps[good]:
                _tag_above(known, step)
        walk.report("climbing the lattice", level / (height.max() + 1))
        if not (tag == UNKNOWN).any():
            return


def _tag_above(known: KnownNodes, step: np.ndarray) -> None:
    """Every generalisation of a satisfying node satisfies."""
    walk, above = known.walk, known.tag[tuple(slice(int(level), None) for level in step)]
    others = np.argwhere(above == UNKNOWN) + step
    above[...] = SATISFIED
    problem = walk.problem
    if problem.trace is not None and len(others):
        problem.trace(
            TaggedUp(named(problem, step + walk.least), tuple(named(problem, o + walk.least) for o in others))
        )
