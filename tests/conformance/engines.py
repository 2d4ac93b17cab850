"""Every engine there is, each holding the same table in its own way, and its release as texts that can be compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.printed import printed_frame


@dataclass(frozen=True)
class Engine:
    """A table as an engine has it, where its release goes, and how that is read."""

    data: Any
    to: Any
    read: Callable[[Any], pl.DataFrame]
    table: pl.DataFrame | None = None  # the same in memory, where the engine has other types

    def anonymize(self, **asked: Any) -> Any:
        return sf.anonymize(self.data, **({} if self.to is None else {"to": self.to}), **asked)

    def rows(self, release: Any) -> list[tuple[str | None, ...]]:
        """The released rows as printed, in an order of their own."""
        return sorted(printed_frame(self.read(release)).fill_null("").rows())


Make = Callable[[pl.DataFrame, Path, pytest.FixtureRequest], Engine]


def memory(table: pl.DataFrame, folder: Path, request: pytest.FixtureRequest) -> Engine:
    return Engine(table, None, lambda release: release.table)


def parquet(table: pl.DataFrame, folder: Path, request: pytest.FixtureRequest) -> Engine:
    for i, part in enumerate(table.iter_slices(700)):
        part.write_parquet(folder / f"in-{i:02}.parquet", row_group_size=100)
    scanned = sf.scan(str(folder / "in-*.parquet"), part=900)
    return Engine(scanned, folder / "out", lambda release: pl.read_parquet(release.data))


def csv(table: pl.DataFrame, folder: Path, request: pytest.FixtureRequest) -> Engine:
    table.write_csv(folder / "in.csv")
    to = sf.Folder(folder / "out", format="csv")
    return Engine(sf.scan(folder / "in.csv"), to, lambda release: sf.read(release.data), sf.read(folder / "in.csv"))


def _database(data: Any, folder: Path) -> Engine:
    def read(release: Any) -> pl.DataFrame:
        kept = sf.Database(data.source, release.data)
        return kept.sample(1_000_000)

    return Engine(data, sf.Table("kept", beside=folder / "out"), read)


def duckdb(table: pl.DataFrame, folder: Path, request: pytest.FixtureRequest) -> Engine:
    import duckdb as library

    with library.connect(str(folder / "in.duckdb")) as connection:
        connection.register("frame", table.to_arrow())
        connection.execute("CREATE TABLE people AS SELECT * FROM frame")
    return _database(sf.Database(folder / "in.duckdb", "people"), folder)


def sqlite(table: pl.DataFrame, folder: Path, request: pytest.FixtureRequest) -> Engine:
    import adbc_driver_sqlite.dbapi as library

    with library.connect(str(folder / "in.sqlite")) as connection:
        _ingest(connection, table)
    return _database(sf.Database(folder / "in.sqlite", "people"), folder)


def postgresql(table: pl.DataFrame, folder: Path, request: pytest.FixtureRequest) -> Engine:
    import adbc_driver_postgresql.dbapi as library

    address = request.getfixturevalue("postgres")
    with library.connect(address) as connection:
        _ingest(connection, table)
    return _database(sf.Database(address, "people"), folder)


def _ingest(connection: Any, table: pl.DataFrame) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS people")
        cursor.execute("DROP TABLE IF EXISTS kept")
        cursor.adbc_ingest("people", table.to_arrow(compat_level=pl.CompatLevel.oldest()), mode="create")
    connection.commit()


def _spark(session: Any, table: pl.DataFrame) -> Engine:
    frame = session.createDataFrame(table.to_arrow(compat_level=pl.CompatLevel.oldest())).repartition(3)
    return Engine(frame, None, lambda release: pl.from_arrow(release.data.toArrow()))


def spark(table: pl.DataFrame, folder: Path, request: pytest.FixtureRequest) -> Engine:
    return _spark(request.getfixturevalue("spark"), table)


def spark_connect(table: pl.DataFrame, folder: Path, request: pytest.FixtureRequest) -> Engine:
    return _spark(request.getfixturevalue("spark_connect"), table)


def spark_cluster(table: pl.DataFrame, folder: Path, request: pytest.FixtureRequest) -> Engine:
    return _spark(request.getfixturevalue("spark_cluster"), table)


ENGINES: dict[str, tuple[Make, str | None]] = {  # with the mark of what they need
    "memory": (memory, None),
    "parquet": (parquet, None),
    "csv": (csv, None),
    "duckdb": (duckdb, None),
    "sqlite": (sqlite, None),
    "postgresql": (postgresql, "postgres"),
    "spark": (spark, "spark"),
    "spark-connect": (spark_connect, "spark"),
    "spark-cluster": (spark_cluster, "spark"),
}


def param(name: str, *more: str, slow: bool = False) -> Any:
    """An engine as a parameter of a test."""
    make, mark = ENGINES[name]
    marks = [*([mark] if mark else []), *(["slow"] if slow else [])]
    return pytest.param(make, *more, id="-".join((name, *more)), marks=[getattr(pytest.mark, m) for m in marks])
