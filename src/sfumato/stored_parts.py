"""A release of a Spark frame whose cells do not fit one machine: blurred in parts, and verified on the cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from sfumato import arguments
from sfumato.checks import trees_of
from sfumato.destination import Folder, Table
from sfumato.distributed.manifest import as_release
from sfumato.distributed.mondrian import distribute, spread
from sfumato.distributed.verify import verify_on
from sfumato.engines.spark import SparkTable
from sfumato.engines.spark_write import SparkParts
from sfumato.engines.store import Plan, Store
from sfumato.errors import BrokenPromise
from sfumato.fingerprint import key
from sfumato.measures.counted import MOST
from sfumato.measures.verify import Verification
from sfumato.stored_asked import Asked
from sfumato.stored_place import folder_of, made
from sfumato.stored_release import StoredRelease, manifest_of
from sfumato.stored_size import SAMPLE, estimate
from sfumato.stored_verify import verify_counts, verify_store


def released_in_parts(store: SparkTable, asked: Asked, to: Folder | Table | None) -> StoredRelease:
    """Cut the table into parts, have each blurred by a worker, verify them together, and write them where asked."""
    policy, say = asked.policy, asked.say
    mondrian, choice = spread(asked.search, policy, asked.levels)
    found = distribute(
        store.frame,
        policy,
        mondrian,
        looks_at=asked.looked_at,
        recipes=asked.recipes,
        released=asked.released,
        choice=choice,
        seed=asked.seed,
        say=say,
    )
    types = {name: asked.schema[name] for name in asked.counted_by}
    of_cells = as_release(found, policy, asked.roles, types, asked.recipes, asked.seed)
    mark = store.fingerprint(key())
    if to is None:
        manifest = manifest_of(of_cells, asked.types, asked.roles, found.domain.rows, mark, found.place)
        return StoredRelease(None, found.data, manifest, of_cells, store)
    whole = Plan(asked.released, (), asked.released)
    trees = trees_of(found.domain, policy.needs)
    with made(SparkTable(found.data), whole, to, say) as place:
        assert isinstance(place.written, SparkParts)
        if place.written.text:
            counted = place.written.count(asked.counted_by, say)
            again = verify_counts(counted, policy.quasi, policy.require, whole=found.whole, hierarchies=trees)
        else:
            again = verify_on(place.written.frame, policy.quasi, policy.require, whole=found.whole, hierarchies=trees)
        if not again.holds or again.rows != found.domain.rows:
            raise BrokenPromise("what was written is not what was verified, so it is not released")
        manifest = manifest_of(of_cells, asked.types, asked.roles, found.domain.rows, mark, place.describe())
        place.finish(manifest)
        data = place.data
    return StoredRelease(folder_of(to), data, manifest, of_cells, store)


def verified(
    store: Store,
    *,
    quasi: Sequence[str] | Sequence[Sequence[str]],
    require: Iterable[Any] | Any,
    sensitive: Sequence[str] = (),
    hierarchies: Mapping[str, Any] | None = None,
    wildcard: bool = False,
    max_cells: int = MOST,
) -> Verification:
    """Which promises a table that is not in memory keeps; a Spark frame of too many classes is audited in parts."""
    asked: dict[str, Any] = {"quasi": quasi, "sensitive": sensitive, "hierarchies": hierarchies}
    asked |= {"wildcard": wildcard, "max_cells": max_cells}
    promised, schema = arguments.criteria(require), store.schema()
    if not isinstance(store, SparkTable) or wildcard or hierarchies:
        return verify_store(store, require=promised, **asked)
    needed = [name for criterion in promised for name in criterion.needs]
    roles = arguments.roles_of(pl.DataFrame(schema=schema), quasi, (), sensitive, (), None, needed)
    sample, rows = store.sample(SAMPLE), store.rows()
    together = [dict.fromkeys((*names, *needed)) for names in roles.quasi]
    if max(estimate(sample, tuple(columns), schema, rows) for columns in together) <= max_cells:
        return verify_store(store, require=promised, **asked)
    return verify_on(store.frame, roles.quasi, promised)
