"""Columns for the tests of the builders."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from decimal import Decimal

import numpy as np
import pytest

from sfumato.core.hierarchy import Categories

EPOCH = dt.datetime(1970, 1, 1)


def make_column(
    values: Sequence[object], kind: str | None = None, count: Sequence[int] | None = None, missing: bool = False
) -> Categories:
    """The categories of a column that holds each value once, in the order that an encoded column has."""
    sample = values[0] if values else ""
    if kind is None:
        kinds = {int: "integer", float: "decimal", Decimal: "decimal", dt.datetime: "datetime", dt.date: "date"}
        kind = kinds.get(type(sample), "text")
    position: list[float] | None = None
    if kind in ("integer", "decimal"):
        position = [float(str(value)) for value in values]
    elif kind == "date":
        position = [float((dt.date.fromisoformat(str(value)) - EPOCH.date()).days) for value in values]
    elif kind == "datetime":
        position = [(dt.datetime.fromisoformat(str(value)) - EPOCH).total_seconds() for value in values]
    text: list[str | None] = [v.isoformat() if isinstance(v, dt.datetime) else str(v) for v in values]
    counts = [1] * len(text) if count is None else list(count)
    if missing:
        text.append(None)
        counts.append(1)
        position = None if position is None else [*position, float("nan")]
    place = None if position is None else np.array(position, dtype=np.float64)
    return Categories("x", kind, tuple(text), place, np.array(counts, dtype=np.int64))


@pytest.fixture(scope="session")
def column() -> Callable[..., Categories]:
    """Makes the categories of a column from its values."""
    return make_column
