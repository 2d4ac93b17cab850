"""Request: what is asked of a table, checked against its columns before any row is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import polars as pl

from sfumato.core.fingerprint import secret_seed
from sfumato.core.policy import Policy
from sfumato.core.roles import Roles
from sfumato.engines.order import RANDOM, RowOrder
from sfumato.search.problem import Progress


@dataclass(frozen=True, eq=False)
class Request:
    """A policy and a search, with what both need of the table."""

    policy: Policy
    roles: Roles
    search: Any
    schema: Mapping[str, pl.DataType]
    released: tuple[str, ...]  # columns, in order
    histogram_columns: tuple[str, ...]  # columns whose distributions criteria or search need
    recipes: Mapping[str, Any]  # column to how its hierarchy is made
    levels: Mapping[str, tuple[int, int]]
    normalised: tuple[str, ...]  # sensitive columns in one spelling per value
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
    def wildcard(self) -> bool:
        """Whether a missing value matches any value."""
        return bool(self.search.wildcard)
