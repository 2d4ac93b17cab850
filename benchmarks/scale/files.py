"""Files to files: Parquet at every size, CSV up to ten million rows."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.scale.measured import Measured, child
from benchmarks.scale.table import SEARCHES, make

ROWS = (1_000_000, 10_000_000, 100_000_000)
CSV_ROWS = 10_000_000  # at most
OURS = 900.0  # seconds that a release may take
FORMATS = {"parquet": "Parquet to Parquet", "csv": "CSV to CSV"}


def run(folder: Path, sizes: Sequence[int] = ROWS) -> list[Measured]:
    """Every size, format and search."""
    found = []
    for rows in sizes:
        for format in FORMATS if rows <= CSV_ROWS else ("parquet",):
            found += measured("files", folder, rows, format)
    return found


def warm(folder: Path) -> None:
    """Small releases that nobody looks at: what is compiled once on a machine is compiled before the clock starts."""
    measured("files", folder, 1000, "parquet")


def measured(group: str, folder: Path, rows: int, format: str) -> list[Measured]:
    """One table, made, released with both searches, and deleted."""
    source, found = folder / f"{format}-{rows}", []
    try:
        make(source, rows, format)
        for search, name in SEARCHES.items():
            target = folder / "out"
            job = {"engine": "files", "source": str(source), "target": str(target), "format": format, "search": search}
            found.append(released(job, Measured(group, FORMATS[format], rows, name)))
            shutil.rmtree(target, ignore_errors=True)
    finally:
        shutil.rmtree(source, ignore_errors=True)
    return found


def released(job: Mapping[str, Any], like: Measured) -> Measured:
    """A job of `release`, in a process of its own."""
    return child([sys.executable, "-m", "benchmarks.scale.release", json.dumps(job)], like, OURS)


@contextmanager
def opened(job: Mapping[str, Any]) -> Iterator[tuple[Any, Any]]:
    """The store of a job, and where its release goes."""
    from sfumato.engines.files.table import FileTable
    from sfumato.release.destination import Folder

    yield FileTable(job["source"]), Folder(job["target"], format=job["format"])
