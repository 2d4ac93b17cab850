"""Counts: a table asked for distinct tuples, each question once, within a limit of memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.engines.memory.table import MemoryTable
from sfumato.engines.protocol import COUNT
from sfumato.errors import ColumnError, EmptyTable, PolicyError
from sfumato.measures.table import TupleCounts
from sfumato.measures.utility.numeric_error import correlation, covariance, mean, spread

FRAME = pl.DataFrame(
    {
        "a": [1, 1, 2, 2, 2, 3],
        "b": ["x", "", None, "y", "y", "x"],
        "c": pl.Series([0.0, -0.0, float("nan"), None, 1.5, 1.5]),
        "d": pl.Series(["u", "v", "u", "u", "v", "v"]).cast(pl.Categorical),
    }
)


class Asked(MemoryTable):
    """A frame that remembers what it was asked."""

    def __init__(self, frame: pl.DataFrame) -> None:
        super().__init__(frame)
        self.asked: list[tuple[str, ...]] = []

    def count(self, columns: Any, report_progress: Any, most: int) -> pl.DataFrame:
        self.asked.append(tuple(columns))
        return super().count(columns, report_progress, most)


def as_dict(counts: TupleCounts, *names: str) -> dict[Any, int]:
    frame, row_counts = counts.entries(names)
    assert frame.columns == list(names)
    return dict(zip(frame.rows(), row_counts.tolist(), strict=True))


def test_one_missing_value_and_one_zero() -> None:
    counts = TupleCounts(MemoryTable(FRAME))
    assert as_dict(counts, "b") == {("x",): 2, ("y",): 2, (None,): 2}
    assert as_dict(counts, "c") == {(0.0,): 2, (1.5,): 2, (None,): 2}
    assert as_dict(counts, "d") == {("u",): 3, ("v",): 3}


def test_a_wider_answer_is_rolled_up() -> None:
    table = Asked(FRAME)
    counts = TupleCounts(table)
    assert as_dict(counts, "a", "b", "d")[2, "y", "u"] == 1
    assert as_dict(counts, "b", "a") == {("x", 1): 1, (None, 1): 1, (None, 2): 1, ("y", 2): 2, ("x", 3): 1}
    assert as_dict(counts, "a") == {(1,): 2, (2,): 3, (3,): 1}
    assert table.asked == [("a", "b", "d")]
    assert as_dict(counts, "c")
    assert table.asked == [("a", "b", "d"), ("c",)]


def test_only_so_many_tuples_are_held() -> None:
    table = Asked(FRAME)
    counts = TupleCounts(table, most=5)
    assert counts.holds(["a", "b"])  # 5 tuples
    assert counts.holds(["c"])  # takes their place
    assert counts.holds(["a"])
    assert table.asked == [("a", "b"), ("c",), ("a",)]
    assert not counts.holds(["a", "b", "d"])
    assert not counts.holds(["a", "b", "d", "c"])  # what is in it was refused: not asked again
    assert table.asked[3:] == [("a", "b", "d")]
    with pytest.raises(PolicyError, match="too many different combinations"):
        counts.entries(["a", "b", "d"])


def test_rows_are_counted() -> None:
    assert TupleCounts(MemoryTable(FRAME)).rows == 6
    with pytest.raises(PolicyError, match="too many"):
        _ = TupleCounts(MemoryTable(FRAME), most=1).rows
    with pytest.raises(EmptyTable):
        TupleCounts(MemoryTable(FRAME.clear())).entries(["a"])


def test_columns_are_checked() -> None:
    counts = TupleCounts(MemoryTable(FRAME))
    with pytest.raises(ColumnError, match='no column "e"'):
        counts.entries(["a", "e"])
    counts.schema["a"] = pl.List(pl.Int64)  # as an engine may have one
    with pytest.raises(ColumnError, match="cannot be released as text"):
        counts.entries(["a"])
    assert COUNT not in counts.columns


def test_moments_of_rows_that_stand_for_several() -> None:
    rng = np.random.default_rng(5)
    x, row_counts = rng.normal(size=(40, 3)), rng.integers(1, 9, 40)
    every = np.repeat(x, row_counts, axis=0)
    for measure in (mean, spread, covariance, correlation):
        assert np.allclose(measure(x, row_counts), measure(every, None), rtol=1e-12, atol=1e-14)
    assert covariance(x[:, :1], row_counts).shape == (1, 1)
