"""Samples: exact sizes, strata, systematic ones, whole households, weights that add up, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ColumnError, PolicyError
from sfumato.masking.sampling import Sampling
from sfumato.release.facts import as_dict, check_public, of_rows
from sfumato.verbs.steps import masker, parse

ROWS = 1000
TABLE = pl.DataFrame(
    {
        "id": np.arange(ROWS),
        "region": ["north", "south", "south", "west", None] * (ROWS // 5),
        "home": np.arange(ROWS) // 4,
        "w": np.linspace(1, 3, ROWS),
    }
)


def test_a_simple_sample_has_its_size_and_repeats_with_its_seed(run: Any) -> None:
    found = run(TABLE, Sampling(size=137))
    assert found.table.height == 137
    assert found.rows.tolist() == sorted(set(found.rows.tolist())) == found.table["id"].to_list()
    assert found.changed == ()
    assert run(TABLE, parse("sampling fraction=0.137")).table.equals(found.table)
    assert not run(TABLE, Sampling(size=137), seed=2).table.equals(found.table)


def test_every_row_is_as_likely(run: Any) -> None:
    small = TABLE.head(10)
    for step in (Sampling(size=3), Sampling(size=3, method="systematic")):
        often = np.bincount(np.concatenate([run(small, step, seed=i).rows for i in range(256)]), minlength=10)
        assert often.sum() == 3 * 256
        assert (abs(often - 76.8) < 35).all()  # nearly five standard deviations


def test_strata_take_their_share_and_weights_add_up_in_each(run: Any) -> None:
    found = run(TABLE, Sampling(fraction=0.05, by="region"), weight="w")
    sizes = found.table["region"].value_counts().sort("region")
    assert sizes.rows() == [(None, 10), ("north", 10), ("south", 20), ("west", 10)]
    for name in ("south", "west"):
        before, after = (t.filter(pl.col("region") == name)["w"].sum() for t in (TABLE, found.table))
        assert after == pytest.approx(before)
    assert {fact.fact for _, fact in found.facts} == {"rows", "total"}
    for _, fact in found.facts:
        assert check_public(found.table, None, as_dict(fact, 0)).holds
        assert not check_public(found.table.head(49), None, as_dict(fact, 0)).holds


def test_sizes_of_strata(run: Any) -> None:
    step = masker("sampling", size={"north": 5, "south": 0, "west": 200, "": 1}, by="region")
    sizes = run(TABLE, step).table["region"].value_counts().sort("region")
    assert sizes.rows() == [(None, 1), ("north", 5), ("west", 200)]
    assert masker("sampling", **step.parameters()) == step
    assert "size" not in step.published_parameters()  # nobody of the south may be known to have been there
    assert "south" not in step.sentence()
    for sizes, message in (
        ({"north": 5}, 'size leaves out 3 strata of "region"'),
        ({"nort": 5}, r'strata that "region" does not have; got "nort"'),
        ({"north": 201, "south": 0, "west": 0, "": 0}, "larger than their strata"),
    ):
        with pytest.raises(PolicyError, match=message):
            run(TABLE, Sampling(size=sizes, by="region"))


def test_a_systematic_sample_is_spread_over_its_order(run: Any) -> None:
    found = run(TABLE.reverse(), Sampling(size=250, method="systematic", order="w"))
    assert set(np.diff(np.sort(found.table["id"].to_numpy()))) == {4}


def test_households_stay_whole(run: Any) -> None:
    found = run(TABLE, Sampling(size=20, household="home"), weight="w")
    assert found.table.height == 80
    assert set(found.table["home"].value_counts()["count"]) == {4}
    assert found.table["w"].sum() == pytest.approx(TABLE["w"].sum())
    with pytest.raises(PolicyError, match="stand in several strata"):
        run(TABLE, Sampling(size=20, household="home", by="region"))
    with pytest.raises(ColumnError, match='"region" is missing in 200 rows'):
        run(TABLE, Sampling(size=20, household="region"))


def test_weights_add_up_to_a_stated_total(run: Any) -> None:
    found = run(TABLE, Sampling(size=10, total=5_000_000), weight="w")
    assert found.table["w"].sum() == pytest.approx(5_000_000)
    with pytest.raises(PolicyError, match="no column of weights is given"):
        run(TABLE, Sampling(size=10, total=5))


def test_facts_of_values_name_none_that_left(run: Any) -> None:
    stated = {"values": ["north", "south", "west"]}
    assert of_rows("among", ["region"], stated, TABLE.head(2)) == {"values": ["north", "south"]}
    assert of_rows("between", ["x"], {"low": 1, "high": 90_000}, pl.DataFrame({"x": [1.0, 7.5]})) == {"low": 1}
    assert of_rows("points", ["x"], {"base": 10}, pl.DataFrame({"x": [10]})) == {"base": 10}


def test_bounds_that_came_from_rows_that_left_are_not_told() -> None:
    """The bound lies between the largest values, which no released row has."""
    table = {"age": [30] * 19 + [99], "pay": [1000 + i for i in range(17)] + [77_000, 88_000, 99_000]}
    coded = sf.TopBottomCoding("pay", top=95, kind="percentile")
    asked: dict[str, Any] = {"rest": "release", "seed": 1}
    whole = sf.mask(table, coded, **asked)
    assert whole.manifest["steps"][0]["published"]["bounds"]["pay"]["top"] > 77_000
    sampled = sf.mask(table, [coded, sf.Sampling(size={"30": 1, "99": 0}, by="age")], **asked)
    assert "published" not in sampled.manifest["steps"][0]
    assert [fact.fact for fact in sampled.facts] == ["rows"]
    searched = sf.anonymize(table, quasi=["age"], k=5, suppression=0.1, mask=coded, **asked)
    kept = [fact["parameters"] for fact in searched.manifest["facts"]]
    assert searched.manifest["solution"]["suppressed"] == 1
    assert "published" not in searched.manifest["steps"][0]
    assert all(bound in searched.data["pay"] for ends in kept for bound in ends.values())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "the size of the sample or its fraction"),
        ({"size": 3, "fraction": 0.5}, "the size of the sample or its fraction"),
        ({"size": 3, "columns": "w"}, "takes whole rows"),
        ({"size": {"a": 3}}, "one column of strata; got 0 columns"),
        ({"size": {"a": 0}, "by": "region"}, "all 0"),
        ({"fraction": 1.5}, "fraction is out of range"),
        ({"size": 3, "method": "quota"}, "unknown method of sampling"),
        ({"size": 3, "order": "w"}, "an order is for systematic samples"),
    ],
)
def test_bad_parameters_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        masker("sampling", **given)


def test_a_size_above_the_table_is_refused(run: Any) -> None:
    with pytest.raises(PolicyError, match="it has 1,000 rows; got 1,001"):
        run(TABLE, Sampling(size=1001))
