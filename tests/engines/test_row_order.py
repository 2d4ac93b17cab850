"""The canonical order: what is printed, byte by byte, missing last, however many values there are and of what type."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.core.printed import printed_frame
from sfumato.engines import order
from sfumato.engines.files import write as scanned_order
from sfumato.engines.order import RowOrder, arrangement, is_canonical, numbered, sorted_by

ROWS = 400
RNG = np.random.default_rng(5)
WHOLE = RNG.integers(-(10**6), 10**6, ROWS) // RNG.choice([1, 10, 1000, 10**6], ROWS)
DAYS = [datetime.date(1900, 1, 1) + datetime.timedelta(days=int(d)) for d in RNG.integers(0, 60000, ROWS)]
TIMES = [
    datetime.datetime(2024, 3, 31) + datetime.timedelta(seconds=float(s)) for s in RNG.random(ROWS).round(4) * 9000
]
COLUMNS: dict[str, Any] = {
    "whole": WHOLE,
    "small": pl.Series(WHOLE % 100, dtype=pl.Int8),
    "huge": pl.Series([int(x) * 10**12 for x in WHOLE]),
    "unsigned": pl.Series([int(abs(x)) * 18 * 10**12 for x in WHOLE], dtype=pl.UInt64),
    "beyond": pl.Series([int(x) * 10**20 for x in WHOLE], dtype=pl.Int128),
    "float": WHOLE / RNG.choice([1, 7, 1e-20, 1e20], ROWS),
    "cents": WHOLE / 100,
    "thousandths": WHOLE / RNG.choice([1, 10, 1000], ROWS) + RNG.choice([0, 99_999_000_000], ROWS),
    "too large": WHOLE / 100 + RNG.choice([0, 10**11, -(10**15)], ROWS),
    "single": pl.Series(WHOLE / 7, dtype=pl.Float32),
    "zeros": RNG.choice([0.0, -0.0, np.nan, 1.0], ROWS),
    "text": [f"{'é'[: i % 2]}{x}" for i, x in enumerate(WHOLE)],
    "few texts": RNG.choice(["", "a", "A", "日本", " "], ROWS).tolist(),
    "category": pl.Series(RNG.choice(["b", "a", "é"], ROWS).tolist(), dtype=pl.Categorical),
    "listed": pl.Series(RNG.choice(["b", "a"], ROWS).tolist(), dtype=pl.Enum(["b", "a"])),
    "flag": pl.Series(WHOLE % 2 == 0),
    "day": DAYS,
    "time": TIMES,
    "instant": pl.Series(TIMES).dt.replace_time_zone("UTC").dt.convert_time_zone("Europe/Berlin"),
    "clock": pl.Series(TIMES).dt.time(),
    "lasts": pl.Series([datetime.timedelta(seconds=int(x)) for x in WHOLE]),
    "money": pl.Series([Decimal(int(x)).scaleb(-2) for x in WHOLE], dtype=pl.Decimal(12, 2)),
}


def plainly(table: pl.DataFrame, by: list[str]) -> list[tuple[Any, ...]]:
    """The printed rows, sorted as Python does."""
    rows = printed_frame(table).select(by).rows()
    return sorted(rows, key=lambda row: [(text is None, (text or "").encode()) for text in row])


@pytest.mark.slow
@pytest.mark.parametrize("few", [3072, 1])
@pytest.mark.parametrize("name", COLUMNS)
def test_one_column_of_each_type(name: str, few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "FEW", few)  # below it every value is looked at alone
    column = pl.Series(name, COLUMNS[name])
    for table in (column.to_frame(), pl.concat([column, column.clear().extend_constant(None, 3)]).to_frame()):
        there = table[arrangement(table, [name])]
        assert printed_frame(there).rows() == plainly(table, [name])
        assert is_canonical(printed_frame(there), [name])
        assert is_canonical(printed_frame(table), [name]) == (printed_frame(table).rows() == plainly(table, [name]))


@pytest.mark.slow
@pytest.mark.parametrize("few", [3072, 1])
@pytest.mark.parametrize("largest", [1 << 62, 1 << 12])
def test_many_columns(few: int, largest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "FEW", few)
    monkeypatch.setattr(order, "LARGEST_KEY", largest)  # above it ranks are numbered anew
    table = pl.DataFrame({name: pl.Series(values) for name, values in COLUMNS.items()})
    for first in (["few texts", "flag", "listed"], ["category", "zeros"], ["day"]):
        by = sorted_by(table.columns, first)
        there = table[arrangement(table, by)]
        assert printed_frame(there).select(by).rows() == plainly(table, by)
        number = numbered(table, by)
        assert is_canonical(printed_frame(table[np.argsort(number, kind="stable")]), by)
        assert len(set(number.tolist())) == table.n_unique()


def arranged(frames: Iterable[pl.DataFrame], asked: RowOrder, folder: Path) -> list[pl.DataFrame]:
    with scanned_order.Arranged(asked, folder) as rows:
        for frame in frames:
            rows.add(frame)
        return list(rows.frames(1000))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["canonical", "random"])
@pytest.mark.parametrize("shape", ["sorted", "backwards", "mixed", "alike"])
def test_runs_on_disk_are_merged_to_the_same_order(
    name: str, shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scanned_order, "RUN", 512)
    monkeypatch.setattr(scanned_order, "STEP", 100)
    monkeypatch.setattr(scanned_order, "BLOCKS", 16)
    rng = np.random.default_rng(3)
    table = pl.DataFrame({"q": rng.integers(0, 30, 5000), "x": rng.integers(0, 900, 5000).astype(str)})
    table = table.with_columns(pl.when(pl.col("q") != 7).then("x"))
    by = ["q", "x"]
    if shape == "alike":
        table = table.with_columns(pl.when(pl.col("q") > 3).then(pl.lit(1)).otherwise("q").alias("q"), x=pl.lit("a"))
    elif shape != "mixed":
        table = table[arrangement(table, by)]
        table = table.reverse() if shape == "backwards" else table
    asked = RowOrder(name, ("q",), 9)
    for batch in (64, 700, 5000, 9000):
        found = arranged(table.iter_slices(batch), asked, tmp_path)
        assert [part.height for part in found] == [1000] * 5
        there = pl.concat(found)
        if name == "canonical":
            assert there.equals(table[arrangement(table, by)])
        else:
            assert not there.equals(table) or shape == "alike"
            assert there[arrangement(there, by)].equals(table[arrangement(table, by)])
            again = pl.concat(arranged(table.iter_slices(batch), asked, tmp_path))
            assert again.equals(there)
    assert list(tmp_path.iterdir()) == []  # the file has no name


def test_labels_are_sorted_as_their_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scanned_order, "RUN", 512)
    monkeypatch.setattr(scanned_order, "STEP", 100)
    monkeypatch.setattr(scanned_order, "BLOCKS", 16)
    rng = np.random.default_rng(4)
    listed = pl.Enum(["b", "", "é", "a", "B", "日本", "none has it"])
    texts = [None, *listed.categories][:-1]
    drawn = {name: pl.Series(name, texts).gather(rng.integers(0, len(texts), 3000)) for name in ("q", "r")}
    table = pl.DataFrame([*drawn.values(), pl.Series("x", rng.integers(0, 9, 3000) / 4)])
    wanted = table[arrangement(table, ["q", "r", "x"])]
    labels = table.with_columns(pl.col("q", "r").cast(listed))
    assert labels[arrangement(labels, ["q", "r", "x"])].cast(table.schema).equals(wanted)
    found = pl.concat(arranged(labels.iter_slices(700), RowOrder("canonical", ("q", "r")), tmp_path))
    assert found.schema == labels.schema
    assert found.cast(table.schema).equals(wanted)


def test_no_rows(tmp_path: Path) -> None:
    nothing = pl.DataFrame({"q": pl.Series([], dtype=pl.Int64)})
    assert arranged([], RowOrder(), tmp_path) == []
    assert pl.concat([nothing, *arranged([nothing], RowOrder(), tmp_path)]).is_empty()
    assert arrangement(nothing, ["q"]).tolist() == numbered(nothing, ["q"]).tolist() == []
    assert is_canonical(nothing, ["q"])


def test_texts_of_every_length(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "FEW", 1)
    rng = np.random.default_rng(8)
    letters = np.array(["a", "b", "é", "日", "\x01", "~", "\U0001f600"])
    for most in (1, 3, 9, 20, 60):
        texts = ["".join(rng.choice(letters, rng.integers(0, most + 1))) for _ in range(300)]
        for more in ([], [None], ["a\0", "a\0b", "a"]):
            table = pl.DataFrame({"x": [*texts, *more]})
            assert printed_frame(table[arrangement(table, ["x"])]).rows() == plainly(table, ["x"])


def test_decimals_are_compared_as_their_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "FEW", 1)
    rng = np.random.default_rng(9)
    for places in range(7):
        for size in (1, 4, 9, 11, 14, 16):
            value = rng.integers(-(10**size), 10**size, 300) / 10 ** rng.integers(0, places + 1, 300)
            value[rng.random(300) < 0.05] = np.nan
            table = pl.DataFrame({"x": value})
            assert printed_frame(table[arrangement(table, ["x"])]).rows() == plainly(table, ["x"])
