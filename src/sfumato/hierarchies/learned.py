"""Learned hierarchy: groups made from the data where no hierarchy is given."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.categories import Categories
from sfumato.errors import PolicyError
from sfumato.hierarchies.intervals import between
from sfumato.hierarchies.order import group_label
from sfumato.hierarchies.scales import Scale, boundary, scale_of
from sfumato.hierarchy import Groups, Hierarchy, grow, leaves_of

STEPS = 4  # levels between values and root where there are values enough: six levels in all

Cuts = dict[int, Any]  # first rank of a group -> the cut before it


@dataclass(frozen=True)
class Learned:
    """Nested quantiles for ordered columns, groups of even frequency for the others."""

    groups: int = 256

    def __post_init__(self) -> None:
        if isinstance(self.groups, bool) or not isinstance(self.groups, int) or self.groups < 2:
            raise PolicyError("groups of learned must be an integer of at least 2", got=repr(self.groups))

    def build(self, categories: Categories) -> Hierarchy:
        """Up to four levels between values and root, from coarse to fine, each splitting the groups above it."""
        leaves = leaves_of(categories)
        scale = scale_of(categories, leaves)
        order = np.arange(len(leaves)) if scale is None else np.asarray(scale.order, dtype=np.int64)
        weight = np.concatenate([[0.0], np.cumsum(np.maximum(categories.count[: len(leaves)][order], 1.0))])
        most = min(self.groups, (len(leaves) + 1) // 2)
        cuts: Cuts = {}
        levels: list[Groups] = []
        for goal in sorted({round(most ** (step / STEPS)) for step in range(1, STEPS + 1)}):
            finer = _split(cuts, goal, weight, scale)
            if len(finer) > len(cuts):
                levels.append(_groups(leaves, order, finer, scale))
            cuts = finer
        return grow(categories.name, leaves, levels[::-1], learned=True)

    def describe(self) -> str:
        """A few words for the manifest."""
        return "learned" if self.groups == 256 else f"learned, {self.groups} groups"


def learned(groups: int = 256) -> Learned:
    """A hierarchy made from the data: nested quantiles for numbers and dates, groups of even frequency for categories.

    At most `groups` groups at the first level, and about six levels in all. Cuts of numbers and dates fall on round
    numbers near the quantiles, the end intervals are open: `< 23`, `[23, 31)`, `>= 67`. Categories that follow each
    other print as `{a, b}`, more than eight of them as `first..last`.

    >>> learned().describe()
    'learned'
    """
    return Learned(groups)


def _split(cuts: Cuts, goal: int, weight: npt.NDArray[np.float64], scale: Scale | None) -> Cuts:
    """The cuts and more of them, until there are `goal` groups of about even weight (fewer where values repeat)."""
    starts = [0, *sorted(cuts), len(weight) - 1]
    pieces = list(pairwise(starts))
    shares = [1] * len(pieces)
    heap = [(-float(weight[e] - weight[s]), i) for i, (s, e) in enumerate(pieces) if e - s > 1]
    heapq.heapify(heap)
    for _ in range(goal - len(pieces)):
        if not heap:
            break
        _, i = heapq.heappop(heap)  # the piece whose groups are the heaviest gets one more
        shares[i] += 1
        s, e = pieces[i]
        if shares[i] < e - s:
            heapq.heappush(heap, (-float(weight[e] - weight[s]) / shares[i], i))
    finer = dict(cuts)
    for (start, end), share in zip(pieces, shares, strict=True):
        finer.update(_quantiles(start, end, share, weight, scale))
    return finer


def _quantiles(start: int, end: int, share: int, weight: npt.NDArray[np.float64], scale: Scale | None) -> Cuts:
    """Cuts near the quantiles of one group: each may be off by a quarter of a part, to be a round number."""
    total = float(weight[end] - weight[start])
    lowest, highest = start + 1, end - 1
    if scale is not None:
        lowest, highest = max(lowest, scale.low + 1), min(highest, scale.high - 1)
    found: Cuts = {}
    for part in range(1, share):
        target, slack = float(weight[start]) + total * part / share, total / share / 4
        near = int(np.searchsorted(weight, target))
        if near > 0 and target - weight[near - 1] < weight[min(near, end)] - target:
            near -= 1
        first = max(int(np.searchsorted(weight, target - slack)), lowest)
        last = min(int(np.searchsorted(weight, target + slack, side="right")) - 1, highest)
        if lowest > highest:
            break
        if first > last:  # one heavy value takes the whole window: cut beside it, once
            if found and near < lowest:
                continue
            first = last = min(max(near, lowest), highest)
        near = min(max(near, first), last)
        cut = (near, None) if scale is None else boundary(scale, first, near, last)
        if cut is not None:
            found[cut[0]] = cut[1]
            lowest = cut[0] + 1
    return found


def _groups(leaves: tuple[str, ...], order: npt.NDArray[np.int64], cuts: Cuts, scale: Scale | None) -> Groups:
    starts = sorted(cuts)
    which = np.empty(len(leaves), dtype=np.int64)
    which[order] = np.searchsorted(starts, np.arange(len(leaves)), side="right")
    if scale is not None:
        edges = [None, *(cuts[start] for start in starts), None]
        return which, [between(low, high, scale.show) for low, high in pairwise(edges)]
    runs = zip([0, *starts], [*starts, len(leaves)], strict=True)
    return which, [group_label(leaves[start:end]) for start, end in runs]
