"""LinearProgram: a linear or 0/1 program that is changed and solved again, by HiGHS through highspy, or else by SciPy.

J. A. J. Hall, Q. Huangfu, Parallelizing the dual revised simplex method, Mathematical Programming Computation 10, 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

import numpy as np

from sfumato.core.progress import check_cancelled, stop_flag
from sfumato.errors import MissingExtra


@dataclass(frozen=True, eq=False)
class Solved:
    """What a solver found: `x` None where it has none; `bound` that no solution costs less than; `dual` of each row of
    a linear program."""

    x: np.ndarray | None
    cost: float
    bound: float
    optimal: bool
    dual: np.ndarray | None = None
    infeasible: bool = False


class LinearProgram(Protocol):
    """Columns x with bounds and costs, and rows low <= A x <= high, the cost to be the least."""

    def add_rows(self, start: np.ndarray, column: np.ndarray, number: np.ndarray, low: np.ndarray,
                 high: np.ndarray) -> None:  # fmt: skip
        """Add rows; row i has the entries start[i]:start[i + 1]."""

    def delete_rows(self, rows: np.ndarray) -> None:
        """Take rows out, by their numbers."""

    def bound(self, low: np.ndarray, high: np.ndarray) -> None:
        """Change the bounds of all columns."""

    def price(self, cost: np.ndarray) -> None:
        """Change the costs of all columns."""

    def solve(self) -> Solved:
        """The cheapest x, as a linear program."""

    def solve_whole(self, seconds: float, gap: float, known: np.ndarray | None) -> Solved:
        """The cheapest x of whole numbers, to within a share of the cost, from a known solution on."""


def linear_program(cost: np.ndarray, low: np.ndarray, high: np.ndarray) -> LinearProgram:
    """A linear program without rows."""
    try:
        highspy = import_module("highspy")
    except ImportError:
        return _ByScipy(cost, low, high)
    return _ByHighs(highspy, cost, low, high)


class _ByHighs:
    """One model of HiGHS, which begins at the basis that it ended at."""

    def __init__(self, highspy: Any, cost: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        self.lib, self.model, self.n = highspy, highspy.Highs(), len(cost)
        self.model.silent()
        exact = {"mip_abs_gap": 1e-7, "mip_feasibility_tolerance": 1e-7}
        for name, value in {"threads": 1, "random_seed": 0, **exact}.items():
            self.model.setOptionValue(name, value)
        self.all = np.arange(self.n, dtype=np.int32)
        self.whole = False
        self.model.addVars(self.n, low, high)
        self.price(cost)

    def add_rows(self, start: np.ndarray, column: np.ndarray, number: np.ndarray, low: np.ndarray,
                 high: np.ndarray) -> None:  # fmt: skip
        self.model.addRows(
            len(low), low.astype(np.float64), high.astype(np.float64), len(column), start[:-1].astype(np.int32),
            column.astype(np.int32), number.astype(np.float64),
        )  # fmt: skip

    def delete_rows(self, rows: np.ndarray) -> None:
        self.model.deleteRows(len(rows), rows.astype(np.int32))

    def bound(self, low: np.ndarray, high: np.ndarray) -> None:
        self.model.changeColsBounds(self.n, self.all, low, high)

    def price(self, cost: np.ndarray) -> None:
        self.model.changeColsCost(self.n, self.all, np.ascontiguousarray(cost, np.float64))

    def _of_kind(self, whole: bool) -> None:
        if whole != self.whole:
            kinds = self.lib.HighsVarType
            kind = kinds.kInteger if whole else kinds.kContinuous
            self.model.changeColsIntegrality(self.n, self.all, np.full(self.n, kind))
            self.whole = whole

    def solve(self) -> Solved:
        check_cancelled()
        self._of_kind(False)
        self.model.setOptionValue("time_limit", float("inf"))
        self.model.run()
        status, kinds = self.model.getModelStatus(), self.lib.HighsModelStatus
        if status != kinds.kOptimal:  # from scratch, where a warm start went astray
            self.model.clearSolver()
            self.model.run()
            status = self.model.getModelStatus()
        if status != kinds.kOptimal:
            return Solved(None, np.inf, -np.inf, False, infeasible=status == kinds.kInfeasible)
        found, cost = self.model.getSolution(), self.model.getInfo().objective_function_value
        return Solved(np.array(found.col_value), cost, cost, True, np.array(found.row_dual))

    def solve_whole(self, seconds: float, gap: float, known: np.ndarray | None) -> Solved:
        check_cancelled()
        self._of_kind(True)
        self.model.setOptionValue("time_limit", max(seconds, 0.01))
        self.model.setOptionValue("mip_rel_gap", gap)
        if known is not None:
            solution = self.lib.HighsSolution()
            solution.col_value = known.astype(np.float64).tolist()
            self.model.setSolution(solution)
        stop = stop_flag()

        def look(event: Any) -> None:
            event.data_in.user_interrupt = bool(stop[0])

        self.model.cbMipInterrupt += look
        try:
            self.model.run()
        finally:
            self.model.cbMipInterrupt -= look
        check_cancelled()
        status, info, kinds = self.model.getModelStatus(), self.model.getInfo(), self.lib.HighsModelStatus
        there = info.primal_solution_status == 2  # feasible
        x = np.rint(np.array(self.model.getSolution().col_value)) if there else None
        cost = info.objective_function_value if there else np.inf
        return Solved(x, cost, info.mip_dual_bound, status == kinds.kOptimal, infeasible=status == kinds.kInfeasible)


class _ByScipy:
    """Rows that are kept here, and solved from the beginning each time by the HiGHS that is within SciPy."""

    def __init__(self, cost: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        try:
            self.optimize, self.sparse = import_module("scipy.optimize"), import_module("scipy.sparse")
        except ImportError:
            raise MissingExtra("scipy", "ml") from None
        self.cost, self.low, self.high = cost, low, high
        self.rows: Any = self.sparse.csr_array((0, len(cost)))
        self.least, self.most = np.zeros(0), np.zeros(0)

    def add_rows(self, start: np.ndarray, column: np.ndarray, number: np.ndarray, low: np.ndarray,
                 high: np.ndarray) -> None:  # fmt: skip
        more = self.sparse.csr_array((number, column, start), (len(low), len(self.cost)))
        self.rows = self.sparse.vstack([self.rows, more], format="csr")
        self.least, self.most = np.append(self.least, low), np.append(self.most, high)

    def delete_rows(self, rows: np.ndarray) -> None:
        stays = np.setdiff1d(np.arange(len(self.least)), rows)
        self.rows, self.least, self.most = self.rows[stays], self.least[stays], self.most[stays]

    def bound(self, low: np.ndarray, high: np.ndarray) -> None:
        self.low, self.high = low, high

    def price(self, cost: np.ndarray) -> None:
        self.cost = cost

    def solve(self) -> Solved:
        check_cancelled()
        equal = self.least == self.most
        rows = self.rows[~equal]
        both = self.sparse.vstack([rows, -rows], format="csr")
        limit = np.append(self.most[~equal], -self.least[~equal])
        useful = np.isfinite(limit)
        found = self.optimize.linprog(
            self.cost, both[useful] if useful.any() else None, limit[useful] if useful.any() else None,
            self.rows[equal] if equal.any() else None, self.most[equal] if equal.any() else None,
            np.stack([self.low, self.high], 1), method="highs",
        )  # fmt: skip
        if found.status != 0:
            return Solved(None, np.inf, -np.inf, False, infeasible=found.status == 2)
        dual = np.zeros(len(equal))
        if equal.any():
            dual[equal] = found.eqlin.marginals
        if useful.any():
            way = np.zeros(len(useful))
            way[useful] = found.ineqlin.marginals
            dual[~equal] = way[: (~equal).sum()] - way[(~equal).sum() :]
        return Solved(found.x, found.fun, found.fun, True, dual)

    def solve_whole(self, seconds: float, gap: float, known: np.ndarray | None) -> Solved:
        check_cancelled()
        found = self.optimize.milp(
            self.cost, integrality=np.ones(len(self.cost)), bounds=self.optimize.Bounds(self.low, self.high),
            constraints=self.optimize.LinearConstraint(self.rows, self.least, self.most) if len(self.least) else None,
            options={"time_limit": max(seconds, 0.01), "mip_rel_gap": gap},
        )  # fmt: skip
        bound = -np.inf if found.mip_dual_bound is None else found.mip_dual_bound
        if found.x is None:
            return Solved(None, np.inf, bound, False, infeasible=found.status == 2)
        return Solved(np.rint(found.x), found.fun, bound, found.status == 0)
