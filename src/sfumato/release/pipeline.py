"""Anonymize an out-of-core table: count, search, recode, and prove it from a count of what was written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from sfumato.core import compiled as kernels
from sfumato.core.fingerprint import key
from sfumato.core.microdata import microdata
from sfumato.core.spelling import warn_of_spellings
from sfumato.engines.atomic import PREFIX
from sfumato.engines.protocol import COUNT, Engine, Progress, is_cluster
from sfumato.errors import BrokenPromise, EmptyTable, TooManyCells
from sfumato.measures.table import TupleCounts
from sfumato.release import arguments
from sfumato.release.checks import (
    check_size,
    check_solution,
    check_weights,
    distribution,
    publishable,
    refuse_changed,
    refuse_hidden,
    trees_of,
)
from sfumato.release.counted_search import SAMPLE, estimate, gigabytes, memory, plan_of, refuse_size, solve
from sfumato.release.destination import Folder, Table, destination, refuse_row_order
from sfumato.release.in_parts import released_in_parts
from sfumato.release.manifest import Audit, Shown, class_counts
from sfumato.release.release import Release, paths_of, shown_columns
from sfumato.release.request import Request, parse_request
from sfumato.release.staged import folder_of, stage_release
from sfumato.release.stored import StoredRelease
from sfumato.release.verify import verify_counts
from sfumato.search.interruptible import interruptible


def anonymize_store(store: Engine, to: Any = None, **given: Any) -> StoredRelease:
    """Blur an out-of-core table until it satisfies the criteria; write it, and prove it from what was written.

    The store counts the distinct tuples of the quasi-identifiers, with the sensitive attributes that a criterion looks
    at; the search runs on those; the store applies what it decided. Memory follows the number of tuples, not of rows.

    Parameters
    ----------
    store: the table, such as `FileTable("admissions/*.parquet")`.
    to: a folder to make (data, manifest.json and report.html, all of them or nothing), a `Folder` or a `Table`.
    given: the other arguments of `sfumato.anonymize`. A search that gives rows with equal values different labels is
        refused.

    >>> from sfumato.engines.files.table import FileTable
    >>> anonymize_store(FileTable("in/*.parquet"), "out", quasi=["age"], require="k-anonymity 10")  # doctest: +SKIP
    <StoredRelease of 100000000 rows, 0 suppressed, loss 0.2500, k-anonymity>
    """
    place = destination(to, store)
    with store.snapshot(write=isinstance(place, Table)) as now:  # writers do not matter
        return replace(_anonymized(now, place, **given), home=store)


def _anonymized(store: Engine, place: Folder | Table | None, **given: Any) -> StoredRelease:
    """Look at the table before the work, and release it in one piece or in parts."""
    asked = parse_request(store, **given)
    refuse_row_order(asked.order, store, place)
    max_cells = asked.max_cells
    asked.say("looking at a sample", None)
    sample = store.sample(SAMPLE)
    arguments.refuse_undecided(sample, asked.roles, asked.policy.require, store.rows())
    warn_of_spellings(sample, asked.roles.sensitive)
    arguments.warn_of_unprotected(asked.roles, asked.policy.needs)
    cells = estimate(sample, asked.counted_by, asked.schema, store.rows())
    cluster = store if is_cluster(store) else None
    if cluster is None:
        refuse_size(sample, asked.counted_by, cells, max_cells)
    del sample
    check_weights(store, asked.roles.weight)
    kernels.warn_of_compiling(asked.say)
    if cluster is not None and cells > max_cells:
        return released_in_parts(cluster, asked, place)
    needed = gigabytes(memory(cells, len(asked.counted_by)))
    asked.say(f"about {cells:,} combinations of values, {needed} of memory", None)
    try:
        return _released(store, asked, place)
    except TooManyCells:  # the sample promised fewer
        if cluster is None:
            raise
        return released_in_parts(cluster, asked, place)


def _released(store: Engine, asked: Request, to: Folder | Table | None) -> StoredRelease:
    """Count, search, recode, and verify what was made before it is kept."""
    policy, say = asked.policy, asked.say
    counted = _count(store, asked.counted_by, say, asked.max_cells, folder_of(to))
    times = counted.get_column(COUNT)
    rows = int(times.sum())
    if not rows:
        raise EmptyTable("the table has no rows")
    arguments.refuse_empty(counted, asked.counted_by)
    check_size(policy, rows)
    say("reading the columns", None)
    wanted = dict.fromkeys(policy.columns, "quasi") | dict.fromkeys(asked.histogram_columns, "sensitive")
    micro = microdata(counted, wanted, asked.recipes, None, times.to_numpy())
    found = interruptible(
        lambda tell: solve(asked.search, micro, policy, asked.histogram_columns, asked.levels, tell), say
    )
    solution = found.solution
    check_solution(solution, asked.search, policy, rows)
    plan = plan_of(counted, micro, solution, found.of_entry, policy.columns, found.keys, asked.released)
    plan = replace(plan, order=asked.row_order, rows=rows - solution.verdict.suppressed)
    nothing = counted.clear()
    del counted
    whole = {name: distribution(micro, name) for name in policy.needs}
    trees = trees_of(micro, policy.needs)
    with stage_release(store, plan, to, say) as place:
        del plan
        again = place.written.count(asked.counted_by, say)
        published = publishable(policy, whole, solution.verdict.suppressed)
        verification = verify_counts(again, policy.quasi, policy.require, whole=whole, hierarchies=trees)
        kept_all = verification.rows == rows - solution.verdict.suppressed
        if not verification.holds or not kept_all or tuple(place.written.schema()) != asked.released:
            broken = ", ".join(promise.model for promise in verification.promises if not promise.holds)
            what = f"keep {broken}" if broken else "have the rows and columns that it should have"
            raise BrokenPromise(
                f"the release does not {what}, so it is not released. Either the table was changed while it was read, "
                "or this is a fault of Sfumato"
            )
        refuse_changed(whole, {name: _distribution(again, name) for name in policy.needs})
        released, often = again.drop(COUNT), again.get_column(COUNT)
        columns = shown_columns(released, often, policy, asked.recipes, micro.schema)
        paths = paths_of(policy, asked.recipes, columns)
        audit = Audit(verify_counts(again, policy.quasi, policy.require, whole=published, hierarchies=paths))
        if published is None:
            refuse_hidden(policy, audit)
        sizes, suppressed = class_counts(released, often, policy.columns), solution.verdict.suppressed
        shown = Shown(asked.types, columns, sizes, audit, suppressed, published, paths)
        of_cells = Release(
            data=None,
            solution=solution,
            policy=policy,
            verification=verification,
            table=released,
            microdata=micro,
            cell_codes=found.cells.codes,
            roles=asked.roles,
            search=asked.search if solution.choice is None else solution.choice.search,
            recipes=asked.recipes,
            levels=asked.levels,
            whole=published,
            original=nothing,
            rows=found.of_entry,
            seed=asked.seed,
            counts=shown,
            order=asked.order,
        )
        mark = store.fingerprint(key())
        manifest = of_cells.published(shown, asked.roles, mark, place.describe())
        say("counting what is not covered", None)
        reach = place.finish(manifest, TupleCounts(place.written, asked.max_cells, known=again))
        data = place.data
    return StoredRelease(folder_of(to), data, manifest, of_cells, store, reach)


def _distribution(counted: pl.DataFrame, name: str) -> dict[str, int]:
    """Printed value to rows; the empty text stands for missing."""
    found = counted.group_by(pl.col(name).fill_null("")).agg(pl.col(COUNT).sum())
    return dict(found.rows())


def _count(store: Engine, columns: Sequence[str], say: Progress, most: int, target: Path | None) -> pl.DataFrame:
    """Count, with what is counted saved beside the target: there after an interrupt, gone once all is counted."""
    return store.count(columns, say, most, None if target is None else target.parent / f"{PREFIX}count-{target.name}")
