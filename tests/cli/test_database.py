"""Tables of databases by the command line: exported, kept as a table, verified in place; addresses stay secret."""

from __future__ import annotations

import json
import shlex
import sqlite3
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from .conftest import Run, admissions, policy_text
from .test_anonymize import FLAGS, manifest

pytestmark = pytest.mark.slow

STREAM = (*FLAGS, "--search", "mondrian")
WHO, WORD = "annalena", "hunter2secret"  # a user and a password that nothing may repeat


@pytest.fixture(params=["duckdb", "sqlite"])
def base(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A database of one table."""
    path = tmp_path / f"hospital.{request.param}"
    if request.param == "duckdb":
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect(str(path)) as connection:
            connection.register("there", admissions().to_arrow())
            connection.execute("CREATE TABLE admissions AS SELECT * FROM there")
        return path
    pytest.importorskip("adbc_driver_sqlite")
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE admissions (name TEXT, age INTEGER, zip TEXT, sex TEXT, disease TEXT)")
        connection.executemany("INSERT INTO admissions VALUES (?, ?, ?, ?, ?)", admissions().iter_rows())
    connection.close()
    return path


def rows(base: Path, query: str) -> list[Any]:
    """What a query gives."""
    if base.suffix == ".duckdb":
        import duckdb

        with duckdb.connect(str(base)) as connection:
            return list(connection.execute(query).fetchall())
    lite = sqlite3.connect(base)
    found = list(lite.execute(query).fetchall())
    lite.close()
    return found


def tables(base: Path) -> set[str]:
    name = "information_schema.tables" if base.suffix == ".duckdb" else "sqlite_master"
    column = "table_name" if base.suffix == ".duckdb" else "name"
    return {row[0] for row in rows(base, f"SELECT {column} FROM {name}")}


def test_exported(run: Run, base: Path, tmp_path: Path) -> None:
    done = run("anonymize", "--input", base.name, "--table", "admissions", *STREAM, "-o", "out")
    assert done.code == 0, done.err
    assert "600 of 600 rows released" in done.out
    assert "verify it with: sfumato verify out\n" in done.out
    assert pl.read_csv(tmp_path / "out" / "data.csv", infer_schema=False).height == 600
    assert run("verify", "out").code == 0
    done = run("anonymize", base.name, "--table", "admissions", *STREAM, "--format", "parquet", "-o", "two", "--json")
    assert done.code == 0, done.out
    assert "table" not in done.json
    assert pl.read_parquet(tmp_path / "two" / "data.parquet").height == 600
    assert tables(base) == {"admissions"}


def test_kept_as_a_table_with_a_folder(run: Run, base: Path, tmp_path: Path) -> None:
    asked = ("anonymize", "--input", base.name, "--table", "admissions", *STREAM, "--output-table", "blurred one")
    done = run(*asked, "-o", "out")
    assert done.code == 0, done.err
    assert "  table blurred one\n  out/manifest.json\n  out/report.html\n" in done.out
    assert f"verify it with: sfumato verify out --input {base.name}\n" in done.out
    assert tables(base) == {"admissions", "blurred one"}
    assert rows(base, 'SELECT count(*) FROM "blurred one"') == [(600,)]
    told = manifest(tmp_path / "out")
    assert told["data"]["table"] == "blurred one"
    done = run("verify", "out", "--input", base.name)
    assert done.code == 0, done.err + done.out
    assert "holds  integrity" in done.out
    assert "The table has the columns, rows and class sizes that the manifest describes. Measured" in done.out
    assert "--max-cells 3" in run("verify", "out", "--input", base.name, "--max-cells", "3").err
    for command in ("risk", "verify"):
        refused = run(command, "out")
        assert refused.code == 2
        assert 'the table "blurred one" of a database' in refused.err
        assert "--input" in refused.err
    assert run("verify", "out", "--input", base.name, "--k", "3").code == 2
    found = run("risk", "out", "--input", base.name, "--json")
    assert found.code == 0, found.out
    assert found.json["prosecutor"]["highest"] <= 0.25
    found = run("utility", "--input", base.name, "--table", "admissions", "out", "--json")
    assert found.code == 0, found.out
    assert 0 < found.json["loss"]["lm"] < 1
    assert found.json["quasi"] == ["age", "zip", "sex"]
    assert "c-avg" in found.json["loss"]
    for command in ("attack", "report"):
        assert f"{command} needs the rows in memory" in run(command, "out").err
    assert "Promised, not checked here: whoever looks" in run("explain", "out").out
    told_of_rows = run("explain", "out", "--input", base.name, "--language", "it").out
    assert "Dimostrato: chi vi cerca" in told_of_rows
    assert "(per esempio" in told_of_rows
    again = run(*asked, "-o", "out2")
    assert again.code == 2
    assert "blurred one" in again.err
    assert not (tmp_path / "out2").exists()
    assert run(*asked, "-o", "out", "--overwrite").code == 0


def test_a_changed_table_fails(run: Run, base: Path) -> None:
    asked = ("anonymize", base.name, "--table", "admissions", *STREAM, "--output-table", "r", "-o", "out")
    assert run(*asked).code == 0
    if base.suffix == ".duckdb":
        rows(base, "INSERT INTO r VALUES ('1', '2', 'x', 'flu')")
    else:
        with sqlite3.connect(base) as connection:
            connection.execute("INSERT INTO r VALUES ('1', '2', 'x', 'flu')")
        connection.close()
    done = run("verify", "out", "--input", base.name)
    assert done.code == 1
    assert "FAILS  integrity" in done.out
    assert "FAILS  k-anonymity" in done.out


def test_kept_as_a_table_alone(run: Run, base: Path, tmp_path: Path) -> None:
    before = sorted(tmp_path.iterdir())
    done = run("anonymize", "--input", base.name, "--table", "admissions", *STREAM, "--output-table", "r", "--json")
    assert done.code == 0, done.out
    assert done.json["table"] == "r"
    assert done.json["folder"] is None
    assert done.json["files"] == []
    assert sorted(tmp_path.iterdir()) == before
    require = ("--require", "entropy-l-diversity disease 1.5")
    flags = ["--sensitive" if word == "--unprotected" else word for word in STREAM]
    done = run("anonymize", base.name, "--table", "admissions", *flags, *require, "--output-table", "r", "--overwrite")
    assert done.code == 0, done.err
    line = done.out.splitlines()[-1]
    words = shlex.split(line.removeprefix("verify it with: sfumato "))
    assert words[:5] == ["verify", "--input", base.name, "--table", "r"]
    done = run(*words)  # what it says can be typed
    assert done.code == 0, done.err
    assert "entropy-l-diversity" in done.out
    assert run("verify", "--input", base.name, "--table", "admissions", "--quasi", "age", "--k", "4").code == 0
    assert run("verify", "--input", base.name, "--table", "admissions", "--quasi", "name", "--k", "4").code == 1


def test_a_policy_file(run: Run, base: Path, tmp_path: Path) -> None:
    folder = tmp_path / "deep"
    folder.mkdir()
    text = policy_text().replace('"patients.csv"', f'"../{base.name}"\ntable = "admissions"')
    (folder / "p.toml").write_text(
        text.replace('path = "release"', 'table = "r"').replace("[output]", "max_cells = 5000\n[output]")
    )
    done = run("anonymize", "deep/p.toml", "--json")
    assert done.code == 0, done.out
    assert done.json["table"] == "r"
    assert "r" in tables(base)
    (folder / "p.toml").write_text(text)
    assert run("anonymize", "deep/p.toml").code == 0
    assert (folder / "release" / "data.csv").exists()
    kind = base.suffix[1:]
    address = f"{kind}:///{base}"
    done = run("anonymize", "deep/p.toml", "--input", address, "--table", "admissions", "-o", "here")
    assert done.code == 0, done.err
    done = run("anonymize", "deep/p.toml", "--table", "admission", "-o", "there")
    assert done.code == 2
    assert 'did you mean "admissions"?' in done.err


def test_inspect(run: Run, base: Path, tmp_path: Path) -> None:
    done = run("inspect", "--input", base.name, "--table", "admissions", "--init", "p.toml")
    assert done.code == 0, done.err
    assert "600 rows, 5 columns" in done.out
    assert 'table = "admissions"' in (tmp_path / "p.toml").read_text()
    assert run("anonymize", "p.toml").code == 0
    assert run("risk", "--input", base.name, "--table", "admissions", "--quasi", "age").code == 0


def test_faults_are_told_together(run: Run, base: Path) -> None:
    done = run(
        "anonymize",
        base.name,
        "--k",
        "0",
        "--no-stream",
        "--separator",
        ";",
        "--format",
        "csv",
        "--output-table",
        "r",
        "--json",
    )
    assert done.code == 2
    told = [fault.split(":")[0] for fault in done.json["error"]["faults"]]
    assert set(told) == {"--table", "--no-stream", "--separator", "--format", "--quasi", "--k"}
    asked = ("anonymize", base.name, *FLAGS)
    assert "--table: the table of the database is missing; give --table\n" in run(*asked, "-o", "o").err
    assert "-o: path is missing; give -o or --output-table\n" in run(*asked, "--table", "admissions").err
    asked += ("--table", "admissions")
    assert "--output-table: must not be empty" in run(*asked, "--output-table", "").err
    assert "--stream: is of a file, and the input is a table" in run(*asked, "--stream", "-o", "o").err
    assert "--stream: is of a file" in run("risk", base.name, "--table", "admissions", "--quasi", "age", "--stream").err
    assert 'there is no schema "nos"' in run(*asked, "--output-table", "nos.rel").err
    assert tables(base) == {"admissions"}
    assert "one address or one file" in run("anonymize", base.name, base.name, "--table", "t", *FLAGS, "-o", "o").err


@pytest.mark.parametrize(
    ("address", "debug"),
    [
        (f"postgresql://{WHO}:{WORD}@127.0.0.1:1/db", "1"),
        (f"postgresql://{WHO}@127.0.0.1:1/db?password={WORD}", "0"),
        (f"postgresql://{WHO}:{WORD}@/x@127.0.0.1:1/db", "0"),
        (f"mysql://{WHO}:{WORD}@127.0.0.1/db", "0"),
    ],
)
def test_nothing_repeats_a_user_or_a_password(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, debug: str
) -> None:
    monkeypatch.setenv("SFUMATO_DEBUG", debug)
    monkeypatch.setenv("PGPASSWORD", WORD)
    (tmp_path / "p.toml").write_text(policy_text().replace('"patients.csv"', json.dumps(address) + '\ntable = "t"'))
    (tmp_path / "q.toml").write_text(f"[input]\npath = 3\nformat = {json.dumps(address)}\n[{json.dumps(address)}]\n")
    said = ""
    for more in ((), ("--json",)):
        for command in (
            ("anonymize", "--input", address, "--table", "t", *FLAGS, "-o", "out"),
            ("anonymize", "--input", address, "--table", "t", "--k", "0", "-o", "out"),
            ("anonymize", "--input", address, *FLAGS, "-o", "out"),
            ("anonymize", address, address, "--table", "t", *FLAGS, "-o", "out"),
            ("anonymize", "p.toml"),
            ("anonymize", "q.toml"),
            ("compare", "p.toml"),
            ("verify", address, "--table", "t", "--quasi", "a", "--k", "2"),
            ("verify", address),
            ("risk", "--input", address, "--table", "t", "--quasi", "a"),
            ("utility", address, address),
            ("inspect", "--input", address, "--table", "t"),
            ("attack", address),
            ("report", address),
            ("lattice", address, "--table", "t"),
            ("list", address),
            ("demo", address),
            ("anonymize", "--quasi", "a", f"--{address}"),
        ):
            done = run(*command, *more)
            assert done.code == 2, done.out
            said += done.out + done.err
    assert WHO not in said
    assert WORD not in said


def test_a_user_in_an_address_is_not_written_into_a_policy() -> None:
    from sfumato.cli.inputs import named
    from sfumato.cli.inspect import _input
    from sfumato.cli.options import ReadingOptions

    told = _input(named(None, ReadingOptions(["postgresql://ann@host/db"], "t")), Path("p.toml"))
    assert told == {"path": "postgresql://host/db", "table": "t"}
