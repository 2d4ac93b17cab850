"""One whole number per tuple of whole numbers: exact, and made wider as larger numbers come."""

from __future__ import annotations

import hashlib
import itertools
import os
import shutil
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from polars.io.plugins import register_io_source

from sfumato.core.printed import LARGEST_KEY, known, plain
from sfumato.core.progress import Progress, check_cancelled, interruptible
from sfumato.engines.atomic import hold, why
from sfumato.engines.callbacks import called, patiently
from sfumato.engines.files.source import FileSource
from sfumato.engines.protocol import COUNT, RESERVED_PREFIX, refuse_many
from sfumato.errors import ColumnError, OutputError, PolicyError, ReadError, SfumatoError


@dataclass(frozen=True)
class Layout:
    """Where each column's number stands in a key: columns count from `low`, `size` places each, the first for missing.

    >>> layout = Layout((20, 0), (4, 3))
    >>> rows = pl.DataFrame({"a": [20, 22, None], "b": [1, 0, 0]})
    >>> layout.unpacked(layout.packed(rows), rows.columns).equals(rows)
    True
    """

    low: tuple[int, ...]
    size: tuple[int, ...]

    @property
    def domain(self) -> int:
        """How many keys there are."""
        return int(np.prod(np.array(self.size, dtype=object), initial=1))

    def packed(self, rows: pl.DataFrame) -> np.ndarray:
        """The key of each row, whose numbers the layout has places for."""
        key = np.zeros(rows.height, np.int64)
        for series, low, size in zip(rows.iter_columns(), self.low, self.size, strict=True):
            key *= size
            key += series.fill_null(low - 1).to_numpy()
            key -= low - 1
        return key

    def unpacked(self, key: np.ndarray, names: Sequence[str]) -> pl.DataFrame:
        """The numbers of each key."""
        found: dict[str, pl.Series] = {}
        for name, low, size in reversed(list(zip(names, self.low, self.size, strict=True))):
            above = key // size
            place = key - above * size  # in two steps: `divmod` is slower
            key = above
            number = pl.Series(name, place + (low - 1))
            missing = pl.Series(place == 0)
            found[name] = number.set(missing, None) if missing.any() else number
        return pl.DataFrame({name: found[name] for name in names})


def layout(rows: pl.DataFrame, old: Layout | None) -> Layout | None:
    """A layout with places for all rows, the old one where it has them; None where keys would be too large.

    A layout that had to grow has places to spare, so that it does not have to with every batch.
    """
    low, size = [], []
    for i, series in enumerate(rows.iter_columns()):
        least, most = series.min(), series.max()
        if old is None:
            least, most = (0, -1) if least is None else (int(least), int(most))  # type: ignore[arg-type]
        else:
            first, last = old.low[i], old.low[i] + old.size[i] - 2
            below = first if least is None else min(first, int(least))  # type: ignore[arg-type]
            above = last if most is None else max(last, int(most))  # type: ignore[arg-type]
            spare = (above - below) // 4
            least = below - spare if below < first else first
            most = above + spare if above > last else last
        low.append(least)
        size.append(most - least + 2)
    wide = Layout(tuple(low), tuple(size))
    if old == wide:
        return old
    return wide if wide.domain < LARGEST_KEY and min(low) > -LARGEST_KEY else None


KEY = RESERVED_PREFIX + "key"
NEEDED = RESERVED_PREFIX + "needed"  # the column that says whether a row has all values that are needed
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

    def add(self, rows: pl.DataFrame, row_counts: pl.Series | None = None) -> None:
        """Count some rows of `numbers`, each once or so many times."""
        if not rows.height:
            return
        if self.packs:
            self._fit(rows)
        if not self.packs or self.layout is None:
            self._wait(rows, row_counts)
        elif self.table is None:
            self._wait(pl.DataFrame({KEY: self.layout.packed(rows)}), row_counts)
        else:
            np.add.at(
                self.table, self.layout.packed(rows), np.int64(1) if row_counts is None else row_counts.to_numpy()
            )

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
            row_counts = cells.get_column(COUNT)
            self.add(cells.drop(COUNT), row_counts)

    def _wait(self, rows: pl.DataFrame, row_counts: pl.Series | None) -> None:
        one = pl.lit(1, pl.Int64) if row_counts is None else row_counts
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


CHANGED = "a file of the table is damaged, or was changed while it was read"
BATCH = 1 << 18  # rows counted at a time
PART = 50_000_000  # rows counted between two savings
SECONDS = 5.0  # between two savings, and at least
PASS = 4  # sets of columns whose rows that stand alone are counted in one pass
SHARE = 20  # times as long as a saving takes


class Ticker:
    """Says how many rows have gone by."""

    def __init__(self, report_progress: Progress, message: str, rows: int) -> None:
        self.report_progress, self.message, self.rows, self.done = report_progress, message, rows, 0

    def __call__(self, rows: int) -> None:
        self.done += rows
        self.report_progress(self.message, min(1.0, self.done / self.rows) if self.rows else None)


