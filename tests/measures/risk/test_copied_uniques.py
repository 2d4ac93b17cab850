"""Unique real rows that a synthetic table repeats, or repeats but for one column."""

from __future__ import annotations

import json
import math
from datetime import date, datetime
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.errors import ColumnError, PolicyError
from sfumato.measures.measure import wilson
from sfumato.measures.risk import copied_uniques, repeats

REAL = {"age": [30, 30, 41, 52, 60], "town": ["a", "a", "b", "c", "d"]}
DRAWN = {"age": [41, 30, 52, 52, 60], "town": ["b", "a", "x", "y", "d"]}
OTHERS = {"age": [41, 30, 70, 52], "town": ["b", "a", "z", "z"]}


def test_by_hand():
    # unique: 41 b, 52 c, 60 d; copied: 41 b, 60 d; but for one column: 52 c (52 x, 52 y)
    # of the hold-out 41 b and 30 a occur, one column off is 52 z; 70 z and 52 z are new
    found = copied_uniques(REAL, DRAWN, hold_out=OTHERS)
    assert (found.value, found.baseline) == (2 / 3, 1 / 2)
    assert found.interval == wilson(2, 3)
    assert (found.details["unique"], found.details["copied"]) == (3, 2)
    assert (found.details["near"]["count"], found.details["near"]["rows"]) == (1, 3)
    chance = found.details["hold_out"]
    assert (chance["count"], chance["rows"], chance["interval"]) == (2, 4, list(wilson(2, 4)))
    assert (chance["new"]["count"], chance["new"]["rows"]) == (0, 2)
    assert (chance["near"]["count"], chance["near"]["rows"]) == (1, 4)
    assert found.sentence == (
        "Of the 3 rows that are unique among those that the model was fitted on, 2 (66.7%) occur in the synthetic "
        "table, 1 of which people held out have, too; of the rows that the model never saw, 50% do by chance, and 0% "
        "of those among them that no row it was fitted on equals."
    )
    assert repeats(REAL, DRAWN).tolist() == [True, False, False, False, True]
    assert copied_uniques(REAL, DRAWN, columns=["age"]).value == 1


def test_chance_is_what_was_repeated_before_copies_were_taken_out():
    # 60 d was taken out; 41 b stays, for a row held out equals it, so that nobody is alone with it; 70 z was drawn, too
    drawn = {"age": [*DRAWN["age"], 70], "town": [*DRAWN["town"], "z"]}
    released = {"age": [41, 30, 52, 52], "town": ["b", "a", "x", "y"]}
    found = copied_uniques(REAL, released, hold_out=OTHERS, as_drawn=drawn)
    before = copied_uniques(REAL, drawn, hold_out=OTHERS)
    assert (found.value, found.details["shared"]) == (1 / 3, 1)
    assert (found.baseline, found.details["hold_out"]) == (before.baseline, before.details["hold_out"])
    assert found.baseline == 3 / 4
    assert found.details["as_drawn"] == {"copied": 2, "share": 2 / 3, "near": before.details["near"]}
    assert found.sentence == (
        "Of the 3 rows that are unique among those that the model was fitted on, 1 (33.3%) occur in the synthetic "
        "table, 1 of which people held out have, too; as drawn, before copies were taken out, 2 (66.7%) did; of the "
        "rows that the model never saw, 75% did by chance, and 50% of those among them that no row it was fitted on "
        "equals."
    )
    alone = copied_uniques(REAL, released, as_drawn=drawn)
    assert (alone.baseline, alone.details["as_drawn"]["copied"]) == (None, 2)


def test_without_a_hold_out_nothing_is_said_of_chance():
    found = copied_uniques(REAL, DRAWN)
    assert found.baseline is None
    assert "not known" in found.sentence
    assert "hold_out" not in found.details


