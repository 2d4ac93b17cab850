"""A release of a Spark frame whose cells do not fit one machine: blurred in parts, and verified on the cluster."""

from __future__ import annotations

from typing import Any

import polars as pl

from sfumato.core.fingerprint import key
from sfumato.engines.protocol import Cluster, Engine, Plan, is_cluster
from sfumato.engines.spark.table import SparkTable
from sfumato.errors import BrokenPromise
from sfumato.measures.table import DEFAULT_MAX_CELLS, TupleCounts
from sfumato.release import arguments
from sfumato.release.checks import trees_of
from sfumato.release.counted_search import SAMPLE, estimate
from sfumato.release.destination import Folder, Table
from sfumato.release.parts.manifest import as_release
from sfumato.release.parts.mondrian import distribute, spread
from sfumato.release.parts.verify import verify_on
from sfumato.release.request import Request
from sfumato.release.staged import folder_of, stage_release
from sfumato.release.stored import StoredRelease
from sfumato.release.verify import Verification, verify_counts, verify_store


def released_in_parts(store: Cluster, asked: Request, to: Folder | Table | None) -> StoredRelease:
    """Cut the table into parts, have each blurred by a worker, verify them together, and write them where asked."""
    policy, say = asked.policy, asked.say
    mondrian, choice = spread(asked.search, policy, asked.levels)
    found = distribute(
        store.frame,
        policy,
        mondrian,
        histogram_columns=asked.histogram_columns,
        recipes=asked.recipes,
        released=asked.released,
        choice=choice,
        seed=asked.seed,
        say=say,
    )
    types = {name: asked.schema[name] for name in asked.counted_by}
    of_cells = as_release(found, policy, asked.roles, types, asked.types, asked.recipes, asked.seed, asked.order)
    mark = store.fingerprint(key())
    if to is None:
        manifest = of_cells.published(of_cells.shown, asked.roles, mark, found.place)
        return StoredRelease(None, found.data, manifest, of_cells, store)
    whole = Plan(asked.released, (), asked.released, order=asked.row_order, rows=found.domain.rows)
    trees = trees_of(found.domain, policy.needs)
    with stage_release(SparkTable(found.data), whole, to, say) as place:
        written: Any = place.written  # parts in a folder
        if written.text:
            counted = written.count(asked.counted_by, say)
            again = verify_counts(counted, policy.quasi, policy.require, whole=found.whole, hierarchies=trees)
        else:
            again = verify_on(written.frame, policy.quasi, policy.require, whole=found.whole, hierarchies=trees)
        if not again.holds or again.rows != found.domain.rows:
            raise BrokenPromise("what was written is not what was verified, so it is not released")
        manifest = of_cells.published(of_cells.shown, asked.roles, mark, place.describe())
        reach = place.finish(manifest, TupleCounts(place.written, asked.max_cells))
        data = place.data
    return StoredRelease(folder_of(to), data, manifest, of_cells, store, reach)


def verified(
    store: Engine, *, quasi: Any, require: Any, max_cells: int = DEFAULT_MAX_CELLS, **more: Any
) -> Verification:
    """What `verify_store` says; the classes of a Spark frame that has too many are audited in parts."""
    promised, schema = arguments.criteria(require), store.schema()
    if not is_cluster(store) or more.get("wildcard") or more.get("hierarchies"):
        return verify_store(store, quasi=quasi, require=promised, max_cells=max_cells, **more)
    needed = [name for criterion in promised for name in criterion.needs]
    roles = arguments.roles_of(pl.DataFrame(schema=schema), quasi, (), more.get("sensitive", ()), (), None, needed)
    sample, rows = store.sample(SAMPLE), store.rows()
    together = [dict.fromkeys((*names, *needed)) for names in roles.quasi]
    if max(estimate(sample, tuple(columns), schema, rows) for columns in together) <= max_cells:
        return verify_store(store, quasi=quasi, require=promised, max_cells=max_cells, **more)
    return verify_on(store.frame, roles.quasi, promised)
