"""How the release was made: the search, its parameters, the hierarchies and their levels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sfumato.report.look import Manifest, look, promises, quasi, rows, table
from sfumato.report.markup import Markup, facts, join, name, names, section, tag
from sfumato.report.markup import table as html_table
from sfumato.report.words import LOSSES, SEARCHES, count, model, number, parameter, percent

RECODINGS = {
    "partition": "local: every class has ranges and sets of its own",
    "levels": "global: one level of the hierarchy per column",
    "columns": "global: one label per value of a column",
}
ENDS = {
    "rounded": "rounded outward to a step, so that they are not the values of people",
    "exact": "exact: each is the value of somebody in the class",
}
OPTIMAL = {True: "yes: no better one exists for this method and loss", False: "not claimed"}


def method(manifest: Manifest) -> Markup:
    """The section of method and parameters."""
    asked = [_as_promise(one) for one in rows(manifest, "policy", "require")] or promises(manifest)
    recoding, optimal = look(manifest, "solution", "recoding"), look(manifest, "solution", "optimal")
    pairs = [
        ("Search", _variant(look(manifest, "policy", "search"), SEARCHES)),
        ("Picked because", _chosen(look(manifest, "policy", "chosen"))),
        ("Recoding", RECODINGS.get(str(recoding), recoding)),
        ("Optimal", OPTIMAL.get(optimal) if isinstance(optimal, bool) else None),
        ("Proven", look(manifest, "solution", "proven")),
        ("Required", join([model(one) for one in asked], tag("br")) or None),
        ("Quasi-identifiers", join([names(one, most=99) for one in quasi(manifest)], tag("br")) or None),
        ("Loss to keep small", _variant(look(manifest, "policy", "loss"), LOSSES)),
        ("Ends of ranges", ENDS.get(str(look(manifest, "policy", "ends")))),
        ("Suppression allowed", _limit(look(manifest, "policy", "suppression"))),
    ]
    return section("method", "Method and parameters", facts(pairs, "record"), _hierarchies(manifest))


def _as_promise(asked: Any) -> dict[str, Any]:
    given = dict(asked) if isinstance(asked, Mapping) else {"model": asked}
    return {"model": given.pop("model", None), "parameters": given}


def _variant(given: Any, known: Mapping[str, str]) -> str | None:
    """A search or a loss: what it is, and the parameters it was given."""
    given = dict(given) if isinstance(given, Mapping) else {"name": given}
    title = given.pop("name", None)
    more = [f"{key} = {parameter(value)}" for key, value in given.items() if value is not None]
    return None if title is None else "; ".join([known.get(str(title), str(title)), *more])


def _chosen(chosen: Any) -> str | None:
    """Why the search was picked, and the runner-up, where it was not asked for."""
    if not isinstance(chosen, Mapping):
        return None
    return f"{chosen.get('why')}; runner-up {chosen.get('runner_up')}"


def _limit(limit: Any) -> str | None:
    if limit is None:
        return None
    return f"{percent(limit)} of the rows" if isinstance(limit, float) else count(limit, "row")


def _hierarchies(manifest: Manifest) -> Markup | None:
    used, allowed = table(manifest, "policy", "hierarchies"), table(manifest, "policy", "levels")
    chosen = table(manifest, "solution", "levels")
    columns = list(dict.fromkeys([*chosen, *used, *allowed]))
    if not columns:
        return None
    head: list[str] = ["Column", "Hierarchy"]
    lines: list[list[object]] = [[name(column), used.get(column) or "none given"] for column in columns]
    for title, source in (("Levels allowed", allowed), ("Level chosen", chosen)):
        if source:
            head.append(title)
            lines = [[*line, _level(source.get(column))] for line, column in zip(lines, columns, strict=True)]
    return html_table(head, lines, "Hierarchies, from the value itself (level 0) up to everything alike", "stack")


def _level(level: Any) -> str:
    if isinstance(level, list | tuple):
        return " to ".join("–" if one is None else number(one) for one in level)
    return "–" if level is None else number(level)
