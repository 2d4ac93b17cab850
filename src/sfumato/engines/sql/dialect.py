"""What databases say differently: one value per kind of database."""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_lowercase, ascii_uppercase

from sfumato.engines.protocol import RESERVED_PREFIX

LOWER = str.maketrans(ascii_uppercase, ascii_lowercase)  # databases that fold names fold these letters only


@dataclass(frozen=True)
class SqlDialect:
    """How a kind of database names, compares and samples.

    `same_text` compares texts letter by letter, whatever the collation of their column. `nan` is true of a number that
    is not one, `zero` makes either zero the positive one. `hashed` is a number of 64 bits from the MD5 of a text.
    `folds`: names that differ in case only are one name. `guesses`: the driver takes the type of a column from its
    first rows. `one_snapshot` begins a transaction that sees all tables as they are at one moment; None: nobody knows.
    """

    name: str
    text: str = "VARCHAR"
    same_text: str = "CAST({} AS VARCHAR)"
    nan: str | None = "{0} <> {0}"
    zero: str = "ABS({})"
    inner: str = "JOIN"
    temporary: str = ""
    start: tuple[str, ...] = ()
    sample: str | None = None
    hashed: str | None = None
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
    temporary="temp.",
    start=("SET TimeZone = 'UTC'",),
    sample="WHERE hash(rowid) % {step} = 0",
    hashed="md5_number_lower({})",
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
