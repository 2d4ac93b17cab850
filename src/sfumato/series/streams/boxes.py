"""Boxes around rows: a range per numeric column and a node of the hierarchy per categorical one, and what they lose.

A box is two arrays, `lo` and `hi`. In a numeric column they are the ends of a range; in a categorical one `lo` is the
number of a node, `hi` is not looked at. A missing number stands at `MISSING`, so that only a box of missing numbers
alone has a width of 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.core.compiled import inner

MISSING = 1e300


class Shape(NamedTuple):
    """What boxes are measured against: per column whether it is categorical and how wide its domain is, per node its
    parent (the root its own), its depth, and what it loses."""

    tree: np.ndarray  # bool per column
    span: np.ndarray  # float64 per column
    parent: np.ndarray  # int32 per node
    depth: np.ndarray  # int32 per node
    cost: np.ndarray  # float64 per node


@inner
def meet(a, b, parent, depth):  # type: ignore[no-untyped-def]
    """The lowest common ancestor of two nodes."""
    while a != b:
        if depth[a] > depth[b]:
            a = parent[a]
        elif depth[a] < depth[b]:
            b = parent[b]
        else:
            a, b = parent[a], parent[b]
    return a


@inner
def losses(lo, hi, which, many, lo2, hi2, at, shape, found):  # type: ignore[no-untyped-def]
    """What the least boxes lose around box `at` of the second and each of the first `many` of `which` of the first: the
    mean NCP of the columns. A row is a box of its values."""
    columns = lo.shape[1]
    parent, depth, cost = shape.parent, shape.depth, shape.cost
    for i in range(many):
        found[i] = 0.0
    for j in range(columns):
        low, high = lo2[at, j], hi2[at, j]
        if shape.tree[j]:
            b = int(low)
            for i in range(many):
                a = int(lo[which[i], j])
                found[i] += cost[a if a == b or depth[a] == 0 else meet(a, b, parent, depth)]
        else:
            span = shape.span[j]
            for i in range(many):
                wide = max(high, hi[which[i], j]) - min(low, lo[which[i], j])
                found[i] += 0.0 if wide <= 0 else 1.0 if wide >= span else wide / span
    for i in range(many):
        found[i] /= columns


@inner
def loss_of(lo, hi, at, shape):  # type: ignore[no-untyped-def]
    """What a box loses."""
    total = 0.0
    for j in range(lo.shape[1]):
        if shape.tree[j]:
            total += shape.cost[int(lo[at, j])]
        else:
            wide, span = hi[at, j] - lo[at, j], shape.span[j]
            total += 0.0 if wide <= 0 else 1.0 if wide >= span else wide / span
    return total / lo.shape[1]


@inner
def widen(lo, hi, at, lo2, hi2, other, shape):  # type: ignore[no-untyped-def]
    """Make a box the least one around itself and another."""
    for j in range(lo.shape[1]):
        if shape.tree[j]:
            a, b = int(lo[at, j]), int(lo2[other, j])
            if a != b:
                lo[at, j] = meet(a, b, shape.parent, shape.depth)
        else:
            lo[at, j] = min(lo[at, j], lo2[other, j])
            hi[at, j] = max(hi[at, j], hi2[other, j])


@inner
def covers(lo, hi, at, row, slot, shape):  # type: ignore[no-untyped-def]
    """Whether a row lies in a box."""
    for j in range(lo.shape[1]):
        if shape.tree[j]:
            node = int(lo[at, j])
            if meet(node, int(row[slot, j]), shape.parent, shape.depth) != node:
                return False
        elif row[slot, j] < lo[at, j] or row[slot, j] > hi[at, j]:
            return False
    return True
