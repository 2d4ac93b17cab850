"""B-CASTLE: P. Wang, J. Lu, L. Zhao, J. Yang, B-CASTLE: an efficient publishing algorithm for k-anonymizing data
streams, Second WRI Global Congress on Intelligent Systems, 2010."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from sfumato.core.parameters import Whole
from sfumato.series.streams.castle import CASTLE


@dataclass(frozen=True)
class BCastle(CASTLE):
    """CASTLE with clusters of bounded size, so that rows spread evenly over them.

    A row joins no cluster that has `bound_by` times k rows already; and full clusters do not count among the `beta`
    that wait. That is our reading: of the paper no more was at hand than that it bounds clusters to spread the load.

    Parameters: `bound_by`, how many times k rows a cluster takes; the others are those of CASTLE.
    """

    bound_by: Annotated[int, Whole(1, 1000)] = 5

    def clusters(self, delay: int, k: int) -> int:
        """How many clusters there may be at once."""
        return self.beta + delay // self.bound(delay, k) + 2

    def bound(self, delay: int, k: int) -> int:
        """How many rows a cluster takes."""
        return self.bound_by * k
