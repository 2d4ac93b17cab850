"""The tables that are measured on: Adult as published, and enlarged with a seed."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import polars as pl

import sfumato as sf

THREE = ["age", "education_num", "hours_per_week"]
SURVEY = ["urbrur", "roof", "walls", "water", "electcon", "relat", "sex", "hhcivil"]
MILLION = 1_000_000
# Where the three attributes, and the class that a peer wants as its sensitive column, stand in adult.data.
PLACES = {"age": 0, "education_num": 4, "hours_per_week": 12, "class": 14}


def shared() -> Path:
    """The folder of data beside the checkout, or where SFUMATO_SHARED says."""
    folder = Path(os.environ.get("SFUMATO_SHARED") or Path(__file__).resolve().parents[2] / "shared")
    if not (folder / "data").is_dir():
        raise SystemExit("benchmarks: the folder of shared data is missing; set SFUMATO_SHARED to where it is")
    return folder


def adult() -> pl.DataFrame:
    """Three numeric attributes and the class of UCI Adult, rows with a missing value in any column dropped."""
    table: pl.DataFrame = sf.read(shared() / "data/adult/adult.data", header=False)
    table = table.filter(~pl.any_horizontal(pl.all() == "?"))
    chosen = table.select(pl.col(table.columns[place]).alias(name) for name, place in PLACES.items())
    return chosen.with_columns(pl.col(THREE).cast(pl.Int64))


def nine() -> tuple[pl.DataFrame, dict[str, str]]:
    """Adult with nine attributes, and the hierarchy file of each."""
    folder = shared() / "data/arx"
    table = sf.read(folder / "adult.csv")
    return table, {name: str(folder / f"adult_hierarchy_{name}.csv") for name in table.columns}


def resample(table: pl.DataFrame, rows: int, seed: int = 1, redraw: float = 0.3) -> pl.DataFrame:
    """Rows drawn with replacement, each value then drawn anew from its column with probability `redraw`."""
    rng = np.random.default_rng(seed)
    drawn = rng.integers(table.height, size=rows)
    columns = []
    for column in table:
        anew = rng.random(rows) < redraw
        columns.append(column.gather(np.where(anew, rng.integers(table.height, size=rows), drawn)))
    return pl.DataFrame(columns)


def redrawn(table: pl.DataFrame, share: float, seed: int = 1) -> pl.DataFrame:
    """The same rows, each value drawn anew from its column with probability `share`."""
    rng = np.random.default_rng(seed)
    rows = np.arange(table.height)
    at = [np.where(rng.random(len(rows)) < share, rng.integers(len(rows), size=len(rows)), rows) for _ in table]
    return pl.DataFrame([column.gather(some) for column, some in zip(table, at, strict=True)])


def survey() -> pl.DataFrame:
    """A household survey of 4,580 people."""
    table: pl.DataFrame = sf.read(shared() / "data/sdc/testdata.csv")
    return table


def uniform(rows: int, columns: int, values: int = 10, seed: int = 1) -> pl.DataFrame:
    """Independent columns of equally frequent values."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame({f"k{i}": rng.integers(values, size=rows) for i in range(columns)})


def continuous(rows: int, seed: int = 1) -> pl.DataFrame:
    """Three columns of normal numbers: as many cells as rows."""
    rng = np.random.default_rng(seed)
    return pl.DataFrame({name: rng.standard_normal(rows) for name in ("x", "y", "z")})
