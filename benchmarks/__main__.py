"""Run the benchmarks: `python -m benchmarks` writes the results, with `--only NAME` it prints those of one group."""

from __future__ import annotations

import argparse

from benchmarks import command_line, mondrian, optimal, peers
from benchmarks.figures import Comparison, Figure, say
from benchmarks.machine import facts, yardstick
from benchmarks.results import document, markdown, save

GROUPS = {
    "optimal": optimal.run,
    "mondrian": mondrian.run,
    "command line": command_line.run,
    "peers": peers.run,
}


def main() -> None:
    """Measure, then write or print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure speed and loss.")
    names = [name.replace(" ", "-") for name in GROUPS]
    parser.add_argument("--only", choices=names, help="measure one group; print its results and write nothing")
    only = parser.parse_args().only
    yardsticks: dict[str, float] = {}
    figures: list[Figure] = []
    comparisons: list[Comparison] = []
    for name, run in GROUPS.items():
        if only and name.replace(" ", "-") != only:
            continue
        yardsticks[name] = yardstick()
        say(f"{name}: np.sort of a million float64 takes {yardsticks[name]:.1f} ms")
        for found in run():
            (figures if isinstance(found, Figure) else comparisons).append(found)  # type: ignore[arg-type]
    results = document(facts(), yardsticks, figures, comparisons)
    if not only:
        save(results)
    print(markdown(results), end="")


if __name__ == "__main__":
    main()
