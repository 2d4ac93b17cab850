"""Searches that can tell their steps, while nobody asks for them, beside the same searches before they could.

The commit before is taken from the history into a folder of its own. A process of each version searches in turn, so
that both meet the same noise, and the lower quartiles of their CPU seconds are compared: the least ones vary more. Two
processes of one version differ by some percent, for as long as they live: the figure is the median of several pairs.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median, quantiles

from benchmarks.figures import Figure, figure, say

GROUP = "traces"
BEFORE = "8d872a4"  # the last commit whose searches knew no trace
ROOT = Path(__file__).resolve().parents[1]
PAIRS = 5
TURNS = 40
# each search with how many attributes and rows of Adult it gets, so that a call takes some tens of milliseconds
SEARCHES = {
    "samarati": (7, 30_000), "incognito": (5, 30_000), "ola": (6, 30_000), "optimal": (9, 30_000),
    "datafly": (9, 30_000), "mondrian": (9, 30_000), "top-down": (4, 8_000), "k-member": (4, 8_000),
    "mdav": (4, 3_000),
}  # fmt: skip


def run() -> list[Figure]:
    """The ratio of each search; none where there is no history."""
    with tempfile.TemporaryDirectory(prefix="sfumato-traces-") as name:
        old = Path(name)
        packed = subprocess.run(["git", "archive", BEFORE, "src"], cwd=ROOT, capture_output=True, check=False)
        if packed.returncode:
            say("  no history here: searches without a trace are left out")
            return []
        subprocess.run(["tar", "-x", "-C", name], input=packed.stdout, check=True)
        ratios: dict[str, list[float]] = {search: [] for search in SEARCHES}
        for _ in range(PAIRS):
            with _searching(old / "src") as before, _searching(ROOT / "src") as now:
                for search, found in ratios.items():
                    found.append(_ratio(search, before, now))
    title = "{} without a trace: CPU, times that before there were traces"
    load = round(os.getloadavg()[0], 1)
    return [
        figure(GROUP, title.format(search), [median(found)], "", target=1.01, load=load)
        for search, found in ratios.items()
    ]


def _ratio(search: str, before: subprocess.Popen[str], now: subprocess.Popen[str]) -> float:
    spent: dict[int, list[float]] = {before.pid: [], now.pid: []}
    for turn in range(TURNS):
        for process in (before, now) if turn % 2 else (now, before):
            spent[process.pid].append(_asked(process, search))
    old, new = (quantiles(spent[process.pid], n=4)[0] for process in (before, now))
    return new / old


def _searching(source: Path) -> subprocess.Popen[str]:
    """A process that searches with the package of a folder, whenever it is told a name."""
    variables = {**os.environ, "PYTHONPATH": f"{source}{os.pathsep}{ROOT}", "PYTHONWARNINGS": "ignore"}
    variables["SFUMATO_THREADS"] = variables["OPENBLAS_NUM_THREADS"] = "1"  # threads that wait count as busy
    command = [sys.executable, "-m", "benchmarks.studio_traces"]
    return subprocess.Popen(
        command, cwd=ROOT, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )  # it ends with its input


def _asked(process: subprocess.Popen[str], search: str) -> float:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{search}\n")
    process.stdin.flush()
    return float(process.stdout.readline())


def main() -> None:
    """Search as told on the standard input, and tell the CPU seconds; the first call of each is not counted."""
    import sfumato as sf
    from benchmarks.tables import nine
    from sfumato.core.policy import Policy
    from sfumato.losses import LM
    from sfumato.release.request import recipes_of
    from sfumato.search import SEARCHES as KNOWN
    from sfumato.search.problem import Problem, make_problem

    table, files = nine()
    problems: dict[str, Problem] = {}
    for line in sys.stdin:
        name = line.strip()
        search = KNOWN[name].example
        if name not in problems:
            columns, rows = SEARCHES[name]
            some = table.head(rows).select(table.columns[:columns])
            names = tuple(some.columns)
            suppression = 0.04 if search.by_level else 0
            policy = Policy((names,), (sf.KAnonymity(5),), suppression, LM())
            problems[name] = make_problem(some, policy, recipes_of(some, {c: files[c] for c in names}, names), {})
            search(problems[name])
        began = time.process_time()
        search(problems[name])
        print(time.process_time() - began, flush=True)


if __name__ == "__main__":
    main()
