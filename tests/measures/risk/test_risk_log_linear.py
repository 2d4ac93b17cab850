"""The log-linear model: expected population uniques and correct matches among the sample uniques."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import PolicyError
from sfumato.measures.risk import log_linear
from sfumato.measures.risk.keys import keys_of
from sfumato.measures.risk.log_linear_risk import _possible, _two_way
from sfumato.measures.risk.summary import log_linear_measures


def test_four_rows_by_hand():
    # uniques (1, 0) and (1, 1): under independence mu = 4 * 1/2 * 3/4 and 4 * 1/2 * 1/4; with pi = 1/2, h = mu
    found = log_linear({"a": [0, 0, 1, 1], "b": [0, 0, 0, 1]}, ["a", "b"], 0.5)
    alone = found["independence"]
    assert found["uniques"] == 2
    assert alone["tau1"] == pytest.approx(math.exp(-1.5) + math.exp(-0.5), abs=1e-12)
    assert alone["tau2"] == pytest.approx((1 - math.exp(-1.5)) / 1.5 + (1 - math.exp(-0.5)) / 0.5, abs=1e-12)
    # two keys and their pair: mu are the counts, 1
    assert found["two-way"]["tau1"] == pytest.approx(2 * math.exp(-1), abs=1e-6)
    assert found["two-way"]["tau2"] == pytest.approx(2 * (1 - math.exp(-1)), abs=1e-6)


def test_the_rate_is_that_of_the_population():
    # mu = 1 in a sample of one in a hundred is a hundred people: lambda(1 - pi) = 99
    found = log_linear({"a": [0, 1, 2, 2]}, ["a"], 0.01)
    assert found["independence"]["tau1"] == pytest.approx(2 * math.exp(-99), rel=1e-9)
    assert found["independence"]["tau2"] == pytest.approx(2 / 99, rel=1e-9)
    assert found["two-way"]["tau2"] == found["independence"]["tau2"]


def test_a_full_count():
    found = log_linear({"a": [0, 0, 1], "b": [0, 0, 1]}, ["a", "b"], 1.0)
    assert found["independence"] == {"tau1": 1.0, "tau2": 1.0}


def test_the_two_way_fit_has_the_margins_and_no_third_interaction():
    rng = np.random.default_rng(3)
    table = pl.DataFrame({"a": rng.integers(0, 2, 300), "b": rng.integers(0, 2, 300), "c": rng.integers(0, 2, 300)})
    table = table.with_columns(c=pl.when(pl.col("a") + pl.col("b") == 2).then(1).otherwise(pl.col("c")))
    cells = keys_of(table, ["a", "b", "c"]).cells
    possible = _possible(cells, 100)
    mean, _, gap = _two_way(cells, possible)
    assert gap <= 1e-7
    cube, seen = np.zeros((2, 2, 2)), np.zeros((2, 2, 2))
    cube[tuple(possible)], seen[tuple(cells.codes)] = mean, cells.count
    for axis in range(3):
        assert cube.sum(axis) == pytest.approx(seen.sum(axis), rel=1e-6)


def test_odds_ratios_of_the_fit_are_equal():
    rng = np.random.default_rng(4)
    table = pl.DataFrame({name: rng.integers(0, 2, 400) * rng.integers(0, 2, 400) for name in "abc"})
    cells = keys_of(table, ["a", "b", "c"]).cells
    possible = _possible(cells, 100)
    cube = np.zeros((2, 2, 2))
    cube[tuple(possible)] = _two_way(cells, possible)[0]
    odds = cube[0, 0] * cube[1, 1] / (cube[0, 1] * cube[1, 0])
    assert odds[0] == pytest.approx(odds[1], rel=1e-5)


def test_too_many_combinations_are_left_out_and_said():
    rng = np.random.default_rng(1)
    table = pl.DataFrame({f"q{i}": rng.integers(0, 9, 500) for i in range(4)})
    found = log_linear(table, table.columns, 0.1, most_cells=1000)
    assert "more than 1000" in found["two-way"]["note"]
    assert found["independence"]["tau1"] > 0


def test_it_finds_the_matches_of_a_simulated_survey():
    # independent keys, so both models are true: tau1 counts population uniques among sample uniques
    rng = np.random.default_rng(7)
    people = np.stack([rng.zipf(1.7, 80_000) % 12, rng.zipf(1.7, 80_000) % 12, rng.zipf(1.7, 80_000) % 10])
    key = (people[0] * 12 + people[1]) * 10 + people[2]
    size = np.bincount(key, minlength=1440)
    chosen = rng.random(80_000) < 0.1
    sample = np.bincount(key[chosen], minlength=1440)
    table = pl.DataFrame({f"q{i}": column[chosen] for i, column in enumerate(people)})
    found = log_linear(table, table.columns, 0.1)
    matches = (1 / size[(sample == 1)]).sum()
    assert found["uniques"] == (sample == 1).sum()
    assert found["independence"]["tau2"] == pytest.approx(matches, rel=0.3)
    assert found["two-way"]["tau2"] == pytest.approx(matches, rel=0.4)


@given(
    st.lists(st.tuples(*[st.sampled_from(["a", "b", "c", None])] * 3), min_size=1, max_size=15),
    st.floats(0.001, 1.0),
)
def test_tau1_is_at_most_tau2_and_both_at_most_the_uniques(rows, fraction):
    table = pl.DataFrame(rows, schema=dict.fromkeys("abc", pl.String), orient="row")
    found = log_linear(table, ["a", "b", "c"], fraction)
    for model in ("independence", "two-way"):
        of = found[model]
        assert 0 <= of["tau1"] <= of["tau2"] + 1e-12 <= found["uniques"] + 1e-9


def test_refusals():
    for fraction in (0, 1.5, None):
        with pytest.raises(PolicyError, match="sampling_fraction"):
            log_linear({"a": [1]}, ["a"], fraction)


@pytest.mark.parametrize(("gap", "told"), [(1e-9, False), (0.03, True)])
def test_a_fit_that_did_not_converge_is_told(gap, told):
    fitted = {"tau1": 1.0, "tau2": 1.5, "sweeps": 1000, "gap": gap}
    found = {"uniques": 3, "sampling_fraction": 0.1, "independence": {"tau1": 2.0, "tau2": 2.0}, "two-way": fitted}
    for measure in log_linear_measures(found):
        assert ("did not converge: after 1000 sweeps it misses the counts by up to 0.03" in measure.sentence) == told


def test_a_small_table_is_fitted_further_and_what_is_left_is_noted():
    """Its fit is at the edge: cells that should be empty shrink as one over the sweeps; 1,000 leave a gap of 1e-3."""
    rng = np.random.default_rng(8)
    table = {name: rng.integers(0, 4, 30).tolist() for name in "abc"}
    found = log_linear(table, ["a", "b", "c"], 0.1)["two-way"]
    assert found["sweeps"] > 1000
    assert 1e-7 < found["gap"] < 1e-4
    assert found["note"].startswith(f"not converged: after {found['sweeps']} sweeps")
    plain = log_linear({"a": [0, 0, 1, 1], "b": [0, 1, 0, 1], "c": [0, 1, 1, 0]}, ["a", "b"], 0.1)["two-way"]
    assert "note" not in plain
