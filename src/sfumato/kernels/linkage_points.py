"""The nearest points of another table, exactly: a walk down a tree that leaves out what is too far away."""

from __future__ import annotations

import numpy as np

from sfumato.kernels import kernel
from sfumato.kernels.linkage_tree import DEEPEST

SQUARED, ABSOLUTE, NAMED = 0, 1, 2  # how a column counts: squared or absolute difference, or equal or not
SAME = 1e-9  # distances this close, relatively, are the same
NIL = 1e-24


@kernel
def apart(x: float, y: float, kind: int, weight: float, blank: float) -> float:
    """What one column adds to the distance; `blank` where either side is unknown."""
    if np.isnan(x) or np.isnan(y):
        return blank
    d = abs(x - y)
    if kind == NAMED:
        return weight if d > 0 else 0.0
    return weight * d * d if kind == SQUARED else weight * d


@kernel
def bounds(
    place: np.ndarray, start: np.ndarray, stop: np.ndarray, right: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Least and greatest place of the items of each node per column, and whether some are unknown."""
    nodes, columns = len(start), place.shape[1]
    low, high = np.full((nodes, columns), np.inf), np.full((nodes, columns), -np.inf)
    open_ = np.zeros((nodes, columns), np.bool_)
    for node in range(nodes - 1, -1, -1):
        if right[node] < 0:
            for i in range(start[node], stop[node]):
                for c in range(columns):
                    x = place[i, c]
                    if np.isnan(x):
                        open_[node, c] = True
                    else:
                        low[node, c], high[node, c] = min(low[node, c], x), max(high[node, c], x)
        else:
            one, other = node + 1, right[node]
            for c in range(columns):
                low[node, c] = min(low[one, c], low[other, c])
                high[node, c] = max(high[one, c], high[other, c])
                open_[node, c] = open_[one, c] or open_[other, c]
    return low, high, open_


@kernel
def nearest(
    query: np.ndarray,
    order: np.ndarray,
    first: int,
    last: int,
    place: np.ndarray,
    count: np.ndarray,
    start: np.ndarray,
    stop: np.ndarray,
    right: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    open_: np.ndarray,
    kind: np.ndarray,
    weight: np.ndarray,
    blank: np.ndarray,
    distance: np.ndarray,
    ties: np.ndarray,
) -> None:
    """For the queries order[first:last] the least distance to a point, and how many rows are at it.

    Points come in tree order. A node is left out where even the nearest place inside its bounds is further away.
    """
    columns = query.shape[1]
    waiting, far = np.zeros(DEEPEST + 2, np.int64), np.zeros(DEEPEST + 2)
    reach = np.zeros(2)
    for at in range(first, last):
        q = query[order[at]]
        best, tied = np.inf, 0
        waiting[0], far[0] = 0, 0.0
        todo = 1
        while todo:
            todo -= 1
            if far[todo] > best * (1 + SAME) + NIL:
                continue
            node = waiting[todo]
            if right[node] < 0:
                for i in range(start[node], stop[node]):
                    d = 0.0
                    for c in range(columns):
                        d += apart(q[c], place[i, c], kind[c], weight[c], blank[c])
                    if d < best * (1 - SAME) - NIL:
                        best, tied = d, count[i]
                    elif d <= best * (1 + SAME) + NIL:
                        best, tied = min(best, d), tied + count[i]
                continue
            for side in range(2):
                child = right[node] if side else node + 1
                d = 0.0
                for c in range(columns):
                    x = q[c]
                    if np.isnan(x) or low[child, c] > high[child, c]:
                        d += blank[c]
                        continue
                    edge = min(max(x, low[child, c]), high[child, c])
                    step = apart(x, edge, kind[c], weight[c], blank[c])
                    d += min(step, blank[c]) if open_[child, c] else step
                reach[side] = d
            nearer = 1 if reach[1] < reach[0] else 0
            for side in (1 - nearer, nearer):  # the nearer child is looked at first
                waiting[todo], far[todo] = (right[node] if side else node + 1), reach[side]
                todo += 1
        distance[order[at]], ties[order[at]] = best, tied


@kernel
def distances(
    one: np.ndarray,
    i: np.ndarray,
    other: np.ndarray,
    j: np.ndarray,
    kind: np.ndarray,
    weight: np.ndarray,
    blank: np.ndarray,
) -> np.ndarray:
    """The distance of each pair i[p], j[p]."""
    found = np.zeros(len(i))
    for p in range(len(i)):
        for c in range(one.shape[1]):
            found[p] += apart(one[i[p], c], other[j[p], c], kind[c], weight[c], blank[c])
    return found
