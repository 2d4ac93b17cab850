"""Spark Connect: a frame of a server elsewhere, with a client that has no Java."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.printed import printed_frame
from sfumato.core.progress import quiet
from sfumato.engines.files.bytes import read_back
from sfumato.engines.spark.table import SparkTable
from sfumato.engines.spark.types import job
from sfumato.engines.tables import is_spark
from sfumato.errors import ReadError


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    values = {"age": [30 + i % 7 for i in range(200)], "town": [["a", "b", "", None][i % 4] for i in range(200)]}
    return pl.DataFrame(values | {"cost": [i / 8 for i in range(200)]})


ASKED: dict[str, Any] = {"quasi": ["age", "town"], "insensitive": ["cost"], "require": sf.KAnonymity(3)}


def rows(table: Any) -> list[tuple[Any, ...]]:
    return sorted(printed_frame(table).fill_null("").rows())


@pytest.mark.spark
def test_a_frame_of_spark_connect_is_released_as_in_memory(spark_connect: Any, table: pl.DataFrame) -> None:
    frame = spark_connect.createDataFrame(table.to_arrow(compat_level=pl.CompatLevel.oldest())).repartition(2)
    assert is_spark(frame)
    there, here = (sf.anonymize(data, search="optimal", **ASKED) for data in (frame, table))
    assert rows(pl.from_arrow(there.data.toArrow())) == rows(here.table)
    assert there.solution.verdict == here.solution.verdict
    assert there.manifest["data"]["checkpoint"] == "local"


@pytest.mark.spark
def test_the_server_writes_parts(spark_connect: Any, table: pl.DataFrame, tmp_path: Path) -> None:
    frame = spark_connect.createDataFrame(table.to_arrow(compat_level=pl.CompatLevel.oldest())).repartition(2)
    to = sf.Folder(tmp_path / "out", format="parquet")
    there, here = sf.anonymize(frame, to=to, search="optimal", **ASKED), sf.anonymize(table, search="optimal", **ASKED)
    parts = [read_back(part, "parquet") for part in sorted((tmp_path / "out" / "data.parquet").iterdir())]
    assert rows(pl.concat(parts)) == rows(here.table)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    assert there.verification.rows == 200


@pytest.mark.spark
def test_an_error_of_the_server_is_ours(spark_connect: Any) -> None:
    broken = spark_connect.sql("select if(id > 5, raise_error('secret'), id) as a from range(9)")
    with pytest.raises(ReadError) as caught:
        SparkTable(broken).count(["a"], quiet, 10)
    assert "secret" not in "".join(traceback.format_exception(caught.value))


class Session:
    """Notes what is asked of a session."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __getattr__(self, name: str) -> Any:
        return lambda tag: self.asked.append(name)


def test_an_interrupt_cancels_the_work_on_the_cluster_and_goes_on() -> None:
    session = Session()
    with pytest.raises(KeyboardInterrupt), job(session, "what"):
        raise KeyboardInterrupt
    assert session.asked == ["addTag", "interruptTag", "removeTag"]
    calm = Session()
    with job(calm, "what"):
        pass
    assert calm.asked == ["addTag", "removeTag"]
