"""Interval disclosure by rank and by standard deviation."""

from __future__ import annotations

from datetime import date

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ColumnError, HierarchyError, InputError, PolicyError
from sfumato.measures.risk import interval_disclosure


def line(original, released, **windows):
    return interval_disclosure({"x": original}, {"x": released}, ["x"], **windows).row(0, named=True)


def test_four_rows_by_hand():
    # sd of 10 20 30 40 is 12.91: a tenth is 1.29, so 40 -> 60 alone is outside
    found = line([10, 20, 30, 40], [10, 21, 29, 60], rank=25, sd=0.1)
    assert found["sd"] == 0.75
    # each interval holds the one original nearby, that of 60 none: 3 of 16 pairs
    assert found["sd_baseline"] == 3 / 16
    # one rank to each side of 10 21 29 60: [10, 21] [10, 29] [21, 60] [29, 60], and all originals are inside
    assert found["rank"] == 1
    # in these lie 2, 2, 2 and 2 of the originals
    assert found["rank_baseline"] == 8 / 16


def test_no_window_is_equality():
    found = line([10, 20, 30, 40], [10, 21, 29, 40], rank=0, sd=0)
    assert (found["rank"], found["sd"]) == (0.5, 0.5)


def test_rows_that_are_all_inside():
    one = {"x": [0, 10, 20, 30], "y": ["a", "b", "c", "d"]}
    other = {"x": [0, 10, 29, 30], "y": ["a", "c", "c", "d"]}
    found = interval_disclosure(one, other, ["x", "y"], rank=0, sd=0.01)
    assert found["column"].to_list() == ["x", "y", None]
    assert found["rank"].to_list() == [0.75, 0.75, 0.5]
    assert found["sd"].to_list() == [0.75, None, None]  # text has no standard deviation


def test_suppressed_values_disclose_nothing_and_missing_originals_are_left_out():
    found = line([10, 20, None, 40], [None, 20, 30, 41], rank=100, sd=0.001)
    assert found["rows"] == 3
    assert found["sd"] == pytest.approx(1 / 3)
    assert found["rank"] == pytest.approx(2 / 3)  # the window is all that is released, 20 to 41


def test_dates_and_numbers_in_text():
    days = [date(2020, 1, 1), date(2020, 1, 2), date(2020, 2, 1)]
    assert line(days, days[::-1], rank=0, sd=0.0)["sd"] == pytest.approx(1 / 3)
    assert line(["1", "2", "10"], ["1", "2", "9"], sd=0.5)["sd"] == 1.0


def test_nothing_is_released():
    found = line([1, 2, 3], [None, None, None])
    assert (found["rank"], found["sd"], found["rank_baseline"]) == (0, 0, 0)


def test_an_identical_copy_is_disclosed_and_noise_is_near_its_baseline():
    rng = np.random.default_rng(2)
    x = rng.normal(size=2000)
    assert line(x, x)["rank"] == line(x, x)["sd"] == 1
    shuffled = line(x, rng.permutation(x))
    assert shuffled["rank"] == pytest.approx(shuffled["rank_baseline"], abs=0.03)
    assert shuffled["sd"] == pytest.approx(shuffled["sd_baseline"], abs=0.03)


NUMBERS = st.one_of(st.none(), st.floats(allow_nan=True, allow_infinity=True), st.just(1e308))


@given(st.lists(st.tuples(NUMBERS, NUMBERS), min_size=1, max_size=12), st.floats(0, 100), st.floats(0, 5))
def test_nasty_numbers(rows, rank, sd):
    one, other = ([row[i] for row in rows] for i in (0, 1))
    frames = [pl.DataFrame({"x": pl.Series(values, dtype=pl.Float64)}) for values in (one, other)]
    found = interval_disclosure(*frames, ["x"], rank=rank, sd=sd).row(0, named=True)
    for name in ("rank", "sd", "rank_baseline", "sd_baseline"):
        assert found[name] is None or 0 <= found[name] <= 1


def test_refusals():
    with pytest.raises(ColumnError, match="labels of groups"):
        line([1, 2], ["[1, 2]", "[1, 2]"])
    with pytest.raises(InputError, match="equally many"):
        line([1, 2], [1])
    with pytest.raises(PolicyError, match="rank"):
        line([1], [1], rank=101)
    with pytest.raises(PolicyError, match="sd"):
        line([1], [1], sd=-1)
    with pytest.raises(ColumnError, match="released table"):
        interval_disclosure({"x": [1]}, {"y": [1]}, ["x"])
    with pytest.raises(PolicyError, match="no column"):
        interval_disclosure({"x": [1]}, {"x": [1]}, [])


@pytest.mark.parametrize("seed", range(6))
def test_categories_in_a_given_order_as_their_ranks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    order = ["S", "M", "L", "XL"]
    codes, moved = rng.integers(0, 4, 12), rng.integers(0, 4, 12)
    texts = [{"x": [order[i] for i in some]} for some in (codes, moved)]
    found = interval_disclosure(*texts, ["x"], rank=20, order={"x": order}).row(0, named=True)
    plain = interval_disclosure({"x": codes}, {"x": moved}, ["x"], rank=20).row(0, named=True)
    assert (found["rank"], found["rank_baseline"], found["sd"]) == (plain["rank"], plain["rank_baseline"], None)
    with pytest.raises(HierarchyError, match="order does not cover"):
        interval_disclosure(*texts, ["x"], order={"x": order[:1]})


def test_an_order_among_the_hierarchies_counts() -> None:
    sizes, moved = {"size": ["S", "M", "L", "XL"]}, {"size": ["M", "S", "XL", "S"]}
    plain = sf.risk(moved, quasi=["size"], original=sizes)
    assert "note" in plain["interval_disclosure"]
    found = sf.risk(moved, quasi=["size"], original=sizes, hierarchies={"size": sf.order(["S", "M", "L", "XL"])})
    assert set(found["interval_disclosure"]["columns"]) == {"size"}
