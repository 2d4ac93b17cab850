"""Bottom-up generalisation: K. Wang, P. Yu, S. Chakraborty, Bottom-up generalization, ICDM 2004."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

from sfumato import Variant
from sfumato.core.lattice import lattice
from sfumato.core.policy import Verdict
from sfumato.core.protocols import Search
from sfumato.search.problem import GENERALISE, Problem, Solution, judge, level_columns, level_solution, nothing_found


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
        verdict = _verdict(problem, node)
        while not verdict.satisfied:
            above = [_up(node, i) for i, top in enumerate(space.greatest) if node[i] < top]
            if not above:
                raise nothing_found(
                    problem, "the greatest levels do not satisfy the policy", verdict.suppressed, GENERALISE
                )
            checks += len(above)
            problem.progress("generalising", sum(node) / max(1, sum(space.greatest)))
            before, verdicts = verdict, {one: _verdict(problem, one) for one in above}
            node = min(above, key=lambda one: (-_gain(before, verdicts[one]), one))
            verdict = verdicts[node]
        return level_solution(problem, node, checks, began)


def _verdict(problem: Problem, node: tuple[int, ...]) -> Verdict:
    return judge(problem, level_columns(problem, node))[1]


def _up(node: tuple[int, ...], i: int) -> tuple[int, ...]:
    return (*node[:i], node[i] + 1, *node[i + 1 :])


def _gain(before: Verdict, after: Verdict) -> float:
    """The rows saved per loss of a step."""
    return (before.suppressed - after.suppressed) / max(after.loss - before.loss, 1e-9)


VARIANT = Variant(BottomUpGeneralisation, example=BottomUpGeneralisation(), cite="Wang, Yu and Chakraborty 2004")
