"""Stores: where the rows of a ledger are, a file of SQLite or a database of PostgreSQL, behind one protocol."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sfumato.core.parameters import path_of
from sfumato.dp.stores.protocol import LedgerStore
from sfumato.errors import ReadError

SCHEMES = ("postgresql://", "postgres://")

__all__ = ["LedgerStore", "open_store"]


def open_store(place: Any, make: bool = True) -> LedgerStore:
    """The store of a ledger: an address of PostgreSQL, the path of a file, or None for one in memory. `make`: whether
    one that is not there is made; else it is a ReadError.
    """
    if isinstance(place, str) and place.startswith(SCHEMES):
        from sfumato.dp.stores.postgres import PostgresStore

        return PostgresStore(place, make)
    from sfumato.dp.stores.sqlite import SqliteStore

    path: Path | None = None if place is None else path_of(place)
    if path is not None and not make and not path.is_file():
        raise ReadError(f"{path} is no ledger of Sfumato", hint="is its name right?")
    return SqliteStore(path, make)
