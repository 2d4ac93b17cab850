"""Small tables with hierarchies, on which every level vector can be tried."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import polars as pl

from sfumato.hierarchies import flat, intervals, wide

COLUMNS: dict[str, Sequence[Any]] = {"a": ("p1", "p2", "q1", "q2", "q3"), "b": range(8), "c": ("m", "n")}
SECRETS = ("flu", "asthma", "ulcer")
TREES = {
    "a": wide([(v, v[0], "*") for v in COLUMNS["a"]]),
    "b": intervals(2, 4, 8),
    "c": flat(),
}


def small_tables(seed: object, many: int) -> list[pl.DataFrame]:
    """Tables of 8 to 40 rows with quasi-identifiers a, b, c and a sensitive column s.

    >>> small_tables(1, 2)[0].columns
    ['a', 'b', 'c', 's']
    """
    rng, found = random.Random(seed if isinstance(seed, int) else str(seed)), []
    for _ in range(many):
        n = rng.randint(8, 40)
        columns = {**COLUMNS, "s": SECRETS}
        found.append(pl.DataFrame({name: [rng.choice(values) for _ in range(n)] for name, values in columns.items()}))
    return found
