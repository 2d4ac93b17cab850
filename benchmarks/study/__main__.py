"""Repeat the study: `python -m benchmarks.study` runs everything, draws the plots and writes the results."""

from __future__ import annotations

import argparse
import sqlite3
import sys
import time

from benchmarks.figures import say
from benchmarks.machine import facts, yardstick
from benchmarks.study import access, faults, figures, inputs, plots, random_cuts, results, sweeps, tables


def main() -> None:
    """Run, write, and say whether every published figure agrees."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.study", description="Repeat a 2024 study.")
    parser.add_argument("--redraw", action="store_true", help="run nothing: tables and plots anew from results.json")
    found = results.read() if parser.parse_args().redraw else run()
    results.save(found)
    plots.draw(found, results.DOCS / "study")
    print(results.markdown(found), end="")
    if not all(tables.verdicts(found)):
        sys.exit("study: a published figure does not agree")


def run() -> dict[str, object]:
    """Everything that the study did."""
    began, first = time.perf_counter(), yardstick()
    say("the published figures")
    found: dict[str, object] = {
        "machine": facts() | {"sqlite": sqlite3.sqlite_version},
        "samarati": [figures.compare(run) for run in figures.SAMARATI],
        "minimal": figures.minimal(),
        "mondrian": [figures.compare(run) for run in figures.MONDRIAN],
        "random": figures.random_choices(random_cuts.run(inputs.adult_numbers())),
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
