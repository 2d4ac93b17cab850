"""Policies of fragments: the tables [input], [fragments] and [output] of a TOML file, as `fragment` is asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from sfumato.core.parameters import is_whole
from sfumato.errors import PolicyError, did_you_mean
from sfumato.policyfile.baskets import BasketOutput
from sfumato.policyfile.file import Draft, checked_table
from sfumato.policyfile.tables import Faults, Origin, PolicyTable

TABLES = ("input", "fragments", "output")


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


Names = Annotated[list[str] | None, BeforeValidator(_listed)]


def _sizes(value: Any) -> Any:
    """How many associations, or the sizes of groups in both fragments."""
    listed = value if isinstance(value, list) and len(value) == 2 else [value]
    if value is not None and not all(is_whole(one) and one >= 1 for one in listed):
        raise PydanticCustomError("sizes", "must be a whole number from 2, or two from 1 such as 2,3")
    return value


class FragmentsTable(PolicyTable):
    constraints: list[Annotated[list[str], BeforeValidator(_listed)]] | None = None
    singletons: str | None = None
    key: str | None = None
    k: Annotated[Any, BeforeValidator(_sizes)] = None
    between: Names = None
    suppression: float | int | None = None
    insensitive: Names = None
    rest: str | None = None
    seed: Annotated[int, Field(ge=0)] | None = None


@dataclass(frozen=True)
class FragmentsPolicy:
    """A checked policy of fragments: what to read, what is asked, and where the release goes."""

    source: Origin
    keywords: dict[str, Any]
    output: Path
    format: str
    overwrite: bool


def check_fragments(draft: Draft) -> FragmentsPolicy:
    """The policy ready for use, or PolicyError with every fault."""
    faults = Faults(draft.places, draft.faults)
    for name in draft.tables:
        if name not in TABLES:
            hint = did_you_mean(name, TABLES) or f"the tables of fragments are {', '.join(TABLES)}"
            faults.tell(f'unknown table "{name}"; {hint}', name)
    source = draft.source()
    if source is None:
        checked_table(draft, "input", faults)
    elif source.stored:
        faults.tell("a table is taken apart in memory, from one file", "input", "path")
    asked, bad = checked_table(draft, "fragments", faults, FragmentsTable)
    output, bad_output = checked_table(draft, "output", faults, BasketOutput)
    assert isinstance(asked, FragmentsTable)
    assert isinstance(output, BasketOutput)
    if asked.constraints is None and "constraints" not in bad:
        faults.tell("constraints is missing; give lists of columns, or --constraint", "fragments", "constraints")
    if output.path is None and "path" not in bad_output:
        faults.tell("path is missing; name a folder, or give -o", "output", "path")
    if faults:
        what = f"{draft.name} has {len(faults)} fault{'s' if len(faults) > 1 else ''}:"
        raise PolicyError(what, list(faults))
    assert source is not None
    keywords = {name: value for name, value in asked.model_dump().items() if value is not None}
    if "key" in keywords:
        keywords["key"] = str(draft.folder / str(Path(keywords["key"]).expanduser()))
    return FragmentsPolicy(
        source, keywords, draft.folder / str(output.path), output.format or "csv", output.overwrite,
    )  # fmt: skip
