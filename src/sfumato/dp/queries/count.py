"""Count: how many rows there are, or meet a filter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from sfumato.core.parameters import Written
from sfumato.dp.queries.query import Law, Part, Query
from sfumato.dp.rows import PrivateRows
from sfumato.dp.values import Public, Unit


@dataclass(frozen=True)
class Count(Query):
    """How many rows meet a filter."""

    where: Annotated[Any, Written("text")] = None
    how: ClassVar[str] = "a unit has at most so many rows, and each is counted once"

    @property
    def columns(self) -> tuple[str, ...]:
        """None."""
        return ()

    def parts(self, public: Public, unit: Unit) -> tuple[Part, ...]:
        """A number that one unit changes by its rows, also where another takes its place."""
        return (Part(1, unit.rows),)

    def exact(self, rows: PrivateRows) -> list[np.ndarray]:
        """The rows."""
        return [np.array([rows.of((), self.conditions).total()])]

    def answer(self, noisy: Sequence[Any], scales: Sequence[float], public: Public, law: Law) -> tuple[Any, Any]:
        """A whole number."""
        value, half = int(noisy[0][0]), law.whole(scales[0])
        return value, (value - half, value + half)
