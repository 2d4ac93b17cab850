"""Tables larger than memory: rows per second and peak memory of a release from Parquet to Parquet.

`python -m benchmarks.scale 1000000 10000000` makes a table of each size under --folder, releases it with a full-domain
search and with Mondrian, each in a process of its own, prints a line of JSON per run, and deletes what it made.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

QUASI = {"age": 78, "sex": 2, "zip": 1000, "education": 8, "marital": 4}  # values each: 4,992,000 cells at most
SEARCHES = ("optimal", "mondrian")
FILE_ROWS = 10_000_000


def make(folder: Path, rows: int) -> None:
    """A table of six columns in files of ten million rows, the same each time."""
    folder.mkdir(parents=True, exist_ok=True)
    for i, low in enumerate(range(0, rows, FILE_ROWS)):
        rng, n = np.random.default_rng(i), min(FILE_ROWS, rows - low)
        codes = {name: rng.integers(0, values, n, dtype=np.int16) for name, values in QUASI.items()}
        table = pl.DataFrame(codes).with_columns(
            pl.Series("zip", codes["zip"]).cast(pl.Int32) + 10_000,
            *(_words(name, codes[name]) for name in ("sex", "education", "marital")),
            pl.Series("cost", rng.integers(100, 100_000, n) / 100),
        )
        table.write_parquet(folder / f"{i:03}.parquet", row_group_size=1 << 18)


def _words(name: str, codes: np.ndarray) -> pl.Series:
    return pl.Series(name, [f"{name} {i}" for i in range(QUASI[name])]).gather(codes)


def release(source: Path, target: Path, search: str) -> dict[str, object]:
    """One release in this process: its seconds and peak memory, in all and when each phase began."""
    from sfumato.engines.scanned import Scanned
    from sfumato.stored import anonymize_store

    reached: dict[str, tuple[float, int]] = {}
    began = time.perf_counter()

    def note(message: str, share: float | None) -> None:
        reached.setdefault(message, (round(time.perf_counter() - began, 2), _peak()))

    found = anonymize_store(
        Scanned(source),
        target,
        quasi=list(QUASI),
        insensitive=["cost"],
        require="k-anonymity 10",
        search=search,
        suppression=0.01 if search == "optimal" else 0,
        hierarchies={"age": "intervals:5,10,20", "zip": "redact"},
        progress=note,
    )
    seconds, rows = time.perf_counter() - began, found.manifest["input"]["rows"]
    return {
        "rows": rows,
        "search": search,
        "cells": len(found.solution.kept),
        "seconds": round(seconds, 2),
        "cpu_seconds": round(time.process_time(), 1),
        "rows_per_second": round(rows / seconds),
        "peak_mib": _peak(),
        "loss": round(found.solution.verdict.loss, 4),
        "reached": reached,
    }


def _peak() -> int:
    """The most memory that this process has had so far, in MiB; `getrusage` would count that of its parent too."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) >> 10


def main() -> None:
    """Make, release, print, delete."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("rows", type=int, nargs="*", default=[1_000_000, 10_000_000])
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()) / "sfumato-scale")
    parser.add_argument("--search", choices=SEARCHES, action="append")
    parser.add_argument("--one", nargs=3, metavar=("SOURCE", "TARGET", "SEARCH"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(release(Path(given.one[0]), Path(given.one[1]), given.one[2])), flush=True)
        return
    for rows in given.rows:
        source, target = given.folder / f"in-{rows}", given.folder / "out"
        try:
            make(source, rows)
            for search in given.search or SEARCHES:
                one = ["-m", "benchmarks.scale", "--one", str(source), str(target), search]
                subprocess.run([sys.executable, *one], check=True)
                shutil.rmtree(target)
        finally:
            shutil.rmtree(given.folder, ignore_errors=True)


if __name__ == "__main__":
    main()
