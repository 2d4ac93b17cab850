"""Query-set-size control: I. P. Fellegi, "On the question of statistical confidentiality", JASA 67, 1972; that trackers
defeat it: D. Denning, P. Denning and M. Schwartz, "The tracker", ACM TODS 4(1), 1979."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sfumato.control.controls.model import AskedSet, QueryModel
from sfumato.core.parameters import Whole


@dataclass(frozen=True)
class QuerySetSize(QueryModel):
    """Answers only where at least k people are in the query set, and at least k are not.

    k: people that are in the set, at least, and outside of it.
    """

    k: Annotated[int, Whole(1)]

    def refusal(self, asked: AskedSet) -> str | None:
        """Too few people are in the set or outside of it; which of the two is not told."""
        fine = self.k <= len(asked.members) <= len(asked.rows) - self.k
        return None if fine else f"fewer than {self.k} people are in the query set, or outside of it"

    def sentence(self) -> str:
        """What it says."""
        return f"A query set has at least {self.k} people, and so has the rest."
