from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.hierarchy import Categories
from sfumato.core.label_grammar import read_printed
from sfumato.core.microdata import encode
from sfumato.errors import PolicyError
from sfumato.hierarchies import icd10, learned
from sfumato.hierarchies.learned import have_gaps, widths_of

Column = Callable[..., Categories]


def sizes(categories: Categories) -> list[int]:
    return [len(labels) for labels in learned().build(categories).labels]


def test_ages_stand_in_steps_that_people_use(column: Column) -> None:
    built = learned().build(column(list(range(17, 91))))
    assert built.path(14) == ("31", "[30, 34]", "[30, 39]", "[20, 39]", "[0, 39]", "*")
    assert sizes(column(list(range(17, 91)))) == [74, 16, 9, 5, 3, 1]


@pytest.mark.parametrize(
    ("values", "labels"),
    [
        (range(80, 221), ("[120, 124]", "[120, 129]", "[120, 139]", "[120, 159]", "[80, 159]")),  # blood pressure
        (
            range(0, 60_001, 7),
            ("[7500, 7999]", "[7000, 7999]", "[5000, 9999]", "[0, 9999]", "[0, 19999]", "[0, 39999]"),
        ),
        (range(-30, 31), ("[-5, -1]", "[-10, -1]", "[-20, -1]", "[-40, -1]")),  # degrees
        ([i / 4 for i in range(4, 40)], ("[1, 1.5)", "[1, 2)", "[0, 2)", "[0, 4)", "[0, 8)")),
        ([i / 10 for i in range(1, 10)], ("[0.2, 0.4)", "[0, 0.4)", "[0, 0.8)")),
        (range(1, 6), ("[0, 1]", "[0, 3]")),
    ],
)
def test_steps_follow_the_spread(column: Column, values: list[float], labels: tuple[str, ...]) -> None:
    built = learned().build(column(list(values)))
    which = next(i for i in range(len(built.leaves)) if built.path(i)[1:-1] == labels)
    assert 0 <= which < len(built.leaves)


def test_few_people_far_out_do_not_show_in_the_steps(column: Column) -> None:
    ages = column(list(range(20, 80)), count=[10] * 60)
    rich = column([*range(20, 80), 1_000_000], count=[*[10] * 60, 1])
    near, far = learned().build(ages), learned().build(rich)
    assert [near.path(i) for i in range(60)] == [far.path(i) for i in range(60)]


@pytest.mark.parametrize("far", [1_000_000, -1_000_000])
def test_rows_far_out_that_may_be_suppressed_do_not_show_in_the_steps(far: int) -> None:
    ages = [20 + i % 40 for i in range(90)] + [far + i for i in range(10)]
    release = sf.anonymize({"age": ages}, quasi=["age"], k=11, suppression=0.1)
    assert release.solution.verdict.suppressed == 10
    assert set(release.table.get_column("age")) == {"[20, 29]", "[30, 39]", "[40, 49]", "[50, 59]"}


def test_few_values_make_few_levels(column: Column) -> None:
    assert sizes(column([])) == [0, 1]
    assert sizes(column([7])) == [1, 1]
    assert sizes(column([7, 8])) == [2, 1]
    assert sizes(column([7, 8, 9])) == [3, 2, 1]
    assert sizes(column(["a", "b", "c", "d"])) == [4, 1]


@given(st.lists(st.decimals(-(10**9), 10**9, places=3), min_size=2, max_size=40, unique=True))
def test_every_number_is_in_its_steps(values: list[Decimal]) -> None:
    ordered = sorted(values)
    place = np.array([float(v) for v in ordered])
    built = learned().build(Categories("x", "decimal", tuple(map(str, ordered)), place, np.ones(len(ordered), int)))
    for leaf, value in enumerate(ordered):
        for label in built.path(leaf)[1:-1]:
            found = read_printed(label)
            assert found is not None
            assert Decimal(found.low or 0) <= value < Decimal(found.high or 0)


def test_dates_stand_in_units_of_the_calendar(column: Column) -> None:
    days = [dt.date(1930, 1, 1) + dt.timedelta(days=7 * i) for i in range(4000)]
    built = learned(1024).build(column(days))
    assert built.path(1900) == ("1966-06-01", "1966-06", "1966", "1965-1969", "1960s", "1960-1979", "*")
    assert learned().build(column(days)).path(1900)[1] == "1966"
    year = [dt.date(2024, 1, 1) + dt.timedelta(days=i) for i in range(700)]
    assert learned().build(column(year)).path(100) == ("2024-04-10", "2024-04", "2024-Q2", "2024", "*")


def test_times_stand_in_hours_and_days(column: Column) -> None:
    moments = [dt.datetime(2024, 3, 1) + dt.timedelta(seconds=431 * i) for i in range(500)]
    built = learned().build(column(moments))
    assert built.path(3)[1:] == ("[2024-03-01T00:00, 2024-03-01T01:00)", "2024-03-01", "*")


