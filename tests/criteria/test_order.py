"""The order of printed values."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.microdata import encode
from sfumato.criteria.audit import in_order


@pytest.mark.parametrize(
    "ordered",
    [
        ["-10", "-9.5", "0", "2", "10", "1e2", None],
        ["9007199254740992", "9007199254740993", "18446744073709551617"],
        ["-inf", "-1.0", "1.0", "inf"],
        ["1", "1.0", "2"],
        ["2023-12-31", "2024-01-02", None],
        ["2024-01-02 03:04", "2024-01-02T03:04:05", "2024-01-02T03:04:05.25", "2024-01-02T03:04:05.5"],
        ["10", "9", "x"],
        ["2024-06-30", "2024-06-31"],
        ["1_0", "9"],
        ["2024-10-27T02:30:00+02:00", "2024-10-27T02:15:00+01:00"],
        [],
        [None],
    ],
)
def test_in_order(ordered):
    assert in_order(reversed(ordered)) == ordered


numbers = st.one_of(st.integers(-(10**6), 10**6).map(str), st.decimals(-1000, 1000, places=3).map(str))
texts = st.text(alphabet="ab9-. é", min_size=1, max_size=4)
days = st.dates().map(str)


@given(
    st.one_of(*(st.lists(kind, min_size=1, max_size=12) for kind in (numbers, texts, days, st.one_of(numbers, texts))))
)
def test_the_order_is_that_of_the_codes(values):
    categories, _ = encode(pl.Series("s", values, dtype=pl.String))
    assert in_order(values) == list(categories.text)


@given(st.lists(st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1)), min_size=1, max_size=12))
def test_the_order_of_typed_columns_is_that_of_the_codes(values):
    categories, _ = encode(pl.Series("s", values, dtype=pl.Int64))
    assert in_order(categories.text) == list(categories.text)


@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=False)), min_size=1, max_size=12))
def test_the_order_of_floats_is_that_of_the_codes(values):
    categories, _ = encode(pl.Series("s", values, dtype=pl.Float64))
    assert in_order(categories.text) == list(categories.text)
