"""A table that others write while it is released: the release is that of one moment, and so is its fingerprint."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi
import duckdb
import polars as pl
import pytest

import sfumato as sf
from sfumato.engines.sql.table import Database
from sfumato.errors import ColumnError, ReadError, SfumatoError
from tests import postgres as server

pytestmark = pytest.mark.slow

ASKED: dict[str, Any] = {"quasi": ["age", "town"], "sensitive": ["disease"], "insensitive": ["note"]}
ASKED |= {"require": [sf.KAnonymity(5), sf.TCloseness("disease", 0.4)], "search": "mondrian"}
ROWS = 8_000
TABLE = pl.DataFrame(
    {
        "age": [20 + i * 31 % 53 for i in range(ROWS)],
        "town": [f"town {i * 17 % 101 % 7}" for i in range(ROWS)],
        "disease": [("flu", "ulcer", "asthma", "cold")[i * 3 % 11 % 4] for i in range(ROWS)],
        "note": [f"note {i}" for i in range(ROWS)],
    }
)
# what a writer does in turn: values that nobody has counted, rows that change classes, and rows that go
CHANGES = (
    "INSERT INTO crowd VALUES ({i} % 90, 'new {i}', 'gout', 'x')",
    "UPDATE crowd SET age = age + 1, disease = 'gout' WHERE age = {i} % 50 + 20",
    "DELETE FROM crowd WHERE age = {i} % 53 + 20 AND town = 'town 3'",
)


@pytest.fixture(params=["duckdb", "sqlite", "sqlite-wal", pytest.param("postgresql", marks=pytest.mark.postgres)])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def source(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Any]:
    """The table, in a database that can be written meanwhile."""
    if kind == "duckdb":  # one process alone may write a file of DuckDB, so its writer is a thread
        with duckdb.connect(str(tmp_path / "in.duckdb")) as duck:
            duck.register("there", TABLE.to_arrow())
            duck.execute("CREATE TABLE crowd AS SELECT * FROM there")
            yield duck
        return
    if kind == "postgresql":
        address = str(request.getfixturevalue("postgres"))
        server.run(address, "DROP TABLE IF EXISTS crowd; DROP TABLE IF EXISTS kept_crowd")
        with adbc_driver_postgresql.dbapi.connect(address) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest("crowd", TABLE.to_arrow(compat_level=pl.CompatLevel.oldest()))
            connection.commit()
        yield address
        return
    lite = sqlite3.connect(tmp_path / "in.sqlite")
    if kind == "sqlite-wal":
        lite.execute("PRAGMA journal_mode = WAL")
    lite.execute("CREATE TABLE crowd (age INTEGER, town TEXT, disease TEXT, note TEXT)")
    lite.executemany("INSERT INTO crowd VALUES (?, ?, ?, ?)", TABLE.iter_rows())
    lite.commit()
    lite.close()
    yield str(tmp_path / "in.sqlite")


LITE_WRITER = """
import select, sqlite3, sys, time
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0.2)
done = 0
print("ready", flush=True)
while not select.select([sys.stdin], [], [], 0)[0]:
    for change in sys.argv[2:]:
        try:
            connection.execute(change.format(i=done))
            done += 1
        except sqlite3.OperationalError:  # it has to wait
            pass
        time.sleep(0.001)
