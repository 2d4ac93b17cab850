"""A release in a database is there whole or not at all, and nothing else is touched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import adbc_driver_postgresql.dbapi
import adbc_driver_sqlite.dbapi
import duckdb
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.progress import quiet
from sfumato.engines.protocol import COUNT, LABEL, Plan
from sfumato.engines.sql import count as database_sql
from sfumato.engines.sql.table import Database
from sfumato.errors import BrokenPromise, ColumnError, OutputError
from sfumato.release.destination import Table
from tests import postgres as server

pytestmark = pytest.mark.slow

Run = Callable[[str], list[tuple[Any, ...]]]
MADE = [
    "DROP VIEW IF EXISTS seen",
    "DROP TABLE IF EXISTS kept",
    "DROP TABLE IF EXISTS people",
    "CREATE TABLE people (age INTEGER, town VARCHAR(9))",
    "INSERT INTO people VALUES (1, 'a'), (1, 'b'), (2, ''), (2, NULL)",
    "CREATE VIEW seen AS SELECT * FROM people",
]


@pytest.fixture(params=["duckdb", "sqlite", pytest.param("postgresql", marks=pytest.mark.postgres)])
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def source(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("postgres")) if kind == "postgresql" else str(tmp_path / f"in.{kind}")


@pytest.fixture
def run(kind: str, source: str) -> Run:
    """Statements in a connection of their own: what they see is what anybody sees."""

    def one(statement: str) -> list[tuple[Any, ...]]:
        if kind == "duckdb":
            with duckdb.connect(source) as connection:
                return list(connection.execute(statement).fetchall())
        connect = adbc_driver_sqlite.dbapi.connect if kind == "sqlite" else adbc_driver_postgresql.dbapi.connect
        with connect(source) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            rows = cursor.fetchall() if cursor.description else []
            connection.commit()
        return list(rows)

    for statement in MADE:
        one(statement)
    return one


@pytest.fixture(autouse=True)
def _no_view_stays(request: pytest.FixtureRequest) -> Iterator[None]:
    """The server is that of all tests of a session, and others drop the table that the view leans on."""
    yield
    if "postgres" in request.fixturenames:
        server.run(request.getfixturevalue("postgres"), "DROP VIEW IF EXISTS seen")


@pytest.fixture
def store(run: Run, source: str) -> Database:
    return Database(source, "people")


def plan(store: Database) -> Plan:
    known = store.count(["age"], quiet, 9).select("age")
    return Plan(("age", "town"), ("age",), (), {"age": known.with_columns(pl.lit("*").alias(LABEL + "age"))})


def names(run: Run, kind: str) -> set[str]:
    asked = {
        "duckdb": "SELECT table_name FROM duckdb_tables()",
        "sqlite": "SELECT name FROM sqlite_master WHERE type = 'table'",
        "postgresql": "SELECT CAST(relname AS text) FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace "
        "WHERE relkind = 'r' AND (nspname = 'public' OR nspname LIKE 'pg_temp%')",
    }[kind]
    return {name for (name,) in run(asked)} & {"people", "kept"} | {
        name for (name,) in run(asked) if name.startswith("sfumato")
    }


def test_a_release_is_there_once_its_block_ends(store: Database, run: Run, kind: str) -> None:
    with store.release(plan(store), "kept", False, quiet) as kept:
        assert kept.data == "kept"
        assert kept.place == {"table": "kept", "format": kind}
        assert kept.count(["age"], quiet).rows() == [("*", 4)]
        with pytest.raises(ColumnError):
            kept.count(["nothing"], quiet)
        if kind == "postgresql":
            assert names(run, kind) == {"people"}  # nobody else sees it yet, nor what was staged
    assert names(run, kind) == {"people", "kept"}
    assert sorted(run("SELECT age, COALESCE(town, '-') FROM kept")) == [("*", ""), ("*", "-"), ("*", "a"), ("*", "b")]


@pytest.mark.parametrize("overwrite", [True, False])
def test_what_raises_leaves_nothing_behind(store: Database, run: Run, kind: str, overwrite: bool) -> None:
    if overwrite:
        run("CREATE TABLE kept AS SELECT 5 AS old")
    for error in (KeyboardInterrupt, ValueError):
        with pytest.raises(error), store.release(plan(store), "kept", overwrite, quiet):
            raise error
    assert names(run, kind) == {"people", "kept"} if overwrite else {"people"}
    if overwrite:
        assert run("SELECT old FROM kept") == [(5,)]


def test_a_release_that_verify_refutes_is_not_kept(
    store: Database, run: Run, kind: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    true = database_sql.created

    def broken(*given: Any) -> list[str]:
        *before, last = true(*given)
        return [*before, last + " LIMIT 3"]

    monkeypatch.setattr("sfumato.engines.sql.write.created", broken)
    with pytest.raises(BrokenPromise):
        sf.anonymize(
            store,
            to=Table("kept", beside=tmp_path / "out"),
            quasi=["age"],
            insensitive=["town"],
            require=sf.KAnonymity(2),
        )
    assert names(run, kind) == {"people"}
    assert not (tmp_path / "out").exists()


def test_an_earlier_release_is_replaced_where_that_is_asked_for(store: Database, run: Run) -> None:
    run("CREATE TABLE kept AS SELECT 5 AS old")
    with pytest.raises(OutputError, match="already"), store.release(plan(store), "kept", False, quiet):
        pass
    with pytest.raises(OutputError, match="already"):
        store.check_target("kept", False)
    store.check_target("kept", True)
    assert run("SELECT old FROM kept") == [(5,)]
    with store.release(plan(store), "kept", True, quiet):
        pass
    assert run("SELECT DISTINCT age FROM kept") == [("*",)]


def test_the_original_and_views_are_never_replaced(store: Database, run: Run, kind: str, source: str) -> None:
    with pytest.raises(OutputError, match="made from"), store.release(plan(store), "people", True, quiet):
        pass
    if kind != "postgresql":
        with pytest.raises(OutputError, match="made from"), store.release(plan(store), "PEOPLE", True, quiet):
            pass
    with pytest.raises(OutputError, match="a view"), store.release(plan(store), "seen", True, quiet):
        pass
    with pytest.raises(OutputError), store.release(plan(store), None, True, quiet):
        pass
    assert run("SELECT COUNT(*) FROM people") == run("SELECT COUNT(*) FROM seen") == [(4,)]
    view = Database(source, "seen")
    assert view.sample(2).height == 2
    with view.release(plan(view), "kept", False, quiet) as kept:
        assert kept.count(["age"], quiet)[COUNT].sum() == 4


KILLED = """
import os, signal, sys
from sfumato.engines.sql.table import Database
from sfumato.engines.protocol import LABEL, Plan
import polars as pl
store = Database(sys.argv[1], "people")
known = store.count(["age"], lambda *_: None, 9).select("age").with_columns(pl.lit("*").alias(LABEL + "age"))
with store.release(Plan(("age",), ("age",), (), {"age": known}), "kept", True, lambda *_: None) as kept:
    assert kept.count(["age"], lambda *_: None).height == 1
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("before", [True, False])
def test_a_client_that_is_killed_leaves_nothing_behind(run: Run, kind: str, source: str, before: bool) -> None:
    if before:
        run("CREATE TABLE kept AS SELECT 5 AS old")
    killed = subprocess.run([sys.executable, "-c", KILLED, source], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert names(run, kind) == ({"people", "kept"} if before else {"people"})
    if before:
        assert run("SELECT old FROM kept") == [(5,)]
    store = Database(source, "people")
    with store.release(plan(store), "kept", True, quiet):
        pass
    assert run("SELECT COUNT(*) FROM kept") == [(4,)]


@pytest.mark.parametrize("kind", ["duckdb", pytest.param("postgresql", marks=pytest.mark.postgres)])
def test_ctrl_c_stops_a_long_statement(run: Run, kind: str, source: str) -> None:
    long = {
        "duckdb": "SELECT SUM(sin(a.range * b.range)) AS age FROM range(1000000) a, range(100000) b",
        "postgresql": "SELECT 1 AS age FROM generate_series(1, 99999) a, generate_series(1, 99999) b OFFSET 9999999999",
    }[kind]
    run("DROP VIEW IF EXISTS slow")
    run(f"CREATE VIEW slow AS {long}")
    store = Database(source, "people")
    assert "age" in store.schema()
    store._table = replace(store._table, name="slow", kind="view")
    stop = threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGINT))
    began = time.monotonic()
    stop.start()
    with pytest.raises(KeyboardInterrupt):
        store.count(["age"], quiet, 9)
    assert time.monotonic() - began < 20
    run("DROP VIEW slow")


