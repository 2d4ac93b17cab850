from __future__ import annotations

import datetime as dt
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.printed import printed, printed_frame
from sfumato.errors import ColumnError

MOMENT = dt.datetime(2024, 2, 29, 13, 45)


@pytest.mark.parametrize(
    ("values", "dtype", "text"),
    [
        ([1, -5, None], pl.Int64, ["1", "-5", None]),
        ([2**64 - 1], pl.UInt64, ["18446744073709551615"]),
        ([1.0, 0.1, 1e300, float("nan"), None], pl.Float64, ["1.0", "0.1", "1e+300", None, None]),
        ([0.0, -0.0], pl.Float64, ["0.0", "0.0"]),
        ([0.1, -0.0], pl.Float32, ["0.1", "0.0"]),
        ([float("inf"), float("-inf")], pl.Float64, ["inf", "-inf"]),
        ([Decimal("1.10"), None], pl.Decimal(10, 2), ["1.10", None]),
        ([dt.date(2024, 2, 29), dt.date(1, 1, 1)], pl.Date, ["2024-02-29", "0001-01-01"]),
        ([MOMENT, MOMENT.replace(microsecond=500000)], None, ["2024-02-29T13:45:00", "2024-02-29T13:45:00.500"]),
        ([MOMENT], pl.Datetime("ms", "Europe/Paris"), ["2024-02-29T14:45:00+01:00"]),
        ([dt.time(1, 2, 3), None], pl.Time, ["01:02:03", None]),
        ([dt.timedelta(days=1, seconds=3)], pl.Duration, ["P1DT3S"]),
        ([True, False, None], pl.Boolean, ["true", "false", None]),
        (["b", "a", None], pl.Categorical, ["b", "a", None]),
        (["b", ""], pl.Enum(["b", ""]), ["b", None]),
        (["", " ", "x", None], pl.String, [None, " ", "x", None]),
        ([None, None], pl.Null, [None, None]),
    ],
)
def test_each_type_prints_as_documented(values, dtype, text):
    series = pl.Series("x", values, dtype)
    result = printed(series)
    assert result.to_list() == text
    assert result.dtype == pl.String
    assert result.name == "x"


@pytest.mark.parametrize(
    "series", [pl.Series("x", [b"1"]), pl.Series("x", [[1]]), pl.Series("x", [{"a": 1}]), pl.Series("x", [object()])]
)
def test_what_has_no_printed_form_is_refused_by_name(series):
    with pytest.raises(ColumnError, match='"x"'):
        printed(series)


@given(st.lists(st.floats(allow_nan=False), min_size=1))
def test_floats_read_back_as_the_same_number_and_print_alike_only_if_equal(values):
    text = printed(pl.Series(values, dtype=pl.Float64)).to_list()
    assert [float(t) for t in text] == values
    assert len(set(text)) == len(set(values))


@given(st.lists(st.datetimes(), min_size=1))
def test_times_read_back_as_the_same_moment(values):
    text = printed(pl.Series(values, dtype=pl.Datetime("us"))).to_list()
    assert [dt.datetime.fromisoformat(t) for t in text] == values
    assert all(("." in t) == (v.microsecond != 0) for t, v in zip(text, values, strict=True))


def test_the_repeated_hour_of_autumn_prints_as_two_hours():
    hours = pl.Series([dt.datetime(2024, 10, 27, 0, 30), dt.datetime(2024, 10, 27, 1, 30)])
    text = printed(hours.dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Paris"))
    assert text.to_list() == ["2024-10-27T02:30:00+02:00", "2024-10-27T02:30:00+01:00"]


def test_a_frame_keeps_its_names_also_an_empty_one():
    assert printed_frame(pl.DataFrame({"": [1], "b": [2.0]})).to_dict(as_series=False) == {"": ["1"], "b": ["2.0"]}
