"""Reports in files: of a release folder or of another tool's table; those for their owner stay out of releases."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.hierarchy import kind_of
from sfumato.core.parameters import path_of
from sfumato.core.printed import printed
from sfumato.engines.atomic import atomic_file
from sfumato.engines.files.bytes import read_back, sha256
from sfumato.engines.numbers import forms_written
from sfumato.engines.order import INPUT
from sfumato.errors import OutputError, ReadError
from sfumato.release.data_files import has_several, read_files
from sfumato.release.folder import verify_folder
from sfumato.release.manifest import MARGINALS, data_of, is_release, load_manifest, read_manifest
from sfumato.release.set_manifest import read_set
from sfumato.release.stream_folder import REPORT, holds_stream, promises_before, verify_stream
from sfumato.release.verify import INTEGRITY, Verification, verify_table
from sfumato.report.manifest import Manifest, is_masked, look, roles_of
from sfumato.report.page import browser, pdf_of
from sfumato.report.release_set import set_report
from sfumato.report.stream import first_rows, labels_of, stream_report

OWNER = 0o600


@contextmanager
def private_report(
    path: str | Path | None, release: str | Path | None, overwrite: bool = False, pdf: bool = False
) -> Iterator[Callable[[str], None]]:
    """A function that takes the page; the file, and its PDF, appear at the end of the block, the owner's alone.

    Nothing appears where `path` is None, the block fails, or no page was given.
    """
    targets = check_reports(path, release, overwrite, pdf)
    with ExitStack() as opened:
        places = [opened.enter_context(_owned(target, overwrite)) for target in targets]

        def keep(page: str) -> None:
            for place in places:
                place.write_bytes(pdf_of(page) if place.name.endswith(".pdf") else page.encode("utf-8"))

        yield keep


def check_reports(
    path: str | Path | None, release: str | Path | None, overwrite: bool = False, pdf: bool = False
) -> list[Path]:
    """The files of an internal report; OutputError where they cannot be made: worth a call before a long run."""
    if pdf:
        browser()
    if path is None:
        return []
    target = path_of(path)
    targets = [target, target.with_suffix(".pdf")] if pdf and target.suffix != ".pdf" else [target]
    place = target.resolve()
    inside = release is not None and place.is_relative_to(Path(release).resolve())
    if inside or any(is_release(parent) for parent in place.parents):
        raise OutputError(
            f"the internal report cannot be {target}: it compares with the original, and that is inside a release",
            hint="name a file outside of every folder that is published",
        )
    for one in targets:
        if one.is_dir():
            raise OutputError(f"{one} is a folder, not a file")
        if one.exists() and not overwrite:
            raise OutputError(f"{one} exists", hint="choose another place, or overwrite it")
    return targets


@contextmanager
def _owned(target: Path, overwrite: bool) -> Iterator[Path]:
    """A temporary file, empty and the owner's alone, that becomes `target`."""
    with atomic_file(target, overwrite) as place:
        os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER))
        yield place


FOREIGN = "foreign"  # the key of a manifest that Sfumato made up for another tool's release


def of_folder(folder: Path) -> tuple[dict[str, Any], pl.DataFrame, Verification]:
    """The manifest and the table of a release, and what verify says, which is told in its words."""
    read_manifest(folder)  # one that holds no rows is refused
    found = verify_folder(folder)
    manifest = load_manifest(folder)
    data = data_of(manifest)
    manifest = as_verified(manifest, found)
    rows = read_back(folder / data["file"], data["format"], data.get("guarded", True))
    return manifest, forms_written(data.get("numbers", {})).read(rows), found


