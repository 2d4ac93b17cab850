"""The rows of an out-of-core table, batch by batch: what maskers change and generators learn from."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np
import polars as pl

from sfumato.core.masked import of_type, typed
from sfumato.core.printed import is_printable, printed
from sfumato.core.progress import Progress, quiet
from sfumato.core.random_stream import RandomStream
from sfumato.engines.protocol import Engine
from sfumato.errors import ReadError

CHANGED = "the table has other rows than when it was counted: it was changed while it was read"
FIRST = 1000  # rows that tell what types the steps make

At = Callable[[RandomStream], RandomStream]  # the random numbers of the rows of a batch


@dataclass(frozen=True, eq=False)
class OutOfCoreRows:
    """The rows of an out-of-core table, which come in batches: how many there are, the columns of texts that are all
    numbers or dates, and those that tell rows apart, where these are named."""

    engine: Engine
    rows: int
    types: Mapping[str, pl.DataType]
    row_key: tuple[str, ...] = ()

    @cached_property
    def first(self) -> tuple[pl.DataFrame, At]:
        """A few rows of all columns, which tell what types the steps make."""
        with closing(self.batches(printable(self.engine), "reading all rows", quiet)) as batches:
            for frame, _ in batches:
                head = frame.head(FIRST)
                return head, self._at(head, 0)
        raise ReadError(CHANGED, hint="run it again")

    def _at(self, frame: pl.DataFrame, start: int) -> At:
        """The random numbers of rows that follow each other."""
        if self.row_key:
            keys = cache(lambda: row_keys_of(frame, self.row_key))  # not every pass draws
            return lambda stream: replace(stream, row_keys=keys())
        places = np.arange(start, start + frame.height)
        return lambda stream: replace(stream, places=places)

    @staticmethod
    def of(engine: Engine, sample: pl.DataFrame, apart: Collection[str], row_key: Sequence[str]) -> OutOfCoreRows:
        """Read all rows once, of columns of texts that may be numbers: `sample` tells which; those `apart` are not."""
        schema, names = engine.schema(), printable(engine)
        may = [n for n, t in typed(sample.select(names), apart).schema.items() if t != schema[n]]
        rows, found = 0, {name: set[pl.DataType]() for name in may}
        for frame in with_rows(engine.batches(may or names[:1])):
            rows += frame.height
            for name in may:
                known = frame.get_column(name).drop_nulls()
                if (known != "").any():
                    found[name].add(typed(known.to_frame()).dtypes[0])
        numbers = {pl.Int64(), pl.Float64()}
        types = {
            name: pl.Float64() if one == numbers else next(iter(one))
            for name, one in found.items()
            if one and (len(one) == 1 or one == numbers) and pl.String() not in one
        }
        return OutOfCoreRows(engine, rows, types, tuple(row_key))

    def as_typed(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Rows with numbers and dates as such."""
        return frame.with_columns(of_type(frame.get_column(n), t) for n, t in self.types.items() if n in frame.columns)

    def batches(
        self, columns: Collection[str], what: str, report_progress: Progress
    ) -> Generator[tuple[pl.DataFrame, At]]:
        """All rows of some columns as they are, each batch with where its random numbers are."""
        asked, start = [name for name in self.engine.schema() if name in {*columns, *self.row_key}], 0
        for frame in with_rows(self.engine.batches(asked)):
            yield frame, self._at(frame, start)
            start += frame.height
            report_progress(what, min(1.0, start / self.rows))
        if start != self.rows:
            raise ReadError(CHANGED, hint="run it again")


def row_keys_of(table: pl.DataFrame, names: Sequence[str]) -> tuple[bytes, ...]:
    """What random numbers are drawn by where columns tell rows apart: the same texts in every engine.

    >>> row_keys_of(pl.DataFrame({"id": [7, 12], "visit": ["a", None]}), ["id", "visit"])
    (b'1:71:a', b'2:12-')
    """
    texts = pl.DataFrame([printed(table.get_column(name)).alias(str(i)) for i, name in enumerate(names)])
    known = map(pl.col, texts.columns)
    sized = [(text.str.len_bytes().cast(pl.String) + ":" + text).fill_null("-") for text in known]
    return tuple(texts.select(pl.concat_str(sized).cast(pl.Binary)).to_series().to_list())


def printable(engine: Engine) -> list[str]:
    """The columns that have a printed form; no others are masked or released."""
    return [name for name, dtype in engine.schema().items() if is_printable(dtype)]


def with_rows(frames: Iterator[pl.DataFrame]) -> Iterator[pl.DataFrame]:
    """Frames that have rows; where nobody asks for more, what they come from is closed."""
    with closing(frames):  # type: ignore[type-var]
        yield from (frame for frame in frames if frame.height)