@pytest.mark.postgres
def test_another_schema_is_left_alone(postgres: str) -> None:
    for statement in MADE:
        server.run(postgres, statement)
    server.run(
        postgres, "DROP SCHEMA IF EXISTS other CASCADE; CREATE SCHEMA other; CREATE TABLE other.kept AS SELECT 5 x"
    )
    address = postgres + "?options=-csearch_path%3Dother,public"
    store = Database(address, "people")
    with store.release(plan(store), "kept", False, quiet) as kept:
        assert kept.data == kept.place["table"] == "public.kept"  # beside the original, not where names are looked up
    assert store.kept(kept.data).rows() == 4
    assert server.run(postgres, "SELECT x FROM other.kept") == [(5,)]
    assert server.run(postgres, "SELECT COUNT(*) FROM public.kept") == [(4,)]
    with pytest.raises(OutputError, match="already"), store.release(plan(store), "other.kept", False, quiet):
        pass
    with store.release(plan(store), "other.kept", True, quiet) as kept:
        assert kept.data == "other.kept"
    assert server.run(postgres, "SELECT COUNT(*) FROM other.kept") == [(4,)]
    server.run(postgres, "CREATE VIEW other.leans AS SELECT * FROM other.kept")
    with pytest.raises(OutputError, match="depend"), store.release(plan(store), "other.kept", True, quiet):
        pass
    assert server.run(postgres, "SELECT COUNT(*) FROM other.leans") == [(4,)]


