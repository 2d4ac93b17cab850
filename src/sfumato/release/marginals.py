"""Verify a folder of marginal tables: that they agree with each other is seen in them, that they are private is not.

A margin is counts over the values of some columns, or over groups of them as a public hierarchy makes them. Its tables
are facts of the folder; the promise is that of the manifest's `privacy`, which holds by construction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.wording import quoted
from sfumato.criteria.model import Promise
from sfumato.errors import ReadError
from sfumato.release.data_files import read_files
from sfumato.release.facts import FactFinding
from sfumato.release.manifest import MARGINALS, MOST_TABLES, NAME, DataFile, load_manifest, validated
from sfumato.release.privacy import privacy_promise
from sfumato.release.verify import INTEGRITY, Verification

COUNT = "count"  # the last column of each table
WHOLE = "whole"
CLOSE = 1e-6  # of counts that are no whole numbers, relative to the total
SENTENCES = {
    "non-negative": "No count is negative.",
    "whole": "All counts are whole numbers.",
    "totals": "All tables have the same total.",
    "agreement": "Tables that share columns have the same counts over these.",
    "additivity": "The count of each group of a hierarchy is the sum of those of its values.",
}


@dataclass(frozen=True)
class MarginTable:
    """A table of the folder: its columns, and the level of each in its hierarchy, 0 where it has its values."""

    file: str
    columns: list[str]
    levels: list[int]


@dataclass(frozen=True)
class MarginManifest:
    """What verify reads of the manifest of marginal tables."""

    format: int
    made_by: str
    files: list[DataFile]
    tables: list[MarginTable]
    values: dict[str, list[list[str]]]  # of each column a row per value: it, and its group at each level above
    counts: str
    privacy: dict[str, Any]
    promises: list[dict[str, Any]] = field(default_factory=list)


def holds_marginals(folder: Path) -> bool:
    """Whether a folder is a release of marginal tables."""
    found = load_manifest(folder)
    return isinstance(found, Mapping) and found.get("made_by") == MARGINALS


def read_marginals(folder: Path) -> MarginManifest:
    """The manifest of marginal tables, or a ReadError that says what is wrong with it."""
    file = folder / NAME
    found: MarginManifest = validated(MarginManifest, load_manifest(folder), file, "marginal tables")
    if fault := _fault(found):
        raise ReadError(f'"{file}" is no manifest of marginal tables: {fault}')
    return found


def _fault(manifest: MarginManifest) -> str | None:
    names = [one.file for one in manifest.files]
    if [one.file for one in manifest.tables] != names or len({*names}) < len(names):
        return "tables and files are not the same"
    if not names or len(names) > MOST_TABLES:
        return f"it has no tables, or more than {MOST_TABLES}"
    for name, rows in manifest.values.items():
        if (
            not rows
            or not all(rows)
            or len({len(row) for row in rows}) > 1
            or len({row[0] for row in rows}) < len(rows)
        ):
            return f"values.{name} must be different, and in rows of one length"
        for level in range(len(rows[0]) - 1):
            if len({(row[level], row[level + 1]) for row in rows}) > len({row[level] for row in rows}):
                return f"values.{name} is not nested"
    for table in manifest.tables:
        if not table.columns or len(table.columns) != len(table.levels) or len({*table.columns}) < len(table.columns):
            return f"tables: {table.file} has no columns, or others than levels"
        for name, level in zip(table.columns, table.levels, strict=True):
            if name not in manifest.values or not 0 <= level < len(manifest.values[name][0]):
                return f"tables: {table.file} has a column or a level that values do not have"
    return None


def verify_marginals(path: str | Path) -> Verification:
    """Check a folder of marginal tables from its files alone.

    Its promise is differential privacy, stated as by construction. Facts, seen in the tables: no count is negative, all
    totals are equal, tables agree over the columns that they share, and hierarchies add up at every level.
    """
    folder = Path(path)
    manifest = read_marginals(folder)
    faults: list[str] = []
    tables: list[_Table] = []
    for said, read in zip(manifest.tables, read_files(folder, manifest.files), strict=True):
        found = None if read.table is None else _Table.of(read.table, said, manifest.values)
        if read.fault is not None:
            faults.append(read.fault)
        if found is None:
            faults.append(f"{read.file.file} does not have a count for each combination of its values")
        else:
            tables.append(found)
    facts = () if len(tables) < len(manifest.tables) else _facts(manifest, tables)
    sentence = "The tables are those that the manifest describes."
    integrity = Promise(INTEGRITY, {}, (), not faults, len(faults), 0, sentence, "; ".join(faults) or None)
    cells = sum(table.counts.size for table in tables)
    return Verification(cells, (integrity, _private(manifest)), (), facts)


def _private(manifest: MarginManifest) -> Promise:
    """The promise of differential privacy, which contradicts no other promise of the manifest."""
    found = privacy_promise(manifest.privacy)
    for claim in manifest.promises:
        said = {"model": found.model, "parameters": found.parameters, "how": found.how, "holds": True}
        if any(claim.get(name) != value for name, value in said.items()):
            what = "the manifest has another promise than its privacy gives"
            return Promise(found.model, found.parameters, (), False, None, found.bound, found.sentence, what, found.how)
    return found


@dataclass(frozen=True, eq=False)
class _Table:
    """The counts of a table, an axis per column, and the values that each has."""

    said: MarginTable
    values: Mapping[str, list[list[str]]]
    counts: np.ndarray

    @staticmethod
    def of(frame: pl.DataFrame, said: MarginTable, values: Mapping[str, list[list[str]]]) -> _Table | None:
        """The table of printed texts, or None where it has not each combination once."""
        shape = []
        if frame.columns != [*said.columns, COUNT]:
            return None
        place = np.zeros(frame.height, np.int64)
        for name, level in zip(said.columns, said.levels, strict=True):
            labels = list(dict.fromkeys(row[level] for row in values[name]))
            codes = pl.DataFrame({"v": labels, "c": np.arange(len(labels))}, schema_overrides={"v": pl.String})
            texts = frame.get_column(name).fill_null("").to_frame("v")
            code = texts.join(codes, on="v", how="left", maintain_order="left")["c"].fill_null(-1).to_numpy()
            if (code < 0).any():
                return None
            place = place * len(labels) + code
            shape.append(len(labels))
        counts = frame.get_column(COUNT).cast(pl.Float64, strict=False)
        if frame.height != prod(shape) or len(np.unique(place)) < frame.height or counts.null_count():
            return None
        found = np.empty(frame.height)
        found[place] = counts.to_numpy()
        return _Table(said, values, found.reshape(shape)) if np.isfinite(found).all() else None

    def level(self, name: str) -> int:
        """The level that it has a column at."""
        return self.said.levels[self.said.columns.index(name)]

    @cached_property
    def total(self) -> float:
        return float(self.counts.sum())

    def over(self, levels: Mapping[str, int]) -> np.ndarray:
        """Its counts over some columns at levels that are not below its own."""
        left = tuple(i for i, name in enumerate(self.said.columns) if name not in levels)
        found = self.counts.sum(left)
        here = [name for name in self.said.columns if name in levels]
        for axis, name in enumerate(here):
            own, asked = self.level(name), levels[name]
            above = {row[own]: row[asked] for row in self.values[name]}
            number = {label: i for i, label in enumerate(dict.fromkeys(row[asked] for row in self.values[name]))}
            groups = np.array([number[label] for label in above.values()])
            sums = np.zeros((len(number), *np.delete(found.shape, axis)))
            np.add.at(sums, groups, np.moveaxis(found, axis, 0))
            found = np.moveaxis(sums, 0, axis)
        return found.transpose([here.index(name) for name in levels])


def _facts(manifest: MarginManifest, tables: Sequence[_Table]) -> tuple[FactFinding, ...]:
    whole = manifest.counts == WHOLE
    near = 0.5 if whole else CLOSE * max(1.0, *(abs(table.total) for table in tables))

    def differ(one: np.ndarray, other: np.ndarray) -> bool:
        return bool((np.abs(one - other) > near).any())

    def apart(agree: Callable[[_Table, _Table], Mapping[str, int] | None]) -> list[str]:
        found = []
        for one, other in combinations(tables, 2):
            if (levels := agree(one, other)) and differ(one.over(levels), other.over(levels)):
                found.append(f"{one.said.file} and {other.said.file}")
        return found

    negative = [table.said.file for table in tables if (table.counts < 0).any()]
    others = [table.said.file for table in tables if abs(table.total - tables[0].total) > near]
    facts = [
        _fact("non-negative", negative),
        *([_fact("whole", [t.said.file for t in tables if (t.counts != np.rint(t.counts)).any()])] if whole else []),
        _fact("totals", others),
        _fact("agreement", apart(lambda one, other: None if _nested(one, other) else _shared(one, other))),
    ]
    if any(max(table.said.levels) for table in tables):
        facts.append(
            _fact("additivity", apart(lambda one, other: _shared(one, other) if _nested(one, other) else None))
        )
    return tuple(facts)


def _shared(one: _Table, other: _Table) -> dict[str, int]:
    """The columns that two tables share, at the higher of their levels."""
    both = [name for name in one.said.columns if name in other.said.columns]
    return {name: max(one.level(name), other.level(name)) for name in both}


def _nested(one: _Table, other: _Table) -> bool:
    """Whether two tables have the same columns, at other levels."""
    return {*one.said.columns} == {*other.said.columns}


def _fact(name: str, faults: Sequence[str]) -> FactFinding:
    note = f"not so in {quoted(faults[:3])}" if faults else None
    return FactFinding(name, (), {}, SENTENCES[name], not faults, False, None, note)
