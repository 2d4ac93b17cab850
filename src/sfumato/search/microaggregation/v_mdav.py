"""V-MDAV, MDAV with groups of several sizes: Solanas and Martinez-Balleste, V-MDAV: a multivariate microaggregation
with variable group size, 2006."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from sfumato.core.parameters import Real
from sfumato.core.progress import stoppable
from sfumato.search.microaggregation.groups import grouped
from sfumato.search.microaggregation.kernels import join_nearest, v_mdav
from sfumato.search.microaggregation.step import BLOCK, Microaggregation


@dataclass(frozen=True)
class VMDAV(Microaggregation):
    """Group rows around the one farthest from the mean, and take further rows in that are near: k to 2k - 1 rows.

    A row joins a group where its distance to it is below `gamma` times its distance to the nearest row that is not in a
    group: about 0.2 for evenly spread rows, 1.1 for clusters.

    gamma: how near a row must be to join, as a share of its distance to others.
    """

    gamma: Annotated[Any, Real()] = 0.2

    def groups(self, x: np.ndarray, k: int) -> np.ndarray:
        """The group of each row."""

        def make(part: np.ndarray, k: int) -> np.ndarray:
            columns = np.ascontiguousarray(part.T)
            found: np.ndarray = stoppable(v_mdav, columns, k, float(self.gamma))
            stoppable(join_nearest, columns, found, k)
            return found

        return grouped(x, k, make, BLOCK)
