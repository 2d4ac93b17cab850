"""Annealing: reaches the best of all cuts where those can be listed, never more; limits, seeds, any policy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import PolicyError
from sfumato.search.cuts.annealing import Annealing
from sfumato.search.cuts.kernels import take
from sfumato.search.problem import Problem
from tests.conformance.test_anonymize_then_verify import criteria, tables
from tests.fuzz import examples
from tests.search.lattices import nine, problems
from tests.search.test_genetic import (
    POLICIES,
    beats_full_domain,
    ends_well,
    finds_a_part,
    infeasible_at_once,
    keeps_levels,
    keeps_promises,
    reaches_the_best,
    repeats_with_its_seed,
    small,
    stops_in_time,
    takes_columns_of_one_value,
    tells_progress,
)

CALM = list(HealthCheck)


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(POLICIES)))
def test_reaches_the_best_of_all_cuts(number: int) -> None:
    reaches_the_best(Annealing(seconds=None), number)


@pytest.mark.slow
@settings(max_examples=examples(40), deadline=None, suppress_health_check=CALM)
@given(problem=problems())
def test_ends_well(problem: Problem) -> None:
    ends_well(Annealing(seconds=None, patience=50), problem)


@settings(max_examples=examples(120), deadline=None, suppress_health_check=CALM)
@given(
    table=tables(), k=st.integers(1, 5), more=criteria, limit=st.sampled_from([0, 1, 0.1, 0.5, 1.0]),
)  # fmt: skip
def test_release_keeps_its_promises(table: dict[str, list[Any]], k: int, more: list[Any], limit: float) -> None:
    keeps_promises("annealing", Annealing(seconds=None, evaluations=400), table, k, more, limit)


@pytest.mark.slow
def test_repeats_with_its_seed(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repeats_with_its_seed(Annealing(), shared, monkeypatch)


@pytest.mark.slow
def test_beats_full_domain(shared: Path) -> None:
    beats_full_domain(Annealing(), shared)


@pytest.mark.slow
def test_stops_in_time(shared: Path) -> None:
    stops_in_time(Annealing(evaluations=100), shared)


@pytest.mark.parametrize(
    "check", [infeasible_at_once, finds_a_part, takes_columns_of_one_value, tells_progress, keeps_levels]
)
def test_behaviour(check: Any) -> None:
    check(Annealing(seconds=None, patience=100))


def test_takes_what_is_under_the_threshold() -> None:
    """state = loss, share of rows too many, penalty, threshold, best valid loss, unit, loss of the trial."""
    bits, trial, best = np.zeros(3, np.uint8), np.ones(3, np.uint8), np.zeros(3, np.uint8)
    state = np.array([0.5, 0.0, 10.0, 0.6, 0.5, 1.0, 0.0])
    take(bits, trial, state, best, 0.55, 0.01)  # 0.55 + 10 * 0.01 is over it
    assert not bits.any()
    take(bits, trial, state, best, 0.55, 0.004)  # under it, but not valid: taken, never the best
    assert bits.all()
    assert not best.any()
    assert state[4] == 0.5
    take(bits, trial, state, best, 0.45, 0.0)
    assert best.all()
    assert state[4] == 0.45


@pytest.mark.slow
def test_walks_get_longer(shared: Path) -> None:
    """A cold start is over soon, so that a short run has a good cut too."""
    problem = nine(shared, 0.04)
    losses = [Annealing(seconds=None, evaluations=n)(problem).verdict.loss for n in (100, 1000, 10_000)]
    assert losses == sorted(losses, reverse=True)
    assert losses[0] > losses[2]


@pytest.mark.parametrize("wrong", [{"heat": 0}, {"heat": float("inf")}, {"steps": 0}, {"steps": 1.5}])
def test_parameters(wrong: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match=next(iter(wrong))):
        Annealing(**wrong)


def test_height_is_refused() -> None:
    with pytest.raises(PolicyError, match="height"):
        Annealing()(small((["a", "b"], [sf.KAnonymity(2)], 0, "height"), 1))
