"""Controlled rounding: L. H. Cox, A constructive procedure for unbiased controlled rounding, JASA 82, 1987;
J.-J. Salazar, Controlled rounding and cell perturbation, Mathematical Programming 105, 2006."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from sfumato.core.parameters import Real, Whole, YesNo
from sfumato.errors import Infeasible
from sfumato.tables.perturbation.model import Perturbation, add_up, in_units, leaf_places, perturbed
from sfumato.tables.perturbation.program import Program, ProgramAnswer, library, solve, sum_matrix
from sfumato.tables.perturbation.rounding import MOST_BASE
from sfumato.tables.protection import ProtectedCells, ProtectionProblem

WHOLE = 1e-6  # how near a solution is to a whole number to be taken for it
ANY = 1e6  # times the least cost, within which any solution is


@dataclass(frozen=True)
class ControlledRounding(Perturbation):
    """Round every cell to a multiple of the base next to it so that all sums are kept, with the least total change.

    base: of whose multiples the published values are. zero_restricted: whether multiples of the base stay; otherwise
    they may move by one base, and where even that is not enough, so may what the others are rounded to. exact: whether
    the least total change is looked for; otherwise inner cells are rounded to a multiple next to them, and totals to
    one as near as was found quickly, which may be further away. seconds: how long to look.
    """

    additive: ClassVar[bool] = True
    base: Annotated[int, Whole(2, MOST_BASE)] = 5
    zero_restricted: Annotated[bool, YesNo()] = True
    exact: Annotated[bool, YesNo()] = True
    seconds: Annotated[float, Real(0, 10**6, above=True)] = 60.0

    def __call__(self, problem: ProtectionProblem) -> ProtectedCells:
        """The rounded cells; Infeasible where an exact rounding does not exist, or was not found in time."""
        base = self.base * 10**problem.table.decimals
        down, rest = np.divmod(in_units(problem.table, problem.value), base)
        if not self.exact:
            return self._rounded(problem, down, rest, *self._near(problem, down, rest, base))
        end = time.monotonic() + self.seconds
        for steps in (0,) if self.zero_restricted else (1, 2):
            left = max(end - time.monotonic(), 0.01)
            program = _program(problem, down, rest, base, steps)
            answer = solve(program, left, problem.report_progress, "rounding so that all sums are kept")
            if answer.x is not None:
                return self._rounded(problem, down, rest, down + _steps(answer.x, len(down)), answer)
            if not answer.infeasible:
                raise Infeasible(
                    f"no rounding to multiples of {self.base} was found in {self.seconds:g} seconds",
                    hint="give it more seconds, or leave exact out for one that is not the best",
                )  # fmt: skip
        what = "with all other multiples left as they are" if self.zero_restricted else "at most two steps away"
        raise Infeasible(
            f"no rounding to multiples of {self.base} keeps all sums, {what}",
            hint="let multiples move (zero_restricted=False)" if self.zero_restricted else "take exact=False",
        )

    def _rounded(
        self,
        problem: ProtectionProblem,
        down: np.ndarray,
        rest: np.ndarray,
        multiple: np.ndarray,
        answer: ProgramAnswer,
    ) -> ProtectedCells:
        base = self.base * 10**problem.table.decimals
        beside = np.where(rest > 0, (multiple == down) | (multiple == down + 1), multiple == down)
        scale = 10.0**-problem.table.decimals
        found, away = multiple * base, base * (1 if self.zero_restricted else 2) - 1
        return perturbed(
            problem, found, (found - away, found + away) if self.exact else None,
            bound=max(answer.bound + float(rest.sum()), 0.0) * scale, optimal=self.exact and answer.optimal,
            reproducible=answer.optimal, facts={"cells_moved_further": int((~beside).sum())},
        )  # fmt: skip

    def _near(
        self, problem: ProtectionProblem, down: np.ndarray, rest: np.ndarray, base: int
    ) -> tuple[np.ndarray, ProgramAnswer]:
        """Multiples of the base that add up: the first rounding to those next to each value that the solver comes upon.

        Where it finds none, each inner cell goes as far up as in the linear program; these shares are rounded along the
        cells so that the sum over each run of them is nearly kept, and totals are added up anew.
        """
        report, dimensions = problem.report_progress, problem.table.dimensions
        program = _program(problem, down, rest, base, 0)
        answer = solve(program, self.seconds * 2 / 3, report, "rounding", gap=ANY)
        if answer.x is not None:
            return down + _steps(answer.x, len(down)), answer
        loose = replace(program, whole=np.zeros_like(program.whole))
        answer = solve(loose, self.seconds / 3, report, "rounding, as a linear program")
        share = rest / base if answer.x is None else answer.x
        share = np.where(np.abs(share - np.rint(share)) < WHOLE, np.rint(share), share)
        places = leaf_places(dimensions)
        inner = (down + share)[places].ravel()
        floor = np.floor(inner)
        run = np.rint(np.cumsum(inner - floor))
        leaves = (floor + np.diff(run, prepend=0.0)).astype(np.int64).reshape(places.shape)
        return add_up(dimensions, leaves), replace(answer, bound=-np.inf)

    def statement(self) -> str:
        """What it guarantees by construction."""
        said = f"Each value is a multiple of {self.base}, and the parts of each total add up to it; "
        if not self.exact:
            return f"{said}inner cells are less than {self.base} away from their true values, totals may be further."
        if not self.zero_restricted:
            return f"{said}each is less than {2 * self.base} away from the true value, which may be 0 where it is not."
        return (
            f"{said}each is less than {self.base} away from the true value, and whoever knows only that finds no true "
            f"value more closely. Whoever knows the method as well may; true multiples of {self.base} are unchanged."
        )


def _program(problem: ProtectionProblem, down: np.ndarray, rest: np.ndarray, base: int, steps: int) -> Program:
    """A column per cell that says whether it goes up; and, if multiples may move, two that count further steps.

    steps: 0 for none, 1 for those of multiples alone, 2 for those of all cells. Multiples are not lowered below 0 where
    nothing can be below 0.
    """
    sparse, cells = library("sparse"), len(down)
    sums = sum_matrix(problem.sums, cells)
    total = -np.rint(sums @ down.astype(np.float64))
    cost, high = (base - 2.0 * rest), (rest > 0).astype(np.float64)
    if steps:
        further = (np.ones(cells) if steps > 1 else (rest == 0)).astype(np.float64)
        lower = further * ((down > 0) | problem.table.negative)
        sums = sparse.hstack([sums, sums, -sums], format="csr")
        cost = np.concatenate([cost, np.full(2 * cells, float(base))])
        high = np.concatenate([high, further, lower])
    cost = cost + 0.0
    return Program(cost, np.zeros(len(cost)), high, np.ones(len(cost), np.bool_), sums, total, total)


def _steps(x: np.ndarray, cells: int) -> np.ndarray:
    """How many multiples above the one below each cell goes."""
    columns = x.reshape(-1, cells).astype(np.int64)
    return np.asarray(columns[0] if len(columns) == 1 else columns[0] + columns[1] - columns[2])
