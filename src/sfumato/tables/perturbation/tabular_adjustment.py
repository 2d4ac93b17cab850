"""Controlled tabular adjustment: R. A. Dandekar, L. H. Cox, Synthetic tabular data: an alternative to complementary
cell suppression, 2002; J. Castro, Minimum-distance controlled perturbation methods, EJOR 171, 2006."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np

from sfumato.core.parameters import Real
from sfumato.core.wording import count
from sfumato.errors import Infeasible
from sfumato.tables.perturbation.model import Perturbation, add_up, in_units, leaf_places, perturbed
from sfumato.tables.perturbation.program import Program, ProgramAnswer, library, solve, sum_matrix
from sfumato.tables.protection import ProtectedCells, ProtectionProblem

WIDER = (1.0, 4.0, 16.0, np.inf)  # times the margin, one after the other, where it is too narrow
LARGEST = 1e6  # that numbers of the program are


@dataclass(frozen=True)
class TabularAdjustment(Perturbation):
    """Move each sensitive cell down or up to its protection level or beyond, and other cells by as little as keeps all
    sums, weighted by their costs.

    Of counts the small sensitive ones become 0, or more than any of them: what is published never is one of these.
    Cells that are empty and safe stay 0. margin: the share of its value that a safe cell moves by at most, and a
    small count by more; 4 or 16 times as much, or any amount, where that is too narrow. seconds: how long to look.
    """

    additive: ClassVar[bool] = True
    margin: Annotated[float, Real(0, 1, above=True)] = 0.1
    seconds: Annotated[float, Real(0, 10**6, above=True)] = 60.0

    def __call__(self, problem: ProtectionProblem) -> ProtectedCells:
        """The adjusted cells; Infeasible where none were found."""
        end, timed_out = time.monotonic() + self.seconds, False
        for times in WIDER:
            goal = _targets(problem, self.margin, times)
            for fixed in (False, True):  # the way of each cell by choice, or by turns where that takes too long
                left = max((end - time.monotonic()) * (0.5 if fixed else 0.7), 0.05)
                program = _program(problem, goal, fixed)
                answer = solve(program, left, problem.report_progress, "adjusting")
                if answer.x is not None:
                    return self._adjusted(problem, goal, program, replace(answer, optimal=answer.optimal and not fixed))
                if answer.infeasible:
                    break
                timed_out = True
        sensitive = count(int(goal.sensitive.sum()), "sensitive cell")
        if timed_out:
            raise Infeasible(f"no adjustment of {sensitive} was found in {self.seconds:g} seconds",
                             hint="give it more seconds")  # fmt: skip
        raise Infeasible(f"{sensitive} cannot be moved to their protection levels so that all sums are kept",
                         hint="count by fewer columns, or round the table")  # fmt: skip

    def _adjusted(
        self, problem: ProtectionProblem, goal: Targets, program: Program, answer: ProgramAnswer
    ) -> ProtectedCells:
        assert answer.x is not None
        cells, dimensions, x = len(goal.units), problem.table.dimensions, answer.x
        if not problem.table.whole:  # once more, each way now fixed: 0.999999 of the way of a large cell is too short
            low, high = program.low.copy(), program.high.copy()
            low[2 * cells :] = high[2 * cells :] = x[2 * cells :]
            fixed = replace(program, low=low, high=high, whole=np.zeros(len(x), np.bool_))
            again = solve(fixed, self.seconds, problem.report_progress, "adjusting")
            x = x if again.x is None else again.x
        moved = goal.units + (x[:cells] - x[cells : 2 * cells]) * goal.step
        places = leaf_places(dimensions)
        found = add_up(dimensions, np.rint(moved[places]).astype(np.int64))
        wrong = goal.sensitive & (found > goal.down) & (found < goal.up)
        if wrong.any():
            raise Infeasible("the adjusted cells are too small for the digits that the table has",
                             hint="publish more digits after the point")  # fmt: skip
        distance = np.abs(found - goal.units) * 10.0**-problem.table.decimals
        proven = answer.optimal and problem.table.whole  # sums are rounded afterwards
        cost = float(problem.cost @ distance)
        return perturbed(
            problem, found, cost=cost, bound=cost if proven else 0.0, optimal=proven, reproducible=answer.optimal,
            facts={"margin": None if np.isinf(goal.margin) else goal.margin},
        )  # fmt: skip

    def statement(self) -> str:
        """What it guarantees by construction."""
        return (
            "Each sensitive value was moved to its protection level or beyond, others by as little as that takes, and "
            "the parts of each total add up to it. Which values were moved, how far and by which margin is not "
            "published: whoever knew all of that could find true values."
        )


@dataclass(frozen=True, eq=False)
class Targets:
    """Where cells may go, in units of the last digit: sensitive ones to `down` or below, or to `up` or above; all from
    `least` to `most`. A way that is closed has -inf or inf."""

    units: np.ndarray
    sensitive: np.ndarray
    down: np.ndarray
    up: np.ndarray
    least: np.ndarray
    most: np.ndarray
    step: float  # of the program, which large numbers lead astray
    margin: float
    slack: np.ndarray  # how much beyond, so that inner cells can be rounded to the last digit afterwards


def small_counts(problem: ProtectionProblem) -> int:
    """The greatest count up to which all cells that are not empty are sensitive."""
    value, primary = problem.value, problem.primary.cells.ravel()
    safe = value[~primary & (value > 0)].min(initial=np.inf)
    return int(value[primary & (value < safe)].max(initial=0))


def _targets(problem: ProtectionProblem, margin: float, times: float) -> Targets:
    """Levels and bounds of all cells; a cell that cannot be below what it is goes up.

    What hidden cells are known to be at least has no say here: all cells are published.
    """
    table, scale = problem.table, 10.0**problem.table.decimals
    units = in_units(table, problem.value).astype(np.float64)
    floor = np.full(len(units), -np.inf if table.negative else 0.0)
    slack = np.zeros(len(units))
    if not table.whole:
        inner = add_up(table.dimensions, np.ones(leaf_places(table.dimensions).shape, np.int64))
        slack = np.where(inner > 1, 0.5 * inner, 0.0)
    need_below = np.minimum(np.ceil(problem.primary.below.ravel() * scale - 1e-6), units - floor)
    need_above = np.ceil(problem.primary.above.ravel() * scale - 1e-6)
    sensitive = problem.primary.cells.ravel() & ((need_below > 0) | (need_above > 0))
    down = np.where(need_below > 0, units - need_below, -np.inf)
    up = np.where(need_above > 0, units + need_above, np.inf)
    size = np.abs(units)
    wide = margin * times if np.isinf(times) else min(margin * times, 1.0)
    shift = np.where(units != 0, size.max(), 0.0) if np.isinf(wide) else np.floor(wide * size)
    if table.whole:
        small = float(small_counts(problem))
        shift = np.where(units > 0, np.maximum(shift, small + 1), 0)
        down = np.where((down > 0) & (down <= small), 0.0, down)
        up = np.where(np.isfinite(up), np.maximum(up, small + 1), up)
        floor = np.where((units > small) & ~sensitive, np.maximum(floor, small + 1), floor)
    step = 1.0 if table.whole else max(1.0, float(size.max()) / LARGEST)
    reach = np.where(np.isfinite(up), up - units, 0), np.where(np.isfinite(down), units - down, 0)
    least = np.where(sensitive, units - np.maximum(shift, 2 * reach[1]) - slack, units - shift)
    most = np.where(sensitive, units + np.maximum(shift, 2 * reach[0]) + slack, units + shift)
    least = np.maximum(least, floor)
    return Targets(units, sensitive, down, up, np.minimum(least, units), most, step, wide, slack)


def _program(problem: ProtectionProblem, goal: Targets, fixed: bool) -> Program:
    """Columns: how far each cell goes up, how far down, and of each sensitive cell whether it goes up.

    fixed: the ways are by turns, from the smallest sensitive cell to the greatest (Dandekar and Cox).
    """
    sparse, cells = library("sparse"), len(goal.units)
    which = np.flatnonzero(goal.sensitive)
    n = len(which)
    rise, fall = (goal.up - goal.units + goal.slack)[which], (goal.units - goal.down + goal.slack)[which]
    most_up, most_down = (goal.most - goal.units) / goal.step, (goal.units - goal.least) / goal.step
    rise, fall = rise / goal.step, fall / goal.step
    can_rise, can_fall = rise <= most_up[which], fall <= most_down[which]
    if not (can_rise | can_fall).all():
        lost = int((~(can_rise | can_fall)).sum())
        what = f"{count(lost, 'sensitive cell')} cannot move to a protection level"
        raise Infeasible(what, hint="ask for less protection")
    rise, fall = np.where(can_rise, rise, 0.0), np.where(can_fall, fall, 0.0)
    low, high = np.where(can_fall, 0.0, 1.0), np.where(can_rise, 1.0, 0.0)
    if fixed:
        turn = np.empty(n)
        turn[np.argsort(goal.units[which], kind="stable")] = np.arange(n) % 2
        low, high = np.where(can_rise & can_fall, turn, low), np.where(can_rise & can_fall, turn, high)
    at, one = np.arange(n), np.ones(n)

    def rows(column: np.ndarray, size: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return np.concatenate([at, at]), np.concatenate([column, 2 * cells + at]), np.concatenate([one, size])

    width = 2 * cells + n
    parts, least, most = [], [], []
    for column, size, low_row, high_row in (
        (which, -rise, np.zeros(n), np.full(n, np.inf)),  # up >= rise z
        (which, -most_up[which], np.full(n, -np.inf), np.zeros(n)),  # up <= most z
        (cells + which, fall, fall, np.full(n, np.inf)),  # down >= fall (1 - z)
        (cells + which, most_down[which], np.full(n, -np.inf), most_down[which]),  # down <= most (1 - z)
    ):
        i, j, number = rows(column, size)
        parts.append(sparse.csr_array((number, (i, j)), shape=(n, width)))
        least.append(low_row)
        most.append(high_row)
    sums = sum_matrix(problem.sums, cells)
    equal = sparse.hstack([sums, -sums, sparse.csr_array((sums.shape[0], n))], format="csr")
    zeros = np.zeros(sums.shape[0])
    whole = np.zeros(width, np.bool_)
    whole[2 * cells :] = True
    if problem.table.whole:  # the totals are whole where inner cells are
        inner_cells = leaf_places(problem.table.dimensions).ravel()
        whole[inner_cells], whole[cells + inner_cells] = True, True
    cost = problem.cost / np.median(problem.cost)
    return Program(
        np.concatenate([cost, cost, np.zeros(n)]), np.concatenate([np.zeros(2 * cells), low]),
        np.concatenate([most_up, most_down, high]), whole, sparse.vstack([equal, *parts], format="csr"),
        np.concatenate([zeros, *least]), np.concatenate([zeros, *most]),
    )  # fmt: skip
