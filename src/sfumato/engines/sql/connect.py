"""From what names a database to connections of our own. A password never stands in an address."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from sfumato.engines.disk import temporary
from sfumato.engines.sql.dialect import DIALECTS, DUCKDB, POSTGRESQL, SQLITE, SqlDialect
from sfumato.engines.sql.link import AdbcLink, DuckLink, Link, remove_spill, spill_folder, told
from sfumato.errors import MissingExtra, PolicyError, ReadError, did_you_mean

ALLOWED = (
    'the path of a DuckDB or SQLite file, "postgresql://user@host/database", "duckdb:///path", "sqlite:///path", '
    "or an open connection of duckdb or ADBC"
)
PASSWORD = "put it into ~/.pgpass, the environment variable PGPASSWORD, or a service file (PGSERVICE)"
SECRETS = {"password", "sslpassword"}
# words that drivers use where they cannot connect, and what they mean; the first that fits
REFUSED = {
    ("password authentication", "no password", "pg_hba", 'role "'): ("refuses the user or the password", PASSWORD),
    ('database "',): ("is not there", "is its name right?"),
    ("Failed to connect", "definition of service"): ("cannot be reached", "is it running, and is the address right?"),
    ("lock on file",): ("is open in another process", "close it there first"),
}


@dataclass(frozen=True)
class DatabaseAddress:
    """A database: its dialect, what may be shown of where it is, and how it is connected to (to write?)."""

    dialect: SqlDialect
    shown: str
    connect: Callable[[bool], Link]
    disks: tuple[Path, ...] = ()  # places on this machine that it writes to
    files: tuple[Path, ...] = ()  # the file that it is

    def link(self, write: bool = False) -> Link:
        """A new connection, which has to be closed."""
        link = self.connect(write)
        link.disks = self.disks
        try:
            with told(ReadError, f"{self.shown} cannot be read", self.disks):
                for statement in self.dialect.start:
                    link.run(statement)
                if isinstance(link, AdbcLink):
                    link.commit()  # a transaction that is undone takes its settings along
        except BaseException:
            link.close()
            raise
        return link


def place(source: Any) -> DatabaseAddress:
    """What a source means: a path, an address, or an open connection."""
    if isinstance(source, str | Path):
        _refuse_password(source)
        scheme, sign, rest = str(source).partition("://")
        if not sign or isinstance(source, Path):
            return _file(Path(source))
        if scheme in ("postgresql", "postgres"):
            return _postgresql(str(source))
        if scheme in ("duckdb", "sqlite"):
            return _file(_path(unquote(rest)), scheme)
        hint = did_you_mean(scheme, ["postgresql", "duckdb", "sqlite"]) or "pass an open ADBC connection"
        raise ReadError("the address begins with a word that is unknown here", got=f'"{scheme}"', hint=hint)
    kind = type(source)
    if kind.__name__ == "DuckDBPyConnection":
        # a cursor is a connection of its own: it neither sees nor ends a transaction that the user has open
        return DatabaseAddress(DUCKDB, "the database", lambda write: DuckLink(_open(source.cursor, "the database")))
    if hasattr(kind, "adbc_clone") and hasattr(kind, "adbc_get_info"):
        return _adbc(source)
    raise PolicyError("a database is named by its file, its address, or an open connection", got=kind.__name__)


def _refuse_password(source: str | Path) -> None:
    """Raise a PolicyError, which does not show it, for an address that holds or seems to hold a password."""
    text = re.sub(r"^[A-Za-z][A-Za-z0-9+.-]*://", "", str(source))
    held = re.search(r"pass(word|wd|phrase)?\s*=|:.*@", text, re.IGNORECASE | re.DOTALL)
    if held and not Path(source).exists():
        raise PolicyError("the address of a database must not hold a password", hint=PASSWORD)


def _path(rest: str) -> Path:
    """As elsewhere, three slashes begin a relative path, and four an absolute one, which three may too."""
    near = Path(rest.removeprefix("/"))
    return near if near.exists() or not rest.startswith("/") else Path(rest)


def _file(path: Path, expected: str | None = None) -> DatabaseAddress:
    if not path.is_file():
        near = [p.name for p in path.parent.iterdir() if p != path] if path.parent.is_dir() else []
        raise ReadError(f"{path} is no file", allowed=ALLOWED, hint=did_you_mean(path.name, near))
    try:
        head = _head(path.resolve(), path.stat().st_ino)
    except OSError as error:
        raise ReadError(f"{path} cannot be read: {error.strerror or type(error).__name__}") from None
    shown = path.name
    if head[8:12] == b"DUCK" and expected in (None, "duckdb"):
        return DatabaseAddress(DUCKDB, shown, lambda write: _duckdb(path, write), (path.parent,), (path,))
    if head == b"SQLite format 3\0" and expected in (None, "sqlite"):
        return DatabaseAddress(SQLITE, shown, lambda write: _sqlite(path), (path.parent, *temporary()), (path,))
    raise ReadError(f"{path} is not a file of {expected or 'DuckDB or SQLite'}", allowed=ALLOWED)


@cache
def _head(path: Path, number: int) -> bytes:
    """How a file begins. It is read once: a file of SQLite loses the locks of this process where it is closed again."""
    with path.open("rb") as file:
        return file.read(16)


def _duckdb(path: Path, write: bool) -> Link:
    try:
        import duckdb
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtra("duckdb or pyarrow", "sql") from None

    def connect() -> Any:
        if not write:
            try:
                return duckdb.connect(str(path), read_only=True)
            except duckdb.ConnectionException:
                pass  # this process has it open for writing already, and a file is open in one way only
        return duckdb.connect(str(path))

    spill = spill_folder(path)
    try:
        return DuckLink(_open(connect, path.name), spill)
    except BaseException:
        remove_spill(spill)
        raise


def _sqlite(path: Path) -> Link:
    try:
        import adbc_driver_sqlite.dbapi
        import pyarrow  # noqa: F401
    except ImportError:
        raise MissingExtra("adbc-driver-sqlite or pyarrow", "sql") from None
    uri = f"file:{quote(str(path.absolute()))}?mode=rw"  # read-only could not undo what a killed writer left
    return AdbcLink(_open(lambda: adbc_driver_sqlite.dbapi.connect(uri), path.name), _options(SQLITE))


def _postgresql(address: str) -> DatabaseAddress:
    try:
        parts = urlsplit(address)
    except ValueError:  # which quotes the address
        raise ReadError("the address cannot be read", allowed='"postgresql://user@host:5432/database"') from None
    who, _, where = parts.netloc.rpartition("@")
    given = {name.lower() for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    if ":" in who or given & SECRETS:
        raise PolicyError("the address of a database must not hold a password", hint=PASSWORD)
    host = where.rpartition(":")[0] if ":" in where.rpartition("]")[2] and "," not in where else where
    shown = f'database "{unquote(parts.path[1:])}"' if len(parts.path) > 1 else "the database"
    shown += f' at "{unquote(host)}"' if host else ""

    def connect(write: bool) -> Link:
        try:
            import adbc_driver_postgresql.dbapi
            import pyarrow  # noqa: F401
        except ImportError:
            raise MissingExtra("adbc-driver-postgresql or pyarrow", "sql") from None
        return AdbcLink(_open(lambda: adbc_driver_postgresql.dbapi.connect(address), shown))

    return DatabaseAddress(POSTGRESQL, shown, connect)


def _adbc(connection: Any) -> DatabaseAddress:
    with told(ReadError, "the connection cannot be used"):
        vendor = str(connection.adbc_get_info().get("vendor_name", "")).lower()
    dialect = DIALECTS.get(vendor) or SqlDialect(vendor or "adbc")
    # a connection of its own to the same database, so that a transaction which the user has open is left alone
    return DatabaseAddress(
        dialect,
        "the database",
        lambda write: AdbcLink(_open(connection.adbc_clone, "the database"), _options(dialect)),
    )


def _options(dialect: SqlDialect) -> dict[str, str] | None:
    return {"adbc.sqlite.query.batch_rows": str(1 << 16)} if dialect.name == "sqlite" else None


def _open(connect: Callable[[], Any], shown: str) -> Any:
    """Connect, or say why not: of what the driver says only what it means is shown."""
    with told(ReadError, f"{shown} cannot be opened"):
        try:
            return connect()
        except Exception as error:
            why = next((what for words, what in REFUSED.items() if any(word in str(error) for word in words)), None)
            if why is None:
                raise
            raise ReadError(f"{shown} {why[0]}", hint=why[1]) from None
