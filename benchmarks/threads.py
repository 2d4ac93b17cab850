"""One thread and two: the wall time of searches and measures, which find the same with either."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import polars as pl

import sfumato as sf
from benchmarks.figures import Figure, figure, say
from benchmarks.tables import MILLION, nine, resample
from sfumato.measures.risk.suda import suda

GROUP = "threads"
TIMES = 3  # the least of them counts


def run() -> list[Figure]:
    """Seconds of two threads, and how many times that one takes."""
    table, files = nine()
    many, quasi = resample(table, MILLION), list(files)
    trees: dict[str, Any] = dict(files)

    def searched(data: pl.DataFrame, search: Any, **asked: Any) -> Callable[[], float]:
        return lambda: (
            sf.anonymize(data, quasi=quasi, require=sf.KAnonymity(5), search=search, **asked).solution.seconds
        )

    def scored() -> float:
        began = time.perf_counter()
        suda(table, quasi, up_to=4)
        return time.perf_counter() - began

    cases = {
        "mondrian, a million rows, nine columns": searched(many, "mondrian"),
        "mondrian, best cut by NCP, a million rows": searched(many, sf.Mondrian(cut="best", dimension="ncp")),
        "optimal, a million rows, 4% suppressed": searched(many, "optimal", hierarchies=trees, suppression=0.04),
        "the default, Adult": searched(table, "auto"),
        "SUDA2 up to four columns, Adult": scored,
    }
    found = []
    for name, case in cases.items():
        say(f"  {name}")
        one, two = (least(case, number) for number in (1, 2))
        found.append(figure(GROUP, name, [two], one_thread=round(one, 4), speed_up=round(one / two, 2)))
    return found


def least(case: Callable[[], float], number: int) -> float:
    """The least seconds of several calls with so many threads."""
    before = os.environ.get("SFUMATO_THREADS")
    os.environ["SFUMATO_THREADS"] = str(number)
    try:
        case()
        return min(case() for _ in range(TIMES))
    finally:
        os.environ.pop("SFUMATO_THREADS")
        if before is not None:
            os.environ["SFUMATO_THREADS"] = before
