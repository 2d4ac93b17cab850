"""How many numbers are outside of their public bounds, beside an answer: told only where it is paid for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from sfumato.core.parameters import yes_or_no
from sfumato.dp.queries.query import Draw, Law, Part, Query
from sfumato.dp.queries.several import Several
from sfumato.dp.rows import PrivateRows
from sfumato.dp.values import Public, Unit
from sfumato.errors import PolicyError


@dataclass(frozen=True)
class WithClipped(Query):
    """A query, and how many rows have a number in one of its columns that is outside of the bounds."""

    of: Query

    @property
    def where(self) -> Any:
        """The filter of the query."""
        return self.of.where

    @property
    def how(self) -> str:  # type: ignore[override]
        """How the sensitivity was found."""
        return f"{self.of.how}; and a count of rows"

    @property
    def needs_delta(self) -> bool:  # type: ignore[override]
        """As the query."""
        return self.of.needs_delta

    @property
    def columns(self) -> tuple[str, ...]:
        """Those of the query."""
        return self.of.columns

    def parts(self, public: Public, unit: Unit) -> tuple[Part, ...]:
        """Those of the query, and a count."""
        return *self.of.parts(public, unit), Part(1, unit.rows)

    def exact(self, rows: PrivateRows) -> list[np.ndarray]:
        """The rows outside of the bounds, after what the query counts."""
        return [*self.of.exact(rows), self._outside(rows)]

    def _outside(self, rows: PrivateRows) -> np.ndarray:
        found = rows.of(self.columns, self.conditions)
        numbers = [name for name in self.columns if name in rows.public.bounds]
        beyond = [
            ~found.column(name).is_between(*rows.public.bounds[name]).fill_null(value=True).to_numpy()
            for name in numbers
        ]
        return np.array([found.total(reduce(or_, beyond)) if beyond else 0])

    def run(self, rows: PrivateRows, draw: Draw) -> list[Any]:
        """The draws of the query, then the count."""
        return [*self.of.run(rows, draw), draw(self._outside(rows))]

    def answer(self, noisy: Sequence[Any], scales: Sequence[float], public: Public, law: Law) -> tuple[Any, Any]:
        """The value of the query and the count, and the interval of the value."""
        value, interval = self.of.answer(noisy[:-1], scales[:-1], public, law)
        return (value, max(int(noisy[-1][0]), 0)), interval

    def plain(self, value: Any) -> Any:
        """As the query."""
        return self.of.plain(value)

    def read(self, stored: Any) -> Any:
        """As the query."""
        return self.of.read(stored)

    def form(self, public: Public) -> dict[str, Any]:
        """That of the query, which also tells what was clipped."""
        return {**self.of.form(public), "clipped": True}


def with_clipped(query: Query, clipped: Any) -> Query:
    """A query, that also tells what was clipped where that is asked for."""
    if not yes_or_no(clipped, "clipped"):
        return query
    if isinstance(query, Several):
        raise PolicyError("clipping is reported for a single question only", hint="ask that one alone")
    return WithClipped(query)
