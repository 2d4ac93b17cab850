"""delta-presence on Adult with nine attributes against 300,000 people, beside k-anonymity of these people."""

from __future__ import annotations

import time
from statistics import median
from typing import Any

import polars as pl

import sfumato as sf
from benchmarks.figures import Figure, figure, warm
from benchmarks.tables import nine, resample
from sfumato.release import pipeline

GROUP = "populations"
PEOPLE, RUNS, K = 300_000, 5, 5
BOUNDS = ((0, 0.2), (0.05, 0.2))
TARGET = 3.0  # times the search of k-anonymity on as many people


def run() -> list[Figure]:
    """CPU seconds of each search, from coded columns on, and the ratio to k-anonymity by the same search in the run."""
    table, files = nine()
    people = pl.concat([table, resample(table, PEOPLE - table.height, redraw=0)])
    asked = {"quasi": table.columns, "hierarchies": files, "ends": "exact"}
    figures = []
    for search, plain in (("optimal", "optimal"), ("mpalm", "mondrian"), ("spalm", "spalm")):
        seconds, _ = _searched(people, asked | {"search": plain}, sf.KAnonymity(K))
        alone = median(seconds)
        figures.append(figure(GROUP, f"k = {K} of {PEOPLE:,} people, {plain}: the search, CPU seconds", seconds))
        for low, high in BOUNDS:
            seconds, checks = _searched(table, asked | {"search": search}, sf.DeltaPresence(people, low, high))
            title = f"({low}, {high})-presence against {PEOPLE:,} people, {search}: the search, CPU seconds"
            figures.append(figure(GROUP, title, seconds, checked=checks))
            times = f"{title}, times those of k = {K} by {plain}"
            figures.append(figure(GROUP, times, [median(seconds) / alone], "", target=TARGET))
    return figures


def _searched(table: pl.DataFrame, asked: dict[str, Any], criterion: Any) -> tuple[list[float], int]:
    """CPU seconds of counting and searching, as `solution.seconds` has those of the clock, and how many checks."""
    times, named = list[float](), {name: getattr(pipeline, name) for name in ("solve", "solve_population")}

    def timed(run: Any) -> Any:
        def seen(*given: Any) -> Any:
            began = time.process_time()
            found = run(*given)
            times.append(time.process_time() - began)
            return found

        return seen

    for name, run in named.items():
        setattr(pipeline, name, timed(run))
    try:
        found = warm(lambda: sf.anonymize(table, **asked, require=criterion).solution, RUNS)
    finally:
        for name, run in named.items():
            setattr(pipeline, name, run)
    return times[1:], found[0].checks
