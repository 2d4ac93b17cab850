"""Which right a user lacks in a database, by name: what a server says of it may be in any language."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from sfumato.engines.sql.dialect import SqlDialect, literal, quoted
from sfumato.engines.sql.link import AdbcLink, Link
from sfumato.engines.sql.types import SqlColumn, column, duckdb_column, postgres_column, sqlite_columns
from sfumato.errors import OutputError, ReadError, did_you_mean


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

    @property
    def written(self) -> str:
        """The whole name, as it is written in a statement."""
        return ".".join(quoted(part) for part in (*self.within, self.name))


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
