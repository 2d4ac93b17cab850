"""Uniqueness in the sample, estimated in the population, and counted in it."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import PolicyError
from sfumato.measures.risk import population_uniqueness, sample_uniqueness, unique_in_population
from sfumato.measures.risk.uniqueness import MODELS


def of_sizes(sizes):
    return pl.DataFrame({"a": np.repeat(np.arange(len(sizes)), sizes)})


def test_sample_uniqueness_by_hand():
    found = sample_uniqueness({"age": [20, 30, 40, 40]}, ["age"])
    assert (found.value, found.details) == (0.5, {"uniques": 2, "rows": 4})
    assert found.sentence == "2 records of 4 (50%) are unlike any other in the quasi-identifiers."
    assert sample_uniqueness({"age": [20]}, ["age"]).value == 1


def test_zayatz_by_hand():
    # n=4 of N=8, classes 1 1 2. Of a class of 2 one is sampled with 2 * 4/8 * 4/7 = 4/7, of a class of 1 with 1/2:
    # Pr(PU given SU) = (2/3 1/2)/(2/3 1/2 + 1/3 4/7) = 7/11, and 2 uniques * 7/11 / (1/2) of 8
    found = population_uniqueness({"age": [20, 30, 40, 40]}, ["age"], population_size=8, model="zayatz")
    assert found.details["pu_given_su"] == pytest.approx(7 / 11, abs=1e-12)
    assert found.details["uniques"] == pytest.approx(28 / 11, abs=1e-12)
    assert found.value == found.details["pu"] == pytest.approx(28 / 88, abs=1e-12)


def test_a_population_table_by_hand():
    # sample 20 30 40 40; in the population 20 and 50 are alone, 30 is not
    found = unique_in_population({"age": [20, 30, 40, 40]}, ["age"], {"age": [20, 30, 30, 40, 40, 50]})
    assert found == {
        "pu": 2 / 6,
        "pu_given_su": 1 / 2,
        "population_uniques": 2,
        "sample_uniques": 2,
        "both": 1,
        "population_size": 6,
    }


def test_without_sample_uniques_the_share_of_them_is_not_defined():
    found = unique_in_population({"a": [1, 1]}, ["a"], {"a": [1, 1, 2]})
    assert found["pu"] == 1 / 3
    assert math.isnan(found["pu_given_su"])


@pytest.mark.parametrize("model", MODELS)
def test_limits(model):
    assert population_uniqueness(of_sizes([2, 3, 2]), ["a"], sampling_fraction=0.1, model=model).value == 0
    assert population_uniqueness(of_sizes([1] * 30), ["a"], sampling_fraction=0.05, model="pitman").value == 1


@pytest.mark.parametrize("model", ["zayatz", "snb"])
def test_a_full_count_is_no_estimate(model):
    found = population_uniqueness(of_sizes([1, 1, 2, 4]), ["a"], sampling_fraction=1.0, model=model)
    assert found.value == pytest.approx(2 / 8)
    assert found.details["pu_given_su"] == pytest.approx(1)


@pytest.mark.slow
def test_adult_as_arx_has_it(shared):
    case = next(
        case for case in json.loads((shared / "oracles/arx-adult.json").read_text())["cases"] if case["id"] == "f_risk"
    )
    table = pl.read_csv(shared / "data/arx/adult.csv", separator=";")
    quasi = case["qi_columns"]
    for name, told in case["population_uniqueness"].items():
        if name == "dankar_selected_model":
            continue
        found = population_uniqueness(table, quasi, population_size=case["population_size"], model=name.lower())
        assert found.value == pytest.approx(told["fraction_of_population_unique"], rel=1e-9)
        assert found.details["uniques"] == pytest.approx(told["num_unique_in_population"], rel=1e-9)
    for name, told in case["population_uniqueness_other_sampling_fractions"].items():
        fraction = float(name.rsplit("_", 1)[1])
        by_model = {m: population_uniqueness(table, quasi, sampling_fraction=fraction, model=m).value for m in MODELS}
        for model in ("pitman", "zayatz"):
            assert by_model[model] == pytest.approx(told[model.upper()]["fraction"], rel=1e-9)
        # the rule, with an SNB that is solved
        smaller = min(by_model["zayatz"], by_model["snb"])
        assert by_model["dankar"] == (by_model["pitman"] if fraction <= 0.1 else smaller)


def test_models_find_a_population_that_is_theirs():
    # classes of 1 + a negative binomial, half of the people sampled
    rng = np.random.default_rng(5)
    classes = 1 + rng.negative_binomial(0.8, 0.45, 60_000)
    sample = rng.binomial(classes, 0.5)
    truth = (classes == 1).sum() / classes.sum()
    table = of_sizes(sample[sample > 0])
    fraction = table.height / classes.sum()
    estimate = population_uniqueness(table, ["a"], sampling_fraction=fraction, model="snb").value
    assert estimate == pytest.approx(truth, rel=0.15)


@given(st.lists(st.integers(1, 30), min_size=1, max_size=40), st.floats(1e-6, 1.0), st.sampled_from(MODELS))
def test_estimates_are_shares_or_say_why_not(sizes, fraction, model):
    found = population_uniqueness(of_sizes(sizes), ["a"], sampling_fraction=fraction, model=model)
    if math.isnan(found.value):
        assert model == "snb"
        assert "no solution" in found.sentence
    else:
        assert 0 <= found.value <= 1
        given_unique = found.details["pu_given_su"]
        assert math.isnan(given_unique) if 1 not in sizes else 0 <= given_unique <= 1
    json.dumps(found.to_dict(), allow_nan=False)


def test_refusals():
    table = {"a": [1, 2]}
    with pytest.raises(PolicyError, match="only one"):
        population_uniqueness(table, ["a"])
    with pytest.raises(PolicyError, match="only one"):
        population_uniqueness(table, ["a"], population_size=10, sampling_fraction=0.2)
    with pytest.raises(PolicyError, match="at least the 2 rows"):
        population_uniqueness(table, ["a"], population_size=1)
    with pytest.raises(PolicyError, match="sampling_fraction"):
        population_uniqueness(table, ["a"], sampling_fraction=0)
    with pytest.raises(PolicyError, match="did you mean"):
        population_uniqueness(table, ["a"], sampling_fraction=0.1, model="pitmann")
