"""The variants of a registry as forms show them, and what was filled in as a policy takes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sfumato.cli.variants import variant_tables
from sfumato.core.forms import fill, read_text
from sfumato.errors import PolicyError


def variants(kind: str, progress: Any) -> dict[str, Any]:
    """The variants of a registry by name: what a report calls them, what they are, and their parameters."""
    from sfumato.report.manifest import titled
    from sfumato.report.sections.disclosure import KINDS, PROMISED

    table, found = variant_tables()[kind], {}
    for name in table:
        try:
            variant = table[name]
        except PolicyError:  # of a package that cannot be loaded; `sfumato list` says why
            continue
        example = variant.example
        found[name] = {
            "title": titled(table, name),
            "summary": _plain(variant),
            "cite": variant.cite,
            "stops": variant.stops,
            "leaves": variant.leaves,
            "kinds": {kind: KINDS[kind] for kind in PROMISED.get(name, ())},
            "parameters": [{**one.to_dict(), "allowed": one.allowed} for one in variant.parameters],
            "example": example.parameters() if hasattr(example, "parameters") else {},
            "code": getattr(example, "code", ""),
        }
    return found


def _plain(variant: Any) -> str:
    """Its first line, without the code and the guarantee that end that of a search."""
    return re.sub(r" \([^()]*, [^()]*\)\.$", ".", variant.summary)


def filled(kind: str, name: str, given: Mapping[str, Any], progress: Any) -> dict[str, Any]:
    """What fields hold as plain values of a policy, and what is wrong with them, by parameter."""
    variant = variant_tables()[kind][name]
    known = {one.name: one for one in variant.parameters}
    typed = {key for key, one in known.items() if one.type not in ("whole number", "number") or one.choices}
    values = {
        key: read_text(known[key], value) if isinstance(value, str) and key in typed else value
        for key, value in given.items()
    }
    _, faults = fill(name, variant, values)
    return {"values": values, "faults": faults}
