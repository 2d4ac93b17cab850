"""DuckDB: a table of a database file to a new table of it."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.scale.files import released
from benchmarks.scale.measured import Measured
from benchmarks.scale.table import QUASI, SEARCHES, make

ROWS = (10_000_000,)
ZIPS = {"": (1000, ("optimal", "mondrian")), ", 1.1M cells": (220, ("optimal",))}  # values of a column, and searches


def lacking() -> str | None:
    """Why this cannot be measured here, or None."""
    if importlib.util.find_spec("sfumato.engines.sql.table") is None:
        return "this version of Sfumato does not work in databases"
    return None if importlib.util.find_spec("duckdb") else "duckdb is not installed"


def run(folder: Path, sizes: Sequence[int] = ROWS) -> list[Measured]:
    """Every size and search; the table is loaded before the clock starts."""
    import duckdb

    found = []
    for rows in sizes:
        for about, (zips, searches) in ZIPS.items():
            source, file = folder / f"parquet-{rows}", folder / f"table-{rows}.duckdb"
            try:
                make(source, rows, zips=zips)
                with duckdb.connect(str(file)) as connection:
                    connection.execute(f"create table people as select * from read_parquet('{source}/*.parquet')")
                for search in searches:
                    job = {"engine": "duckdb", "source": str(file), "search": search}
                    found.append(released(job, Measured("duckdb", "DuckDB", rows, SEARCHES[search] + about)))
            finally:
                shutil.rmtree(source, ignore_errors=True)
                file.unlink(missing_ok=True)
    return found


def floor(job: Mapping[str, Any]) -> None:
    """The least that a release could do: the GROUP BY that it counts by, fetched, and a copy of the table."""
    import duckdb

    with duckdb.connect(job["source"]) as connection:
        names = ", ".join(QUASI)
        connection.sql(f"select {names}, count(*) from people group by {names}").to_arrow_table()
        connection.execute("create table copy as select * from people")
        connection.execute("drop table copy")


@contextmanager
def opened(job: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """The store of a job, and where its release goes."""
    from sfumato.engines.sql.table import Database
    from sfumato.release.destination import Table

    yield Database(job["source"], "people"), Table(f"release_{job['search']}")
