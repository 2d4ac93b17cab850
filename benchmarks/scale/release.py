"""One release in this process: `python -m benchmarks.scale.release '{"engine": "files", ...}'` prints what it took."""

from __future__ import annotations

import importlib
import json
import os
import subprocess
import sys
import time
from typing import Any

from benchmarks.scale.measured import ROOT, peak_gib
from benchmarks.scale.table import asked

PHASES = {  # the message that begins it, and what it is called
    "looking at a sample": "sample",
    "counting rows": "count",
    "reading the columns": "search",
    "recoding rows": "write",
    "verifying": "verify",
}


def release(store: Any, to: Any, search: str) -> dict[str, Any]:
    """Release a store: seconds, processor seconds, peak memory, and the seconds of each phase."""
    import sfumato as sf

    reached: dict[str, float] = {}
    before, began = spent(), time.perf_counter()

    def note(message: str, share: float | None) -> None:
        if message in PHASES:
            reached.setdefault(PHASES[message], time.perf_counter() - began)

    found = sf.anonymize(store, to=to, progress=note, **asked(search))
    seconds = time.perf_counter() - began
    ends = [*list(reached.values())[1:], seconds]
    phases = {name: round(end - start, 2) for (name, start), end in zip(reached.items(), ends, strict=True)}
    verdict = found.solution.verdict
    details = {"cells": len(found.solution.kept), "loss": round(verdict.loss, 6), "phases": phases}
    if found.manifest["input"]["rows"] != found.verification.rows + verdict.suppressed or not found.verification.holds:
        raise SystemExit("the release does not have the rows that it should have")
    return {
        "seconds": round(seconds, 2),
        "cpu_seconds": round(spent() - before, 1),
        "peak_gib": round(peak_gib(), 3),
        "details": details,
    }


def spent() -> float:
    """Processor seconds of this process so far."""
    used = os.times()
    return used.user + used.system


def main(job: str) -> None:
    """Open the engine that a job names, release, print; or with "floor" the least that a release could do."""
    given = json.loads(job)
    engine = importlib.import_module(f"benchmarks.scale.{given['engine']}")
    if given.get("floor"):
        before = spent()
        engine.floor(given)
        print(spent() - before)
        return
    least = [_floor(given)] if hasattr(engine, "floor") else []
    with engine.opened(given) as (store, to):
        found = release(store, to, given["search"])
    if least:  # measured before and after: others may be at work
        found["details"]["floor_cpu_seconds"] = round((least[0] + _floor(given)) / 2, 1)
    print(json.dumps(found), flush=True)


def _floor(given: dict[str, Any]) -> float:
    """Processor seconds of the least that a release could do, in a process of its own: its memory is not that of a
    release."""
    command = [sys.executable, "-m", "benchmarks.scale.release", json.dumps({**given, "floor": True})]
    return float(subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT).stdout)


if __name__ == "__main__":
    main(sys.argv[1])
