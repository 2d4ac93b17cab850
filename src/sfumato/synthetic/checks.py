"""What every generator asks of a table before it learns from it."""

from __future__ import annotations

import polars as pl

from sfumato.core.printed import plain_values
from sfumato.errors import ColumnError, PolicyError

LEAST_ROWS = 50
IDENTIFYING = 0.95  # share of different values among those known that makes a category an identifier


def check_table(table: pl.DataFrame, held_out: float = 0.0) -> None:
    """Refuse a table of too few rows to learn from, a share being held out, or with categories that tell who somebody
    is.

    >>> check_table(pl.DataFrame({"name": [f"name {i}" for i in range(60)]}))
    Traceback (most recent call last):
        ...
    sfumato.errors.ColumnError: column "name" has as many values as rows: it is probably an identifier. Hint: drop it
    """
    if not table.columns:
        raise ColumnError("no column is left to make anew", hint="all columns are identifying")
    if (rows := table.height - round(held_out * table.height)) < LEAST_ROWS:
        hint = "hold out fewer" if table.height >= LEAST_ROWS else None
        what = "a model needs more rows to learn from"
        raise PolicyError(what, got=f"{rows}", allowed=f"{LEAST_ROWS} or more", hint=hint)
    if found := [column.name for column in table.iter_columns() if is_identifier(column)]:
        names = ", ".join(f'"{name}"' for name in found)
        what = f"column {names} has" if len(found) == 1 else f"columns {names} have"
        one = "it is probably an identifier" if len(found) == 1 else "they are probably identifiers"
        raise ColumnError(f"{what} as many values as rows: {one}", hint=f"drop {'it' if len(found) == 1 else 'them'}")


def is_identifier(column: pl.Series) -> bool:
    """Whether nearly every row has a category of its own; numbers and dates may well differ in all rows."""
    if not isinstance(column.dtype, pl.String | pl.Categorical):
        return False
    known = plain_values(column).drop_nulls()
    return 2 * len(known) >= len(column) >= LEAST_ROWS and known.n_unique() >= IDENTIFYING * len(known)
