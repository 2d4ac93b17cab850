"""The data files of a folder that has several: what a manifest says of each, beside what lies there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.engines.files.bytes import read_back, sha256
from sfumato.errors import InputError, ReadError
from sfumato.release.manifest import NAME, DataFile, data_of, load_manifest


@dataclass(frozen=True, eq=False)
class ReadFile:
    """A data file: its printed texts, None where it is no table any more, and what is wrong with its bytes."""

    file: DataFile
    table: pl.DataFrame | None
    fault: str | None


def read_files(folder: Path, files: Iterable[DataFile]) -> list[ReadFile]:
    """The data files of a folder that its manifest names; a ReadError where one is not there."""
    return [_read(folder, file) for file in files]


def _read(folder: Path, file: DataFile) -> ReadFile:
    place = folder / file.file
    if not _inside(place, file.file):
        raise ReadError(f'a table that "{folder / NAME}" names is not in the folder')
    other = sha256(place) != file.sha256.removeprefix("sha256:").lower()
    fault = f"the sha256 of {file.file} is another" if other else None
    try:
        return ReadFile(file, read_back(place, file.format, file.guarded), fault)
    except InputError:
        if fault is None:
            raise
        return ReadFile(file, None, fault)  # changed until it is no table: that is an answer, not an error


def _inside(place: Path, name: str) -> bool:
    """Whether a file lies in the folder itself, under its own name, no link."""
    try:
        return Path(name).name == name and not place.is_symlink() and place.is_file()
    except (OSError, ValueError):  # a name that no file can have
        return False


def has_several(folder: Path) -> bool:
    """Whether a folder is a release of several tables, and not of rows in one."""
    found = load_manifest(folder)
    return isinstance(found, Mapping) and "tables" in found


def data_files(manifest: Mapping[str, Any]) -> set[str]:
    """The names of the data files that a manifest of any kind or format names."""
    several = "tables" in manifest or "stream" in manifest
    files = manifest.get("files") if several else [data_of(manifest)]
    beside = manifest.get("beside")
    listed = [*(files if isinstance(files, list) else []), *(beside if isinstance(beside, list) else [])]
    return {str(one["file"]) for one in listed if isinstance(one, Mapping) and one.get("file") is not None}
