"""The manifest of a release as verify reads it: what was released, and what is promised of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sfumato.criteria import Model, criterion
from sfumato.errors import PolicyError, ReadError


@dataclass(frozen=True)
class Column:
    name: str


@dataclass(frozen=True)
class Data:
    """The released table: a file of the folder, or, without `file`, a table that lies elsewhere."""

    rows: int
    columns: list[Column]
    format: str = ""
    file: str | None = None
    sha256: str = ""
    guarded: bool = True


@dataclass(frozen=True)
class Policy:
    quasi: list[list[str]]
    require: list[dict[str, Any]]
    identifying: list[str] = field(default_factory=list)
    wildcard: bool = False


@dataclass(frozen=True)
class Claim:
    model: str
    parameters: dict[str, Any]
    quasi: list[str]
    measured: float | None = None


@dataclass(frozen=True)
class Input:
    rows: int


@dataclass(frozen=True)
class Manifest:
    """What verify reads of a manifest."""

    format: int
    data: Data
    policy: Policy
    input: Input | None = None
    promises: list[Claim] = field(default_factory=list)
    measured: list[dict[str, Any]] = field(default_factory=list)
    whole: dict[str, dict[str, int]] | None = None
    sensitive_hierarchies: dict[str, list[list[str]]] | None = None


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a release folder, or a ReadError that says what is wrong with it."""
    from pydantic import TypeAdapter, ValidationError

    file = folder / "manifest.json"
    try:
        text = file.read_bytes()
    except OSError:
        hint = "name the folder that holds the data and its manifest"
        raise ReadError(f'"{folder}" is no release: there is no manifest.json to read in it', hint=hint) from None
    try:
        manifest = TypeAdapter(Manifest).validate_json(text, strict=True)
    except ValidationError as error:
        faults = []
        for e in error.errors(include_input=False, include_url=False)[:5]:
            place = e["loc"][:2] if e["loc"][:1] == ("whole",) else e["loc"]  # deeper down are values
            faults.append(": ".join(filter(None, [".".join(map(str, place)), e["msg"]])))
        raise ReadError(f'"{file}" is no manifest of a release: {"; ".join(faults)}') from None
    if manifest.format != 1:
        raise ReadError(f'"{file}" has a format that this version does not know', got=manifest.format, allowed=1)
    lacking = [name for name in ("format", "sha256") if not getattr(manifest.data, name)]
    if manifest.data.file is not None and lacking:
        raise ReadError(f'"{file}" is no manifest of a release: data.{lacking[0]}: Field required')
    if not manifest.policy.quasi or not all(manifest.policy.quasi):
        raise ReadError(f'"{file}" is no manifest of a release: policy.quasi has no columns')
    return manifest


def wanted(manifest: Manifest) -> dict[tuple[Model, tuple[str, ...]], Claim | None]:
    """Every criterion over every set of quasi-identifiers, of the policy and of the promises, with what is claimed."""

    def built(where: str, model: object, parameters: Mapping[str, Any]) -> Any:
        try:
            return criterion(str(model), **parameters)
        except PolicyError as error:
            raise ReadError(f"manifest.json: {where} makes no sense: {error.what}") from None

    sets = [once(names) for names in manifest.policy.quasi]
    found: dict[tuple[Model, tuple[str, ...]], Claim | None] = {}
    for i, entry in enumerate(manifest.policy.require):
        rest = {key: value for key, value in entry.items() if key != "model"}
        made = built(f"policy.require.{i}", entry.get("model"), rest)
        found |= {(made, names): None for names in sets}
    for i, claim in enumerate(manifest.promises):
        found[built(f"promises.{i}", claim.model, claim.parameters), once(claim.quasi)] = claim
    return found


def once(names: Iterable[str]) -> tuple[str, ...]:
    """Names, each once, in order."""
    return tuple(dict.fromkeys(names))
