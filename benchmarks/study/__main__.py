"""Repeat the study: `python -m benchmarks.study` runs everything, draws the plots and writes the results."""

from __future__ import annotations

import argparse
import sqlite3
import sys
import time
from pathlib import Path

from benchmarks.figures import say
from benchmarks.machine import facts, yardstick
from benchmarks.study import access, faults, figures, plots, random_cuts, results, sweeps, tables


def main() -> None:
    """Run, write, and say whether every published figure agrees."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.study", description="Repeat a 2024 study.")
    parser.add_argument("--redraw", action="store_true", help="run nothing: tables and plots anew from results.json")
    parser.add_argument("--to", type=Path, default=Path("out/study"), help="folder for the tables, as CSV")
    asked = parser.parse_args()
    asked.to.mkdir(parents=True, exist_ok=True)
    found = results.read() if asked.redraw else run(asked.to)
    results.save(found)
    results.save_tables(found, asked.to)
    plots.draw(found, results.DOCS / "study")
    print(results.markdown(found), end="")
    if not all(tables.verdicts(found)):
        sys.exit("study: a published figure does not agree")


def run(folder: Path) -> dict[str, object]:
    """Everything that the study did; the tables it releases go into a folder."""
    began, first = time.perf_counter(), yardstick()
    say("the published figures")
    found: dict[str, object] = {
        "machine": facts() | {"sqlite": sqlite3.sqlite_version},
        "samarati": [figures.compare(run, folder / f"samarati-{i}.csv") for i, run in enumerate(figures.SAMARATI, 1)],
        "minimal": figures.minimal(),
        "mondrian": [figures.compare(run, folder / f"mondrian-{i}.csv") for i, run in enumerate(figures.MONDRIAN, 1)],
        "defaults": figures.defaults(),
        "random": [
            figures.random_choices(draw, random_cuts.run(draw.case(), draw.numerator)) for draw in figures.DRAWS
        ],
    }
    say("the access test")
    found["access"] = access.run()
    say("the faults")
    found["faults"] = faults.run()
    say("the sweeps")
    found["sweeps"] = points = sweeps.run()
    found["loop"] = sweeps.same_loop(points)
    found["sort_1m_float64_ms"] = sorted([first, yardstick()])
    say(f"done in {time.perf_counter() - began:.0f} s")
    return results.plain(found)


if __name__ == "__main__":
    main()
