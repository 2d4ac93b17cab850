"""Masking, Parquet to Parquet: noise, PRAM and rounding alone and together, by row numbers and by a row key."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.scale.files import OURS
from benchmarks.scale.measured import Measured, child, peak_gib
from benchmarks.scale.release import spent
from benchmarks.scale.table import QUASI

ROWS = (1_000_000, 10_000_000)
STEPS = {
    "noise": ["additive-noise cost"],
    "PRAM": ["pram education p=0.8"],
    "rounding": ["rounding age base=5"],
    "all three": ["additive-noise cost", "pram education p=0.8", "rounding age base=5"],
}
KEYED = "all three, by a row key"


def run(folder: Path, sizes: Sequence[int] = ROWS) -> list[Measured]:
    """Every size and every set of steps."""
    found = []
    for rows in sizes:
        source, target = folder / f"masked-{rows}.parquet", folder / "out"
        try:
            _make(source, folder, rows)
            for name in (*STEPS, KEYED):
                job = json.dumps({"source": str(source), "target": str(target), "steps": name})
                command = [sys.executable, "-m", "benchmarks.scale.masking", job]
                found.append(child(command, Measured("masking", "Parquet to Parquet", rows, name), OURS))
                shutil.rmtree(target, ignore_errors=True)
        finally:
            source.unlink(missing_ok=True)
    return found


def _make(source: Path, folder: Path, rows: int) -> None:
    """The table of the other groups, with a number of each row."""
    import polars as pl

    from benchmarks.scale.table import make

    made = make(folder / "plain", rows)
    pl.scan_parquet(made / "*.parquet").with_row_index("no").sink_parquet(source, row_group_size=1 << 18)
    shutil.rmtree(made)


def main(job: str) -> None:
    """Mask in this process, and print what it took."""
    import sfumato as sf

    given: dict[str, Any] = json.loads(job)
    keyed = given["steps"] == KEYED
    used, began = spent(), time.perf_counter()
    found = sf.mask(
        sf.scan(given["source"]),
        STEPS["all three" if keyed else given["steps"]],
        insensitive=[*QUASI, "cost", "no"],
        row_key=["no"] if keyed else [],
        seed=1,
        to=given["target"],
    )
    seconds = time.perf_counter() - began
    if found.manifest["input"]["rows"] != found.verification.rows or found.verification.outcome == "broken":
        raise SystemExit("the release does not have the rows that it should have")
    told = {"seconds": round(seconds, 2), "cpu_seconds": round(spent() - used, 1), "peak_gib": round(peak_gib(), 3)}
    print(json.dumps({**told, "details": {}}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
