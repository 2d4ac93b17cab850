from __future__ import annotations

import datetime as dt
from collections.abc import Callable

import pytest

from sfumato.core.hierarchy import Categories
from sfumato.errors import HierarchyError, PolicyError
from sfumato.hierarchies import dates

Column = Callable[..., Categories]


def test_all_units_that_nest(column: Column) -> None:
    built = dates("day", "month", "quarter", "year", "decade").build(
        column([dt.date(2019, 12, 31), dt.date(2024, 2, 29)])
    )
    assert built.paths() == [
        ("2019-12-31", "2019-12", "2019-Q4", "2019", "2010s", "*"),
        ("2024-02-29", "2024-02", "2024-Q1", "2024", "2020s", "*"),
    ]
    assert dates().build(column([dt.date(2024, 2, 29)])).height == 5


def test_day_is_a_level_of_its_own_for_times(column: Column) -> None:
    moments = [dt.datetime(2024, 2, 29, 8, 30), dt.datetime(2024, 2, 29, 23, 59, 59, 5)]
    assert dates("day", "year").build(column(moments)).path(0) == ("2024-02-29T08:30:00", "2024-02-29", "2024", "*")
    assert dates("day").build(column(moments)).labels[1] == ("2024-02-29",)


def test_weeks_are_those_of_iso_8601(column: Column) -> None:
    built = dates("day", "week").build(column([dt.date(2021, 1, 3), dt.date(2021, 1, 4), dt.date(2024, 12, 31)]))
    assert [path[1] for path in built.paths()] == ["2020-W53", "2021-W01", "2025-W01"]


def test_text_that_reads_as_dates(column: Column) -> None:
    days = column(["2024-01-05", "2024-02-06"], kind="text")
    assert dates("day", "month").build(days).path(0) == ("2024-01-05", "2024-01", "*")
    moments = column(["2024-01-05 10:00", "2024-02-06"], kind="text")
    assert dates("day", "month").build(moments).path(0) == ("2024-01-05 10:00", "2024-01-05", "2024-01", "*")


def test_times_with_a_zone_count_by_their_own_clock(column: Column) -> None:
    late = column(["2024-12-31T23:30:00-05:00"], kind="text")
    assert dates("year").build(late).path(0)[1] == "2024"


@pytest.mark.parametrize("coarse", ["month", "quarter", "year", "decade"])
def test_week_does_not_nest(coarse: str) -> None:
    with pytest.raises(PolicyError, match=f"week does not nest in {coarse}"):
        dates("week", coarse)


def test_refuses_units() -> None:
    with pytest.raises(PolicyError, match='unknown unit "mouth"; did you mean "month"'):
        dates("mouth")
    with pytest.raises(PolicyError, match="from fine to coarse"):
        dates("year", "month")
    with pytest.raises(PolicyError, match="each unit once"):
        dates("year", "year")
    with pytest.raises(PolicyError) as caught:
        dates("week", "yaer", "year", "month")
    assert len(caught.value.faults) == 3


def test_refuses_columns_that_are_no_dates(column: Column) -> None:
    with pytest.raises(HierarchyError, match='1 of 2 values of "x" are no dates') as caught:
        dates("year").build(column(["2024-01-01", "secret"]))
    assert "secret" not in str(caught.value)
    with pytest.raises(HierarchyError, match='"x" does not hold dates; got integer'):
        dates("year").build(column([20240101]))


def test_missing_and_describe(column: Column) -> None:
    assert dates("year").build(column([dt.date(2024, 1, 1)], missing=True)).leaves == ("2024-01-01",)
    assert dates("month", "year").describe() == "dates month, year"
