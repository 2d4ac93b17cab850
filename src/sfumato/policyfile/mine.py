"""Policies of mining: the tables [input], [mine] and [output] of a TOML file, as `mine` is asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from sfumato.errors import PolicyError, did_you_mean
from sfumato.policyfile.baskets import BasketOutput
from sfumato.policyfile.file import Draft, checked_table
from sfumato.policyfile.tables import Faults, Origin, PolicyTable

TABLES = ("input", "mine", "output")


def _listed(value: object) -> object:
    return [value] if isinstance(value, str) else value


Texts = Annotated[list[str] | None, BeforeValidator(_listed)]


class MineTable(PolicyTable):
    basket: str | None = None
    item: str | None = None
    features: Texts = None
    target: str | None = None
    k: Annotated[int, Field(ge=1)] | None = None
    l: Annotated[int, Field(ge=1)] | None = None
    miner: str | None = None
    support: Annotated[int, Field(ge=1)] | None = None
    confidence: Annotated[float, Field(ge=0, le=1)] | None = None
    longest: Annotated[int, Field(ge=1, le=20)] | None = None
    block: str | None = None
    hide: Texts = None
    depth: Annotated[int, Field(ge=1, le=20)] | None = None
    counts: bool | None = None
    bins: Annotated[int, Field(ge=2, le=1000)] | None = None
    compare: bool | None = None


@dataclass(frozen=True)
class MinePolicy:
    """A checked policy of mining: what to read, what is asked, and where the release goes."""

    source: Origin
    keywords: dict[str, Any]
    output: Path
    format: str
    overwrite: bool


def check_mine(draft: Draft) -> MinePolicy:
    """The policy ready for use, or PolicyError with every fault."""
    faults = Faults(draft.places, draft.faults)
    for name in draft.tables:
        if name not in TABLES:
            hint = did_you_mean(name, TABLES) or f"the tables of mining are {', '.join(TABLES)}"
            faults.tell(f'unknown table "{name}"; {hint}', name)
    source = draft.source()
    if source is None:
        checked_table(draft, "input", faults)
    elif source.stored:
        faults.tell("what is mined is read into memory, from one file", "input", "path")
    asked, bad = checked_table(draft, "mine", faults, MineTable)
    output, bad_output = checked_table(draft, "output", faults, BasketOutput)
    assert isinstance(asked, MineTable)
    assert isinstance(output, BasketOutput)
    if asked.k is None and "k" not in bad:
        faults.tell("k is missing; say how many people a pattern is of, or give --k", "mine", "k")
    if output.path is None and "path" not in bad_output:
        faults.tell("path is missing; name a folder, or give -o", "output", "path")
    if faults:
        what = f"{draft.name} has {len(faults)} fault{'s' if len(faults) > 1 else ''}:"
        raise PolicyError(what, list(faults))
    assert source is not None
    keywords = {name: value for name, value in asked.model_dump().items() if value is not None}
    return MinePolicy(source, keywords, draft.folder / str(output.path), output.format or "csv", output.overwrite)
