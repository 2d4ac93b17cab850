"""The three attackers: what each knows, and how often each finds a record, from the sizes of the classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.report.look import Manifest, table
from sfumato.report.markup import Markup, join, tag
from sfumato.report.markup import table as html_table
from sfumato.report.words import count, percent

THRESHOLDS = ((0.05, 20), (0.09, 12), (0.2, 5), (0.33, 4))  # a risk, and the least class whose records are not above
ATTACKERS = {
    "Prosecutor": "knows that one person is in the table",
    "Journalist": "does not know it; without a register of the population, counted as the prosecutor",
    "Marketer": "links every record, and counts how many links are right",
}


def attackers(entry: Manifest, before: Manifest | None = None) -> Markup | None:
    """The table of attackers for one set of quasi-identifiers; `before` are the classes of the original."""
    stages = [("", _figures(entry))] if before is None else [("before", _figures(before)), ("after", _figures(entry))]
    if any(found is None for _, found in stages):
        return None
    lines: list[list[object]] = []
    for who, knows in ATTACKERS.items():
        for i, (stage, found) in enumerate(stages):
            assert found is not None
            links = f"about {count(found['expected'], 'record')}" if who == "Marketer" else None
            said = ", ".join(filter(None, [knows if i == 0 else None, links]))
            lines.append([join([tag("b", who, tag("span", f" {stage}", class_="stage") if stage else None), said])])
            lines[-1] += _cells(who, found)
    head = ["Attacker", "Highest", "Average", *(f"Above {percent(limit)}" for limit, _ in THRESHOLDS)]
    return html_table(head, lines, "Risk by attacker, and the share of records above a risk", "stack figured")


def _cells(who: str, found: Mapping[str, Any]) -> list[str]:
    if who == "Marketer":
        return ["–", percent(found["average"]), *("–" for _ in THRESHOLDS)]
    return [percent(found["highest"]), percent(found["average"]), *(percent(share) for share in found["above"])]


def _figures(entry: Manifest) -> dict[str, Any] | None:
    """The figures that follow from how many classes there are of each size."""
    sizes = {int(size): n for size, n in table(entry, "sizes").items() if size.isdecimal() and isinstance(n, int)}
    rows = sum(size * n for size, n in sizes.items())
    if not rows:
        return None
    classes = sum(sizes.values())
    above = [sum(size * n for size, n in sizes.items() if size < least) / rows for _, least in THRESHOLDS]
    return {"highest": 1 / min(sizes), "average": classes / rows, "expected": classes, "above": above}
