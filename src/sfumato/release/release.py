"""Release: the table that leaves the house, with what was promised and what was measured."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.fingerprint import fingerprint, key
from sfumato.core.hierarchy import Recipe, bind_hierarchy
from sfumato.core.microdata import Attribute, Microdata, encode
from sfumato.core.parameters import path_of
from sfumato.core.policy import Policy
from sfumato.core.roles import Roles
from sfumato.engines.files.bytes import FORMATS, atomic_folder, sha256, write_table
from sfumato.engines.order import CANONICAL
from sfumato.errors import BrokenPromise, OutputError, PolicyError, did_you_mean
from sfumato.hierarchies.learned import Learned
from sfumato.hierarchies.redact import Redact
from sfumato.hierarchies.spec import written
from sfumato.losses.released import ReleasedColumn
from sfumato.measures.reach import Reach, reach_of
from sfumato.measures.standards.finding import Profile
from sfumato.release.checks import refuse_hidden
from sfumato.release.manifest import Audit, Method, Shown, class_counts, counted, losses, manifest
from sfumato.release.recode import global_labels, texts_of_labels
from sfumato.release.value_map import ValueMap
from sfumato.release.verify import Verification, verify_folder, verify_table
from sfumato.report import internal_report as internal_page
from sfumato.report import report
from sfumato.report.pdf import pdf_of
from sfumato.report.sections.headline import brief
from sfumato.report.sections.standards import profiles
from sfumato.report.sources import private_report
from sfumato.search import OLA, TupleSuppression, search_name
from sfumato.search.problem import Levels, Partition, Solution

BY_LOSS = (OLA, TupleSuppression)  # that no better one exists follows from losses of the original, if rows may go
NAMES = {"csv": "data.csv", "tsv": "data.tsv", "parquet": "data.parquet", "xlsx": "data.xlsx"}


@dataclass(frozen=True, eq=False)
class Release:
    """A table that satisfies its policy, verified from its own rows."""

    data: Any  # the kind of frame that came in
    solution: Solution
    policy: Policy
    verification: Verification
    table: pl.DataFrame  # the released rows, as Polars
    microdata: Microdata
    cell_codes: np.ndarray  # codes of each cell, as in `Cells`
    roles: Roles
    search: Any
    recipes: Mapping[str, Recipe]  # column to how its hierarchy is made
    levels: Mapping[str, tuple[int, int]]
    whole: Mapping[str, Mapping[str, int]] | None  # distributions that may be published
    original: pl.DataFrame
    rows: np.ndarray  # which rows of the original the released ones are, in released order
    seed: int | None = None
    normalised: tuple[str, ...] = ()  # sensitive columns in one spelling per value
    counts: Shown | None = None  # what the released rows show, where they were counted elsewhere
    order: str = CANONICAL  # of the released rows

    def __repr__(self) -> str:
        verdict = self.solution.verdict
        promises = ", ".join(c.model for c in self.policy.require)
        rows = f"{self.table.height} rows, {verdict.suppressed} suppressed"
        loss = losses(self.shown, self.policy)[0]  # what may be published: people paste this
        return f"<Release of {rows}, {'' if loss is None else f'loss {loss:.4f}, '}{promises}{brief(self.reach)}>"

    @cached_property
    def reach(self) -> Reach:
        """What the promises do not cover, and what the released rows tell of it: worked out when first asked for."""
        return reach_of(
            self.table,
            roles={name: self.roles.role(name) or "insensitive" for name in self.table.columns},
            quasi=self.policy.quasi,
            promises=[asdict(promise) for promise in self.verification.promises],
            accepted=self.roles.unprotected,
            order=self.order,
        )

    @cached_property
    def standards(self) -> tuple[Profile, ...]:
        """What the standards say of the released rows, first the one that the release is held to."""
        return profiles(self.manifest, self.table)

    @cached_property
    def shown(self) -> Shown:
        """What the released rows show: all that may be published is made of it."""
        if self.counts is not None:
            return self.counts
        columns = shown_columns(self.table, None, self.policy, self.recipes, self.microdata.schema, self.wildcard)
        paths = paths_of(self.policy, self.recipes, columns)
        quasi, require = self.policy.quasi, self.policy.require
        found = self.verification
        if any(c.uses_overall_distribution for c in require):  # then it looked at what is not published
            found = verify_table(
                self.table, quasi, require, whole=self.whole, hierarchies=paths, wildcard=self.wildcard
            )
        sizes = class_counts(self.table, None, self.policy.columns)
        suppressed = self.solution.verdict.suppressed
        return Shown(dict(self.table.schema), columns, sizes, Audit(found), suppressed, self.whole, paths)

    @property
    def wildcard(self) -> bool:
        """Whether a missing value matches any value."""
        return bool(getattr(self.search, "wildcard", False))

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What is published beside the data; `save` adds the file and its hash."""
        return self.published(self.shown, self.roles, fingerprint(self.original, key()), {})

    def published(self, shown: Shown, roles: Roles, mark: str | None, data: Mapping[str, Any]) -> dict[str, Any]:
        """The manifest of a release that was made like this one, and shows that."""
        solution, choice = self.solution, self.solution.choice
        method = Method(
            search={"name": search_name(self.search), **_given(self.search)},
            chosen=None if choice is None else (choice.why, choice.runner_up),
            recoding=type(solution.recoding).__name__.lower(),
            levels=self._levels(),
            optimal=solution.optimal and not (self.policy.suppression and isinstance(self.search, BY_LOSS)),
            proven=solution.proven,
            reproducible=solution.reproducible,
            wildcard=self.wildcard,
            normalise=self.normalised,
            order=self.order,
        )
        return manifest(shown, self.policy, roles, self.recipes, self.levels, method, self.seed, mark, data)

    def _levels(self) -> dict[str, int | None] | None:
        """The lowest level at which the released labels stand; None where the hierarchy was made from the table."""
        if not isinstance(self.solution.recoding, Levels):
            return None
        found: dict[str, int | None] = {}
        kept = np.flatnonzero(self.solution.kept)
        for i, name in enumerate(self.policy.columns):
            ladder = self.microdata.attribute(name).ladder
            codes, level = np.unique(self.cell_codes[i, kept]), self.solution.recoding.levels[name]
            texts = [[ladder.text[at][ladder.of[at, code]] for code in codes] for at in range(level + 1)]
            lowest = next(at for at in range(level + 1) if texts[at] == texts[level])
            recipe = self.recipes.get(name, Learned())
            if isinstance(recipe, Redact):  # counted from the longest value that is released
                longest = [max(len(text or "") for text in some) for some in (ladder.text[0], texts[0])]
                lowest = max(0, lowest - longest[0] + longest[1])
            found[name] = None if lowest and isinstance(recipe, Learned) else lowest
        return found

    def save(
        self,
        path: str | Path,
        format: str = "csv",
        overwrite: bool = False,
        internal_report: str | Path | None = None,
        pdf: bool = False,
    ) -> Path:
        """Write data, manifest.json and report.html into a new folder: all of it, verified from the file, or none.

        `internal_report` is a file outside of the folder, for its owner's eyes: the comparison with the original. With
        `pdf`, each report is printed beside itself, by Chromium.
        """
        if not isinstance(format, str) or format not in FORMATS:
            raise OutputError(
                "unknown output format",
                got=repr(format),
                allowed=", ".join(FORMATS),
                hint=did_you_mean(format, FORMATS),
            )
        target = path_of(path)
        with (
            private_report(internal_report, target, overwrite, pdf) as keep,
            atomic_folder(target, overwrite) as folder,
        ):
            file = folder / NAMES[format]
            write_table(self.table, file, format)
            data = {
                "file": file.name,
                "format": format,
                "sha256": sha256(file),
                "guarded": format in ("csv", "tsv", "xlsx"),
            }
            manifest = self.manifest | {"data": data | self.manifest["data"]}
            (folder / "manifest.json").write_text(
                json.dumps(manifest, ensure_ascii=False, indent=1, allow_nan=False) + "\n", encoding="utf-8"
            )
            page = report(manifest, self.table, self.reach, self.standards)
            (folder / "report.html").write_text(page, encoding="utf-8")
            if pdf:
                (folder / "report.pdf").write_bytes(pdf_of(page))
            self._verify_written(folder)
            if internal_report is not None:
                trees = {a.name: a.hierarchy for a in self.microdata.schema if a.hierarchy is not None}
                exact = self.solution.verdict
                keep(internal_page(manifest, self.table, self.original, rows=self.rows, hierarchies=trees, exact=exact))
        return target

    def _verify_written(self, folder: Path) -> None:
        """The folder must prove its promises alone, as an auditor would have it."""
        found = verify_folder(folder)
        if found.holds:
            return
        if self.whole is None:
            refuse_hidden(self.policy, found)
        broken = [promise for promise in found.promises if not promise.holds]
        raise BrokenPromise(
            "the written release does not keep: "
            + "; ".join(p.model for p in broken)
            + ". Nothing was written; this is a fault of Sfumato"
        )

    def value_map(self) -> ValueMap:
        """The map from value to label of a global recoding. It lists original values: keep it with the original."""
        recoding = self.solution.recoding
        if isinstance(recoding, Partition):
            raise PolicyError(
                "this recoding is not a map from value to label",
                got=f"search {search_name(self.search)}",
                hint='use a full-domain search, such as search="optimal"',
            )
        columns: dict[str, dict[str, str | None]] = {}
        kept = np.flatnonzero(self.solution.kept)
        for i, name in enumerate(self.policy.columns):
            attribute = self.microdata.attribute(name)
            labels = global_labels(attribute, recoding)
            words = texts_of_labels(labels, self.cell_codes[i, kept])
            columns[name] = {(v or ""): words[labels.of[c]] for c, v in enumerate(attribute.categories.text)}
            if isinstance(recoding, Levels) and attribute.hierarchy is not None:  # also values absent from this table
                tree, level = attribute.hierarchy, min(recoding.levels[name], attribute.hierarchy.height)
                named = {v: tree.labels[level][tree.ancestor[level, i]] for i, v in enumerate(tree.labels[0])}
                columns[name] = named | columns[name]
        return ValueMap(columns)