@dataclass(frozen=True, order=True)
class Position:
    """How far a count has come: the run of files, blocks of text that need not be parsed again, and rows after them."""

    run: int = 0
    blocks: int = 0
    rows: int = 0


@dataclass(frozen=True)
class Run:
    """Files that are read as one stream, all text or all typed; `seen` is how many rows each block of text had."""

    files: Sequence[FileSource]
    seen: list[int] = field(default_factory=list)

    def scan(self, start: Position) -> pl.LazyFrame:
        """The rows from a position on, in order."""
        if self.files[0].exact:
            return pl.concat([source.frame for source in self.files]).slice(start.rows)

        def source(
            columns: list[str] | None, predicate: pl.Expr | None, rows: int | None, batch: int | None
        ) -> Iterator[pl.DataFrame]:
            texts = [(source, source.text) for source in self.files if source.text is not None]
            blocks = ((source, block) for source, text in texts for block in text.blocks())
            past = start.rows
            for i in itertools.count():
                with called():
                    found = next(blocks, None)
                    if found is None:
                        return
                    if i < start.blocks:
                        continue
                    frame = found[0].shaped(found[1]())
                    self.seen.append(frame.height)
                    frame, past = frame.slice(past), max(0, past - frame.height)
                frame = frame if columns is None else frame.select(columns)
                yield frame if predicate is None else frame.filter(predicate)

        self.seen.clear()
        return register_io_source(source, schema=self.files[0].schema)

    def after(self, start: Position, rows: int) -> Position:
        """The position so many rows after another in this run."""
        rows += start.rows
        blocks = 0
        while self.seen[blocks : blocks + 1] and self.seen[blocks] <= rows:
            rows -= self.seen[blocks]
            blocks += 1
        return Position(start.run, start.blocks + blocks, rows)


def count(
    sources: Sequence[FileSource],
    columns: Sequence[str],
    report_progress: Progress,
    most: int,
    work: Path | None,
    part: int,
    needed: Sequence[str] = (),
) -> pl.DataFrame:
    """Distinct tuples of columns with their counts, of the rows that have a value in all `needed` columns.

    What is counted is saved in `work` every `part` rows, every few seconds, and where the count is interrupted.
    """
    files = [(str(s.path.resolve()), s.bytes, s.stamp, s.text and (s.text.block, s.text.forms)) for s in sources]
    with _folder(work, f"{files} {list(columns)} {list(needed)}") as folder:
        ticker = Ticker(report_progress, "counting rows", sum(s.rows for s in sources))
        counting = CountRun(sources, columns, ticker, most, folder, needed)
        if folder is None:
            return interruptible(lambda report: counting.run(part))
        return patiently(lambda: counting.run(part), lambda: None)  # until what was counted is saved


class CountRun:
    """A count under way: all that is saved, and what came after it."""

    def __init__(
        self,
        sources: Sequence[FileSource],
        columns: Sequence[str],
        ticker: Ticker,
        most: int,
        folder: Path | None,
        needed: Sequence[str] = (),
    ) -> None:
        self.runs = [Run(list(files)) for _, files in itertools.groupby(sources, key=lambda source: source.exact)]
        self.ticker, self.folder = ticker, folder
        self.whole = Tally({name: sources[0].schema[name] for name in columns}, most)
        self.needed = known({name: sources[0].schema[name] for name in needed}).alias(NEEDED) if needed else None
        self.here, self.waiting = self.whole, 0  # what was counted since the last saving, and how many rows
        self.number = 0  # of the next saving
        self.saved, self.cost = time.monotonic(), 0.0  # when the last was, and how long it took

    def run(self, part: int) -> pl.DataFrame:
        """Count to the end, or until the run is cancelled."""
        start = self._taken_up()
        for number in range(start.run, len(self.runs)):
            run, first, done = self.runs[number], start if number == start.run else Position(number), 0
            try:
                for batch in _batches(run.scan(first), self.whole, min(part, BATCH), self.needed):
                    self.here.add(batch if self.needed is None else batch.filter(NEEDED).drop(NEEDED))
                    done, self.waiting = done + batch.height, self.waiting + batch.height
                    since = time.monotonic() - self.saved
                    if self.waiting >= part or since > max(SECONDS, SHARE * self.cost):
                        self._save(run.after(first, done))
                    check_cancelled()
                    self.ticker(batch.height)
            except SfumatoError:
                raise
            except BaseException:
                with suppress(OutputError):
                    self._save(run.after(first, done))
                raise
        self._merge(self.here.cells())
        return self.whole.frame()

    def _taken_up(self) -> Position:
        """Take up what another run has saved: the position that it came to."""
        start = Position()
        files = () if self.folder is None else self.folder.glob("*-*-*-*.parquet")
        found = sorted((tuple(map(int, file.stem.split("-"))), file) for file in files)
        for number, (key, file) in enumerate(found):
            cells = stream(pl.scan_parquet(file, glob=False))
            row_counts = cells.get_column(COUNT)
            self.whole.add(cells.select(self.whole.numbers), row_counts)
            self.here = self.whole.like()
            self.ticker(int(row_counts.sum()))
            self.number, start = number + 1, Position(*key[1:])
        return start

    def _save(self, position: Position) -> None:
        """Save what was counted since the last saving, so that it is there whole or not at all."""
        if self.folder is None or not self.waiting:
            return
        began = time.monotonic()
        cells = self.here.cells()
        name = f"{self.number}-{position.run}-{position.blocks}-{position.rows}"
        beside = self.folder / "half"
        try:
            self.here.frame(cells).write_parquet(beside, compression="lz4")
            os.replace(beside, self.folder / f"{name}.parquet")
        except (OSError, pl.exceptions.PolarsError) as error:
            raise OutputError(why(error, self.folder)) from None
        self._merge(cells)
        self.here, self.waiting, self.number = self.whole.like(), 0, self.number + 1
        self.saved = time.monotonic()
        self.cost = self.saved - began

    def _merge(self, cells: pl.DataFrame) -> None:
        if self.here is not self.whole:
            self.whole.add(cells.drop(COUNT), cells.get_column(COUNT))


