"""One-pass k-means clustering, then every cluster is brought to k rows. Lin and Wei, PAIS 2008."""

from __future__ import annotations

import time
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from sfumato.core.protocols import Search
from sfumato.search.clustering.clusters import Field, check, lay_out, settled, with_rest
from sfumato.search.clustering.kernels import blocks, one_pass
from sfumato.search.problem import Problem, Solution


@dataclass(frozen=True)
class OnePassKMeans(Search):
    """Send each row to the nearest of n/k centres in one pass, then bring every cluster to k rows (CG_, heuristic).

    The centres start at n/k rows drawn at random (`seed`) and move with every row: the mean along columns with an
    order, the node above along a hierarchy. Clusters of more than k rows then give far rows to those with fewer.
    Clusters that fail other criteria join near ones until none fails. `block`: cluster within blocks of at most so many
    near rows; None is the algorithm of the paper. `labels` as for k-member.
    """

    code: ClassVar[str] = "CG_"
    guarantee: ClassVar[str] = "heuristic"
    splits: ClassVar[bool] = True
    block: int | None = None
    seed: int = 0
    labels: str = "ranges"

    def __post_init__(self) -> None:
        check("one-pass-k-means", self.labels, block=self.block, seed=self.seed)

    def __call__(self, problem: Problem) -> Solution:
        """Cluster the rows of the problem."""
        began = time.perf_counter()
        field = lay_out(problem, "one-pass-k-means", self.labels)
        of = np.full(len(field.points), -1)
        loose = np.flatnonzero(~field.whole)
        if len(loose) >= field.least:
            points = np.ascontiguousarray(field.points[loose])
            shape, table = field.space.arrays
            size = len(loose) if self.block is None else max(self.block, field.least)
            order, bounds = blocks(points, points, size, 0.0, 0, shape, table)
            rng, made, along, ruler = np.random.default_rng(self.seed), 0, *_ruler(field)
            for start, end in pairwise(bounds):
                problem.progress("clustering", start / len(loose))
                some = np.sort(order[start:end])
                clusters = len(some) // field.least
                if clusters:
                    seeds = rng.choice(len(some), clusters, replace=False)
                    of[loose[some]] = made + one_pass(points[some], seeds, field.least, along, ruler, shape, table)
                    made += clusters
        of = with_rest(field, of, None)
        return settled(field, of, began, int(of.max()) + 1)


def _ruler(field: Field) -> tuple[np.ndarray, np.ndarray]:
    """Where each column along a line has its coordinates, -1 for trees, and the coordinates: costs from its start."""
    along, parts, at = np.full(len(field.space.columns), -1), [np.zeros(1, np.float32)], 1
    for i, column in enumerate(field.space.columns):
        if column.tree is None:
            labels = column.labels(np.zeros(column.places, np.int64), np.arange(column.places))
            cost = column.loss.cost(labels)[labels.of] * column.weight
            along[i], at = at, at + column.places
            parts.append(cost.astype(np.float32))
    return along, np.concatenate(parts)
