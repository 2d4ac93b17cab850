"""The cut of each part that scores best, among all columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.kernels import kernel
from sfumato.kernels.mondrian_cuts import (
    BALANCED,
    BEST,
    REACH,
    Cells,
    Rules,
    Shape,
    children_of,
    cuts_of,
    longest_of,
    look,
    most_values,
    sides_of,
)
from sfumato.kernels.mondrian_scores import (
    GAIN,
    NCP,
    WORKLOAD,
    Goal,
    cost_of_sides,
    sweep_classes,
    sweep_ncp,
    sweep_queries,
)

TRIES = 32  # best cuts that are tried where criteria refuse them
UNEVEN = 32  # with every position scored, the smaller side keeps this part of the rows: long chains of cuts are slow
FEW = 48  # cells that are sorted by insertion
SLIGHT = 1e-9  # a gain below this share of the rows is none


@kernel
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


@kernel
def even(n: np.ndarray, side: np.ndarray, rows: int, least: int) -> Any:
    """Whether both sides of a strict cut have enough rows for it to be scored by position."""
    left = np.int64(0)
    for i in range(len(n)):
        if side[i] == 0:
            left += n[i]
    return left >= least and rows - left >= least


@kernel
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
    cells: Cells,
    shape: Shape,
    rules: Rules,
    goal: Goal,
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
    classes = np.empty((tallest, goal.classes), np.int64)
    sweep = rules.how == BEST
    since = np.empty(len(goal.asks), np.int64)
    ups = np.empty(longest if sweep else 0, np.int64)
    left_costs, right_costs = np.empty(len(ups), np.float64), np.empty(len(ups), np.float64)
    scores, tried = np.empty(TRIES, np.float64), np.empty((TRIES, 4), np.int64)
    plain = Rules(rules.least, BALANCED if sweep else rules.how, rules.relaxed, rules.widest)
    for p in range(len(start)):
        s, e = start[p], end[p]
        size = e - s
        column[p] = -1
        rows = np.int64(0)
        for i in range(s, e):
            rows += cells.n[i]
        if rows < 2 * rules.least or size < 2:
            continue
        look(cells, shape, s, e, rules.widest, low, high, wide, rank)
        side[:size] = 0
        near = SLIGHT * rows
        bar = (
            cost_of_sides(cells, shape, goal, s, size, side, one, none, nothing, side_rows, lows, highs, classes) - near
        )
        wanted, found = min(skip[p] + 1, TRIES), 0
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
                swept = sweep and goal.kind != WORKLOAD and not shape.multiway[a] and takes[o] == 0
                if swept and even(n, side, rows, least):
                    continue  # it is among the positions scored below
                total = cost_of_sides(
                    cells, shape, goal, s, size, side, kids, split, left, side_rows, lows, highs, classes
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
                if goal.kind == NCP:
                    sweep_ncp(cells, shape, s, order, upto, forth, out)
                elif goal.kind == GAIN:
                    sweep_classes(cells, goal, s, order, upto, forth, classes[0], out)
                else:
                    sweep_queries(cells, shape, goal, s, order, upto, forth, since, out)
            for i in range(size - 1):
                v, w = np.int64(code[order[i]]), np.int64(code[order[i + 1]])
                total = before[i] + after[i + 1]
                if v == w or total >= bar or upto[i] < least or rows - upto[i] < least:
                    continue
                if goal.kind == WORKLOAD and goal.edges[goal.match_at[a] + v] == goal.edges[goal.match_at[a] + w]:
                    continue
                found = keep_best(total, abs(rows - 2 * upto[i]), a, w, nothing, near, wanted, found, scores, tried)
        if found > skip[p]:
            column[p], cut[p], take[p] = tried[skip[p], 0], tried[skip[p], 1], tried[skip[p], 2]
        else:
            skip[p] -= found
