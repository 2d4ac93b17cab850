"""Policies of baskets: [input], [baskets], [hierarchies] and [output] of a file, as `anonymize_baskets` is asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from sfumato.errors import PolicyError, did_you_mean
from sfumato.policyfile.file import Draft, checked_table
from sfumato.policyfile.tables import Faults, Origin, PolicyTable, make_recipe

TABLES = ("input", "baskets", "hierarchies", "output")


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


class BasketsTable(PolicyTable):
    basket: str | None = None
    item: str | None = None
    k: Annotated[int, Field(ge=1)] | None = None
    m: Annotated[int, Field(ge=1)] | None = None
    h: Annotated[float, Field(ge=0, le=1)] | None = None
    p: Annotated[int, Field(ge=1)] | None = None
    private: Annotated[list[str] | None, BeforeValidator(_listed)] = None
    hierarchy: Any = None
    search: str | None = None
    quasi: Annotated[list[str] | None, BeforeValidator(_listed)] = None
    class_size: Annotated[int, Field(ge=1)] | None = None


class BasketOutput(PolicyTable):
    path: str | None = None
    format: Literal["csv", "tsv", "parquet", "xlsx"] | None = None
    overwrite: bool = False


@dataclass(frozen=True)
class BasketPolicy:
    """A checked policy of baskets: what to read, what is asked, and where the release goes."""

    source: Origin
    keywords: dict[str, Any]
    output: Path
    format: str
    overwrite: bool


def check_baskets(draft: Draft) -> BasketPolicy:
    """The policy ready for use, or PolicyError with every fault."""
    faults = Faults(draft.places, draft.faults)
    for name in draft.tables:
        if name not in TABLES:
            hint = did_you_mean(name, TABLES) or f"the tables of baskets are {', '.join(TABLES)}"
            faults.tell(f'unknown table "{name}"; {hint}', name)
    source = draft.source()
    if source is None:
        checked_table(draft, "input", faults)
    elif source.stored:
        faults.tell("baskets are read into memory, from one file", "input", "path")
    asked, bad = checked_table(draft, "baskets", faults, BasketsTable)
    output, bad_output = checked_table(draft, "output", faults, BasketOutput)
    assert isinstance(asked, BasketsTable)
    assert isinstance(output, BasketOutput)
    for name, value in {"basket": asked.basket, "item": asked.item}.items():
        if value is None and name not in bad:
            faults.tell(f"{name} is missing; name the column, or give --{name}", "baskets", name)
    if output.path is None and "path" not in bad_output:
        faults.tell("path is missing; name a folder, or give -o", "output", "path")
    recipe = None
    if asked.hierarchy is not None:
        recipe = make_recipe(asked.hierarchy, draft.folder, faults, "baskets", "hierarchy")
    given = draft.tables.get("hierarchies", {})
    trees: dict[str, Any] = {}
    for name, spec in given.items() if isinstance(given, dict) else ():
        if name not in (asked.quasi or ()):
            faults.tell("is of no quasi-identifier; that of the items stands under [baskets]", "hierarchies", name)
        elif (found := make_recipe(spec, draft.folder, faults, "hierarchies", name)) is not None:
            trees[name] = found
    if faults:
        what = f"{draft.name} has {len(faults)} fault{'s' if len(faults) > 1 else ''}:"
        raise PolicyError(what, list(faults))
    assert source is not None
    keywords = {name: value for name, value in asked.model_dump(exclude={"hierarchy"}).items() if value is not None}
    keywords |= {"hierarchy": recipe} | ({"hierarchies": trees} if trees else {})
    return BasketPolicy(source, keywords, draft.folder / str(output.path), output.format or "csv", output.overwrite)
