"""Datafly: generalise the column with most values, then suppress outliers. Sweeney, AMIA 1997; IJUFKS 10(5), 2002."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.core.compiled import workers
from sfumato.core.lattice import lattice
from sfumato.core.protocols import Search
from sfumato.search.events import ColumnGeneralised, Event, RowsLeft, RowsSuppressed
from sfumato.search.lattice.state import LatticeState
from sfumato.search.lattice.traced import failing_rows, named, tell_suppressed
from sfumato.search.problem import Problem, Solution, level_solution

SEARCH_ALL = 'allow more suppression, ask for less, or use search="optimal", which looks at every level vector'


@dataclass(frozen=True)
class Datafly(Search):
    """Generalise the column with the most distinct values until few enough rows are outliers (AG_TS, heuristic).

    From the values up, the column with the most distinct values goes one level up (the first of them where several
    have as many) until the rows of classes that violate the policy are within the limit of suppression; those rows are
    suppressed. The paper stops where at most k rows are left over, whatever the limit: `suppression=k` is its rule.
    Every node is checked in full, so any criteria will do.
    """

    code: ClassVar[str] = "AG_TS"
    guarantee: ClassVar[str] = "heuristic"
    counts_labels: ClassVar[bool] = True
    traces: ClassVar[tuple[type[Event], ...]] = (ColumnGeneralised, RowsLeft, RowsSuppressed)

    def __call__(self, problem: Problem) -> Solution:
        """Climb the lattice of the problem along one path."""
        began = time.perf_counter()
        space = lattice(problem.attributes, problem.levels)
        path = _path(problem, np.array(space.least, dtype=np.int64), np.array(space.greatest, dtype=np.int64))
        with workers() as pool:
            walk = LatticeState(problem, space, pool)
            for step, node in enumerate(path):
                problem.progress("generalising", step / len(path))
                if problem.trace is not None:
                    _tell(problem, path, step)
                if walk.examine(node[None, :]).good[0]:
                    break
            else:
                what = "datafly reached the most general levels, and the policy still does not hold"
                raise walk.infeasible(what=what, hint=SEARCH_ALL)
        tell_suppressed(problem, node.tolist())
        return level_solution(problem, node.tolist(), walk.checks, began)


def _tell(problem: Problem, path: list[np.ndarray], step: int) -> None:
    """Tell the trace which column went up, and what is left to suppress."""
    assert problem.trace is not None
    if step:
        a = int(np.argmax(path[step] > path[step - 1]))
        levels = zip(problem.attributes, path[step - 1], strict=True)
        distinct = tuple((b.name, len(b.ladder.text[level])) for b, level in levels)
        problem.trace(ColumnGeneralised(problem.attributes[a].name, int(path[step][a]), distinct))
    failing = failing_rows(problem, path[step].tolist())[0]
    problem.trace(RowsLeft(named(problem, path[step]), failing, problem.limit))


def _path(problem: Problem, least: np.ndarray, greatest: np.ndarray) -> list[np.ndarray]:
    """The nodes that the algorithm passes: which column is next depends on the levels alone."""
    values = [[len(labels) for labels in a.ladder.text] for a in problem.attributes]
    node, path = least.copy(), [least.copy()]
    while (node < greatest).any():
        distinct = [of[i] if i < top else 0 for of, i, top in zip(values, node, greatest, strict=True)]
        node[int(np.argmax(distinct))] += 1
        path.append(node.copy())
    return path
