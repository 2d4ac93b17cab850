"""Run a command and measure it: wall seconds, and the most memory it held.

Linux counts what a process held before `exec` to its peak, and a child starts as a copy of its parent. So this file is
also the script of a small process that starts the command in place of the large one that runs the benchmarks.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Run:
    """A finished command: wall seconds, peak resident memory, and what it printed."""

    seconds: float
    peak_gib: float
    printed: str


def launch(command: Sequence[str], folder: Path, environment: Mapping[str, str] | None = None) -> Run:
    """Run a command in a folder to its end; RuntimeError with what it printed where it fails."""
    variables = {**os.environ, **(environment or {})}
    small = [sys.executable, "-I", "-S", __file__, *command]
    done = subprocess.run(small, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{Path(command[0]).name} failed with code {done.returncode}: {done.stderr}")
    return Run(**json.loads(done.stdout), printed=done.stderr)


def _main(command: Sequence[str]) -> int:
    began = time.perf_counter()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    _, status, usage = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - began
    unit = 1 if sys.platform == "darwin" else 1024
    print(json.dumps({"seconds": seconds, "peak_gib": usage.ru_maxrss * unit / 2**30}))
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
