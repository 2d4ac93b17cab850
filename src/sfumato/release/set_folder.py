"""Verify tables that are published together, from their files alone; shares nothing with what made them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.core.wording import quoted
from sfumato.criteria.model import Promise
from sfumato.criteria.sets import SET_PROMISES, set_promise
from sfumato.criteria.sets.model import examined_set, unkept
from sfumato.criteria.sets.published import ROLES, PublishedSet, PublishedTable, TableLink
from sfumato.engines.files.bytes import sha256
from sfumato.engines.order import is_canonical
from sfumato.errors import PolicyError, ReadError
from sfumato.release.data_files import read_files
from sfumato.release.set_manifest import BesideFile, ManifestTable, SetClaim, SetManifest, read_set
from sfumato.release.verify import INTEGRITY, Verification

SENTENCE = "The tables are those that the manifest describes"


def verify_set(path: str | Path) -> Verification:
    """Check a folder of several tables from its files alone: the files against the manifest, and every promise on what
    is published of all tables together.

    The first promise, "integrity", is that the files are those that the manifest describes: same bytes, rows and
    columns, in canonical order, joined by columns that are there, and no identifying column.

    Raises
    ------
    ReadError
        There is no manifest, it is malformed, or a file is missing, unreadable or outside of the folder.
    """
    folder = Path(path)
    manifest = read_set(folder)
    promises = [_built(i, claim) for i, claim in enumerate(manifest.promises)]
    faults: list[str] = []
    tables: dict[str, PublishedTable] = {}
    for said, read in zip(manifest.tables, read_files(folder, manifest.files), strict=True):
        faults += [] if read.fault is None else [read.fault]
        if read.table is None:
            faults.append(f"{read.file.file} cannot be read as a table")
            continue
        roles = {column.name: column.role for column in said.columns}
        tables[said.name] = PublishedTable(said.name, read.table, roles)
        faults += _shape_faults(said, read.table, manifest)
    faults += [f"{one.file} is another than was made" for one in manifest.beside if not _same(folder / one.file, one)]
    links = [TableLink(one.kind, tuple(one.tables), tuple(one.columns), one.sha256) for one in manifest.links]
    faults += _link_faults(links, tables)
    faults += _method_faults(manifest.method, tables)
    published = PublishedSet(tables, links)
    whole = len(tables) == len(manifest.tables)
    found = [
        _against(claim, examined_set(made, published) if whole else unkept(made, "a table cannot be read"))
        for claim, made in zip(manifest.promises, promises, strict=True)
    ]
    sentence = f"{SENTENCE}, and have no identifying column." if manifest.policy.identifying else f"{SENTENCE}."
    integrity = Promise(INTEGRITY, {}, (), not faults, len(faults), 0, sentence, "; ".join(faults) or None)
    return Verification(sum(t.texts.height for t in tables.values()), (integrity, *found), ())


def _same(place: Path, said: BesideFile) -> bool:
    """Whether a file beside the tables is the one that was written."""
    return Path(said.file).name == said.file and place.is_file() and sha256(place) == said.sha256


def verify_published(promises: Sequence[Any], published: PublishedSet) -> Verification:
    """The same of tables that are not in a folder yet: every promise on what would be published."""
    found = tuple(examined_set(promise, published) for promise in promises)
    return Verification(sum(table.texts.height for table in published.tables.values()), found, ())


def _built(number: int, claim: SetClaim) -> Any:
    if claim.model not in SET_PROMISES:
        what = f'manifest.json: promises.{number} is "{claim.model[:100]}", a promise that is not known here'
        raise ReadError(what, hint="if another package brings it, install that package; nothing is verified")
    try:
        return set_promise(claim.model, **claim.parameters)
    except PolicyError as error:
        raise ReadError(f"manifest.json: promises.{number} makes no sense: {error.what[:300]}") from None


def _against(claim: SetClaim, promise: Promise) -> Promise:
    """The promise as the tables keep it, and broken where the manifest claims another measured value."""
    notes = [] if claim.holds else ["the manifest itself says that it does not hold"]
    if claim.how != promise.how:
        notes.append(f"the manifest claims that it is {claim.how}")
    for what, claimed, found in (("", claim.measured, promise.measured), ("a bound of ", claim.bound, promise.bound)):
        if claimed is not None and found is not None and not math.isclose(claimed, found, rel_tol=1e-9, abs_tol=1e-9):
            notes.append(f"the manifest claims {what}{claimed:g}, the tables say {found:g}")
    if not notes:
        return promise
    return replace(promise, holds=False, note="; ".join([*notes, *filter(None, [promise.note])]))


def _shape_faults(said: ManifestTable, table: pl.DataFrame, manifest: SetManifest) -> list[str]:
    faults, names = [], [column.name for column in said.columns]
    if table.height != said.rows:
        faults.append(f'"{said.name}" has {table.height} rows, the manifest says {said.rows}')
    if table.columns != names:
        faults.append(f'the columns of "{said.name}" are not those of the manifest')
    if strange := sorted({column.role for column in said.columns} - {*ROLES}):
        faults.append(f'columns of "{said.name}" have roles that are not known: {quoted(strange)}')
    if identifying := [name for name in manifest.policy.identifying if name in table.columns]:
        faults.append(f'"{said.name}" has identifying columns: {quoted(identifying)}')
    if table.columns == names and not is_canonical(table, table.columns):
        faults.append(f'the rows of "{said.name}" are not in canonical order')
    return faults


def _method_faults(method: Mapping[str, Any], tables: Mapping[str, PublishedTable]) -> list[str]:
    """Where tables have other groups or counterfeits than the method says."""
    counts = [table for table in tables.values() if table.columns("group") and table.columns("count")]
    if "counterfeits" not in method or len(counts) != 1:
        return []
    often = counts[0].numbers(counts[0].column("count"))
    faults = []
    if often is not None and method["counterfeits"] != int(often.sum()):
        faults.append("there are other numbers of counterfeits than the method says")
    if "groups" in method and method["groups"] != counts[0].texts.height:
        faults.append("there are other numbers of groups than the method says")
    return faults


def _link_faults(links: Sequence[TableLink], tables: Mapping[str, PublishedTable]) -> list[str]:
    faults = []
    for link in links:
        for name in link.tables:
            absent = [c for c in link.columns if name in tables and c not in tables[name].texts.columns]
            if absent:
                faults.append(f'"{name}" lacks {quoted(absent)}, which a link joins it by')
    return faults
