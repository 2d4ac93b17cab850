"""The line `verify it with` is pasted into a shell, and does what it says: every place, and names of every kind."""

from __future__ import annotations

import shlex
import sqlite3
import subprocess
from pathlib import Path

import duckdb
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.cli.options import names
from sfumato.core.wording import as_flag

from .conftest import Ran, Run

pytestmark = pytest.mark.slow

AGE, ZIP, ILL = 'age, in "years"', " it's a zip ", "dis=ease $HOME"
TABLE = 'blurred, "one"'
SHELL = """sfumato() { printf '%s\\0' "$@"; }\n"""  # the words that a shell makes of the line


def frame(rows: int = 600) -> pl.DataFrame:
    return pl.DataFrame(
        {
            AGE: [20 + i * i * 31 % 53 for i in range(rows)],
            ZIP: [str(80331 + i * 17 % 101 % 7) for i in range(rows)],
            ILL: [("flu", "ulcer", "asthma", "cold")[i * 3 % 11 % 4] for i in range(rows)],
        }
    )


@pytest.fixture(
    params=[
        "duckdb",
        pytest.param("sqlite", marks=pytest.mark.slow),
        pytest.param("postgresql", marks=pytest.mark.postgres),
    ]
)
def address(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A database of one table, as the command line names it: a file with a space, or an address with "&"."""
    if request.param == "postgresql":
        import adbc_driver_postgresql.dbapi

        from tests import postgres as server

        at = str(request.getfixturevalue("postgres"))
        server.run(at, f'DROP TABLE IF EXISTS crowd; DROP TABLE IF EXISTS "{TABLE.replace(chr(34), chr(34) * 2)}"')
        with adbc_driver_postgresql.dbapi.connect(at) as connection, connection.cursor() as cursor:
            cursor.adbc_ingest("crowd", frame().to_arrow(compat_level=pl.CompatLevel.oldest()))
            connection.commit()
        return f"{at}?application_name=a%20b&connect_timeout=20"
    path = tmp_path / f"the hospital's.{request.param}"
    if request.param == "duckdb":
        with duckdb.connect(str(path)) as duck:
            duck.register("there", frame().to_arrow())
            duck.execute("CREATE TABLE crowd AS SELECT * FROM there")
    else:
        lite = sqlite3.connect(path)
        columns = ", ".join('"' + name.replace('"', '""') + '"' for name in frame().columns)
        lite.execute(f"CREATE TABLE crowd ({columns})")
        lite.executemany("INSERT INTO crowd VALUES (?, ?, ?)", frame().iter_rows())
        lite.commit()
        lite.close()
    return path.name


def pasted(said: str, run: Run) -> Ran:
    """Paste the line into a shell, and run the words that it makes of it."""
    line = said.splitlines()[-1]
    assert line.startswith("verify it with: sfumato verify ")
    command = SHELL + line.removeprefix("verify it with: ")
    words = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True, timeout=60).stdout
    return run(*words.split("\0")[:-1])


@given(st.lists(st.text('a,"= \n', max_size=5), min_size=1, max_size=4).filter(lambda found: found != [""]))
def test_names_come_back_as_they_were_as_flag(found: list[str]) -> None:
    assert names([as_flag(found)]) == [found]


QUOTED = '"' + AGE.replace('"', '""') + '","' + ZIP + '"'
ASKED = ("--quasi", QUOTED, "--sensitive", ILL, "--k", "4", "--search", "mondrian")
DIVERSE = ("--require", f"entropy-l-diversity attribute={shlex.quote(ILL)} l=1.2")
DIVERSE += ("--require", f"t-closeness attribute={shlex.quote(ILL)} t=0.9")


@pytest.mark.parametrize(
    "to",
    [
        ("-o", "the out's"),
        ("--output-table", TABLE, "-o", "the out's"),
        ("--output-table", TABLE),
    ],
)
def test_a_database(run: Run, address: str, to: tuple[str, ...]) -> None:
    done = run("anonymize", "--input", address, "--table", "crowd", *ASKED, *DIVERSE, *to)
    assert done.code == 0, done.err
    found = pasted(done.out, run)
    assert found.code == 0, found.err + found.out
    for model in ("k-anonymity", "entropy-l-diversity", "t-closeness"):
        assert f"holds  {model}" in found.out


def test_a_file(run: Run, tmp_path: Path) -> None:
    frame().write_parquet(tmp_path / "in.parquet")
    for more in ((), ("--stream",)):
        done = run("anonymize", "in.parquet", *more, *ASKED, *DIVERSE, "-o", "the out's", "--overwrite")
        assert done.code == 0, done.err
        found = pasted(done.out, run)
        assert found.code == 0, found.err + found.out


@pytest.mark.parametrize(
    "asked_for", ["alpha-k 0.9 4 attribute={} flu cold", "t-closeness attribute={} t=0.9 reference=flu=1"]
)
@pytest.mark.parametrize("address", ["duckdb"], indirect=True)
def test_what_no_line_can_say_needs_a_folder(run: Run, address: str, asked_for: str) -> None:
    guarded = ("--require", asked_for.format(shlex.quote(ILL)))
    asked = ("anonymize", "--input", address, "--table", "crowd", *ASKED[:4], *ASKED[6:])
    done = run(*asked, *guarded, "--output-table", "r")
    assert done.code == 0, done.err
    last = done.out.splitlines()[-1]
    assert last.startswith("to verify it later, release it with -o FOLDER too")
    assert "flu" not in done.out
    done = run(*asked, *guarded, "--output-table", "r", "-o", "out", "--overwrite")
    assert done.code == 0, done.err
    assert "flu" not in done.out
    found = pasted(done.out, run)
    assert found.code == 0, found.err + found.out