@pytest.mark.parametrize(
    ("real", "drawn"),
    [
        (pl.Series([1, 2, None]), pl.Series([1.0, 2.0, math.nan])),
        (pl.Series(["1", "2", ""]), pl.Series(["1.0", "02e0", None])),
        (pl.Series([1.5, -0.0, 7.0]), pl.Series([Decimal("1.50"), Decimal("0.00"), Decimal("7.00")])),
        (pl.Series([1, 2, 3]), pl.Series(["1.0", "2", "3"])),
        (pl.Series(["a", "b", None], dtype=pl.Categorical), pl.Series(["a", "b", ""])),
        (pl.Series(["a", "b", "c"], dtype=pl.Enum(["c", "b", "a"])), pl.Series(["a", "b", "c"], dtype=pl.Categorical)),
        (pl.Series([date(2020, 1, 1), date(2020, 1, 2)]), pl.Series([datetime(2020, 1, 1), datetime(2020, 1, 2)])),
        (pl.Series([True, False, None]), pl.Series(["True", "False", None])),
        (pl.Series([True, False]), pl.Series([1, 0])),
        (pl.Series([2**60, 2**60 + 1]), pl.Series([str(2**60), str(2**60 + 1)])),
    ],
)
def test_values_are_compared_whatever_their_type(real, drawn):
    assert repeats(pl.DataFrame({"x": real}), pl.DataFrame({"x": drawn})).all()
    assert repeats(pl.DataFrame({"x": drawn}), pl.DataFrame({"x": real})).all()


def test_codes_with_leading_zeros_and_huge_numbers_stay_apart():
    assert repeats({"zip": ["007", "7"]}, {"zip": ["07"]}).tolist() == [False]
    assert repeats({"id": [2**60]}, {"id": [2**60 + 1]}).tolist() == [False]


def test_edges():
    one = copied_uniques({"a": [1]}, {"a": [1]}, hold_out={"a": [2]})
    assert (one.value, one.baseline, one.details["near"]) == (1, 0, None)
    none = copied_uniques({"a": ["x", "x"], "b": [None, None]}, {"a": ["x"] * 9, "b": [None] * 9})
    assert math.isnan(none.value)
    assert none.sentence.startswith("No row of the original is unique")
    json.dumps(none.to_dict(), allow_nan=False)
    missing = copied_uniques({"a": [None, None], "b": [1, 2]}, {"a": [math.nan], "b": [2]})
    assert missing.value == 0.5
    assert repeats(pl.DataFrame({"a": [1]}), pl.DataFrame({"a": []})).tolist() == []
    with pytest.raises(ColumnError, match="share no column"):
        copied_uniques({"a": [1]}, {"b": [1]})
    with pytest.raises(ColumnError, match="the hold-out"):
        copied_uniques({"a": [1]}, {"a": [1]}, hold_out={"b": [1]}, columns=["a"])
    with pytest.raises(PolicyError, match="one table"):
        copied_uniques({"a": [1]})


ROWS = st.lists(st.tuples(*[st.sampled_from([0, 1, None])] * 4), min_size=1, max_size=12)


@given(ROWS, ROWS, ROWS)
def test_equals_a_plain_count(real, drawn, others):
    tables = [
        pl.DataFrame(rows, schema=dict.fromkeys("abcd", pl.Int64), orient="row") for rows in (real, drawn, others)
    ]
    found = copied_uniques(tables[0], tables[1], hold_out=tables[2])
    unique = [row for row in real if real.count(row) == 1]

    def near(row):
        return any(sum(x != y for x, y in zip(row, other, strict=True)) == 1 for other in drawn)

    assert found.details["unique"] == len(unique)
    assert found.details["copied"] == sum(row in drawn for row in unique)
    assert found.details["near"]["count"] == sum(map(near, unique))
    assert found.details["hold_out"]["near"]["count"] == sum(map(near, others))
    assert found.baseline == sum(row in drawn for row in others) / len(others)
    assert repeats(*tables[:2]).tolist() == [row in unique for row in drawn]
