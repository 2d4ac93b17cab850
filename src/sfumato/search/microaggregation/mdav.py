"""MDAV, maximum distance to average vector: Domingo-Ferrer and Torra, Ordinal, continuous and heterogeneous
k-anonymity through microaggregation, 2005."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sfumato.core.parameters import Whole
from sfumato.core.progress import stoppable
from sfumato.search.clustering.clusters import Field
from sfumato.search.events import (
    CentroidTaken,
    ClassClosed,
    ClassesJoined,
    Event,
    FarthestFromCentroid,
    FarthestFromRecord,
    GroupFormed,
    LabelsGiven,
    LeftoverPlaced,
    RestGrouped,
)
from sfumato.search.microaggregation.aggregated import AggregateSearch
from sfumato.search.microaggregation.groups import grouped
from sfumato.search.microaggregation.kernels import mdav
from sfumato.search.microaggregation.step import BLOCK
from sfumato.search.microaggregation.traced import mdav_steps


@dataclass(frozen=True)
class MDAV(AggregateSearch):
    """Group the rows nearest to the one farthest from the mean, and to the one farthest from that (CG_, heuristic).

    While at least 3k rows remain, the row farthest from their mean and the row farthest from that one take their k - 1
    nearest each; of 2k to 3k - 1 rows the farthest takes its nearest, and the rest is a group. Of equally far rows the
    first in sorted order counts. `block`: rows are cut at medians into blocks of at most so many near rows, which are
    grouped by themselves; by default, tables of more than 50,000 rows are.
    """

    block: Annotated[int | None, Whole(2)] = None

    @property
    def traces(self) -> tuple[type[Event], ...]:
        """The kinds of its events, where it is the algorithm of the paper."""
        if self.block is not None:
            return ()
        groups = CentroidTaken, FarthestFromCentroid, FarthestFromRecord, GroupFormed, RestGrouped
        return *groups, ClassClosed, LeftoverPlaced, ClassesJoined, LabelsGiven

    def traced_groups(self, field: Field, points: np.ndarray, x: np.ndarray) -> np.ndarray:
        """The group of some points, with each step told."""
        return mdav_steps(field.problem, points, x, field.least)

    def groups(self, x: np.ndarray, k: int) -> np.ndarray:
        """The group of each row.

        >>> MDAV().groups(np.array([[1.0], [9.0], [2.0], [8.0], [5.0], [6.0]]), 2).tolist()
        [0, 1, 0, 1, 2, 2]
        """
        return grouped(x, k, mdav_groups, self.block or BLOCK)


def mdav_groups(x: np.ndarray, k: int) -> np.ndarray:
    """The groups of sorted rows."""
    found: np.ndarray = stoppable(mdav, np.ascontiguousarray(x.T), k)
    return found
