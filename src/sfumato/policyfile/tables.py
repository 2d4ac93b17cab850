"""The tables of a policy file, as pydantic models: which keys there are and what each may hold."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal, get_type_hints

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticCustomError

from sfumato.core.registry import Variant
from sfumato.errors import SfumatoError, did_you_mean
from sfumato.policyfile.places import Path, Places


def _sets(value: object) -> object:
    """One list of names, or a list of such lists, as a list of lists."""
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return [value]
    if isinstance(value, list) and all(isinstance(q, list) and all(isinstance(n, str) for n in q) for q in value):
        return value
    raise PydanticCustomError("columns", "must be a list of column names, or a list of such lists")


def _limit(value: object) -> object:
    """A share (decimal, 0 to 1) or a count of rows (whole number)."""
    whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    if whole or (isinstance(value, float) and 0 <= value <= 1):
        return value
    raise PydanticCustomError("limit", "must be a share from 0.0 to 1.0 or a whole number of rows")


def _named(value: object) -> object:
    """A name, or a table with a name and parameters, as such a table."""
    if isinstance(value, str):
        return {"name": value}
    if isinstance(value, dict) and isinstance(value.get("name"), str):
        return value
    raise PydanticCustomError("named", 'must be a name or a table with a name, as in {{name = "lm"}}')


def level_range(value: object) -> tuple[int, int]:
    """Least and greatest level, checked."""
    if isinstance(value, list) and len(value) == 2 and all(type(v) is int for v in value) and 0 <= value[0] <= value[1]:
        return value[0], value[1]
    raise PydanticCustomError("range", "must be two whole numbers, the least and the greatest level, as in [1, 3]")


def _character(value: str | None) -> str | None:
    if value is not None and len(value) != 1:
        raise PydanticCustomError("character", "must be one character")
    return value


def _paths(value: object) -> object:
    """One path, or a list of paths, as a list."""
    listed = [value] if isinstance(value, str) else value
    if not isinstance(listed, list) or not all(isinstance(item, str) for item in listed):
        raise PydanticCustomError("paths", "must be a path, or a list of paths")
    if not listed or not all(listed):
        raise PydanticCustomError("paths", "must be a path, or a list of one path or more, none of them empty")
    return listed


def _filled(value: str) -> str:
    if not value:
        raise PydanticCustomError("filled", "must not be empty")
    return value


Name = Annotated[str, AfterValidator(_filled)]


class PolicyTable(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class InputTable(PolicyTable):
    path: Annotated[list[str], BeforeValidator(_paths)]
    table: Name | None = None
    stream: bool | None = None
    format: str | None = None
    separator: Annotated[str | None, AfterValidator(_character)] = None
    quote: str | None = None
    encoding: str | None = None
    header: bool | None = None
    sheet: str | int | None = None


class RolesTable(PolicyTable):
    identifying: list[str] = []
    quasi: Annotated[list[list[str]], BeforeValidator(_sets)] = []
    sensitive: list[str] = []
    insensitive: list[str] = []
    unprotected: list[str] = []
    weight: str | None = None
    rest: Literal["refuse", "release"] = "refuse"
    normalise: bool | list[str] = False


class SearchTable(PolicyTable):
    model_config = ConfigDict(extra="allow", strict=True)  # the method's own parameters stand beside its name

    method: str = "auto"
    loss: Annotated[dict[str, Any], BeforeValidator(_named)] = {"name": "lm"}
    suppression: Annotated[Any, BeforeValidator(_limit)] = 0
    seed: Annotated[int, Field(ge=0)] | None = None
    max_cells: Annotated[int, Field(ge=1)] | None = None


class Output(PolicyTable):
    path: Name | None = None  # may be left out where there is a table
    table: Name | None = None
    format: Literal["csv", "tsv", "parquet", "xlsx"] | None = None
    overwrite: bool = False
    order: Literal["canonical", "random", "input"] = "canonical"
    ends: Literal["rounded", "exact"] = "rounded"
    profile: Literal["hipaa", "gdpr", "clinical"] | None = None
    internal_report: str | None = None
    pdf: bool = False


MODELS: dict[str, type[PolicyTable]] = {
    "input": InputTable,
    "roles": RolesTable,
    "search": SearchTable,
    "output": Output,
}
TABLES = ("input", "roles", "hierarchies", "levels", "require", "search", "output")


def make_variant(
    table: Mapping[str, Variant[Any]],
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
