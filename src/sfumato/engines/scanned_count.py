"""Counting files part by part: what is counted is saved, so that an interrupted count goes on."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from sfumato.engines.disk import why
from sfumato.engines.scanned_source import Source
from sfumato.engines.scanned_tally import Tally
from sfumato.engines.store import COUNT, Say
from sfumato.errors import OutputError, ReadError

CHANGED = "a file of the table is damaged, or was changed while it was read"
BATCH = 1 << 18  # rows counted at a time
PART = 50_000_000  # rows counted between two savings: some seconds of work


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

    def __init__(self, say: Say, message: str, rows: int) -> None:
        self.say, self.message, self.rows, self.done = say, message, rows, 0

    def __call__(self, rows: int) -> None:
        self.done += rows
        self.say(self.message, min(1.0, self.done / self.rows) if self.rows else None)


def count(
    sources: Sequence[Source], columns: Sequence[str], say: Say, most: int, work: Path | None, part: int
) -> pl.DataFrame:
    """Distinct tuples of columns with their counts; each part is saved in `work`."""
    every, names, schema = parts(sources, part), list(columns), sources[0].schema
    ticker = Ticker(say, "counting rows", sum(p.rows for p in every))
    if work is not None:
        work = _folder(work, f"{[(str(s.path.resolve()), s.bytes, s.changed) for s in sources]} {names} {part}")
    whole = Tally({name: schema[name] for name in names}, most)
    for i, p in enumerate(every):
        file = None if work is None or len(every) == 1 else work / f"{i}.parquet"
        if file is None:
            tally(p.frame, whole, ticker)
        elif file.exists():
            found = stream(pl.scan_parquet(file, glob=False))
            whole.add(found.select(whole.numbers), found.get_column(COUNT))
            ticker(p.rows)
        else:
            here = whole.like()
            tally(p.frame, here, ticker)
            cells = here.cells()
            _save(here.frame(cells), file)
            whole.add(cells.drop(COUNT), cells.get_column(COUNT))
    return whole.frame()


def tally(rows: pl.LazyFrame, into: Tally, ticker: Ticker) -> None:
    """Count the rows of a stream; batches are coded on all cores while one counts."""
    try:
        for batch in rows.select(into.numbers).collect_batches(
            chunk_size=BATCH, maintain_order=False, engine="streaming"
        ):
            into.add(batch)
            ticker(batch.height)
    except (pl.exceptions.PolarsError, OSError):
        raise ReadError(CHANGED) from None


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
        found = [place.lstat() for place in (work, folder)]
    except OSError as error:
        raise OutputError(why(error, work)) from None
    if any(not stat.S_ISDIR(f.st_mode) or f.st_uid != os.geteuid() or f.st_mode & 0o077 for f in found):
        raise OutputError(f"{work} is not a folder of a count: others may read or write it", hint="remove it")
    return folder


def _save(cells: pl.DataFrame, file: Path) -> None:
    """Write cells so that they are there whole or not at all."""
    beside = file.with_suffix(".half")
    try:
        cells.write_parquet(beside, compression="lz4")
        os.replace(beside, file)
    except OSError as error:
        raise OutputError(why(error, file.parent)) from None
