"""QueryLog: what was asked of a statistical database, of whom, and what was told. It stays with the owner."""

from __future__ import annotations

import fcntl
import hashlib
import json
import math
import os
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.control.query import KINDS
from sfumato.core.parameters import is_whole, path_of
from sfumato.core.wording import is_real
from sfumato.errors import OutputError, ReadError

FORMAT, VERSION = "sfumato-queries", 1
END = "\n]}\n"
FIELDS = ("number", "user", "query", "kind", "column", "rows", "answer", "refused", "snapshot")


@dataclass(frozen=True, eq=False)
class LoggedQuery:
    """A query, its number and who asked it; the rows of its query set, from 0, where people keep their number from one
    snapshot to the next; what was told, or why it was refused."""

    number: int
    user: str
    query: str
    kind: str
    column: str | None
    rows: np.ndarray = field(repr=False)
    answer: float | None
    refused: str | None
    snapshot: int = 1

    def plain(self) -> dict[str, Any]:
        """Its fields as plain values, the rows as ranges."""
        return {name: getattr(self, name) for name in FIELDS} | {"rows": row_ranges(self.rows)}


@dataclass(frozen=True, eq=False)
class QueryLog:
    """All queries to a database in their order; how many people it has, and what its columns are: keys or values."""

    people: int
    columns: Mapping[str, str]
    entries: tuple[LoggedQuery, ...] = field(default=(), repr=False)

    def save(self, path: str | Path) -> None:
        """Write it to a file that its owner alone may read."""
        lines = ",\n".join(json.dumps(entry.plain()) for entry in self.entries)
        with LogFile(path_of(path)) as file:
            file.write(log_head(self.people, self.columns) + "\n" * bool(lines) + lines + END)


def log_head(people: int, columns: Mapping[str, str], **more: str) -> str:
    """The first line of a log."""
    said = {"format": FORMAT, "version": VERSION, "people": people, "columns": dict(columns), **more}
    return json.dumps(said)[:-1] + ', "queries": ['


def row_ranges(rows: np.ndarray) -> list[list[int]]:
    """Sorted row numbers as ranges, each with its first and its last.

    >>> row_ranges(np.array([0, 1, 2, 5]))
    [[0, 2], [5, 5]]
    """
    starts = np.flatnonzero(np.diff(rows, prepend=-2) != 1)
    return np.column_stack((rows[starts], rows[np.append(starts, len(rows))[1:] - 1])).tolist() if len(rows) else []


def rows_of(ranges: Iterable[Iterable[int]]) -> np.ndarray:
    """The row numbers of ranges."""
    listed = [np.arange(first, last + 1, dtype=np.int32) for first, last in ranges]
    return np.concatenate(listed) if listed else np.zeros(0, np.int32)


def read_log(path: str | Path) -> QueryLog:
    """A log from its file, or ReadError where it was cut, or is none."""
    try:
        text = path_of(path).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ReadError(f"the log {path} cannot be read: {getattr(error, 'strerror', 'it is no text')}") from None
    return parse_log(text, str(path))


