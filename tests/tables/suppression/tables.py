"""Small tables to protect, and audits that are slow and plain: by linear or integer programs, or by all cycles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import polars as pl
from scipy.optimize import Bounds, LinearConstraint, milp
from scipy.sparse import csr_array

from sfumato.core.progress import quiet
from sfumato.engines.tables import engine_of
from sfumato.tables.count import count_table
from sfumato.tables.insiders import insiders_of
from sfumato.tables.protection import ProtectionProblem
from sfumato.tables.rules import MinimumFrequency
from sfumato.tables.rules.model import CellRule, primary_cells
from sfumato.tables.values import StatTable, ancestors, cell_sums

SPEC = [[1, 1, 7, 1, 0], [1, 0, 0, 2, 8]]  # the worked example of the specification


def table_of(counts: Any, hierarchies: Mapping[str, Any] | None = None) -> StatTable:
    """A table of counts: those of an array, with a column for each of its axes."""
    counts = np.asarray(counts)
    at = np.argwhere(np.ones_like(counts, np.bool_))
    names = [f"c{axis}" for axis in range(counts.ndim)]
    rows = np.repeat(at, counts.ravel(), axis=0)
    frame = pl.DataFrame({name: [f"v{v:02d}" for v in rows[:, axis]] for axis, name in enumerate(names)})
    return count_table(engine_of(frame), names, None, dict(hierarchies or {}), None, None, None, None, 3, quiet, 10**6)


def problem_of(
    table: StatTable, rules: Sequence[CellRule] = (MinimumFrequency(3),), *, audit: str = "linear",
    people: bool = False, keep: Sequence[int] = (), cost: np.ndarray | None = None,
) -> ProtectionProblem:  # fmt: skip
    """The problem that a table makes: cost by value, empty cells published; audited by linear programs, or by integer
    ones ("whole"), or by all cycles of a table of two columns ("cycles"), and where `people`, as those see it who are
    alone in a cell."""
    value = table.value.ravel()
    primary = primary_cells(rules, table)
    candidate = (table.count.ravel() > 0) | primary.cells.ravel()
    candidate[list(keep)] = False
    found: list[ProtectionProblem] = []
    # the audits here know of people who are alone in a cell, and of nobody else
    alone = replace(table, largest=table.largest[..., :0])
    insiders = insiders_of(alone, cell_sums(table.dimensions), np.zeros(len(value)), int(people))
    supports = cycles_of(table) if audit == "cycles" else np.zeros((0, 0), np.bool_)

    def asked(hidden: np.ndarray) -> np.ndarray:
        if audit == "cycles":
            return without_cycle(found[0], supports, hidden, people)
        return exposed(found[0], hidden, people, audit == "whole")

    found.append(
        ProtectionProblem(
            table, primary, np.maximum(np.abs(value), 1) if cost is None else cost, candidate,
            np.zeros(len(value), np.bool_), np.full(len(value), -np.inf if table.negative else 0.0),
            np.full(len(value), np.inf), asked, insiders,
        )
    )  # fmt: skip
    return found[0]


def attackers(problem: ProtectionProblem, hidden: np.ndarray, people: bool) -> list[np.ndarray]:
    """Who looks, each by the hidden cells that they know: an outsider, and whoever is alone in some."""
    table, found = problem.table, [np.zeros(0, np.int64)]
    alone = hidden & (table.contributors.ravel() == 1)
    for cell in product(*(one.leaf for one in table.dimensions)) if people else []:
        if table.contributors[cell] == 1:
            above = [np.ravel_multi_index(one, table.shape) for one in ancestors(table.dimensions, cell)]
            found.append(np.array([one for one in above if alone[one]], np.int64))
    return [one for n, one in enumerate(found) if n == 0 or len(one)]


def exposed(problem: ProtectionProblem, hidden: np.ndarray, people: bool, whole: bool) -> np.ndarray:
    """The cells that somebody narrows too far, by a program for each end of each cell."""
    sums = cell_sums(problem.table.dimensions)
    matrix = csr_array((sums.sign, (sums.row, sums.cell)), (len(sums), problem.value.size)).toarray()
    found = set()
    for known in attackers(problem, hidden, people):
        unknown = hidden.copy()
        unknown[known] = False
        cells = np.flatnonzero(unknown)
        lines = matrix[:, cells]
        used = (lines != 0).any(1)
        right = -(matrix[used] @ np.where(unknown, 0, problem.value))
        rows = [LinearConstraint(lines[used], right, right)] if used.any() else []
        bounds = Bounds(problem.least[cells], problem.most[cells])
        for at, cell in enumerate(cells):
            need = problem.below[cell], problem.above[cell]
            if cell in found or not problem.primary.cells.ravel()[cell] or max(need) <= 0:
                continue
            for way, short in zip((1.0, -1.0), need, strict=True):
                c = np.zeros(len(cells))
                c[at] = way
                one = milp(c, constraints=rows, bounds=bounds, integrality=np.full(len(cells), int(whole)))
                if one.x is not None and way * (problem.value[cell] - one.x[at]) < short - 1e-6:
                    found.add(int(cell))
    return np.array(sorted(found), np.int64)


def cycles_of(table: StatTable) -> np.ndarray:
    """All simple cycles of a table of two columns, as the cells of each: what is added in one and taken from the next.

    Rows and columns with their totals are the nodes of a graph, cells its edges. Where hidden counts are 1 at least, a
    cell can be one more or less exactly where it lies on a cycle of hidden cells.
    """
    rows, columns = table.shape
    found = []
    for k in range(2, min(rows, columns) + 1):
        for mine in combinations(range(rows), k):
            for other in permutations(range(columns), k):
                for order in permutations(mine[1:]):
                    line = (mine[0], *order)
                    if (k == 2 and other[0] > other[1]) or (k > 2 and line[1] > line[-1]):
                        continue
                    one = np.zeros((rows, columns), np.bool_)
                    one[line, other] = one[line, (*other[1:], other[0])] = True
                    found.append(one.ravel())
    return np.unique(np.array(found), axis=0) if found else np.zeros((0, table.value.size), np.bool_)


def without_cycle(problem: ProtectionProblem, supports: np.ndarray, hidden: np.ndarray, people: bool) -> np.ndarray:
    """The unsafe cells that lie on no cycle of hidden cells without the one that somebody knows."""
    inside = supports[~(supports & ~hidden).any(1)]
    unsafe, found = problem.primary.cells.ravel() & hidden, np.zeros(len(hidden), np.bool_)
    for known in attackers(problem, hidden, people):
        bad = unsafe & ~inside[~inside[:, known].any(1)].any(0)
        bad[known] = False
        found |= bad
    return np.flatnonzero(found)


def least_cost(problem: ProtectionProblem) -> float | None:
    """The least cost of all patterns that pass the audit, None where none does: cheaper ones are tried first."""
    free = np.flatnonzero(problem.candidate & ~problem.forced)
    picked = (np.arange(2 ** len(free))[:, None] >> np.arange(len(free))) & 1 > 0
    cost = picked @ problem.cost[free]
    for at in np.argsort(cost, kind="stable"):
        hidden = problem.forced.copy()
        hidden[free[picked[at]]] = True
        if not len(problem.audit(hidden)):
            return float(cost[at])
    return None


def amounts_of(shape: tuple[int, ...], seed: int) -> StatTable:
    """A table of sums of uneven amounts, some in each cell."""
    rng = np.random.default_rng(seed)
    at = np.repeat(np.argwhere(np.ones(shape, np.bool_)), rng.integers(1, 6, int(np.prod(shape))), axis=0)
    frame = pl.DataFrame({f"c{axis}": [f"v{v:02d}" for v in at[:, axis]] for axis in range(len(shape))})
    frame = frame.with_columns(amount=pl.Series(np.rint(rng.lognormal(3, 1, len(at))) + 1))
    by = [f"c{axis}" for axis in range(len(shape))]
    return count_table(engine_of(frame), by, "amount", {}, None, None, None, None, 3, quiet, 10**6)
