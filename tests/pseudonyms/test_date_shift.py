"""Shifted dates: intervals of a person stay, nobody's dates stay in place."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from sfumato.errors import ColumnError, PolicyError
from sfumato.pseudonyms import DateShift
from tests.pseudonyms.conftest import Apply

TABLE = pl.DataFrame(
    {
        "patient": ["a", "b", "a", "c"],
        "admitted": [date(2020, 2, 28), date(2020, 3, 1), date(2021, 1, 1), None],
        "seen": [datetime(2020, 2, 29, 23, 59), datetime(2020, 3, 1), None, datetime(2020, 1, 1, 12)],
    }
)


def test_intervals_of_a_person_stay(apply: Apply, key: Path) -> None:
    step = DateShift(["admitted", "seen"], person="patient", low=30, high=60, key=key)
    made = apply(step, TABLE).columns
    assert made.schema == TABLE.select("admitted", "seen").schema
    assert made["admitted"][2] - made["admitted"][0] == date(2021, 1, 1) - date(2020, 2, 28)
    assert made["seen"][0] - TABLE["seen"][0] == made["admitted"][0] - TABLE["admitted"][0]
    assert made["admitted"][3] is None
    assert 30 <= abs((made["admitted"][0] - TABLE["admitted"][0]).days) <= 60
    alone = apply(DateShift("seen", person="patient", low=30, high=60, key=key), TABLE).columns
    assert alone["seen"].equals(made["seen"])


def test_shifts_go_both_ways_over_the_whole_range_and_are_never_0(apply: Apply, key: Path) -> None:
    many = pl.DataFrame({"who": range(4000), "day": [date(2000, 1, 1)] * 4000})
    made = apply(DateShift("day", person="who", low=1, high=5, key=key), many).columns["day"]
    days = (made - many["day"]).dt.total_days()
    assert sorted(days.unique()) == [-5, -4, -3, -2, -1, 1, 2, 3, 4, 5]
    assert 1800 < (days > 0).sum() < 2200


def test_times_with_a_zone_keep_what_the_clock_says(apply: Apply, key: Path) -> None:
    """Midnight stays midnight: an hour more would tell that summer time lies between."""
    hours = pl.datetime_range(datetime(2020, 1, 1), datetime(2020, 12, 31), "1h", eager=True, time_zone="Europe/Rome")
    frame = pl.DataFrame({"who": [1] * len(hours), "t": hours})
    made = apply(DateShift("t", person="who", key=key), frame).columns["t"]
    assert made.dtype == hours.dtype
    assert made.null_count() == 0
    moved = (made.dt.replace_time_zone(None) - hours.dt.replace_time_zone(None)).unique(maintain_order=True)
    assert moved[0] % timedelta(days=1) == timedelta(0)
    assert sorted(moved)[1:] in ([], [moved[0] + timedelta(hours=1)])  # an hour that the clock leaves out


def test_what_is_refused(apply: Apply, key: Path) -> None:
    with pytest.raises(PolicyError, match="person must name a column"):
        DateShift("admitted")
    with pytest.raises(PolicyError, match=r"low is out of range; got 0"):
        DateShift("admitted", person="patient", low=0)
    with pytest.raises(PolicyError, match=r"high is out of range; got 5; allowed: a whole number >= 9"):
        DateShift("admitted", person="patient", low=9, high=5)
    with pytest.raises(PolicyError, match="column of persons"):
        DateShift("patient", person="patient")
    nobody = TABLE.with_columns(patient=pl.Series([None, "b", "a", None]))
    with pytest.raises(ColumnError, match=r'"patient" is missing in 1 row with a date'):
        apply(DateShift("admitted", person="patient", key=key), nobody)
    with pytest.raises(ColumnError, match="takes dates"):
        apply(DateShift("x", person="patient", key=key), TABLE.with_columns(x=pl.lit("2020-01-01")))
    late = TABLE.with_columns(admitted=pl.lit(date(9999, 12, 31)))
    with pytest.raises(ColumnError, match="so far"):
        apply(
            DateShift("admitted", person="patient", key=key),
            pl.concat([late] * 20).with_row_index("i").with_columns(patient="i"),
        )
