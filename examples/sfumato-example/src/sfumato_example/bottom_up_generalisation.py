"""Bottom-up generalisation: K. Wang, P. Yu, S. Chakraborty, Bottom-up generalization, ICDM 2004."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

from sfumato import Variant
from sfumato.core.lattice import lattice
from sfumato.core.policy import Verdict
from sfumato.core.protocols import Search
from sfumato.errors import Infeasible
from sfumato.search.problem import Levels, Problem, Solution, judge, level_columns


@dataclass(frozen=True)
class BottomUpGeneralisation(Search):
    """One column one level up, the one that saves most rows per loss, until the policy holds (AG_TS, heuristic).

    From the least levels on, every column is tried one level up. The paper scores a step by the information that it
    loses per anonymity that it gains; here these are the loss of the policy and the rows that need not be suppressed.
    """

    code: ClassVar[str] = "AG_TS"
    guarantee: ClassVar[str] = "heuristic"

    def __call__(self, problem: Problem) -> Solution:
        """Go up until the policy holds."""
        began, checks = time.perf_counter(), 1
        space = lattice(problem.attributes, problem.levels)
        node = tuple(space.least)
        kept, verdict, _ = judge(problem, level_columns(problem, node))
        while not verdict.satisfied:
            above = [_up(node, i) for i, top in enumerate(space.greatest) if node[i] < top]
            if not above:
                what = "the greatest levels do not satisfy the policy"
                raise Infeasible(what, got=f"{verdict.suppressed} rows to suppress", allowed=f"{problem.limit}")
            checks += len(above)
            problem.progress("generalising", sum(node) / max(1, sum(space.greatest)))
            tried = [(judge(problem, level_columns(problem, one)), one) for one in above]
            (kept, verdict, _), node = min(tried, key=lambda one: (-_gain(verdict, one[0][1]), one[1]))
        levels = {a.name: level for a, level in zip(problem.attributes, node, strict=True)}
        return Solution(Levels(levels), verdict, kept, False, checks, time.perf_counter() - began)


def _up(node: tuple[int, ...], i: int) -> tuple[int, ...]:
    return (*node[:i], node[i] + 1, *node[i + 1 :])


def _gain(before: Verdict, after: Verdict) -> float:
    """The rows saved per loss of a step."""
    return (before.suppressed - after.suppressed) / max(after.loss - before.loss, 1e-9)


VARIANT = Variant(BottomUpGeneralisation, example=BottomUpGeneralisation(), cite="Wang, Yu and Chakraborty 2004")
