"""Policies of streams: [input], [roles], [hierarchies], [[require]], [stream], [output] and [about]."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from sfumato.core.wording import count
from sfumato.errors import PolicyError, did_you_mean
from sfumato.policyfile.file import Draft, checked_table, hierarchies_of, requirements_of
from sfumato.policyfile.tables import Faults, PolicyTable
from sfumato.release.about import checked_about

TABLES = ("input", "roles", "hierarchies", "require", "stream", "output", "about")


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


Names = Annotated[list[str], BeforeValidator(_listed)]


class StreamInput(PolicyTable):
    path: Annotated[str | None, BeforeValidator(lambda given: given[0] if isinstance(given, list) else given)] = None


class StreamRoles(PolicyTable):
    identifying: Names = Field(default_factory=list)
    quasi: Names = Field(default_factory=list)
    sensitive: Names = Field(default_factory=list)
    insensitive: Names = Field(default_factory=list)
    unprotected: Names = Field(default_factory=list)
    person: str | None = None
    time: str | None = None


class StreamTable(PolicyTable):
    delay: Annotated[int, Field(ge=1)] | None = None
    search: str | None = None
    state: str | None = None
    domains: dict[str, Any] | None = None
    ends: Literal["rounded", "exact"] | None = None
    seed: Annotated[int, Field(ge=0)] | None = None
    once: bool | None = None
    finish: bool | None = None
    poll: Annotated[float, Field(gt=0)] | None = None


class StreamOutput(PolicyTable):
    path: str | None = None
    format: Literal["csv", "parquet"] | None = None


@dataclass(frozen=True)
class StreamPolicy:
    """A checked policy of a stream: the folder in which files arrive, and what `stream` is asked."""

    source: Path
    keywords: dict[str, Any]


def check_stream(draft: Draft) -> StreamPolicy:
    """The policy ready for use, or PolicyError with every fault."""
    faults = Faults(draft.places, draft.faults)
    for name in draft.tables:
        if name not in TABLES:
            hint = did_you_mean(name, TABLES) or f"the tables of streams are {', '.join(TABLES)}"
            faults.tell(f'unknown table "{name}"; {hint}', name)
    models = {"input": StreamInput, "roles": StreamRoles, "stream": StreamTable, "output": StreamOutput}
    read = {name: checked_table(draft, name, faults, model) for name, model in models.items()}
    source, roles, stream, output = (one for one, _ in read.values())
    bad = {name: keys for name, (_, keys) in read.items()}
    assert isinstance(source, StreamInput)
    assert isinstance(roles, StreamRoles)
    assert isinstance(stream, StreamTable)
    assert isinstance(output, StreamOutput)
    if source.path is None and "path" not in bad["input"]:
        faults.tell("path is missing; name the folder in which files arrive", "input", "path")
    if output.path is None and "path" not in bad["output"]:
        faults.tell("path is missing; name a folder, or give -o", "output", "path")
    if not roles.quasi and "quasi" not in bad["roles"]:
        faults.tell("quasi is missing; name the columns to blur, or give --quasi", "roles", "quasi")
    about, wrong = checked_about(draft.tables.get("about"))
    for key, fault in wrong:
        faults.tell(fault, "about", *([key] if key else []))
    recipes = hierarchies_of(draft, None, faults)
    require = list(requirements_of(draft, faults, False).values())
    if faults:
        raise PolicyError(f"{draft.name} has {count(len(faults), 'fault')}:", list(faults))
    keywords = {name: value for name, value in stream.model_dump().items() if value is not None}
    if stream.state is not None:
        keywords["state"] = draft.folder / stream.state
    keywords |= {name: value for name, value in roles.model_dump().items() if value}
    keywords |= {"hierarchies": recipes or None, "require": require or None, "about": about or None}
    keywords |= {"to": draft.folder / str(output.path), "format": output.format or "csv"}
    return StreamPolicy(draft.folder / str(source.path), keywords)
