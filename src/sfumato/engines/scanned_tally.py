"""Tally: the distinct tuples of columns with their counts, of rows that come in batches."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from sfumato.engines.printed import plain
from sfumato.engines.scanned_pack import Layout, layout
from sfumato.engines.store import COUNT, OURS, refuse_many

KEY = OURS + "key"
DENSE = 1 << 25  # keys that are counted in a table of all of them
WAIT = 1 << 21  # rows that wait until they are grouped
NUMBERS = (pl.Boolean, pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.UInt8, pl.UInt16, pl.UInt32)
MOMENTS = (pl.Date, pl.Datetime, pl.Duration, pl.Time)


class Tally:
    """Counts of tuples. Memory follows the number of tuples: more than `most` are a PolicyError.

    Text and whole numbers are packed into one key: a table of all keys is counted in where it is small, else keys are
    grouped. Where they do not fit a key, and for other types, the columns themselves are grouped.

    >>> tally = Tally({"a": pl.String()}, 10)
    >>> tally.add(pl.DataFrame({"a": ["x", "y", "x"]}).select(tally.numbers))
    >>> sorted(tally.frame().rows())
    [('x', 2), ('y', 1)]
    """

    def __init__(self, schema: Mapping[str, pl.DataType], most: int, texts: Mapping[str, pl.Series] | None = None):
        self.schema, self.most = dict(schema), most
        # the numbers of texts last as long as a series that has their type
        self.texts = texts or {n: pl.Series([], dtype=pl.Categorical(pl.Categories.random())) for n in self._texts()}
        self.packs = not [t for t in self.schema.values() if t != pl.String and not isinstance(t, NUMBERS + MOMENTS)]
        self.layout: Layout | None = None
        self.table: np.ndarray | None = None
        self.settled: pl.DataFrame | None = None
        self.waiting: list[pl.DataFrame] = []

    def like(self) -> Tally:
        """An empty one that gives the same numbers."""
        return Tally(self.schema, self.most, self.texts)

    @property
    def numbers(self) -> list[pl.Expr]:
        """What is counted, of a frame with the columns: a whole number per value where there is one."""
        return [_number(name, dtype, self.texts) for name, dtype in self.schema.items()]

    def add(self, rows: pl.DataFrame, times: pl.Series | None = None) -> None:
        """Count some rows of `numbers`, each once or so many times."""
        if rows.height and self.packs:
            self._fit(rows)
        if not self.packs or self.layout is None:
            self._wait(rows, times)
        elif self.table is None:
            self._wait(pl.DataFrame({KEY: self.layout.packed(rows)}), times)
        else:
            np.add.at(self.table, self.layout.packed(rows), np.int64(1) if times is None else times.to_numpy())

    def cells(self) -> pl.DataFrame:
        """The distinct tuples as numbers, with their counts."""
        if self.table is not None:
            key = np.flatnonzero(self.table)
            refuse_many(len(key), self.most)
            return self._unpacked(key).with_columns(pl.Series(COUNT, self.table[key]))
        self._settle()
        if self.settled is None:
            return pl.DataFrame(schema={**dict.fromkeys(self.schema, pl.Int64), COUNT: pl.Int64})
        if not self.packs:
            return self.settled
        keys = self.settled.get_column(KEY).to_numpy()
        return self._unpacked(keys).with_columns(self.settled.get_column(COUNT))

    def frame(self, cells: pl.DataFrame | None = None) -> pl.DataFrame:
        """The distinct tuples, with their counts."""
        cells = self.cells() if cells is None else cells
        return cells.with_columns(_value(cells.get_column(n), t, self.texts.get(n)) for n, t in self.schema.items())

    def _texts(self) -> list[str]:
        return [name for name, dtype in self.schema.items() if dtype == pl.String]

    def _unpacked(self, key: np.ndarray) -> pl.DataFrame:
        assert self.layout is not None
        return self.layout.unpacked(key, list(self.schema))

    def _fit(self, rows: pl.DataFrame) -> None:
        """Make place for the rows: what was counted moves where the layout changes."""
        wide = layout(rows, self.layout)
        if wide is not None and wide == self.layout:
            return
        cells = None if self.layout is None else self.cells()
        self.layout, self.packs = wide, wide is not None
        self.table, self.settled, self.waiting = None, None, []
        if wide is not None and wide.domain <= DENSE:
            self.table = np.zeros(wide.domain, np.int64)
        if cells is not None:
            times = cells.get_column(COUNT)
            self.add(cells.drop(COUNT), times)

    def _wait(self, rows: pl.DataFrame, times: pl.Series | None) -> None:
        one = pl.lit(1, pl.Int64) if times is None else times
        self.waiting.append(rows.with_columns(one.alias(COUNT)))
        done = 0 if self.settled is None else self.settled.height
        if sum(frame.height for frame in self.waiting) > max(WAIT, done):
            self._settle()

    def _settle(self) -> None:
        frames = self.waiting if self.settled is None else [self.settled, *self.waiting]
        if self.waiting:
            every = pl.concat(frames)
            self.settled, self.waiting = every.group_by(every.columns[:-1]).agg(pl.col(COUNT).sum()), []
            refuse_many(self.settled.height, self.most)


def _number(name: str, dtype: pl.DataType, texts: Mapping[str, pl.Series]) -> pl.Expr:
    value = plain(name, dtype)
    if name in texts:
        return value.cast(texts[name].dtype).to_physical().cast(pl.Int64)
    return value.to_physical().cast(pl.Int64) if isinstance(dtype, NUMBERS + MOMENTS) else value


def _value(number: pl.Series, dtype: pl.DataType, text: pl.Series | None) -> pl.Series:
    if text is not None:
        return number.cast(pl.UInt32).cat.to(text.dtype).cast(pl.String)
    return number.cast(dtype)