def of_several(folder: Path, language: str | None = None) -> tuple[str, list[dict[str, Any]], Verification] | None:
    """The page of a folder of several tables or of a stream, its promises, and what verify says; None for a folder of
    one table."""
    manifest = load_manifest(folder)
    about = manifest.get("about") or {}
    if language is not None and isinstance(about, Mapping):
        manifest = {**manifest, "about": {**about, "language": language}}
    if holds_stream(folder):
        found = verify_stream(folder)
        told, broken = [one for one in found.promises if one.model != INTEGRITY], found.outcome == "broken"
        if broken or not manifest["finished"]:
            told = list(found.promises) if broken else promises_before(manifest)
        labels = labels_of(folder, manifest) if manifest["finished"] and not broken else None
        return stream_report(manifest, told, first_rows(folder, manifest), labels), [asdict(one) for one in told], found
    if not has_several(folder) or manifest.get("made_by") == MARGINALS:
        return None
    found = verify_folder(folder)
    manifest = as_verified(manifest, found)
    said = read_set(folder)
    tables = {one.name: file.table for one, file in zip(said.tables, read_files(folder, said.files), strict=True)}
    if lost := [name for name, table in tables.items() if table is None]:
        raise ReadError(f'"{lost[0]}" cannot be read as a table')
    page = set_report(manifest, {name: table for name, table in tables.items() if table is not None})
    return page, manifest["promises"], found


def refuse_listed(place: Path, page: str) -> None:
    """Refuse another page in the place of a report whose hash the manifest beside it has."""
    if place.name != REPORT or not holds_stream(place.parent):
        return
    listed = {one["file"]: one["sha256"] for one in load_manifest(place.parent).get("beside", [])}
    if listed.get(REPORT) not in (None, hashlib.sha256(page.encode()).hexdigest()):
        what = f"the manifest in {place.parent} has the hash of another {REPORT}"
        raise OutputError(what, hint="choose another place with -o")


def as_verified(manifest: Manifest, found: Verification) -> dict[str, Any]:
    """A manifest with what verify says in place of what it claims."""
    told = [promise for promise in found.promises if found.outcome == "broken" or promise.model != INTEGRITY]
    return {**manifest, "promises": [asdict(promise) for promise in told], "measured": list(found.classes)}


def of_table(
    file: Path,
    table: pl.DataFrame,
    quasi: Sequence[Sequence[str]],
    sensitive: Sequence[str] = (),
    require: Sequence[Any] = (),
    hierarchies: Mapping[str, Any] | None = None,
) -> tuple[dict[str, Any], Verification]:
    """A manifest of what can be measured on any table, and whether it keeps what is asked."""
    found = verify_table(table, quasi, require, hierarchies=hierarchies)
    known = dict.fromkeys((name for names in quasi for name in names), "quasi")
    role = dict.fromkeys(sensitive, "sensitive") | known
    columns = [
        {"name": name, "role": role.get(name, "insensitive"), "kind": kind_of(dtype)}
        for name, dtype in table.schema.items()
    ]
    manifest = {
        "sfumato": version("sfumato"),
        FOREIGN: True,
        "data": {"file": file.name, "sha256": sha256(file), "rows": table.height, "columns": columns},
        "policy": {
            "quasi": [list(names) for names in quasi],
            "sensitive": list(sensitive),
            "require": [{"model": c.model, **c.parameters()} for c in require],
        },
        "promises": [asdict(promise) for promise in found.promises],
        "measured": list(found.classes),
    }
    return manifest, found


def aligned(manifest: Manifest, released: pl.DataFrame, original: pl.DataFrame) -> np.ndarray | None:
    """The original row of each released row, where as many rows show it by columns that were released as they are."""
    if released.height != original.height or (is_masked(manifest) and look(manifest, "data", "order") != INPUT):
        return None
    roles, changed = roles_of(manifest, released), look(manifest, "changed") or ()
    kept = [n for n, role in roles.items() if role != "quasi" and n in original.columns and n not in changed]
    same = [printed(released.get_column(name)).eq_missing(printed(original.get_column(name))).all() for name in kept]
    return np.arange(released.height) if kept and all(same) else None
