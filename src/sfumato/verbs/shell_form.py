"""The shell form of what has a name, columns and parameters, as "rank-swapping income,tax p=10"."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from sfumato.errors import PolicyError

PAIR = re.compile(r"[^:,|/\\]+:[^:,/\\]+")  # of a mapping; no path


def written(text: str, what: str, key: str, example: str, none: str | None = None) -> dict[str, Any]:
    """A shell form as a table of a policy file has it, its name under `key`; `none` is what that word stands for.

    >>> written("rounding income,tax base=10", "step", "step", "rounding base=10")
    {'step': 'rounding', 'columns': ['income', 'tax'], 'base': 10}
    """
    try:
        name, *words = shlex.split(text)
    except ValueError:
        fault = f"a {what} has quotes that are not closed" if text.strip() else f"a {what} is empty"
        raise PolicyError(fault, got=repr(text), allowed=f'"{example}"') from None
    named: dict[str, Any] = {key: name}
    for word in words:
        parameter, equals, value = word.partition("=")
        if equals:
            named[parameter] = _value(value, none)
        elif "columns" in named:
            raise PolicyError(f"{name}: columns are given twice", hint=f'write them as "{example}"')
        else:
            named["columns"] = [part for part in word.split(",") if part]
    return named


def _value(text: str, none: str | None = None) -> Any:
    """A parameter as it is typed: a number, true or false, a list, a mapping, else a text.

    >>> _value("18,40"), _value("north:A|B,south:C"), _value("f:10,m:20")
    ([18, 40], {'north': ['A', 'B'], 'south': 'C'}, {'f': 10, 'm': 20})
    """
    if all(PAIR.fullmatch(part) for part in text.split(",")):
        pairs = (part.split(":") for part in text.split(","))
        return {
            key: [_value(v, none) for v in value.split("|")] if "|" in value else _value(value, none)
            for key, value in pairs
        }
    if "," in text:
        return [_value(part, none) for part in text.split(",") if part]
    words: Mapping[str, Any] = {"true": True, "false": False, "none": none}
    if text.lower() in words:
        return words[text.lower()]
    for make in (int, float):
        try:
            return make(text)
        except ValueError:
            continue
    return text
