"""Codes of a column's values: their ranks among the known ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

SPAN = 1 << 18  # between the least and the greatest of whole numbers that are ranked by a table
ENDS = 1 << 62  # whole numbers beyond it are beside the ends of 64 bits
WHOLE = (pl.Boolean, pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)  # what 64 bits hold


class Codes:
    """The code of each value of a column: its rank among the known ones, then one for missing, one for unknown."""

    def __init__(self, values: pl.Series) -> None:
        self.known = values.drop_nulls().unique().sort()
        self.missing, self.unknown = len(self.known), len(self.known) + 1
        self.size = len(self.known) + 2
        self.kind = pl.Enum(self.known) if values.dtype == pl.String else None
        physical = self.known.to_physical()
        self.whole = physical.cast(pl.Int64) if physical.dtype in WHOLE else None
        self.near = None if self.whole is None else _Near.of(self.whole, self.unknown)

    def __call__(self, values: pl.Series) -> pl.Series:
        """Codes as Int64, without nulls."""
        lacks = values.is_null() if values.null_count() else None
        if self.kind is not None:
            code = values.cast(self.kind, strict=False).to_physical().cast(pl.Int64)
        elif self.near is not None:
            code = self.near(values.to_physical().cast(pl.Int64))
        elif self.whole is not None:
            code = ranks(self.whole, values.to_physical().cast(pl.Int64))
        else:
            code = ranks(self.known, values)
        code = code.fill_null(self.unknown) if code.null_count() else code
        return code if lacks is None else code.set(lacks, self.missing)


@dataclass(frozen=True, eq=False)
class _Near:
    """Ranks of whole numbers that are near each other, from a table of all between the least and the greatest."""

    below: int  # one less than the least
    above: int
    rank: pl.Series

    @staticmethod
    def of(known: pl.Series, unknown: int) -> _Near | None:
        if not len(known) or known[-1] - known[0] > SPAN:
            return None
        below, above = known[0] - 1, known[-1] + 1
        if below < -ENDS or above > ENDS:
            return None
        rank = np.full(above - below + 1, unknown, np.int64)
        rank[known.to_numpy() - below] = np.arange(len(known))
        return _Near(below, above, pl.Series(rank))

    def __call__(self, values: pl.Series) -> pl.Series:
        return self.rank.gather(values.clip(self.below, self.above) - self.below)


def ranks(known: pl.Series, values: pl.Series) -> pl.Series:
    """The rank of each value among sorted ones, null where it is not one of them."""
    if not len(known):
        return pl.repeat(None, len(values), dtype=pl.Int64, eager=True)
    rank = known.search_sorted(values.fill_null(known[0])).cast(pl.Int64)
    rank = rank.clip(0, len(known) - 1)
    return rank.zip_with(known.gather(rank).eq_missing(values), pl.repeat(None, len(rank), dtype=pl.Int64, eager=True))
