"""ReleaseSet: several tables that leave together, what joins them, and what is promised of all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.hierarchy import kind_of
from sfumato.core.parameters import path_of
from sfumato.core.printed import printed_frame
from sfumato.core.progress import Progress, cancellable, quiet
from sfumato.core.wording import Described, count
from sfumato.criteria.sets.published import PublishedSet, PublishedTable, TableLink
from sfumato.engines.files.bytes import FORMATS, GUARDED, atomic_folder, sha256, write_table
from sfumato.engines.order import arrangement
from sfumato.errors import BrokenPromise, OutputError, did_you_mean
from sfumato.release.manifest import write_manifest
from sfumato.release.set_folder import verify_published, verify_set
from sfumato.release.set_manifest import in_files, set_manifest
from sfumato.release.verify import Verification
from sfumato.report.page import pdf_of
from sfumato.report.release_set import set_report


@dataclass(frozen=True, eq=False)
class SetTable:
    """A table of a set: its rows, the role of each column, and what its user gets, the rows unless said otherwise.

    Rows stand in canonical order, sorted by their columns from the left: see `in_order`.
    """

    name: str
    frame: pl.DataFrame
    roles: Mapping[str, str]
    make: Callable[[], Any] | None = None

    def describe(self) -> dict[str, Any]:
        """What the manifest says of it."""
        columns = [
            {"name": name, "role": self.roles.get(name, "insensitive"), "kind": kind_of(dtype)}
            for name, dtype in self.frame.schema.items()
        ]
        return {"name": self.name, "rows": self.frame.height, "columns": columns}

    def published(self) -> PublishedTable:
        """The table as its readers have it."""
        roles = {name: self.roles.get(name, "insensitive") for name in self.frame.columns}
        return PublishedTable(self.name, printed_frame(self.frame), roles)


def in_order(frame: pl.DataFrame) -> pl.DataFrame:
    """The rows in canonical order: sorted by what is printed of their columns, from the left.

    >>> in_order(pl.DataFrame({"group": [2, 1], "age": [30, 40]}))["age"].to_list()
    [40, 30]
    """
    return frame[arrangement(frame, frame.columns)]


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ReleaseSet(Described):
    """Tables that leave together, verified from what is published of all of them.

    `tables` are frames of the kind that came in, by name; `links` say what joins them. `verification` is of the
    published tables, `solution` what was decided, where a search did.
    """

    parts: tuple[SetTable, ...]
    links: tuple[TableLink, ...]
    promises: tuple[Any, ...]
    verification: Verification
    manifest: dict[str, Any]
    solution: Any = None
    rows: np.ndarray | None = None  # where its first table has rows of the original, which they are

    @cached_property
    def tables(self) -> dict[str, Any]:
        """What leaves: a table for each name."""
        return {part.name: part.frame if part.make is None else part.make() for part in self.parts}

    def __getstate__(self) -> dict[str, Any]:
        """What is copied and pickled: what leaves, not how it is made."""
        parts = tuple(replace(part, make=None) for part in self.parts)
        return {**self.__dict__, "tables": self.tables, "parts": parts}

    def described(self) -> tuple[str, Sequence[tuple[str, str]]]:
        """Rows of each table, and every promise."""
        rows = [(part.name, count(part.frame.height, "row")) for part in self.parts]
        return f"Release of {count(len(self.parts), 'table')}", [*rows, *self.verification.described()[1]]

    def beside(self) -> Mapping[str, str]:
        """What is written beside the tables, by file name: the same once more, in another form."""
        return {}

    @cancellable
    def save(
        self,
        path: str | Path,
        format: str | None = None,
        overwrite: bool = False,
        pdf: bool = False,
        *,
        progress: Progress | None = None,
    ) -> Path:
        """Write a folder with a file for each table, manifest.json and report.html: all of it, verified from the files,
        or none. `format` is csv without one; with `pdf` the report is printed beside itself, by Chromium."""
        format = "csv" if format is None else format
        if format not in FORMATS:
            raise OutputError("unknown output format", got=repr(format), allowed=", ".join(FORMATS),
                              hint=did_you_mean(format, FORMATS))  # fmt: skip
        target = path_of(path)
        (progress or quiet)("writing", None)
        with atomic_folder(target, overwrite) as folder:
            files = []
            for part in self.parts:
                file = f"{part.name}.{format}"
                write_table(part.frame, folder / file, format)
                digest = sha256(folder / file)
                files.append({"file": file, "format": format, "sha256": digest, "guarded": format in GUARDED})
            manifest = in_files(self.manifest, files)
            for file, text in self.beside().items():
                (folder / file).write_text(text, encoding="utf-8")
                manifest.setdefault("beside", []).append({"file": file, "sha256": sha256(folder / file)})
            write_manifest(folder, manifest)
            frames = {part.name: part.frame for part in self.parts}
            page = set_report(manifest, frames)
            (folder / "report.html").write_text(page, encoding="utf-8")
            if pdf:
                (folder / "report.pdf").write_bytes(pdf_of(page))
            found = verify_set(folder)
            if found.outcome != self.verification.outcome or found.outcome == "broken":
                broken = "; ".join(promise.model for promise in found.promises if not promise.holds)
                what = f"the written release does not keep: {broken}"
                raise BrokenPromise(f"{what}. Nothing was written; this is a fault of Sfumato")
        return target


def make_set(
    made_by: str,
    parts: Sequence[SetTable],
    links: Sequence[TableLink],
    promises: Sequence[Any],
    *,
    policy: Mapping[str, Any],
    method: Mapping[str, Any],
    before: int | None,
    seed: int | None = None,
    fingerprint: str | None = None,
    reading: Mapping[str, Any] | None = None,
    about: Mapping[str, Any] | None = None,
    solution: Any = None,
    rows: np.ndarray | None = None,
) -> ReleaseSet:
    """A release of several tables, once every promise was shown on what is published of them; a BrokenPromise else.

    `made_by` is an open word, `policy` the roles and what was asked for, `method` how the tables were made, `before`
    the rows of the input, where they may be told.
    """
    published = PublishedSet({part.name: part.published() for part in parts}, links)
    found = verify_published(promises, published)
    if found.outcome == "broken":
        broken = "; ".join(f"{p.model} ({p.note})" for p in found.promises if not p.holds)
        raise BrokenPromise(f"the tables do not keep {broken}. They are not released; this is a fault of Sfumato")
    manifest = set_manifest(
        made_by, [part.describe() for part in parts], links, policy, method, found.promises, before, seed, fingerprint,
        reading or {}, about,
    )  # fmt: skip
    return ReleaseSet(
        parts=tuple(parts), links=tuple(links), promises=tuple(promises), verification=found, manifest=manifest,
        solution=solution, rows=rows,
    )  # fmt: skip
