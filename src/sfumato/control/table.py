"""The table of a statistical database: a row for each person, who has a number over all snapshots."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.masked import LARGEST, typed
from sfumato.core.parameters import known_columns
from sfumato.core.printed import plain_values
from sfumato.engines.files.read import read
from sfumato.engines.tables import engine_of
from sfumato.errors import ColumnError, EmptyTable

MOST_DECIMALS, EXACT = 9, 2.0**52


def read_people(data: Any) -> pl.DataFrame:
    """A table in memory, with one kind of missing value; texts that are all numbers, or all dates, are such."""
    engine = engine_of(read(data) if isinstance(data, str | Path) else data)
    frame = engine.sample(engine.rows())
    if not frame.height:
        raise EmptyTable("the table has no rows")
    return typed(pl.DataFrame([plain_values(column) for column in frame.get_columns()]))


def numbers_of(table: pl.DataFrame, name: str) -> np.ndarray:
    """The values of a column, all of them finite numbers."""
    column = table.get_column(name)
    if not column.dtype.is_numeric():
        raise ColumnError(f'"{name}" is in values, and has no numbers')
    found = column.cast(pl.Float64, strict=False)
    if found.null_count() or not bool(found.is_finite().all()):
        what = f'some rows of "{name}" have no finite number'
        raise ColumnError(what, hint="answers would tell who has none: drop these rows, or fill them")
    if bool((found.abs() > LARGEST).any()):
        raise ColumnError(f'"{name}" has values too large to add up', allowed=f"up to {LARGEST:g}")
    made: np.ndarray = found.to_numpy() + 0.0  # no minus zero, which would tell of whom it is
    return made


def decimals_of(values: np.ndarray) -> int | None:
    """How many decimals values have, all sums of which are then exact once they are whole numbers of the last one; None
    where there is no such number.

    >>> decimals_of(np.array([0.1, 2.25])), decimals_of(np.array([1 / 3]))
    (2, None)
    """
    for decimals in range(MOST_DECIMALS + 1):
        scale = 10.0**decimals
        if np.abs(values).sum() * scale >= EXACT:
            return None
        if (np.rint(values * scale) / scale == values).all():
            return decimals
    return None


def people_of(table: pl.DataFrame, person: str | None, known: Mapping[Any, int]) -> tuple[dict[Any, int], np.ndarray]:
    """The numbers of all people who were ever in the table, and that of each row."""
    if person is None:
        return {}, np.arange(table.height)
    known_columns([person], table.columns)
    column = table.get_column(person)
    if column.null_count() or column.n_unique() < table.height:
        what = f'"{person}" names somebody twice, or nobody'
        raise ColumnError(what, hint="a statistical database has one row for each person")
    names = dict(known)
    numbers = [names.setdefault(one, len(names)) for one in column.to_list()]
    return names, np.array(numbers)


def changed_people(old: pl.DataFrame, new: pl.DataFrame, person: str) -> int:
    """How many people came, went, or have another row."""
    both = pl.concat((old, new)).group_by(old.columns).len()
    return both.filter(pl.col("len") == 1).get_column(person).n_unique()
