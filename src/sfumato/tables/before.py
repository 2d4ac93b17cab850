"""Tables that were published before: what everybody has of them, and must not be told by the next one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.parameters import path_of
from sfumato.criteria.cells.linked import LinkedTable
from sfumato.criteria.cells.published import PublishedCells
from sfumato.criteria.sets import set_promise
from sfumato.criteria.sets.published import PublishedSet, PublishedTable, TableLink
from sfumato.engines.files.bytes import sha256
from sfumato.errors import InputError, PolicyError
from sfumato.release.data_files import has_several, read_files
from sfumato.release.manifest import NAME
from sfumato.release.set_folder import verify_set
from sfumato.release.set_manifest import read_set
from sfumato.tables.given import dimension_of_labels
from sfumato.tables.linked import Before
from sfumato.tables.values import StatTable

PROMISES = ("hidden-cells", "linked-hidden-cells")
EARLIER = "earlier release"  # the kind of link


def tables_before(given: Any) -> tuple[list[Before], list[TableLink]]:
    """The tables of the folders of earlier releases, and the links that say so; an error where one is no protected
    table, was changed, or was itself made beside another that is missing."""
    folders = list(given) if isinstance(given, list | tuple) else [given]
    for one in folders:
        if not isinstance(one, str | Path):
            raise PolicyError("an earlier table is the folder of a release", got=type(one).__name__,
                              hint='protect it, and write it by safe.save("earlier/")')  # fmt: skip
    found: list[Before] = []
    marks: dict[str, Path] = {}
    links: list[TableLink] = []
    for one in folders:
        folder = path_of(one)
        mine, beside = _of_folder(folder, len(found))
        found += mine
        marks[sha256(folder / NAME)] = folder
        links += beside
    missing = [link for link in links if link.sha256 not in marks]
    if missing:
        raise PolicyError(
            "an earlier release was itself made beside another, which is missing",
            got=f"a release with the hash {missing[0].sha256[:12]}", hint="name all earlier releases of the same data",
        )  # fmt: skip
    return found, [TableLink(EARLIER, (), (), mark) for mark in marks]


@dataclass(frozen=True, eq=False)
class PublishedFolder:
    """The tables of the folder of a protected table, the earlier ones that it was made beside, whether its cells are
    natural numbers, and how many people a published count is of at least, where it says so."""

    tables: list[tuple[LinkedTable, PublishedCells]]
    links: list[TableLink]
    whole: bool
    n: int | None


def published_folder(folder: Path) -> PublishedFolder:
    """What everybody has who has a folder; an error where it is of no protected table, or was changed."""
    if not folder.is_dir():
        what = "an earlier table is not protected: it is no folder of a release"
        raise PolicyError(what, got=f'"{folder}"', hint="protect it first: sfumato tables protect TABLE -o FOLDER")
    if not has_several(folder):
        raise PolicyError("an earlier release has rows, and no statistical table", got=f'"{folder}"')
    manifest = read_set(folder)
    claims = [one for one in manifest.promises if one.model in PROMISES]
    if not claims:
        raise PolicyError(
            "an earlier table hides no cell: it is not protected, or its values were changed", got=f'"{folder}"',
            hint="tables are linked that were protected by hiding cells, as by exact",
        )  # fmt: skip
    try:
        kept = verify_set(folder)
    except InputError as error:
        raise PolicyError(f"an earlier release cannot be read: {error.what}", got=f'"{folder}"') from None
    if kept.outcome == "broken":
        notes = "; ".join(promise.note or promise.model for promise in kept.promises if not promise.holds)
        what = f"an earlier release was changed, or does not keep its promises: {notes}"
        raise PolicyError(what, got=f'"{folder}"', hint="sfumato verify says what is wrong")
    tables: dict[str, PublishedTable] = {}
    for said, file in zip(manifest.tables, read_files(folder, manifest.files), strict=True):
        assert file.table is not None
        tables[said.name] = PublishedTable(said.name, file.table, {c.name: c.role for c in said.columns})
    promise = set_promise(claims[0].model, **claims[0].parameters)
    links = [TableLink(one.kind, tuple(one.tables), tuple(one.columns), one.sha256) for one in manifest.links]
    earlier = [link for link in links if link.kind == EARLIER]
    n = next((one.parameters.get("n") for one in manifest.promises if one.model == "published-frequency"), None)
    return PublishedFolder(promise.tables(PublishedSet(tables)), earlier, bool(promise.whole), n)


def _of_folder(folder: Path, number: int) -> tuple[list[Before], Sequence[TableLink]]:
    published, found = published_folder(folder), []
    for i, (table, cells) in enumerate(published.tables, number + 1):
        least, most = cells.bounds()
        lower, upper = np.full(cells.values.shape, -np.inf), np.full(cells.values.shape, np.inf)
        lower[cells.hidden], upper[cells.hidden] = least, most
        name = f"earlier {i}: {table.name}"
        found.append(Before(name, _table(table, cells, published.whole), lower, upper))
    return found, published.links


def _table(table: LinkedTable, cells: PublishedCells, whole: bool) -> StatTable:
    """A published table as one of ours: of its rows and contributors nothing is known."""

    def made(dimensions: Sequence[Any], value: np.ndarray, **beside: Any) -> StatTable:
        shape = value.shape
        none = np.zeros(shape, np.int64)
        return StatTable(
            tuple(map(dimension_of_labels, dimensions)), None if whole else "value", none, value, none,
            np.zeros((*shape, 0)), np.zeros(shape), **beside,
        )  # fmt: skip

    kept = tuple(np.flatnonzero(one) for one in table.shown)
    everywhere = np.full(tuple(len(one.labels) for one in table.dimensions), np.nan)
    everywhere[np.ix_(*kept)] = cells.values
    full = made(table.dimensions, everywhere)
    return made(table.published(), cells.values, finer=full, kept=kept)


def frame_table(
    name: str, frame: pl.DataFrame, by: Sequence[str], edges: Mapping[str, Any], whole: bool, least: float
) -> tuple[LinkedTable, PublishedCells]:
    """A published table of any tool, as a frame has it."""
    table = LinkedTable.of(name, frame, by, edges)
    return table, PublishedCells.of(frame, table.published(), whole=whole, least=least)
