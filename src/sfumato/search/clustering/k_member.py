"""k-member clustering: clusters grow by the row that costs least. Byun, Kamra, Bertino and Li, DASFAA 2007."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sfumato.core.parameters import OneOf, Whole
from sfumato.search.clustering.clusters import ClusterSearch, Field, with_rest
from sfumato.search.events import (
    ClassClosed,
    ClassesJoined,
    Event,
    LabelsGiven,
    LeftoverPlaced,
    RecordAdded,
    SeedChosen,
)
from sfumato.search.problem import LABELS


@dataclass(frozen=True)
class KMember(ClusterSearch):
    """Grow clusters of k rows from far seeds by the row that adds least to the loss (CG_, heuristic).

    A cluster starts with the row farthest from the last one taken, and takes the row that costs least until it has k
    rows; fewer than k rows that are left join the cluster they cost least. k equal rows are a cluster at once. Clusters
    that fail other criteria join near ones until none fails. `block`: cluster within blocks of at most so many near
    rows, which makes the time grow with the rows instead of their square; None is the algorithm of the paper.
    """

    block: Annotated[int | None, Whole(2)] = None
    labels: Annotated[str, OneOf(LABELS)] = "given"

    @property
    def traces(self) -> tuple[type[Event], ...]:
        """The kinds of its events, where it is the algorithm of the paper."""
        if self.block is not None:
            return ()
        return SeedChosen, RecordAdded, ClassClosed, LeftoverPlaced, ClassesJoined, LabelsGiven

    def rest(self, field: Field, of: np.ndarray) -> np.ndarray:
        """All of them, block by block."""
        return with_rest(field, of, self.block)