print(done)
"""


@contextmanager
def writing(kind: str, source: Any) -> Iterator[list[int]]:
    """Changes, one after the other, each committed, as long as the block lasts; how many is in the list."""
    stop, done = threading.Event(), [0]
    if kind.startswith("sqlite"):  # a process of its own: in one process, two libraries of SQLite share no locks
        command = [sys.executable, "-c", LITE_WRITER, source, *CHANGES]
        with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as writer:
            assert writer.stdout is not None
            writer.stdout.readline()
            yield done
            done[0] = int(writer.communicate("", timeout=60)[0])
        return
    connection = source if kind == "duckdb" else adbc_driver_postgresql.dbapi.connect(source, autocommit=True)
    cursor = connection.cursor()

    def write() -> None:
        while not stop.is_set():
            for change in CHANGES:
                with suppress(duckdb.TransactionException):
                    cursor.execute(change.format(i=done[0]))
                    done[0] += 1
                time.sleep(0.001)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield done
    finally:
        stop.set()
        thread.join()
        cursor.close()
        if kind == "postgresql":
            connection.close()


@pytest.mark.parametrize("kept", [True, False])
def test_a_table_that_is_written_all_the_time(kind: str, source: Any, tmp_path: Path, kept: bool) -> None:
    with writing(kind, source) as done:
        for i in range(3):
            store, before = Database(source, "crowd"), done[0]
            to = (
                sf.Table("kept_crowd", overwrite=True, beside=tmp_path / f"{i}")
                if kept
                else sf.Folder(tmp_path / f"{i}")
            )
            release = sf.anonymize(store, to=to, **ASKED)
            assert release.verification.holds
            if kept:
                assert sf.verify(Database(source, "kept_crowd"), manifest=tmp_path / f"{i}").holds
            else:
                assert sf.verify(tmp_path / f"{i}").holds
            assert kind.startswith("sqlite") or done[0] > before  # in SQLite a writer may have to wait to the end
    assert done[0]


@contextmanager
def at(message: str, change: Callable[[], object]) -> Iterator[Callable[[str, float | None], None]]:
    """Progress that makes a change when a step begins."""
    left = [change]

    def say(said: str, share: float | None) -> None:
        if said == message and left:
            left.pop()()

    yield say
    assert not left


@pytest.mark.parametrize("message", ["recoding rows", "verifying"])
def test_the_fingerprint_is_that_of_the_rows_that_were_released(
    kind: str, source: Any, tmp_path: Path, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SFUMATO_KEY", "key")
    marks = []

    def swap() -> None:
        with writing(kind, source) as done:
            until = time.monotonic() + (1 if kind.startswith("sqlite") else 10)
            while done[0] < 9 and time.monotonic() < until:
                time.sleep(0.01)
        marks.append(done[0])

    before = Database(source, "crowd").fingerprint(b"key")
    with at(message, swap) as say:
        release = sf.anonymize(Database(source, "crowd"), to=tmp_path / "out", progress=say, **ASKED)
    assert release.manifest["input"] == {"rows": ROWS, "fingerprint": before}
    assert release.verification.rows <= ROWS
    if not kind.startswith("sqlite"):  # which has no such hash, and whose writer may have had to wait
        assert marks[0] >= 9
        assert Database(source, "crowd").fingerprint(b"key") != before


@pytest.mark.parametrize("ending", ["parquet", "csv"])
@pytest.mark.parametrize("message", ["counting rows", "recoding rows", "verifying"])
@pytest.mark.parametrize("how", ["renamed over", "written over", "there and back", "deleted"])
def test_files_that_are_swapped_meanwhile_are_refused(tmp_path: Path, ending: str, message: str, how: str) -> None:
    path, other = tmp_path / f"in.{ending}", tmp_path / f"other.{ending}"
    for file, frame in ((path, TABLE), (other, TABLE.reverse())):
        frame.write_parquet(file) if ending == "parquet" else frame.write_csv(file)
    state = path.stat()
    assert ending == "parquet" or state.st_size == other.stat().st_size

    def change() -> None:
        if how == "renamed over":
            os.utime(other, ns=(state.st_atime_ns, state.st_mtime_ns))
            os.replace(other, path)
        elif how == "written over":
            shutil.copyfile(other, path)
            os.utime(path, ns=(state.st_atime_ns, state.st_mtime_ns))
        elif how == "there and back":
            time.sleep(0.02)  # clocks of file systems tick slowly
            os.rename(path, tmp_path / "aside")
            os.rename(tmp_path / "aside", path)
        else:
            path.unlink()

    with at(message, change) as say, pytest.raises(ReadError) as raised:
        sf.anonymize(sf.scan(path), to=tmp_path / "out", progress=say, **ASKED)
    assert str(path) in str(raised.value)
    assert ("deleted" if how == "deleted" else "changed") in str(raised.value)
    assert not (tmp_path / "out").exists()
    assert not any(tmp_path.glob(".sfumato-*"))


def test_all_columns_that_cannot_be_printed_are_named_at_once(tmp_path: Path) -> None:
    frame = pl.DataFrame({"age": [1, 1], "photo": [b"a", b"b"], "visits": [[1], [2]], "place": [{"x": 1}, {"x": 2}]})
    frame.write_parquet(tmp_path / "in.parquet")
    for data in (frame, sf.scan(tmp_path / "in.parquet")):
        to = {} if data is frame else {"to": tmp_path / "out"}
        with pytest.raises(ColumnError, match='columns "photo", "visits", "place" hold') as raised:
            sf.anonymize(data, quasi=["age"], require=sf.KAnonymity(2), **to)
        assert "binary, list, struct" in str(raised.value)
    assert issubclass(ColumnError, SfumatoError)


WRITER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=30)
connection.execute("BEGIN IMMEDIATE")
print("held", flush=True)
sys.stdin.readline()
connection.execute("COMMIT")
"""


def test_a_writer_that_holds_the_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "in.sqlite"
    lite = sqlite3.connect(path)
    lite.execute("CREATE TABLE crowd (age INTEGER)")
    lite.executemany("INSERT INTO crowd VALUES (?)", [(i % 2,) for i in range(20)])
    lite.commit()
    lite.close()
    store = Database(path, "crowd")
    with subprocess.Popen([sys.executable, "-c", WRITER, path], stdin=-1, stdout=-1, text=True) as writer:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "held\n"
        done: list[Any] = []
        asked: dict[str, Any] = {"quasi": ["age"], "rest": "release", "require": sf.KAnonymity(2), "search": "mondrian"}
        asked |= {"to": sf.Table("kept_crowd")}
        thread = threading.Thread(target=lambda: done.append(sf.anonymize(store, **asked)))
        thread.start()
        time.sleep(0.5)
        assert not done  # it waits, ten seconds at most
        writer.communicate("\n", timeout=20)
        thread.join(100)
    assert done[0].verification.holds
