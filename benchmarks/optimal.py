"""The optimal search on Adult with nine attributes: seconds from coded columns to the proven optimum."""

from __future__ import annotations

import math
from typing import Any

import sfumato as sf
from benchmarks.figures import Figure, cpu, figure, warm
from benchmarks.tables import nine

RUNS = 9
LOSSES = {"LM (geometric, all leaves)": sf.LM(aggregate="geometric", leaves="hierarchy"), "LM": sf.LM()}
TARGETS = {0.0: 0.007, 0.04: 0.1, 1.0: 0.33}


def run() -> list[Figure]:
    """k = 5 at three suppression limits, and entropy 3-diversity of occupation on the other eight attributes."""
    table, files = nine()
    eight = [name for name in table.columns if name != "occupation"]
    figures = []
    for name, loss in LOSSES.items():
        for limit, target in TARGETS.items():
            options = {"quasi": table.columns, "require": sf.KAnonymity(5), "suppression": limit, "loss": loss}
            about = f"optimal k=5, 9 attributes, suppression {limit:.0%}, {name}"
            figures.append(_search(about, target, table, options, files))
        require = [sf.KAnonymity(5), sf.EntropyLDiversity("occupation", 3)]
        options = {"quasi": eight, "require": require, "suppression": 0.04, "loss": loss}
        about = f"optimal k=5 and entropy 3-diversity, 8 attributes, suppression 4%, {name}"
        figures.append(_search(about, 0.05, table, options, files))
    options = {"quasi": table.columns, "k": 5, "search": "optimal", "hierarchies": files, "ends": "exact"}
    spent = [cpu(lambda: sf.anonymize(table, **options))[0] for _ in range(RUNS)]
    about = "optimal k=5, 9 attributes, suppression 0%: anonymize with verify, CPU seconds"
    return [*figures, figure("optimal", about, spent, target=0.02)]


def _search(name: str, target: float, table: Any, options: dict[str, Any], files: dict[str, str]) -> Figure:
    files = {column: files[column] for column in options["quasi"]}
    releases = warm(lambda: sf.anonymize(table, **options, search="optimal", hierarchies=files, ends="exact"), RUNS)
    solution, micro = releases[0].solution, releases[0].microdata
    lattice = math.prod(micro.attribute(column).ladder.levels for column in options["quasi"])
    return figure(
        "optimal",
        name,
        [release.solution.seconds for release in releases],
        target=target,
        nodes_checked=solution.checks,
        lattice=lattice,
        loss=solution.verdict.loss,
        suppressed=solution.verdict.suppressed,
        optimal=solution.optimal,
    )
