"""Tuple suppression: the rows of violating classes go, nothing is generalised. Ciriani et al., k-Anonymity, 2007."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from sfumato.core.compiled import workers
from sfumato.core.lattice import lattice
from sfumato.core.parameters import Real, check_fields
from sfumato.core.policy import TOLERANCE, table_criteria
from sfumato.core.protocols import Search
from sfumato.errors import Infeasible, PolicyError
from sfumato.search.lattice.state import Descent
from sfumato.search.problem import Levels, Problem, Solution, judge, level_columns, level_solution, nothing_found


@dataclass(frozen=True)
class TupleSuppression(Search):
    """Suppress the rows whose class violates the policy, and leave all values as they are (_TS, exact).

    Where every criterion is closed under supersets (k-anonymity, distinct l-diversity) no part of a violating class
    could stay, so this is the only solution with the fewest rows suppressed; with several quasi-identifier sets it is
    the fixpoint. Of other criteria, whole classes stay or go, the smallest first where one is about the whole table.
    """

    code: ClassVar[str] = "_TS"
    guarantee: ClassVar[str] = "exact"
    counts_labels: ClassVar[bool] = True

    def __call__(self, problem: Problem) -> Solution:
        """Judge the table as it is."""
        began = time.perf_counter()
        for name, (least, _) in problem.levels.items():
            if least > 0:
                raise PolicyError(
                    f'tuple-suppression generalises nothing, but "{name}" must be',
                    got=f"a least level of {least}",
                    hint="leave levels out, or use another search",
                )
        nothing = [0] * len(problem.attributes)
        kept, verdict, _ = judge(problem, level_columns(problem, nothing))
        if not verdict.satisfied:
            raise Infeasible(
                "suppressing rows alone takes more rows than allowed",
                got=f"{verdict.suppressed} of {problem.rows} rows in classes that violate the policy",
                allowed=f"at most {min(problem.limit, problem.rows - 1)}",
                hint="allow more suppression, ask for less, or use a search that generalises",
                closest={"suppressed": verdict.suppressed},
            )
        require = problem.policy.require
        exact = len(problem.sets) == 1 or all(c.monotonicity == "superset" for c in require)
        exact &= not table_criteria(require)  # other classes might go at less loss
        seconds = time.perf_counter() - began
        levels = Levels(dict.fromkeys((a.name for a in problem.attributes), 0))
        bound = verdict.loss if exact else None
        return Solution(levels, verdict, kept, exact, 1, seconds, bound=bound)


Score = tuple[int, float, int, tuple[int, ...]]  # columns dropped, loss, height, levels


@dataclass(frozen=True)
class AttributeSuppression(Search):
    """Drop the fewest columns, each as a whole, so that the policy holds; the others stay as they are (_AS, exact).

    Among sets of as few columns, that of least loss. A dropped column prints the root of its hierarchy in every row.
    The sets of kept columns grow one by one: where a set violates the policy so does every larger one (for criteria
    closed under supersets at any limit of suppression, for those closed under merging where nothing may be suppressed,
    for others by the class size that they imply), and a set that cannot grow to the size of the best is left.
    A limited search gives the best so far, and does not call it optimal.

    `seconds`: when the search ends at the latest.
    """

    code: ClassVar[str] = "_AS"
    guarantee: ClassVar[str] = "exact"
    counts_labels: ClassVar[bool] = True
    seconds: Annotated[float | None, Real(0, 1e9, above=True)] = None

    def __post_init__(self) -> None:
        check_fields(self, "attribute-suppression")

    def __call__(self, problem: Problem) -> Solution:
        """Search the sets of columns."""
        began = time.perf_counter()
        node, free = _choices(problem)
        with workers() as pool:
            walk = Descent(problem, lattice(problem.attributes, {}), pool)
            walk.stop_after(self.seconds, None)
            sets = _Sets(walk)
            sets.search(node, free)
        if sets.best is None:
            raise _unsolved(problem, walk)
        chosen = sets.best[-1]
        in_time = not walk.timed_out
        return level_solution(problem, chosen, walk.checks, began, in_time, in_time)


def _choices(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    """The node with every column dropped that may be, and the columns that may be dropped or kept."""
    node, free = [], []
    for i, attribute in enumerate(problem.attributes):
        top = attribute.ladder.height
        least, greatest = problem.levels.get(attribute.name, (0, top))
        if least > 0 and greatest < top:
            raise PolicyError(
                f'attribute-suppression keeps "{attribute.name}" or drops it, and its levels allow neither',
                got=(least, greatest),
                allowed=f"0 to keep it, {top} to drop it",
            )
        node.append(top if greatest == top else 0)
        if least == 0 and greatest == top > 0:
            free.append(i)
    few_values_first = sorted(free, key=lambda i: (len(problem.attributes[i].categories), i))
    return np.array(node, dtype=np.int64), np.array(few_values_first, dtype=np.int64)


class _Sets:
    """The sets of kept columns that were looked at, and the best of them."""

    def __init__(self, walk: Descent) -> None:
        self.walk = walk
        self.tops = np.array([a.ladder.height for a in walk.attributes])
        self.best: Score | None = None

    def search(self, node: np.ndarray, free: np.ndarray) -> None:
        """Look at the set with nothing of `free` kept, and grow it."""
        _, found, worth = self.walk.below(node, np.zeros(1, np.int64), node[:1])
        if found.good[0]:
            self._offer(node, float(found.loss[0]))
        if worth[0] and len(free):
            self._grow(node, free, 0.0, 1.0)

    def _grow(self, node: np.ndarray, free: np.ndarray, done: float, share: float) -> None:
        """Keep one more column, each of `free` in turn; later columns only, so that each set is met once."""
        nodes, found, worth = self.walk.below(node, free, np.zeros(len(free), np.int64))
        for b in np.flatnonzero(found.good):
            self._offer(nodes[b], float(found.loss[b]))
        nodes, free = nodes[worth], free[worth]
        for i, larger in enumerate(nodes):
            part = share / len(nodes)
            self.walk.problem.progress("choosing columns", done + i * part)
            most = larger.copy()
            most[free[i + 1 :]] = 0
            if self.walk.over():
                return
            if i + 1 < len(free) and not self._hopeless(most):
                self._grow(larger, free[i + 1 :], done + i * part, part)

    def _dropped(self, node: np.ndarray) -> int:
        return int(((node == self.tops) & (self.tops > 0)).sum())

    def _hopeless(self, most: np.ndarray) -> bool:
        """Whether no set within `most` can be better than the best: too many columns, or as many at more loss."""
        if self.best is None or self._dropped(most) != self.best[0]:
            return self.best is not None and self._dropped(most) > self.best[0]
        bound = float(self.walk.bounds(most[None, :])[0])
        tied = bound > self.best[1] - TOLERANCE and (int(most.sum()), tuple(most.tolist())) >= self.best[2:]
        return bound > self.best[1] + TOLERANCE or tied

    def _offer(self, node: np.ndarray, loss: float) -> None:
        """Keep a set if it is better than the best; ties go to the lower, then the lexicographically smaller one."""
        mine = (self._dropped(node), loss, int(node.sum()), tuple(node.tolist()))
        if self.best is None or mine[0] < self.best[0]:
            self.best = mine
        elif mine[0] == self.best[0]:
            tied = abs(loss - self.best[1]) <= TOLERANCE
            if mine[2:] < self.best[2:] if tied else loss < self.best[1]:
                self.best = mine


def _unsolved(problem: Problem, walk: Descent) -> Infeasible:
    """No set of columns will do."""
    suppressed, node = walk.closest or (problem.rows, walk.lattice.greatest)
    dropped = [a.name for a, n in zip(problem.attributes, node, strict=True) if n == a.ladder.height > 0]
    what = "dropping columns does not satisfy the policy"
    if walk.timed_out:
        what = "no set of columns dropped satisfied the policy before the limit"
    hint = "allow more suppression, ask for less, or let more columns be dropped"
    return nothing_found(problem, what, suppressed, hint, dropped=dropped)
