"""A ledger in a file of SQLite: a write-ahead log that is on disk before a transaction has ended."""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from sfumato.dp.stores.protocol import TABLES, WAIT
from sfumato.errors import OutputError, ReadError

T = TypeVar("T")
MILLISECONDS = 20  # that SQLite itself waits
PAUSE = 0.02  # seconds between tries, where somebody is in the way who does not queue
SCHEMA = f"""
BEGIN IMMEDIATE;
{"; ".join(TABLES)};
CREATE INDEX ledger_by_request ON ledger_entries (request);
CREATE INDEX ledger_by_query ON ledger_entries (query);
CREATE TRIGGER never_changed BEFORE UPDATE ON ledger_entries
  BEGIN SELECT RAISE(ABORT, 'rows are only added'); END;
CREATE TRIGGER never_dropped BEFORE DELETE ON ledger_entries
  BEGIN SELECT RAISE(ABORT, 'rows are only added'); END;
COMMIT;
"""


class SqliteStore:
    """A file, which is the owner's alone; without a path it is in memory, for as long as the process lives."""

    def __init__(self, path: Path | None, make: bool = True) -> None:
        self.shown = "in memory" if path is None else str(path)
        self.place = "" if path is None else str(path.resolve())
        self._queue: int | None = None
        with self._faults("opened"):
            if path is not None and make and not path.exists():
                _make(path)  # so that the files that SQLite lays beside it are the owner's alone, too
            try:
                self._db = sqlite3.connect(
                    ":memory:" if path is None else path, WAIT, isolation_level=None, check_same_thread=False
                )
                self._prepare(make)
                if path is not None:
                    self._queue = os.open(f"{path}-queue", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            except BaseException:
                self.close()
                raise

    def _prepare(self, make: bool) -> None:
        self._db.execute("PRAGMA synchronous=FULL")
        try:
            made = self._is_made()
        except sqlite3.DatabaseError:
            if make:
                raise
            made = False
        if not made and not make:
            raise ReadError(f"{self.shown} is no ledger of Sfumato", hint="is its name right?")
        if not made:
            self._db.execute("PRAGMA journal_mode=WAL")
            try:
                self._db.executescript(SCHEMA)
            except sqlite3.OperationalError:
                self.rollback()
                if not self._is_made():  # else another process was faster
                    raise
        self._db.execute(f"PRAGMA busy_timeout={MILLISECONDS}")

    def _is_made(self) -> bool:
        return self._db.execute("SELECT 1 FROM sqlite_master WHERE name = 'ledger_head'").fetchone() is not None

    @contextmanager
    def _faults(self, done: str = "written") -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            what = f"the ledger {self.shown} cannot be {done}: {error}"
            raise OutputError(what, hint="nothing was answered") from None

    def begin(self) -> None:
        """Begin a transaction that is alone. Processes queue for it: SQLite itself would have each try again and again,
        and leave some behind."""
        with self._faults():
            if self._queue is not None:
                _lock(self._queue)
            _patiently(lambda: self._db.execute("BEGIN IMMEDIATE"))

    def look(self) -> None:
        """Begin a transaction that only reads, all of one moment: that of its first statement."""
        with self._faults("read"):
            self._db.execute("BEGIN")
            _patiently(lambda: self._db.execute("SELECT 1 FROM ledger_head").fetchall())

    def run(self, statement: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement, and give its rows."""
        with self._faults():
            return _patiently(lambda: self._db.execute(statement, values).fetchall())

    def stream(self, statement: str) -> Iterator[tuple[Any, ...]]:
        """The rows of a statement, as they come."""
        with self._faults("read"):
            yield from self._db.execute(statement)

    def commit(self) -> None:
        """Keep what was done, durably."""
        try:
            with self._faults():
                self._db.execute("COMMIT")
        except OutputError:
            self.rollback()
            raise
        self._leave()

    def rollback(self) -> None:
        """Undo what was done since the transaction began."""
        try:
            if self._db.in_transaction:
                with self._faults():
                    self._db.execute("ROLLBACK")
        finally:
            self._leave()

    def _leave(self) -> None:
        if self._queue is not None:
            fcntl.flock(self._queue, fcntl.LOCK_UN)

    def close(self) -> None:
        """Let go of the file."""
        if hasattr(self, "_db"):
            self._db.close()
        queue, self._queue = self._queue, None
        if queue is not None:
            os.close(queue)


def _make(path: Path) -> None:
    """An empty file of the owner's alone; that of another process where it was faster."""
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _lock(file: int) -> None:
    """Take a lock that processes queue for, and that the system takes from one that dies."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return
    except BlockingIOError:
        pass
    taken, decided = threading.Event(), threading.Lock()
    late: list[bool] = []

    def wait() -> None:
        with suppress(OSError):
            fcntl.flock(file, fcntl.LOCK_EX)
            with decided:
                if late:
                    fcntl.flock(file, fcntl.LOCK_UN)
                else:
                    taken.set()

    threading.Thread(target=wait, daemon=True).start()  # so that it can be given up
    taken.wait(WAIT)
    with decided:
        if not taken.is_set():
            late.append(True)
            raise sqlite3.OperationalError("another process has it, and does not go on")


def _patiently(work: Callable[[], T]) -> T:
    """Do what another process may be in the way of, as often as it takes."""
    end = time.monotonic() + WAIT
    while True:
        try:
            return work()
        except sqlite3.OperationalError as error:
            busy = error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
            if not busy or time.monotonic() > end:
                raise
        time.sleep(PAUSE)
