"""What a run that is killed leaves is for its owner alone, and gone after the next run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import polars as pl
import pytest

import sfumato as sf

pytestmark = pytest.mark.slow

ROWS = 90_000
KILLED = """
import os, signal, sys
import sfumato as sf
import sfumato.engines.files.count as counting
kind, source, out, message = sys.argv[1:]
counting.PART = counting.BATCH = 30_000
os.umask(0)
def say(said, share):
    if said == message and share and share > 0.5:
        os.kill(os.getpid(), signal.SIGKILL)
store = sf.Database(source, "people") if kind == "duckdb" else sf.scan(source, part=30_000)
asked = dict(quasi=["age"], insensitive=["note"], require=sf.KAnonymity(5), search="mondrian")
sf.anonymize(store, to=out, progress=say, **asked)
"""
SPILLED = """
import os, signal, sys
import sfumato as sf
from sfumato.engines.sql.connect import place
os.umask(0)
link = place(sys.argv[1]).link()
for statement in ("SET memory_limit = '50MB'", "SET threads = 1"):
    link.run(statement)
frames = link.frames("SELECT note || i AS n, COUNT(*) FROM people, range(30) r(i) GROUP BY n ORDER BY n")
next(frames)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tables")
    with duckdb.connect(str(folder / "in.duckdb")) as duck:
        duck.execute(
            "CREATE TABLE people AS SELECT CAST(range % 50 AS INTEGER) AS age, "
            f"md5(CAST(range AS VARCHAR)) AS note FROM range({ROWS})"
        )
        for name in ("in.csv", "in.parquet"):
            duck.execute(f"COPY people TO '{folder / name}'")
    return folder


def closed(folder: Path) -> None:
    """Nobody else can reach a file in a folder: it, or a folder that it is in, is for its owner only."""
    left = [path for path in folder.rglob("*") if path.is_file()]
    assert left
    for path in left:
        between = [p for p in path.parents if p.is_relative_to(folder) and p != folder]
        assert any(not p.stat().st_mode & 0o077 for p in (path, *between)), path


def killed(code: str, *arguments: str | Path) -> None:
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, timeout=120)
    assert done.returncode == -9, done.stderr


@pytest.mark.parametrize("message", ["counting rows", "recoding rows", "verifying"])
@pytest.mark.parametrize("kind", ["parquet", pytest.param("csv", marks=pytest.mark.slow), "duckdb"])
def test_a_killed_release(tables: Path, tmp_path: Path, kind: str, message: str) -> None:
    if kind == "duckdb" and message != "recoding rows":
        pytest.skip("the database counts")
    source = tables / f"in.{kind}"
    out = tmp_path / "out"
    killed(KILLED, kind, source, out, message)
    assert not out.exists()
    closed(tmp_path)
    store = sf.Database(source, "people") if kind == "duckdb" else sf.scan(source)
    asked = {"quasi": ["age"], "insensitive": ["note"], "require": sf.KAnonymity(5), "search": "mondrian"}
    release = sf.anonymize(store, to=out, **asked)
    assert release.verification.rows == ROWS
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_what_duckdb_spilled(tables: Path) -> None:
    source, spill = tables / "in.duckdb", tables / "in.duckdb.tmp"
    killed(SPILLED, source)
    assert any(spill.iterdir())
    assert spill.stat().st_mode & 0o077 == 0
    sf.Database(source, "people").rows()
    assert not spill.exists()
    other = spill / f"duckdb_temp_{os.getpid()}_0_storage_DEFAULT-0.tmp"  # of a process that runs
    spill.mkdir()
    other.touch()
    sf.Database(source, "people").rows()
    assert other.exists()
    other.unlink()
    spill.rmdir()


def test_a_run_that_lives_is_left_alone(tables: Path, tmp_path: Path) -> None:
    code = KILLED.replace("os.kill(os.getpid(), signal.SIGKILL)", "sys.stderr.write('here\\n'), sys.stdin.readline()")
    command = [sys.executable, "-c", code, "parquet", tables / "in.parquet", tmp_path / "one", "recoding rows"]
    with subprocess.Popen([*map(str, command)], stdin=-1, stderr=-1, text=True) as first:
        assert first.stderr is not None
        assert first.stderr.readline() == "here\n"
        asked = {"quasi": ["age"], "insensitive": ["note"], "require": sf.KAnonymity(5), "search": "mondrian"}
        sf.anonymize(sf.scan(tables / "in.parquet"), to=tmp_path / "two", **asked)
        assert not (tmp_path / "one").exists()
        first.communicate("\n" * 99, timeout=60)
    assert first.returncode == 0
    frames = [pl.read_parquet(tmp_path / name / "data.parquet") for name in ("one", "two")]
    assert frames[0].height == frames[1].height == ROWS
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]
