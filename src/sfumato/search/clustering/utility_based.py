"""Top-down and bottom-up grouping by certainty penalty: far seeds, the side that grows less, small groups mended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from sfumato.core.compiled import kernel
from sfumato.core.parameters import OneOf, Whole
from sfumato.core.progress import stoppable
from sfumato.search.clustering import traced
from sfumato.search.clustering.clusters import ClusterSearch, Field, boxes, dense
from sfumato.search.clustering.kernels import blocks, drawn, grown, joined, k_member, seeded, side, take_in, touched
from sfumato.search.events import (
    ClassClosed,
    ClassesJoined,
    Event,
    GroupLeft,
    GroupRepaired,
    HalvesRefused,
    LabelsGiven,
    LeftoverPlaced,
    RecordAssigned,
    SeedsChosen,
)
from sfumato.search.problem import LABELS, records_of

NEAR = 8  # groups before and after that are tried first
UNTESTED = 3  # columns summed up before the first look at the bound: it costs more than they do
SLACK = 1.0001  # above what rounding can do: a bound never hides the group it came from
SEEDING = 3  # passes that look for two far points: each goes to the point farthest from the last


@kernel
def farthest(points: Any, order: Any, s: int, e: int, u: int, ahead: Any, shape: Any, table: Any) -> Any:
    """Which of order[s:e] costs most together with order[u]."""
    seed = points[order[u]]
    for a in range(len(seed)):
        for place in range(shape[a, 0]):
            ahead[a, place] = side(a, seed[a], seed[a], np.int32(place), np.int32(place), shape, table)
    far = np.float32(-1.0)
    at = u
    for i in range(s, e):
        p = order[i]
        cost = np.float32(0.0)
        for a in range(len(seed)):
            if shape[a, 0] > 0:
                cost += ahead[a, points[p, a]]
            else:
                cost += side(a, seed[a], seed[a], points[p, a], points[p, a], shape, table)
        if cost > far:
            far = cost
            at = i
    return at


@kernel
def inside(lo: Any, hi: Any, c: int, points: Any, i: int) -> Any:
    """Whether box c holds point i."""
    held = True
    for a in range(lo.shape[1]):
        held &= lo[c, a] <= points[i, a] <= hi[c, a]
    return held


@kernel
def halve(
    points: np.ndarray,
    order: np.ndarray,
    spare: np.ndarray,
    ahead: np.ndarray,
    s: int,
    e: int,
    state: Any,
    shape: np.ndarray,
    table: np.ndarray,
) -> tuple[Any, Any]:
    """Move the points order[s:e] to two sides: two far seeds, each other point to the side whose box grows less.

    Gives where the second side begins, and the state of the generator.
    """
    d = points.shape[1]
    state, chance = drawn(state)
    u = s + int(chance * (e - s))
    v = u
    for _ in range(SEEDING):
        v, u = u, farthest(points, order, s, e, u, ahead, shape, table)
    if u == v or grown(points, points, order[u], points, order[v], np.inf, shape, table) == 0.0:
        return e, state  # all points are equal
    order[s], order[u] = order[u], order[s]
    if v == s:
        v = u
    order[e - 1], order[v] = order[v], order[e - 1]
    lo = np.empty((2, d), np.int32)
    hi = np.empty((2, d), np.int32)
    lo[0] = points[order[s]]
    hi[0] = points[order[s]]
    lo[1] = points[order[e - 1]]
    hi[1] = points[order[e - 1]]
    was = np.zeros(2, np.float32)
    size = np.ones(2, np.int64)
    for i in range(e - s - 2, 0, -1):  # in random order
        state, chance = drawn(state)
        j = int(chance * i)
        order[s + 1 + i - 1], order[s + 1 + j] = order[s + 1 + j], order[s + 1 + i - 1]
    left, right = s, e
    spare[left] = order[s]
    left += 1
    right -= 1
    spare[right] = order[e - 1]
    for i in range(s + 1, e - 1):
        point = order[i]
        one = was[0]
        two = was[1]
        if not inside(lo, hi, 0, points, point):
            one = grown(lo, hi, 0, points, point, np.inf, shape, table)
        if not inside(lo, hi, 1, points, point):
            two = grown(lo, hi, 1, points, point, np.inf, shape, table)
        gap = (one - was[0]) - (two - was[1])
        to = 0 if gap < 0.0 or (gap == 0.0 and size[0] <= size[1]) else 1
        size[to] += 1
        was[to] = one if to == 0 else two
        take_in(lo, hi, to, points, point)
        if to == 0:
            spare[left] = order[i]
            left += 1
        else:
            right -= 1
            spare[right] = order[i]
    order[s:e] = spare[s:e]
    return left, state


@kernel
def top_down(
    points: np.ndarray, order: np.ndarray, k: int, seed: int, shape: np.ndarray, table: np.ndarray, stop: np.ndarray
) -> np.ndarray:
    """Halve until no group has more than k points; a half that would leave no side of k points is not taken."""
    n = len(order)
    state = seeded(seed, 0)
    of = np.full(n, -1)
    spare = np.empty(n, np.int64)
    ahead = np.empty((points.shape[1], max(shape[:, 0].max(), 1)), np.float32)
    first = [0]
    last = [n]
    groups = 0
    while len(first) > 0 and not stop[0]:
        s = first.pop()
        e = last.pop()
        cut = e
        if e - s > k:
            cut, state = halve(points, order, spare, ahead, s, e, state, shape, table)
        if cut == e or (cut - s < k and e - cut < k):
            for i in range(s, e):
                of[order[i]] = groups
            groups += 1
        else:
            first.append(cut)
            last.append(e)
            first.append(s)
            last.append(cut)
    return of


@kernel
def adjust(
    points: np.ndarray,
    of: np.ndarray,
    groups: int,
    k: int,
    repairs: np.ndarray,
    shape: np.ndarray,
    table: np.ndarray,
    stop: np.ndarray,
) -> None:
    """Mend groups of fewer than k points: borrow from a group that can spare them, or join another, as costs less.

    `repairs`, where it has room for k entries per group, notes of each point that moves: the number of the repair, the
    small group, the other one, whether that lends it, and the point.
    """
    n, d = points.shape
    noted, number = 0, 0
    lo = np.full((groups, d), 2147483647, np.int32)
    hi = np.full((groups, d), -1, np.int32)
    size = np.zeros(groups, np.int64)
    head = np.full(groups, -1)
    link = np.full(n, -1)
    for i in range(n - 1, -1, -1):
        g = of[i]
        take_in(lo, hi, g, points, i)
        size[g] += 1
        link[i] = head[g]
        head[g] = i
    cost = np.empty(groups, np.float32)
    for g in range(groups):
        cost[g] = joined(lo, hi, g, g, np.inf, shape, table)
    reach = np.empty(n, np.float32)
    who = np.empty(n, np.int64)
    box_lo = np.empty((1, d), np.int32)
    box_hi = np.empty((1, d), np.int32)
    live = np.arange(groups)
    first = min(UNTESTED, d)
    alive = groups
    gone = 0
    for g in range(groups):
        if stop[0]:
            return
        if gone > alive // 8:  # groups that joined others are passed over for good
            m = 0
            for at in range(alive):
                if size[live[at]] > 0:
                    live[m] = live[at]
                    m += 1
            alive = m
            gone = 0
        while 0 < size[g] < k:
            want = k - size[g]
            # borrow: the points of a group with enough to spare that grow this one least
            borrow = np.float64(np.inf)
            lender = -1
            own = cost[g] * size[g]
            for at in range(alive):
                h = live[at]
                if h == g or size[h] < k + want:
                    continue
                enough = np.float32((borrow + own) / k)
                if touched(lo, hi, g, h, enough, shape, table) >= enough:
                    continue
                m = 0
                i = head[h]
                while i >= 0:
                    reach[m] = grown(lo, hi, g, points, i, np.inf, shape, table)
                    who[m] = i
                    m += 1
                    i = link[i]
                box_lo[0] = lo[g]
                box_hi[0] = hi[g]
                for t in np.argsort(reach[:m])[:want]:
                    take_in(box_lo, box_hi, 0, points, who[t])
                more = joined(box_lo, box_hi, 0, 0, np.inf, shape, table) * k - own
                if more < borrow:
                    borrow = more
                    lender = h
            # join: the least growth of penalty over all groups; those cut off last are likely near, and bound it
            bound = borrow
            for h in range(max(0, g - NEAR), min(groups, g + NEAR + 1)):
                if h != g and size[h] > 0:
                    both = size[g] + size[h]
                    grow = joined(lo, hi, g, h, np.inf, shape, table)
                    bound = min(bound, grow * both * SLACK - own - cost[h] * size[h])
            join = bound
            partner = -1
            for a in range(d):
                box_lo[0, a] = lo[g, a]
                box_hi[0, a] = hi[g, a]
            for at in range(alive):
                h = live[at]
                if h == g or size[h] == 0:
                    continue
                both = size[g] + size[h]
                apart = own + cost[h] * size[h]
                grow = np.float32(0.0)
                for a in range(first):  # the hot loop: a call of `joined` would double its time
                    grow += side(a, box_lo[0, a], box_hi[0, a], lo[h, a], hi[h, a], shape, table)
                if grow * both > (join + apart) * SLACK:  # a division would cost more
                    continue
                enough = np.float32((join + apart) / both)
                for a in range(first, d):
                    if grow >= enough:
                        break
                    grow += side(a, box_lo[0, a], box_hi[0, a], lo[h, a], hi[h, a], shape, table)
                if grow < enough or (partner < 0 and bound == np.inf):
                    join = grow * both - apart
                    partner = h
            if partner < 0 and lender < 0:
                return
            if partner < 0:
                m = 0
                i = head[lender]
                while i >= 0:
                    reach[m] = grown(lo, hi, g, points, i, np.inf, shape, table)
                    who[m] = i
                    m += 1
                    i = link[i]
                taken = np.argsort(reach[:m])
                head[lender] = -1
                lo[lender] = 2147483647
                hi[lender] = -1
                for t in range(m):
                    i = who[taken[t]]
                    to = g if t < want else lender
                    if to == g and len(repairs) > 0:
                        repairs[noted] = number, g, lender, 1, i
                        noted += 1
                    of[i] = to
                    link[i] = head[to]
                    head[to] = i
                    take_in(lo, hi, to, points, i)
                size[lender] -= want
                size[g] += want
                cost[lender] = joined(lo, hi, lender, lender, np.inf, shape, table)
            else:
                i = head[g]
                while i >= 0:
                    after = link[i]
                    of[i] = partner
                    if len(repairs) > 0:
                        repairs[noted] = number, g, partner, 0, i
                        noted += 1
                    link[i] = head[partner]
                    head[partner] = i
                    i = after
                take_in(lo, hi, partner, lo, g)
                take_in(lo, hi, partner, hi, g)
                size[partner] += size[g]
                size[g] = 0
                gone += 1
                head[g] = -1
                cost[partner] = joined(lo, hi, partner, partner, np.inf, shape, table)
            number += 1
            if size[g] > 0:
                cost[g] = joined(lo, hi, g, g, np.inf, shape, table)


@kernel
def merge_small(
    lo: np.ndarray,
    hi: np.ndarray,
    size: np.ndarray,
    order: np.ndarray,
    reach: int,
    k: int,
    shape: np.ndarray,
    table: np.ndarray,
    stop: np.ndarray,
) -> np.ndarray:
    """One round bottom-up: each group of fewer than k points joins the group that makes the least box with it.

    Looks at groups at most `reach` away in the order. Gives the group that each one is part of afterwards.
    """
    n = len(lo)
    into = np.arange(n)
    for at in range(n):
        g = order[at]
        if into[g] != g or size[g] >= k:
            continue
        if stop[0]:
            break
        least = np.float32(np.inf)
        best = -1
        for other in range(max(0, at - reach), min(n, at + reach + 1)):
            h = order[other]
            if h == g or into[h] != h:
                continue
            grow = np.float32(0.0)
            for a in range(lo.shape[1]):
                grow += side(a, lo[g, a], hi[g, a], lo[h, a], hi[h, a], shape, table)
                if grow >= least:
                    break
            if grow < least or best < 0:
                least = grow
                best = h
        if best < 0:
            continue
        into[g] = best
        size[best] += size[g]
        take_in(lo, hi, best, lo, g)
        take_in(lo, hi, best, hi, g)
    for g in range(n):
        root = g
        while into[root] != root:
            root = into[root]
        into[g] = root
    return into


@dataclass(frozen=True)
class TopDown(ClusterSearch):
    """Halve the table around two far rows, again and again, and mend what gets too small (CG_, heuristic).

    Two rows far from each other are the seeds; every other row, in random order (`seed`), goes to the side whose
    penalty grows less; sides of more than k rows are halved again. Groups of fewer than k rows then borrow rows from a
    group that can spare them, or join another, as costs less. Classes may overlap. Clusters that fail other criteria
    join near ones until none fails. `labels` as for k-member. The penalty is that of the loss: with loss="ncp" it is
    the paper's.
    """

    traces: ClassVar[tuple[type[Event], ...]] = (
        SeedsChosen,
        RecordAssigned,
        HalvesRefused,
        ClassClosed,
        GroupLeft,
        GroupRepaired,
        LeftoverPlaced,
        ClassesJoined,
        LabelsGiven,
    )
    seed: Annotated[int, Whole(0)] = 0
    labels: Annotated[str, OneOf(LABELS)] = "given"

    def clusters(self, field: Field, points: np.ndarray) -> np.ndarray:
        """Halve, then mend."""
        space, progress = field.space.arrays, field.problem.progress
        if field.problem.trace is not None:
            return self._traced(field, points)
        progress("halving", None)
        found = stoppable(top_down, points, np.arange(len(points)), field.least, self.seed, *space)
        progress("mending small groups", None)
        stoppable(adjust, points, found, int(found.max()) + 1, field.least, np.empty((0, 5), np.int64), *space)
        return np.asarray(found)

    def _traced(self, field: Field, points: np.ndarray) -> np.ndarray:
        """The same in plain Python, with each step told."""
        trace, space, k = field.problem.trace, field.space.arrays, field.least
        assert trace is not None
        records = [record for record, whole in zip(records_of(field.problem), field.whole, strict=True) if not whole]
        halved = traced.top_down(traced.BoxCosts(points, *space), records, k, self.seed, trace)
        found, groups = halved.copy(), int(halved.max()) + 1
        repairs = np.full((groups * k, 5), -1)
        stoppable(adjust, points, found, groups, k, repairs, *space)
        traced.tell_repairs(records, halved, repairs, trace)
        return found


@dataclass(frozen=True)
class BottomUp(ClusterSearch):
    """Join each group that is too small to the group that makes the least box with it (CG_, heuristic).

    Every row starts as a group. In a round each group of fewer than k rows joins the group with which its penalty is
    least; groups of 2k rows and more are split into groups of at least k. Clusters that fail other criteria join near
    ones until none fails. `block`: look for partners among so many groups before and after in an order of near ones;
    None, as in the paper, among all: its time grows with the square of the rows. `labels` as for k-member.
    """

    block: Annotated[int | None, Whole(2)] = None
    labels: Annotated[str, OneOf(LABELS)] = "given"

    def clusters(self, field: Field, points: np.ndarray) -> np.ndarray:
        """Join until every group has k points."""
        space, k = field.space.arrays, field.least
        of = np.arange(len(points))
        while True:
            size = np.bincount(of)
            if (size >= k).all():
                return of
            field.problem.progress("joining", float((size >= k).mean()))
            lo, hi = boxes(points, of)
            order, _ = blocks(lo, hi, 64, 0.0, 0, *space)
            of = dense(stoppable(merge_small, lo, hi, size, order, self.block or len(size), k, *space)[of])
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
