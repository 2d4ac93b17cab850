"""Source: a table to measure, and what is known of it: a frame, a file, an out-of-core table, or a release folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.parameters import known_columns, path_of, quasi_sets
from sfumato.core.printed import printed
from sfumato.criteria import KAnonymity
from sfumato.engines.files.bytes import FORMATS, read_back, sha256
from sfumato.engines.labelled import labelled
from sfumato.engines.memory.table import enter
from sfumato.engines.order import CANONICAL, RANDOM
from sfumato.errors import PolicyError, ReadError
from sfumato.measures.table import DEFAULT_MAX_CELLS, Table, TupleCounts, refuse, table_of
from sfumato.measures.utility.pair import Pair
from sfumato.release.folder import Streamed, data_place, is_streamed
from sfumato.release.manifest import COPY, SYNTHESIS, Data, ManifestSynthesis, read_manifest, wanted

Sets = tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class SyntheticSource:
    """How the rows of a synthetic table were drawn, and what tells which rows of the original were held out."""

    how: ManifestSynthesis = field(default_factory=ManifestSynthesis)
    seed: int | None = None
    fingerprint: str | None = None  # of the original

    @property
    def drawn(self) -> bool:
        """Whether no row is a person's as it is: all of it was drawn from a model, or each row was mixed with such."""
        return not (self.how.partial or self.how.copies_people)


@dataclass(frozen=True, eq=False, repr=False)
class MeasuredTable:
    """A table with the roles of its columns, and where it came from, as far as that is known.

    `untouched` are the columns of a release folder that were released as they are: they tell whether its rows stand in
    the order of the original.
    """

    table: Table
    quasi: Sets = ()
    sensitive: tuple[str, ...] = ()
    weight: str | None = None
    wildcard: bool = False
    k: int | None = None
    hierarchies: Mapping[str, Any] = field(default_factory=dict)
    original: pl.DataFrame | None = None
    rows: np.ndarray | None = None  # of the original, per released row
    untouched: tuple[str, ...] | None = None
    order: str | None = None  # of the rows of a release folder
    came_from: int | None = None  # rows of the table that a release folder was made of
    changed: tuple[str, ...] = ()  # columns that steps of masking changed, and
    perturbed: tuple[str, ...] = ()  # those of them that have other values now
    synthetic: SyntheticSource | None = None  # where rows were drawn; of several tables only the first is looked at
    split: tuple[np.ndarray, np.ndarray] | None = None  # the original rows that were held out, and the others
    as_drawn: pl.DataFrame | None = None  # the synthetic rows before copies were taken out, where some were

    @property
    def drawn(self) -> bool:
        """Whether no row is a person's as it is."""
        return self.synthetic is not None and self.synthetic.drawn

    def sets(self, given: Any, verb: str) -> Sets:
        """The sets of quasi-identifiers: those given, else those of the release."""
        found = self.quasi if given is None else quasi_sets(given)
        if not found or not all(found):
            raise PolicyError(
                f"{verb} needs the quasi-identifiers: the columns that others may know of a person",
                allowed='quasi=["age", "zip"], or --quasi age,zip',
                hint="a release folder names them itself; sfumato inspect suggests some",
            )
        known_columns((name for names in found for name in names), self.table.columns)
        return found

    def frame(self, what: str) -> pl.DataFrame:
        """The rows; of an out-of-core table, a PolicyError that names what needs them."""
        return self.table if isinstance(self.table, pl.DataFrame) else refuse(what)

    def columns(self, given: Any) -> tuple[str, ...] | None:
        """All quasi-identifiers, each once; None where none are known."""
        if given is None and not self.quasi:
            return None
        found = self.sets(given, "this")
        return tuple(dict.fromkeys(name for names in found for name in names))


def source_of(data: Any, most: int = DEFAULT_MAX_CELLS) -> MeasuredTable:
    """What can be known of a table: a release folder tells the roles of its columns.

    An out-of-core table, and the data of a folder that are large, are known by counts of at most `most`
    different tuples.

    >>> source_of({"age": [30, 41]}).quasi
    ()
    """
    if isinstance(data, MeasuredTable):
        return data
    if isinstance(data, str | Path) and path_of(data).is_dir():
        return _of_folder(path_of(data), most)
    return MeasuredTable(table_of(data, most))


