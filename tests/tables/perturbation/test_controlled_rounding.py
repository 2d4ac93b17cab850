"""Controlled rounding: the worked example, brute force, and what it promises."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import Infeasible, PolicyError
from sfumato.tables.perturbation import ControlledRounding
from tests.tables.perturbation.problems import (
    SPEC,
    TREE,
    all_rounded,
    counts_table,
    off,
    problem_of,
    random_counts,
    sums_table,
)


def test_worked_example() -> None:
    table = counts_table(SPEC)
    found = ControlledRounding(3)(problem_of(table))
    assert found.changed is not None
    assert found.optimal
    assert found.reproducible
    assert (found.cost, found.bound) == (14, 14)
    assert off(table, found.changed) == 0
    of_the_spec = np.array([[21, 3, 0, 6, 3, 9], [9, 3, 0, 6, 0, 0], [12, 0, 0, 0, 3, 9]])
    assert any((one == of_the_spec.ravel()).all() for one in all_rounded(table, 3))
    assert np.abs(of_the_spec - table.value).sum() == 14
    assert any((one == found.changed).all() for one in all_rounded(table, 3))
    assert not found.hidden.any()
    assert found.facts["determined"] == 0
    one, two = (found.changed[table.value.ravel() == count] for count in (1, 2))
    assert found.facts["narrowed"] == (one == 3).sum() + (two == 0).sum()  # 1 to 5 is not 0, and 0 to 2 is not 3
    quick = ControlledRounding(3, exact=False)(problem_of(table))
    assert quick.changed is not None
    assert not quick.optimal
    assert quick.reproducible
    assert off(table, quick.changed) == 0
    assert (np.abs(quick.changed - table.value.ravel()) < 3).all()


@pytest.mark.parametrize("seed", range(12))
def test_exact_is_brute_force(seed: int) -> None:
    table = counts_table(random_counts((2, 3), 7, seed))
    base = 3 + seed % 3
    found = ControlledRounding(base)(problem_of(table))
    assert found.changed is not None
    value = table.value.ravel()
    assert found.cost == min(np.abs(one - value).sum() for one in all_rounded(table, base))


@given(
    st.lists(st.integers(0, 12), min_size=12, max_size=12), st.integers(2, 7), st.booleans(), st.booleans()
)  # fmt: skip
def test_three_dimensions(counts: list[int], base: int, zeros: bool, exact: bool) -> None:
    given = np.array(counts).reshape(2, 3, 2)
    given[:, :, 0] = np.maximum(given[:, :, 0], 1)
    given[0, 0, 1] = max(given[0, 0, 1], 1)
    table = counts_table(given)
    value = table.value.ravel()
    try:
        found = ControlledRounding(base, zeros, exact)(problem_of(table))
    except Infeasible:
        assert exact  # in three dimensions there need not be one (Kelly, Golden and Assad 1990)
        return
    assert found.changed is not None
    assert off(table, found.changed) == 0
    assert (found.changed % base == 0).all()
    assert (found.changed >= 0).all()
    away = np.abs(found.changed - value)
    if exact:
        assert (away < base * (1 if zeros else 2)).all()
    if exact and zeros:
        assert (found.changed[value % base == 0] == value[value % base == 0]).all()
    assert found.cost == away.sum() >= found.bound - 1e-6


def test_hierarchy() -> None:
    table = counts_table(random_counts((5, 4), 20, 3), TREE)
    for exact in (True, False):
        found = ControlledRounding(5, exact=exact)(problem_of(table))
        assert found.changed is not None
        assert off(table, found.changed) == 0
        assert (np.abs(found.changed - table.value.ravel()) < 5).all()


def test_heuristic_keeps_inner_cells_near_whatever_the_solver_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    from sfumato.tables.perturbation import controlled_rounding
    from sfumato.tables.perturbation.program import ProgramAnswer

    nothing = ProgramAnswer(None, np.inf, -np.inf, False, False)
    monkeypatch.setattr(controlled_rounding, "solve", lambda *given, **more: nothing)
    table = counts_table(random_counts((5, 3, 3), 20, 3), TREE)
    found = ControlledRounding(5, exact=False)(problem_of(table))
    assert found.changed is not None
    assert off(table, found.changed) == 0
    value = table.value[1:, 1:, 1:]
    inner = np.array([len(one) == 0 for one in table.dimensions[0].children])[1:]
    moved = np.abs(found.changed.reshape(table.shape)[1:, 1:, 1:] - value)[inner]
    assert (moved < 5).all()
    assert not found.optimal
    with pytest.raises(Infeasible, match="seconds"):
        ControlledRounding(5)(problem_of(table))


def test_published_values_leave_the_whole_interval_open() -> None:
    """As its statement says: each true value can be anything less than a base away."""
    from scipy import optimize

    from sfumato.tables.perturbation.program import sum_matrix

    table = counts_table(random_counts((5, 3), 9, 1), TREE)
    problem = problem_of(table)
    found = ControlledRounding(5)(problem).changed
    assert found is not None
    sums = sum_matrix(problem.sums, len(found))
    bounds = np.stack([np.maximum(found - 4, 0), found + 4], 1)
    for cell in range(len(found)):
        goal = np.zeros(len(found))
        goal[cell] = 1
        reach = [way * optimize.linprog(way * goal, A_eq=sums, b_eq=np.zeros(len(problem.sums)), bounds=bounds).fun
                 for way in (1, -1)]  # fmt: skip
        assert reach == pytest.approx(bounds[cell].tolist(), abs=1e-6)


def test_sums_with_digits() -> None:
    table = sums_table({("x", "u"): [1.25, 3.5], ("x", "v"): [10.0], ("y", "u"): [7.1], ("y", "v"): [0.05]})
    found = ControlledRounding(5)(problem_of(table))
    assert found.changed is not None
    assert off(table, found.changed) < 1e-9
    assert np.abs(found.changed / 5 - np.rint(found.changed / 5)).max() < 1e-9
    assert (np.abs(found.changed - table.value.ravel()) < 5).all()


def test_zero_restriction_can_be_infeasible_and_is_said_to_be() -> None:
    """Ones at four corners of a cube of which no two share an edge: each line of it holds 1 and 0, so the pattern
    cannot be rounded to all zeros or all ones at will; a search over seeds finds a table without a solution."""
    for seed in range(200):
        table = counts_table(random_counts((2, 2, 2), 1, seed) + (np.random.default_rng(seed).random((2, 2, 2)) < 0.5))
        problem = problem_of(table)
        try:
            ControlledRounding(2)(problem)
        except Infeasible as fault:
            assert "zero_restricted=False" in str(fault)
            found = ControlledRounding(2, zero_restricted=False)(problem)
            assert found.changed is not None
            assert off(table, found.changed) == 0
            assert found.facts["cells_moved_further"] > 0
            return
    pytest.skip("every one of them can be rounded")


def test_out_of_range() -> None:
    with pytest.raises(PolicyError, match="base"):
        ControlledRounding(1)
    with pytest.raises(PolicyError, match="seconds"):
        ControlledRounding(seconds=0)
