"""The best groups along an order of the rows: Hansen and Mukherjee, A polynomial algorithm for optimal univariate
microaggregation, 2003; of several columns Domingo-Ferrer et al., Efficient multivariate data-oriented microaggregation,
2006."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sfumato.core.parameters import OneOf, YesNo
from sfumato.core.progress import stoppable
from sfumato.search.microaggregation.groups import grouped, means
from sfumato.search.microaggregation.kernels import chained, mdav, path_groups
from sfumato.search.microaggregation.step import BLOCK, Microaggregation

ORDERS = ("nearest", "mdav", "component", "z-scores")


@dataclass(frozen=True)
class MHM(Microaggregation):
    """Put the rows in an order and cut it into the groups of k to 2k - 1 rows that lose least; optimal for one column.

    `order`: "nearest", from the row farthest from the mean to the nearest that is left, and so on; "mdav", group by
    group of MDAV, the nearest next; "component", along the first principal component; "z-scores", by the sum of the
    standardised columns. `fixed`: groups of k rows, the last of up to 2k - 1, in place of the best.
    """

    order: Annotated[str, OneOf(ORDERS)] = "nearest"
    fixed: Annotated[bool, YesNo()] = False

    def groups(self, x: np.ndarray, k: int) -> np.ndarray:
        """The group of each row.

        >>> x = np.array([[1.0], [2], [3], [10], [11], [12], [13], [30], [31], [33]])
        >>> MHM().groups(x, 3).tolist(), MHM().groups(x, 2).tolist()
        ([2, 2, 2, 1, 1, 1, 1, 0, 0, 0], [3, 3, 3, 2, 2, 1, 1, 0, 0, 0])
        """
        if x.shape[1] == 1:
            return self._cut(x, np.argsort(x[:, 0], kind="stable"), k)
        if self.order in ("component", "z-scores"):
            z = x - x.mean(axis=0)
            axis = np.linalg.eigh(z.T @ z)[1][:, -1] if self.order == "component" else np.ones(x.shape[1])
            axis = axis * np.sign(axis[np.argmax(np.abs(axis))])  # a library may give either
            return grouped(x, k, lambda rows, k: self._cut(rows, np.argsort(rows @ axis, kind="stable"), k))
        return grouped(x, k, lambda rows, k: self._cut(rows, self._path(rows, k), k), BLOCK)

    def _path(self, x: np.ndarray, k: int) -> np.ndarray:
        """The rows in order."""
        points, of = x, np.arange(len(x))
        if self.order == "mdav":
            of = stoppable(mdav, np.ascontiguousarray(x.T), k)
            points = means(x, of)
        far = ((points - points.mean(axis=0)) ** 2).sum(axis=1)
        order: np.ndarray = stoppable(chained, np.ascontiguousarray(points), int(np.argmax(far)))
        if self.order == "nearest":
            return order
        place = np.empty(len(order), np.int64)
        place[order] = np.arange(len(order))
        before, after = (points[order[np.clip(place + by, 0, len(order) - 1)]] for by in (-1, 1))
        along = ((x - before[of]) * (after - before)[of]).sum(axis=1)  # within a group, towards the next one
        return np.lexsort((along, place[of]))

    def _cut(self, x: np.ndarray, order: np.ndarray, k: int) -> np.ndarray:
        """The groups along an order."""
        if len(x) < 2 * k:
            return np.zeros(len(x), np.int64)
        if not self.fixed:
            found: np.ndarray = path_groups(np.ascontiguousarray(x), order, k)
            return found
        groups = np.empty(len(x), np.int64)
        groups[order] = np.minimum(np.arange(len(x)) // k, len(x) // k - 1)
        return groups
