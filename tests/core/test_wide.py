"""Wide tables: no step takes more than its share as the columns grow."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.verbs.inspect import inspect

pytestmark = pytest.mark.slow

NARROW = 400
QUASI = {"quasi": ["age", "sex"], "sensitive": ["disease"], "require": sf.KAnonymity(5)}


def people(columns: int) -> pl.DataFrame:
    """Sixty people, of whom so many answers are known: numbers, texts and some that a spreadsheet could run."""
    draw = np.random.default_rng(columns)
    answers = {
        f"v{i}": draw.choice(["yes", "no", "-x"], 60) if i % 2 else draw.integers(0, 9, 60) for i in range(columns)
    }
    about = {
        "age": draw.integers(20, 60, 60),
        "sex": draw.choice(["f", "m"], 60),
        "disease": draw.choice(["a", "b"], 60),
    }
    return pl.DataFrame(about | answers)


def released(table: Any) -> sf.Release:
    return sf.anonymize(table, insensitive=[name for name in table.columns if name.startswith("v")], **QUASI)


def seconds(work: Callable[[], object]) -> float:
    """Of the processor, not of the clock, and the less of two: the machine may be busy."""
    taken = []
    for _ in range(2):
        began = time.process_time()
        work()
        taken.append(time.process_time() - began)
    return min(taken)


def anonymizing_pandas(table: pl.DataFrame, folder: Path) -> Callable[[], object]:
    frame = table.to_pandas()
    return lambda: released(frame)


def dropping(table: pl.DataFrame, folder: Path) -> Callable[[], object]:
    return lambda: sf.anonymize(table, identifying=[name for name in table.columns if name.startswith("v")], **QUASI)


def saving(table: pl.DataFrame, folder: Path) -> Callable[[], object]:
    return lambda: released(table).save(folder / str(table.width), overwrite=True)


def inspecting(table: pl.DataFrame, folder: Path) -> Callable[[], object]:
    return lambda: inspect(table)


@pytest.mark.parametrize("work", [anonymizing_pandas, dropping, saving, inspecting])
def test_no_step_is_quadratic_in_columns(tmp_path: Path, work: Callable[..., Callable[[], object]]) -> None:
    released(people(10)).save(tmp_path / "warm")
    narrow, wide = (seconds(work(people(columns), tmp_path)) for columns in (NARROW, 4 * NARROW))
    assert wide < 8 * narrow


def test_a_column_costs_no_more_to_save_than_to_inspect(tmp_path: Path) -> None:
    """Report and verify included: no look at each column by itself that takes milliseconds."""
    table = people(2 * NARROW)
    released(people(10)).save(tmp_path / "warm")
    assert seconds(saving(table, tmp_path)) < 3 * seconds(inspecting(table, tmp_path))


def test_many_columns_come_back_as_they_were(tmp_path: Path) -> None:
    release = released(people(300))
    for format in ("csv", "tsv", "parquet"):
        release.save(tmp_path / format, format=format)
        assert sf.verify(tmp_path / format).holds
    assert "'-x" in (tmp_path / "csv" / "data.csv").read_text()
