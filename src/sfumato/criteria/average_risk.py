"""Average risk: K. El Emam, Guide to the de-identification of personal health information, 2013."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import Real
from sfumato.core.protocols import Monotonicity, Side
from sfumato.criteria.audit import SLACK, Finding, Groups, rounded
from sfumato.criteria.class_size_bound import TableModel
from sfumato.criteria.model import TOLERANCE


@dataclass(frozen=True)
class AverageRisk(TableModel):
    """The mean over all released records of 1/n, n the size of the record's class, is at most t.

    That mean is classes/rows: what somebody who links every record achieves (the marketer). It is a promise about the
    table as a whole: no class alone breaks it. Merging classes lowers it, and so does leaving out the smallest.

    Parameters: `t`, the largest mean risk.

    >>> AverageRisk(0.05).holds_table(np.array([10, 30])), AverageRisk(0.05).enough_size
    (True, 20)
    """

    t: Annotated[float, Real(0, 1, above=True)]

    monotonicity: ClassVar[Monotonicity] = "merge"
    bounded_by: ClassVar[str] = "t"
    side: ClassVar[Side] = "at most"

    @property
    def enough_size(self) -> int:
        """A table whose classes all have at least so many records satisfies it."""
        return max(1, math.ceil(1 / (self.t + TOLERANCE) - TOLERANCE))

    def sentence(self) -> str:
        """The promise in words."""
        return f"On average, at most {self.t * 100:g}% of guesses at a record among those that look alike are right."

    def holds_table(self, sizes: np.ndarray) -> bool:
        """Whether a table of classes of these sizes satisfies it."""
        rows = int(sizes.sum())
        return rows > 0 and len(sizes) <= (self.t + TOLERANCE) * rows

    def audit(self, groups: Groups) -> Finding:
        """What the released rows say: the mean of 1/n."""
        n = pl.col("size")
        mean = groups.sizes.select((n * (1 / n)).sum() / n.sum()).item()
        return Finding(mean <= self.t + SLACK, rounded(mean), self.t, 0)
