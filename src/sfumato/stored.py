"""Anonymize a table that is not in memory: count, search, recode, and prove it from a count of what was written."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from sfumato import arguments, kernels
from sfumato.checks import (
    check_size,
    check_solution,
    check_weights,
    distribution,
    looks_at,
    publishable,
    refuse_hidden,
)
from sfumato.destination import destination
from sfumato.engines.atomic import PREFIX
from sfumato.engines.store import COUNT, Say, Store, refuse_types
from sfumato.errors import BrokenPromise, EmptyTable, PolicyError
from sfumato.fingerprint import key
from sfumato.losses import loss as parse_loss
from sfumato.microdata import microdata
from sfumato.policy import Policy
from sfumato.release import Release
from sfumato.search import search as parse_search
from sfumato.search.interruptible import interruptible
from sfumato.search.problem import Progress, quiet
from sfumato.stored_place import folder_of, made
from sfumato.stored_plan import plan_of
from sfumato.stored_release import StoredRelease, manifest_of
from sfumato.stored_search import refuse_search, solve
from sfumato.stored_size import SAMPLE, gigabytes, memory, refuse_size
from sfumato.stored_verify import verify_counts

Names = Sequence[str]
MAX_CELLS = 10_000_000


def anonymize_store(
    store: Store,
    to: Any = None,
    *,
    quasi: Names | Sequence[Names],
    identifying: Names = (),
    sensitive: Names = (),
    insensitive: Names = (),
    weight: str | None = None,
    require: Iterable[Any] | Any = (),
    search: Any = "auto",
    keep: str | None = None,
    loss: Any = "lm",
    suppression: float | int = 0,
    hierarchies: Mapping[str, Any] | None = None,
    levels: Mapping[str, tuple[int, int]] | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
    max_cells: int = MAX_CELLS,
) -> StoredRelease:
    """Blur a table that is not in memory until it satisfies the criteria; write it, and prove it from what was written.

    The store counts the distinct tuples of the quasi-identifiers, with the sensitive attributes that a criterion looks
    at; the search runs on those; the store applies what it decided. Memory follows the number of tuples, not of rows.

    Parameters
    ----------
    store: the table, such as `Scanned("admissions/*.parquet")`.
    to: a folder to make (data, manifest.json and report.html, all of them or nothing), a `Folder` or a `Table`.
    max_cells: how many distinct tuples may be held in memory; more are refused, before the run where a sample tells.
    The others are those of `sfumato.anonymize`. A search that gives rows with equal values different labels is refused.

    >>> from sfumato.engines.scanned import Scanned
    >>> anonymize_store(Scanned("in/*.parquet"), "out", quasi=["age"], require="k-anonymity 10")  # doctest: +SKIP
    <StoredRelease of 100000000 rows, 0 suppressed, loss 0.2500, k-anonymity>
    """
    if progress is not None and not callable(progress):
        raise PolicyError("progress must be a function of a message and a share", got=type(progress).__name__)
    if type(max_cells) is not int or max_cells < 1:
        raise PolicyError("max_cells must be a whole number above 0", got=repr(max_cells))
    say = progress or quiet
    to = destination(to, store)
    schema = store.schema()
    nothing = pl.DataFrame(schema=schema)
    promised = arguments.criteria(require)
    needed = [name for criterion in promised for name in criterion.needs]
    roles = arguments.roles_of(nothing, quasi, identifying, sensitive, insensitive, weight, needed)
    released = [name for name in schema if name not in roles.identifying]
    refuse_types(schema, released)
    policy = Policy(roles.quasi, promised, suppression, parse_loss(loss))
    policy.limit(store.rows())
    method = arguments.kept(parse_search(search), keep)
    refuse_search(method)
    looked_at = looks_at(schema, method, policy, roles)
    arguments.check_weights(policy.loss, policy.columns)
    recipes = arguments.recipes_of(nothing, hierarchies)
    bounds = arguments.levels_of(levels, policy.columns)
    seed = arguments.seed_of(seed)
    counted_by = tuple(dict.fromkeys((*policy.columns, *looked_at)))
    say("looking at a sample", None)
    sample = store.sample(SAMPLE)
    arguments.warn_of_identifying(sample, roles)
    cells = refuse_size(sample, counted_by, schema, store.rows(), max_cells)
    say(f"about {cells:,} combinations of values, {gigabytes(memory(cells, len(counted_by)))} of memory", None)
    del sample
    check_weights(store, roles.weight)
    kernels.warn_of_compiling(say)
    counted = _count(store, counted_by, say, max_cells, folder_of(to))
    times = counted.get_column(COUNT)
    rows = int(times.sum())
    if not rows:
        raise EmptyTable("the table has no rows")
    arguments.refuse_empty(counted, counted_by)
    check_size(policy, rows)
    say("reading the columns", None)
    wanted = dict.fromkeys(policy.columns, "quasi") | dict.fromkeys(looked_at, "sensitive")
    micro = microdata(counted, wanted, recipes, None, times.to_numpy())
    found = interruptible(lambda tell: solve(method, micro, policy, looked_at, bounds, tell), say)
    solution = found.solution
    check_solution(solution, method, policy, rows)
    plan = plan_of(counted, micro, solution, found.of_entry, policy.columns, found.keys, released)
    nothing = counted.clear()
    del counted
    whole = {name: distribution(micro, name) for name in policy.needs}
    trees = {name: h for name in policy.needs if (h := micro.attribute(name).hierarchy) is not None}
    with made(store, plan, to, say) as place:
        del plan
        again = place.written.count(counted_by, say)
        shown = publishable(policy, found.cells, solution, whole, again)
        verification = verify_counts(again, policy.quasi, promised, whole=whole, hierarchies=trees)
        kept_all = verification.rows == rows - solution.verdict.suppressed and list(place.written.schema()) == released
        if not verification.holds or not kept_all:
            broken = ", ".join(promise.model for promise in verification.promises if not promise.holds)
            what = f"keep {broken}" if broken else "have the rows and columns that it should have"
            raise BrokenPromise(f"the release does not {what}, so it is not released. This is a fault of Sfumato")
        if shown is None:
            refuse_hidden(policy, verify_counts(again, policy.quasi, promised, hierarchies=trees))
        of_cells = Release(
            data=None,
            solution=solution,
            policy=policy,
            verification=verification,
            table=again.drop(COUNT),
            microdata=micro,
            cell_codes=found.cells.codes,
            roles=roles,
            search=method if solution.choice is None else solution.choice.search,
            recipes={name: recipe.describe() for name, recipe in recipes.items()},
            levels=bounds,
            whole=shown,
            original=nothing,
            rows=found.of_entry,
            seed=seed,
        )
        types = {name: schema[name] for name in released}
        manifest = manifest_of(of_cells, types, roles, rows, store.fingerprint(key()), place.describe())
        place.finish(manifest)
        data = place.data
    return StoredRelease(folder_of(to), data, manifest, of_cells)


def _count(store: Store, columns: Sequence[str], say: Say, most: int, target: Path | None) -> pl.DataFrame:
    """Count, with what is counted saved beside the target: there after an interrupt, gone once all is counted."""
    if target is None:
        return store.count(columns, say, most)
    work = target.parent / f"{PREFIX}count-{target.name}"
    try:
        counted = store.count(columns, say, most, work)
    except PolicyError:
        shutil.rmtree(work, ignore_errors=True)
        raise
    shutil.rmtree(work, ignore_errors=True)
    return counted
