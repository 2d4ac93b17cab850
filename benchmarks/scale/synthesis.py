"""Synthetic tables, Parquet to Parquet: a model of a sample, and models of the counts of all rows."""

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
from benchmarks.scale.table import QUASI, make

ROWS = (1_000_000, 10_000_000)
GENERATORS = {
    "sequential trees, a sample of 200,000": "sequential-trees",
    "bayes, counts of all rows": "bayes",
    "marginals, counts of all rows": "marginals",
}


def run(folder: Path, sizes: Sequence[int] = ROWS) -> list[Measured]:
    """Every size and every generator."""
    found = []
    for rows in sizes:
        source, target = folder / f"real-{rows}", folder / "drawn"
        try:
            make(source, rows)
            for name in GENERATORS:
                job = json.dumps({"source": f"{source}/*.parquet", "target": str(target), "generator": name})
                command = [sys.executable, "-m", "benchmarks.scale.synthesis", job]
                found.append(child(command, Measured("synthesis", "Parquet to Parquet", rows, name), OURS))
                shutil.rmtree(target, ignore_errors=True)
        finally:
            shutil.rmtree(source, ignore_errors=True)
    return found


def main(job: str) -> None:
    """Fit and draw in this process, and print what it took."""
    import sfumato as sf

    given: dict[str, Any] = json.loads(job)
    used, began = spent(), time.perf_counter()
    found = sf.synthesize(
        sf.scan(given["source"]),
        GENERATORS[given["generator"]],
        insensitive=[*QUASI, "cost"],
        seed=1,
        to=given["target"],
    )
    seconds = time.perf_counter() - began
    if found.manifest["input"]["rows"] != found.verification.rows or found.verification.outcome == "broken":
        raise SystemExit("the table does not have the rows that it should have")
    told = {"seconds": round(seconds, 2), "cpu_seconds": round(spent() - used, 1), "peak_gib": round(peak_gib(), 3)}
    print(json.dumps({**told, "details": {}}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
