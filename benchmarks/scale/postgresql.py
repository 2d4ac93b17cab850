"""PostgreSQL: a table to a new table, on a server of its own that is started for the run and stopped after it."""

from __future__ import annotations

import importlib
import importlib.util
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.scale.files import released
from benchmarks.scale.measured import Measured
from benchmarks.scale.table import SEARCHES, make

ROWS = (10_000_000,)
TESTS = Path(__file__).resolve().parents[2] / "tests"  # where the server that the tests use is started


def lacking() -> str | None:
    """Why this cannot be measured here, or None."""
    if importlib.util.find_spec("sfumato.engines.sql.table") is None:
        return "this version of Sfumato does not work in databases"
    if not (TESTS / "postgres.py").exists():
        return "tests/postgres.py, which starts a server, is not here"
    return None if importlib.util.find_spec("adbc_driver_postgresql") else "adbc-driver-postgresql is not installed"


def run(folder: Path, sizes: Sequence[int] = ROWS) -> list[Measured]:
    """Every size and search; the table is loaded before the clock starts."""
    sys.path.insert(0, str(TESTS))
    fixture = importlib.import_module("postgres").postgres
    server = contextmanager(fixture._get_wrapped_function())
    found = []
    with server() as address:
        for rows in sizes:
            source = folder / f"parquet-{rows}"
            try:
                _load(address, make(source, rows))
                for search, name in SEARCHES.items():
                    job = {"engine": "postgresql", "source": address, "search": search}
                    found.append(released(job, Measured("postgresql", "PostgreSQL", rows, name)))
            finally:
                shutil.rmtree(source, ignore_errors=True)
    return found


def _load(url: str, source: Path) -> None:
    import adbc_driver_postgresql.dbapi
    import pyarrow.parquet as pq

    with adbc_driver_postgresql.dbapi.connect(url) as connection, connection.cursor() as cursor:
        cursor.execute("drop table if exists people")
        for file in sorted(source.iterdir()):
            for batch in pq.ParquetFile(file).iter_batches(1 << 20):
                cursor.adbc_ingest("people", batch, mode="create_append")
        connection.commit()
        cursor.execute("analyze people")
        connection.commit()


@contextmanager
def opened(job: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """The store of a job, and where its release goes."""
    from sfumato.engines.sql.table import Database
    from sfumato.release.destination import Table

    yield Database(job["source"], "people"), Table(f"release_{job['search']}", overwrite=True)
