"""One measured run, and how it is run: in a process of its own, with a limit, watched for the most memory it holds."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import say

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 300.0  # seconds that a run of another tool may take
TARGET_ROWS, TARGET_SECONDS, TARGET_GIB = 100_000_000, 120.0, 4.0  # Parquet, two cores


@dataclass(frozen=True)
class Measured:
    """One release: by whom, of how many rows, and what it took. `why` says it where it was not made or not finished."""

    group: str
    tool: str
    rows: int
    search: str
    seconds: float | None = None
    cpu_seconds: float | None = None
    peak_gib: float | None = None
    load: float | None = None  # of the machine before the run: above 0 others were at work
    why: str | None = None
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def met(self) -> bool | None:
        """Whether the run is within its target; None without one."""
        if (self.tool, self.rows) != ("Parquet to Parquet", TARGET_ROWS) or self.seconds is None:
            return None
        return self.seconds < TARGET_SECONDS and (self.peak_gib or 0) < TARGET_GIB

    def plain(self) -> dict[str, Any]:
        """As plain values, with what follows from them."""
        each = None if self.seconds is None else 1e6 * self.seconds / self.rows
        speed = None if self.seconds is None else round(self.rows / self.seconds)
        return asdict(self) | {"microseconds_per_row": each, "rows_per_second": speed, "met": self.met}


def child(command: Sequence[str], like: Measured, limit: float | None = None) -> Measured:
    """Run a command that prints a line of JSON: what it tells, and the most memory it held, into a Measured."""
    known = {name: getattr(like, name) for name in ("group", "tool", "rows", "search")}
    load = float(Path("/proc/loadavg").read_text().split()[0])
    began, peak = time.perf_counter(), 0.0
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT)
    while True:
        try:
            printed, wrong = process.communicate(timeout=0.05)
            break
        except subprocess.TimeoutExpired:
            peak = max(peak, peak_gib(process.pid))
            if limit is not None and time.perf_counter() - began > limit:
                process.kill()
                process.communicate()
                found = Measured(**known, load=load, peak_gib=peak, why=f"did not finish in {limit:g} s")
                return told(found)
    if process.returncode:
        raise RuntimeError(f"{like.tool} failed with code {process.returncode}: {wrong[-2000:]}")
    line = json.loads(printed.splitlines()[-1])
    return told(Measured(**known, load=load, **({"peak_gib": peak} | line)))


def told(found: Measured) -> Measured:
    """The same, said as progress."""
    if found.seconds is None:
        text = str(found.why)
    else:
        speed = found.rows / found.seconds
        text = f"{found.seconds:.1f} s, {speed:,.0f} rows/s, CPU {found.cpu_seconds or 0:.1f} s"
    memory = f", {found.peak_gib:.2f} GiB" if found.peak_gib else ""
    load = f", load {found.load:.1f}" if found.load is not None else ""
    say(f"  {found.tool}, {found.rows:,} rows, {found.search}: {text}{memory}{load}")
    return found


def peak_gib(pid: int | str = "self") -> float:
    """The most memory that a process has held so far, in GiB; `getrusage` would count that of its parent too."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0
    _, found, rest = status.partition("VmHWM:")
    return int(rest.split()[0]) / (1 << 20) if found else 0.0


def yardstick() -> float:
    """Seconds that np.sort takes for ten million random float64: the least of three."""
    numbers, took = np.random.default_rng(0).random(10_000_000), []
    for _ in range(3):
        began = time.perf_counter()
        np.sort(numbers)
        took.append(time.perf_counter() - began)
    return min(took)
