"""Places for a ledger: a file of SQLite, or a schema of its own in a real PostgreSQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.postgres import run


@dataclass(frozen=True)
class LedgerPlace:
    """Where a ledger is, and a way to change it behind its back."""

    name: str
    address: Any
    execute: Callable[[str], Any]

    def tamper(self, *statements: str) -> None:
        """Run statements as somebody who owns the database and takes the triggers away."""
        off = "ALTER TABLE ledger_entries DISABLE TRIGGER ALL"
        if self.name == "sqlite":
            off = "DROP TRIGGER IF EXISTS never_changed; DROP TRIGGER IF EXISTS never_dropped"
        self.execute("; ".join((off, *statements)))


def file_place(folder: Path) -> LedgerPlace:
    """A file of SQLite."""
    path = folder / "ledger.sqlite"

    def execute(script: str) -> None:
        db = sqlite3.connect(path)
        try:
            for statement in script.split(";"):
                db.execute(statement)
            db.commit()
        finally:
            db.close()

    return LedgerPlace("sqlite", path, execute)


def server_place(server: str) -> LedgerPlace:
    """A schema of a PostgreSQL."""
    schema = f"l{uuid4().hex}"
    run(server, f"CREATE SCHEMA {schema}")
    address = f"{server}?options=-csearch_path%3D{schema}"
    return LedgerPlace("postgres", address, lambda script: run(address, script))


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> LedgerPlace:
    """Both, one after the other."""
    if request.param == "sqlite":
        return file_place(tmp_path)
    return server_place(request.getfixturevalue("postgres"))
