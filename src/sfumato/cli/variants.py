"""sfumato list: what there is to choose from, with parameters and papers."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import options
from sfumato.cli.console import say, say_json, say_table

if TYPE_CHECKING:
    from sfumato.core.forms import Parameter
    from sfumato.core.registry import Variant


class Kind(StrEnum):
    """The tables of variants."""

    criteria = "criteria"
    losses = "losses"
    searches = "searches"
    hierarchies = "hierarchies"
    maskers = "maskers"
    pseudonyms = "pseudonyms"
    generators = "generators"
    set_promises = "set_promises"
    basket_searches = "basket_searches"
    miners = "miners"
    rules = "rules"
    protections = "protections"
    streams = "streams"
    queries = "queries"
    controls = "controls"
    risks = "risks"
    utilities = "utilities"
    attacks = "attacks"
    query_attacks = "query_attacks"


def list_variants(
    kind: Annotated[Kind | None, typer.Argument(help="Which table; all if not given.", metavar="TABLE")] = None,
    name: Annotated[str | None, typer.Argument(help="One of it, with all of its parameters.", metavar="NAME")] = None,
    as_json: options.Json = False,
) -> int:
    """List models of privacy and of tables, losses, searches, maskers, queries, measures and attacks, with papers."""
    found = {str(k): _rows(k, name) for k in ([kind] if kind else list(Kind))}
    if as_json:
        say_json({table: [_plain(row) for row in rows] for table, rows in found.items()})
        return 0
    for table, rows in found.items():
        if name is None:
            say(table)
        for row in rows:
            cite = f" [{row['cite']}]" if row["cite"] else ""
            if name is not None:
                say(f"{row['name']}: {row['summary']}{cite}")
                _say_parameters(row["parameters"])
                continue
            say(f"  {' '.join([row['name'], *map(_short, row['parameters'])])}")
            say(f"      {row['summary']}{cite}")
    return 0


def variant_tables() -> dict[str, Mapping[str, Variant[Any]]]:
    """The tables of variants by name."""
    from sfumato.control import QUERY_CONTROLS
    from sfumato.control.attacks import QUERY_ATTACKS
    from sfumato.criteria import CRITERIA
    from sfumato.criteria.sets import SET_PROMISES
    from sfumato.dp.queries import QUERIES
    from sfumato.hierarchies import HIERARCHIES
    from sfumato.losses import LOSSES
    from sfumato.masking import MASKERS
    from sfumato.measures.attacks import ATTACKS
    from sfumato.measures.risk import RISKS
    from sfumato.measures.utility import UTILITIES
    from sfumato.mining import MINERS
    from sfumato.pseudonyms import PSEUDONYMS
    from sfumato.relational import BASKET_SEARCHES
    from sfumato.search import SEARCHES
    from sfumato.series.streams import STREAMS
    from sfumato.synthetic import GENERATORS
    from sfumato.tables import CELL_RULES, PROTECTIONS

    return {
        "criteria": CRITERIA,
        "losses": LOSSES,
        "searches": SEARCHES,
        "hierarchies": HIERARCHIES,
        "maskers": MASKERS,
        "pseudonyms": PSEUDONYMS,
        "generators": GENERATORS,
        "set_promises": SET_PROMISES,
        "basket_searches": BASKET_SEARCHES,
        "miners": MINERS,
        "rules": CELL_RULES,
        "protections": PROTECTIONS,
        "streams": STREAMS,
        "queries": QUERIES,
        "controls": QUERY_CONTROLS,
        "risks": RISKS,
        "utilities": UTILITIES,
        "attacks": ATTACKS,
        "query_attacks": QUERY_ATTACKS,
    }


def _rows(kind: Kind, name: str | None) -> list[dict[str, Any]]:
    from sfumato.core.parameters import one_of
    from sfumato.errors import PolicyError

    tables = variant_tables()
    rows = []
    for one in tables[kind] if name is None else [one_of(name, f"name among {kind}", tables[kind])]:
        try:
            v = tables[kind][one]
            rows.append({"name": one, "parameters": v.parameters, "summary": v.summary, "cite": v.cite})
        except PolicyError as broken:  # of a package that cannot be loaded; the others are listed all the same
            rows.append({"name": one, "parameters": (), "summary": str(broken), "cite": ""})
    return rows


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "parameters": [parameter.to_dict() for parameter in row["parameters"]]}


def _short(parameter: Parameter) -> str:
    """A parameter in a line: with its default, unless it must be given."""
    if parameter.many:
        return f"*{parameter.name}"
    return parameter.name if parameter.required else f"{parameter.name}={parameter.default}"


def _say_parameters(parameters: tuple[Parameter, ...]) -> None:
    if not parameters:
        say("It takes no parameters.")
        return
    rows = [
        (
            p.name,
            p.allowed,
            "any number of them" if p.many else "must be given" if p.required else _default(p.default),
            p.help,
        )
        for p in parameters
    ]
    say_table(("parameter", "allowed", "default", "what it is"), rows)


def _default(value: Any) -> str:
    from sfumato.core.wording import parameter

    return "" if value is None or value == () else parameter(value)
