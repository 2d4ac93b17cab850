"""Recoded: a release that a search made: labels in the place of values, with promises over its classes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.fingerprint import key
from sfumato.core.hierarchy import Hierarchy, Recipe, bind_hierarchy, leaves_of
from sfumato.core.label_grammar import read_set
from sfumato.core.microdata import Attribute, Microdata, encode
from sfumato.core.policy import Policy
from sfumato.core.printed import released_types
from sfumato.core.progress import Progress
from sfumato.core.protocols import AGAINST_ORIGINAL, AGAINST_POPULATION, Search
from sfumato.core.registry import field_values
from sfumato.core.roles import Roles
from sfumato.core.spelling import respelled
from sfumato.core.wording import count
from sfumato.engines.labelled import labelled
from sfumato.engines.order import RowOrder
from sfumato.engines.protocol import COUNT, Engine, Plan
from sfumato.errors import BrokenPromise, PolicyError
from sfumato.hierarchies.either import Either
from sfumato.hierarchies.learned import Learned
from sfumato.hierarchies.spec import written
from sfumato.losses import loss_name
from sfumato.losses.released import Losses, ReleasedColumn, class_counts, released_column, released_loss
from sfumato.measures.table import TupleCounts
from sfumato.release.destination import StagedOutput
from sfumato.release.facts import Masking
from sfumato.release.manifest import Method, Shown, manifest
from sfumato.release.people import prove_people
from sfumato.release.population import People, prove_population
from sfumato.release.privacy import without_original
from sfumato.release.recode import global_labels, labels_naming, level_told, texts_of_labels
from sfumato.release.release import Release
from sfumato.release.request import (
    Request,
    hierarchies_of,
    publishable,
    refuse_changed,
    refuse_hidden,
    refuse_overlap,
    refuse_own_distribution,
)
from sfumato.release.sampled import privacy_of
from sfumato.release.value_map import ValueMap
from sfumato.release.verify import Audit, RowTable, Verification, verify_table, with_facts
from sfumato.report import internal_report
from sfumato.report.sections.headline import brief
from sfumato.search import OLA, TupleSuppression, search_name
from sfumato.search.problem import Levels, Partition, Solution

LIMITS = {"seconds", "nodes", "evaluations"}  # that a search ended before one of them follows from hidden values too
BY_LOSS = (OLA, TupleSuppression)  # that no better one exists follows from losses of the original, if rows may go


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Recoded(Release):
    """A table that satisfies its policy, verified from its own rows."""

    solution: Solution
    request: Request
    microdata: Microdata
    cell_codes: np.ndarray  # codes of each cell, as in `Cells`
    whole: Mapping[str, Mapping[str, int]] | None  # distributions that may be published
    told: Shown | None = None  # what the released rows show, where only a cluster can tell
    masking: Masking | None = None  # what steps did before and after the search
    people: tuple[Mapping[str, Any], ...] = ()  # whom promises count; `most_rows` of them is not published
    population: People | None = None  # that promises count

    @property
    def policy(self) -> Policy:
        """What was promised."""
        return self.request.policy

    @property
    def roles(self) -> Roles:
        """The roles of the columns."""
        return self.request.roles

    @property
    def stepped(self) -> bool:
        """Whether steps of masking changed values before or after the search."""
        return self.masking is not None

    @property
    def original(self) -> pl.DataFrame:
        """The table that it was made from, before any step, as Polars; a PolicyError where that is out-of-core."""
        return super().original if self.masking is None else self.masking.original

    @property
    def order(self) -> RowOrder:
        """The order of its rows."""
        return self.request.row_order

    @property
    def search(self) -> Any:
        """The search that was used: where none was named, the one that was picked."""
        return self.request.search if self.solution.choice is None else self.solution.choice.search

    @property
    def hierarchies(self) -> dict[str, Any]:
        """The hierarchies of the columns that have one."""
        return {a.name: a.hierarchy for a in self.microdata.schema if a.hierarchy is not None}

    def __repr__(self) -> str:
        verdict = self.solution.verdict
        promises = ", ".join(c.model for c in (*(self.request.population or ((), ()))[1], *self.policy.require))
        if self.search.private:
            return f"<Release of {self.verification.rows} rows, {promises}{brief(self.reach)}>"
        rows = f"{self.verification.rows} rows, {verdict.suppressed} suppressed"
        loss = losses(self.shown, self.policy)[0]  # what may be published: people paste this
        return f"<Release of {rows}, {'' if loss is None else f'loss {loss:.4f}, '}{promises}{brief(self.reach)}>"

    def described(self) -> tuple[str, Sequence[tuple[str, str]]]:
        """What a notebook shows: rows, loss, promises, and what they do not cover; all of it may be published."""
        # not what `verification` measured: against the overall distribution that tells of suppressed rows
        loss, verification = losses(self.shown, self.policy)[0], self.shown.audit.described()[1]
        facts = [("suppressed", count(self.solution.verdict.suppressed, "row")), ("search", search_name(self.search))]
        if self.search.private:
            facts, loss = facts[1:], None
        facts += [] if loss is None else [(f"loss {loss_name(self.policy.loss)}", f"{loss:.4f}")]
        beyond = brief(self.reach).strip(" ,;")
        return f"Release of {count(self.verification.rows, 'row')}", [
            *facts, *verification, *([("not covered", beyond)] if beyond else [])
        ]  # fmt: skip

    @property
    def proves_beside(self) -> dict[str, Any]:
        """The population that promises count, with the hierarchies by which labels are read."""
        if self.population is None:
            return {}
        return {"population": self.population, "hierarchies": hierarchies_of(self.microdata, self.policy.columns)}

    @cached_property
    def shown(self) -> Shown:
        """What the released rows show: all that may be published is made of it."""
        if self.told is not None:
            return self.told
        entries, often, policy, recipes = self.entries, self.row_counts, self.policy, self.request.recipes
        columns = shown_columns(entries, often, policy, recipes, self.microdata.schema, self.request.wildcard)
        paths, found = paths_of(policy, recipes, columns), self.verification
        if self.people:  # which are told apart from what the rows show
            found = replace(found, promises=tuple(p for p in found.promises if p.how != AGAINST_ORIGINAL))
        if self.population is not None:
            found = replace(found, promises=tuple(p for p in found.promises if p.how != AGAINST_POPULATION))
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
        solution, choice, asked, policy = self.solution, self.solution.choice, self.request, self.policy
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
        mark = self.fingerprint
        if self.in_memory and not self.search.private:
            mark = self.engine.fingerprint(key())
        found = manifest(
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
        if self.search.private:
            return {**without_original(found), "privacy": privacy_of(asked)}
        if self.people:
            counted = [asdict(p) for p in self.verification.promises if p.how == AGAINST_ORIGINAL]
            # how many rows somebody has is an exact figure about one person: for the owner alone
            units = [{key: value for key, value in one.items() if key != "most_rows"} for one in self.people]
            found |= {"people": {"counted": units, "promises": counted}}
        if self.population is not None:
            shown = [asdict(p) for p in self.verification.promises if p.how == AGAINST_POPULATION]
            found |= {"population": self.population.describe(policy.columns, shown)}
        if self.masking is None:
            return found
        facts = [{"fact": f.fact, "columns": list(f.columns), "parameters": f.parameters, "step": f.step}
                 for f in self.verification.facts]  # fmt: skip
        return found | dict(self.masking.told) | {"facts": facts}

    def _levels(self) -> dict[str, int | None] | None:
        """The level at which each column is released, as its labels tell it."""
        if not isinstance(self.solution.recoding, Levels):
            return None
        if self.search.private:  # they are paid for
            return dict(self.solution.recoding.levels)
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

    def _internal(self, published: Mapping[str, Any]) -> str:
        """The report for its owner's eyes, which compares with the original."""
        return internal_report(
            published, self.table, self.original,
            rows=self.rows, hierarchies=self.hierarchies, exact=self.solution.verdict,
        )  # fmt: skip

    def _counted_again(self, table: Any, report_progress: Progress) -> TupleCounts:
        """Counts of a copy of a release that was kept elsewhere; a BrokenPromise where it is not what was verified."""
        policy, again = self.policy, table.count(self.request.counted_by, report_progress)
        hierarchies = hierarchies_of(self.microdata, policy.needs)
        found = verify_table(
            again.drop(COUNT), policy.quasi, policy.require,
            row_counts=again.get_column(COUNT), whole=self.whole or {}, hierarchies=hierarchies,
        )  # fmt: skip
        if not found.holds or found.rows != self.verification.rows:
            raise BrokenPromise("the release is no longer the table that was verified, so it cannot be saved")
        return TupleCounts(table, known=again)

    def _refuse_hidden(self, found: Verification) -> None:
        """Raise a PolicyError where what is broken follows from what may not be published."""
        if self.whole is None:
            refuse_hidden(self.policy, found)

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
            tree = attribute.hierarchy
            if isinstance(recoding, Levels) and tree is not None and not tree.learned:  # also values absent from here
                level = min(recoding.levels[name], tree.height)
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
        own = None if attribute is None else attribute.hierarchy
        column = released_column(table.get_column(name), row_counts, recipe, own if written(recipe) else None, wildcard)
        if own is not None and own.learned:
            column = replace(column, named=_named(own))
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
        tree = columns[name].tree or recipes[name].build(categories)
        ladder = bind_hierarchy(tree, categories)
        texts = ladder.text
        if tree.learned:
            told = labels_naming(tree, leaves_of(categories))
            named = zip(texts, told, strict=False)  # a root may have been added
            texts = (*(tuple(names.get(text or "", text) for text in level) for level, names in named),
                     *texts[len(told) :])  # fmt: skip
        paths[name] = [
            [texts[level][ladder.of[level, code]] or "" for level in range(ladder.levels)]
            for code in range(len(categories))
        ]
    return paths