def test_a_schema_that_is_not_there_is_not_taken_for_a_part_of_a_name(store: Database, run: Run, kind: str) -> None:
    for ask in (lambda: store.check_target("nos.kept", False), lambda: run_release(store, "nos.kept", True)):
        with pytest.raises(OutputError, match='there is no schema "nos" for the table "kept"'):
            ask()
    known = {"duckdb": "main", "sqlite": "main", "postgresql": "public"}[kind]
    with pytest.raises(OutputError, match=f'did you mean "{known}"'):
        store.check_target(f"{known}s.kept", False)
    run('CREATE TABLE "nos.kept" AS SELECT 5 AS old')  # whose own name has that dot
    try:
        with pytest.raises(OutputError, match="already"):
            store.check_target("nos.kept", False)
        run_release(store, "nos.kept", True)
        assert run('SELECT COUNT(*) FROM "nos.kept"') == [(4,)]
    finally:
        run('DROP TABLE "nos.kept"')


def run_release(store: Database, name: str, overwrite: bool) -> None:
    with store.release(plan(store), name, overwrite, quiet):
        pass


def test_columns_of_mixed_types_are_text(tmp_path: Path) -> None:
    with adbc_driver_sqlite.dbapi.connect(str(tmp_path / "a.db")) as lite:
        lite.execute("CREATE TABLE loose (a, b NUMERIC, c INTEGER, d BOOLEAN, e BOOLEAN, f INTEGER, g TEXT)").close()
        lite.execute(
            "INSERT INTO loose VALUES (1, 1, 1, 1, 2, 9007199254740993, NULL), ('1', 1.5, 2, 0, 1, 0.5, NULL), "
            "('', -0.0, NULL, NULL, 0, NULL, NULL)"
        ).close()
        lite.commit()
    store = Database(tmp_path / "a.db", "loose")
    assert store.schema() == {
        "a": pl.String(),
        "b": pl.Float64(),
        "c": pl.Int64(),
        "d": pl.Boolean(),
        "e": pl.Int64(),
        "f": pl.String(),  # as floating point numbers its whole numbers would not be exact
        "g": pl.String(),
    }
    assert sorted(store.count(["a"], quiet, 9).fill_null("").rows()) == [("", 1), ("1", 2)]
    known = store.count(["a", "b", "f"], quiet, 9)
    names = ("a", "b", "f")
    with store.release(Plan((*names, "d"), names, names, {}, known.select(names)), "kept", False, quiet) as kept:
        assert kept.count(["a"], quiet)[COUNT].sum() == 3
    with adbc_driver_sqlite.dbapi.connect(str(tmp_path / "a.db")) as lite, lite.cursor() as cursor:
        cursor.execute("SELECT DISTINCT typeof(a) || ' ' || typeof(b) || ' ' || typeof(f) FROM kept")
        # two values that count as one are stored as one
        assert sorted(cursor.fetchall()) == [("null real null",), ("text real text",)]
    assert Database(tmp_path / "a.db", "kept").schema()["d"] == pl.Boolean()
