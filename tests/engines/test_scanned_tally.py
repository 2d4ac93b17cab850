"""Counts of batches are those of a plain GROUP BY, in a table of all keys, by keys, and by the columns themselves."""

from __future__ import annotations

import datetime
import gc
from decimal import Decimal

import numpy as np
import polars as pl
import pytest

from sfumato.core.printed import plain
from sfumato.engines.files import count as scanned_pack
from sfumato.engines.files import count as scanned_tally
from sfumato.engines.files.count import Layout, Tally, layout
from sfumato.engines.protocol import COUNT
from sfumato.errors import PolicyError

MANY = 10**9
ROWS = 4000


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    """Columns of every type that can be a quasi-identifier, each with missing values."""
    rng = np.random.default_rng(4)

    def drawn(values: list[object], dtype: pl.DataType | None = None) -> pl.Series:
        picked = rng.integers(0, len(values) + 1, ROWS).tolist()
        return pl.Series([values[i] if i < len(values) else None for i in picked], dtype=dtype)

    day = datetime.datetime(2020, 1, 31, 12)
    return pl.DataFrame(
        {
            "text": drawn(["b", "a", "", "ß"]),
            "boolean": drawn([True, False]),
            "small": drawn([-128, 127, 0], pl.Int8()),
            "whole": drawn([-5, 3, 900]),
            "large": drawn([2**64 - 1, 0], pl.UInt64()),
            "float": drawn([0.0, -0.0, 1.5, float("nan")]),
            "decimal": drawn([Decimal("1.10"), Decimal("2.20")]),
            "date": drawn([day.date(), day.date() + datetime.timedelta(40)]),
            "zoned": drawn([day, day + datetime.timedelta(microseconds=1)], pl.Datetime("us", "UTC")),
            "time": drawn([datetime.time(1), datetime.time(2)]),
            "duration": drawn([datetime.timedelta(1), datetime.timedelta(2)]),
            "nothing": pl.Series([None] * ROWS, dtype=pl.String),
        }
    )


def wanted(table: pl.DataFrame) -> list[tuple[object, ...]]:
    clean = table.select(plain(name, dtype) for name, dtype in table.schema.items())
    return sorted(clean.group_by(clean.columns).agg(pl.len().cast(pl.Int64).alias(COUNT)).rows(), key=str)


def counted(table: pl.DataFrame, batch: int = 700) -> pl.DataFrame:
    tally = Tally(dict(table.schema), MANY)
    for low in range(0, table.height, batch):
        tally.add(table.slice(low, batch).select(tally.numbers))
    return tally.frame()


WAYS = [(1 << 25, 1 << 62), (0, 1 << 62), (10, 50), (1 << 25, 1)]


@pytest.mark.slow
@pytest.mark.parametrize(("dense", "largest"), WAYS)
@pytest.mark.parametrize(
    "names",
    [
        ["text"],
        ["nothing", "text"],
        ["text", "boolean", "small", "whole"],
        ["date", "text", "time"],
        ["zoned", "duration", "time", "whole"],
        ["large", "text"],
        ["float", "decimal", "text", "boolean"],
    ],
)
def test_counts_are_those_of_a_group_by(
    table: pl.DataFrame, monkeypatch: pytest.MonkeyPatch, names: list[str], dense: int, largest: int
) -> None:
    monkeypatch.setattr(scanned_tally, "DENSE", dense)
    monkeypatch.setattr(scanned_tally, "WAIT", 500)
    monkeypatch.setattr(scanned_pack, "LARGEST_KEY", largest)
    some = table.select(names)
    found = counted(some)
    assert sorted(found.rows(), key=str) == wanted(some)
    assert dict(found.schema) == {**some.schema, COUNT: pl.Int64}


def test_a_layout_grows_both_ways_and_past_a_table_and_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanned_tally, "DENSE", 2000)
    rng = np.random.default_rng(5)
    widths = [3, 30, 300, 3000, 2**40, 2**62]
    frames = [
        pl.DataFrame({n: rng.integers(-w, w, 200) for n in "ab"}, schema=dict.fromkeys("ab", pl.Int64)) for w in widths
    ]
    tally = Tally(dict(frames[0].schema), MANY)
    ways = []
    for i, frame in enumerate(frames):
        tally.add(frame.select(tally.numbers))
        ways.append((tally.table is not None, tally.packs))
        assert sorted(tally.frame().rows(), key=str) == wanted(pl.concat(frames[: i + 1]))
    assert ways == [(True, True), (False, True), (False, True), (False, True), (False, False), (False, False)]


def test_a_layout_that_fits_stays_and_one_that_grows_has_places_to_spare() -> None:
    first = layout(pl.DataFrame({"a": [10, 30, None]}), None)
    assert first == Layout((10,), (22,))
    assert layout(pl.DataFrame({"a": [12, None]}), first) is first
    assert layout(pl.DataFrame({"a": [50]}), first) == Layout((10,), (52,))
    assert layout(pl.DataFrame({"a": [-10]}), first) == Layout((-20,), (52,))
    empty = layout(pl.DataFrame({"a": [None]}, schema={"a": pl.Int64}), None)
    assert empty is not None
    assert empty.domain == 1
    assert layout(pl.DataFrame({"a": [-(2**63), 2**63 - 1]}), None) is None


def test_times_and_tallies_that_are_added_up(table: pl.DataFrame) -> None:
    some = table.select("text", "whole")
    whole = Tally(dict(some.schema), MANY)
    for low in (0, 1000):
        part = whole.like()
        part.add(some.slice(low, 1000).select(part.numbers))
        cells = part.cells()
        whole.add(cells.drop(COUNT), cells.get_column(COUNT))
        again = part.frame()
        whole.add(again.select(whole.numbers), again.get_column(COUNT))
    assert sorted(whole.frame().rows(), key=str) == [(*row[:-1], 2 * int(str(row[-1]))) for row in wanted(some[:2000])]


@pytest.mark.slow
def test_what_numbers_texts_outlives_a_batch() -> None:
    tally = Tally({"a": pl.String()}, MANY)
    for value in ("x", "y", "x"):
        tally.add(pl.DataFrame({"a": [value]}).select(tally.numbers))
        gc.collect()
    assert sorted(tally.frame().rows()) == [("x", 2), ("y", 1)]


@pytest.mark.parametrize("dense", [1 << 25, 0])
def test_too_many_are_refused(monkeypatch: pytest.MonkeyPatch, dense: int) -> None:
    monkeypatch.setattr(scanned_tally, "DENSE", dense)
    monkeypatch.setattr(scanned_tally, "WAIT", 10)
    frame = pl.DataFrame({"a": range(100)})
    tally = Tally(dict(frame.schema), 99)
    with pytest.raises(PolicyError, match="max_cells=99"):
        _add_and_look(tally, frame)


def _add_and_look(tally: Tally, frame: pl.DataFrame) -> None:
    tally.add(frame.select(tally.numbers))  # grouped keys are refused here
    tally.frame()  # a table of all keys here


def test_nothing_is_no_tuple() -> None:
    assert Tally({"a": pl.String(), "b": pl.Float64()}, 5).frame().schema == {
        "a": pl.String,
        "b": pl.Float64,
        COUNT: pl.Int64,
    }
