"""Spark on two cores of this machine: Parquet to Parquet parts that the cluster writes."""

from __future__ import annotations

import importlib.util
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.scale.files import released
from benchmarks.scale.measured import Measured
from benchmarks.scale.table import SEARCHES, make

ROWS = (10_000_000,)
CORES = 2
SETTINGS = {"spark.driver.memory": "6g", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "16"}


def lacking() -> str | None:
    """Why this cannot be measured here, or None."""
    if importlib.util.find_spec("sfumato.engines.spark.table") is None:
        return "this version of Sfumato does not work on Spark"
    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed"
    return None if shutil.which("java") else "there is no Java here"


def run(folder: Path, sizes: Sequence[int] = ROWS) -> list[Measured]:
    """Every size and search; the session is started before the clock is."""
    found = []
    for rows in sizes:
        source, target = folder / f"parquet-{rows}", folder / "out"
        try:
            make(source, rows)
            for search, name in SEARCHES.items():
                job = {"engine": "spark", "source": str(source), "target": str(target), "search": search}
                found.append(released(job, Measured("spark", f"Spark, local[{CORES}]", rows, name)))
                shutil.rmtree(target, ignore_errors=True)
        finally:
            shutil.rmtree(source, ignore_errors=True)
    return found


@contextmanager
def opened(job: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """The store of a job, and where its release goes."""
    from pyspark.sql import SparkSession

    from sfumato.engines.spark.table import SparkTable
    from sfumato.release.destination import Folder

    builder = SparkSession.builder.master(f"local[{CORES}]").appName("sfumato-scale")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    try:
        yield SparkTable(session.read.parquet(job["source"])), Folder(job["target"])
    finally:
        session.stop()
