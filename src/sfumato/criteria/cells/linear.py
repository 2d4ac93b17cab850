"""Linear and integer programs over the equations of a table, solved by HiGHS: one model, many objectives.

With `highspy` a model is kept and each program starts at the vertex that the last one ended at. Without it each is
solved anew by SciPy, which is slower and gives the same.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from sfumato.criteria.cells.equations import Equations

CLOSE = 1e-7  # how exact the solver is, in the units it is given


class NotDecided(Exception):
    """The solver gave up, by its time limit or for numerical reasons."""


class CellProgram(Protocol):
    """Points that fit equations and bounds, and the extreme ones among them."""

    def extreme(self, cells: np.ndarray, weights: np.ndarray) -> np.ndarray | None:
        """A vertex where a weighted sum of cells is greatest; None where no point fits."""

    def bound(self, cells: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        """Change the bounds of cells."""


def linear_model(equations: Equations, low: np.ndarray, high: np.ndarray) -> CellProgram:
    """A model by highspy where it is installed, else by SciPy."""
    try:
        import highspy  # noqa: F401
    except ImportError:
        return _ScipyModel(equations, low, high)
    return _HighsModel(equations, low, high)


class _HighsModel:
    """A model that is kept by HiGHS, and its last basis with it."""

    def __init__(self, equations: Equations, low: np.ndarray, high: np.ndarray) -> None:
        import highspy

        self._library, self._solver = highspy, highspy.Highs()  # type: ignore[no-untyped-call]
        for name, value in (("output_flag", False), ("threads", 1), ("parallel", "off"), ("solver", "simplex")):
            self._solver.setOptionValue(name, value)
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = len(low), len(equations.right)
        program.col_cost_ = np.zeros(len(low))
        program.col_lower_, program.col_upper_ = low, high
        program.row_lower_ = program.row_upper_ = equations.right
        program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        program.a_matrix_.start_ = equations.starts.astype(np.int32)
        program.a_matrix_.index_ = equations.member.astype(np.int32)
        program.a_matrix_.value_ = equations.sign.astype(float)
        self._solver.passModel(program)
        self._last, self._started = np.zeros(0, np.int32), False

    def bound(self, cells: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        self._solver.changeColsBounds(len(cells), cells.astype(np.int32), low.astype(float), high.astype(float))

    def extreme(self, cells: np.ndarray, weights: np.ndarray) -> np.ndarray | None:
        costs = np.concatenate((np.zeros(len(self._last)), -weights.astype(float)))
        places = np.concatenate((self._last, cells.astype(np.int32)))
        _, first = np.unique(places[::-1], return_index=True)  # the last of a cell's costs holds
        chosen = np.sort(len(places) - 1 - first)
        self._solver.changeColsCost(len(chosen), places[chosen], costs[chosen])
        self._last = cells.astype(np.int32)
        status, known = self._solve(), self._library.HighsModelStatus
        if status != known.kOptimal:
            if status == known.kInfeasible:
                return None
            self._solver.clearSolver()
            self._started = False
            status = self._solve()
            if status == known.kInfeasible:
                return None
            if status != known.kOptimal:
                raise NotDecided(str(status))
        return np.array(self._solver.getSolution().col_value)

    def _solve(self) -> Any:
        """From the last basis by the primal simplex, which it stays feasible for; the first time as HiGHS likes."""
        self._solver.setOptionValue("presolve", "off" if self._started else "choose")
        self._solver.setOptionValue("simplex_strategy", 4 if self._started else 0)
        self._solver.run()
        self._started = True
        return self._solver.getModelStatus()


class _ScipyModel:
    """A model that is solved anew each time."""

    def __init__(self, equations: Equations, low: np.ndarray, high: np.ndarray) -> None:
        self._equations, self._bounds = equations, np.column_stack((low, high))

    def bound(self, cells: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        self._bounds[cells, 0], self._bounds[cells, 1] = low, high

    def extreme(self, cells: np.ndarray, weights: np.ndarray) -> np.ndarray | None:
        from scipy.optimize import linprog  # type: ignore[import-untyped]

        cost = np.zeros(len(self._bounds))
        cost[cells] = -weights
        one = self._equations
        if not len(one.right):
            return np.where(cost < 0, self._bounds[:, 1], self._bounds[:, 0])
        found = linprog(cost, A_eq=one.matrix, b_eq=one.right, bounds=self._bounds, method="highs-ds")
        if found.status == 2:
            return None
        if found.status != 0:
            raise NotDecided(str(found.message))
        return np.asarray(found.x, float)


def whole_point(
    equations: Equations, low: np.ndarray, high: np.ndarray, cells: np.ndarray, weights: np.ndarray, seconds: float
) -> tuple[np.ndarray | None, bool]:
    """A point of whole numbers where a weighted sum of cells is greatest, and whether that is proven.

    None where no such point fits. NotDecided where the time is over before one is found.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    cost = np.zeros(len(low))
    cost[cells] = -weights
    rows = LinearConstraint(equations.matrix, equations.right, equations.right) if len(equations.right) else ()
    options = {"time_limit": seconds, "mip_rel_gap": 0.0}
    found = milp(cost, integrality=np.ones(len(low)), bounds=Bounds(low, high), constraints=rows, options=options)
    if found.status == 2:
        return None, True
    if found.x is None:
        raise NotDecided(str(found.message))
    return np.rint(found.x), found.status == 0
