"""Asked: what is asked of an out-of-core table, checked against its columns before any row is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from sfumato.core import parameters
from sfumato.core.fingerprint import secret_seed
from sfumato.core.policy import Policy
from sfumato.core.roles import Roles
from sfumato.engines.order import CANONICAL, RANDOM, RowOrder, order_of
from sfumato.engines.protocol import Engine, refuse_types
from sfumato.errors import PolicyError
from sfumato.losses import loss as parse_loss
from sfumato.measures.standards import profile_named
from sfumato.measures.table import DEFAULT_MAX_CELLS
from sfumato.release import arguments
from sfumato.release.checks import find_histogram_columns
from sfumato.release.counted_search import refuse_search
from sfumato.release.ends import ends_named
from sfumato.search import search as parse_search
from sfumato.search.problem import Progress, quiet

Names = Sequence[str]


@dataclass(frozen=True, eq=False)
class Request:
    """A policy and a search, with what both need of the table."""

    policy: Policy
    roles: Roles
    search: Any
    schema: Mapping[str, pl.DataType]
    released: tuple[str, ...]  # columns, in order
    histogram_columns: tuple[str, ...]  # columns whose distributions criteria or search need
    recipes: Mapping[str, Any]
    levels: Mapping[str, tuple[int, int]]
    seed: int | None
    order: str  # of the released rows
    max_cells: int
    say: Progress

    @property
    def counted_by(self) -> tuple[str, ...]:
        """The columns whose distinct tuples are counted."""
        return tuple(dict.fromkeys((*self.policy.columns, *self.histogram_columns)))

    @cached_property
    def row_order(self) -> RowOrder:
        """The order of the released rows."""
        secret = secret_seed(self.seed) if self.order == RANDOM else None
        return RowOrder(self.order, self.policy.columns, secret)

    @property
    def types(self) -> dict[str, pl.DataType]:
        """The released columns with the types that they had."""
        return {name: self.schema[name] for name in self.released}


def parse_request(
    store: Engine,
    *,
    quasi: Names | Sequence[Names],
    identifying: Names = (),
    sensitive: Names = (),
    insensitive: Names = (),
    weight: str | None = None,
    unprotected: Names = (),
    rest: str = "refuse",
    require: Iterable[Any] | Any = (),
    search: Any = "auto",
    keep: str | None = None,
    loss: Any = "lm",
    suppression: float | int = 0,
    hierarchies: Mapping[str, Any] | None = None,
    levels: Mapping[str, tuple[int, int]] | None = None,
    ends: str = "rounded",
    seed: int | None = None,
    order: str = CANONICAL,
    profile: str | None = None,
    progress: Progress | None = None,
    max_cells: int = DEFAULT_MAX_CELLS,
) -> Request:
    """The arguments of `anonymize`, each checked as it is for a table in memory.

    `max_cells`: how many distinct tuples may be held in memory; more are refused, before the run where a sample tells.
    """
    if progress is not None and not callable(progress):
        raise PolicyError("progress must be a function of a message and a share", got=type(progress).__name__)
    if type(max_cells) is not int or max_cells < 1:
        raise PolicyError("max_cells must be a whole number above 0", got=repr(max_cells))
    schema = store.schema()
    nothing = pl.DataFrame(schema=schema)
    promised = arguments.criteria(require)
    needed = [name for criterion in promised for name in criterion.needs]
    roles = arguments.roles_of(nothing, quasi, identifying, sensitive, insensitive, weight, needed, unprotected, rest)
    released = tuple(name for name in schema if name not in roles.identifying)
    refuse_types(schema, released)
    standard = None if profile is None else profile_named(profile)
    policy = Policy(roles.quasi, promised, suppression, parse_loss(loss), ends_named(ends), standard)
    policy.limit(store.rows())
    method = arguments.kept(parse_search(search), keep)
    refuse_search(method)
    histogram_columns = find_histogram_columns(schema, method, policy, roles)
    parameters.check_weights(policy.loss, policy.columns)
    recipes = arguments.recipes_of(nothing, hierarchies)
    bounds = parameters.levels_of(levels, policy.columns)
    seed, order = parameters.seed_of(seed), order_of(order)
    return Request(
        policy,
        roles,
        method,
        schema,
        released,
        histogram_columns,
        recipes,
        bounds,
        seed,
        order,
        max_cells,
        progress or quiet,
    )
