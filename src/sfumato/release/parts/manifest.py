"""What was made in parts, as the Release that manifests are written from: all but the rows and the classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.microdata import Microdata
from sfumato.core.policy import Policy
from sfumato.core.roles import Roles
from sfumato.engines.protocol import COUNT
from sfumato.engines.spark.count import SparkFrame
from sfumato.errors import PolicyError
from sfumato.losses.released import ReleasedColumn
from sfumato.release.manifest import Audit, Shown
from sfumato.release.parts.mondrian import Distributed
from sfumato.release.parts.verify import MAX_VALUES, verify_on
from sfumato.release.release import Release, paths_of, shown_columns
from sfumato.search.problem import Partition, Solution


def as_release(
    found: Distributed,
    policy: Policy,
    roles: Roles,
    schema: Mapping[str, pl.DataType],
    released: Mapping[str, pl.DataType],
    recipes: Mapping[str, Any],
    seed: int | None,
    order: str,
) -> Release:
    """A release without rows; `schema` is of the columns that were looked at, `released` of those that are released.

    No row was suppressed, so the distributions that verify needs may be published.
    """
    none = np.zeros(0, np.int32)
    nothing = pl.DataFrame(schema=dict(schema))
    against = dict.fromkeys(name for c in policy.require if c.uses_overall_distribution for name in c.needs)
    whole = {name: found.whole[name] for name in against}
    solution = Solution(
        Partition(none, {}), found.verdict, np.zeros(0, np.bool_), False, 0, found.seconds, choice=found.choice
    )
    return Release(
        data=None,
        solution=solution,
        policy=policy,
        verification=found.verification,
        table=nothing,
        microdata=Microdata(found.domain.rows, found.domain.attributes, {}),
        cell_codes=np.zeros((len(policy.columns), 0), np.int32),
        roles=roles,
        search=found.search,
        recipes=recipes,
        levels={},
        whole=whole,
        original=nothing,
        rows=none,
        seed=seed,
        counts=_shown(found, policy, released, recipes, whole),
        order=order,
    )


def _shown(
    found: Distributed,
    policy: Policy,
    released: Mapping[str, pl.DataType],
    recipes: Mapping[str, Any],
    whole: Mapping[str, Mapping[str, int]],
) -> Shown:
    """What the released rows show, counted on the cluster; a column with too many labels is left out."""
    table = SparkFrame(found.data)
    columns: dict[str, ReleasedColumn] = {}
    for name in dict.fromkeys((*policy.columns, *policy.needs)):
        try:
            counts = table.count([name], MAX_VALUES)
        except PolicyError:
            continue
        entries, often = counts.select(name), counts.get_column(COUNT)
        columns |= shown_columns(entries, often, policy, recipes, found.domain.attributes)
    sizes = found.verification.classes[0]["sizes"]
    if len(policy.quasi) > 1:
        sizes = verify_on(found.data, [policy.columns], ()).classes[0]["sizes"]
    audit = Audit(found.verification)  # no row was suppressed: the whole table is the released rows
    counted = {int(size): n for size, n in sizes.items()}
    return Shown(released, columns, counted, audit, 0, whole, paths_of(policy, recipes, columns))
