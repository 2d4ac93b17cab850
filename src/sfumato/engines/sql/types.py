"""What databases say differently, and the types of their columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_lowercase, ascii_uppercase

import polars as pl

from sfumato.engines.protocol import RESERVED_PREFIX, refuse_names
from sfumato.engines.sql.link import Link
from sfumato.errors import ColumnError, ReadError

LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)  # databases that fold names fold these letters only


@dataclass(frozen=True)
class SqlDialect:
    """How a kind of database names, compares and samples.

    `same_text` compares texts letter by letter, whatever the collation of their column. `nan` is true of a number that
    is not one, `zero` makes either zero the positive one; `below` sorts both, by their value and text. `hashed` is a
    number of 64 bits from the MD5 of a text, `most` the largest value of a group by its rank, without sorting it.
    `folds`: names that differ in case only are one name. `guesses`: the driver takes the type of a column from its
    first rows. `one_snapshot` begins a transaction that sees all tables as they are at one moment; None: nobody knows.
    """

    name: str
    text: str = "VARCHAR"
    same_text: str = "CAST({} AS VARCHAR)"
    nan: str | None = "{0} <> {0}"
    zero: str = "ABS({})"
    below: str = "CASE WHEN {0} = 0 THEN {1} END"
    inner: str = "JOIN"
    temporary: str = ""
    start: tuple[str, ...] = ()
    sample: str | None = None
    hashed: str | None = None
    most: str | None = None
    folds: bool = False
    guesses: bool = False
    indexes: bool = False
    analyzes: bool = False
    one_snapshot: tuple[str, ...] | None = None

    def staged(self, number: int) -> str:
        """The name of a temporary table, as it is written in a statement."""
        return self.temporary + quoted(f"{RESERVED_PREFIX}{number}")

    def same(self, one: str, other: str) -> bool:
        """Whether two names are those of one table."""
        return one.translate(LOWER) == other.translate(LOWER) if self.folds else one == other


DUCKDB = SqlDialect(
    "duckdb",
    same_text='CAST({} AS VARCHAR) COLLATE "binary"',
    nan="isnan({0})",
    below="NOT signbit({0})",
    temporary="temp.",
    start=("SET TimeZone = 'UTC'",),
    sample="WHERE hash(rowid) % {step} = 0",
    hashed="CAST(md5_number({}) >> 64 AS UBIGINT)",  # md5_number_lower takes three times as long
    most="list_extract(max({what}, {most}), {rank})",
    folds=True,
    one_snapshot=(),
)
POSTGRESQL = SqlDialect(
    "postgresql",
    text="text",
    same_text='CAST({} AS text) COLLATE "C"',
    nan="{0} = 'NaN'",
    temporary="pg_temp.",
    start=(
        # what is printed must not depend on the settings of a user, nor a name on what a schema shadows
        "SELECT set_config('TimeZone', 'UTC', false), set_config('DateStyle', 'ISO, YMD', false), "
        "set_config('extra_float_digits', '1', false), set_config('standard_conforming_strings', 'on', false), "
        "set_config('synchronize_seqscans', 'off', false), set_config('client_encoding', 'UTF8', false)",
        # a search may take long, in the transaction that has counted and will release
        "SELECT set_config('idle_in_transaction_session_timeout', '0', false)",
        # a server notices that its client was killed
        "SELECT set_config('client_connection_check_interval', '2s', false) "
        "WHERE current_setting('client_connection_check_interval', true) IS NOT NULL",
    ),
    sample="TABLESAMPLE SYSTEM ({percent}) REPEATABLE (6)",
    hashed="CAST(CAST('x' || substr(md5({}), 1, 16) AS bit(64)) AS bigint)",
    analyzes=True,
    one_snapshot=("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ",),
)
SQLITE = SqlDialect(
    "sqlite",
    text="TEXT",
    same_text="CAST({} AS TEXT) COLLATE BINARY",
    nan=None,  # it has none: what would be one is null
    zero="({} + 0.0)",
    inner="CROSS JOIN",  # which it runs in the order that it is written in
    temporary="temp.",
    start=("PRAGMA busy_timeout = 10000",),
    folds=True,
    guesses=True,
    indexes=True,
    one_snapshot=(),
)
DIALECTS = {dialect.name: dialect for dialect in (DUCKDB, POSTGRESQL, SQLITE)}


def quoted(name: str) -> str:
    """A name as it is written in a statement, whatever letters it has.

    >>> quoted('a "b"')
    '"a ""b\"""'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A name as a text in a statement: for look-ups in a catalogue, never for a value of a table."""
    return "'" + text.replace("'", "''") + "'"


KINDS = ("integer", "real", "text", "blob")
EXACT = 1 << 53  # up to here whole numbers are exact as floating point numbers


def sqlite_columns(link: Link, dialect: SqlDialect, schema: str, table: str) -> Sequence[SqlColumn]:
    """The columns of a table, from its declaration and one look at all values."""
    declared_columns = link.rows(
        f"SELECT name, type FROM pragma_table_xinfo({literal(table)}, {literal(schema)}) WHERE hidden <> 1 ORDER BY cid"
    )
    asked = []
    for name, _ in declared_columns:
        x = quoted(name)
        asked += [f"COALESCE(MAX(typeof({x}) = '{kind}'), 0)" for kind in KINDS]
        asked += [f"COALESCE({of}(CASE WHEN typeof({x}) = 'integer' THEN {x} END), 0)" for of in ("MIN", "MAX")]
    if not declared_columns:
        return []
    each = len(KINDS) + 2
    # some hundreds of columns at a time: a statement has a limit
    found: list[int] = []
    for low in range(0, len(asked), 40 * each):
        part = ", ".join(asked[low : low + 40 * each])
        found += link.rows(f"SELECT {part} FROM {quoted(schema)}.{quoted(table)}")[0]
    return [
        _column(name, declared or "", found[i * each : (i + 1) * each], dialect)
        for i, (name, declared) in enumerate(declared_columns)
    ]


def _column(name: str, declared: str, found: Sequence[int], dialect: SqlDialect) -> SqlColumn:
    """A column by its declared type, which kinds of values it has, and its least and greatest whole number."""
    whole, real, text, blob, low, high = found
    word, declared = declared.upper(), _written(declared)
    if blob:
        return SqlColumn(name, pl.Object(), pl.Object(), dialect, declared=declared)
    if not (whole or real or text):  # no value at all: as declared
        whole, real = int("INT" in word or "BOOL" in word), int(any(w in word for w in ("REAL", "FLOA", "DOUB")))
        text = int(not (whole or real))
    if "BOOL" in word and whole and not (real or text) and low >= 0 and high <= 1:
        return SqlColumn(name, pl.Boolean(), pl.Int64(), dialect, declared=declared)
    if text and not (whole or real):
        return column(name, dialect, pl.String(), declared)
    if whole and not (real or text):
        return column(name, dialect, pl.Int64(), declared)
    if not text and low >= -EXACT and high <= EXACT:
        number = "CAST({} AS REAL)"
        return SqlColumn(name, pl.Float64(), pl.Float64(), dialect, number, "REAL" if whole else declared, number)
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


LAST = 95_000_000  # days from 1970 to the last that can be printed: databases know later ones, and infinite ones


@dataclass(frozen=True)
class SqlColumn:
    """A column of a table.

    `dtype` is its type in memory, `travels` that of the values as they come and go; `cast` makes them so in the
    database. `declared` is its type there; `alike` gives equal values one form in it. Values that are `not_known` are
    missing.
    """

    name: str
    dtype: pl.DataType
    travels: pl.DataType
    dialect: SqlDialect = field(repr=False)
    cast: str = "{}"
    declared: str = ""
    alike: str = "{}"
    not_known: str | None = None

    def raw(self) -> str:
        """The column of the table, whose alias is t."""
        return f"t.{quoted(self.name)}"

    def value(self) -> str:
        """The value as it travels."""
        return self.cast.format(self.raw())

    def plain(self) -> str:
        """The value in its plain form, as it travels."""
        value = self.value()
        if self.travels.is_float():
            return self._number(value)
        missing = self.not_known or ("" if self.travels == pl.String else None)
        return value if missing is None else f"NULLIF({value}, '{missing}')"

    def kept(self, plain: bool) -> str:
        """The value as it stands in a released table: in its own type there, and in its plain form where asked."""
        if not plain:
            return self.raw()
        value = self.alike.format(self.raw())
        if self.dtype.is_float():
            return self._number(value)
        if self.not_known:
            return f"NULLIF({value}, '{self.not_known}')"
        return f"CASE WHEN {self.value()} = '' THEN NULL ELSE {value} END" if self.dtype == pl.String else value

    def _number(self, value: str) -> str:
        nan = "" if self.dialect.nan is None else f"WHEN {self.dialect.nan.format(value)} THEN NULL "
        return f"CASE {nan}WHEN {value} = 0 THEN {self.dialect.zero.format(value)} ELSE {value} END"

    def sent(self, values: pl.Series) -> pl.Series:
        """Values of memory as they travel."""
        return values.cast(self.travels)

    def come(self, values: pl.Series) -> pl.Series:
        """Values that travelled as they are in memory."""
        try:
            found = values.cast(self.dtype)
        except pl.exceptions.PolarsError:  # its message may hold cells
            raise ReadError(f'column "{self.name}" has values that do not fit its type') from None
        if isinstance(self.dtype, pl.Date | pl.Datetime):
            far = found.to_physical().cast(pl.Int64)
            last = min(LAST * _a_day(self.dtype), 2**63 - 2)
            if bool(((far > last) | (far < -last)).any()):
                raise ColumnError(
                    f'column "{self.name}" holds dates that are infinite, or too far away to be printed',
                    hint="make them missing first",
                )
        return found.alias(self.name)


def _a_day(dtype: pl.DataType) -> int:
    """What a day is in the numbers that dates or times are stored as."""
    return 86_400 * {"ms": 10**3, "us": 10**6, "ns": 10**9}[dtype.time_unit] if isinstance(dtype, pl.Datetime) else 1


def frame_of(found: pl.DataFrame, columns: Sequence[SqlColumn]) -> pl.DataFrame:
    """Rows that travelled, as they are in memory."""
    return pl.DataFrame([c.come(values) for c, values in zip(columns, found.iter_columns(), strict=True)])


def named(columns: Sequence[SqlColumn]) -> dict[str, SqlColumn]:
    """Columns by their names, which an engine must take for names."""
    refuse_names(c.name for c in columns)
    return {c.name: c for c in columns}


def column(name: str, dialect: SqlDialect, dtype: pl.DataType, declared: str = "") -> SqlColumn:
    """A column whose values travel as they are; text is compared letter by letter."""
    cast = dialect.same_text if dtype == pl.String else "{}"
    return SqlColumn(name, dtype, dtype, dialect, cast, declared)


def as_text(
    name: str,
    dialect: SqlDialect,
    dtype: pl.DataType,
    declared: str = "",
    alike: str = "{}",
    not_known: str | None = None,
) -> SqlColumn:
    """A column whose values travel as text."""
    return SqlColumn(name, dtype, pl.String(), dialect, dialect.same_text.format(alike), declared, alike, not_known)


SIMPLE: Mapping[str, pl.DataType] = {
    "BOOLEAN": pl.Boolean(),
    "TINYINT": pl.Int8(),
    "SMALLINT": pl.Int16(),
    "INTEGER": pl.Int32(),
    "BIGINT": pl.Int64(),
    "UTINYINT": pl.UInt8(),
    "USMALLINT": pl.UInt16(),
    "UINTEGER": pl.UInt32(),
    "UBIGINT": pl.UInt64(),
    "FLOAT": pl.Float32(),
    "DOUBLE": pl.Float64(),
    "DATE": pl.Date(),
    "TIME": pl.Time(),
    "TIME_NS": pl.Time(),
    "TIMESTAMP": pl.Datetime("us"),
    "TIMESTAMP_S": pl.Datetime("ms"),
    "TIMESTAMP_MS": pl.Datetime("ms"),
    "TIMESTAMP_NS": pl.Datetime("ns"),
    "TIMESTAMP WITH TIME ZONE": pl.Datetime("us", "UTC"),
    "VARCHAR": pl.String(),
}


def duckdb_column(name: str, declared: str, dialect: SqlDialect) -> SqlColumn:
    """A column of DuckDB by the name of its type."""
    if declared in SIMPLE:
        return column(name, dialect, SIMPLE[declared], declared)
    if digits := re.fullmatch(r"DECIMAL\((\d+),(\d+)\)", declared):
        return column(name, dialect, pl.Decimal(int(digits[1]), int(digits[2])), declared)
    if declared in ("HUGEINT", "UHUGEINT"):
        return as_text(name, dialect, pl.Int128(), declared)
    if declared in ("UUID", "JSON") or declared.startswith("ENUM("):
        return as_text(name, dialect, pl.String(), declared)
    return SqlColumn(name, pl.Object(), pl.Object(), dialect, declared=declared)


POSTGRES: Mapping[str, pl.DataType] = {
    "bool": pl.Boolean(),
    "int2": pl.Int16(),
    "int4": pl.Int32(),
    "int8": pl.Int64(),
    "float4": pl.Float32(),
    "float8": pl.Float64(),
    "date": pl.Date(),
    "time": pl.Time(),
    "timestamp": pl.Datetime("us"),
    "timestamptz": pl.Datetime("us", "UTC"),
    "text": pl.String(),
    "varchar": pl.String(),
    "bpchar": pl.String(),
    "name": pl.String(),
    "char": pl.String(),
    "citext": pl.String(),
}


def postgres_column(
    name: str, type_name: str, kind: str, modifier: int, declared: str, dialect: SqlDialect
) -> SqlColumn:
    """A column of PostgreSQL by its type, the kind of that, and its modifier."""
    if type_name in POSTGRES:
        return column(name, dialect, POSTGRES[type_name], declared)
    if type_name == "uuid" or kind == "e":
        return as_text(name, dialect, pl.String(), declared)
    if type_name == "numeric":
        digits, scale = ((modifier - 4) >> 16) & 0xFFFF, (modifier - 4) & 0x7FF
        if modifier >= 4 and digits <= 38 and scale <= digits:
            return as_text(name, dialect, pl.Decimal(digits, scale), declared, not_known="NaN")
        return as_text(name, dialect, pl.String(), declared, "trim_scale({})", not_known="NaN")
    return SqlColumn(name, pl.Object(), pl.Object(), dialect, declared=declared)
