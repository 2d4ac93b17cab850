"""From what names a database to connections of our own, its tables, and the rights that a user lacks there."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

import polars as pl

from sfumato.engines.atomic import temporary
from sfumato.engines.sql.link import AdbcLink, DuckLink, Link, driver_errors, remove_spill, spill_folder
from sfumato.engines.sql.types import (
    DIALECTS,
    DUCKDB,
    POSTGRESQL,
    SQLITE,
    SqlColumn,
    SqlDialect,
    column,
    duckdb_column,
    literal,
    postgres_column,
    quoted,
    sqlite_columns,
)
from sfumato.errors import MissingExtra, OutputError, PolicyError, ReadError, did_you_mean

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
            with driver_errors(ReadError, f"{self.shown} cannot be read", self.disks):
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
    with driver_errors(ReadError, "the connection cannot be used"):
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
    with driver_errors(ReadError, f"{shown} cannot be opened"):
        try:
            return connect()
        except Exception as error:
            why = next((what for words, what in REFUSED.items() if any(word in str(error) for word in words)), None)
            if why is None:
                raise
            raise ReadError(f"{shown} {why[0]}", hint=why[1]) from None


def lacking(
    link: Link, dialect: SqlDialect, source: TableName, target: TableName | None = None, replaces: bool = False
) -> str:
    """The rights that reading a table, and making another, need and that are not there; empty where all are."""
    if dialect.name != "postgresql":
        return ""
    schema, table = literal(source.within[-1]), literal(source.name)
    asked = {
        f'USAGE on the schema "{source.within[-1]}"': f"has_schema_privilege({schema}, 'USAGE')",
        f'SELECT on the table "{source.name}"': _of_table(schema, table, "has_table_privilege(c.oid, 'SELECT')"),
        "TEMPORARY on the database": "has_database_privilege(current_database(), 'TEMPORARY')",
    }
    if target is not None:
        within = literal(target.within[-1])
        asked[f'CREATE on the schema "{target.within[-1]}"'] = f"has_schema_privilege({within}, 'CREATE')"
    if target is not None and replaces:
        owner = _of_table(within, literal(target.name), "pg_has_role(c.relowner, 'USAGE')")
        asked[f'that of the owner of the table "{target.name}"'] = owner
    found = link.rows("SELECT " + ", ".join(f"COALESCE({test}, false)" for test in asked.values()))[0]
    return ", ".join(right for right, has in zip(asked, found, strict=True) if not has)


def _of_table(schema: str, table: str, test: str) -> str:
    return (
        f"(SELECT {test} FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
        f"WHERE n.nspname = {schema} AND c.relname = {table})"
    )


def refuse_unwritable(files: Sequence[Path]) -> None:
    """Raise an OutputError where a file of a database, or the folder that its journal goes to, may not be written."""
    for file in files:
        for place, what in ((file, "the file"), (file.parent, "its folder, where the database writes its journal,")):
            if not os.access(place, os.W_OK):
                raise OutputError(f"a table cannot be made in {file}: {what} may not be written by this user")


TABLE = "table"
STORED = (TABLE, "partitioned table", "materialized view")  # which have rows of their own
KINDS = {  # of PostgreSQL
    "r": TABLE,
    "p": "partitioned table",
    "v": "view",
    "m": "materialized view",
    "f": "foreign table",
    "i": "index",
    "S": "sequence",
    "c": "type",
}


@dataclass(frozen=True)
class TableName:
    """What stands under a name: a table, a view, or something else."""

    within: tuple[str, ...]  # the schema, below the database where there are several
    name: str
    kind: str
    where: str = ""  # what is true of those of its rows, named t, that are read

    @property
    def written(self) -> str:
        """The whole name, as it is written in a statement."""
        return ".".join(quoted(part) for part in (*self.within, self.name))

    @property
    def rows(self) -> str:
        """The rows that are read, as they are written after FROM and before an alias."""
        return f"(SELECT t.* FROM {self.written} t WHERE {self.where})" if self.where else self.written


def tables(link: Link, dialect: SqlDialect, schema: str | None) -> list[TableName]:
    """All that can be read in a schema, or in those that are looked through where none is named; nearest first."""
    if dialect.name == "duckdb":
        where = "current_schema()" if schema is None else literal(schema)
        found = link.rows(
            "SELECT database_name, schema_name, table_name, 'table' FROM duckdb_tables() "
            f"WHERE NOT temporary AND database_name = current_database() AND schema_name = {where} UNION ALL "
            "SELECT database_name, schema_name, view_name, 'view' FROM duckdb_views() "
            f"WHERE NOT temporary AND NOT internal AND database_name = current_database() AND schema_name = {where}"
        )
        return [TableName((database, within), name, kind) for database, within, name, kind in found]
    if dialect.name == "postgresql":
        near = "n.nspname = ANY (current_schemas(false))" if schema is None else f"n.nspname = {literal(schema)}"
        found = link.rows(
            "SELECT CAST(n.nspname AS text), CAST(c.relname AS text), CAST(c.relkind AS text) "
            "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
            f"WHERE {near} ORDER BY array_position(current_schemas(false), n.nspname), c.relname"
        )
        return [TableName((within,), name, KINDS.get(kind, "something else")) for within, name, kind in found]
    if dialect.name == "sqlite":
        within = schema or "main"
        found = link.rows(f"SELECT name, type FROM {quoted(within)}.sqlite_master WHERE type IN ('table', 'view')")
        return [TableName((within,), name, kind) for name, kind in found]
    found = link.listed(schema) if isinstance(link, AdbcLink) else []
    return [TableName(() if schema is None else (schema,), name, kind) for name, kind in found]


def schemas(link: Link, dialect: SqlDialect) -> list[str]:
    """The schemas there are."""
    asked = {
        "duckdb": "SELECT schema_name FROM duckdb_schemas() WHERE database_name = current_database()",
        "postgresql": "SELECT CAST(nspname AS text) FROM pg_catalog.pg_namespace",
        "sqlite": "SELECT name FROM pragma_database_list",
    }.get(dialect.name)
    return [] if asked is None else [name for (name,) in link.rows(asked)]


def split(link: Link, dialect: SqlDialect, name: str, schema: str | None) -> tuple[str | None, str]:
    """The schema and the name: "clinic.admissions" is a table of the schema "clinic" where there is such a schema."""
    within, dot, rest = name.partition(".")
    if schema is None and dot and rest and any(dialect.same(within, known) for known in schemas(link, dialect)):
        return within, rest
    return schema, name


def find(link: Link, dialect: SqlDialect, name: str, schema: str | None) -> TableName | None:
    """What stands under a name: as a whole first, then with a schema before its dot."""
    for within, short in dict.fromkeys([(schema, name), split(link, dialect, name, schema)]):
        known = tables(link, dialect, within)
        exact = [t for t in known if t.name == short] or [t for t in known if dialect.same(t.name, short)]
        if exact:
            return exact[0]
    return None


def table(link: Link, dialect: SqlDialect, name: str, schema: str | None, shown: str) -> TableName:
    """A table or view to read, or a ReadError with those that have such a name."""
    found = find(link, dialect, name, schema)
    if found is None or found.kind in ("index", "sequence", "type"):
        within, short = split(link, dialect, name, schema)
        known = [t.name for t in tables(link, dialect, within) if t.kind not in ("index", "sequence", "type")]
        where = f' in schema "{within}"' if within else ""
        raise ReadError(f'{shown} has no table "{short}"{where}', hint=did_you_mean(short, known))
    return found


def columns(link: Link, dialect: SqlDialect, of: TableName) -> Sequence[SqlColumn]:
    """The columns of a table, in order."""
    if dialect.name == "duckdb":
        return [duckdb_column(name, kind, dialect) for name, kind, *_ in link.rows(f"DESCRIBE {of.written}")]
    if dialect.name == "postgresql":
        found = link.rows(
            "SELECT CAST(a.attname AS text), CAST(b.typname AS text), CAST(b.typtype AS text), "
            "CAST(CASE WHEN t.typtype = 'd' THEN t.typtypmod ELSE a.atttypmod END AS int), "
            "format_type(a.atttypid, a.atttypmod) FROM pg_catalog.pg_attribute a "
            "JOIN pg_catalog.pg_type t ON t.oid = a.atttypid "
            "JOIN pg_catalog.pg_type b ON b.oid = CASE WHEN t.typtype = 'd' THEN t.typbasetype ELSE t.oid END "
            f"WHERE a.attrelid = CAST({literal(of.written)} AS regclass) AND a.attnum > 0 AND NOT a.attisdropped "
            "ORDER BY a.attnum"
        )
        return [postgres_column(name, base, kind, more, said, dialect) for name, base, kind, more, said in found]
    if dialect.name == "sqlite":
        return sqlite_columns(link, dialect, of.within[0], of.name)
    empty = next(iter(link.frames(f"SELECT * FROM {of.written} WHERE 1 = 0")))
    return [column(name, dialect, pl.String() if t == pl.Null else t) for name, t in empty.schema.items()]
