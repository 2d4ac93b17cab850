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
METHODS: dict[str, Any] = {
    DEFAULT: "auto",
    "refined, 15 s": sf.Refined(seconds=15),
    "refined, hierarchy labels": sf.Refined(labels="hierarchy"),
    "iterated, ranges": sf.Iterated(labels="ranges"),
    "iterated": "iterated",
    "iterated in rounds of 5%": sf.Iterated(share=0.05),
    "forest-generalisation": "forest-generalisation",
    "k-member": "k-member",
    "k-member, blocks of 1,000": sf.KMember(block=1000),
    "top-down": "top-down",
    "bottom-up": "bottom-up",
    "one-pass-k-means": "one-pass-k-means",
    "alpha-k-local": "alpha-k-local",
    YARDSTICK: "mondrian",
    "mondrian, cut at the best balance": sf.Mondrian(cut="best"),
    "mondrian, relaxed": sf.Mondrian(relaxed=True),
    "mondrian, least NCP": sf.Mondrian(dimension="ncp"),
    "mondrian, optimised order": sf.Mondrian(categories="optimised"),
    "mondrian, all three": sf.Mondrian(relaxed=True, dimension="ncp", categories="optimised"),
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
