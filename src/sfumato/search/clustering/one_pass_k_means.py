"""One-pass k-means clustering, then every cluster is brought to k rows. Lin and Wei, PAIS 2008."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sfumato.search.clustering.clusters import ClusterSearch, Field
from sfumato.search.clustering.kernels import blocks, one_pass


@dataclass(frozen=True)
class OnePassKMeans(ClusterSearch):
    """Send each row to the nearest of n/k centres in one pass, then bring every cluster to k rows (CG_, heuristic).

    The centres start at n/k rows drawn at random (`seed`) and move with every row: the mean along columns with an
    order, the node above along a hierarchy. Clusters of more than k rows then give far rows to those with fewer.
    Clusters that fail other criteria join near ones until none fails. `block`: cluster within blocks of at most so many
    near rows; None is the algorithm of the paper. `labels` as for k-member.
    """

    block: int | None = None
    seed: int = 0
    labels: str = "given"

    def clusters(self, field: Field, points: np.ndarray) -> np.ndarray:
        """Centres and their rows, block by block."""
        shape, table = field.space.arrays
        size = len(points) if self.block is None else max(self.block, field.least)
        order, bounds = blocks(points, points, size, 0.0, 0, shape, table)
        of, made = np.full(len(points), -1), 0
        rng, along, ruler = np.random.default_rng(self.seed), *_ruler(field)
        for start, end in pairwise(bounds):
            field.problem.progress("clustering", start / len(points))
            some = np.sort(order[start:end])
            clusters = len(some) // field.least
            if clusters:
                seeds = rng.choice(len(some), clusters, replace=False)
                of[some] = made + one_pass(points[some], seeds, field.least, along, ruler, shape, table)
                made += clusters
        return of


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
