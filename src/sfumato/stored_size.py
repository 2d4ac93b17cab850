"""How many cells a table will have, from a sample, and the memory they take: said, or refused, before the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from sfumato.distinct import distinct_in
from sfumato.engines.printed import plain
from sfumato.errors import TooManyCells

SAMPLE = 400_000  # rows looked at
CELL = 110  # bytes that a cell takes at the peak of a run, beside those of its columns
COLUMN = 70  # bytes per cell and column at that peak
FLOOR = 600_000_000  # bytes that a run takes whatever the cells


def estimate(sample: pl.DataFrame, columns: Sequence[str], schema: Mapping[str, pl.DataType], rows: int) -> int:
    """About how many different tuples a table of so many rows has, from how often a sample has each.

    >>> table = pl.DataFrame({"a": [1, 1, 2, 3]})
    >>> estimate(table, ["a"], dict(table.schema), 16)
    5
    """
    names = list(columns)
    cells = sample.select(plain(name, schema[name]) for name in names).group_by(names).agg(pl.len().alias("n"))
    return distinct_in(cells["n"].to_numpy(), rows)


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
