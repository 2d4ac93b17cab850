"""Measure quality: `python -m benchmarks.quality` runs every method and writes results.json and docs/quality.md."""

from __future__ import annotations

import argparse
import sys
import time

from benchmarks.figures import say
from benchmarks.machine import facts, yardstick
from benchmarks.quality import methods, results, yardsticks


def main() -> None:
    """Run, write, and say what was not reached."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.quality", description="What each method loses.")
    parser.add_argument("--redraw", action="store_true", help="run nothing: the page anew from results.json")
    found = results.read() if parser.parse_args().redraw else run()
    results.save(found)
    print(results.markdown(found), end="")
    if faults := results.missed(found):
        sys.exit("quality: not reached: " + "; ".join(faults))


def run() -> dict[str, object]:
    """Everything."""
    began, first = time.perf_counter(), yardstick()
    found: dict[str, object] = {
        "machine": facts(),
        "nine": yardsticks.nine_attributes(),
        "speeds": yardsticks.speeds(),
        "methods": methods.run(),
    }
    found["sort_1m_float64_ms"] = sorted([first, yardstick()])
    say(f"done in {time.perf_counter() - began:.0f} s")
    return found


if __name__ == "__main__":
    main()
