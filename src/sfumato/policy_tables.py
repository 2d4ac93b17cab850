"""The tables of a policy file, as pydantic models: which keys there are and what each may hold."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError


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


class Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Input(Table):
    path: Annotated[list[str], BeforeValidator(_paths)]
    table: Name | None = None
    stream: bool | None = None
    format: str | None = None
    separator: Annotated[str | None, AfterValidator(_character)] = None
    quote: str | None = None
    encoding: str | None = None
    header: bool | None = None
    sheet: str | int | None = None


class RolesTable(Table):
    identifying: list[str] = []
    quasi: Annotated[list[list[str]], BeforeValidator(_sets)] = []
    sensitive: list[str] = []
    insensitive: list[str] = []
    unprotected: list[str] = []
    weight: str | None = None
    rest: Literal["refuse", "release"] = "refuse"
    normalise: bool | list[str] = False


class Search(Table):
    model_config = ConfigDict(extra="allow", strict=True)  # the method's own parameters stand beside its name

    method: str = "auto"
    loss: Annotated[dict[str, Any], BeforeValidator(_named)] = {"name": "lm"}
    suppression: Annotated[Any, BeforeValidator(_limit)] = 0
    seed: Annotated[int, Field(ge=0)] | None = None
    max_cells: Annotated[int, Field(ge=1)] | None = None


class Output(Table):
    path: Name | None = None  # may be left out where there is a table
    table: Name | None = None
    format: Literal["csv", "tsv", "parquet", "xlsx"] | None = None
    overwrite: bool = False
    order: Literal["canonical", "random", "input"] = "canonical"
    ends: Literal["rounded", "exact"] = "rounded"
    profile: Literal["hipaa", "gdpr", "clinical"] | None = None
    internal_report: str | None = None
    pdf: bool = False


MODELS: dict[str, type[Table]] = {"input": Input, "roles": RolesTable, "search": Search, "output": Output}
TABLES = ("input", "roles", "hierarchies", "levels", "require", "search", "output")
