"""Boxes: a class covers the places lo..hi of each column. What a side costs, the boxes of clusters, and their costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.kernels import kernel

# A space is two arrays: shape [columns, 5] (size, at, levels, missing, end) and cost. Per column:
# size > 0: cost[at + lo * size + hi] is the cost of lo..hi;
# size 0, levels 0: cost[at + place] grows along the column; the place `missing` mixes with others at cost[end];
# size 0, levels > 0: cost[at + 2 * (level * -missing + place)] is the node of a place and the next entry what that node
# costs; -missing is then the number of places.


@kernel
def side(a: int, lo: int, hi: int, shape: np.ndarray, cost: np.ndarray) -> Any:
    """What lo..hi costs in column a."""
    size, at = shape[a, 0], shape[a, 1]
    if size > 0:
        return cost[at + lo * size + hi]
    if lo == hi:
        return np.float32(0.0)
    levels, missing = shape[a, 2], shape[a, 3]
    if levels == 0:
        return cost[shape[a, 4]] if hi == missing else cost[at + hi] - cost[at + lo]
    for level in range(1, levels):
        base = at - 2 * level * missing
        if cost[base + 2 * lo] == cost[base + 2 * hi]:
            return cost[base + 2 * lo + 1]
    return cost[shape[a, 4]]


# Boxes are rows of lo and hi, points rows of points, named by number: a slice per call would cost more than the
# sum itself. A sum stops at `enough`: what comes back is then some cost of at least that.


@kernel
def grown(lo: Any, hi: Any, c: int, points: Any, i: int, enough: float, shape: np.ndarray, table: np.ndarray) -> Any:
    """The cost of box c once it takes point i in."""
    cost = np.float32(0.0)
    for a in range(lo.shape[1]):
        cost += side(a, min(lo[c, a], points[i, a]), max(hi[c, a], points[i, a]), shape, table)
        if cost >= enough:
            break
    return cost


@kernel
def joined(lo: Any, hi: Any, b: int, c: int, enough: float, shape: np.ndarray, table: np.ndarray) -> Any:
    """The cost of the box around boxes b and c."""
    cost = np.float32(0.0)
    for a in range(lo.shape[1]):
        cost += side(a, min(lo[b, a], lo[c, a]), max(hi[b, a], hi[c, a]), shape, table)
        if cost >= enough:
            break
    return cost


@kernel
def touched(lo: Any, hi: Any, b: int, c: int, enough: float, shape: np.ndarray, table: np.ndarray) -> Any:
    """The least that box b can cost once it holds any point of box c."""
    cost = np.float32(0.0)
    for a in range(lo.shape[1]):
        cost += side(a, min(lo[b, a], hi[c, a]), max(hi[b, a], lo[c, a]), shape, table)
        if cost >= enough:
            break
    return cost


@kernel
def take_in(lo: Any, hi: Any, c: int, points: Any, i: int) -> None:
    """Grow box c so that it holds point i."""
    for a in range(lo.shape[1]):
        lo[c, a] = min(lo[c, a], points[i, a])
        hi[c, a] = max(hi[c, a], points[i, a])


@kernel
def box_costs(lo: np.ndarray, hi: np.ndarray, shape: np.ndarray, table: np.ndarray) -> np.ndarray:
    """The cost of each box [boxes, columns]."""
    cost = np.zeros(len(lo), np.float32)
    for c in range(len(lo)):
        for a in range(lo.shape[1]):
            cost[c] += side(a, lo[c, a], hi[c, a], shape, table)
    return cost
