"""Top: the most frequent of public values, all chosen at once; Durfee and Rogers, "Practical differentially private
top-k selection with pay-what-you-get composition", 2019."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from sfumato.core.parameters import Column, Whole, Written
from sfumato.dp.queries.contingency_table import ContingencyTable
from sfumato.dp.queries.query import Law, Part, Query
from sfumato.dp.rows import PrivateRows
from sfumato.dp.values import CELLS, Public, Unit
from sfumato.errors import PolicyError


@dataclass(frozen=True)
class Top(Query):
    """The k most frequent of the public values of a column, the likely most frequent first, without their counts.

    k: how many values.
    """

    column: Annotated[str, Column()]
    k: Annotated[int, Whole(1, CELLS)] = 3
    where: Annotated[Any, Written("text")] = None
    how: ClassVar[str] = (
        "the score of a value is how many rows have it, which a unit changes by its rows of one value at most, all of "
        "them one way where it comes or goes"
    )

    @property
    def columns(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    def parts(self, public: Public, unit: Unit) -> tuple[Part, ...]:
        """A choice of several."""
        values = public.values(self.column)
        if self.k > len(values):
            what = f'"{self.column}" has fewer public values than are asked for'
            raise PolicyError(what, got=f"{self.k}", allowed=f"1 to {len(values)}")
        one_way = unit.times == 1
        return (
            Part(
                len(values), 1, candidates=values, score_change=float(unit.in_group), monotonic=one_way, chosen=self.k
            ),
        )

    def exact(self, rows: PrivateRows) -> list[np.ndarray]:
        """How many rows have each value."""
        return ContingencyTable(self.column, where=self.where).exact(rows)

    def answer(self, noisy: Sequence[Any], scales: Sequence[float], public: Public, law: Law) -> tuple[Any, Any]:
        """The values; how sure their order is depends on their counts, and would cost more."""
        return list(noisy[0]), None
