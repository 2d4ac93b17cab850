"""Microaggregation as a step: aggregates, the fact it states, missing values, strata, refusals."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ColumnError, PolicyError
from sfumato.masking import MASKERS
from sfumato.release.facts import as_dict, check_public
from sfumato.search.microaggregation.robust import mcd
from sfumato.search.microaggregation.step import Microaggregation
from sfumato.verbs.steps import parse
from tests.masking.conftest import Apply

STEPS = [name for name, variant in MASKERS.items() if isinstance(variant.example, Microaggregation)]
TABLE = pl.DataFrame({"x": [1, 2, 3, 10, 11, 12, 13, 30, 31, 33], "y": [5.0] * 10, "sex": ["f", "m"] * 5})


@pytest.mark.parametrize("name", STEPS)
def test_groups_of_k_rows_and_the_mean_stays(name: str, apply: Apply) -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"a": rng.normal(size=50), "b": rng.integers(0, 9, 50)})
    step = MASKERS[name].make(["a", "b"], k=4)
    change = apply(step, frame)
    fact = as_dict(change.facts[0], 0)
    assert check_public(change.columns, None, fact).holds
    assert not check_public(frame, None, fact).holds
    for column in ("a", "b"):
        assert change.columns[column].mean() == pytest.approx(frame[column].mean())
    assert step == MASKERS[name].make(**step.parameters())
    assert "at least 4" in step.sentence()


def test_the_worked_example(apply: Apply) -> None:
    assert apply(sf.IndividualRanking("x", k=3), TABLE).columns["x"].to_list() == [2] * 3 + [11.5] * 4 + [94 / 3] * 3
    median = apply(sf.IndividualRanking("x", k=3, aggregate="median"), TABLE).columns["x"]
    assert median.to_list() == [2, 2, 2, 11.5, 11.5, 11.5, 11.5, 31, 31, 31]
    whole = apply(parse("mdav x,y k=5 aggregate=median"), TABLE).columns
    assert whole["x"].to_list() == [3] * 5 + [30] * 5
    assert whole.schema["x"] == pl.Int64


def test_rows_that_lack_the_same_are_grouped_together(apply: Apply) -> None:
    frame = pl.DataFrame({"x": [1, 2, 3, 4, None, None, 7], "y": [1.0, 2.0, 3.0, 4.0, 5.0, 7.0, None]})
    found = apply(sf.MDAV(["x", "y"], k=2), frame).columns
    assert found["x"].to_list() == [1.5, 1.5, 3.5, 3.5, None, None, None]  # nobody else lacks y alone
    assert found["y"].to_list() == [1.5, 1.5, 3.5, 3.5, 6, 6, None]
    each = apply(sf.IndividualRanking(["x", "y"], k=2), frame).columns
    assert each["x"].null_count() == 2
    assert apply(sf.IndividualRanking("x", k=6), frame).columns["x"].null_count() == 7  # five values are too few


def test_strata_and_columns_that_fit(run: Any) -> None:
    found = run(TABLE, sf.MDAV(k=5, by="sex"))
    assert found.changed == ("x", "y")
    assert found.table.group_by("sex").agg(pl.col("x").n_unique())["x"].to_list() == [1, 1]
    with pytest.raises(PolicyError, match=r"k is larger than the table, or a stratum of it.*stratum 1 of 2"):
        run(TABLE, sf.MDAV(k=6, by="sex"))


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (lambda: sf.MDAV(k=0), "mdav: k is out of range"),
        (lambda: sf.MDAV(k=3, block=1), "mdav: block is out of range"),
        (lambda: sf.MDAV(k=3, aggregate="mode"), "unknown aggregate of mdav"),
        (lambda: sf.VMDAV(k=3, gamma=-1), "vmdav: gamma is out of range"),
        (lambda: sf.RefinedMicroaggregation(k=3, start="k-means"), "unknown start of refined-microaggregation"),
        (lambda: sf.RefinedMicroaggregation(k=3, seconds=0), "seconds is out of range"),
        (lambda: sf.RefinedMicroaggregation(k=3, rounds=0), "rounds is out of range"),
    ],
)
def test_parameters_that_make_no_sense(step: Any, words: str) -> None:
    with pytest.raises(PolicyError, match=words):
        step()


def test_a_step_needs_k_and_numbers(apply: Apply) -> None:
    with pytest.raises(PolicyError, match="the size of groups is not given"):
        apply(sf.MDAV("x"), TABLE)
    with pytest.raises(ColumnError, match="takes columns of numbers"):
        apply(sf.MDAV("sex", k=3), TABLE)


MIXED = pl.DataFrame(
    {
        "age": [20, 21, 22, 60, 61, 65],
        "town": ["a1", "a1", "a2", "b1", "b2", "b1"],
        "job": pl.Series(["cook", "cook", "nurse", "nurse", "nurse", None], dtype=pl.Categorical),
        "seen": [date(2024, 1, d) for d in (1, 2, 6, 20, 20, 23)],
    }
)
TOWNS = sf.wide([("a1", "a", "*"), ("a2", "a", "*"), ("b1", "b", "*"), ("b2", "b", "*")])


def test_numbers_dates_and_categories_together(apply: Apply) -> None:
    found = apply(sf.GowerMicroaggregation(["age", "town", "seen"], k=3), MIXED).columns
    assert found["age"].to_list() == [21] * 3 + [62] * 3
    assert found["town"].to_list() == ["a1"] * 3 + ["b1"] * 3
    assert found["seen"].to_list() == [date(2024, 1, 3)] * 3 + [date(2024, 1, 21)] * 3
    tree = apply(sf.GowerMicroaggregation(["age", "town"], k=3), MIXED, hierarchies={"town": TOWNS}).columns
    assert tree["town"].to_list() == ["a"] * 3 + ["b"] * 3
    two = apply(sf.GowerMicroaggregation(["age", "job"], k=2, aggregate="median"), MIXED).columns
    assert two["job"].to_list() == ["cook", "cook", "nurse", "nurse", "nurse", None]
    assert two["age"].to_list() == [20.5, 20.5, 60, 60, 60, None]  # nobody else lacks the job alone
    assert two.schema["job"] == pl.Categorical


def test_weights_say_which_column_counts(apply: Apply) -> None:
    frame = pl.DataFrame({"x": [0, 1, 9, 10], "c": ["p", "q", "p", "q"]})
    for weights, x in (({"c": 0}, [0.5, 0.5, 9.5, 9.5]), ({"x": 0.1}, [4.5, 5.5, 4.5, 5.5])):
        assert apply(sf.GowerMicroaggregation(["x", "c"], k=2, weights=weights), frame).columns["x"].to_list() == x
    with pytest.raises(ColumnError, match='no column "y"'):
        apply(sf.GowerMicroaggregation(["x", "c"], k=2, weights={"y": 1}), frame)
    with pytest.raises(PolicyError, match='weights of "x" is out of range'):
        sf.GowerMicroaggregation(k=2, weights={"x": -1})


def test_outliers_do_not_decide_what_is_near() -> None:
    """Of two correlated columns with a few outliers, the robust covariance is that of the others."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 2)) @ np.array([[1.0, 0.9], [0.0, 0.3]])
    far = np.vstack([x, rng.normal(size=(30, 2)) * 0.1 + [10, -10]])
    assert np.abs(mcd(far)[1] / np.cov(x, rowvar=False)).max() < 1.1
    assert np.cov(far, rowvar=False)[0, 1] < 0 < mcd(far)[1][0, 1]
    assert np.bincount(sf.RobustMicroaggregation().groups(far, 5)).min() >= 5
