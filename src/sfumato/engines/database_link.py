"""Link: one face for a connection of duckdb and one of ADBC. Rows come as Arrow, and frames go in as tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from sfumato.engines.callbacks import patiently
from sfumato.engines.database_errors import reason
from sfumato.engines.database_spill import remove_spill
from sfumato.engines.disk import HINT, is_full
from sfumato.engines.store import OURS
from sfumato.errors import ReadError

BATCH = 1 << 17  # rows at a time


class Link(Protocol):
    """A connection that is ours alone, with one transaction at a time; `disks` are places that it writes to here."""

    disks: tuple[Path, ...]

    def begin(self) -> None:
        """Begin a transaction."""

    def run(self, statement: str) -> None:
        """Run a statement that gives nothing back."""

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The few rows of a look-up."""

    def frames(self, query: str) -> Iterator[pl.DataFrame]:
        """The rows of a query as frames, as they come; at least one frame, which may be empty."""

    def stage(self, number: int, frame: pl.DataFrame) -> None:
        """Make a temporary table of a frame."""

    def cancel(self) -> None:
        """End the statement that runs, which may be asked from another thread; some drivers cannot."""

    def commit(self) -> None:
        """Keep what was done."""

    def rollback(self) -> None:
        """Undo what was done."""

    def close(self) -> None:
        """End the connection: what was not committed is gone."""


class _Connected:
    """What both kinds of connection do alike."""

    def __init__(self, connection: Any) -> None:
        self.connection = connection
        self.disks: tuple[Path, ...] = ()

    def commit(self) -> None:
        """Keep what was done."""
        self.connection.commit()

    def rollback(self) -> None:
        """Undo what was done."""
        self.connection.rollback()

    def close(self) -> None:
        """End the connection: what was not committed is gone."""
        self.connection.close()


class DuckLink(_Connected):
    """A link over a duckdb connection; `spill` is the folder for what does not fit into memory."""

    def __init__(self, connection: Any, spill: Path | None = None) -> None:
        super().__init__(connection)
        self.spill = spill

    def close(self) -> None:
        """End the connection: what was not committed is gone."""
        super().close()
        remove_spill(self.spill)

    def begin(self) -> None:
        """Begin a transaction."""
        self.connection.begin()

    def run(self, statement: str) -> None:
        """Run a statement that gives nothing back."""
        patiently(lambda: self.connection.execute(statement).complete(), self.connection.interrupt)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The few rows of a look-up."""
        found = patiently(lambda: self.connection.execute(query).fetchall(), self.connection.interrupt)
        return list(found)

    def frames(self, query: str) -> Iterator[pl.DataFrame]:
        """The rows of a query as frames, as they come; at least one frame, which may be empty."""
        stop = self.connection.interrupt
        reader = patiently(lambda: self.connection.sql(query).to_arrow_reader(BATCH), stop)
        try:
            yield from _frames(reader, stop, self.disks)
        finally:
            reader.close()  # until then the connection takes no other statement

    def cancel(self) -> None:
        """End the statement that runs."""
        self.connection.interrupt()

    def stage(self, number: int, frame: pl.DataFrame) -> None:
        """Make a temporary table of a frame."""
        name = f"{OURS}{number} as arrow"
        self.connection.register(name, frame.to_arrow())
        self.run(f'CREATE TEMPORARY TABLE "{OURS}{number}" AS SELECT * FROM "{name}"')
        self.connection.unregister(name)


class AdbcLink(_Connected):
    """A link over a connection of ADBC, which is always in a transaction."""

    def __init__(self, connection: Any, options: dict[str, str] | None = None) -> None:
        super().__init__(connection)
        self.options = options
        self.reading: Any = None  # the cursor whose rows come
        self.commits_each = bool(getattr(connection, "_autocommit", False))  # a driver without transactions

    def begin(self) -> None:
        """Begin a transaction: what was looked up before belongs to another one."""
        self.connection.rollback()

    def run(self, statement: str) -> None:
        """Run a statement that gives nothing back."""
        with self.connection.cursor() as cursor:
            patiently(lambda: cursor.execute(statement), cursor.adbc_cancel)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The few rows of a look-up."""
        with self.connection.cursor() as cursor:
            return list(patiently(lambda: cursor.execute(query).fetchall(), cursor.adbc_cancel))

    def frames(self, query: str) -> Iterator[pl.DataFrame]:
        """The rows of a query as frames, as they come; at least one frame, which may be empty."""
        with self.connection.cursor(adbc_stmt_kwargs=self.options) as cursor:
            self.reading = cursor
            try:
                reader = patiently(lambda: cursor.execute(query).fetch_record_batch(), cursor.adbc_cancel)
                yield from _frames(reader, cursor.adbc_cancel, self.disks)
            finally:
                self.reading = None

    def cancel(self) -> None:
        """End the statement that runs; the driver of SQLite cannot, and ends its step first."""
        cursor = self.reading
        if cursor is not None:
            with suppress(Exception):
                cursor.adbc_cancel()

    def stage(self, number: int, frame: pl.DataFrame) -> None:
        """Make a temporary table of a frame."""
        table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
        with self.connection.cursor() as cursor:
            patiently(
                lambda: cursor.adbc_ingest(f"{OURS}{number}", table, mode="create", temporary=True), cursor.adbc_cancel
            )

    def listed(self, schema: str | None) -> list[tuple[str, str]]:
        """The names and kinds of tables, of any database that ADBC reaches."""
        found = self.connection.adbc_get_objects(depth="tables", db_schema_filter=schema).read_all().to_pylist()
        within = [s for catalog in found for s in catalog["catalog_db_schemas"] or []]
        return [(t["table_name"], t["table_type"].lower()) for s in within for t in s["db_schema_tables"] or []]


def _frames(reader: Any, cancel: Callable[[], object], disks: Sequence[Path]) -> Iterator[pl.DataFrame]:
    """Batches of Arrow as frames of some size: drivers may give very small batches."""
    import pyarrow

    def some() -> tuple[list[Any], bool]:
        batches, rows = [], 0
        for batch in reader:
            batches.append(batch)
            rows += batch.num_rows
            if rows >= BATCH:
                return batches, True
        return batches, False

    more = True
    while more:
        try:
            batches, more = patiently(some, cancel)
        except OSError as error:  # how a stream of Arrow says what went wrong, and its message may hold cells
            if is_full(error):
                raise ReadError(f"the rows cannot be read to their end: {reason(error, disks)}", hint=HINT) from None
            raise ReadError(
                "the rows cannot be read to their end: a value has no such type, or the connection is lost"
            ) from None
        table = pyarrow.Table.from_batches(batches, reader.schema)
        try:
            table.validate(full=True)  # SQLite takes any bytes for text, and Polars would believe it
        except pyarrow.ArrowInvalid:
            raise ReadError("a text of the table is not valid Unicode", hint="mend the texts first") from None
        found = pl.from_arrow(table)
        assert isinstance(found, pl.DataFrame)
        yield found
