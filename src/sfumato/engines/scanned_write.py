"""Streams to files: the bytes of `write_table`, without the table in memory."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl

from sfumato.engines.guard import guarded_text
from sfumato.engines.scanned_count import CHANGED
from sfumato.engines.write import SLICE, write_table
from sfumato.errors import OutputError, ReadError, did_you_mean

SEPARATORS = {"csv": ",", "tsv": "\t"}
FORMATS = ("csv", "tsv", "parquet")


def refuse_format(format: str) -> None:
    """Raise an OutputError for a format that cannot be written as a stream."""
    if format not in FORMATS:
        hint = did_you_mean(str(format), FORMATS)
        raise OutputError(f'format "{format}" cannot be written as a stream', allowed=", ".join(FORMATS), hint=hint)


def write(frame: pl.LazyFrame, file: Path, format: str) -> None:
    """Write the rows of a lazy frame, in their order."""
    refuse_format(format)
    try:
        if format == "parquet":
            frame.sink_parquet(file, row_group_size=SLICE, engine="streaming")
        else:
            _write_text(frame, file, format)
    except pl.exceptions.PolarsError:  # its message may hold cells
        raise ReadError(CHANGED) from None
    except OSError as error:
        raise OutputError(f"{file} cannot be written: {error.strerror or type(error).__name__}") from None


def _write_text(frame: pl.LazyFrame, file: Path, format: str) -> None:
    write_table(pl.DataFrame(schema=frame.collect_schema()), file, format)  # the header
    with file.open("ab") as stream:

        def append(part: pl.DataFrame) -> None:
            text = pl.DataFrame({series.name: guarded_text(series) for series in part.iter_columns()})
            buffer = io.BytesIO()
            # a lone missing value must not become a blank line, which readers skip
            missing = '""' if text.width == 1 else None
            text.write_csv(buffer, include_header=False, separator=SEPARATORS[format], null_value=missing)
            stream.write(buffer.getbuffer())

        frame.sink_batches(append, chunk_size=SLICE, engine="streaming")
