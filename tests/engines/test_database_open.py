"""What names a database, what is refused, and that no password or address shows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import adbc_driver_duckdb.dbapi
import adbc_driver_postgresql.dbapi
import adbc_driver_sqlite.dbapi
import duckdb
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.progress import quiet
from sfumato.engines.protocol import COUNT, Plan
from sfumato.engines.sql import connect as database_open
from sfumato.engines.sql.table import Database
from sfumato.engines.sql.types import SqlDialect
from sfumato.errors import OutputError, PolicyError, ReadError, SfumatoError
from sfumato.release.destination import Table
from tests import postgres as server


@pytest.fixture
def duck(tmp_path: Path) -> Path:
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute("CREATE TABLE people AS SELECT range % 3 AS age FROM range(12)")
        connection.execute("CREATE SCHEMA clinic")
        connection.execute("CREATE TABLE clinic.people AS SELECT 7 AS age")
        connection.execute('CREATE TABLE "odd.name" AS SELECT 8 AS age')
    return tmp_path / "a.duckdb"


@pytest.fixture
def lite(tmp_path: Path) -> Path:
    with adbc_driver_sqlite.dbapi.connect(str(tmp_path / "b c?.db")) as connection:
        connection.execute("CREATE TABLE people (age INTEGER)").close()
        connection.execute("INSERT INTO people VALUES (1), (1), (2), (2)").close()
        connection.commit()
    return tmp_path / "b c?.db"


def ages(source: Any, table: str = "people", **more: Any) -> int:
    return Database(source, table, **more).count(["age"], quiet, 100).height


@pytest.mark.slow
def test_files_are_told_apart_by_their_first_bytes(duck: Path, lite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [ages(duck), ages(str(duck)), ages(f"duckdb://{duck}"), ages(f"duckdb:///{duck}")] == [3] * 4
    assert [ages(lite), ages(str(lite)), ages(f"sqlite:///{lite}")] == [2] * 3
    monkeypatch.chdir(duck.parent)
    assert ages("duckdb:///a.duckdb") == 3
    with pytest.raises(ReadError, match="not a file of sqlite"):
        Database(f"sqlite:///{duck}", "people")
    (duck.parent / "text.db").write_text("age\n1\n")
    with pytest.raises(ReadError, match="not a file of DuckDB or SQLite"):
        Database(duck.parent / "text.db", "people")
    with pytest.raises(ReadError, match="did you mean"):
        Database(duck.parent / "a.duckd", "people")


@pytest.mark.slow
def test_schemas_and_dots_in_names(duck: Path) -> None:
    assert ages(duck, "people", schema="clinic") == 1
    assert Database(duck, "clinic.people").sample(5)["age"].to_list() == [7]
    assert Database(duck, "odd.name").sample(5)["age"].to_list() == [8]
    assert ages(duck, "PEOPLE") == 3  # names fold there
    with pytest.raises(ReadError, match=r'no table "peple".*did you mean "people"'):
        Database(duck, "peple")
    with pytest.raises(ReadError, match='in schema "clinic"'):
        Database(duck, "clinic.nobody")
    for wrong in ("", 5):
        with pytest.raises(PolicyError):
            Database(duck, wrong)  # type: ignore[arg-type]
    with pytest.raises(PolicyError):
        Database(5, "people")


def test_python_variables_are_no_tables(duck: Path) -> None:
    people_here = pl.DataFrame({"age": [1]})
    with pytest.raises(ReadError, match="no table"):
        Database(duck, "people_here")
    assert people_here.height == 1


def test_an_open_connection_keeps_its_transaction(duck: Path) -> None:
    with duckdb.connect(str(duck)) as mine:
        mine.begin()
        mine.execute("INSERT INTO people VALUES (99)")
        store = Database(mine, "people")
        assert store.rows() == 12  # what is not committed is not seen
        asked: Any = {"quasi": ["age"], "require": sf.KAnonymity(2)}
        sf.anonymize(store, to=Table("kept"), **asked)
        assert mine.execute("SELECT COUNT(*) FROM people").fetchall() == [(13,)]
        mine.rollback()
        assert mine.execute("SELECT COUNT(*) FROM kept").fetchall() == [(12,)]
        mine.execute("CREATE TEMPORARY TABLE ours AS SELECT 1 AS age")
        with pytest.raises(ReadError, match='no table "ours"'):
            Database(mine, "ours")


@pytest.mark.parametrize("driver", ["sqlite", "duckdb"])
def test_an_open_adbc_connection_keeps_its_transaction(lite: Path, duck: Path, driver: str) -> None:
    connect = adbc_driver_sqlite.dbapi.connect if driver == "sqlite" else adbc_driver_duckdb.dbapi.connect
    with connect(str(lite if driver == "sqlite" else duck)) as mine:
        store = Database(mine, "people")
        assert driver in repr(store)
        sf.anonymize(store, to=Table("kept"), quasi=["age"], require=sf.KAnonymity(2))
        mine.rollback()
        with mine.cursor() as cursor:
            cursor.execute("SELECT COUNT(*) FROM kept")
            assert cursor.fetchall() == [(store.rows(),)]


def test_a_database_of_another_make(duck: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database_open, "DIALECTS", {})
    with adbc_driver_duckdb.dbapi.connect(str(duck)) as mine:
        with mine.cursor() as cursor:
            cursor.execute("CREATE TABLE more AS SELECT * FROM (VALUES ('a', 1), ('', 1), (NULL, 2)) v(town, age)")
        mine.commit()
        store = Database(mine, "more")
        assert store._place.dialect == SqlDialect("duckdb")
        assert store.schema() == {"town": pl.String(), "age": pl.Int32()}
        assert sorted(store.count(["town"], quiet, 9).fill_null("").rows()) == [("", 2), ("a", 1)]
        plan = Plan(("town", "age"), ("town",), ("town",), {}, store.count(["town"], quiet, 9).select("town"))
        with store.release(plan, "kept", False, quiet) as kept:
            assert kept.count(["town"], quiet)[COUNT].sum() == 3
        assert Database(mine, "kept").sample(9)["town"].null_count() == 2
        with pytest.raises(OutputError, match="already"), store.release(plan, "kept", False, quiet):
            pass


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:hidden@host/db",
        "postgres://me:@host/db",
        "postgresql://host/db?password=hidden",
        "postgresql://host/db?sslmode=require&%70assword=hidden",
        "postgresql://host/db?sslpassword=hidden",
        "host=host dbname=db password=hidden",
    ],
)
def test_an_address_with_a_password_is_refused(address: str) -> None:
    with pytest.raises(PolicyError, match="PGPASSWORD") as error:
        Database(address, "people")
    assert "hidden" not in str(error.value)


def test_what_is_unknown_is_named_without_the_address() -> None:
    with pytest.raises(ReadError, match='"mysql"') as error:
        Database("mysql://me@host/db", "people")
    assert "me@" not in str(error.value)
    with pytest.raises(ReadError, match=r'"register" at "nowhere\.invalid" cannot be reached') as error:
        Database("postgresql://me@nowhere.invalid:5/register", "people")
    assert "me@" not in str(error.value)
    assert error.value.__cause__ is None


def test_a_file_that_another_process_writes(duck: Path) -> None:
    hold = "import duckdb, sys; c = duckdb.connect(sys.argv[1]); print('open', flush=True); sys.stdin.read()"
    held = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", hold, str(duck)], **held) as other:  # type: ignore[call-overload]
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(ReadError, match="open in another process"):
            Database(duck, "people")
        other.kill()


@pytest.mark.postgres
def test_passwords_come_from_the_environment(postgres: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    server.run(postgres, "DROP TABLE IF EXISTS people CASCADE; CREATE TABLE people AS SELECT 1 AS age")
    password = Path(os.environ["PGPASSFILE"]).read_text().strip().rpartition(":")[2]
    assert ages(postgres) == 1
    monkeypatch.delenv("PGPASSFILE")
    with pytest.raises(ReadError, match="refuses the user or the password"):
        Database(postgres, "people")
    monkeypatch.setenv("PGPASSWORD", "wrong")
    with pytest.raises(ReadError, match="refuses the user or the password") as error:
        Database(postgres, "people")
    assert "sfumato" not in str(error.value).replace("sfumato[", "")
    monkeypatch.setenv("PGPASSWORD", password)
    assert ages(postgres) == 1
    monkeypatch.delenv("PGPASSWORD")
    who, _, port = postgres.removesuffix("/postgres").rpartition(":")
    service = f"[clinic]\nhost=127.0.0.1\nport={port}\nuser={who.partition('//')[2].partition('@')[0]}\n"
    (tmp_path / "services").write_text(service + f"dbname=postgres\npassword={password}\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    assert ages("postgresql://?service=clinic") == 1
    monkeypatch.setenv("PGSERVICE", "clinic")
    store = Database("postgresql://", "people")
    release = sf.anonymize(store, to=Table("kept", True, tmp_path / "out"), quasi=["age"], require=sf.KAnonymity(1))
    shown = repr(store) + repr(release) + str(dict(release.manifest))
    shown += "".join(path.read_text() for path in (tmp_path / "out").iterdir())
    assert password not in shown
    assert port not in shown


@pytest.mark.postgres
def test_errors_of_a_server_show_no_value(postgres: str) -> None:
    server.run(postgres, "DROP TABLE IF EXISTS people; CREATE TABLE people AS SELECT 1 AS age, 'SECRET' AS name")
    server.run(postgres, "DROP VIEW IF EXISTS failing")
    server.run(postgres, "CREATE VIEW failing AS SELECT CAST(name AS int) AS age FROM people")
    with pytest.raises(SfumatoError, match="cannot be read to their end") as error:
        Database(postgres, "failing").count(["age"], quiet, 9)
    assert "SECRET" not in str(error.value)
    server.run(postgres, "DROP VIEW failing")
    with pytest.raises(ReadError, match=r'no table "peopel".*did you mean "people"'):
        Database(postgres, "peopel")
    with pytest.raises(ReadError, match="is not there"):
        Database(postgres + "x", "people")
    server.run(postgres, "DROP ROLE IF EXISTS reader; CREATE ROLE reader LOGIN PASSWORD 'reader'")
    os.environ["PGPASSWORD"] = "reader"
    try:
        with pytest.raises(ReadError, match="lacks the right SELECT"):
            Database(postgres.replace("sfumato@", "reader@").replace("127.0.0.1", "localhost"), "people")
    finally:
        del os.environ["PGPASSWORD"]


@pytest.mark.postgres
def test_texts_are_compared_letter_by_letter(postgres: str) -> None:
    server.run(
        postgres,
        "DROP TABLE IF EXISTS folded; DROP COLLATION IF EXISTS folds; "
        "CREATE COLLATION folds (provider = icu, locale = 'und-u-ks-level2', deterministic = false); "
        "CREATE TABLE folded (town text COLLATE folds); INSERT INTO folded VALUES ('A'), ('a')",
    )
    assert Database(postgres, "folded").count(["town"], quiet, 9).height == 2


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    with adbc_driver_sqlite.dbapi.connect(str(tmp_path / "b.db")) as lite:
        lite.execute("CREATE TABLE broken AS SELECT CAST(x'ff41' AS TEXT) AS town").close()
        lite.commit()
    with pytest.raises(ReadError, match="not valid Unicode"):
        Database(tmp_path / "b.db", "broken").count(["town"], quiet, 9)


@pytest.mark.postgres
def test_texts_of_a_database_in_another_encoding(postgres: str) -> None:
    with adbc_driver_postgresql.dbapi.connect(postgres, autocommit=True) as connection:
        connection.execute("DROP DATABASE IF EXISTS latin").close()
        made = "CREATE DATABASE latin ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' TEMPLATE template0"
        connection.execute(made).close()
    address = postgres.removesuffix("postgres") + "latin"
    server.run(address, "CREATE TABLE towns AS SELECT chr(233) AS town")
    assert Database(address, "towns").sample(5)["town"].to_list() == ["é"]


def test_texts_are_compared_letter_by_letter_in_files(tmp_path: Path) -> None:
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.execute("CREATE TABLE folded (town VARCHAR COLLATE nocase)")
        connection.execute("INSERT INTO folded VALUES ('A'), ('a')")
    with adbc_driver_sqlite.dbapi.connect(str(tmp_path / "b.db")) as lite:
        lite.execute("CREATE TABLE folded (town TEXT COLLATE NOCASE)").close()
        lite.execute("INSERT INTO folded VALUES ('A'), ('a')").close()
        lite.commit()
    for name in ("a.duckdb", "b.db"):
        assert Database(tmp_path / name, "folded").count(["town"], quiet, 9).height == 2


@pytest.mark.parametrize(
    "address",
    [
        "postgresql:/u:hunter2@h/db",
        "postgresql:u:hunter2@h/db",
        "u:hunter2@h/db",
        "sqlite://u:hunter2@h/db",
        "host=h passwd=hunter2",
        "postgresql://u:x/hunter2@127.0.0.1:1/db",
        "u:hunter2@h://db",
        "postgresql://u:hunter2℀@h/db",
        "postgresql://u:[hunter2@h/db",
        "postgresql://u:hunter#2hunter2@h/db",
    ],
)
def test_no_address_that_is_written_wrong_shows_its_password(address: str) -> None:
    with pytest.raises(PolicyError, match="must not hold a password") as error:
        Database(address, "people")
    assert "hunter" not in str(error.value)


def test_an_address_may_name_a_file_of_passwords_and_more() -> None:
    with pytest.raises(ReadError, match="cannot be"):
        Database("postgresql://u@[::1]:1/db?passfile=/nowhere&connect_timeout=1", "people")


def test_a_letter_that_only_looks_alike_is_another_table(tmp_path: Path) -> None:
    with adbc_driver_sqlite.dbapi.connect(str(tmp_path / "a.db")) as lite:
        lite.execute('CREATE TABLE "É" AS SELECT 1 a').close()
        lite.commit()
    with pytest.raises(ReadError, match="no table"):
        Database(tmp_path / "a.db", "é")


def test_a_type_that_is_no_word_is_not_run(tmp_path: Path) -> None:
    with adbc_driver_sqlite.dbapi.connect(str(tmp_path / "a.db")) as lite:
        lite.execute('CREATE TABLE t (a INTEGER, b "TEXT); DROP TABLE precious; --", c [INT DEFAULT 5])').close()
        lite.execute("INSERT INTO t VALUES (1, 'x', 2), (1, 'y', 3)").close()
        lite.commit()
    found = sf.anonymize(
        Database(tmp_path / "a.db", "t"), quasi=["a"], insensitive=["b", "c"], require="k-anonymity 2", to=sf.Table("r")
    )
    assert found.verification.holds
    with adbc_driver_sqlite.dbapi.connect(str(tmp_path / "a.db")) as lite:
        cursor = lite.execute("SELECT sql FROM sqlite_master WHERE name = 'r'")
        made = cursor.fetchone()[0]
        cursor.close()
    assert "DROP" not in made
    assert "DEFAULT" not in made
