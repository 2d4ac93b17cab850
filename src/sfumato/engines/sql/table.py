"""Database: a table in DuckDB, SQLite, PostgreSQL or what else ADBC reaches, counted and recoded there by SQL."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import polars as pl

from sfumato.core.progress import Progress
from sfumato.engines.callbacks import Pulled
from sfumato.engines.files.table import ScannedFile
from sfumato.engines.files.write import write
from sfumato.engines.order import CANONICAL, RANDOM
from sfumato.engines.protocol import (
    COUNT,
    FETCHING,
    Engine,
    Plan,
    Sums,
    SumsAsked,
    reading_without,
    refuse_many,
)
from sfumato.engines.sql.connect import TableName, lacking, place, refuse_unwritable
from sfumato.engines.sql.connect import columns as columns_of
from sfumato.engines.sql.connect import table as table_of
from sfumato.engines.sql.count import count, every, exported, fetched, listed, sample, singled, total
from sfumato.engines.sql.link import AdbcLink, Link, driver_errors
from sfumato.engines.sql.recode import Staged
from sfumato.engines.sql.sums import SqlSums
from sfumato.engines.sql.types import SqlColumn, SqlDialect, named
from sfumato.engines.sql.write import KeptTable, begin, prepared, released, target
from sfumato.errors import EmptyTable, OutputError, PolicyError, ReadError

SUM = "hmac-sha256-sum:"


class Database(Engine):
    """A table of a database. Each piece of work has a connection of its own, which ends with it.

    Parameters
    ----------
    source: the path of a DuckDB or SQLite file, "duckdb:///path", "sqlite:///path", "postgresql://user@host/database",
        or an open connection of duckdb or ADBC, whose own transaction is left alone: what it has not committed is not
        seen. An address holds no password: that comes from PGPASSWORD, ~/.pgpass or a service file.
    table: the name of a table or view, as "schema.table" too. schema: where it is, if not where names are looked up.

    >>> Database("postgresql://clinic.example/register", "admissions").rows()  # doctest: +SKIP
    10000000
    """

    keeps: ClassVar = "table"
    orders: ClassVar = (CANONICAL, RANDOM)
    called: ClassVar = "a table of a database"

    def __init__(self, source: Any, table: str, *, schema: str | None = None) -> None:
        if not isinstance(table, str) or not table:
            raise PolicyError("a database needs the name of a table", got=type(table).__name__)
        if schema is not None and (not isinstance(schema, str) or not schema):
            raise PolicyError("schema must be the name of a schema", got=type(schema).__name__)
        self.source, self.table = source, table
        self._place = place(source)
        self._counted: int | None = None
        self._held: Link | None = None
        self._same = False  # whether it was counted in the snapshot that is held
        with self._link() as link:
            self._table = table_of(link, self._place.dialect, table, schema, self._place.shown)
            if not link.rows(f"SELECT 1 FROM {self._table.written} LIMIT 1"):
                raise EmptyTable("the table has no rows")

    def __repr__(self) -> str:
        return f"<Database table {self._table.name!r} of {self._place.dialect.name}, {self._place.shown}>"

    def schema(self) -> dict[str, pl.DataType]:
        """Column to type, in order."""
        return {name: column.dtype for name, column in self._columns.items()}

    @contextmanager
    def snapshot(self, write: bool = False) -> Iterator[Database]:
        """The table as it is now, until the block ends: all that is asked of it is asked in one transaction.

        Others may write meanwhile, but for files of SQLite and, where `write` is asked for, of DuckDB: they wait.
        """
        link = self._place.link(write)
        now = copy(self)
        for known in ("_columns", "_rows"):
            now.__dict__.pop(known, None)
        now._held, now._counted, now._same = link, None, False
        try:
            with driver_errors(ReadError, f"{self._place.shown} cannot be read", link.disks):
                begin(link, self._place.dialect, write)
            yield now
        finally:
            with suppress(Exception):  # what the driver says now helps nobody
                link.close()

    def rows(self) -> int:
        """How many rows there are."""
        return self._rows

    def sample(self, rows: int) -> pl.DataFrame:
        """Some rows of all columns, from all over the table; columns of types that cannot be printed are null."""
        asked = [c for c in self._columns.values() if c.dtype != pl.Object]
        query = sample(self._table, self._place.dialect, asked, self._rows, rows)
        with self._link() as link:
            found = pl.concat(list(fetched(link, self._place.dialect, query, asked)))
        return found.select(pl.col(n) if n in found.columns else pl.lit(None).alias(n) for n in self._columns)

    def positive(self, column: str) -> bool:
        """Whether every row has a finite number above 0 in a column."""
        of = self._columns[column]
        if not of.dtype.is_numeric() and of.dtype != pl.String:
            return False
        with self._link() as link:
            query = f"SELECT {of.plain()} AS c0 FROM {self._table.rows} t"
            for found in fetched(link, self._place.dialect, query, [of]):
                number = found.get_column(column).cast(pl.Float64, strict=False)
                if not (number.is_finite() & (number > 0)).fill_null(False).all():
                    return False
        return True

    def missing(self, columns: Sequence[str]) -> tuple[int, int]:
        """How many rows have a missing value in one of the columns, and how many rows there are."""
        with self._link() as link:
            return self._rows - every(link, self._known(columns)), self._rows

    def without_missing(self, columns: Sequence[str], gone: int) -> Database:
        """The table without the rows that have a missing value in one of the columns."""
        found = copy(self)
        found.__dict__.pop("_rows", None)
        found._table, found.reading = self._known(columns), reading_without(self.reading, columns, gone)
        return found

    def _known(self, columns: Sequence[str]) -> TableName:
        """The rows that have a value in all of the columns."""
        where = " AND ".join(f"{self._columns[name].plain()} IS NOT NULL" for name in columns)
        return replace(self._table, where=where)

    def fingerprint(self, secret: bytes | None) -> str | None:
        """HMAC-SHA256 of the column names, the number of rows, and the sum over 64 bits of the MD5 of each row.

        The same for any order of the rows. It tells a table from one that differs by accident, not from one that was
        made to match. None where the database has no such hash, as SQLite.
        """
        asked = [c for c in self._columns.values() if c.dtype != pl.Object]
        query = total(self._table, self._place.dialect, asked)
        if secret is None or query is None:
            return None
        with self._link() as link:
            found = [str(value) for value in link.rows(query)[0]]
        text = json.dumps([[c.name for c in asked], *found]).encode()
        return SUM + hmac.new(secret, text, hashlib.sha256).hexdigest()

    def count(
        self, columns: Sequence[str], report_progress: Progress, most: int, work: Path | None = None
    ) -> pl.DataFrame:
        """The one GROUP BY, in the database; nothing of it is kept in `work`."""
        report_progress("counting rows", None)
        with self._link() as link:
            asked = [self._columns[name] for name in columns]
            found = count(link, self._place.dialect, self._table, asked, most)
        refuse_many(found.height, most)
        self._counted = int(found.get_column(COUNT).sum())
        self._same = self._held is not None and self._place.dialect.one_snapshot is not None
        return found

    @contextmanager
    def sums(self, asked: SumsAsked) -> Iterator[Sums | None]:
        """Sums by grouped queries in the database; None where an amount is no number there."""
        numbers = [name for name in (asked.value, asked.weight, asked.request) if name is not None]
        if not all(self._columns[n].dtype.is_numeric() or self._columns[n].dtype == pl.Boolean for n in numbers):
            yield None
            return
        with self._one_link() as link:
            found = SqlSums(link, self._place.dialect, self._table, self._columns, asked)
            yield found
            found.close()

    def singled(self, sets: Sequence[Sequence[str]]) -> list[int]:
        """For each set of columns how many rows have values of them that no other row has."""
        with self._link() as link:
            return [singled(link, self._table, [self._columns[name] for name in names]) for names in sets]

    def mixed(self, columns: Sequence[str]) -> list[str]:
        """The columns that have null beside NaN or the empty text."""
        known = [f"COUNT({form})" for name in columns for c in [self._columns[name]] for form in (c.raw(), c.plain())]
        with self._link() as link:
            rows, *found = link.rows(f"SELECT COUNT(*), {', '.join(known)} FROM {self._table.rows} t")[0]
        return [n for n, some, plain in zip(columns, found[::2], found[1::2], strict=True) if plain < some < rows]

    def batches(self, columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """All rows of some columns, in no certain order."""
        asked = [self._columns[name] for name in columns]
        query = f"SELECT {listed([c.value() for c in asked])} FROM {self._table.rows} t"
        with self._link() as link:
            yield from fetched(link, self._place.dialect, query, asked)

    def fetch(self, plan: Plan, report_progress: Progress) -> pl.DataFrame:
        """The rows that the plan releases, in memory."""
        report_progress(FETCHING, None)
        with self._one_link() as link:
            staged, frames, _ = self._exported(link, plan)
            found = pl.concat(list(frames))
            for number in range(len(staged.tables)):  # others are staged under these names
                link.run(f"DROP TABLE {self._place.dialect.staged(number)}")
        return found

    def recode(self, plan: Plan, file: Path, format: str, report_progress: Progress) -> ScannedFile:
        """Export the released rows into a file, as they come from the database."""
        report_progress("recoding rows", None)
        with self._one_link() as link:
            _, frames, released = self._exported(link, plan)
            frames = _reporting(frames, report_progress, self._counted or self._rows)
            _write(frames, link, {c.name: c.dtype for c in released}, file, format, plan)
        return ScannedFile(file, format)

    def _exported(self, link: Link, plan: Plan) -> tuple[Staged, Iterator[pl.DataFrame], list[SqlColumn]]:
        """The staged tables of a plan, and the rows that it releases as they come, of these columns."""
        dialect, known = self._place.dialect, self._columns
        staged = prepared(link, dialect, self._table, known, plan, self._before)
        query = exported(self._table, plan, known, staged)
        released = [_label(name, dialect) if name in staged.labels else known[name] for name in plan.columns]
        return staged, fetched(link, dialect, query, released), released

    def check_target(self, name: str, overwrite: bool) -> None:
        """Raise an OutputError where a release cannot be made under that name: to be asked before any work."""
        with self._link() as link:
            place, replaces = target(link, self._place.dialect, self._table, name, overwrite)
            rights = lacking(link, self._place.dialect, self._table, place, replaces)
        if rights:
            what = f'the table "{name}" cannot be made: the user lacks the right {rights}'
            raise OutputError(what, hint="ask the owner of the database")
        refuse_unwritable(self._place.files)

    @contextmanager
    def release(self, plan: Plan, name: str | None, overwrite: bool, report_progress: Progress) -> Iterator[KeptTable]:
        """The released rows as a new table, kept where the block ends and gone where it raises."""
        if not name:
            raise OutputError("the release needs the name of a table")
        if self._held is None:
            with self.snapshot(write=True) as now:
                now._counted = self._counted
                with now.release(plan, name, overwrite, report_progress) as kept:
                    yield kept
            return
        link, dialect, known = self._held, self._place.dialect, self._columns
        if isinstance(link, AdbcLink) and link.commits_each:
            raise OutputError("this database has no transactions, so a release in it could be left half made")
        with released(link, dialect, self._table, known, plan, name, overwrite, self._before, report_progress) as kept:
            yield kept

    def kept(self, data: Any) -> Database:
        """A released table, by its name."""
        return Database(self.source, data)

    @cached_property
    def _columns(self) -> dict[str, SqlColumn]:
        with self._link() as link:
            found = named(columns_of(link, self._place.dialect, self._table))
        if not found:
            raise EmptyTable("the table has no columns")
        return found

    @cached_property
    def _rows(self) -> int:
        with self._link() as link:
            return every(link, self._table)

    @property
    def _before(self) -> int | None:
        """How many rows were counted, where they may be others by now."""
        return None if self._same else self._counted

    def _lacking(self) -> str:
        """The rights that the user lacks, asked by a link of its own: a transaction that failed answers nothing."""
        if self._place.files:
            return ""
        link = self._place.link()
        try:
            return lacking(link, self._place.dialect, self._table)
        finally:
            link.close()

    @contextmanager
    def _one_link(self) -> Iterator[Link]:
        """A link in a transaction that has one snapshot."""
        with self._link() as link:
            if self._held is None:
                begin(link, self._place.dialect, write=False)
            yield link

    @contextmanager
    def _link(self) -> Iterator[Link]:
        what = f"{self._place.shown} cannot be read"
        if self._held is not None:
            with driver_errors(ReadError, what, self._held.disks, self._lacking):
                yield self._held
            return
        link = self._place.link()
        try:
            with driver_errors(ReadError, what, link.disks, self._lacking):
                yield link
        finally:
            with suppress(Exception):  # what the driver says now helps nobody
                link.close()


def _label(name: str, dialect: SqlDialect) -> SqlColumn:
    """A column of labels, which are text."""
    return SqlColumn(name, pl.String(), pl.String(), dialect)


def _reporting(frames: Iterator[pl.DataFrame], report_progress: Progress, rows: int) -> Iterator[pl.DataFrame]:
    """The frames, with the share of the rows that have come."""
    done = 0
    for found in frames:
        done += found.height
        report_progress("recoding rows", min(1.0, done / max(1, rows)))
        yield found


def _write(
    frames: Iterator[pl.DataFrame],
    link: Link,
    schema: dict[str, pl.DataType],
    file: Path,
    format: str,
    plan: Plan,
) -> None:
    """Stream frames into a file; what stops them is raised as it was."""
    pulled = Pulled(frames, link.cancel)
    try:
        write(pulled.scan(schema), file, format, plan.order, numbers=plan.number_writer())
    finally:
        pulled.close()  # before the link: a driver that is closed while it reads ends this process
    if pulled.error is not None:
        raise pulled.error
