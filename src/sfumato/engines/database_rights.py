"""Which right a user lacks in a database, by name: what a server says of it may be in any language."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from sfumato.engines.database_dialect import Dialect, literal
from sfumato.engines.database_link import Link
from sfumato.engines.database_tables import Named
from sfumato.errors import OutputError


def lacking(link: Link, dialect: Dialect, source: Named, target: Named | None = None, replaces: bool = False) -> str:
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
