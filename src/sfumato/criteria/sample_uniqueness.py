"""Sample uniqueness: T. Dalenius, Finding a needle in a haystack, Journal of Official Statistics 2(3), 1986."""

from __future__ import annotations

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
class SampleUniqueness(TableModel):
    """At most a share t of the released records is alone in its class.

    It is a promise about the table as a whole. Merging classes lowers it, and so does leaving out records that stand
    alone.

    Parameters: `t`, the largest share of records that are alone.

    >>> SampleUniqueness(0.05).holds_table(np.array([1] + [3] * 7))
    True
    """

    t: Annotated[float, Real(0, 1)]

    monotonicity: ClassVar[Monotonicity] = "merge"
    bounded_by: ClassVar[str] = "t"
    side: ClassVar[Side] = "at most"

    @property
    def enough_size(self) -> int:
        """A table whose classes all have at least so many records satisfies it."""
        return 1 if self.t >= 1 else 2

    def sentence(self) -> str:
        """The promise in words."""
        return f"At most {self.t * 100:g}% of the records are the only ones with their quasi-identifiers."

    def holds_table(self, sizes: np.ndarray) -> bool:
        """Whether a table of classes of these sizes satisfies it."""
        rows = int(sizes.sum())
        return rows > 0 and int(np.count_nonzero(sizes == 1)) <= (self.t + TOLERANCE) * rows

    def audit(self, groups: Groups) -> Finding:
        """What the released rows say: the share of records that stand alone."""
        size = pl.col("size")
        share = groups.sizes.select(size.filter(size == 1).sum() / size.sum()).item()
        return Finding(share <= self.t + SLACK, rounded(share), self.t, 0)
