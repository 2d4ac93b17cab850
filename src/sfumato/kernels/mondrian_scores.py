"""What a cut is worth: the NCP, the bits about a class attribute, or the rows that queries touch, of its sides.

Costs are sums over rows, so that those of the sides add up, and the gain of a cut is what they are below the cost of
the part. Columns are the outer loops: what is the same for all cells of a column is looked up once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sfumato.kernels import kernel
from sfumato.kernels.mondrian_cuts import Cells, Shape, meet

NCP, GAIN, WORKLOAD = 0, 1, 2
FAR = 2**31 - 1


class Goal(NamedTuple):
    """What is scored. Arrays that the kind of score does not use are empty."""

    kind: int
    start: np.ndarray  # classes of the rows of each cell: runs of (value, how often)
    value: np.ndarray
    often: np.ndarray
    classes: int
    bits: np.ndarray  # x log2 x of whole numbers
    asks: np.ndarray  # [queries, columns]: whether the query looks at the column
    match: np.ndarray  # [queries, flat]: how many places below one match, of column a from match_at[a]
    match_at: np.ndarray
    edges: np.ndarray  # flat: at how many places up to one the answer of some query changes
    node_low: np.ndarray  # first and last place of each node, flat as the tree
    node_high: np.ndarray


@kernel
def ncp_of(shape: Shape, a: int, low: int, high: int) -> Any:
    """NCP of the places low to high of a column."""
    if low == high:
        return 0.0
    if shape.levels[a] > 0:
        return shape.ncp[shape.tree_at[a] + meet(shape, a, low, high) * shape.values[a] + low]
    if high == shape.missing[a]:
        return 1.0
    at = shape.position_at[a]
    return (shape.position[at + high] - shape.position[at + low] + shape.more[a]) / shape.whole[a]


@kernel
def reach(goal: Goal, shape: Shape, a: int, low: int, high: int) -> tuple[Any, Any]:
    """The places that the label over low to high covers: those of a node where the column has a tree."""
    if shape.levels[a] == 0:
        return np.int64(low), np.int64(high)
    at = shape.tree_at[a] + meet(shape, a, low, high) * shape.values[a] + low
    return np.int64(goal.node_low[at]), np.int64(goal.node_high[at])


@kernel
def cost_of_sides(
    cells: Cells,
    shape: Shape,
    goal: Goal,
    s: int,
    size: int,
    side: np.ndarray,
    kids: int,
    split: int,
    left: int,
    rows: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    classes: np.ndarray,
) -> Any:
    """The cost of all sides of a cut, and rows[j] of each. Cell number `split` has `left` rows on side 0 as well."""
    n, d = cells.n, cells.codes.shape[0]
    rows[:kids] = 0
    for i in range(size):
        rows[side[i]] += n[s + i]
    if split >= 0:
        rows[0] += left
        rows[1] -= left
    if goal.kind == GAIN:
        return class_cost(cells, goal, s, size, side, kids, split, left, rows, classes)
    total = 0.0
    for a in range(d):
        for j in range(kids):
            low[j, a], high[j, a] = FAR, -1
        for i in range(size):
            j, v = side[i], cells.codes[a, s + i]
            if v < low[j, a]:
                low[j, a] = v
            if v > high[j, a]:
                high[j, a] = v
        if split >= 0:
            v = cells.codes[a, s + split]
            low[0, a], high[0, a] = min(low[0, a], v), max(high[0, a], v)
        if goal.kind == NCP:
            for j in range(kids):
                total += rows[j] * shape.weight[a] * ncp_of(shape, a, low[j, a], high[j, a])
    if goal.kind == WORKLOAD:
        for j in range(kids):
            for q in range(len(goal.asks)):
                touched = True
                for a in range(d):
                    if goal.asks[q, a]:
                        first, last = reach(goal, shape, a, low[j, a], high[j, a])
                        at = goal.match_at[a]
                        if goal.match[q, at + last + 1] == goal.match[q, at + first]:
                            touched = False
                            break
                if touched:
                    total += rows[j]
    return total


@kernel
def class_cost(
    cells: Cells,
    goal: Goal,
    s: int,
    size: int,
    side: np.ndarray,
    kids: int,
    split: int,
    left: int,
    rows: np.ndarray,
    classes: np.ndarray,
) -> Any:
    """Rows times the entropy of their classes, over all sides. Only cells that are whole have several classes."""
    classes[:kids] = 0
    for i in range(size):
        c, j = cells.idx[s + i], side[i]
        if goal.start[c + 1] == goal.start[c] + 1:
            classes[j, goal.value[goal.start[c]]] += cells.n[s + i]
        else:
            for k in range(goal.start[c], goal.start[c + 1]):
                classes[j, goal.value[k]] += goal.often[k]
    if split >= 0:
        v = goal.value[goal.start[cells.idx[s + split]]]
        classes[0, v] += left
        classes[1, v] -= left
    total = 0.0
    for j in range(kids):
        total += goal.bits[rows[j]]
        for c in range(goal.classes):
            total -= goal.bits[classes[j, c]]
    return total


@kernel
def sweep_ncp(
    cells: Cells, shape: Shape, s: int, order: np.ndarray, upto: np.ndarray, forth: bool, out: np.ndarray
) -> None:
    """out[i] += the cost of the cells up to place i of an order, or from place i on; upto[i] rows are up to i."""
    codes, size = cells.codes, len(order)
    for a in range(codes.shape[0]):
        low, high = FAR, -1
        share = 0.0
        for k in range(size):
            i = k if forth else size - 1 - k
            v = codes[a, s + order[i]]
            if v < low or v > high:
                low, high = min(low, v), max(high, v)
                share = shape.weight[a] * ncp_of(shape, a, low, high)
            if share > 0:
                out[i] += share * (upto[i] if forth else upto[size - 1] - (upto[i - 1] if i > 0 else 0))


@kernel
def sweep_classes(
    cells: Cells,
    goal: Goal,
    s: int,
    order: np.ndarray,
    upto: np.ndarray,
    forth: bool,
    classes: np.ndarray,
    out: np.ndarray,
) -> None:
    """The same for the entropy of classes."""
    size, spread = len(order), 0.0
    idx, n, start, value, often, bits = cells.idx, cells.n, goal.start, goal.value, goal.often, goal.bits
    classes[:] = 0
    for k in range(size):
        i = k if forth else size - 1 - k
        c = idx[s + order[i]]
        alone = start[c + 1] == start[c] + 1
        for e in range(start[c], start[c + 1]):
            v = value[e]
            spread -= bits[classes[v]]
            classes[v] += n[s + order[i]] if alone else often[e]
            spread += bits[classes[v]]
        out[i] += bits[upto[i] if forth else upto[size - 1] - (upto[i - 1] if i > 0 else 0)] - spread


@kernel
def sweep_queries(
    cells: Cells,
    shape: Shape,
    goal: Goal,
    s: int,
    order: np.ndarray,
    upto: np.ndarray,
    forth: bool,
    since: np.ndarray,
    out: np.ndarray,
) -> None:
    """The same for the rows that queries touch: the more cells, the more queries, each from some cell on."""
    codes, size, queries = cells.codes, len(order), len(goal.asks)
    since[:] = 0
    for a in range(codes.shape[0]):
        asked = False
        for q in range(queries):
            asked = asked or goal.asks[q, a]
        if not asked:
            continue
        at = goal.match_at[a]
        low, high = FAR, -1
        seen_low, seen_high = np.int64(-1), np.int64(-1)
        mine = np.full(queries, size)
        for k in range(size):
            i = k if forth else size - 1 - k
            v = codes[a, s + order[i]]
            if v < low or v > high:
                low, high = min(low, v), max(high, v)
                first, last = reach(goal, shape, a, low, high)
                edge_low, edge_high = np.int64(goal.edges[at + first]), np.int64(goal.edges[at + last])
                if edge_low != seen_low or edge_high != seen_high:
                    seen_low, seen_high = edge_low, edge_high
                    for q in range(queries):
                        if mine[q] == size and goal.match[q, at + last + 1] > goal.match[q, at + first]:
                            mine[q] = k
        for q in range(queries):
            if goal.asks[q, a]:
                since[q] = max(since[q], mine[q])
    begins = np.zeros(size + 1, np.int64)
    for q in range(queries):
        begins[since[q]] += 1
    touched = np.int64(0)
    for k in range(size):
        i = k if forth else size - 1 - k
        touched += begins[k]
        out[i] += touched * (upto[i] if forth else upto[size - 1] - (upto[i - 1] if i > 0 else 0))
