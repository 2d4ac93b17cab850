"""Counting files part by part: what is counted is saved, so that an interrupted count goes on."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from sfumato.engines.scanned_source import Source
from sfumato.engines.store import COUNT, Say, plain, refuse_many
from sfumato.errors import OutputError, ReadError

CHANGED = "a file of the table is damaged, or was changed while it was read"
BATCH = 1 << 21  # rows grouped at a time
PART = 20_000_000  # rows counted between two savings: some seconds of work


@dataclass(frozen=True)
class Part:
    """Some rows of a table, how many, and whether that is no guess."""

    frame: pl.LazyFrame
    rows: int
    exact: bool


def parts(sources: Sequence[Source], most: int = PART) -> list[Part]:
    """The files, small ones together, large Parquet files cut."""
    found: list[Part] = []
    together: list[Source] = []
    for source in sources:
        if together and sum(s.rows for s in together) + source.rows > most:
            found.append(_joined(together))
            together = []
        if source.exact and source.rows > most:
            lows = range(0, source.rows, most)
            found += [Part(source.frame.slice(low, most), min(most, source.rows - low), True) for low in lows]
        else:
            together.append(source)
    return [*found, _joined(together)] if together else found


def _joined(files: Sequence[Source]) -> Part:
    rows, exact = sum(source.rows for source in files), all(source.exact for source in files)
    return Part(pl.concat([source.frame for source in files]), rows, exact)


class Ticker:
    """Says how many rows have gone by."""

    def __init__(self, say: Say, message: str, rows: int, done: int = 0) -> None:
        self.say, self.message, self.rows, self.done = say, message, rows, done

    def __call__(self, frame: pl.DataFrame) -> pl.DataFrame:
        self.done += frame.height
        self.say(self.message, min(1.0, self.done / self.rows) if self.rows else None)
        return frame

    def on(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """The frame, with its rows counted as they go by."""
        return frame.map_batches(self, streamable=True)


def count(
    sources: Sequence[Source], columns: Sequence[str], say: Say, most: int, work: Path | None, part: int
) -> pl.DataFrame:
    """Distinct tuples of columns with their counts; each part is saved in `work`."""
    every, names, schema = parts(sources, part), list(columns), sources[0].schema
    ticker = Ticker(say, "counting rows", sum(p.rows for p in every))
    if work is not None:
        work = _folder(work, f"{[(str(s.path.resolve()), s.bytes, s.changed) for s in sources]} {names} {part}")
    cells: pl.DataFrame | None = None
    for i, p in enumerate(every):
        file = None if work is None else work / f"{i}.parquet"
        if file is not None and file.exists():
            ticker.done += p.rows
            say("counting rows", min(1.0, ticker.done / max(ticker.rows, 1)))
            found = stream(pl.scan_parquet(file, glob=False))
        else:
            found = tally(ticker.on(p.frame.select(names)).select(plain(n, schema[n]) for n in names), names, p.exact)
            if file is not None and len(every) > 1:
                _save(found, file)
        cells = found if cells is None else merged([cells, found], names)
        refuse_many(cells.height, most)
    return pl.DataFrame() if cells is None else cells


def tally(rows: pl.LazyFrame, names: list[str], bounded: bool) -> pl.DataFrame:
    """Distinct tuples of some rows with their counts; where the rows are not bounded, batch by batch.

    A stream that is grouped holds what it cannot settle until its end, which grows with the rows where there are many
    tuples.
    """
    if bounded:
        return stream(rows.group_by(names).agg(pl.len().cast(pl.Int64).alias(COUNT)))
    settled = pl.DataFrame(schema={**rows.collect_schema(), COUNT: pl.Int64})
    waiting: list[pl.DataFrame] = []
    try:
        for batch in rows.collect_batches(chunk_size=BATCH, engine="streaming"):
            waiting.append(batch.group_by(names).agg(pl.len().cast(pl.Int64).alias(COUNT)))
            if sum(frame.height for frame in waiting) > max(BATCH, settled.height):
                settled, waiting = merged([settled, *waiting], names), []
    except (pl.exceptions.PolarsError, OSError):
        raise ReadError(CHANGED) from None
    return merged([settled, *waiting], names)


def merged(frames: Sequence[pl.DataFrame], names: list[str]) -> pl.DataFrame:
    """Counts of several frames added up."""
    return pl.concat(frames).group_by(names).agg(pl.col(COUNT).sum())


def stream(frame: pl.LazyFrame) -> pl.DataFrame:
    """Collect a frame without holding what it is made from; messages of Polars may hold cells, so they go."""
    try:
        return frame.collect(engine="streaming")
    except (pl.exceptions.PolarsError, OSError):
        raise ReadError(CHANGED) from None


def _folder(work: Path, what: str) -> Path:
    """The folder of this count, readable to its owner only; what other counts left is left alone."""
    folder = work / hashlib.sha256(what.encode()).hexdigest()[:16]
    try:
        work.parent.mkdir(parents=True, exist_ok=True)
        work.mkdir(mode=0o700, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise OutputError(f"{work} cannot be written: {error.strerror or type(error).__name__}") from None
    return folder


def _save(cells: pl.DataFrame, file: Path) -> None:
    """Write cells so that they are there whole or not at all."""
    beside = file.with_suffix(".half")
    try:
        cells.write_parquet(beside, compression="lz4")
        os.replace(beside, file)
    except OSError as error:
        raise OutputError(f"{file.parent} cannot be written: {error.strerror or type(error).__name__}") from None
