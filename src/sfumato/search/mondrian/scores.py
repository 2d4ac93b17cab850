"""What a cut is worth: the NCP, the bits about a class attribute, or the rows that queries touch, of its sides.

Costs are sums over rows, so that those of the sides add up, and the gain of a cut is what they are below the cost of
the part. Columns are the outer loops: what is the same for all cells of a column is looked up once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sfumato.core.compiled import inner, kernel
from sfumato.search.mondrian.cuts import (
    BALANCED,
    BEST,
    REACH,
    CutRules,
    PartCells,
    PartShape,
    children_of,
    cuts_of,
    longest_of,
    look,
    meet,
    most_values,
    sides_of,
)

FAR = 2**31 - 1


class ClassBits(NamedTuple):
    """The classes of the rows, and what it takes to tell them."""

    start: np.ndarray  # classes of the rows of each cell: runs of (value, how often)
    value: np.ndarray
    often: np.ndarray
    classes: int
    bits: np.ndarray  # x log2 x of whole numbers


class Workload(NamedTuple):
    """Queries, and the places that they match."""

    asks: np.ndarray  # [queries, columns]: whether the query looks at the column
    match: np.ndarray  # [queries, flat]: how many places below one match, of column a from match_at[a]
    match_at: np.ndarray
    edges: np.ndarray  # flat: at how many places up to one the answer of some query changes
    node_low: np.ndarray  # first and last place of each node, flat as the tree
    node_high: np.ndarray


class Goal(NamedTuple):
    """What is scored: bits about classes, rows that queries touch, or with neither the NCP.

    Kernels take the two apart: what looks at one that is None is not compiled.
    """

    gain: ClassBits | None = None
    workload: Workload | None = None


@inner
def ncp_of(shape: PartShape, a: int, low: int, high: int) -> Any:
    """NCP of the places low to high of a column."""
    if low == high:
        return 0.0
    if shape.levels[a] > 0:
        return shape.ncp[shape.tree_at[a] + meet(shape, a, low, high) * shape.values[a] + low]
    if high == shape.missing[a]:
        return 1.0
    at = shape.position_at[a]
    return (shape.position[at + high] - shape.position[at + low] + shape.more[a]) / shape.whole[a]


@inner
def reach(goal: Workload, shape: PartShape, a: int, low: int, high: int) -> tuple[Any, Any]:
    """The places that the label over low to high covers: those of a node where the column has a tree."""
    if shape.levels[a] == 0:
        return np.int64(low), np.int64(high)
    at = shape.tree_at[a] + meet(shape, a, low, high) * shape.values[a] + low
    return np.int64(goal.node_low[at]), np.int64(goal.node_high[at])


@inner
def cost_of_sides(
    cells: PartCells,
    shape: PartShape,
    gain: ClassBits | None,
    workload: Workload | None,
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
    if gain is not None:
        return class_cost(cells, gain, s, size, side, kids, split, left, rows, classes)
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
        if workload is None:
            for j in range(kids):
                total += rows[j] * shape.weight[a] * ncp_of(shape, a, low[j, a], high[j, a])
    if workload is not None:
        for j in range(kids):
            for q in range(len(workload.asks)):
                touched = True
                for a in range(d):
                    if workload.asks[q, a]:
                        first, last = reach(workload, shape, a, low[j, a], high[j, a])
                        at = workload.match_at[a]
                        if workload.match[q, at + last + 1] == workload.match[q, at + first]:
                            touched = False
                            break
                if touched:
                    total += rows[j]
    return total


@inner
def class_cost(
    cells: PartCells,
    goal: ClassBits,
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


@inner
def sweep_ncp(
    cells: PartCells, shape: PartShape, s: int, order: np.ndarray, upto: np.ndarray, forth: bool, out: np.ndarray
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


@inner
def sweep_classes(
    cells: PartCells,
    goal: ClassBits,
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


@inner
def sweep_queries(
    cells: PartCells,
    shape: PartShape,
    goal: Workload,
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


TRIES = 32  # best cuts that are tried where criteria refuse them
UNEVEN = 32  # with every position scored, the smaller side keeps this part of the rows: long chains of cuts are slow
FEW = 48  # cells that are sorted by insertion
SLIGHT = 1e-9  # a gain below this share of the rows is none


@inner
def sort_cells(code: np.ndarray, low: int, high: int, hist: np.ndarray, order: np.ndarray, spare: np.ndarray) -> None:
    """The order of cells by place, equal ones as they stand: by counting, digit by digit where the range is long."""
    size = len(code)
    if size < FEW:
        for i in range(size):
            j = i
            while j > 0 and code[order[j - 1]] > code[i]:
                order[j] = order[j - 1]
                j -= 1
            order[j] = i
        return
    short = high - low + 1 <= len(hist) and high - low < 2 * size + 64
    shift, mask, bins = 0, 2**31 - 1 if short else 255, high - low + 1 if short else 256
    digits = hist if short else np.empty(256, np.int64)
    for i in range(size):
        order[i] = i
    while True:
        digits[:bins] = 0
        for i in range(size):
            digits[((code[i] - low) >> shift) & mask] += 1
        before = np.int64(0)
        for v in range(bins):
            count = digits[v]
            digits[v] = before
            before += count
        for i in range(size):
            at = order[i]
            v = ((code[at] - low) >> shift) & mask
            spare[digits[v]] = at
            digits[v] += 1
        for i in range(size):
            order[i] = spare[i]
        shift += 8
        if short or (high - low) >> shift == 0:
            return


@inner
def even(n: np.ndarray, side: np.ndarray, rows: int, least: int) -> Any:
    """Whether both sides of a strict cut have enough rows for it to be scored by position."""
    left = np.int64(0)
    for i in range(len(n)):
        if side[i] == 0:
            left += n[i]
    return left >= least and rows - left >= least


@inner
def keep_best(
    score: float,
    off: int,
    a: int,
    cut: int,
    take: int,
    near: float,
    most: int,
    found: int,
    scores: np.ndarray,
    tried: np.ndarray,
) -> int:
    """Put a cut among the best so far: by score, then by balance (`off` rows), then the earlier; how many there are."""
    j = found
    while j > 0 and (score < scores[j - 1] - near or (score <= scores[j - 1] + near and off < tried[j - 1, 3])):
        j -= 1
    if j >= most:
        return found
    for i in range(min(found, most - 1), j, -1):
        scores[i] = scores[i - 1]
        for c in range(4):
            tried[i, c] = tried[i - 1, c]
    scores[j] = score
    tried[j, 0], tried[j, 1], tried[j, 2], tried[j, 3] = a, cut, take, off
    return min(found + 1, most)


@kernel
def choose(
    cells: PartCells,
    shape: PartShape,
    rules: CutRules,
    gain: ClassBits | None,
    workload: Workload | None,
    start: np.ndarray,
    end: np.ndarray,
    skip: np.ndarray,
    column: np.ndarray,
    cut: np.ndarray,
    take: np.ndarray,
) -> None:
    """For each part [start, end) its cut number skip[p] among those that gain, best first.

    column[p] < 0: there is none, and skip[p] is what is left to skip of the cuts by width. With BEST every position of
    a column is scored, of a workload those where an answer changes; else its cuts at the median.
    """
    d = cells.codes.shape[0]
    low, high, rank = np.empty(d, np.int64), np.empty(d, np.int64), np.empty(d, np.int64)
    wide = np.empty(d, np.float64)
    cuts, takes = np.empty(REACH + 3, np.int64), np.empty(REACH + 3, np.int64)
    longest, most, tallest = longest_of(start, end), most_values(shape) + 1, np.int64(2)
    nothing, none, one = np.int64(0), np.int64(-1), np.int64(1)  # of one type: each other one would be compiled for
    for a in range(d):
        if shape.multiway[a]:
            tallest = max(tallest, shape.values[a])
    hist = np.zeros(max(min(2 * longest + 64, most), 1), np.int64)
    side, places, spare = np.zeros(longest, np.int32), np.empty(longest, np.int32), np.empty(longest, np.int32)
    side_of, node_side = np.empty(most, np.int32), np.empty(most, np.int32)
    node_rows, side_rows = np.empty(most, np.int64), np.empty(tallest, np.int64)
    lows, highs = np.empty((tallest, d), np.int64), np.empty((tallest, d), np.int64)
    kinds = queries = nothing
    if gain is not None:
        kinds = np.int64(gain.classes)
    if workload is not None:
        queries = np.int64(len(workload.asks))
    classes = np.empty((tallest, kinds), np.int64)
    sweep = rules.how == BEST
    since = np.empty(queries, np.int64)
    ups = np.empty(longest if sweep else 0, np.int64)
    left_costs, right_costs = np.empty(len(ups), np.float64), np.empty(len(ups), np.float64)
    scores, tried = np.empty(TRIES, np.float64), np.empty((TRIES, 4), np.int64)
    plain = CutRules(rules.least, BALANCED if sweep else rules.how, rules.relaxed, rules.order, rules.seed)
    for p in range(len(start)):
        s, e = start[p], end[p]
        size = e - s
        column[p] = -1
        rows = np.int64(0)
        for i in range(s, e):
            rows += cells.n[i]
        if rows < 2 * rules.least or size < 2:
            continue
        look(cells, shape, s, e, rules, low, high, wide, rank)
        side[:size] = 0
        near = SLIGHT * rows
        whole = cost_of_sides(
            cells, shape, gain, workload, s, size, side, one, none, nothing, side_rows, lows, highs, classes
        )
        bar = whole - near
        wanted, found = min(skip[p] + 1, TRIES), nothing
        least = max(rules.least, rows // UNEVEN)
        for r in range(d):
            a = rank[r]
            if low[a] == high[a]:
                continue
            code, n = cells.codes[a, s:e], cells.n[s:e]
            if shape.multiway[a]:
                kids, kind = children_of(code, n, shape, a, low[a], high[a], rules, side_of, node_rows, node_side)
                cuts[0], takes[0] = kind, 0
                options = 1 if kids >= 2 else 0
            else:
                kids = one + 1
                options = cuts_of(
                    code, n, low[a], high[a], shape.missing[a], rows, plain, shape.loose[a], one + 2, hist, cuts, takes
                )
            for o in range(options):
                split, left = sides_of(code, n, cuts[o], takes[o], side_of, side)
                swept = sweep and workload is None and not shape.multiway[a] and takes[o] == 0
                if swept and even(n, side, rows, least):
                    continue  # it is among the positions scored below
                total = cost_of_sides(
                    cells, shape, gain, workload, s, size, side, kids, split, left, side_rows, lows, highs, classes
                )
                if total < bar:
                    off = abs(rows - 2 * side_rows[0])
                    found = keep_best(total, off, a, cuts[o], takes[o], near, wanted, found, scores, tried)
            if not sweep or shape.multiway[a]:
                continue
            order, upto, before, after = places[:size], ups[:size], left_costs[:size], right_costs[:size]
            sort_cells(code, low[a], high[a], hist, order, spare[:size])
            rising = np.int64(0)
            for i in range(size):
                rising += n[order[i]]
                upto[i] = rising
            before[:] = 0.0
            after[:] = 0.0
            for forth, out in ((True, before), (False, after)):
                if gain is not None:
                    sweep_classes(cells, gain, s, order, upto, forth, classes[0], out)
                elif workload is not None:
                    sweep_queries(cells, shape, workload, s, order, upto, forth, since, out)
                else:
                    sweep_ncp(cells, shape, s, order, upto, forth, out)
            for i in range(size - 1):
                v, w = np.int64(code[order[i]]), np.int64(code[order[i + 1]])
                total = before[i] + after[i + 1]
                if v == w or total >= bar or upto[i] < least or rows - upto[i] < least:
                    continue
                if workload is not None:
                    first = workload.match_at[a]
                    if workload.edges[first + v] == workload.edges[first + w]:
                        continue
                found = keep_best(total, abs(rows - 2 * upto[i]), a, w, nothing, near, wanted, found, scores, tried)
        if found > skip[p]:
            column[p], cut[p], take[p] = tried[skip[p], 0], tried[skip[p], 1], tried[skip[p], 2]
        else:
            skip[p] -= found
