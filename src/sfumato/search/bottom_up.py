"""Bottom-up local recoding by certainty penalty. Xu, Wang, Pei, Wang, Shi and Fu, KDD 2006."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.kernels.clusters import blocks, k_member
from sfumato.kernels.utility_based import merge_small
from sfumato.search.boxes import boxes
from sfumato.search.clusters import Field, check, dense, lay_out, settled, with_rest
from sfumato.search.problem import Problem, Solution


@dataclass(frozen=True)
class BottomUp:
    """Join each group that is too small to the group that makes the least box with it (CG_, heuristic).

    Every row starts as a group. In a round each group of fewer than k rows joins the group with which its penalty is
    least; groups of 2k rows and more are split into groups of at least k. Clusters that fail other criteria join near
    ones until none fails. `block`: look for partners among so many groups before and after in an order of near ones;
    None, as in the paper, among all: its time grows with the square of the rows. `labels` as for k-member.
    """

    code: ClassVar[str] = "CG_"
    guarantee: ClassVar[str] = "heuristic"
    splits: ClassVar[bool] = True
    block: int | None = None
    labels: str = "range"

    def __post_init__(self) -> None:
        check("bottom-up", self.labels, block=self.block)

    def __call__(self, problem: Problem) -> Solution:
        """Join until every group has k rows."""
        began = time.perf_counter()
        field = lay_out(problem, "bottom-up", self.labels)
        of = np.full(len(field.points), -1)
        loose = np.flatnonzero(~field.whole)
        if len(loose) >= field.least:
            of[loose] = self._joined(field, np.ascontiguousarray(field.points[loose]))
        of = with_rest(field, of, None)
        return settled(field, of, began, int(of.max()) + 1)

    def _joined(self, field: Field, points: np.ndarray) -> np.ndarray:
        """Groups of at least k points."""
        space, k = field.space.arrays, field.least
        of = np.arange(len(points))
        while True:
            size = np.bincount(of)
            if (size >= k).all():
                return of
            field.problem.progress("joining", float((size >= k).mean()))
            lo, hi = boxes(points, of)
            order, _ = blocks(lo, hi, 64, 0.0, 0, *space)
            of = dense(merge_small(lo, hi, size, order, self.block or len(size), k, *space)[of])
            of = _split(points, of, k, field)


def _split(points: np.ndarray, of: np.ndarray, k: int, field: Field) -> np.ndarray:
    """Groups of 2k points and more as groups of at least k: grown by least cost, the rest to the last of them."""
    size = np.bincount(of)
    if size.max() < 2 * k:
        return of
    order = np.argsort(of, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(size)])
    large = np.flatnonzero(size >= 2 * k)
    inside = np.concatenate([order[bounds[g] : bounds[g + 1]] for g in large])
    ends = np.concatenate([[0], np.cumsum(size[large])])
    found = np.full(len(points), -1)
    nothing = np.zeros(0, np.int64)
    k_member(points, inside, ends, 0, len(large), k, nothing, k, found, *field.space.arrays)
    last = np.maximum.reduceat(found[inside], ends[:-1])
    left = inside[found[inside] < 0]
    found[left] = last[np.searchsorted(large, of[left])]
    of = of.copy()
    of[inside] = int(of.max()) + 1 + found[inside]
    return dense(of)