def parse_log(text: str, name: str) -> QueryLog:
    """A log from its text."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        known = text.startswith(f'{{"format": "{FORMAT}"')
        what = "was cut, or changed by hand" if known else "is no log of queries"
        raise ReadError(f"{name} {what}", hint="a database or service writes it: log=, --log") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ReadError(f"{name} is no log of queries", allowed=f'"format": "{FORMAT}"')
    if found.get("version") != VERSION:
        raise ReadError(f"{name} is of another version", got=repr(found.get("version")), allowed=str(VERSION))
    try:
        people, columns, queries = found["people"], found["columns"], found["queries"]
        entries = tuple(_entry(one) for one in queries)
        if not is_whole(people) or not 0 < people < 2**31 or not isinstance(columns, dict):
            raise ValueError
        if any(entry.number != i for i, entry in enumerate(entries, 1)):
            raise ReadError(f"{name} was cut: queries are missing", allowed="the numbers 1, 2, 3, ...")
    except (KeyError, TypeError, ValueError, IndexError, AttributeError, OverflowError):
        raise ReadError(f"{name} was cut, or changed by hand", hint="a query has " + ", ".join(FIELDS)) from None
    return QueryLog(people, columns, entries)


def _entry(one: dict[str, Any]) -> LoggedQuery:
    values = {name: one[name] for name in FIELDS}
    if (one["answer"] is None) == (one["refused"] is None):
        raise ValueError
    texts = [one[name] for name in ("user", "query", "kind", "column", "refused")]
    if not all(isinstance(text, str) for text in texts[:3]) or one["kind"] not in KINDS:
        raise ValueError
    if not all(text is None or isinstance(text, str) for text in texts[3:]):
        raise ValueError
    if not all(is_whole(one[name]) and 0 < one[name] < 2**31 for name in ("number", "snapshot")):
        raise ValueError
    if one["answer"] is not None and not (is_real(one["answer"]) and math.isfinite(one["answer"])):
        raise ValueError
    ranges = values.pop("rows")
    if any(not 0 <= first <= last < 2**31 for first, last in ranges):
        raise ValueError
    return LoggedQuery(**values, rows=rows_of(ranges))


class LogFile:
    """A file of the owner's alone, which nobody else writes meanwhile; what is written is on the disk."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
            os.fchmod(self._file, 0o600)
        except OSError as error:
            raise OutputError(f"the log {path} cannot be written: {error.strerror}") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise OutputError(f"the log {path} is used by another process", hint="end it, or wait") from None

    def __enter__(self) -> LogFile:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self) -> str:
        """Its whole text."""
        return os.pread(self._file, os.fstat(self._file).st_size, 0).decode("utf-8", "replace")

    def write(self, text: str, at: int = 0) -> None:
        """Write from a place on; what stood there is lost."""
        left = memoryview(text.encode("utf-8", "backslashreplace"))
        try:
            os.ftruncate(self._file, at + len(left))
            while left:
                done = os.pwrite(self._file, left, at)
                at, left = at + done, left[done:]
            os.fsync(self._file)
        except OSError as error:
            raise OutputError(f"the log {self.path} cannot be written: {error.strerror}") from None

    def close(self) -> None:
        """Let go of the file."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


class Journal:
    """A log that is written to its file query by query, each before anybody is told the answer; and the secret of the
    database, beside it. Both are the owner's alone."""

    def __init__(self, path: str | Path, table: pl.DataFrame, columns: Mapping[str, str]) -> None:
        self._file = LogFile(path_of(path))
        try:
            text = self._file.read()
            head = log_head(table.height, columns, table=_fingerprint(table))
            if text and not text.startswith(f'{{"format": "{FORMAT}"'):
                raise ReadError(f"{path} is no log of queries", hint="name a new file")
            if text and text.split("\n")[0] != head:
                hint = "begin another log for another table, or for other columns"
                raise ReadError(f"{path} is the log of another table", hint=hint)
            whole = mended(text) if text else head + END
            self._empty = not parse_log(whole, str(path)).entries
            if whole != text:
                self._file.write(whole)
            self._size = len(whole.encode())
            self.secret = _secret(self._file.path.with_name(self._file.path.name + ".key"))
        except BaseException:
            self._file.close()
            raise

    def append(self, entry: LoggedQuery) -> None:
        """Add an entry."""
        line = ("\n" if self._empty else ",\n") + json.dumps(entry.plain()) + END
        self._file.write(line, self._size - len(END))
        self._size += len(line) - len(END)
        self._empty = False

    def log(self) -> QueryLog:
        """All that was asked."""
        return parse_log(self._file.read(), str(self._file.path))

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()


def _fingerprint(table: pl.DataFrame) -> str:
    return hashlib.sha256(table.write_csv().encode("utf-8", "backslashreplace")).hexdigest()


def _secret(path: Path) -> bytes:
    """The secret of a file, made on first use."""
    with LogFile(path) as file:
        if not file.read():
            file.write(secrets.token_hex(32))
        return bytes.fromhex(file.read())


def mended(text: str) -> str:
    """A log whose last entry is half there: a crash came while it was written, and nobody was told of it.

    >>> mended('{"queries": [' + END) == mended('{"queries": [' + chr(10) + '{"number": 1, "us')
    True
    """
    if text.endswith(END):
        return text
    head, *lines = text.split("\n")
    whole: list[str] = []
    for line in lines:
        try:
            json.loads(line.rstrip(","))
        except ValueError:
            break
        whole.append(line.rstrip(","))
    return head + "\n" * bool(whole) + ",\n".join(whole) + END
