"""The manifest of tables that are published together: each with its file, what joins them, and what is promised."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sfumato.core.protocols import PROVEN
from sfumato.criteria.sets.published import LINKS, TableLink
from sfumato.errors import ReadError
from sfumato.release.manifest import (
    FILE,
    MOST_PROMISES,
    MOST_ROWS,
    MOST_TABLES,
    NAME,
    DataFile,
    ManifestColumn,
    ManifestInput,
    common,
    load_manifest,
    validated,
)

if TYPE_CHECKING:
    from sfumato.criteria.model import Promise


@dataclass(frozen=True)
class ManifestTable:
    """A table of a set."""

    name: str
    rows: int
    columns: list[ManifestColumn]
    file: str = ""


@dataclass(frozen=True)
class ManifestLink:
    kind: str
    tables: list[str]
    columns: list[str] = field(default_factory=list)
    sha256: str = ""


@dataclass(frozen=True)
class BesideFile:
    """A file with the same once more, in another form."""

    file: str
    sha256: str


@dataclass(frozen=True)
class SetPolicy:
    identifying: list[str] = field(default_factory=list)
    sensitive: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class SetClaim:
    model: str
    parameters: dict[str, Any]
    measured: float | None = None
    bound: float | None = None
    holds: bool = True
    how: str = PROVEN


@dataclass(frozen=True)
class SetManifest:
    """What verify reads of the manifest of tables that are published together."""

    format: int
    made_by: str
    files: list[DataFile]
    tables: list[ManifestTable]
    policy: SetPolicy
    links: list[ManifestLink] = field(default_factory=list)
    promises: list[SetClaim] = field(default_factory=list)
    beside: list[BesideFile] = field(default_factory=list)
    input: ManifestInput | None = None
    method: dict[str, Any] = field(default_factory=dict)


def set_manifest(
    made_by: str, tables: Sequence[Mapping[str, Any]], links: Sequence[TableLink], policy: Mapping[str, Any],
    method: Mapping[str, Any], promises: Sequence[Promise], before: int | None, seed: int | None,
    fingerprint: str | None, reading: Mapping[str, Any], about: Mapping[str, Any] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The manifest of tables that are published together; `save` adds their files.

    A table has its name, rows, and columns with role and kind; `policy` the roles and what was asked for; `method` how
    the tables were made.
    """
    published = {
        "tables": [dict(table) for table in tables],
        "links": [asdict(link) for link in links],
        "policy": dict(policy),
        "method": dict(method),
        "promises": [asdict(promise) for promise in promises],
    }
    return common(made_by, published, before, seed, fingerprint, reading, about)


def in_files(manifest: Mapping[str, Any], files: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The manifest of a set with the file of each of its tables, in their order."""
    tables = [{**table, "file": file["file"]} for table, file in zip(manifest["tables"], files, strict=True)]
    return {**manifest, "files": [{name: file[name] for name in FILE} for file in files], "tables": tables}


def read_set(folder: Path) -> SetManifest:
    """The manifest of tables that are published together, or a ReadError that says what is wrong with it."""
    file = folder / NAME
    manifest: SetManifest = validated(SetManifest, load_manifest(folder), file, "several tables")
    if fault := _set_fault(manifest):
        raise ReadError(f'"{file}" is no manifest of several tables: {fault}')
    return manifest


def _set_fault(manifest: SetManifest) -> str | None:
    """What no manifest of a set says, though its types are right."""
    names, files = [table.name for table in manifest.tables], [file.file for file in manifest.files]
    if not names or len(names) > MOST_TABLES or len({*names}) < len(names):
        return f"it has no tables, more than {MOST_TABLES}, or two of one name"
    if [table.file for table in manifest.tables] != files or len({*files}) < len(files):
        return "tables and files are not the same"
    for table in manifest.tables:
        columns = [column.name for column in table.columns]
        if not columns or len({*columns}) < len(columns):
            return f"tables: {table.name} has no columns, or two of one name"
        if not 0 <= table.rows <= MOST_ROWS:
            return f"tables: {table.name} has no number of rows"
    if len(manifest.promises) > MOST_PROMISES:
        return f"it makes more than {MOST_PROMISES} promises"
    for link in manifest.links:
        if link.kind not in LINKS or not {*link.tables} <= {*names}:
            return "a link is of no kind that is known, or between tables that are not there"
    return None
