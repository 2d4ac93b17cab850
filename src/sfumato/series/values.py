"""The values that flow in a series of releases."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import polars as pl

GROUP, COUNTERFEITS = "group", "counterfeits"  # columns that are published beside those of the table
DATA = "data"


@dataclass(frozen=True)
class Turnover:
    """Who is in a release and who is not, in numbers: for its owner, not for the public.

    `stayed` were in the release before, `returned` in one before that, `arrived` in none; `left` were in the release
    before and are not in this one. `changed` have another value than they were published with: they stand under the old
    one again, or are left out, as was asked. `pinned` and `exposed` are of those published before: for how many one
    value, or fewer than m, would be left, had this release been grouped as if there were none before it.
    """

    number: int
    people: int
    stayed: int
    returned: int
    arrived: int
    left: int
    changed: int
    groups: int
    counterfeits: int
    pinned: int
    exposed: int


@dataclass(frozen=True, eq=False)
class GroupedTables:
    """The tables of a release, as they leave: `tables["data"]` and `tables["counterfeits"]`; roles by column."""

    tables: Mapping[str, pl.DataFrame]
    roles: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
