from __future__ import annotations

import datetime as dt
import random
import time
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.hierarchy import Categories
from sfumato.errors import PolicyError
from sfumato.hierarchies import learned
from sfumato.hierarchies.learned import NumberScale

Column = Callable[..., Categories]


def sizes(categories: Categories) -> list[int]:
    return [len(labels) for labels in learned().build(categories).labels]


def test_many_numbers_make_six_levels(column: Column) -> None:
    built = learned().build(column(list(range(10_000))))
    assert [len(labels) for labels in built.labels] == [10_000, 256, 64, 16, 4, 1]
    assert built.labels[4] == ("< 2000", "[2000, 5000)", "[5000, 8000)", ">= 8000")
    assert all(labels[0].startswith("< ") and labels[-1].startswith(">= ") for labels in built.labels[1:-1])


def test_quantiles_follow_the_counts(column: Column) -> None:
    ages = column(list(range(10, 60)), count=[100] * 10 + [1] * 40)
    built = learned().build(ages)
    group = built.ancestor[built.height - 1]
    weight = np.bincount(group, weights=ages.count)
    assert weight.min() > 0.2 * weight.sum()


def test_few_values_make_few_levels(column: Column) -> None:
    assert sizes(column([])) == [0, 1]
    assert sizes(column([7])) == [1, 1]
    assert sizes(column([7, 8])) == [2, 1]
    assert sizes(column([7, 8, 9])) == [3, 2, 1]
    assert sizes(column(["a", "b", "c", "d"])) == [4, 2, 1]
    assert sizes(column(list(range(20)))) == [20, 10, 6, 3, 2, 1]


def test_a_heavy_value_stands_alone(column: Column) -> None:
    gains = column([0, 114, 401, 594, 914, 2000, 5000, 99999], count=[920, 10, 10, 10, 10, 10, 20, 10])
    built = learned().build(gains)
    assert built.labels[3] == ("< 100", ">= 100")
    assert built.path(0) == ("0", "< 100", "< 100", "< 100", "*")


def test_cuts_are_rounder_than_the_values(column: Column) -> None:
    rng = random.Random(5)
    values = sorted({round(rng.gauss(1000, 300), 6) for _ in range(5000)})
    built = learned().build(column(values))
    printed = {text for labels in built.labels[1:-1] for label in labels for text in label.strip("[)<>= ").split(", ")}
    assert not printed & set(built.leaves)
    assert max(map(len, printed)) <= 6


def test_dates_are_cut_where_months_and_years_begin(column: Column) -> None:
    days = [dt.date(1930, 1, 1) + dt.timedelta(days=7 * i) for i in range(4000)]
    built = learned().build(column(days))
    assert built.labels[4] == ("< 1950-01-01", "[1950-01-01, 1970-01-01)", "[1970-01-01, 1990-01-01)", ">= 1990-01-01")
    assert all(label[-3:-1] == "01" for label in built.labels[1][1:-1])


def test_times_are_cut_at_round_hours(column: Column) -> None:
    moments = [dt.datetime(2024, 3, 1) + dt.timedelta(seconds=431 * i) for i in range(500)]
    built = learned().build(column(moments))
    assert built.labels[built.height - 1][0] == "< 2024-03-01T12:00"
    assert built.path(3)[1:3] == ("[2024-03-01T00:15, 2024-03-01T00:30)", "< 2024-03-01T00:30")


def test_fractions_of_a_second(column: Column) -> None:
    start = dt.datetime(2024, 3, 1, 12, 0, 0, 1)
    built = learned().build(column([start + dt.timedelta(microseconds=i) for i in range(9)]))
    assert built.labels[1][0] == "< 2024-03-01T12:00:00.000003"


def test_categories_are_grouped_by_frequency(column: Column) -> None:
    built = learned().build(column(list("abcdef"), count=[6, 1, 1, 1, 1, 2]))
    assert built.labels[1] == ("a", "{b, c, d}", "{e, f}")
    assert built.labels[2] == ("a", "{b, c, d, e, f}")


def test_long_groups_print_as_first_to_last(column: Column) -> None:
    built = learned().build(column([f"n{i:03d}" for i in range(40)]))
    assert built.labels[built.height - 1] == ("n000..n019", "n020..n039")


def test_a_hundred_thousand_categories_take_no_time(column: Column) -> None:
    words = column(sorted(f"{i * 7919 % 1_000_003:06d}x" for i in range(100_000)))
    start = time.perf_counter()
    assert sizes(words) == [100_000, 256, 64, 16, 4, 1]
    assert time.perf_counter() - start < 5


def test_integers_that_floats_cannot_tell_apart(column: Column) -> None:
    big = 2**60
    built = learned().build(column([big + i for i in range(8)]))
    assert built.label(1, 0) == built.label(1, 1) != built.label(1, 2)
    assert len(built.labels[1]) == 4


def test_infinite_numbers_join_the_open_ends(column: Column) -> None:
    built = learned().build(column(["-inf", "1.0", "2.0", "3.0", "4.0", "inf"], kind="decimal"))
    assert built.labels[built.height - 1][0] == built.label(built.height - 1, 0)
    assert built.label(1, 0).startswith("< ")
    assert built.label(1, 5).startswith(">= ")
    assert learned().build(column(["-inf", "inf"], kind="decimal")).height == 1


def test_numbers_out_of_reach_fall_back(column: Column) -> None:
    assert sizes(column(["1", "1e400", "1e4000", "1e5000"], kind="decimal"))[-1] == 1
    strange = Categories("x", "date", ("+12000-01-01", "+12000-01-02", "?"), np.array([1e9, 1e9 + 1, 2e9]), np.ones(3))
    assert learned().build(strange).labels[1] == ("{+12000-01-01, +12000-01-02}", "?")


def test_booleans_and_missing(column: Column) -> None:
    assert learned().build(column(["false", "true"], kind="boolean", missing=True)).labels == (
        ("false", "true"),
        ("*",),
    )


def test_parameters_and_describe() -> None:
    assert learned().describe() == "learned"
    assert learned(16).describe() == "learned, 16 groups"
    with pytest.raises(PolicyError, match="groups of learned is out of range; got 1; allowed: a whole number >= 2"):
        learned(1)


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=3), min_size=2, max_size=2, unique=True))
def test_a_round_cut_lies_between_its_neighbours(pair: list[object]) -> None:
    low, high = sorted(map(str, pair), key=float)
    scale = NumberScale(
        Categories("x", "decimal", (low, high), np.array([float(low), float(high)]), np.ones(2)), (low, high)
    )
    if scale.value(0) < scale.value(1):
        cut = scale.round(scale.value(0), scale.value(1), scale.value(1))  # type: ignore[arg-type]
        assert scale.value(0) < cut <= scale.value(1)
        assert len(scale.show(cut).strip("-").rstrip("0")) <= len(high.strip("-")) + len(low.strip("-"))
