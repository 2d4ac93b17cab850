"""Generated tables of three columns with hierarchies: whatever protects them, no attacker whom the table says it tried
narrows a hidden cell too far; and a second solver finds the same least cost."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import Infeasible, PolicyError
from sfumato.tables.rules.model import CellModel, UnsafeCells, found
from sfumato.tables.suppression import Exact
from sfumato.tables.values import StatTable, cell_sums
from tests.fuzz import FUZZ
from tests.tables.suppression.tables import problem_of, table_of
from tests.tables.suppression.test_exact import check

HEURISTICS: list[Any] = ["modular", "hypercube"]
SETTINGS: Any = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@dataclass(frozen=True)
class Chosen(CellModel):
    """A rule that finds the cells that it is given."""

    cells: tuple[bool, ...]

    def unsafe(self, table: StatTable) -> UnsafeCells:
        """These cells."""
        chosen = np.array(self.cells).reshape(table.shape)
        return found(chosen, chosen * 1.0)

    def sentence(self) -> str:
        """What it says of a cell."""
        return "It was not chosen."


@st.composite
def tables(draw: st.DrawFn) -> tuple[StatTable, dict[str, Any]]:
    """A table of three columns, some with hierarchies; and how to protect it."""
    seed = draw(st.integers(0, 2**32 - 1))
    rng = np.random.default_rng(seed)
    sizes = [draw(st.sampled_from([2, 3, 4])) for _ in range(3)]
    rows = rng.integers(0, draw(st.sampled_from([2, 5, 12])), sizes)
    rows[0, 0, 0] += 3
    at = np.repeat(np.argwhere(np.ones(sizes, np.bool_)), rows.ravel(), axis=0)
    frame = pl.DataFrame({name: [f"v{v}" for v in at[:, n]] for n, name in enumerate("abc")})
    sums = draw(st.booleans())
    if sums:
        low = draw(st.sampled_from([0, 1, -3]))
        frame = frame.with_columns(pay=pl.Series(np.rint(rng.lognormal(2, 1, len(at))) + low))
    if draw(st.booleans()):
        frame = frame.with_columns(firm=pl.Series(rng.integers(0, max(len(at) // 2, 1), len(at))))
    trees = {
        name: sf.wide([(f"v{i}", f"g{i // 2}", "*") for i in range(size)])
        for name, size in zip("abc", sizes, strict=True)
        if size == 4 and draw(st.booleans())
    }
    table = sf.tabulate(
        frame, by=["a", "b", "c"], value="pay" if sums else None, hierarchies=trees,
        contributor="firm" if "firm" in frame.columns else None,
    )  # fmt: skip
    rules: list[Any] = [sf.MinimumFrequency(draw(st.sampled_from([2, 3])))]
    if sums and draw(st.booleans()):
        rules.append(draw(st.sampled_from([sf.PPercent(20), sf.Dominance(1, 70), sf.PriorPosterior(10, 40)])))
    if draw(st.integers(0, 3)) == 0:
        rules.append(sf.GroupDisclosure())
    how = {
        "rules": rules, "coalition": draw(st.sampled_from([0, 1, 1, 2])),
        "zeros": draw(st.sampled_from(["publish", "hide"])),
        "cost": draw(st.sampled_from(["value", "log-value", "rows", "cells"])), "flags": draw(st.integers(0, 4)) == 0,
    }  # fmt: skip
    return table, how


def is_safe(table: StatTable, method: Any, how: dict[str, Any]) -> None:
    """Protect it, and look at what follows from its own promises."""
    try:
        made = sf.protect(table, method=method, **how)
    except Infeasible:
        return
    except PolicyError as error:
        assert how["flags"], error
        assert "flags" in str(error)
        return
    assert made.audit().exposed == 0
    hidden, unsafe = made.cells.hidden, made.primary.cells.ravel()
    assert not (unsafe & ~hidden).any()
    if how["zeros"] == "publish" and not made.primary.zeros:
        assert not (hidden & (table.count.ravel() == 0)).any()
    ranges = made.audit(coalition=0).intervals  # of an outsider, against what the rules ask
    value = table.value.ravel()[hidden]
    low, high = ranges["low"].to_numpy(), ranges["high"].to_numpy()
    near = 1e-6 * max(1.0, float(np.abs(table.value).max()))
    least, most = made.known.lower[hidden], made.known.upper[hidden]
    assert (low <= np.maximum(value - made.primary.below.ravel()[hidden], least) + near).all()
    assert (high >= np.minimum(value + made.primary.above.ravel()[hidden], most) - near).all()


@pytest.mark.slow
@settings(max_examples=6 if FUZZ == 1 else 500 * FUZZ, **SETTINGS)
@given(tables(), st.sampled_from(HEURISTICS))
def test_heuristics_are_safe(made: tuple[StatTable, dict[str, Any]], method: str) -> None:
    is_safe(made[0], sf.Modular(5) if method == "modular" else method, made[1])


@pytest.mark.slow
@settings(max_examples=3 if FUZZ == 1 else 15 * FUZZ, **SETTINGS)
@given(tables())
def test_exact_is_safe(made: tuple[StatTable, dict[str, Any]]) -> None:
    is_safe(made[0], sf.Exact(20), made[1])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4 if FUZZ == 1 else 50 * FUZZ))
def test_every_choice_of_unsafe_cells(seed: int) -> None:
    """The least cost of all patterns, whichever cells are unsafe, totals and empty cells among them."""
    rng = np.random.default_rng([77, seed])
    counts = rng.integers(0, 4, [(1, 3), (2, 2), (2, 3), (3, 3)][seed % 4])
    counts[0, 0] += 1
    table = table_of(counts)
    chosen = Chosen(tuple((rng.random(table.value.size) < 0.25).tolist()))
    problem = problem_of(table, [chosen], audit="cycles", people=seed % 2 == 0)
    if (problem.candidate & ~problem.forced).sum() <= 12:
        check(problem)


SECOND = """
import json, sys
from itertools import combinations
from ortools.sat.python import cp_model
for line in sys.stdin:
    one = json.loads(line)
    # for each unsafe cell and way a table of whole numbers that hidden cells may have: one program says it all
    model = cp_model.CpModel()
    x = [model.new_bool_var(f"x{i}") for i in range(len(one["value"]))]
    for i, x_i in enumerate(x):
        if one["forced"][i]:
            model.add(x_i == 1)
        elif not one["candidate"][i]:
            model.add(x_i == 0)
    for i, way in one["tasks"]:
        y = [model.new_int_var(-one["value"][j], 60, f"y{i}{way}{j}") for j in range(len(x))]
        for row in one["sums"]:
            model.add(sum(y[j] for j in row[1:]) == y[row[0]])
        for y_j, x_j in zip(y, x):
            model.add(y_j == 0).only_enforce_if(x_j.Not())
        model.add(way * y[i] >= 1)
    model.minimize(sum(c * x_i for c, x_i, f in zip(one["cost"], x, one["forced"]) if not f))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    print(json.dumps(solver.objective_value if status == cp_model.OPTIMAL else None))
