"""FileTable: a table in files, larger than memory, counted and recoded by Polars as a stream."""

from __future__ import annotations

import hashlib
import hmac
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path

import polars as pl

from sfumato.core.printed import known, printed_frame, text_apart
from sfumato.core.progress import Progress
from sfumato.engines.callbacks import called
from sfumato.engines.files.count import BATCH, CHANGED, PART, Tally, Ticker, count, singled, stream, tally
from sfumato.engines.files.forms import Forms, ReadWarning, skip_note
from sfumato.engines.files.recode import Mapper
from sfumato.engines.files.source import BLOCK, sources, unchanged, written
from sfumato.engines.files.write import write
from sfumato.engines.protocol import COUNT, FETCHING, Engine, Plan, Sums, SumsAsked, reading_without
from sfumato.errors import ColumnError, EmptyTable, ReadError, warn

PIECES = 8  # places of a table that a sample is taken from


class FileTable(Engine):
    """A table in CSV or Parquet files: one file, a pattern, a folder (also a partitioned one), or a list of those.

    Parameters
    ----------
    path: the files. All of them have the same columns, of the same types.
    format, separator, encoding, header, skip: where the names and beginnings of the files do not say it.
    columns: those to read, or the names of all where there is no header.
    missing, dates, decimal, verbatim: the forms of values in text files, as for `sf.read`; the first rows decide.
    part: rows counted between two savings of a count. block: bytes of text that are parsed at a time.

    >>> FileTable("admissions/*.parquet").rows()  # doctest: +SKIP
    100000000
    """

    def __init__(
        self,
        path: str | Path | Sequence[str | Path],
        *,
        format: str | None = None,
        separator: str | None = None,
        encoding: str | None = None,
        part: int = PART,
        block: int = BLOCK,
        missing: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
        dates: str | None = None,
        decimal: str | None = None,
        verbatim: bool | Sequence[str] = False,
        header: bool | None = None,
        columns: Sequence[str] | None = None,
        skip: int | None = None,
    ) -> None:
        forms = Forms(missing, dates, decimal, verbatim)
        self.files, found = sources(path, format, separator, encoding, block, forms, header, columns, skip)
        text = self.files[0].text
        above = 0 if text is None else text.dialect.skip
        self.reading = found.record() | forms.record() | ({"skip": above} if above else {})
        for note in skip_note(above, skip) + found.notes(cells=False):
            warn(ReadWarning(f"{self.files[0].path.name}: {note}"))
        self.part = part
        self.needed: tuple[str, ...] = ()  # columns without a value of which rows are left out, so many
        self.gone = 0
        if not self.files[0].schema:
            raise EmptyTable("the table has no columns")
        if all(source.exact and not source.rows for source in self.files):
            raise EmptyTable("the table has no rows")

    def schema(self) -> dict[str, pl.DataType]:
        """Column to type, in order."""
        return dict(self.files[0].schema)

    def snapshot(self, write: bool) -> AbstractContextManager[FileTable]:
        """The files themselves: whatever reads them looks whether they are still the ones that were found."""
        return nullcontext(self)

    def rows(self) -> int:
        """How many rows there are; of text files a guess from their bytes."""
        return max(1, self._every - self.gone)

    @property
    def _every(self) -> int:
        return sum(source.rows for source in self.files)

    def sample(self, rows: int) -> pl.DataFrame:
        """Some rows of all columns, from several places of the table."""
        every, each = self._every, max(1, rows // PIECES)
        if every <= rows:
            with unchanged(self.files):
                return stream(self.frame.head(rows))  # the rows of text are a guess: there may be more
        pieces, passed = [], 0
        places = [i * every // PIECES for i in range(PIECES)]
        for source in self.files:
            here = [place - passed for place in places if passed <= place < passed + source.rows]
            # text has no middle to begin at: of a file with several places the beginning stands for all of them
            pieces += [(source, low, each) for low in here] if source.exact else [(source, 0, each * len(here))]
            passed += source.rows
        with unchanged(self.files):
            return pl.concat([stream(self._complete(source.frame.slice(low, n))) for source, low, n in pieces])

    def positive(self, column: str) -> bool:
        """Whether every row has a finite number above 0 in a column."""
        dtype = self.files[0].schema[column]
        if not dtype.is_numeric() and dtype != pl.String:
            return False
        number = pl.col(column).cast(pl.Float64, strict=False)
        good = (number.is_finite() & (number > 0)).fill_null(False)
        with unchanged(self.files):
            return bool(stream(self.frame.select(good.all())).item())

    def missing(self, columns: Sequence[str]) -> tuple[int, int]:
        """How many rows have a missing value in one of the columns, and how many rows there are."""
        schema = self.files[0].schema
        lacks = ~known({name: schema[name] for name in columns})
        with unchanged(self.files):
            return stream(self.frame.select(lacks.sum().alias("0"), pl.len().alias("1"))).row(0)

    def without_missing(self, columns: Sequence[str], gone: int) -> FileTable:
        """The table without the rows that have a missing value in one of the columns."""
        found = copy(self)
        found.__dict__.pop("frame", None)
        found.needed, found.gone = tuple(columns), gone
        found.reading = reading_without(self.reading, columns, gone)
        return found

    def _complete(self, frame: pl.LazyFrame) -> pl.LazyFrame:
        """The rows that have all values that are needed."""
        schema = self.files[0].schema
        return frame.filter(known({name: schema[name] for name in self.needed})) if self.needed else frame

    def fingerprint(self, secret: bytes | None) -> str | None:
        """HMAC-SHA256 of the bytes of the files, in order: of the files, not of the values."""
        if secret is None:
            return None
        mac = hmac.new(secret, digestmod=hashlib.sha256)
        with unchanged(self.files):  # else it would be that of other rows than were released
            for source in self.files:
                try:
                    with source.path.open("rb") as file:
                        while data := file.read(1 << 22):
                            mac.update(data)
                except OSError:
                    raise ReadError(f"{source.path} cannot be read") from None
                mac.update(source.bytes.to_bytes(8, "big"))
        return "hmac-sha256-files:" + mac.hexdigest()

    def count(
        self, columns: Sequence[str], report_progress: Progress, most: int, work: Path | None = None
    ) -> pl.DataFrame:
        """Distinct tuples of columns, and in `COUNT` how many rows have them."""
        with unchanged(self.files):
            return count(self.files, columns, report_progress, most, work, self.part, self.needed)

    @contextmanager
    def sums(self, asked: SumsAsked) -> Iterator[Sums | None]:
        """Sums by DuckDB, where it is installed; None where an amount is no number as it is written."""
        from sfumato.engines.files.sums import sums_of_files

        with unchanged(self.files), sums_of_files(self, asked) as found:
            yield found

    def singled(self, sets: Sequence[Sequence[str]]) -> list[int]:
        """For each set of columns how many rows have values of them that no other row has."""
        with unchanged(self.files):
            return singled(self.frame, sets)

    def mixed(self, columns: Sequence[str]) -> list[str]:
        """The columns with values that count as one and can be told apart: none of text files, which have one form."""
        return super().mixed(columns) if any(source.exact for source in self.files) else []

    def told_apart(self, columns: Sequence[str]) -> Engine:
        """The table with texts in these columns that are different where its readers can tell values apart."""
        if not all(source.exact for source in self.files):
            return super().told_apart(columns)
        found, texts = copy(self), tuple(map(text_apart, columns))
        found.__dict__.pop("frame", None)
        types = dict.fromkeys(columns, pl.String())
        found.files = [replace(s, read=s.frame, more=texts, schema={**s.schema, **types}) for s in self.files]
        return found

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """All rows of some columns, in the order of the files."""
        with unchanged(self.files):
            try:
                yield from self.frame.select(columns).collect_batches(
                    chunk_size=BATCH, maintain_order=True, engine="streaming"
                )
            except (pl.exceptions.PolarsError, OSError):  # whose messages may hold cells
                raise ReadError(CHANGED) from None

    def fetch(self, plan: Plan, report_progress: Progress) -> pl.DataFrame:
        """The rows that the plan releases, in memory."""
        ticker = Ticker(report_progress, FETCHING, self.rows())
        with unchanged(self.files):
            return stream(self._mapped(Mapper(plan, self.files[0].schema), ticker))

    def recode(self, plan: Plan, file: Path, format: str, report_progress: Progress) -> ScannedFile:
        """Write the rows as the plan says."""
        apply = Mapper(plan, self.files[0].schema)
        rows = self._mapped(apply, Ticker(report_progress, "recoding rows", self.rows()))
        with unchanged(self.files):  # columns of text are known by their place, which a new file may give to others
            write(rows, file, format, plan.order, apply.labelled, plan.number_writer())
        return ScannedFile(file, format)

    def _mapped(self, apply: Mapper, ticker: Ticker) -> pl.LazyFrame:
        """The rows as a plan says, yet to be read."""
        plan, schema = apply.plan, self.files[0].schema
        needed = [name for name in schema if name in {*plan.keys, *plan.row_key, *plan.columns}]

        def mapped(frame: pl.DataFrame) -> pl.DataFrame:
            with called():
                ticker(frame.height)
                return apply(frame)

        return self.frame.select(needed).map_batches(mapped, streamable=True, schema=apply.schema(schema))

    @cached_property
    def frame(self) -> pl.LazyFrame:
        """The rows, file by file."""
        return self._complete(pl.concat([source.frame for source in self.files]))


class ScannedFile:
    """A released file, to be counted again: of the plan that made it it knows nothing."""

    def __init__(self, file: Path, format: str) -> None:
        self.file, self.format = file, format

    def schema(self) -> dict[str, pl.DataType]:
        """Column to type, in order, as the file has them."""
        return dict(self.frame.collect_schema())

    def count(self, columns: Sequence[str], report_progress: Progress, most: int = sys.maxsize) -> pl.DataFrame:
        """The distinct tuples of the printed texts of columns, and in `COUNT` how many rows have them."""
        frame = self.frame
        names, known = list(columns), frame.collect_schema()
        for name in names:
            if name not in known:
                raise ColumnError(f'the release has no column "{name}"')
        total = int(stream(frame.select(pl.len())).item()) if self.format == "parquet" else 0
        cells = Tally({name: known[name] for name in names}, most)
        tally(frame, cells, Ticker(report_progress, "verifying", total))
        counted = cells.frame()
        # plain values that differ print differently, so what was counted apart is apart
        return printed_frame(counted.select(names)).with_columns(counted.get_column(COUNT))

    def singled(self, sets: Sequence[Sequence[str]]) -> list[int]:
        """For each set of columns how many rows have values of them that no other row has."""
        return singled(self.frame, sets)

    @property
    def frame(self) -> pl.LazyFrame:
        """The rows, not yet read."""
        return written(self.file, self.format)


def scan(
    path: str | Path | Sequence[str | Path],
    *,
    format: str | None = None,
    separator: str | None = None,
    encoding: str | None = None,
    part: int = PART,
    block: int = BLOCK,
    missing: Sequence[str] | Mapping[str, Sequence[str]] | None = None,
    dates: str | None = None,
    decimal: str | None = None,
    verbatim: bool | Sequence[str] = False,
    header: bool | None = None,
    columns: Sequence[str] | None = None,
    skip: int | None = None,
) -> FileTable:
    """A table in CSV or Parquet files, larger than memory: one file, a pattern, a folder, or a list of those.

    The verbs take it as they take a frame. The parameters are those of `FileTable`.

    >>> scan("admissions/*.parquet").rows()  # doctest: +SKIP
    100000000
    """
    return FileTable(
        path,
        format=format,
        separator=separator,
        encoding=encoding,
        part=part,
        block=block,
        missing=missing,
        dates=dates,
        decimal=decimal,
        verbatim=verbatim,
        header=header,
        columns=columns,
        skip=skip,
    )
