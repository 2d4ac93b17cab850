"""The study's sweeps over k and maxsup: loss and time of every method on both tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import sfumato as sf
from benchmarks.figures import say, warm
from benchmarks.study import inputs, published
from benchmarks.study.figures import FIRST, PLAIN
from benchmarks.study.inputs import Case, release
from sfumato.search.lattice.samarati import Samarati

KS = (*range(3, 184, 20), 200, 230, 260, 290, 320)
MAXSUPS = 0, 10, 20, 50, 80, 100, 150, 200, 300
TIMES = 5  # the least of them counts: what else the machine does only adds
FULL_DOMAIN = {
    "Samarati": Samarati(),
    "Samarati by distance vectors": Samarati(by="vectors"),
    "least loss": sf.Optimal(),
}
MONDRIAN = {"plain cut": PLAIN, "plain cut, first column": FIRST, "balanced cut": sf.Mondrian()}


def run() -> list[dict[str, Any]]:
    """All points: data, method, what is swept, its value, vector, suppressed, classes, loss, seconds."""
    adult, bank = inputs.adult(), inputs.bank()
    found = []
    for case in (adult, bank):
        found += sweep(case, FULL_DOMAIN, "k", KS)
        found += sweep(case, FULL_DOMAIN, "maxsup", MAXSUPS)
    for case in (inputs.adult_numbers(), inputs.bank_plain()):
        found += sweep(case, MONDRIAN, "k", KS)
    return found + as_published("k", KS) + as_published("maxsup", MAXSUPS)


def sweep(case: Case, methods: Mapping[str, Any], over: str, values: tuple[int, ...]) -> list[dict[str, Any]]:
    """One parameter of a case varied, the other as the study's run has it."""
    found = []
    for name, search in methods.items():
        say(f"  {case.name}, {name}, over {over}")
        for value in values:
            found.append(
                {"data": case.name, "method": name, "over": over, "at": value} | point(case, search, over, value)
            )
    return found


def point(case: Case, search: Any, over: str, value: int) -> dict[str, Any]:
    """Loss and time of one setting; every release on the way is verified."""
    call: Callable[[], sf.Release] = lambda: release(case, search, **{over: value})  # noqa: E731
    runs = warm(call, TIMES)
    solution, levels = runs[0].solution, runs[0].solution.levels
    return {
        "vector": None if levels is None else tuple(levels.values()),
        "suppressed": solution.verdict.suppressed,
        "classes": runs[0].verification.classes[0]["classes"],
        "checks": solution.checks,
        "loss": solution.verdict.loss,
        "seconds": min(done.solution.seconds for done in runs),
    }


def as_published(over: str, values: tuple[int, ...]) -> list[dict[str, Any]]:
    """Bank as the study's program ran it, valid or not."""
    case = inputs.bank_as_read()
    columns, found = published.ladders(case), []
    for value in values:
        asked = {"k": case.k, "maxsup": case.maxsup} | {over: value}
        end = published.samarati(columns, **asked)
        found.append(
            {
                "data": case.name,
                "method": "as published",
                "over": over,
                "at": value,
                "vector": end.vector,
                "suppressed": end.small if end.small <= asked["maxsup"] else 0,
                "loss": end.loss,
                "valid": end.small <= asked["maxsup"],
            }
        )
    return found


def same_loop(found: list[dict[str, Any]]) -> dict[str, int]:
    """In how many settings of the sweeps the study's loop, written plainly, ends where ours does, by both methods."""
    same = settings = 0
    for case in (inputs.adult(), inputs.bank()):
        columns = published.ladders(case)
        ours = [p for p in found if p["data"] == case.name and p["method"].startswith("Samarati")]
        for over, value in dict.fromkeys((p["over"], p["at"]) for p in ours):
            end = published.samarati(columns, **({"k": case.k, "maxsup": case.maxsup} | {over: value}))
            points = [p for p in ours if (p["over"], p["at"]) == (over, value)]
            settings += 1
            same += all(
                (tuple(p["vector"]), p["suppressed"]) == (end.vector, end.small) and abs(p["loss"] - end.loss) <= 1e-9
                for p in points
            )
    return {"same": same, "settings": settings}