"""


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ortools") is None, reason="the second solver is not installed")
def test_a_second_solver() -> None:
    """OR-tools, in a process of its own, finds the same least cost of larger tables by another program: one in which
    each unsafe cell has tables of whole numbers that differ in it and agree with what is published."""
    questions, costs = [], []
    for seed in range(6 * FUZZ):
        rng = np.random.default_rng([5, seed])
        table = table_of(
            np.maximum(rng.integers(0, 9, tuple(rng.integers(3, 6, 2))), np.eye(3, 5, dtype=int).max() - 1)
        )
        cost = rng.integers(1, 30, table.value.size) * 1.0
        problem = problem_of(table, audit="linear", cost=cost)
        try:
            costs.append(Exact()(problem).cost)
        except Infeasible:
            costs.append(None)
        sums = cell_sums(table.dimensions)
        unsafe = np.flatnonzero(problem.primary.cells.ravel())
        needs = [
            (int(i), way) for i, way in product(unsafe, (1, -1)) if (problem.above if way > 0 else problem.below)[i] > 0
        ]
        questions.append({
            "value": table.value.ravel().astype(int).tolist(), "forced": problem.forced.tolist(), "tasks": needs,
            "candidate": problem.candidate.tolist(), "cost": cost.astype(int).tolist(),
            "sums": [sums.cell[a:b].tolist() for a, b in zip(sums.start[:-1], sums.start[1:], strict=True)],
        })  # fmt: skip
    lines = "\n".join(map(json.dumps, questions))
    answer = subprocess.run([sys.executable, "-c", SECOND], input=lines, capture_output=True, text=True, check=True)
    assert [json.loads(line) for line in answer.stdout.splitlines()] == pytest.approx(costs)
