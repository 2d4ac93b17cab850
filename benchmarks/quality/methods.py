"""Every method on Adult: GCP at six k, all attributes but occupation, nothing suppressed."""

from __future__ import annotations

from typing import Any

import sfumato as sf
from benchmarks.figures import say
from benchmarks.tables import nine
from sfumato.errors import SfumatoError

KS = (2, 5, 10, 25, 50, 100)
YARDSTICK = "mondrian"
DEFAULT = "default"
RANGES = "default, labels as ranges"
METHODS: dict[str, Any] = {
    DEFAULT: "auto",
    RANGES: sf.Automatic(labels="ranges"),
    "refined, 15 s": sf.Refined(seconds=15, labels="ranges"),
    "iterated, ranges": sf.Iterated(labels="ranges"),
    "iterated": "iterated",
    "iterated in rounds of 5%": sf.Iterated(share=0.05),
    "forest-generalisation": sf.ForestGeneralisation(labels="ranges"),
    "k-member": sf.KMember(labels="ranges"),
    "k-member, blocks of 1,000": sf.KMember(block=1000, labels="ranges"),
    "top-down": sf.TopDown(labels="ranges"),
    "bottom-up": sf.BottomUp(labels="ranges"),
    "one-pass-k-means": sf.OnePassKMeans(labels="ranges"),
    "mdav": "mdav",
    "refined-microaggregation": "refined-microaggregation",
    "alpha-k-local": "alpha-k-local",
    YARDSTICK: sf.Mondrian(labels="ranges"),
    "mondrian, cut at the best balance": sf.Mondrian(cut="best", labels="ranges"),
    "mondrian, relaxed": sf.Mondrian(relaxed=True, labels="ranges"),
    "mondrian, least NCP": sf.Mondrian(dimension="ncp", labels="ranges"),
    "mondrian, optimised order": sf.Mondrian(categories="optimised", labels="ranges"),
    "mondrian, all three": sf.Mondrian(relaxed=True, dimension="ncp", categories="optimised", labels="ranges"),
    "minimal-suppression": "minimal-suppression",
    "forest-suppression": "forest-suppression",
    "greedy-suppression": "greedy-suppression",
    "genetic, 5 s": sf.Genetic(seconds=5),
    "annealing, 5 s": sf.Annealing(seconds=5),
    "tds": "tds",
    "mu-argus": "mu-argus",
    "optimal": "optimal",
}


def run() -> list[dict[str, Any]]:
    """The loss and the seconds of each method at each k, after a run that compiles it."""
    table, files = nine()
    columns = [name for name in table.columns if name != "occupation"]
    table, files = table.select(columns), {name: files[name] for name in columns}
    found = []
    for name, search in METHODS.items():
        say(name)
        sf.anonymize(table[:500], quasi=columns, require=sf.KAnonymity(5), hierarchies=files, loss="ncp", search=search)
        for k in KS:
            found.append({"method": name, "k": k} | _one(table, columns, files, search, k))
    return found


def _one(table: Any, columns: list[str], files: dict[str, str], search: Any, k: int) -> dict[str, Any]:
    try:
        release = sf.anonymize(
            table, quasi=columns, require=sf.KAnonymity(k), hierarchies=files, loss="ncp", search=search, ends="exact"
        )
    except SfumatoError as no:
        return {"loss": None, "seconds": None, "why": type(no).__name__}
    solution = release.solution
    return {"loss": solution.verdict.loss, "seconds": solution.seconds}
