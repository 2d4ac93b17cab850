"""Cells made small before a cluster joins them: a number for a class, and one exact number for a tuple of values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from sfumato.engines.store import LABEL, OURS

CLASS = OURS + "class"
LARGEST_KEY = 1 << 62
VALUES = 100_000  # values of a column that are worth a code


@dataclass(frozen=True, eq=False)
class Packed:
    """Cells by a number in `OURS`; it is made of the codes of the values, most significant column first."""

    cells: pl.DataFrame
    codes: dict[str, pl.DataFrame]


def numbered(cells: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Cells with a number in place of their labels, and the labels of each number.

    >>> cells, classes = numbered(pl.DataFrame({"a": [1, 2], LABEL + "a": ["x", "x"]}))
    >>> cells.columns, classes.rows()
    (['a', 'sfumato: class'], [(0, 'x')])
    """
    labels = [name for name in cells.columns if name.startswith(LABEL)]
    if not labels:
        return cells.with_columns(pl.lit(0, pl.Int32).alias(CLASS)), pl.DataFrame({CLASS: [0]}, {CLASS: pl.Int32})
    classes = cells.select(labels).unique(maintain_order=True)
    classes = classes.with_columns(pl.int_range(classes.height, dtype=pl.Int32).alias(CLASS)).select(CLASS, *labels)
    return cells.join(classes, on=labels, nulls_equal=True).drop(labels), classes


def pack(cells: pl.DataFrame, keys: Sequence[str]) -> Packed | None:
    """Cells by one number, or None where a column has many values or the number would not fit 64 bits.

    >>> pack(pl.DataFrame({"a": ["x", None], "b": [5, 5], CLASS: [0, 0]}), ["a", "b"]).cells[OURS].to_list()
    [1, 0]
    """
    codes: dict[str, pl.DataFrame] = {}
    key, domain = pl.repeat(0, cells.height, dtype=pl.Int64, eager=True), 1
    for name in keys:
        values = cells.get_column(name).unique().sort()
        domain *= len(values)
        if len(values) > VALUES or domain >= LARGEST_KEY:
            return None
        codes[name] = pl.DataFrame([values, pl.int_range(len(values), dtype=pl.Int64, eager=True).alias(OURS)])
        code = cells.select(name).join(codes[name], on=name, how="left", nulls_equal=True, maintain_order="left")
        key = key * len(values) + code.get_column(OURS)
    return Packed(pl.DataFrame([key.alias(OURS), cells.get_column(CLASS)]), codes)
