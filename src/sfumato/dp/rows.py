"""The rows that queries look at: filtered, and cut to what one person may contribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from sfumato.core.conditions import Condition, expression
from sfumato.core.printed import plain_values, printed
from sfumato.dp.values import Public, Unit


@dataclass(frozen=True, eq=False, repr=False)
class PrivateRows:
    """A table that only queries see."""

    frame: pl.DataFrame
    public: Public
    unit: Unit
    _plain: dict[str, pl.Series] = field(default_factory=dict)

    def nobody(self) -> PrivateRows:
        """The same columns without a row: what cannot be asked of these cannot be asked of any."""
        return replace(self, frame=self.frame.clear(), _plain={})

    def of(self, columns: Sequence[str], where: Sequence[Condition]) -> tuple[pl.DataFrame, np.ndarray]:
        """The columns of all rows that meet the conditions, numbers as such, and how often each counts.

        Of a person at most so many rows count, the first by their own values: no other person has a say in that. The
        filter comes first, so that a row that nobody asked for takes no place.
        """
        names = list(dict.fromkeys([*columns, *(one.column for one in where)]))
        frame = pl.DataFrame([self._column(name) for name in names])
        kept = np.arange(self.frame.height)
        if where:
            kept = np.flatnonzero(frame.select(self.expression(where)).to_series().to_numpy())
        if self.unit.person is not None:
            kept = self._cut(frame, kept, self.unit.person)
        found = frame.select(columns)
        return found[kept] if columns else found, np.ones(len(kept), np.int64)

    def _cut(self, frame: pl.DataFrame, kept: np.ndarray, person: str) -> np.ndarray:
        """At most so many rows of each person, in the order of their values."""
        who = printed(self.frame.get_column(person)).rank("dense").to_numpy()[kept]
        known = (c if c.dtype.is_numeric() or c.dtype.is_temporal() else printed(c) for c in frame.iter_columns())
        keys = [column.rank("dense").fill_null(0).to_numpy()[kept] for column in known]
        order = np.lexsort((*reversed(keys), who))
        first = np.flatnonzero(np.diff(who[order], prepend=-1))
        place = np.arange(len(order)) - np.repeat(first, np.diff(np.append(first, len(order))))
        return np.sort(kept[order[place < self.unit.rows]])

    def expression(self, where: Sequence[Condition]) -> pl.Expr:
        """Conditions on the public types of the columns; those that make no sense are refused."""
        numbers = dict.fromkeys(self.public.bounds, pl.Float64())
        return expression(where, {**self.public.schema, **numbers})

    def _column(self, name: str) -> pl.Series:
        """A column with one kind of missing value; of those with bounds, numbers."""
        if name not in self._plain:
            column = plain_values(self.frame.get_column(name))
            if name in self.public.bounds:
                column = column.cast(pl.Float64, strict=False).fill_nan(None)
            self._plain[name] = column
        return self._plain[name]
