"""Query-set-overlap control: D. Dobkin, A. Jones and R. Lipton, "Secure databases: protection against user influence",
ACM TODS 4(1), 1979."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

import numpy as np

from sfumato.control.controls.model import AskedSet, Auditor, QueryModel, Setting
from sfumato.core.parameters import Whole
from sfumato.core.wording import count


@dataclass(frozen=True)
class QuerySetOverlap(QueryModel):
    """Answers only where the query set shares few people with each set that was answered before.

    most: people that two answered sets share, at most. A set that was answered is answered again, whatever is asked.
    """

    most: Annotated[int, Whole(0)]

    def start(self, setting: Setting) -> Overlaps:
        """Nothing was answered."""
        return Overlaps(self.most)

    def sentence(self) -> str:
        """What it says."""
        return f"Two query sets share at most {_people(self.most)}."


@dataclass(eq=False)
class Overlaps(Auditor):
    """The sets that were answered: their members, and who of them is in which."""

    most: int
    sizes: list[int] = field(default_factory=list)
    sets: list[np.ndarray] = field(default_factory=list)  # sorted numbers of people

    def refusal(self, asked: AskedSet) -> str | None:
        """The set shares too many people with an answered one."""
        own = len(asked.members)
        for members, size in zip(self.sets, self.sizes, strict=True):
            shared = int(np.count_nonzero(asked.inside[members]))
            if shared > self.most and not shared == size == own:
                return f"the query set shares more than {_people(self.most)} with one that was answered"
        return None

    def record(self, asked: AskedSet, answer: float) -> None:
        """The set was answered."""
        self.sets.append(np.sort(asked.members))
        self.sizes.append(len(asked.members))


def _people(number: int) -> str:
    return count(number, "person", "people")
