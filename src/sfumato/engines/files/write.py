"""Streams to files, in order: the bytes of `write_table`, without the table in memory."""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO

import numpy as np
import polars as pl
import polars.selectors as cs

from sfumato.engines.atomic import HINT, is_full, no_space, why
from sfumato.engines.callbacks import Pulled, called
from sfumato.engines.files.bytes import SEPARATORS, SLICE, text_of, write_table
from sfumato.engines.files.count import CHANGED
from sfumato.engines.guard import guarded_frame
from sfumato.engines.numbers import NumberWriter
from sfumato.engines.order import INPUT, RANDOM, RowOrder
from sfumato.engines.protocol import RESERVED_PREFIX
from sfumato.errors import OutputError, ReadError, did_you_mean

VALUES = 3 << 20  # that a run holds
RUN = 1 << 19  # rows of it at most
BLOCKS = 256  # of a run
STEP = 1 << 19  # rows that are merged at a time, at least
DRAWN = RESERVED_PREFIX + "drawn"  # the column of random numbers

Places = Callable[[pl.DataFrame], np.ndarray]


class Arranged:
    """Rows that are added in frames and come out in an order, the canonical one or a random one: sorted runs, merged.

    A run is as many rows as fit in memory. It is sorted and put away in blocks; of each block the first row is
    remembered. Blocks come back in the order of those first rows: what is not greater than the first row of the next
    block can go, and the rest waits. At most one block of each run waits, however the input was sorted.
    What does not fit in memory is put into a file in the folder `beside`, which has no name there and is gone with the
    process, however that ends.
    """

    def __init__(self, order: RowOrder, beside: Path) -> None:
        self.beside = beside
        self.in_order = order.name == RANDOM  # whether it matters in which order rows are added
        self._rng = np.random.default_rng(order.seed) if self.in_order else None
        self._places: Places = _drawn if self.in_order else order.places
        self._held: list[pl.DataFrame] = []
        self._rows = 0
        self._runs: _Runs | None = None

    def __enter__(self) -> Arranged:
        return self

    def __exit__(self, *raised: object) -> None:
        if self._runs is not None:
            self._runs.file.close()

    def add(self, frame: pl.DataFrame) -> None:
        """More rows."""
        if self._rng is not None:
            frame = frame.with_columns(pl.Series(DRAWN, self._rng.integers(0, 1 << 63, frame.height)))
        most = max(BLOCKS, min(RUN, VALUES // max(1, frame.width)))
        self._held.append(frame)
        self._rows += frame.height
        while self._rows >= most:
            whole = pl.concat(self._held, rechunk=True)
            self._runs = _Runs.new(self.beside, most // BLOCKS) if self._runs is None else self._runs
            self._runs.add(_in_places(whole[:most], self._places))
            self._held, self._rows = [whole[most:]], self._rows - most

    def frames(self, size: int) -> Iterator[pl.DataFrame]:
        """All rows in order, in frames of one size, so that files do not tell how they were made; the last is smaller.
        They come once."""
        for frame in _resized(self._merged(), size):
            yield frame if self._rng is None else frame.drop(DRAWN)

    def _merged(self) -> Iterator[pl.DataFrame]:
        last = _in_places(pl.concat(self._held, rechunk=True), self._places) if self._held else None
        self._held = []
        if self._runs is None:
            yield from () if last is None else (last,)
            return
        if last is not None:
            self._runs.add(last)
            del last
        yield from self._runs.merged(self._places)


def _drawn(frame: pl.DataFrame) -> np.ndarray:
    return frame.get_column(DRAWN).arg_sort().to_numpy()


def _in_places(frame: pl.DataFrame, places: Places) -> pl.DataFrame:
    return frame[places(frame)]


@dataclass(eq=False)
class _Runs:
    """Sorted runs in a file: where each block begins and ends, its rows, and the first of them."""

    file: IO[bytes]
    rows: int  # of a block
    ends: list[int]
    sizes: list[int]
    firsts: list[pl.DataFrame]
    runs: int = 0

    @staticmethod
    def new(beside: Path, rows: int) -> _Runs:
        return _Runs(TemporaryFile(dir=beside, buffering=0), rows, [0], [], [])

    def add(self, run: pl.DataFrame) -> None:
        if not run.height:
            return
        self.runs += 1
        self.firsts.append(run.gather_every(self.rows))
        for block in run.with_columns(cs.enum().to_physical()).iter_slices(self.rows):  # without all their texts
            buffer = io.BytesIO()
            block.write_ipc_stream(buffer, compat_level=pl.CompatLevel.oldest())
            rest = buffer.getbuffer()
            while rest:
                rest = rest[self.file.write(rest) :]
            self.ends.append(self.ends[-1] + buffer.tell())
            self.sizes.append(block.height)

    def merged(self, places: Places) -> Iterator[pl.DataFrame]:
        """All rows in order, in frames of no certain size."""
        firsts = pl.concat(self.firsts)
        order = places(firsts)
        step = max(STEP, 2 * self.runs * self.rows)
        sizes = np.cumsum(np.array(self.sizes)[order])
        wait, low = firsts.clear(), 0
        listed = [pl.col(name).cat.to(dtype) for name, dtype in firsts.schema.items() if isinstance(dtype, pl.Enum)]
        while low < len(order):
            before = int(sizes[low - 1]) if low else 0
            high = max(low + 1, int(np.searchsorted(sizes, before + step)))
            blocks = pl.concat([self._block(int(i)) for i in order[low:high]], rechunk=True).with_columns(listed)
            bound = firsts[order[high : high + 1]]  # after it whatever comes, so after all that is alike
            here = pl.concat([wait, blocks, bound], rechunk=True)  # in one chunk gathering is fast
            there = places(here)
            if high < len(order):
                cut = int(np.flatnonzero(there == here.height - 1)[0])
                yield here[there[:cut]]
                wait = here[there[cut + 1 :]]
            else:
                yield here[there]
            low = high

    def _block(self, number: int) -> pl.DataFrame:
        self.file.seek(self.ends[number])
        return pl.read_ipc_stream(io.BytesIO(self.file.read(self.ends[number + 1] - self.ends[number])))


def _resized(frames: Iterable[pl.DataFrame], size: int) -> Iterator[pl.DataFrame]:
    held: list[pl.DataFrame] = []
    rows = 0
    for frame in frames:
        held.append(frame)
        rows += frame.height
        if rows >= size:
            whole = pl.concat(held, rechunk=True)
            full = rows - rows % size
            yield from whole[:full].iter_slices(size)
            held, rows = [whole[full:]], rows - full
    if rows:
        yield pl.concat(held)


FORMATS = ("csv", "tsv", "parquet")


def refuse_format(format: str) -> None:
    """Raise an OutputError for a format that cannot be written as a stream."""
    if format not in FORMATS:
        hint = did_you_mean(str(format), FORMATS)
        raise OutputError(f'format "{format}" cannot be written as a stream', allowed=", ".join(FORMATS), hint=hint)


def write(
    frame: pl.LazyFrame,
    file: Path,
    format: str,
    order: RowOrder,
    labels: Collection[str] = (),
    numbers: NumberWriter | None = None,
) -> None:
    """Write the rows of a lazy frame in an order; columns of labels, which are Enum, as texts or as `numbers` says."""
    refuse_format(format)
    schema = frame.collect_schema() | dict.fromkeys(labels, pl.String())
    with _told(file):
        if order.name == INPUT:
            rows = frame.with_columns(pl.col(*labels).cast(pl.String)) if labels else frame
            if numbers is None:
                _write(rows, file, format)
            else:
                parts = rows.collect_batches(chunk_size=SLICE, maintain_order=True, engine="streaming")
                _pull(parts, schema, numbers, file, format)
            return
        with Arranged(order, file.parent) as arranged:
            _fill(arranged, frame)
            _pull((_texts(part, labels) for part in arranged.frames(SLICE)), schema, numbers, file, format)


def write_frames(
    frames: Iterator[pl.DataFrame], schema: Mapping[str, pl.DataType], file: Path, format: str, order: RowOrder
) -> None:
    """Write the rows of frames that come one after the other, in an order."""
    refuse_format(format)
    with _told(file):
        if order.name == INPUT:
            _pull(_resized(frames, SLICE), schema, None, file, format)
            return
        with Arranged(order, file.parent) as arranged:
            for frame in frames:
                arranged.add(frame)
            _pull(arranged.frames(SLICE), schema, None, file, format)


@contextmanager
def _told(file: Path) -> Iterator[None]:
    """What stops the writing of a file, in our words."""
    try:
        yield
    except (OSError, pl.exceptions.PolarsError) as error:
        if is_full(error):
            raise OutputError(no_space([file.parent]), hint=HINT) from None
        if isinstance(error, pl.exceptions.PolarsError):  # its message may hold cells
            raise ReadError(CHANGED) from None
        raise OutputError(why(error, file)) from None


def _pull(
    frames: Iterator[pl.DataFrame],
    schema: Mapping[str, pl.DataType],
    numbers: NumberWriter | None,
    file: Path,
    format: str,
) -> None:
    """Write frames as they come, after one another."""
    if numbers is not None:
        frames, schema = (numbers(part) for part in frames), numbers.schema(schema)
    pulled = Pulled(frames)
    try:
        _write(pulled.scan(dict(schema)), file, format)
    finally:
        pulled.close()
    if pulled.error is not None:
        raise pulled.error


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
