"""Run the benchmarks: `python -m benchmarks` writes the results, with `--only NAME` it prints those of one group.

`--only NAME --merge` puts them in the place of the group's results in what was written last; the others stay.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence

from benchmarks import (
    baskets,
    cells,
    command_line,
    dp,
    first_use,
    fragments,
    masking,
    measures,
    memory,
    mining,
    mondrian,
    optimal,
    peers,
    populations,
    private_tables,
    query_control,
    republication,
    searches,
    streams,
    studio,
    studio_traces,
    synthesis,
    tabulation,
    threads,
)
from benchmarks.figures import Agreement, Comparison, Figure, say
from benchmarks.machine import facts, yardstick
from benchmarks.results import document, markdown, merged, save, saved

GROUPS: dict[str, Callable[[], Sequence[Figure | Comparison | Agreement]]] = {
    "optimal": optimal.run,
    "mondrian": mondrian.run,
    "searches": searches.run,
    "threads": threads.run,
    "masking": masking.run,
    streams.GROUP: streams.run,
    "synthesis": synthesis.run,
    baskets.GROUP: baskets.run,
    private_tables.GROUP: private_tables.run,
    "measures": measures.run,
    memory.GROUP: memory.run,
    fragments.GROUP: fragments.run,
    mining.GROUP: mining.run,
    cells.GROUP: cells.run,
    tabulation.GROUP: tabulation.run,
    republication.GROUP: republication.run,
    populations.GROUP: populations.run,
    dp.GROUP: dp.run,
    query_control.GROUP: query_control.run,
    "command line": command_line.run,
    "first use": first_use.run,
    studio.GROUP: studio.run,
    studio_traces.GROUP: studio_traces.run,
    "peers": peers.run,
}
# they are whole only with the peers' interpreter
BESIDE_PEERS = dict.fromkeys(("synthesis", "measures", "peers"), peers.PYTHON) | {dp.GROUP: dp.PYTHON}


def main() -> None:
    """Measure, then write or print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure speed and loss.")
    names = [name.replace(" ", "-") for name in GROUPS]
    parser.add_argument("--only", choices=names, help="measure one group and print its results")
    parser.add_argument("--merge", action="store_true", help="with --only: write them in the place of the last ones")
    given = parser.parse_args()
    if given.merge and not given.only:
        parser.error("--merge goes with --only; without it everything is written anew")
    chosen = [name for name in GROUPS if given.only in (None, name.replace(" ", "-"))]
    write = given.merge if given.only else True
    needed = dict.fromkeys(BESIDE_PEERS[name] for name in chosen if name in BESIDE_PEERS)
    if write and (absent := [name for name in needed if not os.environ.get(name)]):
        write = False
        say(f"{absent[0]} is not set, so the peers are left out and nothing is written; `make bench` sets it")
    yardsticks: dict[str, float] = {}
    figures: list[Figure] = []
    comparisons: list[Comparison] = []
    agreements: list[Agreement] = []
    for name in chosen:
        before = yardstick()
        say(f"{name}: np.sort of a million float64 takes {before:.1f} ms")
        for found in GROUPS[name]():
            if isinstance(found, Figure):
                figures.append(found)
            elif isinstance(found, Comparison):
                comparisons.append(found)
            else:
                agreements.append(found)
        yardsticks[name] = (before + yardstick()) / 2  # the machine may not be as quiet all the time
    results = document(facts(), yardsticks, figures, comparisons, agreements)
    if write:
        save(merged(saved(), results, list(GROUPS)) if given.only else results)
    print(markdown(results), end="")


if __name__ == "__main__":
    main()
