"""Columns of every type become numbers or codes, and the same values again."""

from __future__ import annotations

import datetime as dt

import numpy as np
import polars as pl
import pytest

from sfumato.errors import ColumnError
from sfumato.synthetic.columns import column_of

COLUMNS = [
    pl.Series("age", [31, 42, None, 31], pl.Int16),
    pl.Series("big", [2**60, 2**60 + 4096, None]),
    pl.Series("huge", [0, 2**64 - 1], pl.UInt64),
    pl.Series("pay", [10.25, 7.5, None, -3.0]),
    pl.Series("short", [0.1, 0.7], pl.Float32),
    pl.Series("cents", ["1.25", "7.50", None]).cast(pl.Decimal(10, 2)),
    pl.Series("day", [dt.date(2024, 1, 1), None, dt.date(1931, 5, 7)]),
    pl.Series("at", [dt.datetime(2024, 1, 1, 12, 30, 1), dt.datetime(1800, 1, 1)]).cast(pl.Datetime("ns")),
    pl.Series("hour", [dt.time(8, 30), dt.time(23, 59, 59, 999), None]),
    pl.Series("wait", [dt.timedelta(hours=3), dt.timedelta(seconds=-1)]),
    pl.Series("town", ["Oslo", None, "Bern", "Oslo"]),
    pl.Series("ill", [True, None, False]),
    pl.Series("grade", ["low", "high", None], pl.Enum(["low", "high", "none"])),
    pl.Series("code", ["b", "a"], pl.Categorical()),
    pl.Series("empty", [None, None], pl.String),
    pl.Series("nothing", [None, None], pl.Float64),
]


@pytest.mark.parametrize("given", COLUMNS, ids=lambda column: column.name)
def test_values_come_back_in_their_type(given):
    column = column_of(given)
    again = column.decode(column.encode(given))
    assert again.name == given.name
    assert again.dtype == given.dtype
    assert again.to_list() == given.to_list()


def test_what_is_drawn_lies_on_the_grid_and_within_the_range():
    column = column_of(pl.Series("pay", [10.25, 7.5, 3.0]))
    assert column.decode(np.array([99.0, 7.123456, -5.0])).to_list() == [10.25, 7.12, 3.0]
    column = column_of(pl.Series("hours", [10, 20, 40]))
    assert column.decode(np.array([0.4, 1.6, 7.0])).to_list() == [10, 30, 40]


def test_nan_empty_text_and_unknown_values_are_missing():
    assert np.isnan(column_of(pl.Series("x", [1.0, float("nan")])).encode(pl.Series("x", [float("nan")]))).all()
    assert column_of(pl.Series("x", ["a", ""])).encode(pl.Series("x", ["", "a", "z"])).tolist() == [-1, 0, -1]


def test_infinite_values_are_refused():
    with pytest.raises(ColumnError, match="infinite"):
        column_of(pl.Series("x", [1.0, float("inf")]))


@pytest.mark.parametrize("given", COLUMNS, ids=lambda column: column.name)
def test_numbers_beyond_the_range_stay_within_their_type(given):
    column = column_of(given).unbounded()
    if column.is_number:
        assert column.decode(np.array([-1e200, 1e200, np.nan])).null_count() == 1
        assert column.decode(column.encode(given)).to_list() == given.to_list()
