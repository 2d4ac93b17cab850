"""A table that was counted elsewhere: every cell with its value, and what is known of its contributors."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import polars as pl

from sfumato.core import parameters
from sfumato.core.wording import count
from sfumato.criteria.cells.published import PublishedCells, TableDimension, infer_dimensions
from sfumato.errors import ColumnError, PolicyError
from sfumato.tables.values import STATUS, VALUE, Dimension, StatTable, check_size

CONTRIBUTORS = "contributors"
LARGEST = re.compile(r"^largest_([1-9][0-9]?)$")


def is_number(name: str) -> bool:
    """Whether a column of a table that was counted elsewhere has numbers beside its values."""
    return name == CONTRIBUTORS or LARGEST.match(name) is not None


def columns_of(frame: pl.DataFrame, by: Sequence[str] | None) -> list[str]:
    """The columns that a table is counted by: those that are named, or all but its numbers."""
    if by is not None:
        names = list(parameters.column_set(by, "by"))
        parameters.known_columns(names, frame.columns)
        return names
    return [name for name in frame.columns if name not in (VALUE, STATUS) and not is_number(name)]


def given_table(frame: pl.DataFrame, by: Sequence[str] | None, edges: Mapping[str, Mapping[str, str]]) -> StatTable:
    """The table that a frame has, a row for each cell."""
    if VALUE not in frame.columns:
        raise ColumnError(f'a table has its numbers in a column "{VALUE}"', got=", ".join(frame.columns))
    columns = columns_of(frame, by)
    dimensions = infer_dimensions(frame, columns, edges)
    value = frame.get_column(VALUE).cast(pl.Float64, strict=False)
    if lost := value.null_count():
        raise PolicyError(
            f"{count(lost, 'cell')} {'has' if lost == 1 else 'have'} no number",
            got=f"the first in row {value.is_null().arg_max() + 1} of the table",  # type: ignore[operator]
            hint="a table is protected before cells are hidden; sfumato tables audit reads it after",
        )
    numbers = value.to_numpy()
    natural = bool((numbers >= 0).all() and (numbers == np.rint(numbers)).all())
    cells = PublishedCells.of(frame, dimensions, whole=natural)
    if faults := cells.additivity_faults():
        raise PolicyError(
            off_totals(len(faults)),
            got=f'the first along "{faults[0].dimension}", in row {(faults[0].row or 0) + 1} of the table',
            hint="name the hierarchies of columns with subtotals",
        )
    made = tuple(dimension_of_labels(one) for one in dimensions)
    check_size(made)
    assert cells.rows is not None
    row, shape = cells.rows.ravel(), cells.values.shape

    people, largest = contributions(frame, row, shape)
    if people is None and (numbers == np.rint(numbers)).all() and (numbers < 0).any():
        raise PolicyError(
            "a count is negative", got=f"the first in row {int((numbers < 0).argmax()) + 1} of the table",
            hint=f'of sums, a column "{CONTRIBUTORS}" says how many each cell has',
        )  # fmt: skip
    if people is None and not natural:
        raise ColumnError(f'a table of sums needs a column "{CONTRIBUTORS}"', hint="how many each cell has")
    counts = (cells.values if people is None else people).astype(np.int64)
    return StatTable(
        made, None if natural else VALUE, counts, cells.values, counts, largest,
        np.abs(cells.values), decimals=_decimals(numbers), negative=bool((numbers < 0).any()),
    )  # fmt: skip


def contributions(frame: pl.DataFrame, row: np.ndarray, shape: tuple[int, ...]) -> tuple[np.ndarray | None, np.ndarray]:
    """How many contributors each cell has, where the frame says so, and its largest contributions, as far as it does.

    `row`: of each cell in the frame.
    """

    def column(name: str) -> np.ndarray:
        found = frame.get_column(name).cast(pl.Float64, strict=False)
        if found.null_count() or (found < 0).any():
            raise ColumnError(f'"{name}" needs a number of 0 and more for each cell')
        return found.to_numpy()[row].reshape(shape)

    top = sorted((name for name in frame.columns if LARGEST.match(name)), key=lambda name: int(name[8:]))
    for one, other in pairwise(top):
        if (above := frame.get_column(other).cast(pl.Float64) > frame.get_column(one).cast(pl.Float64)).any():
            raise ColumnError(f'"{other}" is larger than "{one}"',
                              got=f"the first in row {above.arg_max() + 1} of the table")  # type: ignore[operator]  # fmt: skip
    largest = np.stack([column(name) for name in top], -1) if top else np.zeros((*shape, 0))
    return column(CONTRIBUTORS) if CONTRIBUTORS in frame.columns else None, largest


def off_totals(many: int) -> str:
    """What is said of totals that do not add up."""
    return "a total is not the sum of its parts" if many == 1 else f"{many:,} totals are not the sums of their parts"


def _decimals(numbers: np.ndarray) -> int:
    """How many digits after the point the numbers have."""
    return next((d for d in range(7) if np.allclose(numbers, np.round(numbers, d), rtol=1e-12, atol=1e-9)), 6)


def dimension_of_labels(one: TableDimension) -> Dimension:
    """A dimension of ours from one that was read."""
    parent = np.array(one.parent, np.int32)
    leaves = np.setdiff1d(np.arange(len(parent)), parent).astype(np.int32)
    return Dimension(one.name, one.labels, parent, leaves[None, :])
