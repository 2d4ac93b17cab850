"""k-member and top-down grouping in plain Python, with each step told: the same groups as those of their kernels.

Costs are sums of 32-bit numbers in the order of the columns, as kernels take them: ties then fall alike.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.search.clustering.kernels import seeded
from sfumato.search.events import (
    ClassClosed,
    GroupLeft,
    GroupRepaired,
    HalvesRefused,
    Record,
    RecordAdded,
    RecordAssigned,
    SeedChosen,
    SeedsChosen,
    Trace,
)

Zero = np.float32(0.0)


class BoxCosts:
    """What ranges of places cost: `kernels.side` for one range and many points."""

    def __init__(self, points: np.ndarray, shape: np.ndarray, table: np.ndarray) -> None:
        self.points, self.shape, self.table = points, shape, table

    def side(self, a: int, low: int, high: int, places: np.ndarray) -> np.ndarray:
        """What the range around low..high and each of some places costs in a column."""
        lo, hi = np.minimum(low, places), np.maximum(high, places)
        size, at, levels, missing, end = self.shape[a].tolist()
        if size:
            return self.table[at + lo * size + hi]
        if not levels:
            cost = np.where(hi == missing, self.table[end], self.table[at + hi] - self.table[at + lo])
        else:
            cost = np.full(len(lo), self.table[end])
            for level in range(levels - 1, 0, -1):
                base = at - 2 * level * missing
                alike = self.table[base + 2 * lo] == self.table[base + 2 * hi]
                cost = np.where(alike, self.table[base + 2 * lo + 1], cost)
        return np.where(lo == hi, Zero, cost)

    def grown(self, box: np.ndarray, some: Sequence[int] | np.ndarray) -> np.ndarray:
        """The cost of a box, [low and high, columns], once it takes each of some points in."""
        cost = np.zeros(len(some), np.float32)
        for a, places in enumerate(self.points[some].T):
            cost += self.side(a, box[0, a], box[1, a], places)
        return cost

    def around(self, *some: int) -> np.ndarray:
        """The box around points."""
        return np.stack([self.points[[*some]].min(axis=0), self.points[[*some]].max(axis=0)])


def k_member(
    boxes: BoxCosts, records: Sequence[Record], k: int, kind: np.ndarray, cap: int, trace: Trace
) -> tuple[np.ndarray, int]:
    """The cluster of each point as of `kernels.k_member` in one block, -1 for those left over, and how many there are.

    A cluster starts with the point farthest from the last one taken, and takes the point that costs least until it has
    k, no more than `cap` of one kind where there is a choice.
    """
    of, clusters = np.full(len(records), -1), 0
    kinds = kind if len(kind) else np.zeros(len(records), np.int64)
    left, last = np.arange(len(records)), 0
    while len(left) >= k:
        cost = boxes.grown(boxes.around(last), left)
        j = int(np.argmax(cost))
        trace(SeedChosen(records[left[j]], records[last], float(cost[j])))
        taken = [int(left[j])]
        left = _without(left, j)
        box = boxes.around(*taken)
        cost = boxes.grown(box, left)
        while len(taken) < k:
            allowed = np.bincount(kinds[taken], minlength=int(kinds.max()) + 1)[kinds[left]] < cap
            j = int(np.argmin(np.where(allowed, cost, np.float32(np.inf)) if allowed.any() else cost))
            taken.append(int(left[j]))
            trace(RecordAdded(records[taken[-1]], float(cost[j]), len(taken)))
            left, cost = _without(left, j), _without(cost, j)
            after = boxes.around(*taken)
            for a in np.flatnonzero((after != box).any(axis=0)).tolist():
                places = boxes.points[left, a]
                grown, was = (boxes.side(a, some[0, a], some[1, a], places) for some in (after, box))
                cost = cost + (grown - was) if boxes.shape[a, 0] else cost + grown - was
            box = after
        of[taken], last = clusters, taken[-1]
        trace(ClassClosed(tuple(records[point] for point in taken), k, f"it has {k} rows"))
        clusters += 1
    return of, clusters


def _without(entries: np.ndarray, j: int) -> np.ndarray:
    """The entries without one; the last fills its place."""
    entries = entries.copy()
    entries[j] = entries[-1]
    return entries[:-1]


def _drawn(state: int) -> tuple[int, float]:
    """As `kernels.drawn`: the next state of a small generator, and a number in 0..1."""
    state ^= state << 13 & 0xFFFFFFFFFFFFFFFF
    state ^= state >> 7
    state ^= state << 17 & 0xFFFFFFFFFFFFFFFF
    return state, (state >> 11) / 9007199254740992.0


def top_down(boxes: BoxCosts, records: Sequence[Record], k: int, seed: int, trace: Trace) -> np.ndarray:
    """The group of each point as of `utility_based.top_down`: halved until no group has more than k points."""
    of, groups, state = np.full(len(records), -1), 0, int(seeded(seed, 0))
    waiting = [[*range(len(records))]]
    while waiting:
        group = waiting.pop()
        halves: tuple[list[int], list[int]] = (group, [])
        if len(group) > k:
            halves, state = _halve(boxes, records, group, state, trace)
        sizes = len(halves[0]), len(halves[1])
        if not halves[1] or max(sizes) < k:
            if halves[1]:
                trace(HalvesRefused(sizes, k))
            inside = tuple(records[point] for point in sorted(group))
            why = "more rows are not apart" if len(group) > k else f"it has {k} rows"
            trace(ClassClosed(inside, len(group), why) if len(group) >= k else GroupLeft(inside, k))
            of[group] = groups
            groups += 1
        else:
            waiting += halves[::-1]
    return of


def _halve(
    boxes: BoxCosts, records: Sequence[Record], group: list[int], state: int, trace: Trace
) -> tuple[tuple[list[int], list[int]], int]:
    """The halves of a group as of `utility_based.halve`, the second one empty where all points are equal."""
    state, chance = _drawn(state)
    u = v = int(chance * len(group))
    for _ in range(3):
        v, u = u, int(np.argmax(boxes.grown(boxes.around(group[u]), group)))
    apart = float(boxes.grown(boxes.around(group[u]), [group[v]])[0])
    if u == v or apart == 0.0:
        return (group, []), state
    order = group.copy()
    order[0], order[u] = order[u], order[0]
    v = u if v == 0 else v
    order[-1], order[v] = order[v], order[-1]
    for i in range(len(order) - 2, 0, -1):  # in random order
        state, chance = _drawn(state)
        j = int(chance * i)
        order[i], order[1 + j] = order[1 + j], order[i]
    trace(SeedsChosen(records[order[0]], records[order[-1]], apart, len(order)))
    halves = [order[0]], [order[-1]]
    box, was = [boxes.around(order[0]), boxes.around(order[-1])], [Zero, Zero]
    for point in order[1:-1]:
        place = boxes.points[point]
        inside = [bool(((one[0] <= place) & (place <= one[1])).all()) for one in box]
        cost = [was[i] if inside[i] else boxes.grown(box[i], [point])[0] for i in (0, 1)]
        grows = cost[0] - was[0], cost[1] - was[1]
        gap = grows[0] - grows[1]
        to = 0 if gap < 0 or (gap == 0 and len(halves[0]) <= len(halves[1])) else 1
        halves[to].append(point)
        was[to] = cost[to]
        box[to] = np.stack([np.minimum(box[to][0], place), np.maximum(box[to][1], place)])
        trace(RecordAssigned(records[point], to, (float(grows[0]), float(grows[1]))))
    return (halves[0], halves[1][::-1]), state


def tell_repairs(records: Sequence[Record], of: np.ndarray, repairs: np.ndarray, trace: Trace) -> None:
    """Tell the trace how small groups were repaired: `repairs` as `utility_based.adjust` notes them."""
    of = of.copy()
    for number in range(int(repairs[:, 0].max(initial=-1)) + 1):
        _, small, other, borrows, _ = repairs[repairs[:, 0] == number][0].tolist()
        moved = repairs[repairs[:, 0] == number, 4]
        inside = [tuple(records[i] for i in np.flatnonzero(of == group).tolist()) for group in (small, other)]
        trace(GroupRepaired(inside[0], inside[1], tuple(records[i] for i in moved.tolist()), bool(borrows)))
        of[moved] = small if borrows else other
