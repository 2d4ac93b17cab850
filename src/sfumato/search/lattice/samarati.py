"""Samarati's binary search on the height of the lattice. Samarati, TKDE 13(6), 2001; Samarati and Sweeney 1998."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from sfumato.core.compiled import workers
from sfumato.core.lattice import Node, lattice
from sfumato.core.parameters import OneOf, check_fields
from sfumato.core.protocols import Search
from sfumato.errors import PolicyError
from sfumato.search.events import (
    DistanceTaken,
    Event,
    FinalCheck,
    HeightAccepted,
    HeightExhausted,
    HeightOpened,
    NodeTried,
    ResultFound,
    RowsSuppressed,
    TuplesCounted,
    WindowSet,
)
from sfumato.search.lattice.checker import Ladders
from sfumato.search.lattice.incognito import minimal_of
from sfumato.search.lattice.kernels import distance_vectors, too_far
from sfumato.search.lattice.minimal import SATISFIED, Satisfies, decide, heights, refuse_large
from sfumato.search.lattice.state import LatticeState
from sfumato.search.lattice.traced import named, tell_check, tell_distances, tell_result, tell_suppressed, tell_tried
from sfumato.search.problem import Problem, Solution, group_labels, level_columns, level_solution, refuse_unprunable

BATCH = 16  # vectors tested together
MOST_PAIRS = 1 << 26  # distances between outliers and cells
METHODS = ("tables", "vectors")
PREFERENCES = ("first", "height", "relative-height", "distinct", "suppressed", "loss")
AMONG = ("height", "minimal")


@dataclass(frozen=True)
class Samarati(Search):
    """A satisfying level vector of least height, by binary search on the height (AG_TS, k-minimal).

    `by`: "tables" counts the classes of each vector tried; "vectors" computes no generalised table: it keeps, for
    each cell smaller than k, its distance vectors to all cells, and counts those within the vector tried (k-anonymity
    only; quadratic in cells: up to 67,108,864 pairs).
    `prefer`: what decides between vectors: "first" in lexicographic order, least "height", least "relative-height" (sum
    of level/height per column), most "distinct" tuples, fewest "suppressed" rows, least "loss"; ties go to the lower,
    then the lexicographically smaller vector.
    `among`: the vectors compared: those of the least "height", or all "minimal" ones, which are then enumerated.
    """

    code: ClassVar[str] = "AG_TS"
    guarantee: ClassVar[str] = "k-minimal"
    by: Annotated[str, OneOf(METHODS)] = "tables"
    prefer: Annotated[str, OneOf(PREFERENCES)] = "first"
    among: Annotated[str, OneOf(AMONG)] = "height"

    def __post_init__(self) -> None:
        check_fields(self, "samarati")

    @property
    def traces(self) -> tuple[type[Event], ...]:
        """The kinds of its events, where it is the search of the paper."""
        if self.among != "height":
            return ()
        decided = NodeTried, HeightAccepted, HeightExhausted, ResultFound, FinalCheck, RowsSuppressed
        if self.by == "vectors":
            return DistanceTaken, WindowSet, HeightOpened, TuplesCounted, *decided
        return WindowSet, HeightOpened, *decided

    def __call__(self, problem: Problem) -> Solution:
        """Search the lattice of the problem."""
        began = time.perf_counter()
        refuse_unprunable(problem, "samarati")
        whole = lattice(problem.attributes, problem.levels)
        refuse_large(whole)
        with workers() as pool:
            walk = LatticeState(problem, whole, pool)
            test: Satisfies = _Vectors(walk) if self.by == "vectors" else _Tables(walk)
            nodes = _minimal(walk, test) if self.among == "minimal" else self._lowest(walk, test)
            if not len(nodes):
                tell_check(problem, walk.greatest.tolist())
                walk.examine(walk.greatest[None, :])
                raise walk.infeasible()
            node = self._preferred(walk, nodes)
        checks = walk.checks + (test.checks if isinstance(test, _Vectors) else 0)
        for tell in (tell_result, tell_check, tell_suppressed):
            tell(problem, node)
        solution = level_solution(problem, node, checks, began)
        return replace(solution, preference=self._preference(problem, node, solution))

    def _preference(self, problem: Problem, node: Node, solution: Solution) -> tuple[float, ...]:
        """What the vector is preferred by over those of other hierarchies."""
        height = [a.ladder.height for a in problem.attributes]
        known = {
            "relative-height": sum(level / max(top, 1) for level, top in zip(node, height, strict=True)),
            "suppressed": solution.verdict.suppressed,
            "loss": solution.verdict.loss,
        }
        key = known.get(self.prefer, 0)
        if self.prefer == "distinct":
            key = -len(group_labels(problem, level_columns(problem, node), range(len(node))).size)
        return (sum(node), key) if self.among == "height" else (key, sum(node))

    def _lowest(self, walk: LatticeState, test: Satisfies) -> np.ndarray:
        """The satisfying vectors of least height; where the preference is for the first, only that."""
        height = heights(walk.lattice).ravel()
        low, high = 0, int(height.max())
        found, trace = np.zeros((0, walk.d), np.int64), walk.problem.trace
        lowest: tuple[float | None, int | None] = (None, None)
        if trace is not None:
            trace(WindowSet(low, high))
        while low < high:
            middle = (low + high) // 2
            here = _at_height(walk, height, middle, test, first=True)
            if len(here):
                found, high, lowest = here, middle, test.first if isinstance(test, _Tables) else lowest
            else:
                low = middle + 1
            walk.problem.report("searching heights", None, *lowest)
            if trace is not None:
                trace(HeightAccepted(middle, named(walk.problem, here[0])) if len(here) else HeightExhausted(middle))
                trace(WindowSet(low, high))
        alone = self.prefer in ("first", "height")
        if len(found) and alone:
            return found
        return _at_height(walk, height, high, test, first=alone)  # also where only the top is left: it is validated

    def _preferred(self, walk: LatticeState, nodes: np.ndarray) -> Node:
        """The vector that is liked best."""
        vectors = [tuple(vector) for vector in nodes.tolist()]
        key = [0.0] * len(vectors)
        if self.prefer == "height":
            key = [float(sum(vector)) for vector in vectors]
        elif self.prefer == "relative-height":
            key = (nodes / np.maximum(walk.tops, 1)).sum(axis=1).tolist()
        elif self.prefer != "first" and len(nodes) > 1:
            walk.in_full = self.prefer == "distinct"
            found = walk.examine(nodes)
            wanted = {"distinct": -found.classes, "suppressed": found.suppressed, "loss": found.loss}
            key = wanted[self.prefer].astype(np.float64).tolist()
        lower = [0 if self.prefer == "first" else sum(vector) for vector in vectors]
        ranked = sorted(zip(key, lower, vectors, strict=True), key=lambda v: (round(v[0], 12), *v[1:]))
        return ranked[0][2]


class _Tables:
    """Decides vectors by counting the classes of the generalised table; `first` has the loss and the suppressed rows of
    the first that satisfied last, where somebody is told."""

    def __init__(self, walk: LatticeState) -> None:
        self.walk = walk
        self.first: tuple[float | None, int | None] = (None, None)

    def __call__(self, steps: np.ndarray) -> np.ndarray:
        good = np.zeros(len(steps), np.bool_)
        open_ = self.walk.floor[steps @ self.walk.stride] <= self.walk.limit  # not below one that suppresses too much
        if open_.any():
            found = self.walk.examine(steps[open_] + self.walk.least)
            good[open_] = found.good
            if self.walk.heard and found.good.any():
                at = int(np.argmax(found.good))
                self.first = float(found.loss[at]), int(found.suppressed[at])
        return good


class _Vectors:
    """Decides vectors by the matrix of distance vectors between outliers and all cells."""

    def __init__(self, walk: LatticeState) -> None:
        cells, self.limit, self.k, self.rows = walk.problem.cells, walk.limit, walk.policy.least_size, walk.rows
        if not walk.by_size:
            raise PolicyError(
                'samarati: by "vectors" counts rows at a distance',
                got=", ".join(c.model for c in walk.policy.require) + f" on {len(walk.problem.sets)} sets",
                allowed="k-anonymity on one quasi-identifier set",
                hint='use by="tables"',
            )
        outliers = np.flatnonzero(cells.count < self.k)
        if len(outliers) * len(cells) > MOST_PAIRS:
            raise PolicyError(
                'samarati: by "vectors" is quadratic in the cells, which are too many here',
                got=f"{len(outliers)} outliers times {len(cells)} cells",
                allowed=f"at most {MOST_PAIRS} pairs",
                hint='use by="tables"',
            )
        ladders = Ladders.of(walk.attributes)
        where = np.array([at[0] for at in ladders.at])
        self.start, number, self.at_distance = distance_vectors(
            cells.codes, cells.count, outliers, ladders.flat, where, np.array(ladders.values),
            walk.least, walk.greatest, walk.stride, walk.lattice.size,
        )  # fmt: skip
        self.vectors = np.stack(np.unravel_index(number, walk.lattice.shape), axis=1).astype(np.int16)
        self.own = cells.count[outliers]
        self.checks = 0
        self.tell_counted = tell_distances(walk.problem, outliers, walk.lattice, self.k)

    def __call__(self, steps: np.ndarray) -> np.ndarray:
        suppressed = np.zeros(len(steps), np.int64)
        too_far(
            steps.astype(np.int16), self.start, self.vectors, self.at_distance, self.own, self.k, self.limit, suppressed
        )
        self.checks += len(steps)
        return (suppressed <= self.limit) & (suppressed < self.rows)


def _at_height(walk: LatticeState, height: np.ndarray, wanted: int, test: Satisfies, first: bool) -> np.ndarray:
    """The satisfying vectors of a height in lexicographic order, or the first one only."""
    numbers, trace = np.flatnonzero(height == wanted), walk.problem.trace
    found = [np.zeros((0, walk.d), np.int64)]
    if trace is not None:
        trace(HeightOpened(wanted, len(numbers)))
    batch = BATCH if trace is None else 1
    for at in range(0, len(numbers), batch):
        steps = np.stack(np.unravel_index(numbers[at : at + batch], walk.lattice.shape), axis=1)
        if isinstance(test, _Vectors):
            test.tell_counted(steps + walk.least)
        tell_tried(walk.problem, steps + walk.least)
        good = steps[test(steps)]
        found.append(good + walk.least)
        if first and len(good):
            return found[-1][:1]
    return np.concatenate(found)


def _minimal(walk: LatticeState, test: Satisfies) -> np.ndarray:
    """All k-minimal vectors."""
    good = decide(walk.lattice, test, progress=walk.problem.progress) == SATISFIED
    return np.argwhere(minimal_of(good)) + walk.least
