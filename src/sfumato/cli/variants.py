"""sfumato list: what there is to choose from, with parameters and papers."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sfumato.cli import options
from sfumato.cli.console import say, say_json

if TYPE_CHECKING:
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
    queries = "queries"
    risks = "risks"
    utilities = "utilities"
    attacks = "attacks"


def list_variants(
    kind: Annotated[Kind | None, typer.Argument(help="Which table; all if not given.", metavar="TABLE")] = None,
    as_json: options.Json = False,
) -> int:
    """List models of privacy and of tables, losses, searches, maskers, queries, measures and attacks, with papers."""
    found = {str(k): _rows(k) for k in ([kind] if kind else list(Kind))}
    if as_json:
        say_json(found)
        return 0
    for table, rows in found.items():
        say(table)
        for row in rows:
            cite = f" [{row['cite']}]" if row["cite"] else ""
            say(f"  {' '.join([row['name'], *row['parameters']])}")
            say(f"      {row['summary']}{cite}")
    return 0


def _rows(kind: Kind) -> list[dict[str, Any]]:
    from sfumato.criteria import CRITERIA
    from sfumato.dp.queries import QUERIES
    from sfumato.errors import PolicyError
    from sfumato.hierarchies import HIERARCHIES
    from sfumato.losses import LOSSES
    from sfumato.masking import MASKERS
    from sfumato.measures.attacks import ATTACKS
    from sfumato.measures.risk import RISKS
    from sfumato.measures.utility import UTILITIES
    from sfumato.pseudonyms import PSEUDONYMS
    from sfumato.search import SEARCHES
    from sfumato.synthetic import GENERATORS

    tables: dict[str, Mapping[str, Variant[Any]]] = {
        "criteria": CRITERIA,
        "losses": LOSSES,
        "searches": SEARCHES,
        "hierarchies": HIERARCHIES,
        "maskers": MASKERS,
        "pseudonyms": PSEUDONYMS,
        "generators": GENERATORS,
        "queries": QUERIES,
    }
    tables |= {"risks": RISKS, "utilities": UTILITIES, "attacks": ATTACKS}
    rows = []
    for name in tables[kind]:
        try:
            v = tables[kind][name]
            rows.append({"name": name, "parameters": _parameters(v.make), "summary": v.summary, "cite": v.cite})
        except PolicyError as broken:  # of a package that cannot be loaded; the others are listed all the same
            rows.append({"name": name, "parameters": [], "summary": str(broken), "cite": ""})
    return rows


def _parameters(make: Callable[..., Any]) -> list[str]:
    """Parameters in order: those that must be given by name, the others with their defaults."""
    return [
        f"*{name}" if p.kind is p.VAR_POSITIONAL else name if p.default is p.empty else f"{name}={p.default}"
        for name, p in inspect.signature(make).parameters.items()
    ]