def _named(tree: Hierarchy) -> frozenset[str]:
    """The labels of groups that do not say what they stand for."""
    labels = {label for level in tree.labels[1:] for label in level if read_set(label) is None}
    return frozenset(labels - {*tree.leaves})


def _given(search: Any) -> dict[str, Any]:
    """The parameters of a search that are set; a search within it by its name and parameters."""
    given = {name: value for name, value in field_values(search).items() if value not in (None, ())}
    return {
        name: {"name": search_name(value), **_given(value)} if isinstance(value, Search) else value
        for name, value in given.items()
    }


@dataclass(frozen=True, eq=False)
class Recoding:
    """What a search decided: a plan, the engine that carries it out, and what verify and manifest need."""

    request: Request
    engine: Engine
    plan: Plan
    solution: Solution
    microdata: Microdata
    cell_codes: np.ndarray
    overall: Mapping[str, Mapping[str, int]]  # distributions of the whole table that criteria look at
    spelled: Mapping[str, pl.Series]  # columns of rows in memory that are released in one spelling per value
    masking: Masking | None = None  # what steps did before and after
    staged: StagedOutput | None = None  # what a cluster made in parts, and has verified
    shown: Shown | None = None
    verification: Verification | None = None
    population: People | None = None  # that is counted


def prove(table: Engine, engine: Engine, found: Recoding, staged: StagedOutput, path: Path | None) -> Recoded:
    """The release as its rows, counted anew, prove it; a BrokenPromise where they do not."""
    request, policy, overall = found.request, found.request.policy, dict(found.overall)
    written = staged.written if table.in_memory else labelled(staged.written, found.plan.numbers)
    hierarchies, suppressed = hierarchies_of(found.microdata, policy.needs), found.solution.verdict.suppressed
    counted: pl.DataFrame | None = None
    often, rows = None, None
    if table.in_memory:
        made: Any = written
        entries, rows = made.frame, made.came_from
        for name in (name for name in overall if name in found.spelled):
            overall[name] = respelled(overall[name], found.spelled[name].gather(rows), entries.get_column(name))
        request.report_progress("verifying", None)
    elif found.verification is not None:  # made in parts, where the classes may be too many for one machine
        entries = pl.DataFrame(schema={name: request.schema[name] for name in request.counted_by})
    else:
        counted = written.count(request.counted_by, request.report_progress)
        entries, often = counted.drop(COUNT), counted.get_column(COUNT)
    if found.verification is not None:
        from sfumato.release.parts.search import verified_in_parts

        verification = verified_in_parts(found, staged, overall, hierarchies)
    else:
        verification = verify_table(
            entries, policy.quasi, policy.require,
            row_counts=often, whole=overall, hierarchies=hierarchies, wildcard=request.wildcard,
        )  # fmt: skip
    refuse_overlap(policy, verification)
    people: tuple[Mapping[str, Any], ...] = ()
    if request.people:
        assert rows is not None
        by_people, people = prove_people(request, engine, entries, rows)
        verification = replace(verification, promises=(*by_people, *verification.promises))
    if found.population is not None:
        by_population = prove_population(
            request, found.population, entries, often, hierarchies_of(found.microdata, policy.columns)
        )
        verification = replace(verification, promises=(*by_population, *verification.promises))
    if not verification.holds or (verification.rows, tuple(written.schema())) != (found.plan.rows, request.released):
        broken = ", ".join(promise.model for promise in verification.promises if not promise.holds)
        what = f"keep {broken}" if broken else "have the rows and columns that it should have"
        why = "This" if table.in_memory else "Either the table was changed while it was read, or this"
        raise BrokenPromise(f"the release does not {what}, so it is not released. {why} is a fault of Sfumato")
    if often is not None:
        now = RowTable(entries, {}, {}, often)
        refuse_changed(overall, {name: now.marginal(name) for name in overall})
    refuse_own_distribution(policy, overall, suppressed)
    masking = found.masking.without_rows() if found.masking is not None and suppressed else found.masking
    if masking is not None:
        assert rows is not None
        rows = masking.rows[rows]
        verification = with_facts(verification, masking, entries, suppressed)
    release = Recoded(
        make=staged.data,
        solution=found.solution,
        verification=verification,
        request=request,
        engine=table,
        entries=entries,
        row_counts=often,
        microdata=found.microdata,
        cell_codes=found.cell_codes,
        whole=publishable(policy, overall, suppressed),
        rows=rows,
        path=path,
        numbers=found.plan.numbers,
        place={} if table.in_memory else staged.describe(),
        fingerprint=None if table.in_memory else engine.fingerprint(key()),
        told=found.shown,
        masking=masking,
        people=people,
        population=found.population,
        counts=None if staged.folder is None else TupleCounts(written, request.max_cells, known=counted),
    )
    if release.whole is None and not table.in_memory:
        refuse_hidden(policy, release.shown.audit)
    return release
