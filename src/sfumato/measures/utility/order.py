"""Order: whether the rows of two equally long tables can stand in the same order, as far as their columns tell."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import polars as pl

from sfumato.engines.printed import printed
from sfumato.measures.utility.column import Column

MOST_CHANCE = 0.9  # groups that cover more than this of any row tell nothing
FEWEST = 4  # rows under groups


def reordered(before: pl.DataFrame, after: pl.DataFrame, columns: Callable[[], Iterable[Column]] = list) -> bool:
    """Whether rows that were not changed otherwise stand in another order, or labels do so that do not fit their rows.

    Columns that have the same values, in another order, are rows in another order where their values moved together,
    as far as all columns with the same values tell. One such column alone is swapped where any other stayed in its
    place. Without a column that has the same values, the labels of `columns` tell: those of groups, where most of them
    do not cover the value of their row beyond what chance does. A column with noise tells nothing.

    >>> table = pl.DataFrame({"age": [20, 30, 40], "sex": ["f", "m", "m"]})
    >>> reordered(table, table.reverse()), reordered(table, table.with_columns(pl.col("age").reverse()))
    (True, False)
    """
    same: list[pl.Series] = []
    others: list[pl.Series] = []
    moved = 0
    for name in (name for name in before.columns if name in after.columns):
        old, new = printed(before.get_column(name)), printed(after.get_column(name))
        if old.n_unique() < 2:
            continue
        stays = bool(old.eq_missing(new).all())
        if stays or bool(old.sort().eq_missing(new.sort()).all()):
            same.append(old.alias(str(len(same))))
            others.append(new.alias(str(len(others))))
            moved += not stays
    if not same:
        return _misfits(columns())
    if not moved or (moved == 1 and len(same) > 1):
        return False
    left, right = (pl.DataFrame(series).hash_rows(seed=0).sort() for series in (same, others))
    return bool((left == right).all()) and not (moved == 1 and _fits(columns()))


def _fit(column: Column) -> float | None:
    """Of the rows under a group, the share whose value it covers: 0 as by chance, 1 all; None where that tells nothing.

    Groups that more rows stand under than have their values are wrong in any order.
    """
    groups = (column.size > 1) & (column.size < column.values)
    under = groups[column.label]
    if under.sum() < FEWEST:
        return None
    shares = np.concatenate([[0.0], np.cumsum(column.before[column.members])])
    share = shares[column.start[1:]] - shares[column.start[:-1]]
    if (share * len(column.code) < column.count - 0.5)[groups].any():
        return None
    chance = float(share[column.label[under]].mean())
    if chance > MOST_CHANCE:
        return None
    covered = column.covered(np.arange(len(column.label)))[under].mean()
    return float((covered - chance) / (1 - chance))


def _fits(columns: Iterable[Column]) -> bool:
    return any(fit is not None and fit >= 0.5 for fit in map(_fit, columns))


def _misfits(columns: Iterable[Column]) -> bool:
    found = [fit for fit in map(_fit, columns) if fit is not None]
    return bool(found) and max(found) < 0.5
