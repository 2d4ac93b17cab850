"""attack on a series: what releases about the same people tell together of who was in which."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.core.parameters import column_names, mapping, path_of
from sfumato.criteria.sets.published import PublishedTable
from sfumato.engines.memory.table import enter
from sfumato.errors import PolicyError, ReadError
from sfumato.measures.attacks.intersection import intersection
from sfumato.measures.attacks.summary import AttackResults
from sfumato.measures.source import MeasuredTable
from sfumato.release.data_files import has_several, read_files
from sfumato.release.manifest import NAME
from sfumato.release.release_set import ReleaseSet
from sfumato.release.set_manifest import read_set

SENTENCE = "the success of attacks"


def attack_series(
    releases: Sequence[Any],
    originals: Any,
    person: str,
    source_of: Callable[[Any], MeasuredTable],
    *,
    m: int,
    quasi: Any = None,
    sensitive: Any = None,
    hierarchies: Mapping[str, Any] | None = None,
    **options: Any,
) -> AttackResults:
    """The intersection of releases by an attacker who knows the quasi-identifiers of people, and when they were there.

    `originals` are the tables behind the releases, one each, with the column `person`. Roles are those of the releases
    unless given; each is matched on those of the quasi-identifiers that it has.
    """
    if len(releases) < 2:
        raise PolicyError("a series has two releases or more", got=len(releases), allowed="releases=[first, second]")
    both = [table_of_series(release, source_of) for release in releases]
    found, counterfeits = [one for one, _, _ in both], [nobody for _, nobody, _ in both]
    known = [name for one in found for names in one.quasi for name in names]
    names = column_names(quasi, "quasi") or tuple(dict.fromkeys(known))
    secrets = column_names(sensitive, "sensitive") or tuple(dict.fromkeys(n for one in found for n in one.sensitive))
    if not names or not secrets:
        hint = "release folders name them themselves"
        raise PolicyError("an attack on a series needs the quasi-identifiers and a sensitive column", hint=hint)
    if isinstance(originals, str | Path) or not isinstance(originals, Sequence) or len(originals) != len(releases):
        got = f"{len(originals)} tables" if isinstance(originals, list | tuple) else type(originals).__name__
        what = "an attack on a series needs the table behind each release"
        raise PolicyError(what, got=got, allowed=f"a list of {len(releases)}, in the order of the releases")
    behind = [enter(one)[0] for one in originals]
    trees: dict[str, Any] = {}
    for one in found:
        trees |= one.hierarchies
    trees |= mapping(hierarchies, "hierarchies")
    tried = AttackResults()
    for secret in secrets:
        frames = [one.frame(SENTENCE) for one in found]
        given: dict[str, Any] = {
            "person": person,
            "m": m,
            "hierarchies": trees,
            "counterfeits": counterfeits,
            "signatures": [signature for _, _, signature in both],
            **options,
        }
        key = "intersection" if len(secrets) == 1 else f"intersection: {secret}"
        tried[key] = intersection(frames, behind, names, secret, **given).to_dict()
    return tried


def table_of_series(release: Any, source_of: Callable[[Any], MeasuredTable]) -> tuple[MeasuredTable, Any, Any]:
    """A release as an attacker has it: of several tables, the one with quasi-identifiers and a sensitive column, or two
    that are joined by their groups. Second, the chance of each row to stand for nobody, where counterfeits are counted;
    third, the set of values of the group of each row, where people keep theirs.
    """
    if isinstance(release, ReleaseSet):
        return _of_tables([part.published() for part in release.parts])
    if isinstance(release, str | Path) and path_of(release).is_dir() and (path_of(release) / NAME).exists():
        folder = path_of(release)
        if has_several(folder):
            return _of_tables(_published(folder))
    return source_of(release), None, None


def _published(folder: Path) -> list[PublishedTable]:
    manifest = read_set(folder)
    found = []
    for said, read in zip(manifest.tables, read_files(folder, manifest.files), strict=True):
        if read.table is None or read.fault is not None:
            hint = "sfumato verify says more"
            raise ReadError(f'a table in "{folder}" is not the one that its manifest describes', hint=hint)
        found.append(PublishedTable(said.name, read.table, {column.name: column.role for column in said.columns}))
    return found


def _of_tables(tables: Sequence[PublishedTable]) -> tuple[MeasuredTable, Any, Any]:
    """The table whose rows have both; groups are no quasi-identifiers: nobody knows them beforehand."""
    for table in tables:
        if table.columns("quasi") and table.columns("sensitive"):
            texts: pl.DataFrame = table.texts.drop(table.columns("group"))
            found, nobody = (
                MeasuredTable(texts, (table.columns("quasi"),), table.columns("sensitive")),
                _nobody(table, tables),
            )
            return found, nobody, None if nobody is None else _signatures(table)
    for people in tables:
        for values in tables:
            if people.columns("quasi") and people.columns("group") and values.columns("sensitive"):
                left, right = people.columns("group"), values.columns("group")
                if right and values is not people:
                    texts = people.texts.join(values.texts, left_on=left, right_on=right, coalesce=True)
                    names = (*people.columns("quasi"), *values.columns("sensitive"))
                    return (
                        MeasuredTable(texts.select(names), (people.columns("quasi"),), values.columns("sensitive")),
                        None,
                        None,
                    )
    raise PolicyError("no table of the release has both quasi-identifiers and a sensitive column")


def _signatures(rows: PublishedTable) -> list[str]:
    """The set of values of the group of each row, as a text."""
    of_row = rows.texts.select(
        group=pl.col(rows.column("group")).cast(pl.String), value=pl.col(rows.columns("sensitive")[0]).cast(pl.String)
    )
    sets = of_row.group_by("group").agg(pl.col("value").unique().sort())
    joined = of_row.join(sets, on="group", how="left", maintain_order="left", suffix=" of group", nulls_equal=True)
    return [repr(one) for one in joined.get_column("value of group").to_list()]


def _nobody(rows: PublishedTable, tables: Sequence[PublishedTable]) -> Any:
    """The chance of each row to stand for nobody, by the counterfeits of its group; None where none are counted."""
    for counts in tables:
        if counts is not rows and counts.columns("group") and counts.columns("count") and rows.columns("group"):
            listed = {"group": counts.texts.get_column(counts.column("group")).cast(pl.String)}
            often = counts.numbers(counts.column("count"))
            if often is None:
                return None
            per_group = pl.DataFrame(listed | {"counterfeits": often})
            of_row = rows.texts.select(group=pl.col(rows.column("group")).cast(pl.String))
            joined = of_row.join(per_group, on="group", how="left", maintain_order="left")
            return (joined.get_column("counterfeits") / of_row.select(pl.len().over("group")).to_series()).to_numpy()
    return None
