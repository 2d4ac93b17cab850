"""The parts of a policy that have names: privacy models, losses, searches from their tables, hierarchies from specs."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from pathlib import Path as FilePath
from typing import Any, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from sfumato.errors import SfumatoError, did_you_mean
from sfumato.policy_places import Path, Places
from sfumato.variant import Variant


def make_variant(
    table: Mapping[str, Variant],
    what: str,
    name: str,
    parameters: Mapping[str, Any],
    places: Places,
    path: Path,
    faults: list[str],
    beside: Collection[str] = (),
) -> Any | None:
    """The variant of that name with those parameters, or None and its faults; `beside` are other keys of its table."""
    place = places.at(*path, "method") if what == "method" else places.at(*path)
    if name not in table:
        hint = did_you_mean(name, table) or "allowed: " + ", ".join(table)
        named = places.at(*path) if path[-1] == what else places.at(*path, what)
        faults.append(f'{named}: unknown {what} "{name}"; {hint}')
        return None
    make, before = table[name].make, len(faults)
    known = {key: p for key, p in inspect.signature(make).parameters.items() if key != "self"}
    for key in parameters:
        if key not in known:
            hint = did_you_mean(key, [*known, *beside]) or f"{name} takes {', '.join(known) or 'no parameters'}"
            faults.append(f'{places.at(*path, key)}: unknown key "{key}"; {hint}')
    missing = [key for key, p in known.items() if p.default is p.empty and key not in parameters]
    if missing:
        faults.append(f"{place}: {name} needs {' and '.join(missing)}")
    hints = _hints(make)
    values = {key: _value(value) for key, value in parameters.items()}
    for key, value in values.items():
        if key in known and (fault := _wrong_type(hints.get(key, Any), value)):
            faults.append(f"{places.at(*path, key)}: {key} {fault}")
    if len(faults) > before:
        return None
    try:
        return make(**values)
    except (SfumatoError, TypeError, ValueError) as error:
        faults.extend(told(place, error))
        return None


def make_recipe(spec: Any, folder: FilePath, place: str, faults: list[str]) -> Any | None:
    """The hierarchy recipe of a spec such as {intervals = [5, 10]} or a file name, or None and its faults."""
    from sfumato.hierarchies import parse

    try:
        return parse(spec, folder)
    except (SfumatoError, TypeError, ValueError) as error:
        faults.extend(told(place, error))
        return None


def told(place: str, error: Exception) -> list[str]:
    """The faults of an exception; a library's own words are left out, for they may quote values."""
    if not isinstance(error, SfumatoError):
        return [f"{place}: the parameters do not fit"]
    return [f"{place}: {fault}" for fault in getattr(error, "faults", ()) or (str(error),)]


def _hints(make: Callable[..., Any]) -> dict[str, Any]:
    """The types of the parameters; none where they name what is imported for checking only."""
    try:
        return get_type_hints(make.__init__ if inspect.isclass(make) else make)
    except (NameError, TypeError):
        return {}


def _value(value: Any) -> Any:
    """Lists of TOML as tuples, for parameters are frozen values."""
    return tuple(map(_value, value)) if isinstance(value, list) else value


def _wrong_type(hint: Any, value: Any) -> str | None:
    """What the value should have been, or None where it is."""
    try:
        adapter = TypeAdapter(hint, config=ConfigDict(arbitrary_types_allowed=True))
    except (PydanticUserError, TypeError):
        return None
    for form in (value, list(value) if isinstance(value, tuple) else value):
        try:
            adapter.validate_python(form, strict=True)
            return None
        except ValidationError as error:
            message = str(error.errors()[0]["msg"])
    return in_our_words(message)


def in_our_words(message: str) -> str:
    """A message of pydantic in the words of a policy file."""
    words = {"Input should be": "must be", "a valid integer": "a whole number", "a valid ": "a ", "dictionary": "table"}
    for theirs, ours in words.items():
        message = message.replace(theirs, ours)
    return message
