"""The rows that queries look at: counted by an engine, filtered, and cut to what one person may contribute."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from sfumato.core.conditions import Condition, expression
from sfumato.core.printed import printed
from sfumato.dp.values import Public, Unit
from sfumato.engines.protocol import COUNT, Engine, Progress


@dataclass(frozen=True, eq=False, repr=False)
class PrivateRows:
    """A table that only queries see. In memory its rows are taken as they are, elsewhere the engine counts them."""

    engine: Engine
    public: Public
    unit: Unit
    max_cells: int
    report_progress: Progress

    def of(self, columns: Sequence[str], where: Sequence[Condition]) -> tuple[pl.DataFrame, np.ndarray]:
        """The columns of all rows that meet the conditions, numbers as such, and how often each counts.

        Of a person at most so many rows count, the first by their own values: no other person has a say in that. The
        filter comes first, so that a row that nobody asked for takes no place.
        """
        names = list(dict.fromkeys([*columns, *(one.column for one in where)]))
        person = self.unit.person
        asked = list(dict.fromkeys([*names, *([] if person is None else [person])]))
        frame = self._rows(asked or [next(iter(self.public.schema))])
        kept = frame.filter(self.expression(where)) if where else frame
        times = (
            kept.get_column(COUNT).cast(pl.Int64).to_numpy()
            if COUNT in kept.columns
            else np.ones(kept.height, np.int64)
        )
        if person is not None:
            kept, times = self._cut(kept, times, names, person)
        return kept.select(columns), times

    def _cut(
        self, rows: pl.DataFrame, times: np.ndarray, names: Sequence[str], person: str
    ) -> tuple[pl.DataFrame, np.ndarray]:
        """At most so many rows of each person."""
        order = rows.with_row_index("at").sort([person, *names], nulls_last=True, maintain_order=True)["at"].to_numpy()
        rows, times = rows[order], times[order]
        who = printed(rows.get_column(person)).rle_id().to_numpy()
        upto = np.cumsum(times)
        first = np.flatnonzero(np.diff(who, prepend=-1)) if len(who) else np.zeros(0, np.int64)
        before = (upto - times)[first][who] if len(who) else upto
        left = np.clip(self.unit.rows - (upto - times - before), 0, times)
        return rows.filter(pl.Series(left > 0, dtype=pl.Boolean)), left[left > 0]

    def expression(self, where: Sequence[Condition]) -> pl.Expr:
        """Conditions on the public types of the columns; those that make no sense are refused."""
        numbers = dict.fromkeys(self.public.bounds, pl.Float64())
        return expression(where, {**self.public.schema, **numbers})

    def _rows(self, columns: Sequence[str]) -> pl.DataFrame:
        if self.engine.in_memory:
            frame = self.engine.sample(self.engine.rows()).select(columns)
        else:
            frame = self.engine.count(columns, self.report_progress, self.max_cells)
        return frame.with_columns(
            pl.col(name).cast(pl.Float64, strict=False).fill_nan(None) for name in columns if name in self.public.bounds
        )