def test_words_with_an_order_are_grouped_by_frequency_in_that_order(column: Column) -> None:
    grades = column(["b", "b+", "b-", "c", "d", "f"], count=[1, 6, 1, 1, 1, 2])
    built = learned().build(grades)
    assert built.label(1, 1) == "b+"
    assert set(built.labels[1]) == {"b+", "{b, b-, c}", "{d, f}"}
    assert set(built.labels[2]) == {"b+", "{b, b-, c, d, f}"}


@pytest.mark.parametrize("values", [["bus", "car", "foot"], list("abcdef"), [f"a street {i}" for i in range(300)]])
def test_texts_that_say_nothing_about_each_other_are_not_grouped(values: list[str], column: Column) -> None:
    assert learned().build(column(sorted(values))).height == 1


def test_groups_that_are_too_long_for_a_cell_are_left_out(column: Column) -> None:
    texts = [f"{name} {'x' * 20}" for name in "klmnopqrstuvwxyz"]
    built = learned().build(replace(column(texts), sequence="similar"))
    assert [len(labels) for labels in built.labels] == [16, 8, 5, 1]  # those of eight values are too long
    assert max(map(len, built.labels[-2])) <= 150


def test_codes_are_grouped_by_prefix(column: Column) -> None:
    built = learned().build(column([f"{letter}{i:02d}" for letter in "AB" for i in range(20)]))
    assert built.path(0) == ("A00", "A0*", "A**", "*")
    assert built.labels[2] == ("A**", "B**")


def test_diagnoses_cross_no_chapter(column: Column) -> None:
    codes = [f"{letter}{i}.1" for letter in "CDHJ" for i in range(42, 72, 3)]
    built = learned().build(column(codes))
    assert built.path(0) == ("C42.1", "C4******", "C*******", "*")
    assert built.path(10) == ("D42.1", "D4******", "D4******", "*")
    chapter = np.array([icd10().path(code)[2] for code in codes])  # type: ignore[index]
    for row in built.ancestor[1:-1]:
        assert all(len(set(chapter[row == group])) == 1 for group in row)


@pytest.mark.slow
def test_a_hundred_thousand_categories_take_no_time(column: Column) -> None:
    codes = column(sorted(f"{i * 7919 % 1_000_000:06d}x" for i in range(100_000)))
    start = time.perf_counter()
    assert sizes(codes) == [100_000, 100, 10, 1]
    assert time.perf_counter() - start < 5


@pytest.mark.slow
def test_a_hundred_thousand_numbers_and_times_take_no_time(column: Column) -> None:
    numbers = column(list(range(100_000)))
    moments = column([dt.datetime(2024, 3, 1) + dt.timedelta(seconds=431 * i) for i in range(100_000)])
    start = time.perf_counter()
    learned().build(numbers)
    learned().build(moments)
    assert time.perf_counter() - start < 2


def test_integers_that_floats_cannot_tell_apart(column: Column) -> None:
    big = 2**60
    built = learned().build(column([big + i for i in range(0, 800, 10)]))
    assert len(built.labels) > 2
    for leaf in range(80):
        for label in built.path(leaf)[1:-1]:
            found = read_printed(label)
            assert found is not None
            assert int(found.low or 0) <= big + 10 * leaf <= int(found.high or 0)


def test_infinite_numbers_stay_as_they_are(column: Column) -> None:
    built = learned().build(column(["-inf", *(f"{i}.5" for i in range(20)), "inf"], kind="decimal"))
    assert built.path(0) == ("-inf", "-inf", "-inf", "*")
    assert built.path(1) == ("0.5", "[0, 4)", "[0, 8)", "*")
    assert learned().build(column(["-inf", "inf"], kind="decimal")).height == 1


def test_numbers_out_of_reach_fall_back(column: Column) -> None:
    assert sizes(column(["1", "1e400", "1e4000", "1e5000"], kind="decimal"))[-1] == 1
    strange = Categories("x", "date", ("+12000-01-01", "+12000-01-02", "?"), np.array([1e9, 1e9 + 1, 2e9]), np.ones(3))
    assert learned().build(strange).labels[1:] == (("*",),)


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


def test_one_row_far_out_among_equal_ones_makes_no_steps() -> None:
    most = [0] * 5_000
    few = widths_of(encode(pl.Series("gain", [*most, 7, 3_000_000]))[0])
    assert few == []  # two rows that may be suppressed: their values show nowhere
    tail = [100 * i for i in range(1, 101)]
    plain, far = (widths_of(encode(pl.Series("gain", [*most, *tail, *more]))[0]) for more in ([], [3_000_000]))
    assert plain == far != []
    assert 100 <= plain[-1][0] * 10.0 ** plain[-1][1] <= 10_000


@pytest.mark.filterwarnings("error")
def test_gaps_between_whole_numbers_are_found_at_the_edge_of_64_bits_too() -> None:
    often = [7, 9, 12] * 200
    assert have_gaps(encode(pl.Series(often))[0])
    assert not have_gaps(encode(pl.Series([7, 8, 9] * 200))[0])
    assert not have_gaps(
        encode(pl.Series([*often, None], dtype=pl.Float64).set(pl.Series([True] + [False] * 600), np.inf))[0]
    )
    assert isinstance(have_gaps(encode(pl.Series([-(2**63), 2**63 - 1, 5] * 200))[0]), bool)
