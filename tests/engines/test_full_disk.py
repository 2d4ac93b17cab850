"""A full disk, and Ctrl-C: a message and an exit code, never the end of the process, and nothing is left behind."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import polars as pl
import pytest

from sfumato.engines.sql.table import Database
from sfumato.errors import ReadError
from tests import postgres as server
from tests.disks import Disk

pytestmark = pytest.mark.slow

ROWS = 150_000
MAIN = "import sys; from sfumato.cli import main; sys.exit(main())"
ASKED = ("--quasi", "age,zip", "--insensitive", "note", "--k", "5", "--search", "mondrian")
EVERY = [
    pytest.param("parquet", marks=pytest.mark.slow),
    "csv",
    pytest.param("duckdb", marks=pytest.mark.slow),
    "sqlite",
    pytest.param("postgresql", marks=pytest.mark.postgres),
]
MADE = f"""
    SELECT 20 + CAST(range * 31 % 53 AS INTEGER) AS age, CAST(80331 + range * 17 % 101 % 7 AS VARCHAR) AS zip,
    md5(CAST(range AS VARCHAR)) AS note FROM range({ROWS})
"""


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One table in files and databases: most of its bytes are notes that nothing packs."""
    folder = tmp_path_factory.mktemp("tables")
    with duckdb.connect(str(folder / "in.duckdb")) as duck:
        duck.execute(f"CREATE TABLE people AS {MADE}")
        for name in ("in.csv", "in.parquet"):
            duck.execute(f"COPY people TO '{folder / name}'")
        rows = duck.execute("SELECT * FROM people").fetchall()
    lite = sqlite3.connect(folder / "in.sqlite")
    lite.execute("CREATE TABLE people (age INTEGER, zip TEXT, note TEXT)")
    lite.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
    lite.commit()
    lite.close()
    return folder


@pytest.fixture(scope="module")
def on_server(postgres: str) -> str:
    """The same table in PostgreSQL."""
    server.run(
        postgres,
        "DROP TABLE IF EXISTS many; CREATE TABLE many AS SELECT CAST(20 + i * 31 % 53 AS int) AS age, "
        "CAST(80331 + i * 17 % 101 % 7 AS text) AS zip, md5(CAST(i AS text)) AS note "
        f"FROM generate_series(1, {ROWS}) i",
    )
    return postgres


@pytest.fixture(params=EVERY)
def named(request: pytest.FixtureRequest, tables: Path) -> list[str]:
    """The arguments that name the table."""
    if request.param == "postgresql":
        return [str(request.getfixturevalue("on_server")), "--table", "many"]
    path = str(tables / f"in.{request.param}")
    return [path, "--table", "people"] if request.param in ("duckdb", "sqlite") else [path, "--stream"]


def start(*arguments: str | Path, code: str = MAIN, **more: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    environment = os.environ | {"SFUMATO_KEY": "key", **more}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)


def end(process: subprocess.Popen[str]) -> tuple[int, str]:
    """The exit code and what was said, in two minutes at most."""
    try:
        said, _ = process.communicate(timeout=120)
    except subprocess.TimeoutExpired:
        process.kill()
        said, _ = process.communicate()
        pytest.fail(f"it hangs: {said[-500:]}")
    return process.returncode, said


SEVERAL = """
import sys
from sfumato.cli import main
place, *asked = sys.argv[1:]
for format in ("csv", "parquet"):
    print("code", main(["anonymize", *asked, "--format", format, "-o", f"{place}/out"]), flush=True)
"""


def test_a_release_into_a_folder_on_a_full_disk(named: list[str], disk: Disk) -> None:
    place = disk("1m")
    code, said = end(start(place, *named, *ASKED, code=SEVERAL))
    assert code == 0, said  # neither took the process along
    assert said.count("code 2") == 2, said
    assert said.count(f"no space left on the disk of {place}") == 2, said
    assert list(place.iterdir()) == []


def wait_for(process: subprocess.Popen[str], folder: Path) -> None:
    """Until rows are written."""
    until = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < until:
        with contextlib.suppress(FileNotFoundError):  # a folder of counts is removed while it is looked into
            if any(path.stat().st_size for path in folder.glob(".sfumato-*/**/data.*")):
                return
        time.sleep(0.01)