def _of_folder(folder: Path, most: int) -> MeasuredTable:
    manifest = read_manifest(folder)
    policy = manifest.policy
    table, synthetic = _data(folder, manifest.data, most), None
    if manifest.made_by == SYNTHESIS:
        mark = None if manifest.input is None else manifest.input.fingerprint
        synthetic = SyntheticSource(manifest.synthesis or ManifestSynthesis(), manifest.seed, mark)
    roles = {column.name: column.role for column in manifest.data.columns}
    found = MeasuredTable(
        table=table,
        quasi=tuple(map(tuple, policy.quasi)),
        sensitive=tuple(policy.sensitive),
        weight=next((name for name, role in roles.items() if role == "weight"), None),
        wildcard=policy.wildcard,
        k=max((c.k for c, _ in wanted(manifest) if isinstance(c, KAnonymity)), default=None),
        untouched=tuple(
            name
            for name, role in roles.items()
            if name in table.columns and (name not in manifest.changed if manifest.changed else role != "quasi")
        ),
        changed=tuple(name for name in manifest.changed if name in table.columns),
        perturbed=tuple(name for name in manifest.perturbed if name in table.columns),
        order=manifest.data.order,
        came_from=None if manifest.input is None else manifest.input.rows,
        synthetic=synthetic,
    )
    return first_copy(found)


def first_copy(source: MeasuredTable) -> MeasuredTable:
    """The first of several tables that were drawn from a model: all of them together are no more people."""
    if source.synthetic is None or source.synthetic.how.m == 1 or COPY not in source.table.columns:
        return source
    every = source.frame("a synthetic table of several copies")
    return replace(
        source,
        table=every.filter(pl.col(COPY).cast(pl.String) == "1").drop(COPY),
        quasi=tuple(tuple(name for name in names if name != COPY) for names in source.quasi),
    )


def _data(folder: Path, data: Data, most: int) -> Table:
    """The table of a release folder: the very file that the manifest describes."""
    if data.file is None:
        raise ReadError(
            f'the data of the release in "{folder}" are no file of this folder', hint="name the table itself"
        )
    format, guarded = data.format, data.guarded
    path = data_place(folder, data.file, format)
    if format not in FORMATS:
        raise ReadError(f'the data file that "{folder / "manifest.json"}" names has an unknown format')
    if sha256(path) != data.sha256.removeprefix("sha256:").lower():
        hint = f"sfumato verify says more; to measure the file as it is, name {path.name} itself"
        raise ReadError(f'the data file in "{folder}" is not the one that its manifest describes', hint=hint)
    if is_streamed(path, format, guarded):
        return TupleCounts(labelled(Streamed(path, format), data.forms), most)
    return enter(data.forms.read(read_back(path, format, guarded)))[0]


def in_order(original: pl.DataFrame, source: MeasuredTable) -> bool:
    """Whether the rows of a release can stand in the order of the original, as far as its columns tell.

    Columns that were released as they are must read alike row by row; where there is none, every label must cover the
    value of its row. A frame or a file of another tool is taken at its word.
    """
    released = source.table
    if not isinstance(released, pl.DataFrame) or original.height != released.height:
        return False
    if source.synthetic is not None and not source.synthetic.how.partial:
        return False  # none comes from a row of the original
    if source.untouched is None:
        return True
    if source.order in (CANONICAL, RANDOM):
        return False
    told = False
    for name in source.untouched:
        if name not in original.columns:
            continue
        before, after = printed(original.get_column(name)), printed(released.get_column(name))
        if bool(before.eq_missing(after).all()):
            told = told or before.n_unique() > 1
        elif bool(before.sort().eq_missing(after.sort()).all()):
            return False  # the same values in another order
    return told or _covers(original, released, source)


def _covers(original: pl.DataFrame, released: pl.DataFrame, source: MeasuredTable) -> bool:
    """Whether every released label covers the value of the row in its place."""
    names = [name for name in dict.fromkeys(n for names in source.quasi for n in names) if name in original.columns]
    pair = Pair(original, released, None, source.hierarchies)
    for name in names:
        column = pair.column(name)
        if column.unread or column.strange:
            continue
        wide = len(column.support)
        covered = np.repeat(np.arange(len(column.text)), column.size) * wide + column.members
        if not np.isin(column.label * wide + column.code, covered).all():
            return False
    return True
