"""k-member clustering: clusters grow by the row that costs least. Byun, Kamra, Bertino and Li, DASFAA 2007."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.core.protocols import Search
from sfumato.search.clustering.clusters import check, lay_out, settled, with_rest
from sfumato.search.problem import Problem, Solution


@dataclass(frozen=True)
class KMember(Search):
    """Grow clusters of k rows from far seeds by the row that adds least to the loss (CG_, heuristic).

    A cluster starts with the row farthest from the last one taken, and takes the row that costs least until it has k
    rows; fewer than k rows that are left join the cluster they cost least. k equal rows are a cluster at once. Clusters
    that fail other criteria join near ones until none fails. `block`: cluster within blocks of at most so many near
    rows, which makes the time grow with the rows instead of their square; None is the algorithm of the paper.
    `labels`: "ranges" prints columns with an order as such, "hierarchy" as labels of their hierarchy.
    """

    code: ClassVar[str] = "CG_"
    guarantee: ClassVar[str] = "heuristic"
    splits: ClassVar[bool] = True
    block: int | None = None
    labels: str = "ranges"

    def __post_init__(self) -> None:
        check("k-member", self.labels, block=self.block)

    def __call__(self, problem: Problem) -> Solution:
        """Cluster the rows of the problem."""
        began = time.perf_counter()
        field = lay_out(problem, "k-member", self.labels)
        of = with_rest(field, np.full(len(field.points), -1), self.block)
        return settled(field, of, began, int(of.max()) + 1)
