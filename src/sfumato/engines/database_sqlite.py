"""Columns of SQLite, where every cell has a type of its own: the type of a column is that of all its values."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from sfumato.engines.database_columns import Column, as_text, column
from sfumato.engines.database_dialect import Dialect, literal, quoted
from sfumato.engines.database_link import Link

KINDS = ("integer", "real", "text", "blob")
EXACT = 1 << 53  # up to here whole numbers are exact as floating point numbers


def sqlite_columns(link: Link, dialect: Dialect, schema: str, table: str) -> Sequence[Column]:
    """The columns of a table, from its declaration and one look at all values."""
    told = link.rows(
        f"SELECT name, type FROM pragma_table_xinfo({literal(table)}, {literal(schema)}) WHERE hidden <> 1 ORDER BY cid"
    )
    asked = []
    for name, _ in told:
        x = quoted(name)
        asked += [f"COALESCE(MAX(typeof({x}) = '{kind}'), 0)" for kind in KINDS]
        asked += [f"COALESCE({of}(CASE WHEN typeof({x}) = 'integer' THEN {x} END), 0)" for of in ("MIN", "MAX")]
    if not told:
        return []
    each = len(KINDS) + 2
    # some hundreds of columns at a time: a statement has a limit
    found: list[int] = []
    for low in range(0, len(asked), 40 * each):
        part = ", ".join(asked[low : low + 40 * each])
        found += link.rows(f"SELECT {part} FROM {quoted(schema)}.{quoted(table)}")[0]
    return [
        _column(name, declared or "", found[i * each : (i + 1) * each], dialect)
        for i, (name, declared) in enumerate(told)
    ]


def _column(name: str, declared: str, found: Sequence[int], dialect: Dialect) -> Column:
    """A column by its declared type, which kinds of values it has, and its least and greatest whole number."""
    whole, real, text, blob, low, high = found
    word, declared = declared.upper(), _written(declared)
    if blob:
        return Column(name, pl.Object(), pl.Object(), dialect, declared=declared)
    if not (whole or real or text):  # no value at all: as declared
        whole, real = int("INT" in word or "BOOL" in word), int(any(w in word for w in ("REAL", "FLOA", "DOUB")))
        text = int(not (whole or real))
    if "BOOL" in word and whole and not (real or text) and low >= 0 and high <= 1:
        return Column(name, pl.Boolean(), pl.Int64(), dialect, declared=declared)
    if text and not (whole or real):
        return column(name, dialect, pl.String(), declared)
    if whole and not (real or text):
        return column(name, dialect, pl.Int64(), declared)
    if not text and low >= -EXACT and high <= EXACT:
        number = "CAST({} AS REAL)"
        return Column(name, pl.Float64(), pl.Float64(), dialect, number, "REAL" if whole else declared, number)
    # values of several types in one column have one meaning in common: their text
    return as_text(name, dialect, pl.String(), "TEXT", "CAST({} AS TEXT)")


def _written(declared: str) -> str:
    """A declared type as it may stand in a statement. SQLite keeps any text as one: then its affinity stands for it.

    >>> _written("DECIMAL(10,2)"), _written("TEXT); DROP TABLE x; --")
    ('DECIMAL(10,2)', 'TEXT')
    """
    if re.fullmatch(r"[A-Za-z]+( ?\(\d+(, ?\d+)?\))?", declared):
        return declared
    word = declared.upper()
    kinds = {"INTEGER": ("INT",), "TEXT": ("CHAR", "CLOB", "TEXT"), "": ("BLOB",), "REAL": ("REAL", "FLOA", "DOUB")}
    found = [kind for kind, parts in kinds.items() if any(part in word for part in parts)]
    return found[0] if found else "NUMERIC" if word else ""
