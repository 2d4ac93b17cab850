"""Controlled tabular adjustment: every sensitive cell at or beyond its level, every sum kept."""

from __future__ import annotations

from contextlib import suppress
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.errors import Cancelled, Infeasible
from sfumato.tables.perturbation import TabularAdjustment
from sfumato.tables.perturbation.tabular_adjustment import _targets, small_counts
from sfumato.tables.rules import GroupDisclosure, MinimumFrequency, PPercent
from tests.fuzz import examples
from tests.tables.perturbation.problems import SPEC, TREE, counts_table, off, problem_of, random_counts, sums_table


def check(problem, changed: np.ndarray) -> None:  # type: ignore[no-untyped-def]
    table, value = problem.table, problem.value
    assert off(table, changed) < 1e-6
    primary = problem.primary.cells.ravel()
    below = np.minimum(problem.primary.below.ravel(), value)
    above = problem.primary.above.ravel()
    moved = ((changed <= value - below + 1e-9) & (below > 0)) | (changed >= value + above - 1e-9)
    assert moved[primary].all()
    assert (changed >= 0).all()
    assert (changed[(value == 0) & ~primary] == 0).all()


def test_worked_example() -> None:
    table = counts_table(SPEC)
    problem = problem_of(table)
    found = TabularAdjustment()(problem)
    assert found.changed is not None
    check(problem, found.changed)
    assert found.optimal
    assert found.cost == found.bound == pytest.approx(float(problem.cost @ np.abs(found.changed - table.value.ravel())))
    assert not np.isin(found.changed, (1, 2)).any()  # no small count is published
    assert small_counts(problem) == 2


@pytest.mark.slow
@settings(max_examples=examples(15))
@given(st.integers(0, 10**6), st.integers(2, 4))
def test_counts_in_three_dimensions(seed: int, n: int) -> None:
    table = counts_table(random_counts((5, 3, 2), 9, seed), TREE)
    problem = problem_of(table, [MinimumFrequency(n)])
    try:
        found = TabularAdjustment(seconds=20)(problem)
    except Infeasible:
        return
    assert found.changed is not None
    check(problem, found.changed)
    assert (found.changed == np.rint(found.changed)).all()
    small = small_counts(problem)
    assert not ((found.changed > 0) & (found.changed <= small)).any()


def test_it_is_seldom_infeasible() -> None:
    failed = 0
    for seed in range(10):
        try:
            TabularAdjustment()(problem_of(counts_table(random_counts((4, 4), 12, seed))))
        except Infeasible:
            failed += 1
    assert failed <= 1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_sums_of_money(seed: int) -> None:
    rng = np.random.default_rng(seed)
    amounts = {
        (str(i), str(j)): (rng.pareto(1.2, rng.integers(1, 6)) * 100 + 1).round(2).tolist()
        for i in range(5) for j in range(4)
    }  # fmt: skip
    table = sums_table(amounts)
    problem = problem_of(table, [PPercent(20)])
    assert problem.primary.cells.any()
    found = TabularAdjustment()(problem)
    assert found.changed is not None
    check(problem, found.changed)
    assert np.abs(found.changed * 100 - np.rint(found.changed * 100)).max() < 1e-6
    safe = ~problem.primary.cells.ravel()
    away = np.abs(found.changed - table.value.ravel())[safe]
    assert (away <= found.facts["margin"] * table.value.ravel()[safe] + 1).all()


def test_what_a_hidden_cell_is_known_to_be_has_no_say() -> None:
    """Hidden counts are known to be 1 at least; a sensitive count may be published as 0 all the same."""
    table = counts_table(SPEC)
    problem = problem_of(table)
    known = problem_of(table, least=np.ones(table.value.size))
    one, two = TabularAdjustment()(problem).changed, TabularAdjustment()(known).changed
    assert one is not None
    assert two is not None
    assert (one == two).all()


def test_empty_cells_that_tell_something_are_filled() -> None:
    table = counts_table([[5, 0, 0], [4, 6, 7]])
    problem = problem_of(table, [GroupDisclosure()])
    found = TabularAdjustment()(problem)
    assert found.changed is not None
    check(problem, found.changed)
    primary = problem.primary.cells.ravel()
    assert (found.changed[primary & (table.value.ravel() == 0)] > 0).all()


@pytest.mark.parametrize("seed", range(8))
def test_counts_cost_the_least(seed: int) -> None:
    table = counts_table(random_counts((2, 2), 5, seed))
    problem = problem_of(table)
    goal = _targets(problem, 0.1, 1.0)
    low, high = (one.reshape(3, 3)[1:, 1:].ravel().astype(int) for one in (goal.least, goal.most))
    best = np.inf
    for inner in product(*(range(a, b + 1) for a, b in zip(low, high, strict=True))):
        leaves = np.array(inner).reshape(2, 2)
        values = np.zeros((3, 3))
        values[1:, 1:], values[0, 1:], values[1:, 0] = leaves, leaves.sum(axis=0), leaves.sum(axis=1)
        values[0, 0] = leaves.sum()
        flat = values.ravel()
        within = (flat >= goal.least) & (flat <= goal.most)
        if within.all() and ((flat <= goal.down) | (flat >= goal.up))[goal.sensitive].all():
            best = min(best, float(problem.cost @ np.abs(flat - table.value.ravel())))
    if best < np.inf:
        found = TabularAdjustment()(problem)
        assert found.optimal
        assert found.cost == pytest.approx(best)
    else:
        with suppress(Infeasible):
            assert TabularAdjustment()(problem).facts["margin"] > 0.1


def test_nothing_to_adjust() -> None:
    table = counts_table([[5, 9], [7, 4]])
    found = TabularAdjustment()(problem_of(table))
    assert found.changed is not None
    assert (found.changed == table.value.ravel()).all()
    assert found.optimal
    assert found.cost == 0


def test_progress_is_reported_and_can_end_it() -> None:
    said: list[str] = []

    def stop(message: str, share: float | None) -> None:
        said.append(message)
        raise Cancelled

    with pytest.raises(Cancelled):
        TabularAdjustment()(problem_of(counts_table(SPEC), report_progress=stop))
    assert said == ["adjusting"]


def test_infeasible() -> None:
    with pytest.raises(Infeasible, match="sensitive cell"):
        TabularAdjustment(margin=0.001)(problem_of(counts_table([[1, 0], [0, 1000]]), [PAll()]))


class PAll(MinimumFrequency):
    """Everything but the corner needs far more than there is."""

    def __init__(self) -> None:
        super().__init__(2)

    def unsafe(self, table):  # type: ignore[no-untyped-def]
        from sfumato.tables.rules.model import found

        cells = np.zeros(table.shape, np.bool_)
        cells[1, 1] = True
        return found(cells, cells * 10_000.0)
