"""The machine: facts that tell machines apart, none that names one, and a yardstick to compare them by."""

from __future__ import annotations

import os
import platform
import re
import statistics
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.figures import timed, warm


def facts() -> dict[str, Any]:
    """Processor, memory and versions."""
    return {
        "system": platform.system(),
        "cpu": _cpu(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "python": platform.python_version(),
    } | {name: version(name) for name in ("sfumato", "numpy", "numba", "polars")}


def yardstick() -> float:
    """Milliseconds that np.sort takes for a million random float64."""
    numbers = np.random.default_rng(0).random(1_000_000)
    return 1000 * statistics.median(seconds for seconds, _ in warm(lambda: timed(lambda: np.sort(numbers)), 7))


def _cpu() -> str:
    """The processor's model name."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.+)$", info.read_text(), re.MULTILINE) if info.exists() else None
    return found[1].strip() if found else platform.processor() or platform.machine()
