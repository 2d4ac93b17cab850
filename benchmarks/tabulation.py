"""Statistical tables that engines add up themselves, in CPU seconds, over what the engine's own GROUP BY takes.

Without the fingerprint of the table, which reads all of it once more.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import sfumato as sf
from benchmarks.figures import Figure, figure

GROUP = "statistical tables by engines"
MANY, SOME = 100_000_000, 10_000_000
FIRMS = 2_000_000
BY = ["region", "sector", "size"]
OWN = {
    "counts": "SELECT region, sector, size, COUNT(*) FROM {} GROUP BY 1, 2, 3",
    "sums": "SELECT region, sector, size, COUNT(*), SUM(pay), MAX(pay) FROM {} GROUP BY 1, 2, 3",
    "holdings": (
        "SELECT region, sector, size, COUNT(*), SUM(a), MAX(a) FROM "
        "(SELECT region, sector, size, firm, SUM(pay) AS a FROM {} GROUP BY 1, 2, 3, 4) h GROUP BY 1, 2, 3"
    ),
}
ASKED: dict[str, dict[str, Any]] = {
    "counts": {},
    "sums": {"value": "pay"},
    "holdings": {"value": "pay", "contributor": "firm"},
}
TITLES = {
    "counts": "rows",
    "sums": "sums with the 3 largest contributions",
    "holdings": f"sums of {FIRMS // 1_000_000}M contributors, added up in each cell and total",
}


def run() -> list[Figure]:
    """Parquet by DuckDB, a table of DuckDB, and one of SQLite."""
    import adbc_driver_sqlite.dbapi as sqlite
    import duckdb

    found = []
    before = os.environ.get("XDG_CONFIG_HOME")
    os.environ["XDG_CONFIG_HOME"] = os.devnull  # there is no key, and so no fingerprint
    folder = Path(tempfile.mkdtemp(prefix="sfumato-tables-"))
    try:
        for rows, kinds in ((MANY, ("counts", "sums")), (SOME, ("holdings",))):
            source = folder / f"{rows}"
            make(source, rows)
            place = f"read_parquet('{source}/*.parquet')"
            with duckdb.connect() as connection:
                found += [
                    _measured("Parquet", rows, kind, sf.scan(source), lambda q: connection.execute(q).fetchall(), place)
                    for kind in kinds
                ]
            if rows == MANY:
                shutil.rmtree(source)
        file = folder / "firms.duckdb"
        with duckdb.connect(str(file)) as connection:
            connection.execute(f"CREATE TABLE firms AS SELECT * FROM {place}")
            frame = connection.sql("SELECT region, sector, size, pay FROM firms").to_arrow_table()
            table = sf.Database(connection, "firms")
            found.append(_measured("DuckDB", SOME, "sums", table, lambda q: connection.execute(q).fetchall(), "firms"))
        with sqlite.connect(str(folder / "firms.sqlite")) as connection:
            with connection.cursor() as cursor:
                cursor.adbc_ingest("firms", frame, mode="create")
            connection.commit()
            del frame

            def own(query: str) -> Any:
                with connection.cursor() as cursor:
                    return cursor.execute(query).fetchall()

            found.append(_measured("SQLite", SOME, "sums", sf.Database(folder / "firms.sqlite", "firms"), own, "firms"))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.environ.pop("XDG_CONFIG_HOME")
        if before is not None:
            os.environ["XDG_CONFIG_HOME"] = before
    return found


def _measured(where: str, rows: int, kind: str, data: Any, own: Callable[[str], Any], place: str) -> Figure:
    theirs, _ = _timed(lambda: own(OWN[kind].format(place)))
    seconds, table = _timed(lambda: sf.tabulate(data, by=BY, **ASKED[kind]))
    name = f"{where}, {rows // 1_000_000}M rows: {TITLES[kind]}, times the engine's own GROUP BY"
    return figure(GROUP, name, [seconds / theirs], unit="", cells=table.value.size, seconds=round(seconds, 1))


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


def make(folder: Path, rows: int) -> None:
    """Rows of firms that have one region and sector each, as Parquet files."""
    import duckdb

    folder.mkdir()
    firm = f"hash(i * 3) % {FIRMS}"
    with duckdb.connect() as connection:
        connection.execute(
            f"COPY (SELECT 'region ' || (hash({firm}) % 50) AS region, 'sector ' || (hash(7 + {firm}) % 20) AS sector,"
            f" CAST(hash(i + 1) % 8 AS INTEGER) AS size, CAST({firm} AS BIGINT) AS firm,"
            f" CAST(hash(i + 5) % 1000000 AS BIGINT) / 100.0 AS pay FROM range({rows}) r(i))"
            f" TO '{folder}' (FORMAT parquet, PER_THREAD_OUTPUT true)"
        )
