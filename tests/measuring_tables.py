"""Tables for tests that measure the same table in memory and elsewhere, and how their figures are compared."""

from __future__ import annotations

import datetime
import math
from typing import Any

import numpy as np
import polars as pl

ROWS = 2000


def made(rows: int = ROWS, seed: int = 3) -> pl.DataFrame:
    """Every type, with missing values of all forms, both zeros, and text that a spreadsheet would run."""
    rng = np.random.default_rng(seed)
    day = datetime.date(1960, 1, 1)

    def holes(values: list[Any], hole: Any, share: float = 0.03) -> list[Any]:
        return [hole if gone else v for v, gone in zip(values, rng.random(rows) < share, strict=True)]

    return pl.DataFrame(
        {
            "id": [f"p{i}" for i in range(rows)],
            "age": holes(rng.integers(20, 60, rows).tolist(), None),
            "height": pl.Series(
                holes(holes(rng.choice([-0.0, 0.0, 1.5, 2.25], rows).tolist(), math.nan), None), dtype=pl.Float64
            ),
            "born": holes([day + datetime.timedelta(int(d)) for d in rng.integers(0, 4, rows)], None),
            "zip": holes(rng.choice(["7", "10", "080", "9"], rows, p=[0.7, 0.1, 0.1, 0.1]).tolist(), ""),
            "town": pl.Series(holes(rng.choice(["=A", "B, b", 'C"c"', "*"], rows).tolist(), None)).cast(pl.Categorical),
            "member": holes((rng.random(rows) < 0.4).tolist(), None),
            "disease": holes(rng.choice(["flu", "cold", "ache", "none"], rows).tolist(), None, 0.05),
            "wage": holes(rng.integers(1, 40, rows).tolist(), None),
            "weight": rng.choice([1.25, 3.1, 7.7, 20.0], rows),
        }
    )


def alike(one: Any, other: Any, at: str = "", within: float = 1e-12) -> None:
    """Whether two trees of plain values are the same to 1e-12; what names rows or says what was left out aside.

    Errors of means, covariances and correlations are differences of sums, of which fewer digits are left.
    """
    if isinstance(one, dict) and isinstance(other, dict):
        skip = {"most_exposed", "notes", "sentence"}
        assert one.keys() - skip == other.keys() - skip, at
        name = str(one.get("name", ""))
        within = 1e-9 if name.startswith(("mean-", "eigenvalues")) else within
        for key in one.keys() - skip:
            alike(one[key], other[key], f"{at} {name} {key}", 1e-9 if key == "numbers" else within)
    elif isinstance(one, list | tuple) and isinstance(other, list | tuple):
        assert len(one) == len(other), at
        for i, (a, b) in enumerate(zip(one, other, strict=True)):
            alike(a, b, f"{at} {i}", within)
    elif isinstance(one, float) and isinstance(other, float | int):
        assert math.isclose(one, other, rel_tol=within, abs_tol=within), (at, one, other)
    else:
        assert one == other, (at, one, other)
