"""Places of tuples and labels of values, against a plain join, for every type and every way to look up."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.engines.files import recode as scanned_map
from sfumato.engines.files.recode import Mapper, Tuples
from sfumato.engines.order import Codes
from sfumato.engines.protocol import LABEL, Plan
from sfumato.errors import ReadError

DAY = datetime.datetime(2020, 1, 31, 12, 30)
COLUMNS = {
    "text": pl.Series(["b", "a", None, "ß", "b"]),
    "boolean": pl.Series([True, None, False, True, None]),
    "small": pl.Series([3, -1, None, 7, 3], dtype=pl.Int8),
    "large": pl.Series([2**64 - 1, 2**63, None, 0, 2**64 - 1], dtype=pl.UInt64),
    "float": pl.Series([0.0, 1.5, None, float("inf"), -2.25]),
    "short": pl.Series([0.1, 1.5, None, 0.25, -2.25], dtype=pl.Float32),
    "decimal": pl.Series([Decimal("1.10"), Decimal("2.20"), None, Decimal("0.01"), Decimal("1.10")]),
    "date": pl.Series([DAY.date(), None, DAY.date() + datetime.timedelta(1), DAY.date(), None]),
    "datetime": pl.Series([DAY, None, DAY + datetime.timedelta(microseconds=1), DAY, None]),
    "zoned": pl.Series([DAY, None, DAY, DAY, None], dtype=pl.Datetime("ns", "UTC")),
    "time": pl.Series([DAY.time(), None, datetime.time(1), datetime.time(2), None]),
    "duration": pl.Series([datetime.timedelta(1), None, datetime.timedelta(2), datetime.timedelta(1), None]),
    "nothing": pl.Series([None, None, None, None, None], dtype=pl.String),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_codes_tell_values_apart_and_know_missing_and_unknown(name: str) -> None:
    values = COLUMNS[name]
    found = Codes(values)(values).to_list()
    assert len(set(found)) == values.n_unique()
    assert [found[i] == found[j] for i in range(5) for j in range(5)] == [
        a == b for a in values.to_list() for b in values.to_list()
    ]
    some = Codes(values.drop_nulls()[:1])
    first = values.drop_nulls()[0] if len(values.drop_nulls()) else object()
    wanted = [some.missing if v is None else 0 if v == first else some.unknown for v in values.to_list()]
    assert some(values).to_list() == wanted


def test_many_texts_have_the_codes_of_few(monkeypatch: pytest.MonkeyPatch) -> None:
    known, values = pl.Series(["b", "ß", "a", None, "日本"]), pl.Series(["ß", "", "a", "aa", None, "z", "日本", "B"])
    few = Codes(known)(values)
    monkeypatch.setattr("sfumato.engines.order.LISTED", 2)
    assert Codes(known).kind is None
    assert Codes(known)(values).equals(few)


@pytest.mark.parametrize("known", [[-3, 0, 9], [2**63 - 2, 2**63 - 1], [-(2**63)], [0, 2**40], []])
def test_codes_of_whole_numbers_beside_and_far_from_the_known_ones(known: list[int]) -> None:
    values = [*known, -4, -1, 10, 2**63 - 1, -(2**63), None]
    codes = Codes(pl.Series(known, dtype=pl.Int64))
    wanted = [known.index(v) if v in known else codes.missing if v is None else codes.unknown for v in values]
    assert codes(pl.Series(values, dtype=pl.Int64)).to_list() == wanted


@pytest.mark.parametrize(("dense", "largest"), [(1 << 22, 1 << 62), (0, 1 << 62), (0, 500), (1 << 22, 500)])
def test_places_are_those_of_a_join(monkeypatch: pytest.MonkeyPatch, dense: int, largest: int) -> None:
    monkeypatch.setattr(scanned_map, "DENSE", dense)
    monkeypatch.setattr(scanned_map, "LARGEST_KEY", largest)
    rng = np.random.default_rng(3)
    rows = pl.DataFrame(
        {
            "a": pl.Series(rng.integers(0, 9, 3000)).replace(0, None),
            "b": pl.Series(rng.choice(["x", "y", "z"], 3000)).replace("z", None),
            "c": rng.choice([0.0, 0.5, 1.5], 3000),
            "d": rng.integers(0, 40, 3000),
        }
    )
    known = rows[:900].unique(maintain_order=True)
    joined = rows.join(
        known.with_row_index("place"), on=rows.columns, how="left", nulls_equal=True, maintain_order="left"
    )
    found = Tuples(known)(rows)
    assert found.to_list() == joined["place"].fill_null(known.height).to_list()
    assert 0 < (found == known.height).sum() < 3000


def test_no_row_is_no_row() -> None:
    table = pl.DataFrame({"a": [1], "b": ["x"]})
    plan = Plan(("a", "b"), ("a",), (), {"a": pl.DataFrame({"a": [1], LABEL + "a": ["one"]})}, None, table.select("a"))
    mapper = Mapper(plan, dict(table.schema))
    assert mapper(table).rows() == []
    assert mapper(table.clear()).schema == mapper.schema(dict(table.schema))
    assert mapper.labelled == ["a"]


def test_what_is_released_and_what_is_matched_are_two_things() -> None:
    rows = pl.DataFrame({"q": ["x", "", None], "s": [float("nan"), -0.0, 1.0]})
    cells: Any = pl.DataFrame({"q": ["x", None], "s": [None, 0.0], LABEL + "q": ["X", "none"]})
    found = Mapper(Plan(("s", "q"), ("q", "s"), (), {}, cells), dict(rows.schema))(rows)
    assert found["q"].to_list() == ["X", "none"]
    assert str(found["s"].to_list()) == "[nan, -0.0]"  # a column that is no quasi-identifier goes out as it came


def test_a_value_that_came_later_is_an_error_that_does_not_name_it() -> None:
    frame = pl.DataFrame({"a": ["x"], LABEL + "a": ["X"]})
    with pytest.raises(ReadError, match="changed") as caught:
        Mapper(Plan(("a",), ("a",), (), {"a": frame}), {"a": pl.String()})(pl.DataFrame({"a": ["x", "secret"]}))
    assert "secret" not in str(caught.value)
