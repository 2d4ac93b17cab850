"""Streams to files: the bytes of `write_table`, without the table in memory."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from pathlib import Path

import polars as pl

from sfumato.engines.callbacks import Pulled, called
from sfumato.engines.disk import HINT, is_full, no_space, why
from sfumato.engines.files.bytes import SLICE, text_of, write_table
from sfumato.engines.files.count import CHANGED
from sfumato.engines.files.order import Arranged
from sfumato.engines.guard import guarded_frame
from sfumato.engines.order import INPUT, RowOrder
from sfumato.errors import OutputError, ReadError, did_you_mean

SEPARATORS = {"csv": ",", "tsv": "\t"}
FORMATS = ("csv", "tsv", "parquet")


def refuse_format(format: str) -> None:
    """Raise an OutputError for a format that cannot be written as a stream."""
    if format not in FORMATS:
        hint = did_you_mean(str(format), FORMATS)
        raise OutputError(f'format "{format}" cannot be written as a stream', allowed=", ".join(FORMATS), hint=hint)


def write(frame: pl.LazyFrame, file: Path, format: str, order: RowOrder, labels: Collection[str] = ()) -> None:
    """Write the rows of a lazy frame in an order; columns of labels, which are Enum, as texts."""
    refuse_format(format)
    try:
        if order.name == INPUT:
            _write(frame.with_columns(pl.col(*labels).cast(pl.String)) if labels else frame, file, format)
            return
        with Arranged(order, file.parent) as rows:
            _fill(rows, frame)
            schema = frame.collect_schema() | dict.fromkeys(labels, pl.String())
            pulled = Pulled(_texts(part, labels) for part in rows.frames(SLICE))
            try:
                _write(pulled.scan(schema), file, format)
            finally:
                pulled.close()
            if pulled.error is not None:
                raise pulled.error
    except (OSError, pl.exceptions.PolarsError) as error:
        if is_full(error):
            raise OutputError(no_space([file.parent]), hint=HINT) from None
        if isinstance(error, pl.exceptions.PolarsError):  # its message may hold cells
            raise ReadError(CHANGED) from None
        raise OutputError(why(error, file)) from None


def _texts(frame: pl.DataFrame, labels: Iterable[str]) -> pl.DataFrame:
    """Labels as the texts that are released: gathered, which takes a third of the time of a cast."""
    return frame.with_columns(
        series.dtype.categories.gather(series.to_physical()).alias(series.name)  # type: ignore[attr-defined]
        for series in map(frame.get_column, labels)
    )


def _fill(rows: Arranged, frame: pl.LazyFrame) -> None:
    raised: list[BaseException] = []

    def add(part: pl.DataFrame) -> bool:
        with called():
            try:
                rows.add(part)
            except BaseException as error:
                raised.append(error)
            return bool(raised)  # the query ends as if it had no more rows: one that fails leaves threads behind

    frame.sink_batches(add, chunk_size=SLICE, maintain_order=rows.in_order, engine="streaming")
    if raised:
        raise raised[0]


def _write(frame: pl.LazyFrame, file: Path, format: str) -> None:
    if format == "parquet":
        frame.sink_parquet(file, row_group_size=SLICE, engine="streaming")
    else:
        _write_text(frame, file, format)


def _write_text(frame: pl.LazyFrame, file: Path, format: str) -> None:
    write_table(pl.DataFrame(schema=frame.collect_schema()), file, format)  # the header
    raised: list[OSError] = []
    with file.open("ab", buffering=0) as stream:  # a buffer that cannot be written would fail once more at its end

        def append(part: pl.DataFrame) -> bool:
            with called():
                rest = text_of(guarded_frame(part), SEPARATORS[format])
                try:
                    while rest:
                        rest = rest[stream.write(rest) :]
                except OSError as error:
                    raised.append(error)
                return bool(raised)  # the query ends as if it had no more rows: one that fails leaves threads behind

        frame.sink_batches(append, chunk_size=SLICE, engine="streaming")
    if raised:
        raise raised[0]
