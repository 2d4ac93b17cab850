"""How many cells a table will have, from a sample, and the memory they take: said, or refused, before the run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import polars as pl

from sfumato.engines.printed import plain
from sfumato.errors import TooManyCells

SAMPLE = 400_000  # rows looked at
CELL = 110  # bytes that a cell takes at the peak of a run, beside those of its columns
COLUMN = 70  # bytes per cell and column at that peak
FLOOR = 600_000_000  # bytes that a run takes whatever the cells


def estimate(sample: pl.DataFrame, columns: Sequence[str], schema: Mapping[str, pl.DataType], rows: int) -> int:
    """About how many different tuples a table of so many rows has, from how often a sample has each.

    The larger of two estimates, neither of which is below the other on every table: tuples that the sample has once
    stand for the square root of rows per sampled row (Charikar); and all tuples alike (Chao), of which so many rows
    meet a share.

    >>> table = pl.DataFrame({"a": [1, 1, 2, 3]})
    >>> estimate(table, ["a"], dict(table.schema), 16)
    5

    References
    ----------
    Charikar, Chaudhuri, Motwani and Narasayya, "Towards estimation error guarantees for distinct values", PODS 2000.
    Chao, "Nonparametric estimation of the number of classes in a population", Scand. J. Statistics 11, 1984.
    """
    names = list(columns)
    cells = sample.select(plain(name, schema[name]) for name in names).group_by(names).agg(pl.len().alias("n"))
    once, twice = (int((cells["n"] == n).sum()) for n in (1, 2))
    spread = cells.height - once + math.sqrt(max(1.0, rows / max(1, sample.height))) * once
    every = cells.height + once * (once - 1) / (2 * (twice + 1))
    alike = every * -math.expm1(-rows / every) if every else 0.0
    return min(rows, max(cells.height, round(max(spread, alike))))


def memory(cells: int, columns: int) -> int:
    """About how many bytes a run with so many cells takes at its peak."""
    return FLOOR + cells * (CELL + COLUMN * columns)


def refuse_size(sample: pl.DataFrame, columns: Sequence[str], cells: int, most: int) -> None:
    """Raise TooManyCells with advice where the estimated cells are too many."""
    if cells > most:
        values = {name: sample.get_column(name).n_unique() for name in columns}
        worst = sorted(columns, key=values.__getitem__, reverse=True)[:2]
        named = " and ".join(f'"{name}" ({values[name]:,} in a sample of {sample.height:,} rows)' for name in worst)
        raise TooManyCells(
            "the columns have too many different combinations of values to be held in memory",
            got=f"about {cells:,}, which take {gigabytes(memory(cells, len(columns)))}",
            allowed=f"max_cells={most:,}",
            hint=f"coarsen or leave out the columns with the most values, {named}, or allow more max_cells",
        )


def gigabytes(size: int) -> str:
    """Bytes for people."""
    return f"{size / 1e9:.1f} GB"
