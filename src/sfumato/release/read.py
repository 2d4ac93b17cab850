"""The manifest of a release as verify reads it: what was released, and what is promised of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from sfumato.criteria import Model, criterion
from sfumato.engines.documents import canonical, read_document
from sfumato.errors import PolicyError, ReadError

MOST_ROWS = 1 << 53  # of any table
MOST_PROMISES = 100_000
MOST_LEVELS = 100


@dataclass(frozen=True)
class ManifestColumn:
    name: str
    role: str = ""


@dataclass(frozen=True)
class Data:
    """The released table: a file of the folder, or, without `file`, a table that lies elsewhere."""

    rows: int
    columns: list[ManifestColumn]
    format: str = ""
    file: str | None = None
    sha256: str = ""
    guarded: bool = True
    order: Literal["canonical", "random", "input"] | None = None


@dataclass(frozen=True)
class ManifestPolicy:
    quasi: list[list[str]]
    require: list[dict[str, Any]]
    identifying: list[str] = field(default_factory=list)
    sensitive: list[str] = field(default_factory=list)
    wildcard: bool = False


@dataclass(frozen=True)
class Claim:
    model: str
    parameters: dict[str, Any]
    quasi: list[str]
    measured: float | None = None
    bound: float | None = None
    holds: bool = True


@dataclass(frozen=True)
class ManifestInput:
    rows: int


@dataclass(frozen=True)
class ManifestSolution:
    suppressed: int | None = None
    suppression_limit: int | None = None


@dataclass(frozen=True)
class Manifest:
    """What verify reads of a manifest."""

    format: int
    data: Data
    policy: ManifestPolicy
    input: ManifestInput | None = None
    solution: ManifestSolution | None = None
    promises: list[Claim] = field(default_factory=list)
    measured: list[dict[str, Any]] = field(default_factory=list)
    whole: dict[str, dict[str, int]] | None = None
    sensitive_hierarchies: dict[str, list[list[str]]] | None = None


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a release folder, or a ReadError that says what is wrong with it."""
    from pydantic import TypeAdapter, ValidationError

    file = folder / "manifest.json"
    if not file.exists():
        hint = "name the folder that holds the data and its manifest"
        raise ReadError(f'"{folder}" is no release: there is no manifest.json to read in it', hint=hint)
    try:
        manifest = TypeAdapter(Manifest).validate_json(canonical(read_document(file)), strict=True)
    except ValidationError as error:
        faults = []
        for e in error.errors(include_input=False, include_url=False)[:5]:
            place = e["loc"][:2] if e["loc"][:1] == ("whole",) else e["loc"]  # deeper down are values
            faults.append(": ".join(filter(None, [".".join(map(str, place)), e["msg"]])))
        raise ReadError(f'"{file}" is no manifest of a release: {"; ".join(faults)}') from None
    if manifest.format != 1:
        raise ReadError(f'"{file}" has a format that this version does not know', got=manifest.format, allowed=1)
    if fault := _fault(manifest):
        raise ReadError(f'"{file}" is no manifest of a release: {fault}')
    return manifest


def _fault(manifest: Manifest) -> str | None:
    """What no release says of itself, though its types are right; None where there is nothing of the kind."""
    data, policy = manifest.data, manifest.policy
    lacking = [name for name in ("format", "sha256") if not getattr(data, name)]
    if data.file is not None and lacking:
        return f"data.{lacking[0]}: Field required"
    if not policy.quasi or not all(policy.quasi) or not all(claim.quasi for claim in manifest.promises):
        return "policy.quasi or a promise has no columns"
    if len(manifest.promises) + len(policy.require) * len(policy.quasi) > MOST_PROMISES:
        return f"it makes more than {MOST_PROMISES} promises"
    counts = {"data.rows": data.rows, "input.rows": 0 if manifest.input is None else manifest.input.rows}
    counts |= {f"solution.{name}": n or 0 for name, n in vars(manifest.solution or ManifestSolution()).items()}
    for name, of in (manifest.whole or {}).items():
        counts |= {f"whole.{name}": n for n in (sum(of.values()), *of.values()) if not 0 <= n <= MOST_ROWS}
        if not any(of.values()):
            return f"whole.{name} counts no rows"
    beyond = [name for name, n in counts.items() if not 0 <= n <= MOST_ROWS]
    if beyond:
        return f"{beyond[0]} is no number of rows"
    return next((f for item in (manifest.sensitive_hierarchies or {}).items() if (f := _tree_fault(*item))), None)


def _tree_fault(name: str, rows: Sequence[Sequence[str]]) -> str | None:
    """Why the rows, a label per level from the value to the root, are no tree; None where they are one."""
    where = f"sensitive_hierarchies.{name}"
    if not rows or not rows[0]:
        return f"{where} is empty"
    if len(rows[0]) > MOST_LEVELS or any(len(row) != len(rows[0]) for row in rows):
        return f"{where} must have rows of one length, of at most {MOST_LEVELS} levels"
    if len({row[0] for row in rows}) < len(rows):
        return f"{where} has a value twice"
    if len({row[-1] for row in rows}) > 1:
        return f"{where} has more than one root"
    for level in range(len(rows[0]) - 1):
        if len({(row[level], row[level + 1]) for row in rows}) > len({row[level] for row in rows}):
            return f"{where} is not nested: labels that are equal at level {level} differ at level {level + 1}"
    return None


def wanted(manifest: Manifest) -> dict[tuple[Model, tuple[str, ...]], Claim | None]:
    """Every criterion over every set of quasi-identifiers, of the policy and of the promises, with what is claimed."""

    def built(where: str, model: object, parameters: Mapping[str, Any]) -> Any:
        try:
            return criterion(str(model), **parameters)
        except PolicyError as error:
            raise ReadError(f"manifest.json: {where} makes no sense: {error.what[:300]}") from None

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
