"""The first use of a search on a machine: CPU seconds of a call that finds nothing compiled, less those of a second."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.figures import Figure, figure

GROUP = "first use"
RUNS = 3
SEARCHES = {
    "the default": '"auto"',
    "mondrian, best cuts by NCP": 'sf.Mondrian(cut="best", dimension="ncp")',
    "k-member": '"k-member"',
    "optimal": '"optimal"',
}
SCRIPT = """
import time
import sfumato as sf
from benchmarks.tables import nine

table, files = nine()
search = {search}
spent = []
for _ in range(2):
    began = time.process_time()
    sf.anonymize(table, quasi=table.columns, k=5, hierarchies=files, search=search)
    spent.append(time.process_time() - began)
print(spent[0] - spent[1])
"""


def run() -> list[Figure]:
    """Each search in processes of its own, each with an empty folder for what is compiled."""
    return [_first(about, search) for about, search in SEARCHES.items()]


def _first(about: str, search: str) -> Figure:
    found = []
    for _ in range(RUNS):
        with tempfile.TemporaryDirectory(prefix="sfumato-bench-") as empty:
            found.append(_compiling(search, Path(empty)))
    return figure(GROUP, f"first use of {about} on Adult, k=5: CPU seconds of compiling", found, target=6.0)


def _compiling(search: str, cache: Path) -> float:
    command = [sys.executable, "-c", SCRIPT.format(search=search)]
    variables = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    return float(done.stdout)
