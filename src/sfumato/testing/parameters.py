"""Checks of the parameters that a variant declares: forms and lists may trust what they say."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from typing import Any

from sfumato.core.forms import NumberRange, Parameter
from sfumato.core.registry import Variant, field_values
from sfumato.errors import PolicyError

NUMBERS = ("whole number", "number")
PLAIN = (*NUMBERS, "yes or no", "choice", "text", "path", "column", "columns", "list", "lists", "mapping", "table")
TYPES = (*PLAIN, "variant", "value")
NAMED = {"path": "made.csv", "list": ("a", "b", "c", "d"), "lists": (("a", "b"),), "text": "a", "column": "a",
         "columns": ("a",)}  # fmt: skip
NEAR = 1e-4  # to an open end, and still a number that is exact as a decimal
WORDS = ("out of range", "unknown", "must", "too many digits")  # of a refusal of one value
Call = Callable[..., Any]


def check_variant_parameters(variant: Variant[Any], call: Call | None = None) -> None:
    """Each parameter has a line of help, a type and, of numbers, a range; what it declares to refuse is refused.

    A value just outside of its range, or none of its choices, is a PolicyError that names the parameter; its default
    and the ends of its range are not. `call` is what a function is called by, in place of itself.
    """
    faults = [f"{p.name}: {fault}" for p in variant.parameters for fault in declaration_faults(p)]
    assert not faults, f"{variant.name}: " + "; ".join(faults)
    for parameter in variant.parameters:
        for value in refused_values(parameter):
            assert _refused(variant, parameter, value, call), f"{variant.name} takes {parameter.name}={value!r}"
        for value in _inside(parameter):
            told = _refused(variant, parameter, value, call)
            assert not told, f"{variant.name} declares {parameter.name}={value!r}, and refuses it: {told}"


def declaration_faults(parameter: Parameter) -> Iterator[str]:
    """What a form would lack."""
    default, known = parameter.default, parameter.range
    if not parameter.help:
        yield "the docstring does not say what it is"
    if parameter.type not in TYPES:
        yield f'the type "{parameter.type}" is unknown'
    if parameter.type in NUMBERS and known is None:
        yield "it has no range: annotate it with Whole or Real of sfumato.core.parameters"
    if parameter.choices and isinstance(default, str) and default not in parameter.choices:
        yield "its default is none of its choices"
    if known is not None and isinstance(default, int | float) and not _within(known, default):
        yield "its default is out of range"


def _within(known: NumberRange, value: float) -> bool:
    above = known.least is None or known.least < value or (known.least == value and not known.open_least)
    return above and (known.greatest is None or value < known.greatest or value == known.greatest)


def _ends(parameter: Parameter, outside: bool) -> Iterator[float]:
    """Numbers at the ends of a range, or just outside of them."""
    known, whole = parameter.range, parameter.type == "whole number"
    if known is None:
        return
    for end, is_open, way in ((known.least, known.open_least, -1), (known.greatest, known.open_greatest, 1)):
        if end is not None:
            away = end + way if whole else math.nextafter(end, way * math.inf)
            back = end - way if whole else end - way * NEAR
            yield (end if is_open else away) if outside else (back if is_open else end)


def refused_values(parameter: Parameter) -> Iterator[Any]:
    """Values just outside of what a parameter declares."""
    for number in () if parameter.many else _ends(parameter, outside=True):
        yield {"a": number} if parameter.type == "mapping" else number
    if parameter.choices:
        yield "no such choice"
    if parameter.type == "yes or no":
        yield "perhaps"
    if parameter.type == "column":
        yield 5


def _inside(parameter: Parameter) -> Iterator[Any]:
    if parameter.type != "mapping" and not parameter.many:
        yield from _ends(parameter, outside=False)
    yield from parameter.choices
    if parameter.type == "yes or no":
        yield from (True, False)


def _refused(variant: Variant[Any], parameter: Parameter, value: Any, call: Call | None) -> str | None:
    """What a variant says against one value of a parameter; nothing where it takes the value, or dislikes another."""
    example: Any = variant.example
    given = field_values(example) if is_dataclass(example) and type(example) is variant.make else {}
    if not given:
        given = {p.name: p.choices[0] if p.choices else NAMED.get(p.type) for p in variant.parameters if p.required}
    listed = [value] if parameter.many else []
    given |= {} if parameter.many else {parameter.name: value}
    try:
        (call or variant.make)(*listed, **given)
    except PolicyError as error:
        told = str(error)
        named = parameter.many or re.search(rf"\b{parameter.name}\b", told)
        return told if named and any(word in told for word in WORDS) else None
    return None