def shown_columns(
    table: pl.DataFrame,
    times: pl.Series | None,
    policy: Policy,
    recipes: Mapping[str, Recipe],
    schema: Iterable[Attribute],
    wildcard: bool = False,
) -> dict[str, ReleasedColumn]:
    """The released labels of the columns that matter and are there; `times` as for `published.counted`."""
    trees = {a.name: a.hierarchy for a in schema if a.hierarchy is not None and written(recipes.get(a.name))}
    there = set(table.columns)
    names = [name for name in dict.fromkeys((*policy.columns, *policy.needs)) if name in there]
    return {n: counted(table.get_column(n), times, recipes.get(n), trees.get(n), wildcard) for n in names}


def paths_of(
    policy: Policy, recipes: Mapping[str, Recipe], columns: Mapping[str, ReleasedColumn]
) -> dict[str, list[list[str]]]:
    """The paths of the released values of the attributes whose distance runs along a hierarchy."""
    paths = {}
    for name in [a for c in policy.require if getattr(c, "distance", None) == "hierarchical" for a in c.needs]:
        categories = encode(columns[name].label.alias(name))[0]
        ladder = bind_hierarchy(columns[name].tree or recipes[name].build(categories), categories)
        paths[name] = [
            [ladder.text[level][ladder.of[level, code]] or "" for level in range(ladder.levels)]
            for code in range(len(categories))
        ]
    return paths


def _given(search: Any) -> dict[str, Any]:
    """The parameters of a search that are set; a search within it by its name and parameters."""
    given = {name: value for name, value in vars(search).items() if value is not None}
    return {
        name: {"name": search_name(value), **_given(value)} if hasattr(value, "guarantee") else value
        for name, value in given.items()
    }
