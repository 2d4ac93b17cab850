"""Clusters: the rows of a problem as points in a space of boxes, and what every clustering search does with them."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.cells import classes_of
from sfumato.errors import PolicyError
from sfumato.kernels.clusters import blocks, k_member, pair_up, to_nearest
from sfumato.policy import holds
from sfumato.search.boxes import Space, boxes
from sfumato.search.pieces import pieces
from sfumato.search.problem import Problem, Solution, Split, by_class, check_root, judge

LABELS = ("range", "hierarchy")
REACH = 2048  # how far apart two clusters may stand, in an order of near ones, to be considered for a union


@dataclass(frozen=True, eq=False)
class Field:
    """The rows of a problem as points: single rows, or cells that are large enough to be a class of their own.

    `whole` marks those cells. `kind` is the sensitive value of each point, and no more than `cap` points of one kind
    should be in a cluster of the least size: what a criterion that wants diversity is likely to accept.
    """

    problem: Problem
    split: Split | None
    space: Space
    points: np.ndarray  # int32 [points, columns]
    whole: np.ndarray
    kind: np.ndarray
    cap: int

    @property
    def least(self) -> int:
        """No class has fewer rows."""
        return max(self.problem.policy.least_size, 1)

    @property
    def by_size(self) -> bool:
        """Whether every class with enough rows satisfies the policy."""
        return all(not c.needs and c.closed == "superset" for c in self.problem.policy.require)


def lay_out(problem: Problem, search: str, labels: str = "range") -> Field:
    """The rows of a problem as points, once it is sure that clusters can be the answer."""
    if problem.levels:
        raise PolicyError(
            "levels bound full-domain searches only",
            got=f"search {search}",
            hint='leave levels out, or use search="optimal"',
        )
    if len(problem.sets) > 1:
        raise PolicyError(
            f"{search} makes classes over one set of quasi-identifiers",
            got=f"{len(problem.sets)} sets",
            hint='give all columns as one set, or use search="optimal"',
        )
    check_root(problem)
    problem = by_class(problem)
    criteria = problem.policy.require
    by_size = all(not c.needs and c.closed == "superset" for c in criteria)
    least = max(problem.policy.least_size, 1)
    cut, split = pieces(problem, least if by_size else problem.rows + 1)
    space = Space(problem.attributes, problem.policy.loss, labels)
    whole = cut.cells.count >= least if by_size else np.zeros(len(cut.cells), np.bool_)
    kind, cap = _kinds(cut, least)
    return Field(cut, split, space, space.points(cut), whole, kind, cap)


def check(search: str, labels: Any, block: Any = None, seed: Any = 0) -> None:
    """Refuse parameters that clustering searches share, where they make no sense."""
    if labels not in LABELS:
        raise PolicyError(f"{search}: unknown labels", got=repr(labels), allowed=", ".join(LABELS))
    if block is not None and (type(block) is not int or block < 2):
        raise PolicyError(f"{search}: block must be a whole number above 1", got=repr(block))
    if type(seed) is not int or seed < 0:
        raise PolicyError(f"{search}: seed must be a whole number, 0 or more", got=repr(seed))


def with_rest(field: Field, of: np.ndarray, block: int | None) -> np.ndarray:
    """The cluster of each point: `of` where it is 0 or more, k-member clusters of the others, large cells alone."""
    shape, table = field.space.arrays
    of = of.copy()
    if (inside := of >= 0).any():  # numbers without gaps: each is the number of a box
        of[inside] = dense(of[inside])
    alone = np.flatnonzero(field.whole & (of < 0))
    of[alone] = of.max(initial=-1) + 1 + np.arange(len(alone))
    loose = np.flatnonzero(of < 0)
    if not len(loose):
        return dense(of)
    points = np.ascontiguousarray(field.points[loose])
    kind = field.kind[loose] if len(field.kind) else field.kind
    size = len(loose) if block is None else max(block, field.least)
    order, bounds = blocks(points, points, size, 0.0, 0, shape, table)
    found = np.full(len(loose), -1)
    ends = np.linspace(0, len(bounds) - 1, 1 + min(64, len(bounds) - 1)).astype(int)

    def run(i: int) -> int:
        field.problem.progress("clustering", i / len(ends))
        some = points, order, bounds, ends[i], ends[i + 1], field.least, kind, field.cap, found
        return int(k_member(*some, shape, table))

    with ThreadPoolExecutor(2) as pool:
        made = list(pool.map(run, range(len(ends) - 1)))
    group = np.empty(len(loose), np.int64)
    group[order] = np.repeat(np.arange(len(ends) - 1), np.diff(bounds[ends]))
    before = np.concatenate([[0], np.cumsum(made)])
    found[found >= 0] += before[group[found >= 0]]
    first = int(of.max(initial=-1)) + 1
    of[loose[found >= 0]] = first + found[found >= 0]
    left = loose[found < 0]
    near = before[group[found < 0]], before[group[found < 0] + 1]
    return dense(_join(field, of, left, first + np.stack(near, axis=1)))


def _join(field: Field, of: np.ndarray, left: np.ndarray, window: np.ndarray) -> np.ndarray:
    """Give the points that are left to the clusters they cost least to join: any where they are few, else near ones."""
    if not len(left):
        return of
    inside = np.flatnonzero(of >= 0)
    if not len(inside):
        return np.zeros(len(of), np.int64)
    count = field.problem.cells.count
    clusters = int(of.max()) + 1
    if len(left) * clusters < 20_000_000 or (window[:, 0] == window[:, 1]).any():
        window = np.tile([0, clusters], (len(left), 1))
    lo, hi = boxes(field.points[inside], of[inside])
    size = np.bincount(of[inside], weights=count[inside]).astype(np.int64)
    of = of.copy()
    of[left] = to_nearest(field.points, left, window, lo, hi, size, *field.space.arrays)
    return of


def mended(field: Field, of: np.ndarray) -> np.ndarray:
    """The clusters with those that fail the policy joined to near ones until none fails."""
    problem = field.problem
    while True:
        of = dense(of)
        clusters = int(of.max()) + 1
        classes = classes_of(problem.cells, of.astype(np.int32), clusters)
        failing = ~holds(problem.policy.require, classes)
        if not failing.any() or clusters == 1:
            return of
        problem.progress("joining clusters", 1 - failing.mean())
        of = unite(field, of, failing)[of]


def unite(field: Field, of: np.ndarray, failing: np.ndarray) -> np.ndarray:
    """The cluster that each becomes when the failing ones join near ones."""
    shape, table = field.space.arrays
    lo, hi = boxes(field.points, of)
    size = np.bincount(of, weights=field.problem.cells.count).astype(np.int64)
    order, _ = blocks(lo, hi, 64, 0.0, 0, shape, table)
    return np.asarray(pair_up(failing, order, REACH, lo, hi, size, shape, table))


def settled(field: Field, of: np.ndarray, began: float, checks: int, reproducible: bool = True) -> Solution:
    """The solution that clusters come to. Clusters whose labels print alike are one class, which is judged as such."""
    of = mended(field, of)
    while True:
        partition = field.space.partition(field.points, of, field.split)
        seconds = time.perf_counter() - began
        labels = [partition.labels[a.name] for a in field.problem.attributes]
        kept, verdict, _ = judge(field.problem, [(label, label.of[partition.of_cell]) for label in labels])
        if kept.all() or of.max() == 0:
            return Solution(partition, verdict, kept, False, checks, seconds, reproducible)
        failing = np.zeros(int(of.max()) + 1, np.bool_)
        failing[of[~kept]] = True
        of = dense(unite(field, of, failing)[of])


def dense(of: np.ndarray) -> np.ndarray:
    """The same clusters, numbered from 0 without gaps."""
    there = np.zeros(int(of.max()) + 1, np.bool_)
    there[of] = True
    return (np.cumsum(there) - 1)[of]


def _kinds(problem: Problem, least: int) -> tuple[np.ndarray, int]:
    """The sensitive value of each point, and how many of one value a cluster of the least size may have."""
    nothing = np.zeros(0, np.int64), least
    criteria = [c for c in problem.policy.require if c.needs]
    names = {name for c in criteria for name in c.needs}
    if len(names) != 1:
        return nothing
    cap = least
    for c in criteria:
        given = c.parameters()
        if given.get("l"):
            cap = min(cap, max(1, int(least // given["l"])))
        if given.get("alpha"):
            cap = min(cap, max(1, int(given["alpha"] * least)))
    h = problem.cells.histograms[names.pop()]
    return (h.value[h.start[:-1]].astype(np.int64), cap) if cap < least else nothing
