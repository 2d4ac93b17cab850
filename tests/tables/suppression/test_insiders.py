"""Insiders: what they know, and that patterns of least cost are safe from them as the auditor, which shares no code
with protections, sees it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.engines.tables import engine_of
from sfumato.tables.count import count_table
from sfumato.tables.insiders import insiders_of
from sfumato.tables.known import Known, auditor
from sfumato.tables.protection import ProtectionProblem
from sfumato.tables.rules import Dominance, MinimumFrequency, PPercent
from sfumato.tables.rules.model import CellRule, primary_cells
from sfumato.tables.settle import known_least
from sfumato.tables.suppression import Exact, Hypercube, Modular, NetworkFlow
from sfumato.tables.values import StatTable, cell_sums
from tests.fuzz import FUZZ
from tests.tables.suppression.tables import SPEC, least_cost, problem_of, table_of
from tests.tables.suppression.test_exact import check


def audited_problem(
    table: StatTable, rules: list[CellRule], coalition: int = 1, zeros: bool = False, cost: np.ndarray | None = None
) -> ProtectionProblem:
    """The problem that `protect` makes of a table, audited as it does."""
    primary = primary_cells(rules, table)
    zeros |= primary.zeros
    known = Known(table, primary, known_least(table, zeros), coalition)
    problem = problem_of(table, rules, cost=cost)
    return replace(
        problem, candidate=problem.candidate | zeros, least=known.lower, most=known.upper, audit=auditor(known),
        known_by=insiders_of(table, cell_sums(table.dimensions), known.lower, coalition),
    )  # fmt: skip


def firms(shape: tuple[int, ...], seed: int, holdings: bool = False) -> StatTable:
    """A table of few and uneven contributions, some of one firm in several rows."""
    rng = np.random.default_rng(seed)
    cells = np.argwhere(np.ones(shape, np.bool_))
    at = np.repeat(cells, rng.integers(0, 4, len(cells)), axis=0)
    at = np.concatenate([at, cells[:1]])
    frame = pl.DataFrame({f"c{axis}": [f"v{v:02d}" for v in at[:, axis]] for axis in range(len(shape))})
    frame = frame.with_columns(
        amount=pl.Series(np.rint(rng.lognormal(2, 1, len(at))) + 1), firm=pl.Series(rng.integers(0, len(at), len(at)))
    )
    by = [f"c{axis}" for axis in range(len(shape))]
    who = "firm" if holdings else None
    return count_table(engine_of(frame), by, "amount", {}, None, who, None, None, 3, lambda *_: None, 10**6)


def test_who_knows_what() -> None:
    """In the example of the specification four people are alone in cells; one of them also in a total."""
    table = table_of(SPEC)
    found = insiders_of(table, cell_sums(table.dimensions), np.ones(18), 1)
    known = [found.cell[found.start[k] : found.start[k + 1]].tolist() for k in range(len(found.size))]
    # cells are numbered from ("*", "*"); who is alone in ("v00", "v01") also knows that ("v01", "v01") is empty
    assert sorted(known) == [[2, 8, 14], [7], [10], [13]]
    assert (found.down == 0).all()
    assert (found.up == 0).all()
    pairs = insiders_of(table, cell_sums(table.dimensions), np.ones(18), 2)
    assert sorted(pairs.size.tolist())[:4] == [1, 1, 1, 1]
    assert max(pairs.size) == 2
    none = insiders_of(table, cell_sums(table.dimensions), np.ones(18), 0)
    assert not len(none.who)


def test_shares() -> None:
    """Who has most of a cell knows that it is no less, unless others may have less than nothing."""
    rows = {"a": ["x", "x", "y", "y", "z"], "pay": [70, 20, 30, 30, 5]}
    table = sf.tabulate(rows, by=["a"], value="pay")
    found = insiders_of(table, cell_sums(table.dimensions), np.zeros(4), 1)
    known = {int(c): (d, u) for c, d, u in zip(found.cell, found.down, found.up, strict=True)}
    assert known == {0: (85, np.inf), 1: (20, np.inf), 2: (30, np.inf), 3: (0, 0)}
    two = insiders_of(table, cell_sums(table.dimensions), np.zeros(4), 2)
    assert two.size.tolist() == [1, 2, 2, 1, 1, 1, 2] or sorted(two.size.tolist()) == [1, 1, 1, 1, 2, 2, 2]
    negative = replace(table, negative=True)
    assert len(insiders_of(negative, cell_sums(table.dimensions), np.full(4, -np.inf), 1).who) == 1


@pytest.mark.slow
@pytest.mark.parametrize("coalition", [0, 1, 2, 3])
@pytest.mark.parametrize("seed", range(3 * FUZZ))
def test_counts_cost_least(seed: int, coalition: int) -> None:
    """Of all patterns that the auditor accepts, none costs less."""
    rng = np.random.default_rng([seed, coalition])
    counts = rng.integers(0, 6, tuple(rng.integers(2, 4, 2))) * 1
    counts[0, 0] += 1
    cost = rng.integers(1, 30, table_of(counts).value.size) * 1.0 if seed % 2 else None
    problem = audited_problem(table_of(counts), [MinimumFrequency(3)], coalition, zeros=seed % 3 == 0, cost=cost)
    if (problem.candidate & ~problem.forced).sum() <= 9:
        check(problem)


@pytest.mark.slow
@pytest.mark.parametrize("coalition", [0, 1, 2])
@pytest.mark.parametrize("seed", range(4 * FUZZ))
def test_sums_cost_least(seed: int, coalition: int) -> None:
    """The same of sums, whose contributors know their shares."""
    rule = [PPercent(30), Dominance(1, 60), MinimumFrequency(2)][seed % 3]
    problem = audited_problem(firms((2, 3), seed, holdings=seed % 2 == 0), [rule], coalition)
    if (problem.candidate & ~problem.forced).sum() <= 9:
        check(problem)


@pytest.mark.parametrize("method", [Hypercube(), Modular(), NetworkFlow()], ids=["hypercube", "modular", "flow"])
def test_quick_methods(method: Exact) -> None:
    """What they hide is safe from insiders too."""
    for seed in range(3):
        problem = audited_problem(firms((3, 3), seed), [PPercent(30)], 1 + seed % 2)
        if least_cost(replace(problem, candidate=problem.candidate)) is None:
            continue
        assert not len(problem.audit(method(problem).hidden))
