"""What is published of a release: every value that enters a manifest enters it here.

What is measured comes from a `Shown`: counts of the released rows, and how many others there were. The rest is the
policy and how the release was made. The table behind the release is out of reach: nothing here can ask for it.
"""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from importlib.metadata import version
from typing import Any, NewType

import polars as pl

from sfumato.core.hierarchy import Hierarchy, Recipe, kind_of
from sfumato.core.policy import Policy
from sfumato.core.printed import printed
from sfumato.core.roles import Roles
from sfumato.criteria.audit import Wide
from sfumato.losses import loss_name
from sfumato.losses.released import Figure, ReleasedColumn, released_loss
from sfumato.release.verify import Verification

Audit = NewType("Audit", Verification)  # what verify says of the released rows against what is published of others


@dataclass(frozen=True, eq=False)
class Shown:
    """What released rows show: their types, the labels of the columns that matter, class sizes, and promises."""

    schema: Mapping[str, pl.DataType]
    columns: Mapping[str, ReleasedColumn]  # quasi-identifiers, and attributes that criteria look at
    sizes: Mapping[int, int]  # size to number of classes, by all quasi-identifiers together
    audit: Audit
    suppressed: int
    whole: Mapping[str, Mapping[str, int]] | None  # distributions of the whole table that may be published
    paths: Mapping[str, Wide]  # of the hierarchies that a distance runs along, those of released values


@dataclass(frozen=True)
class Method:
    """How a release was made."""

    search: Mapping[str, Any]
    chosen: tuple[str, str] | None  # why the search was picked, and the runner-up
    recoding: str
    levels: Mapping[str, int | None] | None  # None for a level of a hierarchy that was made from the table
    optimal: bool
    proven: str | None
    reproducible: bool
    wildcard: bool
    normalise: tuple[str, ...]  # sensitive columns in one spelling per value
    order: str  # of the released rows


def counted(
    column: pl.Series, times: pl.Series | None, recipe: Recipe | None, tree: Hierarchy | None, wildcard: bool
) -> ReleasedColumn:
    """The labels of a released column; with `times` an entry stands for so many rows."""
    rows = pl.lit(1, pl.Int64) if times is None else times.cast(pl.Int64)
    table = pl.DataFrame({"label": printed(column)}).with_columns(rows.alias("rows"))
    table = table.group_by("label").agg(pl.col("rows").sum()).sort("label", nulls_last=True)
    label, count = table.get_column("label"), table.get_column("rows").to_numpy()
    return ReleasedColumn(column.name, label, count, recipe, tree, wildcard)


def class_counts(frame: pl.DataFrame, times: pl.Series | None, names: Iterable[str]) -> dict[int, int]:
    """How many classes there are of each size, by these columns together."""
    keys = pl.DataFrame([printed(frame.get_column(name)).alias(f"q{i}") for i, name in enumerate(names)])
    rows = pl.lit(1, pl.Int64) if times is None else times.cast(pl.Int64)
    sizes = keys.with_columns(size=rows).group_by(keys.columns).agg(pl.col("size").sum()).get_column("size")
    return dict(sizes.value_counts(name="classes").sort("size").iter_rows())


def manifest(
    shown: Shown, policy: Policy, roles: Roles, recipes: Mapping[str, Recipe], levels: Mapping[str, tuple[int, int]],
    method: Method, seed: int | None, fingerprint: str | None, data: Mapping[str, Any],
) -> dict[str, Any]:  # fmt: skip
    """The manifest of a release: no clock, no duration, so that the same input gives the same bytes.

    `data` is what is known of where the rows are; `fingerprint` that of the input, keyed.
    """
    role = dict.fromkeys(policy.columns, "quasi") | dict.fromkeys(roles.sensitive, "sensitive")
    if roles.weight:
        role[roles.weight] = "weight"
    kinds = {name: kind_of(dtype) for name, dtype in shown.schema.items()}
    kinds |= {name: column.kind for name, column in shown.columns.items()}
    columns = [{"name": n, "role": role.get(n, "insensitive"), "kind": kinds[n]} for n in shown.schema]
    before = shown.audit.rows + shown.suppressed
    loss, per_column = losses(shown, policy)
    return {
        "sfumato": version("sfumato"),
        "format": 1,
        "data": {**data, "rows": shown.audit.rows, "columns": columns, "order": method.order},
        "policy": {
            "identifying": list(roles.identifying),
            "quasi": [list(names) for names in policy.quasi],
            "sensitive": list(roles.sensitive),
            "unprotected": list(roles.unprotected),
            "insensitive": [c["name"] for c in columns if c["role"] == "insensitive"],
            "rest": roles.rest,
            "require": [{"model": c.model, **c.parameters()} for c in policy.require],
            "suppression": policy.suppression,
            "wildcard": method.wildcard,
            "loss": {"name": loss_name(policy.loss), **policy.loss.parameters()},
            "search": dict(method.search),
            "chosen": None if method.chosen is None else dict(zip(("why", "runner_up"), method.chosen, strict=True)),
            "hierarchies": {name: recipe.describe() for name, recipe in recipes.items()},
            "levels": {name: list(bounds) for name, bounds in levels.items()},
            "ends": policy.ends,
            **({"normalise": list(method.normalise)} if method.normalise else {}),
            **({"profile": policy.profile} if policy.profile else {}),
        },
        "seed": seed,
        "input": {"rows": before, "fingerprint": fingerprint},
        "versions": {"python": platform.python_version()}
        | {name: version(name) for name in ("numba", "numpy", "polars")},
        "solution": {
            "recoding": method.recoding,
            "levels": None if method.levels is None else dict(method.levels),
            "optimal": method.optimal,
            "proven": method.proven,
            "reproducible": method.reproducible,
            "suppressed": shown.suppressed,
            "suppression_limit": policy.limit(before),
            "loss": loss,
            "loss_per_attribute": per_column,
        },
        "promises": [asdict(promise) for promise in shown.audit.promises],
        "measured": list(shown.audit.classes),
        "whole": shown.whole,
        "sensitive_hierarchies": {name: [list(path) for path in paths] for name, paths in shown.paths.items()},
    }  # fmt: skip


def losses(shown: Shown, policy: Policy) -> tuple[Figure | None, dict[str, Figure | None]]:
    """The loss that may be published and that of each quasi-identifier; None where released rows do not tell it."""
    quasi = {name: shown.columns.get(name) for name in policy.columns}
    return released_loss(policy.loss, quasi, shown.sizes, shown.suppressed, policy.k)
