"""One-pass k-means clustering, then every cluster is brought to k rows. Lin and Wei, PAIS 2008."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from sfumato.core.compiled import inner, kernel
from sfumato.core.parameters import OneOf, Whole
from sfumato.core.progress import stoppable
from sfumato.search.clustering.clusters import ClusterSearch, Field
from sfumato.search.clustering.kernels import blocks, side
from sfumato.search.problem import LABELS


@inner
def away(
    c: int,
    points: Any,
    i: int,
    mean: Any,
    lo: Any,
    hi: Any,
    along: Any,
    ruler: Any,
    enough: Any,
    shape: Any,
    table: Any,
) -> Any:
    """How far a point is from the centre of cluster c: from its mean along a line, from its node along a tree."""
    far = np.float32(0.0)
    for a in range(points.shape[1]):
        if along[a] >= 0:
            far += abs(ruler[along[a] + points[i, a]] - mean[c, a])
        else:
            far += side(a, lo[c, a], hi[c, a], points[i, a], points[i, a], shape, table)
        if far >= enough:
            break
    return far


@inner
def settle(c: int, points: Any, i: int, size: Any, mean: Any, lo: Any, hi: Any, along: Any, ruler: Any) -> None:
    """Put a point into cluster c and move its centre."""
    size[c] += 1
    for a in range(points.shape[1]):
        if along[a] >= 0:
            mean[c, a] += (ruler[along[a] + points[i, a]] - mean[c, a]) / np.float32(size[c])
        lo[c, a] = min(lo[c, a], points[i, a])
        hi[c, a] = max(hi[c, a], points[i, a])


@kernel
def one_pass(
    points: np.ndarray,
    seeds: np.ndarray,
    k: int,
    along: np.ndarray,
    ruler: np.ndarray,
    shape: np.ndarray,
    table: np.ndarray,
    stop: np.ndarray,
) -> np.ndarray:
    """The cluster of each point: the nearest centre in one pass; then clusters above k give far points away.

    along[a] is where column a has its coordinates in `ruler`, -1 for a tree.
    """
    n, d = points.shape
    clusters = len(seeds)
    size = np.zeros(clusters, np.int64)
    mean = np.zeros((clusters, d), np.float32)
    lo = np.empty((clusters, d), np.int32)
    hi = np.empty((clusters, d), np.int32)
    of = np.full(n, -1)
    for c in range(clusters):
        lo[c] = points[seeds[c]]
        hi[c] = points[seeds[c]]
        of[seeds[c]] = c
        settle(c, points, seeds[c], size, mean, lo, hi, along, ruler)
    for i in range(n):
        if of[i] >= 0:
            continue
        if stop[0]:
            return of
        near = np.float32(np.inf)
        best = 0
        for c in range(clusters):
            far = away(c, points, i, mean, lo, hi, along, ruler, near, shape, table)
            if far < near:
                near = far
                best = c
        of[i] = best
        settle(best, points, i, size, mean, lo, hi, along, ruler)
    # the points beyond k of a cluster, the farthest from its centre first, are loose
    far = np.empty(n, np.float32)
    for i in range(n):
        far[i] = away(of[i], points, i, mean, lo, hi, along, ruler, np.float32(np.inf), shape, table)
    loose = []
    for i in np.argsort(-far, kind="mergesort"):
        if size[of[i]] > k:
            size[of[i]] -= 1
            of[i] = -1
            loose.append(i)
    for c in range(clusters):
        lo[c] = points[seeds[c]]
        hi[c] = points[seeds[c]]
        mean[c] = 0.0
        size[c] = 0
    for c in range(clusters):
        if of[seeds[c]] == c:
            continue
        lo[c] = 2147483647
        hi[c] = -1
    for i in range(n):
        if of[i] >= 0:
            settle(of[i], points, i, size, mean, lo, hi, along, ruler)
    small = np.int64(0)
    for c in range(clusters):
        small += size[c] < k
    for i in loose:
        if stop[0]:
            return of
        near = np.float32(np.inf)
        best = -1
        for c in range(clusters):
            if small > 0 and size[c] >= k:
                continue
            far_off = away(c, points, i, mean, lo, hi, along, ruler, near, shape, table)
            if far_off < near or best < 0:
                near = far_off
                best = c
        of[i] = best
        if size[best] == k - 1:
            small -= 1
        settle(best, points, i, size, mean, lo, hi, along, ruler)
    return of


@dataclass(frozen=True)
class OnePassKMeans(ClusterSearch):
    """Send each row to the nearest of n/k centres in one pass, then bring every cluster to k rows (CG_, heuristic).

    The centres start at n/k rows drawn at random (`seed`) and move with every row: the mean along columns with an
    order, the node above along a hierarchy. Clusters of more than k rows then give far rows to those with fewer.
    Clusters that fail other criteria join near ones until none fails. `block`: cluster within blocks of at most so many
    near rows; None is the algorithm of the paper. `labels` as for k-member.
    """

    block: Annotated[int | None, Whole(2)] = None
    seed: Annotated[int, Whole(0)] = 0
    labels: Annotated[str, OneOf(LABELS)] = "given"

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
                of[some] = made + stoppable(one_pass, points[some], seeds, field.least, along, ruler, shape, table)
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
