"""Faults of databases in our own words: what drivers say may hold addresses, users and values of cells."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from sfumato.engines.atomic import HINT, is_full, no_space
from sfumato.engines.callbacks import patiently
from sfumato.engines.protocol import RESERVED_PREFIX
from sfumato.errors import ReadError, SfumatoError

DENIED = "42501"
FULL = "no space left on the disk of the database"
DRIVERS = ("adbc_driver_manager", "duckdb", "_duckdb", "pyarrow")
STATES = {
    DENIED: "the user may not do that there: permission denied",
    "42P01": "a table is not there, or not any more",
    "42703": "a column is not there any more",
    "42P07": "a table of that name was made meanwhile",
    "2BP01": "views or other tables depend on the table that would be replaced",
    "25006": "the database is read-only, or a standby: temporary tables cannot be made there",
    "3F000": "there is no such schema",
    "40001": "another transaction changed the same things; run it again",
    "40P01": "another transaction waits for the same things; run it again",
    "53100": FULL,
    "53200": "the database ran out of memory",
    "53300": "the database has too many connections",
    "55P03": "another transaction holds the table",
    "57014": "the statement was cancelled, or took longer than the database allows",
    "57P01": "the database shut the connection",
    "0A000": "the database cannot do that with this kind of table",
}
KINDS = {"08": "the connection was lost", "22": "a value cannot be turned into its type", "53": "it lacks resources"}
DUCKDB = {
    "PermissionException": "that is not permitted there",
    "OutOfMemoryException": "the database ran out of memory",
    "IOException": "the file cannot be read or written, is damaged, or is open in another process",
    "TransactionException": "another transaction changed the same things; run it again",
    "DependencyException": "other things depend on the table that would be replaced",
    "ConversionException": "a value cannot be turned into its type",
    "CatalogException": "a table is not there, or not any more",
    "ConnectionException": "the connection is closed",
}
PHRASES = {  # words that SQLite always uses, and what they mean; nothing else of its messages is shown
    "database is locked": "another process holds the database",
    "readonly database": "the database may not be written",
    "no such table": "a table is not there, or not any more",
    "malformed": "the file is damaged",
    "file is not a database": "the file is damaged, or encrypted",
    "read-only": "the database is opened read-only",
}


@contextmanager
def driver_errors(
    kind: type[SfumatoError], what: str, disks: Sequence[Path] = (), lacking: Callable[[], str] | None = None
) -> Iterator[None]:
    """Turn what a driver raises into an error of ours that says `what` could not be done, and why if that is known.

    `disks` are places that the database writes to, on this machine; `lacking` names rights that the user does not have.
    """
    try:
        yield
    except Exception as error:
        if type(error).__module__.partition(".")[0] not in DRIVERS:
            raise
        denied = getattr(error, "sqlstate", None) in (DENIED, None)  # a driver does not always pass it on
        rights = lacking() if lacking is not None and denied else ""
        if rights:
            raise kind(f"{what}: the user lacks the right {rights}", hint="ask the owner of the database") from None
        raise kind(f"{what}: {reason(error, disks)}") from None


def reason(error: Exception, disks: Sequence[Path] = ()) -> str:
    """Why, in words that are ours."""
    name, state, message = type(error).__name__, getattr(error, "sqlstate", None), str(error)
    if is_full(error):
        return no_space(disks) if disks else FULL
    if state:
        return STATES.get(state) or KINDS.get(state[:2]) or f"the database refused (SQLSTATE {state})"
    if name in DUCKDB and type(error).__module__.lstrip("_").startswith("duckdb"):
        return next((said for phrase, said in PHRASES.items() if phrase in message), DUCKDB[name])
    return next((said for phrase, said in PHRASES.items() if phrase in message), f"the database refused ({name})")


FILE = re.compile(r"duckdb_temp_(\d+)_.*", re.DOTALL)  # with the number of its process


def spill_folder(database: Path) -> Path | None:
    """Make the folder before DuckDB does, closed to others, and remove what killed processes left in it.

    None where it cannot be made: DuckDB then says so where it needs it.
    """
    place = database.with_name(database.name + ".tmp")
    try:
        place.mkdir(0o700, exist_ok=True)
        if place.is_symlink() or place.stat().st_uid != os.geteuid():
            return None
        place.chmod(0o700)
        for file in place.iterdir():
            found = FILE.fullmatch(file.name)
            if found and not _runs(int(found[1])):
                file.unlink()
    except OSError:
        return None
    return place


def remove_spill(place: Path | None) -> None:
    """Remove the folder, where nobody uses it any more."""
    if place is not None:
        with suppress(OSError):
            place.rmdir()


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # of another user
        return True
    return True


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
        name = f"{RESERVED_PREFIX}{number} as arrow"
        self.connection.register(name, frame.to_arrow())
        self.run(f'CREATE TEMPORARY TABLE "{RESERVED_PREFIX}{number}" AS SELECT * FROM "{name}"')
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
                lambda: cursor.adbc_ingest(f"{RESERVED_PREFIX}{number}", table, mode="create", temporary=True),
                cursor.adbc_cancel,
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
