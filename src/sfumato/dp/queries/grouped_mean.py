"""Sums and means of a column by groups whose names are public: each row is in one group at most."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import Column, ColumnNames, Written
from sfumato.dp.queries.contingency_table import BINS, ContingencyTable
from sfumato.dp.queries.mean import Mean, centred
from sfumato.dp.queries.query import Law, Part, Query
from sfumato.dp.rows import PrivateRows
from sfumato.dp.values import Public, Unit


@dataclass(frozen=True)
class GroupedMean(Query):
    """The mean of a column in each group, with its count: groups are all combinations of public values and bins.

    A group that nobody is in is answered like any other: by a mean that is all noise, and a count near 0 that says so.
    """

    column: Annotated[str, Column()]
    by: Annotated[Any, ColumnNames()]
    bins: Annotated[Any, Written()] = BINS
    where: Annotated[Any, Written("text")] = None
    how: ClassVar[str] = (
        "in all groups together, a count of rows, and a sum of distances from the middle of the bounds: half the width "
        "of the bounds for each row, which is in one group"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        cells = ContingencyTable(self.by, self.bins, self.where)
        object.__setattr__(self, "by", cells.by)
        object.__setattr__(self, "bins", cells.bins)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column and those of the groups."""
        return tuple(dict.fromkeys((self.column, *self.by)))

    def _cells(self) -> ContingencyTable:
        return ContingencyTable(self.by, self.bins, self.where)

    def parts(self, public: Public, unit: Unit) -> tuple[Part, ...]:
        """Counts, and sums about the middle; where a unit is exchanged, two groups change."""
        [cells], grid = self._cells().parts(public, unit), centred(public, self.column)
        l2 = unit.times * math.sqrt(unit.in_groups * unit.in_group)  # one that is exchanged may be in the same group
        sums = Part(cells.width, cells.sensitivity * grid.largest, grid.step, l2=l2 * grid.largest)
        return cells, sums

    def exact(self, rows: PrivateRows) -> list[np.ndarray]:
        """The rows with a number in each group, and the sums of their distances in steps."""
        cells = self._cells()
        found = rows.of(self.columns, self.conditions, cells.places, (self.column,))
        place = np.where(found.there(self.column), cells.places(found), -1)
        size, steps = cells.size(rows.public), found.steps(self.column, centred(rows.public, self.column))
        return [found.per_cell(place, size), found.per_cell(place, size, steps)]

    def answer(self, noisy: Sequence[Any], scales: Sequence[float], public: Public, law: Law) -> tuple[Any, Any]:
        """A frame of the groups, their means and counts, with the interval of each mean."""
        alone = Mean(self.column)
        each = [alone.answer([[n], [total]], scales, public, law) for n, total in zip(*noisy, strict=True)]
        frame = (
            self._cells()
            .labelled(public)
            .with_columns(
                pl.Series("mean", [value for value, _ in each], pl.Float64),
                pl.Series("count", [int(n) for n in noisy[0]], pl.Int64),
            )
        )
        return frame, [ends for _, ends in each]
