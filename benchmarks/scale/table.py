"""The table that is released: six columns, five of them quasi-identifiers, at most 4,992,000 cells."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

QUASI = {"age": 78, "sex": 2, "zip": 1000, "education": 8, "marital": 4}  # values each, all equally frequent
K = 10
SEARCHES = {"optimal": "full domain", "mondrian": "mondrian"}
SUPPRESSION = {"optimal": 0.01, "mondrian": 0.0}
HIERARCHIES = {"age": "intervals:5,10,20", "zip": "redact"}
FILE_ROWS = 10_000_000


def make(folder: Path, rows: int, format: str = "parquet", zips: int = QUASI["zip"]) -> Path:
    """The table in files of ten million rows under a folder, the same each time; fewer `zips` make fewer cells."""
    folder.mkdir(parents=True, exist_ok=True)
    for i, low in enumerate(range(0, rows, FILE_ROWS)):
        part = _part(i, min(FILE_ROWS, rows - low), zips)
        if format == "parquet":
            part.write_parquet(folder / f"{i:03}.parquet", row_group_size=1 << 18)
        else:
            part.write_csv(folder / f"{i:03}.csv")
    return folder


def asked(search: str) -> dict[str, Any]:
    """What a release is asked for."""
    return {
        "quasi": list(QUASI),
        "insensitive": ["cost"],
        "require": f"k-anonymity {K}",
        "search": search,
        "suppression": SUPPRESSION[search],
        "hierarchies": HIERARCHIES,
    }


def _part(seed: int, rows: int, zips: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    sizes = QUASI | {"zip": zips}
    codes = {name: rng.integers(0, values, rows, dtype=np.int16) for name, values in sizes.items()}
    return pl.DataFrame(codes).with_columns(
        pl.col("age") + 18,
        pl.col("zip").cast(pl.Int32) + 10_000,
        *(_words(name, codes[name]) for name in ("sex", "education", "marital")),
        pl.Series("cost", rng.integers(100, 100_000, rows) / 100),
    )


def _words(name: str, codes: np.ndarray) -> pl.Series:
    return pl.Series(name, [f"{name} {i}" for i in range(QUASI[name])]).gather(codes)
