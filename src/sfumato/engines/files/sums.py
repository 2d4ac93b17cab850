"""Sums of a table in files: by DuckDB, which reads Parquet itself and takes other files in batch by batch."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from sfumato.engines.protocol import Sums, SumsAsked
from sfumato.engines.sql.table import Database

if TYPE_CHECKING:
    from sfumato.engines.files.table import FileTable

ROWS = "rows"


@contextmanager
def sums_of_files(table: FileTable, asked: SumsAsked) -> Iterator[Sums | None]:
    """Sums of the rows of files; None where DuckDB is not installed."""
    try:
        import duckdb
    except ImportError:
        yield None
        return
    named = (asked.value, asked.weight, asked.contributor, asked.request)
    columns = list(dict.fromkeys([*asked.by, *(name for name in named if name is not None)]))
    with tempfile.TemporaryDirectory(prefix="sfumato-") as folder:
        connection = duckdb.connect(str(Path(folder) / "rows.duckdb"))
        try:
            if not _reads_itself(connection, table, columns):
                for i, frame in enumerate(table.batches(columns)):
                    connection.register("batch", frame.to_arrow())
                    what = f"CREATE TABLE {ROWS} AS" if i == 0 else f"INSERT INTO {ROWS}"
                    connection.execute(f"{what} SELECT * FROM batch")
                    connection.unregister("batch")
            with Database(connection, ROWS).sums(asked) as found:
                yield found
        finally:
            with suppress(Exception):  # what the driver says now helps nobody
                connection.close()


def _reads_itself(connection: Any, table: FileTable, columns: Sequence[str]) -> bool:
    """Whether DuckDB reads the files as we do: Parquet with plain columns, none of which its folders hold."""
    if table.needed or not all(one.path.suffix == ".parquet" for one in table.files):
        return False
    plain = (pl.String, pl.Boolean, pl.Date)
    schema = table.schema()
    if not all(schema[name] in plain or schema[name].is_numeric() for name in columns):
        return False
    try:
        stored = pl.read_parquet_schema(table.files[0].path)
        found = connection.read_parquet([str(one.path) for one in table.files], hive_partitioning=False)
    except Exception:
        return False
    if not {*columns} <= {*stored} or not {*columns} <= {*found.columns}:
        return False
    found.create_view(ROWS)
    return True
