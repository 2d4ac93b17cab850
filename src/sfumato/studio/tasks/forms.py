"""The variants of a registry as forms show them, and what was filled in as a policy takes it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sfumato.core.forms import Parameter, faults_of, fill, read_text
from sfumato.core.registry import Variant
from sfumato.errors import PolicyError


def variants(kind: str, progress: Any) -> dict[str, Any]:
    """The variants of a registry by name: what a report calls them, what they are, and their parameters."""
    from sfumato.report.manifest import titled
    from sfumato.report.sections.disclosure import KINDS, PROMISED

    table, found = _table(kind), {}
    for name in table:
        try:
            variant = table[name]
        except PolicyError:  # of a package that cannot be loaded; `sfumato list` says why
            continue
        example, named = variant.example, {one.name for one in variant.parameters}
        if kind == "searches" and example.fragments:  # its release is several tables, which no screen shows
            continue
        found[name] = {
            "title": titled(table, name),
            "summary": _plain(variant),
            "cite": variant.cite,
            "stops": variant.stops,
            "leaves": variant.leaves or ("" if "leaves" in named else getattr(example, "leaves", "")),
            "private": bool(getattr(example, "private", False)),
            "pseudonymous": bool(getattr(example, "pseudonymous", False)),
            "kinds": {kind: KINDS[kind] for kind in PROMISED.get(name, ())},
            "parameters": [{**one.to_dict(), "allowed": one.allowed} for one in variant.parameters],
            "example": example.parameters() if hasattr(example, "parameters") else {},
            "code": getattr(example, "code", ""),
        }
    return found


def _table(kind: str) -> Mapping[str, Variant[Any]]:
    """A registry by its name; "steps" are those of masking, pseudonyms included, and "verbs" have settings of their
    own beside a registry's."""
    from sfumato.cli.variants import variant_tables

    if kind == "steps":
        from sfumato.verbs.steps import STEPS

        return STEPS
    if kind == "verbs":
        from sfumato.dp.account import Account
        from sfumato.verbs.synthesize import synthesize

        return {"synthesize": Variant(synthesize, None), "account": Variant(Account, None)}
    return variant_tables()[kind]


def _plain(variant: Any) -> str:
    """Its first line, without the code and the guarantee that end that of a search."""
    return re.sub(r" \([^()]*, [^()]*\)\.$", ".", variant.summary)


def filled(kind: str, name: str, given: Mapping[str, Any], progress: Any) -> dict[str, Any]:
    """What fields hold as plain values of a policy, and what is wrong with them, by parameter."""
    variant = _table(kind)[name]
    known = {one.name: one for one in variant.parameters}
    values = {key: _value(known[key], value) for key, value in given.items()}
    if kind == "verbs" and not isinstance(variant.make, type):  # which is not called here
        faults = [one for one in faults_of(name, variant, values) if one[0] is not None]
    else:
        _, faults = fill(name, variant, values)
    return {"values": values, "faults": faults}


def _value(parameter: Parameter, value: Any) -> Any:
    """What stands in a field, as the parameter takes it."""
    if isinstance(value, float) and value.is_integer() and parameter.type == "whole number":
        return int(value)  # as a field of numbers has them
    number = parameter.type in ("whole number", "number") and not parameter.choices and not parameter.many
    return read_text(parameter, value) if isinstance(value, str) and not number else value
