"""Run the benchmarks: `python -m benchmarks` writes the results, with `--only NAME` it prints those of one group."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence

from benchmarks import command_line, mondrian, optimal, peers, searches
from benchmarks.figures import Comparison, Figure, say
from benchmarks.machine import facts, yardstick
from benchmarks.results import document, markdown, save

GROUPS: dict[str, Callable[[], Sequence[Figure | Comparison]]] = {
    "optimal": optimal.run,
    "mondrian": mondrian.run,
    "searches": searches.run,
    "command line": command_line.run,
    "peers": peers.run,
}


def main() -> None:
    """Measure, then write or print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure speed and loss.")
    names = [name.replace(" ", "-") for name in GROUPS]
    parser.add_argument("--only", choices=names, help="measure one group; print its results and write nothing")
    only = parser.parse_args().only
    whole = not only and bool(os.environ.get(peers.PYTHON))
    if not only and not whole:
        say(f"{peers.PYTHON} is not set, so the peers are left out and nothing is written; `make bench` sets it")
    yardsticks: dict[str, float] = {}
    figures: list[Figure] = []
    comparisons: list[Comparison] = []
    for name, run in GROUPS.items():
        if only and name.replace(" ", "-") != only:
            continue
        before = yardstick()
        say(f"{name}: np.sort of a million float64 takes {before:.1f} ms")
        for found in run():
            if isinstance(found, Figure):
                figures.append(found)
            else:
                comparisons.append(found)
        yardsticks[name] = (before + yardstick()) / 2  # the machine may not be as quiet all the time
    results = document(facts(), yardsticks, figures, comparisons)
    if whole:
        save(results)
    print(markdown(results), end="")


if __name__ == "__main__":
    main()
