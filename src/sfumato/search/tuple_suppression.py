"""Tuple suppression: the rows of violating classes go, nothing is generalised. Ciriani et al., k-Anonymity, 2007."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

from sfumato.errors import Infeasible, PolicyError
from sfumato.policy import table_criteria
from sfumato.search.problem import Levels, Problem, Solution, judge, level_columns


@dataclass(frozen=True)
class TupleSuppression:
    """Suppress the rows whose class violates the policy, and leave all values as they are (_TS, exact).

    Where every criterion is closed under supersets (k-anonymity, distinct l-diversity) no part of a violating class
    could stay, so this is the only solution with the fewest rows suppressed; with several quasi-identifier sets it is
    the fixpoint. Of other criteria, whole classes stay or go, the smallest first where one is about the whole table.
    """

    code: ClassVar[str] = "_TS"
    guarantee: ClassVar[str] = "exact"

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
        exact = len(problem.sets) == 1 or all(c.closed == "superset" for c in require)
        exact &= not table_criteria(require)  # other classes might go at less loss
        seconds = time.perf_counter() - began
        levels = Levels(dict.fromkeys((a.name for a in problem.attributes), 0))
        bound = verdict.loss if exact else None
        return Solution(levels, verdict, kept, exact, 1, seconds, bound=bound)
