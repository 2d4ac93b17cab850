"""Columns as arrays for models, and back: numbers on their own grid, categories as codes, missing values as such."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import polars as pl

from sfumato.core.printed import plain_values
from sfumato.errors import ColumnError

DIGITS = 9  # most decimals that a grid of floating point numbers has
EXACT = 2.0**53
WHOLE = (pl.Date, pl.Datetime, pl.Time, pl.Duration)
FARTHEST = 2**62  # of whole numbers
DAYS = (-719_162, 2_932_896)  # of the years 1 to 9999
SPIKE = 0.05  # share of the rows from which a number is a spike
A_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


@dataclass(frozen=True, eq=False, repr=False)
class SyntheticColumn:
    """How the values of a column are written as numbers: a "number" as float64, a "category" as int32 codes.

    Whole numbers, dates and times are `origin + step * x` for whole x, exactly; other numbers have `decimals`, where
    they have few. Missing values are nan, or -1. `low` and `high` are the ends of x.

    >>> column = column_of(pl.Series("day", ["2024-01-01", "2024-01-15"]).str.to_date())
    >>> column.encode(pl.Series("day", ["2024-01-15", None]).str.to_date()), column.step
    (array([ 1., nan]), 14)
    >>> column.decode(np.array([0.7, np.nan])).to_list()
    [datetime.date(2024, 1, 15), None]
    """

    name: str
    kind: Literal["number", "category"]
    like: pl.Series  # empty, of the type of the column
    values: pl.Series  # of a category: what the codes stand for, in order
    origin: int = 0
    step: int = 0  # 0 where numbers are no whole ones
    decimals: int | None = None
    low: float = 0.0
    high: float = 0.0
    missing: bool = False

    @property
    def levels(self) -> int:
        """How many values a category has."""
        return len(self.values)

    @property
    def is_number(self) -> bool:
        """Whether it is a column of numbers, dates or times."""
        return self.kind == "number"

    def encode(self, column: pl.Series) -> np.ndarray:
        """The values as numbers or codes; a value that is not known is missing."""
        known = plain_values(column)
        if self.kind == "category":
            texts = known.cast(pl.String)
            codes = pl.DataFrame({"v": self.values.cast(pl.String), "c": np.arange(self.levels, dtype=np.int32)})
            found = texts.to_frame("v").join(codes, on="v", how="left", maintain_order="left").get_column("c")
            return found.fill_null(-1).cast(pl.Int32).to_numpy()
        if self.step:
            whole = known.to_physical().cast(pl.Int64) - self.origin
            return (whole // self.step).cast(pl.Float64).fill_null(np.nan).to_numpy().copy()
        return _floats(known).fill_null(np.nan).to_numpy().copy()

    def decode(self, x: np.ndarray) -> pl.Series:
        """Values of numbers or codes, on the grid of the column and within its range, in its type."""
        if self.kind == "category":
            codes = pl.Series(np.asarray(x, np.int64))
            return self.values.gather(codes.set(codes < 0, None)).alias(self.name)
        gone = np.isnan(x)
        inside = np.clip(np.where(gone, self.low, x), self.low, self.high)
        if self.step:
            whole = np.round(inside).astype(np.int64) * self.step + self.origin
            made = pl.Series(self.name, whole).set(pl.Series(gone), None)
            narrow = pl.Int32() if self.like.dtype == pl.Date else pl.Int64()
            return made.cast(narrow).cast(self.like.dtype)
        rounded = inside if self.decimals is None else np.round(inside, self.decimals)
        return pl.Series(self.name, rounded + 0.0).set(pl.Series(gone), None).cast(self.like.dtype)

    def unbounded(self) -> SyntheticColumn:
        """The same for numbers beyond the range of the column, as far as its type goes, and with more decimals."""
        if self.step:
            first, last = _ends(self.like)
            least, most = float(-((self.origin - first) // self.step)), float((last - self.origin) // self.step)
        else:
            most = 10.0 ** (d.precision - d.scale) - 1 if isinstance(d := self.like.dtype, pl.Decimal) else 1e300
            least = -most
        return replace(self, low=min(least, self.low), high=max(most, self.high), decimals=None)


def column_of(column: pl.Series) -> SyntheticColumn:
    """How the values of a column are written as numbers; whole ones too far apart for that are categories."""
    known = plain_values(column).drop_nulls()
    dtype, like = column.dtype, column.clear()
    missing = len(known) < len(column)
    if dtype.is_integer() or isinstance(dtype, WHOLE):
        whole = known.to_physical().cast(pl.Int64, strict=False).unique().sort()
        origin = int(whole[0]) if len(whole) and whole.null_count() == 0 else 0
        span = int(whole[-1]) - origin if len(whole) and whole.null_count() == 0 else 0
        step = max(int(np.gcd.reduce((whole - origin).to_numpy())), 1) if 0 < span < 2**62 else 1
        if whole.null_count() == 0 and span // step < EXACT:
            high = float(span // step)
            return SyntheticColumn(column.name, "number", like, like, origin, step, high=high, missing=missing)
    elif dtype.is_numeric():
        x = _floats(known).unique().sort().to_numpy()
        if len(x) and not np.isfinite(x).all():
            raise ColumnError(f'column "{column.name}" has infinite values', hint="leave it out, or make them missing")
        low, high = (float(x[0]), float(x[-1])) if len(x) else (0.0, 0.0)
        return SyntheticColumn(column.name, "number", like, like, 0, 0, _decimals(x), low, high, missing)
    return SyntheticColumn(column.name, "category", like, known.unique().sort(), missing=missing)


def mostly_alone(often: np.ndarray, rows: int) -> bool:
    """Whether most rows have a number of their own, spikes left out: it tells whose it is, and is not drawn as it is.

    >>> mostly_alone(np.array([1, 1, 2, 60]), 64), mostly_alone(np.array([3, 1, 2, 2]), 8)
    (True, False)
    """
    rest = often[(often > 0) & (often < SPIKE * rows)]
    return bool(2 * len(rest) > rest.sum())


def columns_of(table: pl.DataFrame) -> tuple[SyntheticColumn, ...]:
    """How the values of each column are written as numbers."""
    return tuple(map(column_of, table.iter_columns()))


def encoded(table: pl.DataFrame, columns: Sequence[SyntheticColumn]) -> list[np.ndarray]:
    """The columns of a table as arrays."""
    return [column.encode(table.get_column(column.name)) for column in columns]


def decoded(columns: Sequence[SyntheticColumn], arrays: Sequence[np.ndarray]) -> pl.DataFrame:
    """A table of arrays."""
    return pl.DataFrame([column.decode(x) for column, x in zip(columns, arrays, strict=True)])


def _ends(like: pl.Series) -> tuple[int, int]:
    """The least and the greatest whole number that a type holds, and that a calendar has."""
    dtype = like.dtype
    if isinstance(dtype, pl.Date):
        return DAYS
    if isinstance(dtype, pl.Time):
        return 0, A_DAY["ns"] - 1
    least, most = -FARTHEST, FARTHEST
    if isinstance(dtype, pl.Datetime):
        least, most = (day * A_DAY[dtype.time_unit] for day in DAYS)
    elif dtype.is_integer():
        held = np.iinfo(like.to_numpy().dtype)
        least, most = int(held.min), int(held.max)
    return max(least, -FARTHEST), min(most, FARTHEST)


def _floats(known: pl.Series) -> pl.Series:
    exact = known.cast(pl.String) if known.dtype == pl.Float32 else known  # a short float is what it prints
    return exact.cast(pl.Float64)


def _decimals(x: np.ndarray) -> int | None:
    """The fewest decimals that write all values; None where they have many."""
    for digits in range(DIGITS + 1):
        scaled = x * 10.0**digits
        if bool((np.abs(scaled) < EXACT / 8).all()) and bool((np.round(x, digits) == x).all()):
            return digits
    return None
