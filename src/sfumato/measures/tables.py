"""A table to measure: rows in memory, or what is counted of a table that is not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
import polars as pl

from sfumato.engines.frames import enter
from sfumato.engines.stores import store_of
from sfumato.errors import PolicyError
from sfumato.measures.counted import MOST, Counts

Table = pl.DataFrame | Counts

LOAD = "measure a sample, as in store.sample(100_000), or read the table into memory, as in sf.read(path)"


def table_of(data: Any, most: int = MOST) -> Table:
    """A frame, or counts where the table is in a store; counts stay as they are.

    >>> table_of({"age": [30, 41]}).columns
    ['age']
    """
    if isinstance(data, Counts):
        return data
    store = store_of(data)
    return enter(data)[0] if store is None else Counts(store, most)


def entries(table: Table, names: Sequence[str]) -> tuple[pl.DataFrame, np.ndarray | None]:
    """The rows of a frame; of counts the distinct tuples of these columns, and how many rows have each."""
    return (table, None) if isinstance(table, pl.DataFrame) else table.entries(names)


def rows_of(table: Table) -> int:
    """How many rows a table has."""
    return table.height if isinstance(table, pl.DataFrame) else table.rows


def refuse(what: str) -> NoReturn:
    """Raise a PolicyError that names what needs rows."""
    raise PolicyError(f"{what} cannot be measured on a table that is not in memory", hint=LOAD)
