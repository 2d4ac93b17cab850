"""A Solution over counted tuples as a Plan: frames of values and labels that any engine can join."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from sfumato.engines.store import LABEL, Plan
from sfumato.microdata import Microdata
from sfumato.recode import recode
from sfumato.search.problem import Partition, Solution


def plan_of(
    counted: pl.DataFrame,
    micro: Microdata,
    solution: Solution,
    of_entry: np.ndarray,
    columns: tuple[str, ...],
    keys: Sequence[str],
    released: Sequence[str],
) -> Plan:
    """What becomes of each value or tuple: `recode` on the counted tuples, as if each were a row.

    `columns` are blurred, `released` are all that are released, and `keys` tell the cells apart.
    """
    names = list(keys)
    entries, labels = recode(counted, micro, solution, of_entry, columns)
    stay = counted.select(list(dict.fromkeys((*names, *columns))))
    if len(entries) < counted.height:
        stay = stay[entries]
    same = tuple(name for name in columns if _same(stay.get_column(name), labels[name]))
    changed = [name for name in columns if name not in same]
    if isinstance(solution.recoding, Partition):
        beside = [_compact(labels[name]).alias(LABEL + name) for name in changed]
        cells = stay.select(names).with_columns(beside)
        if tuple(names) != tuple(counted.columns[: len(names)]) or counted.width > len(names) + 1:
            cells = cells.unique(names)  # counted by more columns than the keys
        return Plan(tuple(released), tuple(names), same, {}, cells)
    maps = {}
    for name in changed:
        pairs = pl.DataFrame([stay.get_column(name), labels[name].alias(LABEL + name)]).unique()
        rest = counted.select(name).unique().join(pairs, on=name, how="anti", nulls_equal=True)
        maps[name] = pl.concat([pairs, rest.with_columns(pl.lit(None, pl.String).alias(LABEL + name))])
    gone = counted.select(names)[np.flatnonzero(~solution.kept[of_entry])].unique()
    return Plan(tuple(released), tuple(names), same, maps, None, gone if gone.height else None)


def _same(values: pl.Series, labels: pl.Series) -> bool:
    """Whether a column was not blurred."""
    return values.dtype == labels.dtype and bool(values.eq_missing(labels).all())


def _compact(labels: pl.Series) -> pl.Series:
    """Labels as numbers of texts: a quarter of the memory."""
    return labels.cast(pl.Enum(labels.drop_nulls().unique().sort()))
