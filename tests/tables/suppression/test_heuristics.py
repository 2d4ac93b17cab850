"""The quick protections: what they hide passes the audit, and costs as much as the exact pattern at least."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sfumato.errors import Infeasible, PolicyError
from sfumato.hierarchies.wide import wide
from sfumato.tables.protection import ProtectionProblem
from sfumato.tables.rules import Dominance, PPercent
from sfumato.tables.suppression import Exact, Hypercube, Modular, NetworkFlow
from sfumato.tables.values import StatTable
from tests.fuzz import FUZZ
from tests.tables.suppression.tables import SPEC, amounts_of, problem_of, table_of

EVERY: list[Any] = [Hypercube(), Modular(), NetworkFlow()]
MANY_COLUMNS: list[Any] = [Hypercube(), Modular()]


def tree(groups: int, each: int) -> Any:
    """A hierarchy of so many groups of so many values."""
    return wide([(f"v{i:02d}", f"g{i // each}", "*") for i in range(groups * each)])


def check(problem: ProtectionProblem, methods: list[Any], best: bool = True) -> None:
    """Protect by each method; none costs less than the exact one."""
    try:
        least = Exact(30)(problem).cost if best else 0.0
    except Infeasible:
        for method in methods:
            with pytest.raises(Infeasible):
                method(problem)
        return
    for method in methods:
        found = method(problem)
        assert not len(problem.audit(found.hidden)), method
        assert found.cost == problem.price(found.hidden)
        assert found.cost >= least - 1e-9
        assert not found.optimal
        assert not (problem.forced & ~found.hidden).any()
        assert not (found.hidden & ~problem.candidate).any()


def full(counts: np.ndarray, hierarchies: Any = None) -> StatTable:
    """A table of counts in which every value occurs."""
    for axis in range(counts.ndim):
        none = counts.sum(tuple(a for a in range(counts.ndim) if a != axis)) == 0
        place: list[Any] = [0] * counts.ndim
        for at in np.flatnonzero(none):
            place[axis] = at
            counts[tuple(place)] += 4
    return table_of(counts, hierarchies)


@pytest.mark.slow
@pytest.mark.parametrize("people", [False, True])
@pytest.mark.parametrize("seed", range(4 * FUZZ))
def test_two_columns(seed: int, people: bool) -> None:
    """Tables of two columns without hierarchies."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 9, tuple(rng.integers(2, 6, 2)))
    check(problem_of(full(counts), audit="cycles", people=people), EVERY)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("seed", range(2 * FUZZ))
def test_a_hierarchy(seed: int, axis: int) -> None:
    """Tables of two columns, one with a hierarchy."""
    counts = np.random.default_rng(seed).poisson(6, (4, 3) if axis == 0 else (3, 4))
    check(problem_of(full(counts, {f"c{axis}": tree(2, 2)})), EVERY)


@pytest.mark.parametrize("seed", range(2 * FUZZ))
def test_three_columns(seed: int) -> None:
    """Tables of three columns, audited by integer programs."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(0, 6, (2, 3, 2))
    check(problem_of(full(counts), audit="whole"), MANY_COLUMNS, best=seed % 2 == 0)


@pytest.mark.parametrize("seed", range(2 * FUZZ))
def test_hierarchies(seed: int) -> None:
    """Two hierarchies, whose subtables are more than four."""
    counts = np.random.default_rng(seed).poisson(4, (4, 4))
    problem = problem_of(full(counts, {"c0": tree(2, 2), "c1": tree(2, 2)}))
    check(problem, MANY_COLUMNS, best=seed == 0)


@pytest.mark.parametrize("seed", range(2 * FUZZ))
def test_sums(seed: int) -> None:
    """Sums, where a cycle alone may be too narrow."""
    rule = PPercent(40) if seed % 2 else Dominance(1, 50)
    check(problem_of(amounts_of((3, 4), seed), [rule]), EVERY)


@pytest.mark.parametrize("method", EVERY)
def test_worked_example(method: Any) -> None:
    """The table of the specification, where people find each other: with its empty cells it can be protected."""
    problem = problem_of(table_of(SPEC), people=True)
    problem = replace(problem, candidate=np.ones(18, np.bool_))
    assert not len(problem.audit(method(problem).hidden))


def test_network_flow_refuses_other_tables() -> None:
    """Three columns, or two hierarchies, are no network."""
    with pytest.raises(PolicyError, match="tables of two columns"):
        NetworkFlow()(problem_of(table_of(np.ones((2, 2, 2), np.int64))))
    table = table_of(np.ones((4, 4), np.int64), {"c0": tree(2, 2), "c1": tree(2, 2)})
    with pytest.raises(PolicyError, match="tables of two columns"):
        NetworkFlow()(problem_of(table))


@pytest.mark.parametrize("method", EVERY)
def test_repeats(method: Any) -> None:
    """The same table has the same pattern."""
    table = full(np.random.default_rng(4).poisson(5, (5, 5)))
    one, other = (method(problem_of(table)).hidden for _ in range(2))
    assert (one == other).all()


def test_modular_says_where_a_clock_had_a_say() -> None:
    """Without time, subtables are as the greedy search leaves them."""
    problem = problem_of(full(np.random.default_rng(4).poisson(5, (6, 6))))
    assert Modular(100)(problem).reproducible
    found = Modular(1e-9)(problem)
    assert not found.reproducible
    assert not len(problem.audit(found.hidden))
