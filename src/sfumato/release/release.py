"""Release: the table that leaves the house, with what was promised and what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.fingerprint import key
from sfumato.core.hierarchy import Recipe, bind_hierarchy
from sfumato.core.microdata import Attribute, Microdata, encode
from sfumato.core.parameters import path_of
from sfumato.core.policy import Policy
from sfumato.core.printed import released_types, with_texts
from sfumato.core.protocols import Search
from sfumato.core.registry import field_values
from sfumato.core.roles import Roles
from sfumato.core.wording import Described, count
from sfumato.engines.labelled import labelled
from sfumato.engines.numbers import NumberForms
from sfumato.engines.order import RowOrder
from sfumato.engines.protocol import COUNT, Engine, Plan
from sfumato.errors import BrokenPromise, OutputError, PolicyError, SfumatoError
from sfumato.hierarchies.either import Either
from sfumato.hierarchies.learned import Learned
from sfumato.hierarchies.spec import written
from sfumato.losses import loss_name
from sfumato.losses.released import Losses, ReleasedColumn, class_counts, released_column, released_loss
from sfumato.measures.reach import Reach, reach_of
from sfumato.measures.standards.finding import Profile
from sfumato.measures.table import TupleCounts
from sfumato.release.destination import Folder, destination, stage_release
from sfumato.release.folder import verify_folder, verify_manifest
from sfumato.release.manifest import Method, Shown, manifest
from sfumato.release.recode import global_labels, level_told, texts_of_labels
from sfumato.release.request import Request, hierarchies_of, refuse_hidden
from sfumato.release.value_map import ValueMap
from sfumato.release.verify import Audit, Verification, verify_table
from sfumato.report import internal_report as internal_page
from sfumato.report import report
from sfumato.report.files import private_report
from sfumato.report.page import pdf_of
from sfumato.report.sections.headline import brief, reach_from
from sfumato.report.sections.standards import profiles
from sfumato.search import OLA, TupleSuppression, search_name
from sfumato.search.problem import Levels, Partition, Progress, Solution, quiet

LIMITS = {"seconds", "nodes", "evaluations"}  # that a search ended before one of them follows from hidden values too
BY_LOSS = (OLA, TupleSuppression)  # that no better one exists follows from losses of the original, if rows may go


@dataclass(frozen=True, eq=False)
class Release(Described):
    """A table that satisfies its policy, verified from its own rows.

    `data` is what leaves: a frame of the kind that came in, the file in its folder, the name of a table, or a frame of
    a cluster. `path` is the folder, where there is one. What was made in memory has its rows in `table`.
    """

    make: Callable[[], Any]
    solution: Solution
    verification: Verification
    request: Request
    engine: Engine  # of the table that it was made from
    entries: pl.DataFrame  # the released rows, few texts as an Enum; out of core their distinct tuples
    row_counts: pl.Series | None  # out of core, how many rows have each of them
    microdata: Microdata
    cell_codes: np.ndarray  # codes of each cell, as in `Cells`
    whole: Mapping[str, Mapping[str, int]] | None  # distributions that may be published
    rows: np.ndarray | None = None  # in memory, which rows of the original the released ones are
    path: Path | None = None
    numbers: NumberForms = field(default_factory=NumberForms)  # what `data` has in the place of labels
    place: Mapping[str, Any] = field(default_factory=dict)  # what the manifest says of where the data are
    fingerprint: str | None = None  # of the original, where it is out of core
    told: Shown | None = None  # what the released rows show, where only a cluster can tell
    counts: TupleCounts | None = None  # of what was written, for the report

    @cached_property
    def data(self) -> Any:
        """What leaves, made when it is first asked for."""
        return self.make()

    def __getstate__(self) -> dict[str, Any]:
        """What is copied and pickled: what leaves, not how it is made."""
        return {**self.__dict__, "data": self.data, "make": None}

    @property
    def policy(self) -> Policy:
        """What was promised."""
        return self.request.policy

    @property
    def roles(self) -> Roles:
        """The roles of the columns."""
        return self.request.roles

    @property
    def search(self) -> Any:
        """The search that was used: where none was named, the one that was picked."""
        return self.request.search if self.solution.choice is None else self.solution.choice.search

    @property
    def in_memory(self) -> bool:
        """Whether its rows are in memory."""
        return self.engine.in_memory

    @cached_property
    def table(self) -> pl.DataFrame:
        """The released rows, as Polars; a PolicyError where they are not in memory."""
        self._needs_rows()
        if isinstance(self.data, pl.DataFrame) and not self.numbers.form:
            return self.data
        return with_texts(self.entries, self.engine.schema())

    @property
    def original(self) -> pl.DataFrame:
        """The table that it was made from, as Polars; a PolicyError where that is not in memory."""
        self._needs_rows()
        return self.engine.sample(self.engine.rows())

    def _needs_rows(self) -> None:
        if not self.in_memory:
            hint = "read its data with sf.read, sf.scan or sf.Database; the verbs take the release as it is"
            raise PolicyError("the rows of this release are not in memory", hint=hint)

    @property
    def location(self) -> Engine | Path:
        """The released table as the verbs take it: the folder that it is in, or where it was kept."""
        if self.engine.keeps is not None and "file" not in self.place:
            if self.in_memory:
                return self.engine.kept(self.table)
            kept: Engine = labelled(self.engine.kept(self.data), self.numbers)
            return kept
        assert self.path is not None
        return self.path

    @property
    def hierarchies(self) -> dict[str, Any]:
        """The hierarchies of the columns that have one."""
        return {a.name: a.hierarchy for a in self.microdata.schema if a.hierarchy is not None}

    def __repr__(self) -> str:
        verdict = self.solution.verdict
        promises = ", ".join(c.model for c in self.policy.require)
        rows = f"{self.verification.rows} rows, {verdict.suppressed} suppressed"
        loss = losses(self.shown, self.policy)[0]  # what may be published: people paste this
        return f"<Release of {rows}, {'' if loss is None else f'loss {loss:.4f}, '}{promises}{brief(self.reach)}>"

    def described(self) -> tuple[str, Sequence[tuple[str, str]]]:
        """What a notebook shows: rows, loss, promises, and what they do not cover; all of it may be published."""
        # not what `verification` measured: against the overall distribution that tells of suppressed rows
        loss, verification = losses(self.shown, self.policy)[0], self.shown.audit.described()[1]
        facts = [("suppressed", count(self.solution.verdict.suppressed, "row")), ("search", search_name(self.search))]
        facts += [] if loss is None else [(f"loss {loss_name(self.policy.loss)}", f"{loss:.4f}")]
        beyond = brief(self.reach).strip(" ,;")
        return f"Release of {count(self.verification.rows, 'row')}", [
            *facts, *verification, *([("not covered", beyond)] if beyond else [])
        ]  # fmt: skip

    @cached_property
    def reach(self) -> Reach:
        """What the promises do not cover, and what the released rows tell of it: worked out when first asked for."""
        if self.counts is not None:
            return reach_from(self.manifest, self.counts)
        if not self.in_memory:
            from sfumato.measures.source import source_of

            try:
                return reach_from(self.manifest, source_of(self.location).table)
            except SfumatoError:  # the table is gone, or nobody may read it any more
                return reach_from(self.manifest, None)
        return reach_of(
            self.entries,
            roles={name: self.roles.role(name) or "insensitive" for name in self.entries.columns},
            quasi=self.policy.quasi,
            promises=[asdict(promise) for promise in self.verification.promises],
            accepted=self.roles.unprotected,
            order=self.request.order,
        )

    @cached_property
    def standards(self) -> tuple[Profile, ...]:
        """What the standards say of the released rows, first the one that the release is held to."""
        return profiles(self.manifest, self.table if self.in_memory else None)

    @cached_property
    def shown(self) -> Shown:
        """What the released rows show: all that may be published is made of it."""
        if self.told is not None:
            return self.told
        entries, often, policy, recipes = self.entries, self.row_counts, self.policy, self.request.recipes
        columns = shown_columns(entries, often, policy, recipes, self.microdata.schema, self.request.wildcard)
        paths, found = paths_of(policy, recipes, columns), self.verification
        columns = {n: c for n, c in columns.items() if self.numbers.form.get(n) != "midpoint"}  # which is no label
        if any(c.uses_overall_distribution for c in policy.require):  # then it looked at what is not published
            found = verify_table(
                entries, policy.quasi, policy.require,
                row_counts=often, whole=self.whole, hierarchies=paths, wildcard=self.request.wildcard,
            )  # fmt: skip
        if self.in_memory:
            schema = released_types(entries.schema, self.engine.schema())
        else:
            schema = {n: self.request.schema[n] for n in self.request.released}
            middles = [name for name, form in self.numbers.form.items() if form == "midpoint"]
            schema |= {n: self.numbers.columns(n, entries.get_column(n)).schema["0"] for n in middles}
        classes = self.verification.classes
        if [one["quasi"] for one in classes] == [list(policy.columns)]:
            sizes = {int(size): number for size, number in classes[0]["sizes"].items()}
        else:
            sizes = class_counts(entries, often, policy.columns)
        return Shown(schema, columns, sizes, Audit(found), self.solution.verdict.suppressed, self.whole, paths)

    @cached_property
    def manifest(self) -> dict[str, Any]:
        """What is published beside the data; of rows in memory `save` adds the file and its hash."""
        solution, choice, asked = self.solution, self.solution.choice, self.request
        by_loss = bool(self.policy.suppression) and isinstance(self.search, BY_LOSS)
        method = Method(
            search={"name": search_name(self.search), **_given(self.search)},
            chosen=None if choice is None else (choice.why, choice.runner_up),
            recoding=type(solution.recoding).__name__.lower(),
            levels=self._levels(),
            optimal=solution.optimal and not by_loss and not LIMITS & _given(self.search).keys(),
            proven=solution.proven,
            reproducible=solution.reproducible,
            wildcard=asked.wildcard,
            normalise=asked.normalised,
            order=asked.order,
            loss={"name": loss_name(self.policy.loss), **self.policy.loss.parameters()},
            row_key=asked.row_key,
        )
        figures = losses(self.shown, self.policy)
        mark = self.engine.fingerprint(key()) if self.in_memory else self.fingerprint
        return manifest(
            self.shown,
            self.policy,
            self.roles,
            asked.recipes,
            asked.levels,
            method,
            figures,
            asked.seed,
            mark,
            {**self.place, **({"numbers": self.numbers.describe()} if self.numbers.form else {})},
            self.engine.reading,
            asked.about,
        )

    def _levels(self) -> dict[str, int | None] | None:
        """The level at which each column is released, as its labels tell it."""
        if not isinstance(self.solution.recoding, Levels):
            return None
        found, kept = {}, self.cell_codes[:, self.solution.kept]
        for name, codes in zip(self.policy.columns, kept, strict=True):
            attribute = self.microdata.attribute(name)
            labels = global_labels(attribute, self.solution.recoding)
            texts = texts_of_labels(labels, codes)
            shown = {texts[label] for label in np.unique(labels.of[codes])} - {None}
            recipe = self.request.recipes.get(name, Learned())
            if isinstance(recipe, Either):
                recipe = recipe.told_by(shown, attribute.categories)
                attribute = replace(attribute, hierarchy=recipe.build(attribute.categories))
            found[name] = level_told(attribute, recipe, self.request.schema[name], shown)
        return found

    def save(
        self,
        path: str | Path,
        format: str | None = None,
        overwrite: bool = False,
        internal_report: str | Path | None = None,
        pdf: bool = False,
        progress: Progress | None = None,
    ) -> Path:
        """Write data, manifest.json and report.html into a new folder: all of it, verified from the file, or none.

        `format` is csv without one, and parquet where the rows are not in memory. `internal_report` is a file outside
        of the folder, for its owner's eyes: the comparison with the original. With `pdf`, each report is printed beside
        itself, by Chromium.
        """
        coded = self.in_memory and format != "xlsx"  # which has numbers where texts are
        table, report_progress = self.engine.kept(self.entries) if coded else self.location, progress or quiet
        if isinstance(table, Path):
            raise OutputError(f"the release is in {table} already", hint="copy the folder")
        if internal_report is not None and not self.in_memory:
            what = "the internal report compares rows, and those of this release are not in memory"
            raise PolicyError(what, hint="leave internal_report out")
        to = destination(Folder(path_of(path), format, overwrite), table)
        columns = tuple(str(column["name"]) for column in self.manifest["data"]["columns"])
        order = RowOrder(quasi=self.policy.columns)
        plan = Plan(columns, (), columns, order=order, rows=self.verification.rows, numbers=self.numbers)
        assert isinstance(to, Folder)
        with (
            private_report(internal_report, to.path, overwrite, pdf) as keep,
            stage_release(table, plan, to, report_progress) as staged,
        ):
            kept = ("rows", "columns", "order", "numbers")
            own = {key: value for key, value in self.manifest["data"].items() if key in kept}
            published = {**self.manifest, "data": {**staged.describe(), **own}}
            counts = None if self.in_memory else self._counted_again(staged.written, report_progress)
            reach = self.reach if counts is None else reach_from(published, counts)
            page = report(published, self.entries if counts is None else None, reach, self.standards)
            self.check_folder(staged.publish(published, page, pdf_of(page) if pdf else None), counts)
            if internal_report is not None:
                exact, hierarchies = self.solution.verdict, self.hierarchies
                keep(
                    internal_page(
                        published, self.table, self.original, rows=self.rows, hierarchies=hierarchies, exact=exact
                    )
                )
        return Path(to.path)

    def _counted_again(self, table: Any, report_progress: Progress) -> TupleCounts:
        """Counts of a copy of a release that was kept elsewhere; a BrokenPromise where it is not what was verified."""
        policy, again = self.policy, table.count(self.request.counted_by, report_progress)
        hierarchies = hierarchies_of(self.microdata, policy.needs)
        found = verify_table(
            again.drop(COUNT), policy.quasi, policy.require,
            row_counts=again.get_column(COUNT), whole=self.whole or {}, hierarchies=hierarchies,
        )  # fmt: skip
        if not found.holds or found.rows != self.verification.rows:
            raise BrokenPromise("the release no longer is the table that was verified, so it cannot be saved")
        return TupleCounts(table, known=again)

    def check_folder(self, folder: Path, counts: TupleCounts | None = None) -> None:
        """The folder must prove its promises alone, as an auditor would have it; `counts` are of its data."""
        found = verify_folder(folder) if counts is None else verify_manifest(folder, counts)
        if found.holds:
            return
        if self.whole is None:
            refuse_hidden(self.policy, found)
        broken = "; ".join(promise.model for promise in found.promises if not promise.holds)
        raise BrokenPromise(
            f"the written release does not keep: {broken}. Nothing was written; this is a fault of Sfumato"
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


def losses(shown: Shown, policy: Policy) -> Losses:
    """The loss that may be published and that of each quasi-identifier; None where released rows do not tell it."""
    quasi = {name: shown.columns.get(name) for name in policy.columns}
    return released_loss(policy.loss, quasi, shown.sizes, shown.suppressed, policy.k)


def shown_columns(
    table: pl.DataFrame,
    row_counts: pl.Series | None,
    policy: Policy,
    recipes: Mapping[str, Recipe],
    schema: Iterable[Attribute],
    wildcard: bool = False,
) -> dict[str, ReleasedColumn]:
    """The released labels of the columns that matter and are there; `row_counts` as for `released_column`."""
    attributes, there = {a.name: a for a in schema}, set(table.columns)
    found = {}
    for name in [name for name in dict.fromkeys((*policy.columns, *policy.needs)) if name in there]:
        recipe, attribute = recipes.get(name), attributes.get(name)
        tree = None if attribute is None or not written(recipe) else attribute.hierarchy
        column = released_column(table.get_column(name), row_counts, recipe, tree, wildcard)
        if attribute is not None and isinstance(recipe, Either):
            recipe = recipe.told_by(column.label, attribute.categories)
            column = replace(
                column, recipe=recipe, tree=recipe.build(attribute.categories) if written(recipe) else None
            )
        found[name] = column
    return found


def paths_of(
    policy: Policy, recipes: Mapping[str, Recipe], columns: Mapping[str, ReleasedColumn]
) -> dict[str, list[list[str]]]:
    """The paths of the released values of the attributes whose distance runs along a hierarchy."""
    paths = {}
    for name in [a for c in policy.require if c.uses_hierarchy for a in c.needs]:
        categories = encode(columns[name].label.alias(name))[0]
        ladder = bind_hierarchy(columns[name].tree or recipes[name].build(categories), categories)
        paths[name] = [
            [ladder.text[level][ladder.of[level, code]] or "" for level in range(ladder.levels)]
            for code in range(len(categories))
        ]
    return paths


def _given(search: Any) -> dict[str, Any]:
    """The parameters of a search that are set; a search within it by its name and parameters."""
    given = {name: value for name, value in field_values(search).items() if value is not None}
    return {
        name: {"name": search_name(value), **_given(value)} if isinstance(value, Search) else value
        for name, value in given.items()
    }
