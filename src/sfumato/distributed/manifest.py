"""What was made in parts, as the Release that manifests are written from: all but the rows and the classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl

from sfumato.distributed.mondrian import Distributed
from sfumato.microdata import Microdata
from sfumato.policy import Policy
from sfumato.release import Release
from sfumato.roles import Roles
from sfumato.search.problem import Partition, Solution


def as_release(
    found: Distributed,
    policy: Policy,
    roles: Roles,
    schema: Mapping[str, pl.DataType],
    recipes: Mapping[str, Any],
    seed: int | None,
) -> Release:
    """A release without rows, for `stored_release.manifest_of`; `schema` is of the columns that were looked at.

    No row was suppressed, so the distributions that verify needs may be published.
    """
    none = np.zeros(0, np.int32)
    nothing = pl.DataFrame(schema=dict(schema))
    against = dict.fromkeys(name for c in policy.require if getattr(c, "against_whole", False) for name in c.needs)
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
        recipes={name: recipe.describe() for name, recipe in recipes.items()},
        levels={},
        whole={name: found.whole[name] for name in against},
        original=nothing,
        rows=none,
        seed=seed,
    )
