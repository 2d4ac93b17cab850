"""A release kept in the database: made in one transaction, counted in it, and there only after its end."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import polars as pl

from sfumato.core.printed import printed_frame
from sfumato.core.progress import Progress, whole
from sfumato.engines.protocol import COUNT, Plan, refuse_many
from sfumato.engines.sql.connect import TABLE, TableName, columns, find, schemas, split
from sfumato.engines.sql.count import count, created, every, singled, stage
from sfumato.engines.sql.link import Link, driver_errors
from sfumato.engines.sql.recode import Staged
from sfumato.engines.sql.types import SqlColumn, SqlDialect, named
from sfumato.errors import ColumnError, OutputError, ReadError, did_you_mean

CHANGED = "the table was changed while it was read"


class KeptTable:
    """A released table inside the transaction that made it: of the plan it knows nothing."""

    def __init__(self, link: Link, dialect: SqlDialect, table: TableName, name: str) -> None:
        self.link, self.dialect, self.table, self.name = link, dialect, table, name
        self.columns = named(columns(link, dialect, table))

    @property
    def data(self) -> str:
        """The name of the table."""
        return self.name

    @property
    def place(self) -> dict[str, Any]:
        """The table and the kind of database, without where that is."""
        return {"table": self.name, "format": self.dialect.name}

    def schema(self) -> dict[str, pl.DataType]:
        """Column to type, in order, as it was written."""
        return {name: column.dtype for name, column in self.columns.items()}

    def count(self, columns: Sequence[str], report_progress: Progress, most: int = sys.maxsize) -> pl.DataFrame:
        """The distinct tuples of the printed texts of columns, and in `COUNT` how many rows have them."""
        asked, limit = self._asked(columns), None if most == sys.maxsize else most
        report_progress("verifying", None)
        with driver_errors(ReadError, "the release cannot be counted", self.link.disks):
            cells = count(self.link, self.dialect, self.table, asked, limit)
        refuse_many(cells.height, most)
        return printed_frame(cells.drop(COUNT)).with_columns(cells.get_column(COUNT))

    def singled(self, sets: Sequence[Sequence[str]]) -> list[int]:
        """For each set of columns how many rows have values of them that no other row has."""
        with driver_errors(ReadError, "the release cannot be counted", self.link.disks):
            return [singled(self.link, self.table, self._asked(names)) for names in sets]

    def _asked(self, columns: Sequence[str]) -> list[SqlColumn]:
        for name in columns:
            if name not in self.columns:
                raise ColumnError(f'the release has no column "{name}"')
        return [self.columns[name] for name in columns]


def target(link: Link, dialect: SqlDialect, source: TableName, name: str, overwrite: bool) -> tuple[TableName, bool]:
    """Where a release goes, and whether a table is replaced there; an OutputError where it may not go there."""
    within, short = split(link, dialect, name, None)
    place = TableName(source.within if within is None else (*source.within[:-1], within), short, TABLE)
    there = find(link, dialect, short, place.within[-1] if place.within else None)
    if there is None and within is None:
        refuse_schema(link, dialect, name)
    if dialect.same(place.written, source.written):
        raise OutputError(f'the release would replace the table "{short}" that it is made from', hint="name another")
    if there is not None and there.kind != TABLE:
        raise OutputError(f'there is a {there.kind} named "{short}"', hint="name another, or drop it first")
    if there is not None and not overwrite:
        raise OutputError(f'there is a table "{short}" already', hint="name another, or overwrite it")
    return place if there is None else there, there is not None


def refuse_schema(link: Link, dialect: SqlDialect, name: str) -> None:
    """Raise an OutputError where a new table would get a name with a dot: before it a schema is meant."""
    schema, _, rest = name.partition(".")
    if schema and rest and (known := schemas(link, dialect)):
        hint = did_you_mean(schema, known) or "make it first, or leave it and the dot out"
        raise OutputError(f'there is no schema "{schema}" for the table "{rest}"', hint=hint)


@contextmanager
def released(
    link: Link,
    dialect: SqlDialect,
    source: TableName,
    known: Mapping[str, SqlColumn],
    plan: Plan,
    name: str,
    overwrite: bool,
    counted: int | None,
    report_progress: Progress,
) -> Iterator[KeptTable]:
    """Make the table in the transaction of the link, let it be looked at, and keep it, unless something is raised."""
    try:
        with driver_errors(OutputError, f'the table "{name}" cannot be made', link.disks):
            place, replaces = target(link, dialect, source, name, overwrite)
            report_progress("recoding rows", None)
            staged = prepared(link, dialect, source, known, plan, counted, sorted=True)
            if replaces:
                link.run(f"DROP TABLE {place.written}")
            for statement in created(place, source, plan, known, staged, dialect):
                link.run(statement)
            near = find(link, dialect, name, None)  # a name that is looked up elsewhere needs its schema before it
            found = near is not None and near.written == place.written
            kept = KeptTable(link, dialect, place, name if found else f"{place.within[-1]}.{place.name}")
        yield kept
        with driver_errors(OutputError, f'the table "{name}" cannot be kept', link.disks), whole():
            link.commit()
    except BaseException:
        with suppress(Exception):  # closing the link undoes it as well
            link.rollback()
        raise


def begin(link: Link, dialect: SqlDialect, write: bool) -> None:
    """Begin a transaction that sees the table as it is now, until its end."""
    link.begin()
    if dialect.name == "sqlite" and write:  # which lets nobody write who has read what was changed since
        for statement in ("ROLLBACK", "BEGIN IMMEDIATE"):
            link.run(statement)
    for statement in dialect.one_snapshot or ():
        link.run(statement)


def prepared(
    link: Link,
    dialect: SqlDialect,
    source: TableName,
    known: Mapping[str, SqlColumn],
    plan: Plan,
    counted: int | None,
    sorted: bool = False,
) -> Staged:
    """The tables of the plan staged, for a table that has as many rows as when it was counted."""
    if counted is not None and every(link, source) != counted:
        raise ReadError(CHANGED, hint="run it again")
    staged = Staged(plan, known, dialect, sorted)
    stage(link, dialect, staged)
    return staged
