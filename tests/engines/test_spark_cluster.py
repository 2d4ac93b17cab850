"""A real standalone cluster, a master and two workers: what it releases, and what is left when a worker dies."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.printed import printed_frame
from sfumato.errors import SfumatoError

pytestmark = pytest.mark.spark

PARTS, EACH = 8, 60
ASKED: dict[str, Any] = {
    "quasi": ["age", "town"],
    "insensitive": ["id"],
    "require": sf.KAnonymity(3),
    "search": "mondrian",
}


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    numbers = range(PARTS * EACH)
    return pl.DataFrame(
        {"id": numbers, "age": [i * 7 % 31 for i in numbers], "town": [f"t{i * i % 5}" for i in numbers]}
    )


@pytest.fixture
def both(standalone: Any) -> Iterator[Any]:
    """The cluster with two workers, whatever a test did to it."""
    yield standalone
    while len(standalone.processes) < 3:
        standalone.add()


def rows(table: Any) -> list[tuple[Any, ...]]:
    return sorted(printed_frame(table).fill_null("").rows())


def slow(spark: Any, table: pl.DataFrame, flag: Path) -> Any:
    """The table in parts that take a while each, once there is a flag."""
    place = str(flag)

    def wait(batches: Any) -> Any:
        import os
        import time

        for batch in batches:
            time.sleep(0.5 if os.path.exists(place) else 0)
            yield batch

    frame = spark.createDataFrame(table.to_arrow(compat_level=pl.CompatLevel.oldest())).repartition(PARTS)
    return frame.mapInArrow(wait, frame.schema)


@pytest.mark.parametrize(("when", "folder"), [("recoding rows", True), ("verifying", False)])
def test_a_release_is_whole_or_not_there_when_a_worker_dies(
    spark_cluster: Any, both: Any, table: pl.DataFrame, tmp_path: Path, when: str, folder: bool
) -> None:
    here = sf.anonymize(table, **ASKED)
    source, killed = slow(spark_cluster, table, tmp_path / "flag"), threading.Event()
    begun: list[threading.Thread] = []

    def kill() -> None:
        time.sleep(1 if when == "recoding rows" else 0)  # half-way
        both.kill()
        killed.set()

    def say(message: str, share: float | None) -> None:
        if message == when and not begun:  # the message is told again while the work lasts, and one worker must live
            (tmp_path / "flag").touch()
            begun.append(threading.Thread(target=kill))
            begun[0].start()
            if when == "verifying":
                killed.wait()

    to = {"to": tmp_path / "out"} if folder else {}
    try:
        there = sf.anonymize(source, progress=say, **to, **ASKED)
    except SfumatoError:
        assert not (tmp_path / "out").exists()
    else:
        parts = (tmp_path / "out" / "data.parquet").glob("*.parquet")
        found = pl.concat(pl.read_parquet(part) for part in parts) if folder else pl.from_arrow(there.data.toArrow())
        assert rows(found) == rows(here.table)
        assert there.solution.verdict == here.solution.verdict
    assert killed.wait(60)
    assert {path.name for path in tmp_path.iterdir()} <= {"flag", "out"}
