"""TFRP, two fixed reference points: Chang, Li and Huang, TFRP: an efficient microaggregation algorithm for statistical
disclosure control, 2007."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.core.progress import stoppable
from sfumato.search.microaggregation.groups import dense, grouped
from sfumato.search.microaggregation.kernels import dissolve, join_nearest, tfrp
from sfumato.search.microaggregation.step import BLOCK, Microaggregation


@dataclass(frozen=True)
class TFRP(Microaggregation):
    """Group rows from two fixed corners of the table in turn, then take groups apart whose rows lose less in others.

    The corners are the least and the greatest values of all columns; the row farthest from one takes its k - 1 nearest.
    No group has more than 2k - 1 rows.
    """

    def groups(self, x: np.ndarray, k: int) -> np.ndarray:
        """The group of each row."""
        return grouped(x, k, tfrp_groups, BLOCK)


def tfrp_groups(x: np.ndarray, k: int) -> np.ndarray:
    """The groups of sorted rows."""
    columns = np.ascontiguousarray(x.T)
    found: np.ndarray = stoppable(tfrp, columns, k)
    stoppable(join_nearest, columns, found, k)
    stoppable(dissolve, columns, found, k)
    return dense(found)