@pytest.mark.slow
def test_ctrl_c_while_rows_are_written(named: list[str], tmp_path: Path) -> None:
    format = "parquet" if named[0].endswith(("parquet", "duckdb")) else "csv"
    process = start("anonymize", *named, *ASKED, "--format", format, "-o", tmp_path / "out")
    wait_for(process, tmp_path)
    process.send_signal(signal.SIGINT)
    code, said = end(process)
    if code == 0:
        pytest.skip("it was done before the signal came")
    assert code == 130, said
    assert said.splitlines()[-1].startswith("interrupted, nothing written")
    assert "leak" not in said
    assert not (tmp_path / "out").exists()
    assert not any(tmp_path.glob(".sfumato-*"))


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
def test_a_table_on_a_full_disk(kind: str, disk: Disk) -> None:
    place, frame = disk("8m"), pl.DataFrame({"age": [20 + i % 50 for i in range(20_000)], "note": ["x" * 40] * 20_000})
    frame = frame.with_columns(note=pl.col("note") + pl.int_range(20_000).cast(pl.String))
    if kind == "duckdb":
        with duckdb.connect(str(place / "in.duckdb")) as duck:
            duck.register("there", frame.to_arrow())
            duck.execute("CREATE TABLE people AS SELECT * FROM there")
    else:
        lite = sqlite3.connect(place / "in.sqlite")
        lite.execute("CREATE TABLE people (age INTEGER, note TEXT)")
        lite.executemany("INSERT INTO people VALUES (?, ?)", frame.iter_rows())
        lite.commit()
        lite.close()
    left = os.statvfs(place)
    (place / "much").write_bytes(bytes(max(0, left.f_bavail * left.f_bsize - 300_000)))
    asked = ["--quasi", "age", "--insensitive", "note", "--k", "5", "--search", "mondrian"]
    table = [place / f"in.{kind}", "--table", "people", *asked, "--output-table", "released"]
    code, said = end(start("anonymize", *table))
    assert code == 2, said
    assert f"no space left on the disk of {place}" in said
    (place / "much").unlink()
    code, said = end(start("anonymize", *table))  # nothing of it is there, and with room it can be done
    assert code == 0, said


@pytest.mark.postgres
def test_a_full_disk_of_the_server(on_server: str, disk: Disk) -> None:
    place = disk("2m")
    for parent in (place, *place.parents):  # the server is another user
        if not parent.stat().st_mode & 0o001:
            parent.chmod(parent.stat().st_mode | 0o011)
    owner = server._user()
    if owner is not None:
        os.chown(place, owner.pw_uid, owner.pw_gid)
    for setting in ("default_tablespace", "temp_tablespaces"):  # the released table, then what is staged
        run = f"CREATE TABLESPACE small LOCATION '{place}'; ALTER ROLE {server.USER} SET {setting} = 'small'"
        _each(on_server, run)
        try:
            rows = "SELECT age, zip || note AS zip, note FROM many LIMIT 60000"
            server.run(on_server, f"CREATE TABLE wide TABLESPACE pg_default AS {rows}")
            require = ("--quasi", "zip", "--k", "1", "--identifying", "note", "--insensitive", "age")
            asked = (on_server, "--table", "wide", *require, "--search", "mondrian", "--output-table", "full")
            code, said = end(start("anonymize", *asked))
            assert code == 2, said
            assert "no space left on the disk of the database" in said
            assert server.run(on_server, "SELECT count(*) FROM pg_class WHERE relname = 'full'") == [(0,)]
        finally:
            undo = f"ALTER ROLE {server.USER} RESET {setting}; DROP TABLE IF EXISTS wide; DROP TABLESPACE small"
            _each(on_server, undo)


def _each(address: str, sql: str) -> None:
    """Statements that want no transaction."""
    import adbc_driver_postgresql.dbapi

    with adbc_driver_postgresql.dbapi.connect(address, autocommit=True) as connection, connection.cursor() as cursor:
        for part in sql.split(";"):
            cursor.execute(part)


def test_no_room_for_what_sqlite_sorts(tables: Path, disk: Disk, tmp_path: Path) -> None:
    place = disk("200k")
    asked = ("anonymize", tables / "in.sqlite", "--table", "people", *ASKED, "-o", tmp_path / "out")
    code, said = end(start(*asked, SQLITE_TMPDIR=str(place)))
    assert code == 2, said
    assert f"no space left on the disk of {place}" in said
    assert list(tmp_path.glob("*out*")) == []


def test_no_room_for_what_duckdb_spills(tables: Path, disk: Disk) -> None:
    place = disk("24m")
    shutil.copy(tables / "in.duckdb", place)
    query = "SELECT note || i AS n FROM people, range(18) r(i) GROUP BY n ORDER BY n LIMIT 9999999"
    with duckdb.connect(str(place / "in.duckdb")) as duck:
        duck.execute("SET memory_limit = '50MB'; SET threads = 1")
        duck.execute(f"CREATE VIEW much AS SELECT MAX(n) AS n FROM ({query})")
        with pytest.raises(ReadError, match=f"no space left on the disk of {place}"):
            Database(place / "in.duckdb", "much")
