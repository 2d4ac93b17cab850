"""Integer programs over the cells of a table, solved by the HiGHS that is within SciPy (Q. Huangfu, J. A. J. Hall,
Parallelizing the dual revised simplex method, Mathematical Programming Computation 10, 2018)."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from sfumato.core.progress import Progress
from sfumato.errors import MissingExtra
from sfumato.tables.values import CellSums

TICK = 0.05  # seconds between two reports


@dataclass(frozen=True, eq=False)
class Program:
    """Columns with costs and bounds, whole numbers where `whole`, and rows low <= A x <= high."""

    cost: np.ndarray
    low: np.ndarray
    high: np.ndarray
    whole: np.ndarray  # bool
    rows: Any  # a sparse matrix
    least: np.ndarray
    most: np.ndarray


@dataclass(frozen=True, eq=False)
class ProgramAnswer:
    """What the solver found: `x` None where it has none, `bound` that nothing costs less than."""

    x: np.ndarray | None
    cost: float
    bound: float
    optimal: bool
    infeasible: bool


def library(module: str) -> Any:
    """A module of SciPy."""
    try:
        return import_module(f"scipy.{module}")
    except ImportError:
        raise MissingExtra("scipy", "ml") from None


def sum_matrix(sums: CellSums, cells: int) -> Any:
    """The sums as the rows of a sparse matrix over all cells, each 0 for values that add up."""
    return library("sparse").csr_array((sums.sign, sums.cell, sums.start), shape=(len(sums), cells))


def solve(program: Program, seconds: float, report_progress: Progress, what: str, gap: float = 1e-9) -> ProgramAnswer:
    """The cheapest solution, or the best that was found in time.

    The solver works in a thread of its own, beside which progress is reported; it cannot be ended before its time.
    """
    optimize = library("optimize")
    found: list[Any] = []
    faults: list[BaseException] = []

    def work() -> None:
        try:
            found.append(
                optimize.milp(
                    program.cost, integrality=program.whole.astype(np.int64),
                    bounds=optimize.Bounds(program.low, program.high),
                    constraints=optimize.LinearConstraint(program.rows, program.least, program.most)
                    if program.rows.shape[0] else None,
                    options={"time_limit": max(seconds, 0.01), "mip_rel_gap": gap},
                )
            )  # fmt: skip
        except BaseException as fault:
            faults.append(fault)

    begin = time.monotonic()
    thread = threading.Thread(target=work, daemon=True, name="sfumato-milp")
    thread.start()
    while thread.is_alive():
        thread.join(TICK)
        report_progress(what, min((time.monotonic() - begin) / seconds, 1.0))
    if faults:
        raise faults[0]
    one = found[0]
    bound = -np.inf if one.mip_dual_bound is None else float(one.mip_dual_bound)
    if one.x is None:
        return ProgramAnswer(None, np.inf, bound, False, one.status == 2)
    x = np.where(program.whole, np.rint(one.x), one.x)
    return ProgramAnswer(x, float(one.fun), bound if program.whole.any() else float(one.fun), one.status == 0, False)
