"""Prosecutor, journalist and marketer risk, and the two readings of a suppressed value."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ColumnError, PolicyError
from sfumato.measures.risk import journalist, marketer, prosecutor, sample_uniqueness
from sfumato.measures.risk import keys as matching_module
from sfumato.measures.risk.keys import keys_of

FOUR = {"age": [30, 30, 40, 50], "sex": ["F", "F", "F", "M"]}
CELLS = st.one_of(st.none(), st.sampled_from(["a", "b", "*", "", "ü\u200d", "-1"]))


def tables(columns=3, rows=12):
    names = [f"q{i}" for i in range(columns)]
    row = st.tuples(*[CELLS] * columns)
    return st.lists(row, min_size=1, max_size=rows).map(
        lambda found: pl.DataFrame(found, schema=dict.fromkeys(names, pl.String), orient="row")
    )


def test_four_rows_by_hand():
    # classes of 2, 1, 1: risks 1/2 1/2 1 1
    assert prosecutor(FOUR, ["age", "sex"], threshold=0.5) == {
        "highest": 1.0,
        "average": 0.75,
        "lowest": 0.5,
        "records_at_risk": 0.5,
        "at_highest": 0.5,
        "at_lowest": 0.5,
        "smallest": 1,
        "largest": 2,
        "classes": 3,
        "rows": 4,
        "threshold": 0.5,
    }


def test_records_at_risk_are_strictly_above():
    for n in range(1, 60):
        table = {"a": [0] * n}
        assert prosecutor(table, ["a"], threshold=1 / n)["records_at_risk"] == 0
        assert prosecutor(table, ["a"], threshold=0.999 / n)["records_at_risk"] == 1


def test_a_population_by_hand():
    # 30 F is three times in the population, 40 F twice, 50 M nowhere: it counts the one record of the sample
    population = {"age": [30, 30, 30, 40, 40], "sex": ["F", "F", "F", "F", "F"]}
    found = journalist(FOUR, ["age", "sex"], population)
    assert found["average"] == pytest.approx((1 / 3 + 1 / 3 + 1 / 2 + 1) / 4)
    assert (found["highest"], found["smallest"], found["largest"]) == (1.0, 1, 3)
    assert found["outside"] == 0.25
    sold = marketer(FOUR, ["age", "sex"], population)
    assert sold["average"] == found["average"]
    assert sold["expected_records"] == pytest.approx(1 / 3 + 1 / 3 + 1 / 2 + 1)


def test_without_a_population_the_journalist_is_the_prosecutor():
    mine, theirs = prosecutor(FOUR, ["age", "sex"]), journalist(FOUR, ["age", "sex"])
    assert theirs == mine | {"outside": 0.0}
    assert marketer(FOUR, ["age", "sex"])["average"] == mine["average"]


def test_wildcards_by_hand():
    # None matches everything: each known row matches itself and it, the row itself all four
    table = {"zip": ["1", "2", "2", None]}
    own = prosecutor(table, ["zip"])
    assert (own["average"], own["smallest"]) == (3 / 4, 1)
    free = prosecutor(table, ["zip"], wildcard=True)
    assert free["average"] == pytest.approx((1 / 2 + 1 / 3 + 1 / 3 + 1 / 4) / 4)
    assert (free["smallest"], free["largest"]) == (2, 4)
    assert prosecutor({"zip": ["1", "2", "2", "*"]}, ["zip"], wildcard=True) == free
    assert sample_uniqueness(table, ["zip"], wildcard=True).value == 0
    assert sample_uniqueness(table, ["zip"]).value == 0.5


def test_wildcards_in_a_population():
    found = journalist({"a": ["x", None]}, ["a"], {"a": ["x", "*", "y", "y"]}, wildcard=True)
    assert (found["highest"], found["lowest"]) == (1 / 2, 1 / 4)  # x: x and *; None: all four


@given(tables(), st.sampled_from([2**62, 5]))
def test_wildcards_are_those_of_comparing_all_pairs(table, width):
    rows = [tuple(None if v in ("", "*") else v for v in row) for row in table.rows()]
    same = [sum(all(x is None or y is None or x == y for x, y in zip(a, b, strict=True)) for b in rows) for a in rows]
    before, matching_module.LARGEST_KEY = matching_module.LARGEST_KEY, width  # 5: as if the keys were too wide
    try:
        keys = keys_of(table, table.columns, wildcard=True)
        assert keys.size[keys.cell_of_row].tolist() == same
    finally:
        matching_module.LARGEST_KEY = before


@given(tables(), tables(rows=20))
def test_a_population_is_counted_as_its_rows_are(table, more):
    population = pl.concat([table, more])

    def plain(row):
        return tuple(v or None for v in row)

    rows = [plain(row) for row in population.rows()]
    size = [rows.count(plain(row)) for row in table.rows()]
    found = journalist(table, table.columns, population)
    assert found["average"] == pytest.approx(np.mean([1 / n for n in size]))
    assert found["smallest"] == min(size)
    assert found["outside"] == 0


@given(tables())
def test_wildcards_never_raise_a_risk(table):
    own, free = (prosecutor(table, table.columns, wildcard=w) for w in (False, True))
    for name in ("highest", "average", "lowest", "records_at_risk"):
        assert free[name] <= own[name] + 1e-12
    assert 0 < own["lowest"] <= own["average"] <= own["highest"] <= 1
    assert json.loads(json.dumps(own)) == own


def test_adult_as_arx_has_it(shared):
    case = next(
        case for case in json.loads((shared / "oracles/arx-adult.json").read_text())["cases"] if case["id"] == "f_risk"
    )
    table = pl.read_csv(shared / "data/arx/adult.csv", separator=";")
    told = case["reidentification"]
    for threshold, by_attacker in case["summary_by_threshold"].items():
        mine = prosecutor(table, case["qi_columns"], threshold=float(threshold))
        for key in ("highest", "average", "records_at_risk"):
            assert mine[key] == pytest.approx(by_attacker["prosecutor"][key], abs=1e-12)
    assert mine["lowest"] == pytest.approx(told["lowest_risk"], abs=1e-12)
    assert mine["at_highest"] == pytest.approx(told["records_affected_by_highest_risk"], abs=1e-12)
    assert mine["at_lowest"] == pytest.approx(told["records_affected_by_lowest_risk"], abs=1e-12)
    sold = marketer(table, case["qi_columns"])
    assert sold["average"] == pytest.approx(told["estimated_marketer_risk"], abs=1e-12)
    assert sample_uniqueness(table, case["qi_columns"]).details["uniques"] == case["sample_uniqueness"]["records"]


@pytest.mark.parametrize("sample", [[1, 2], [1.0, 2.0], pl.Series([1, 2], dtype=pl.UInt8)])
@pytest.mark.parametrize(
    "population",
    [[1, 1, 2, 3], [1.0, 1.0, 2.0, None], pl.Series([1, 1, 2, None], dtype=pl.Int16), [1.0, 1.0, 2.0, 2.5]],
)
def test_a_population_of_another_type(sample, population):
    found = journalist({"a": sample}, ["a"], {"a": population})
    assert (found["smallest"], found["largest"], found["outside"]) == (1, 2, 0.0)


def test_a_population_of_text_matches_by_print():
    assert journalist({"a": ["1", "2"]}, ["a"], {"a": [1, 1, 2, 3]})["outside"] == 0
    assert journalist({"a": ["1", "2"]}, ["a"], {"a": [1.0, 1.0, 2.0, 2.5]})["outside"] == 1  # "1" is not "1.0"


def test_huge_integers_stay_apart():
    table = {"a": [2**60, 2**60 + 1]}
    assert prosecutor(table, ["a"])["classes"] == 2
    assert journalist(table, ["a"], {"a": [2**60, 2**60, 2**60 + 1, 5]})["largest"] == 2


def test_nan_and_null_are_one_value():
    assert prosecutor({"a": [float("nan"), None, 1.0]}, ["a"])["classes"] == 2


def test_refusals():
    with pytest.raises(ColumnError, match="did you mean"):
        prosecutor(FOUR, ["agee"])
    with pytest.raises(ColumnError, match="population"):
        journalist(FOUR, ["age", "sex"], {"age": [30]})
    with pytest.raises(PolicyError, match="no quasi"):
        prosecutor(FOUR, [])
    for threshold in (-0.1, 1.1, "0.2", True):
        with pytest.raises(PolicyError, match="threshold"):
            prosecutor(FOUR, ["age"], threshold=threshold)
