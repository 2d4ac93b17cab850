"""Criteria by name: from the values of a policy file or manifest, and from a line of the shell."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping
from typing import Any

from sfumato.core.registry import Variant
from sfumato.errors import PolicyError, did_you_mean


def build(table: Mapping[str, Variant], name: str, parameters: Mapping[str, object]) -> Any:
    """The criterion of that name; unknown names, and unknown and missing parameters, are told together."""
    fields = _fields(table, name)
    faults = [
        f'unknown parameter "{given}"' + (f"; {hint}" if (hint := did_you_mean(given, fields)) else "")
        for given in parameters
        if given not in fields
    ]
    faults += [f'missing parameter "{f}"' for f, needed in fields.items() if needed and f not in parameters]
    if faults:
        raise PolicyError(f"{name} cannot be built from these parameters", faults, allowed=", ".join(fields))
    return table[name].make(**parameters)


def read_line(table: Mapping[str, Variant], text: str) -> Any:
    """The criterion that a line of the shell asks for."""
    try:
        words = shlex.split(text)
    except ValueError:
        raise PolicyError("a requirement has an opening quote without a closing one", hint=_HINT) from None
    if not words:
        raise PolicyError("a requirement is empty", allowed=", ".join(table), hint=_HINT)
    name, *rest = words
    fields = list(_fields(table, name))
    parameters: dict[str, Any] = {}
    for word in rest:
        key, equals, value = word.partition("=")
        if not (equals and key.isidentifier()):  # no keyword: the next parameter in order
            free = [f for f in fields if f not in parameters or f == "values"]
            if not free:
                raise PolicyError(f"{name}: more than {len(fields)} parameters are given", allowed=", ".join(fields))
            key, value = free[0], word
        elif key in parameters and key != "values":
            raise PolicyError(f'{name}: parameter "{key}" is given twice')
        parameters[key] = [*parameters.get(key, []), value] if key == "values" else _number(key, value)
    return build(table, name, parameters)


_HINT = 'write for example "k-anonymity 10" or "entropy-l-diversity \'main diagnosis\' 3"'
_TEXTS = {"attribute", "distance", "kind", "absent", "estimator"}


def _fields(table: Mapping[str, Variant], name: str) -> dict[str, bool]:
    """The parameters of a criterion in order, and whether each must be given."""
    if name not in table:
        raise PolicyError(f'unknown privacy model "{name}"', allowed=", ".join(table), hint=did_you_mean(name, table))
    return {f.name: f.default is dataclasses.MISSING for f in dataclasses.fields(table[name].make)}  # type: ignore[arg-type]


def _number(key: str, value: str) -> str | int | float:
    """A number where the parameter is one; a text that is no number is left for the criterion to refuse."""
    if key in _TEXTS:
        return value
    for kind in (int, float):
        try:
            return kind(value) if "_" not in value else value
        except ValueError:
            continue
    return value
