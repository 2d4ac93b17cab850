"""Which right is missing is said by its name, before the work where that can be known."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import sfumato as sf
from sfumato.engines.sql.table import Database
from sfumato.errors import OutputError, ReadError
from tests import postgres as server
from tests.disks import Disk

pytestmark = pytest.mark.slow

ASKED: dict[str, Any] = {"quasi": ["age"], "rest": "release", "require": sf.KAnonymity(2), "search": "mondrian"}


@pytest.fixture
def guest(postgres: str) -> Iterator[str]:
    """The address of a user with no rights but to connect."""
    password = Path(os.environ["PGPASSFILE"]).read_text().strip().rpartition(":")[2]
    drop = "DROP SCHEMA IF EXISTS ward CASCADE; DROP SCHEMA IF EXISTS out CASCADE; DROP ROLE IF EXISTS guest"
    server.run(
        postgres,
        f"{drop}; CREATE ROLE guest LOGIN PASSWORD '{password}'; CREATE SCHEMA ward; CREATE SCHEMA out; "
        "CREATE TABLE ward.people AS SELECT i % 5 AS age FROM generate_series(1, 100) i; "
        "REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC",
    )
    yield postgres.replace("sfumato@", "guest@")
    server.run(postgres, "GRANT TEMPORARY ON DATABASE postgres TO PUBLIC; DROP OWNED BY guest CASCADE; " + drop)


@pytest.mark.postgres
def test_rights_of_postgresql(guest: str, postgres: str, tmp_path: Path) -> None:
    def refused(to: Any, kind: type[Exception], *rights: str) -> None:
        with pytest.raises(kind) as raised:
            sf.anonymize(Database(guest, "ward.people"), to=to, **ASKED)
        assert "lacks the right" in str(raised.value)
        for right in ("USAGE on", "SELECT on", "TEMPORARY on", "CREATE on", "that of the owner"):
            assert any(right in given for given in rights) == (right in str(raised.value)), str(raised.value)
        for given in rights:
            assert given in str(raised.value)

    names = 'USAGE on the schema "ward"', 'SELECT on the table "people"', "TEMPORARY on the database"
    create = 'CREATE on the schema "out"'
    refused(tmp_path / "out", ReadError, *names)
    server.run(postgres, "GRANT USAGE ON SCHEMA ward TO guest")
    refused(tmp_path / "out", ReadError, *names[1:])
    server.run(postgres, "GRANT SELECT ON ward.people TO guest")
    refused(tmp_path / "out", ReadError, *names[2:])
    refused(sf.Table("out.kept"), OutputError, names[2], create)
    server.run(postgres, "GRANT TEMPORARY ON DATABASE postgres TO guest")
    assert sf.anonymize(Database(guest, "ward.people"), to=tmp_path / "out", **ASKED).verification.holds
    refused(sf.Table("out.kept"), OutputError, create)
    server.run(postgres, "GRANT USAGE, CREATE ON SCHEMA out TO guest; CREATE TABLE out.kept AS SELECT 1 AS age")
    refused(sf.Table("out.kept", overwrite=True), OutputError, 'that of the owner of the table "kept"')
    release = sf.anonymize(Database(guest, "ward.people"), to=sf.Table("out.mine"), **ASKED)
    assert release.verification.holds


@pytest.mark.parametrize("kind", ["duckdb", "sqlite"])
@pytest.mark.parametrize("what", ["the file", "its folder"])
def test_files_that_may_not_be_written(kind: str, what: str, disk: Disk, tmp_path: Path) -> None:
    folder = disk("8m")
    path = folder / f"in.{kind}"
    if kind == "duckdb":
        with duckdb.connect(str(path)) as duck:
            duck.execute("CREATE TABLE people AS SELECT range % 5 AS age FROM range(100)")
    else:
        lite = sqlite3.connect(path)
        lite.execute("CREATE TABLE people (age INTEGER)")
        lite.executemany("INSERT INTO people VALUES (?)", [(i % 5,) for i in range(100)])
        lite.commit()
        lite.close()
    if what == "its folder":  # a file that may be written, in a folder that may not
        other = disk("1m") / path.name
        other.touch()
        subprocess.run(["mount", "--bind", path, other], check=True, timeout=20)
        path = other
    subprocess.run(["mount", "-o", "remount,ro", path.parent], check=True, timeout=20)
    with pytest.raises(OutputError, match=f"{what}.* may not be written") as raised:
        sf.anonymize(Database(path, "people"), to=sf.Table("kept"), **ASKED)
    assert str(path) in str(raised.value)
    # and a release into a folder needs no more than reading
    assert sf.anonymize(Database(path, "people"), to=tmp_path / "out", **ASKED).verification.holds
