"""Criteria by name: from the values of a policy file or manifest, and from a line of the shell."""

from __future__ import annotations

import dataclasses
import inspect
import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from sfumato.core.parameters import column_set
from sfumato.core.registry import Variant
from sfumato.core.wording import from_flag, scalar
from sfumato.errors import PolicyError, did_you_mean


def build(table: Mapping[str, Variant[Any]], name: str, parameters: Mapping[str, object]) -> Any:
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
    if isinstance(parameters.get("quasi"), list):  # a model of another package may not make a set of it
        parameters = {**parameters, "quasi": column_set(parameters["quasi"], f"{name}: quasi")}
    try:
        return table[name].make(**parameters)
    except (TypeError, ValueError) as error:  # of a model of another package; ours raise PolicyError
        raise PolicyError(f"{name} cannot be built from these parameters", hint=type(error).__name__) from None


def protected_by(require: Iterable[Any]) -> tuple[str, ...]:
    """The columns that criteria are about: a column of wishes is needed, and nothing is promised about it.

    >>> from sfumato.criteria import PersonalLDiversity
    >>> protected_by([PersonalLDiversity("disease", "own l")])
    ('disease',)
    """
    found = []
    for c in require:
        given = c.parameters()
        found += [name for name in c.needs if name != given.get("wish") or name == given.get("attribute")]
    return tuple(dict.fromkeys(found))


def read_line(table: Mapping[str, Variant[Any]], text: str) -> Any:
    """The criterion that a line of the shell asks for."""
    try:
        words = shlex.split(text)
    except ValueError:
        raise PolicyError("a requirement has an opening quote without a closing one", hint=_HINT) from None
    if not words:
        raise PolicyError("a requirement is empty", allowed=", ".join(table), hint=_HINT)
    name, *rest = words
    fields, kinds = list(_fields(table, name)), _kinds(table[name].make)
    in_order = [f for f in fields if f != "quasi"]
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
    return build(table, name, parameters)


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


def _fields(table: Mapping[str, Variant[Any]], name: str) -> dict[str, bool]:
    """The parameters of a criterion in order, and whether each must be given."""
    if name not in table:
        raise PolicyError(f'unknown privacy model "{name}"', allowed=", ".join(table), hint=did_you_mean(name, table))
    make: Any = table[name].make
    fields = sorted(dataclasses.fields(make), key=lambda f: f.name == "quasi")  # which is given by name only
    return {f.name: f.default is f.default_factory is dataclasses.MISSING for f in fields}


def _kinds(make: Any) -> dict[str, str]:
    """What each parameter takes, by the type of its field: "text", a "list" of texts, a "mapping" or a "number"."""
    written = {f.name: inspect.formatannotation(f.type).strip("'") for f in dataclasses.fields(make)}
    kinds = {"str": "text", "tuple": "list", "list": "list", "Sequence": "list", "ByValue": "mapping"}
    return {name: kinds.get(re.split(r"\W", kind)[0], "number") for name, kind in written.items()}
