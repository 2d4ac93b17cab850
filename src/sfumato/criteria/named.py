"""Criteria by name: from the values of a policy file or manifest, and from a line of the shell."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from sfumato.core.forms import make_variant
from sfumato.core.registry import Variant
from sfumato.core.wording import from_flag, scalar
from sfumato.errors import PolicyError

KINDS = {"choice": "text", "column": "text", "path": "text", "columns": "list"}  # as the shell writes them


def read_line(table: Mapping[str, Variant[Any]], text: str) -> Any:
    """The criterion that a line of the shell asks for."""
    try:
        words = shlex.split(text)
    except ValueError:
        raise PolicyError("a requirement has an opening quote without a closing one", hint=_HINT) from None
    if not words:
        raise PolicyError("a requirement is empty", allowed=", ".join(table), hint=_HINT)
    name, *rest = words
    if name not in table:
        make_variant(table, "privacy model", name, {})
    fields = {parameter.name: parameter for parameter in table[name].parameters}
    kinds = {field: KINDS.get(parameter.type, parameter.type) for field, parameter in fields.items()}
    in_order = [f for f in fields if f != "quasi"]  # which is given by name only
    parameters: dict[str, Any] = {}
    for word in rest:
        key, equals, value = word.partition("=")
        if not (equals and key.isidentifier()):  # no keyword: the next parameter in order
            free = [f for f in in_order if f not in parameters or kinds[f] == "list"]
            if not free:
                raise PolicyError(f"{name}: more than {len(in_order)} parameters are given", allowed=", ".join(fields))
            key, value = free[0], word
        elif key in parameters and kinds.get(key) not in ("list", "mapping"):
            raise PolicyError(f'{name}: parameter "{key}" is given twice')
        before = parameters.get(key)
        of_columns = key == "quasi" and kinds.get(key) == "list"
        parameters[key] = [*(before or []), *from_flag(value)] if of_columns else _given(value, kinds.get(key), before)
    return make_variant(table, "privacy model", name, parameters)


def _given(value: str, kind: str | None, before: Any) -> Any:
    """A word as its parameter takes it, with what was given of that before; a mapping is given as value=number."""
    if kind == "list":
        return [*(before or []), value]
    if kind != "mapping":
        return value if kind == "text" else scalar(value)
    name, equals, number = value.rpartition("=")
    if equals and not isinstance(scalar(number), str):
        return {**(before if isinstance(before, dict) else {}), name: scalar(number)}
    return value  # a file


_HINT = 'write for example "k-anonymity 10" or "entropy-l-diversity \'main diagnosis\' 3"'
