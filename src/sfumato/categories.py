"""Categories: the distinct values of one column, in code order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

KINDS = ("text", "integer", "decimal", "date", "datetime", "boolean")


@dataclass(frozen=True)
class Categories:
    """The distinct values of a column: code i stands for `text[i]`.

    Codes follow the sorted values: by number or time where the column is ordered, by text otherwise.
    A missing value is a value of its own, always the last code, with `text` None and `position` NaN.
    """

    name: str
    kind: str  # one of KINDS
    text: tuple[str | None, ...]  # printed form of each value
    position: np.ndarray | None  # float64 per code where ordered (dates in days, datetimes in seconds)
    count: np.ndarray  # int64 rows per code

    @property
    def ordered(self) -> bool:
        """Whether the values are numbers, dates or times (also when they came as text)."""
        return self.position is not None

    @property
    def missing(self) -> bool:
        """Whether the last code stands for missing values."""
        return bool(self.text) and self.text[-1] is None

    def __len__(self) -> int:
        return len(self.text)


def kind_of(dtype: pl.DataType) -> str:
    """The kind of a column by its type alone.

    >>> kind_of(pl.Int8())
    'integer'
    """
    if dtype.is_integer():
        return "integer"
    if dtype.is_float() or dtype.is_decimal():
        return "decimal"
    names = {pl.Boolean: "boolean", pl.Date: "date", pl.Datetime: "datetime"}
    return names.get(dtype.base_type(), "text")
