"""The largest contributions that a table knows."""

from __future__ import annotations

import numpy as np

from sfumato.errors import PolicyError
from sfumato.tables.values import StatTable

TIES = 1e-12  # of a bound, within which it is kept


def largest_of(table: StatTable, n: int, model: str) -> np.ndarray:
    """The n largest contributions to each cell, greatest first; a PolicyError where the table does not have as many."""
    known = table.largest.shape[-1]
    if n > known:
        raise PolicyError(
            f"{model} looks at more contributions than the table has", got=str(n), allowed=f"at most {known}",
            hint=f"tabulate with largest={n}",
        )  # fmt: skip
    return table.largest[..., :n]


def remainder(table: StatTable, model: str) -> tuple[np.ndarray, np.ndarray]:
    """The largest contribution to each cell, and what is left of the cell without the two largest."""
    two = largest_of(table, 2, model)
    return two[..., 0], np.maximum(table.gross - two.sum(-1), 0.0)