def _batches(rows: pl.LazyFrame, into: Tally, size: int, beside: pl.Expr | None = None) -> Iterator[pl.DataFrame]:
    """The numbers of the rows of a stream, in order; batches are coded on all cores while one counts."""
    asked = into.numbers if beside is None else [*into.numbers, beside]
    try:
        yield from rows.select(asked).collect_batches(chunk_size=size, maintain_order=True, engine="streaming")
    except (pl.exceptions.PolarsError, OSError):  # whose messages may hold cells
        raise ReadError(CHANGED) from None


def tally(rows: pl.LazyFrame, into: Tally, ticker: Ticker) -> None:
    """Count the rows of a stream."""
    for batch in _batches(rows, into, BATCH):
        into.add(batch)
        ticker(batch.height)


def stream(frame: pl.LazyFrame) -> pl.DataFrame:
    """Collect a frame without holding what it is made from; messages of Polars may hold cells, so they go."""
    try:
        return frame.collect(engine="streaming")
    except (pl.exceptions.PolarsError, OSError):
        raise ReadError(CHANGED) from None


def singled(frame: pl.LazyFrame, sets: Sequence[Sequence[str]]) -> list[int]:
    """For each set of columns how many rows have values of them, in their plain form, that no other row has.

    Rows are told apart by a hash of 64 bits, which takes a fraction of the time and memory of their values. What has a
    hash of its own stands alone, so two equal hashes of different rows could only hide some: of two counts, by two
    hashes, the larger is right. A few sets at a time are looked at in one pass.

    >>> singled(pl.LazyFrame({"a": [1, 1, 2], "b": [0.0, -0.0, 5.0]}), [["a"], ["b"]])
    [1, 1]
    """
    known, found = frame.collect_schema(), []
    for name in itertools.chain(*sets):
        if name not in known:
            raise ColumnError(f'the release has no column "{name}"')
    key = {name: str(i) for i, name in enumerate(known)}  # a column may be called "*"
    frame = frame.select(pl.nth(i).alias(str(i)) for i in range(len(known)))
    rows = [pl.struct(plain(key[name], known[name]) for name in names) for names in sets]
    for low in range(0, len(rows), PASS):
        some = rows[low : low + PASS]
        hashed = [row.hash(seed).alias(f"{i} {seed}") for i, row in enumerate(some) for seed in (1, 2)]
        alone = [_alone(column) for column in stream(frame.select(hashed))]
        found += [max(pair) for pair in zip(alone[::2], alone[1::2], strict=True)]
    return found


def _alone(hashes: pl.Series) -> int:
    """How many rows have a number that no other row has."""
    value = hashes.sort().to_numpy()
    edge = np.ones(len(value) + 1, np.bool_)
    edge[1:-1] = value[1:] != value[:-1]
    return int((edge[1:] & edge[:-1]).sum())


@contextmanager
def _folder(work: Path | None, what: str) -> Iterator[Path | None]:
    """The folder of this count, readable to its owner only, and its alone; what other counts left is left alone.

    None where nothing is to be saved, or a run that counts the same has it. It stays where something is saved in it and
    the count is not done.
    """
    if work is None:
        yield None
        return
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
    try:
        lock = hold(folder / "lock")
    except BlockingIOError:
        yield None
        return
    stays = False
    try:
        yield folder
    except BaseException as error:
        stays = not isinstance(error, PolicyError) and any(folder.glob("*.parquet"))
        raise
    finally:
        if not stays:
            shutil.rmtree(folder, ignore_errors=True)
            with suppress(OSError):  # other counts are in it
                work.rmdir()
        if lock is not None:
            os.close(lock)
