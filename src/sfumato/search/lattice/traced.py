"""What a search over level vectors tells its trace, and the lattice as `optimal` visits it, one node at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np

from sfumato.core.lattice import Lattice
from sfumato.errors import PolicyError
from sfumato.search.events import (
    BestFound,
    DistanceTaken,
    FinalCheck,
    Levels,
    NodePruned,
    NodeTried,
    ResultFound,
    RowsSuppressed,
    TaggedDown,
    TuplesCounted,
)
from sfumato.search.lattice.state import LatticeState
from sfumato.search.problem import Problem, judge, level_columns, records_of

PAIRS = 10_000  # of records, whose distances are told


def named(problem: Problem, node: Iterable[int], members: Sequence[int] | None = None) -> Levels:
    """A level vector as events name it, of all attributes or of some."""
    names = [problem.attributes[i].name for i in (range(len(problem.attributes)) if members is None else members)]
    return tuple((name, int(level)) for name, level in zip(names, node, strict=True))


def failing_rows(problem: Problem, node: Sequence[int]) -> tuple[int, bool]:
    """How many rows are in classes that fail, and whether that is within the limit: the plain way."""
    _, verdict, _ = judge(problem, level_columns(problem, node))
    return verdict.suppressed, verdict.satisfied


def tell_tried(problem: Problem, nodes: np.ndarray) -> None:
    """Tell the trace of nodes that are tested."""
    if problem.trace is not None:
        for node in nodes:
            failing, satisfied = failing_rows(problem, node)
            problem.trace(NodeTried(named(problem, node), failing, problem.limit, satisfied))


def tell_result(problem: Problem, node: Sequence[int]) -> None:
    """Tell the trace of the node that was decided for."""
    if problem.trace is not None:
        _, verdict, _ = judge(problem, level_columns(problem, node))
        problem.trace(ResultFound(named(problem, node), verdict.loss))


def tell_check(problem: Problem, node: Sequence[int]) -> None:
    """Tell the trace of a last check of that node."""
    if problem.trace is not None:
        _, verdict, found = judge(problem, level_columns(problem, node))
        failing = verdict.suppressed
        check = FinalCheck(named(problem, node), failing, problem.limit, found.kept_classes, verdict.satisfied)
        problem.trace(check)


def tell_suppressed(problem: Problem, node: Sequence[int]) -> None:
    """Tell the trace of the rows that are suppressed, if any are."""
    if problem.trace is not None:
        kept, verdict, _ = judge(problem, level_columns(problem, node))
        if verdict.suppressed:
            records = tuple(r for r, stays in zip(records_of(problem), kept, strict=True) if not stays)
            problem.trace(RowsSuppressed(records, verdict.suppressed))


def tell_distances(problem: Problem, outliers: np.ndarray, whole: Lattice, k: int) -> Callable[[np.ndarray], None]:
    """Tell the trace of the distance vectors between outliers and all cells; what tells it how many rows lie within
    each of some nodes."""
    trace = problem.trace
    if trace is None:
        return lambda nodes: None
    codes, rows, records = problem.cells.codes, problem.cells.count, records_of(problem)
    if len(outliers) * len(records) > PAIRS:
        raise PolicyError(
            "the steps of a search by distance vectors can be shown for few pairs of records only",
            got=f"{len(outliers)} outliers times {len(records)} cells",
            allowed=f"at most {PAIRS} pairs",
            hint='take a part of the rows, or use by="tables"',
        )
    ladders = [a.ladder.of for a in problem.attributes]
    apart: dict[int, list[tuple[np.ndarray, int]]] = {}
    for i in outliers.tolist():
        apart[i] = []
        for j, other in enumerate(records):
            vector = np.array(
                [
                    low + np.argmax(of[low:, codes[c, i]] == of[low:, codes[c, j]])
                    for c, (of, low) in enumerate(zip(ladders, whole.least, strict=True))
                ]
            )
            apart[i].append((vector, int(rows[j])))
            if i != j and (vector <= whole.greatest).all():
                trace(DistanceTaken(records[i], other, named(problem, vector)))

    def tell(nodes: np.ndarray) -> None:
        for node in nodes:
            for i, vectors in apart.items():
                within = sum(rows for vector, rows in vectors if (vector <= node).all())
                trace(TuplesCounted(records[i], named(problem, node), within, k))

    return tell


def visit_lattice(walk: LatticeState) -> None:
    """Visit the lattice as `optimal.search_lattice` does, in the plain way: each node in the light of all before it.

    From the root to the neighbour below that is best by its bound and satisfies, as long as there is one; then every
    node that is still in question, the most general first.
    """
    problem, trace = walk.problem, walk.problem.trace
    assert trace is not None
    nodes = walk.lattice.nodes().astype(np.int64)
    seen = np.zeros(len(nodes), np.bool_)

    def bound(place: int) -> float:
        return float(walk.bounds(nodes[[place]], np.array([place]))[0])

    def open_(place: int) -> bool:
        return not seen[place] and walk.floor[place] <= walk.limit

    def visit(place: int) -> None:
        seen[place] = True
        best, settled = walk.best, seen | (walk.floor > walk.limit)
        walk.examine(nodes[[place]])
        tell_tried(problem, nodes[[place]])
        tagged = ~settled & (walk.floor > walk.limit)
        if tagged.any():
            trace(TaggedDown(named(problem, nodes[place]), tuple(named(problem, node) for node in nodes[tagged])))
        if walk.best is not None and walk.best != best:
            trace(BestFound(named(problem, walk.best[2]), walk.best[0]))

    visit(here := len(nodes) - 1)
    while walk.best is not None:
        before = walk.best
        for lower in sorted((here - walk.stride[nodes[here] > walk.least]).tolist(), key=bound):
            if open_(lower) and walk.promising(np.array([bound(lower)]))[0] and walk.best == before:
                visit(lower)
        if walk.best == before:
            break
        here = int((np.array(walk.best[2]) - walk.least) @ walk.stride)
    reach = np.prod(nodes - walk.least + 1.0, axis=1)
    for place in np.argsort(-reach, kind="stable").tolist():
        if not open_(place):
            continue
        if walk.promising(np.array([bound(place)]))[0]:
            visit(place)
        elif walk.best is not None:
            trace(NodePruned(named(problem, nodes[place]), bound(place), walk.best[0]))
