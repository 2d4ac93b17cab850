"""Peak memory: utility and attacks on a million rows, and a release of ten million, each in a process of its own."""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from pathlib import Path

import polars as pl

import sfumato as sf
from benchmarks.figures import Figure, figure
from benchmarks.launch import launch
from benchmarks.tables import MILLION, nine, resample

GROUP = "memory"
ROOT = Path(__file__).resolve().parents[1]
TARGETS = {"utility": None, "attack": None, "release": 2.5}  # GiB


def run() -> list[Figure]:
    """What the whole process holds at most, reading the tables from Parquet included."""
    table, _ = nine()
    with tempfile.TemporaryDirectory(prefix="sfumato-bench-") as name:
        folder = Path(name)
        original, released, large = (str(folder / f"{what}.parquet") for what in ("original", "released", "large"))
        million = resample(table, MILLION)
        million.write_parquet(original)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            sf.anonymize(million, quasi=table.columns, k=10, search="mondrian").table.write_parquet(released)
        resample(table, 10 * MILLION).write_parquet(large)
        jobs = {
            "utility of two frames, 1M x 9": ["utility", original, released],
            "attack with an external table, 1M x 1M rows, 9 columns": ["attack", original, released],
            "anonymize in memory, 10M x 9, k=5, optimal": ["release", large],
        }
        found = []
        for about, job in jobs.items():
            command = [sys.executable, "-m", "benchmarks.memory", *job]
            done = launch(command, ROOT)
            target = TARGETS[job[0]]
            spent = round(float(done.printed.split()[-1]), 1)
            found.append(figure(GROUP, f"{about}: peak memory", [done.peak_gib], "GiB", target, cpu_seconds=spent))
    return found


def _main(what: str, file: str, released: str = "") -> None:
    """One job, in this process; prints its CPU seconds, reading included."""
    warnings.simplefilter("ignore")
    table = pl.read_parquet(file)
    if what == "utility":
        sf.utility(table, pl.read_parquet(released))
    elif what == "attack":
        sf.attack(pl.read_parquet(released), table, quasi=table.columns, truth="unknown")
    else:
        _, files = nine()
        asked = {"k": 5, "search": "optimal", "suppression": 0.04, "hierarchies": files}
        sf.anonymize(table, quasi=table.columns, **asked)
    print(time.process_time())


if __name__ == "__main__":
    _main(*sys.argv[1:])
