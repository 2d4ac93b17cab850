"""One round of Mondrian with every kind of cut: which cuts a part has, and its cells dealt to the sides of one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sfumato.core.compiled import inner, kernel
from sfumato.search.clustering.kernels import drawn, seeded
from sfumato.search.mondrian.rounds import weighted_median

LOWER_MEDIAN, BALANCED, BEST = 0, 1, 2
FIRST, WIDEST, RANDOM = 0, 1, 2
CHILDREN, GROUPED = -1, -2  # in place of a cut: into the children of a node, small ones alone or put together
REACH = 16  # cuts of a column that are tried outward from its median


class PartShape(NamedTuple):
    """The columns: how places in the order of cutting lie on a line, or under the nodes of a tree."""

    values: np.ndarray  # places per column
    missing: np.ndarray  # the place of missing values, -1 without
    span: np.ndarray
    position: np.ndarray  # of each place on the line, flat, of column a from position_at[a]
    position_at: np.ndarray
    levels: np.ndarray  # of the tree, 0 without
    tree: np.ndarray  # flat: node of each place, level by level, of column a from tree_at[a]
    width: np.ndarray  # of that node, 0 to 1
    tree_at: np.ndarray
    multiway: np.ndarray  # cut at the children of the node spanned, not in two
    loose: np.ndarray  # relaxed cuts may deal rows of one value to both sides
    ncp: np.ndarray  # of that node, flat as the tree
    more: np.ndarray  # without a tree NCP is (length on the line + more) / whole
    whole: np.ndarray
    weight: np.ndarray  # of the column in the sum of NCP


class PartCells(NamedTuple):
    """The cells in the order of their parts, and room for the next order."""

    codes: np.ndarray  # places, [columns, cells]
    n: np.ndarray
    idx: np.ndarray
    codes2: np.ndarray
    n2: np.ndarray
    idx2: np.ndarray


class CutRules(NamedTuple):
    """What may be cut, and what is cut first."""

    least: int  # rows of a side
    how: int  # LOWER_MEDIAN, BALANCED or BEST
    relaxed: bool
    order: int  # of the columns that are tried: FIRST, WIDEST or RANDOM
    seed: int = 0


@inner
def longest_of(start: np.ndarray, end: np.ndarray) -> Any:
    """The most cells that a part has."""
    longest = np.int64(0)
    for p in range(len(start)):
        longest = max(longest, end[p] - start[p])
    return longest


@inner
def most_values(shape: PartShape) -> Any:
    """The most values that a column has."""
    most = np.int64(0)
    for a in range(len(shape.values)):
        most = max(most, shape.values[a])
    return most


@inner
def meet(shape: PartShape, a: int, low: int, high: int) -> Any:
    """The lowest level at which two places stand under one node."""
    level, base, values = 0, shape.tree_at[a], shape.values[a]
    while shape.tree[base + level * values + low] != shape.tree[base + level * values + high]:
        level += 1
    return level


@kernel
def look(
    cells: PartCells,
    shape: PartShape,
    s: int,
    e: int,
    rules: CutRules,
    low: np.ndarray,
    high: np.ndarray,
    wide: np.ndarray,
    rank: np.ndarray,
) -> None:
    """The range of a part in each column, and the columns in the order in which they are tried."""
    d = len(low)
    state = seeded(rules.seed, s * np.int64(1000003) + e)  # a part is known by where it starts and ends
    for a in range(d):
        lo = cells.codes[a, s]
        hi = lo
        for i in range(s + 1, e):
            v = cells.codes[a, i]
            lo = min(lo, v)
            hi = max(hi, v)
        low[a], high[a], rank[a] = lo, hi, a
        if lo == hi:
            wide[a] = -1.0
        elif shape.levels[a] > 0:
            wide[a] = shape.width[shape.tree_at[a] + meet(shape, a, np.int64(lo), np.int64(hi)) * shape.values[a] + lo]
        elif hi == shape.missing[a]:
            wide[a] = 1.0
        elif shape.span[a] > 0:
            at = shape.position_at[a]
            wide[a] = (shape.position[at + hi] - shape.position[at + lo]) / shape.span[a]
        else:
            wide[a] = 0.0
        if rules.order == RANDOM:
            state, wide[a] = drawn(state)
    if rules.order != FIRST:
        for i in range(1, d):
            a = rank[i]
            j = i - 1
            while j >= 0 and wide[rank[j]] < wide[a]:
                rank[j + 1] = rank[j]
                j -= 1
            rank[j + 1] = a


@kernel
def cuts_of(
    code: np.ndarray,
    n: np.ndarray,
    low: int,
    high: int,
    missing: int,
    rows: int,
    rules: CutRules,
    loose: bool,
    most: int,
    hist: np.ndarray,
    cuts: np.ndarray,
    takes: np.ndarray,
) -> int:
    """Up to `most` allowed cuts of a column with order: missing values off, then by falling balance.

    To the left go the rows below cuts[j], and takes[j] of the rows at it, where the column is `loose`.
    """
    found = 0
    if high == missing:
        gone = np.int64(0)
        for i in range(len(code)):
            if code[i] == missing:
                gone += n[i]
        if gone >= rules.least and rows - gone >= rules.least:
            cuts[0], takes[0] = missing, 0
            found = 1
    if found >= most:
        return found
    m, below, upto = weighted_median(code, n, low, high, (rows - 1) // 2, hist)
    spent = np.int64(-1)  # rows to the left of a cut that is taken already
    if rules.relaxed and loose:
        half = rows // 2
        takes[found] = 0
        if below == half:
            cuts[found], spent = m, below
        elif upto == half or upto == rows - half:
            cuts[found], spent = m + 1, upto
        else:
            cuts[found], takes[found] = m, half - below
        found += 1
        if rules.how != BEST:
            return found
    under, over = np.int64(m), np.int64(m + 1)
    down, up = rules.how != LOWER_MEDIAN and below >= rules.least, rows - upto >= rules.least
    steps = 0
    while found < most and steps < REACH and (down or up):
        steps += 1
        if down and (not up or abs(rows - 2 * below) < abs(rows - 2 * upto)):
            if below != spent:
                cuts[found], takes[found] = under, 0
                found += 1
            down = False
            if rules.how == BEST and found < most:
                following = np.int64(-1)
                for i in range(len(code)):
                    if code[i] < under:
                        following = max(following, code[i])
                for i in range(len(code)):
                    if code[i] == following:
                        below -= n[i]
                under, down = following, below >= rules.least
        else:
            if upto != spent:
                cuts[found], takes[found] = over, 0
                found += 1
            up = False
            if rules.how == BEST and found < most:
                following = np.int64(high)
                for i in range(len(code)):
                    if code[i] >= over:
                        following = min(following, code[i])
                for i in range(len(code)):
                    if code[i] == following:
                        upto += n[i]
                over, up = following + 1, rows - upto >= rules.least
    return found


@kernel
def children_of(
    code: np.ndarray,
    n: np.ndarray,
    shape: PartShape,
    a: int,
    low: int,
    high: int,
    rules: CutRules,
    side_of: np.ndarray,
    node_rows: np.ndarray,
    node_side: np.ndarray,
) -> tuple[Any, Any]:
    """Cut a part at the children of the node that it spans: the number of sides (0: not allowed), and the kind of cut.

    side_of[place] is the side of a place. With BEST, children that are too small go together, and to the smallest of
    the others where even together they are too small; where all are too small, they are cut in two at the best balance.
    """
    base = shape.tree_at[a] + (meet(shape, a, low, high) - 1) * shape.values[a]
    for v in range(low, high + 1):
        node_rows[shape.tree[base + v]] = 0
        node_side[shape.tree[base + v]] = -1
    rows = np.int64(0)
    for i in range(len(code)):
        node_rows[shape.tree[base + code[i]]] += n[i]
        rows += n[i]
    large = small = kids = 0
    rest = np.int64(0)
    smallest = -1
    for v in range(low, high + 1):
        c = shape.tree[base + v]
        if node_side[c] < 0 and node_rows[c] > 0:
            node_side[c] = kids
            kids += 1
            if node_rows[c] < rules.least:
                small += 1
                rest += node_rows[c]
            else:
                large += 1
                if smallest < 0 or node_rows[c] < node_rows[smallest]:
                    smallest = c
    kind = CHILDREN
    if small > 0:
        if rules.how != BEST or rows < 2 * rules.least:
            return 0, kind
        kind = GROUPED
        seen, kids = -1, 0
        if large == 0:
            before, cut, best = np.int64(0), -1, rows
            for v in range(low, high + 1):
                c = shape.tree[base + v]
                if c != seen and node_rows[c] > 0:
                    if before >= rules.least and rows - before >= rules.least and abs(rows - 2 * before) < best:
                        cut, best = v, abs(rows - 2 * before)
                    before += node_rows[c]
                    seen = c
            if cut < 0:
                return 0, kind
            for v in range(low, high + 1):
                node_side[shape.tree[base + v]] = 0 if v < cut else 1
            kids = 2
        else:
            join = smallest if rest < rules.least else -1
            if join >= 0 and large == 1:
                return 0, kind
            shared = -1
            for v in range(low, high + 1):
                c = shape.tree[base + v]
                if c != seen and node_rows[c] > 0:
                    if node_rows[c] < rules.least or c == join:
                        if shared < 0:
                            shared = kids
                            kids += 1
                        node_side[c] = shared
                    else:
                        node_side[c] = kids
                        kids += 1
                    seen = c
    for v in range(low, high + 1):
        side_of[v] = node_side[shape.tree[base + v]]
    return kids, kind


@inner
def sides_of(
    code: np.ndarray, n: np.ndarray, cut: int, take: int, side_of: np.ndarray, side: np.ndarray
) -> tuple[Any, Any]:
    """The side of each cell; with `take`, the cell of which only some rows go left (else -1), and how many do."""
    split, left = -1, np.int64(0)
    if cut < 0:
        for i in range(len(code)):
            side[i] = side_of[code[i]]
        return split, left
    for i in range(len(code)):
        if code[i] != cut:
            side[i] = 0 if code[i] < cut else 1
        elif take >= n[i]:
            side[i] = 0
            take -= n[i]
        else:
            side[i] = 1
            if take > 0:
                split, left, take = i, np.int64(take), 0
    return split, left


@kernel
def deal(
    cells: PartCells,
    s: int,
    e: int,
    side: np.ndarray,
    kids: int,
    split: int,
    left: int,
    rules: CutRules,
    first: np.ndarray,
    last: np.ndarray,
    rows: np.ndarray,
) -> None:
    """Copy the cells of a part, side by side and in their order, to the room beside.

    A side that may still have its cells cut into pieces gets room for as many pieces as there can be. A cell of which
    `left` rows go left is copied to both.
    """
    d = cells.codes.shape[0]
    for j in range(kids):
        rows[j] = last[s + j] = 0
    for i in range(s, e):
        rows[side[i - s]] += cells.n[i]
        last[s + side[i - s]] += 1
    if split >= 0:
        rows[0] += left
        rows[1] -= left
        last[s] += 1
    place = s
    for j in range(kids):
        count = last[s + j]
        first[s + j] = last[s + j] = place
        place += count
        if rules.relaxed:
            place += min(rows[j] // rules.least - 1, rows[j] - count)
    for i in range(s, e):
        at = s + side[i - s]
        j = last[at]
        last[at] += 1
        for b in range(d):
            cells.codes2[b, j] = cells.codes[b, i]
        cells.n2[j] = cells.n[i]
        cells.idx2[j] = cells.idx[i]
        if i - s == split:
            cells.n2[j] -= left
            j = last[s]
            last[s] += 1
            for b in range(d):
                cells.codes2[b, j] = cells.codes[b, i]
            cells.n2[j] = left
            cells.idx2[j] = cells.idx[i]


@kernel
def settle(cells: PartCells, first: np.ndarray, last: np.ndarray) -> None:
    """Take the new order of the sides [first, last) over."""
    for p in range(len(first)):
        for b in range(cells.codes.shape[0]):
            for i in range(first[p], last[p]):
                cells.codes[b, i] = cells.codes2[b, i]
        for i in range(first[p], last[p]):
            cells.n[i] = cells.n2[i]
            cells.idx[i] = cells.idx2[i]


@kernel
def cut_parts(
    cells: PartCells,
    shape: PartShape,
    rules: CutRules,
    start: np.ndarray,
    end: np.ndarray,
    skip: np.ndarray,
    column: np.ndarray,
    cut: np.ndarray,
    take: np.ndarray,
    kids: np.ndarray,
    first: np.ndarray,
    last: np.ndarray,
) -> None:
    """Cut each part [start, end) as chosen, or, where column[p] < 0, at its allowed cut number skip[p].

    Columns are tried as `look` ranks them. The cells are dealt to the room beside: nothing is moved before `settle`.
    kids[p] is the number of sides (0: no cut left); side j is first[start[p] + j] to last[start[p] + j].
    """
    d = cells.codes.shape[0]
    low, high, rank = np.empty(d, np.int64), np.empty(d, np.int64), np.empty(d, np.int64)
    wide = np.empty(d, np.float64)
    cuts, takes = np.empty(REACH + 3, np.int64), np.empty(REACH + 3, np.int64)
    longest, most = longest_of(start, end), most_values(shape) + 1
    hist = np.zeros(max(min(2 * longest + 64, most), 1), np.int64)
    side = np.empty(longest, np.int32)
    side_of, node_side = np.empty(most, np.int32), np.empty(most, np.int32)
    node_rows, side_rows = np.empty(most, np.int64), np.empty(max(most, 2), np.int64)
    for p in range(len(start)):
        s, e = start[p], end[p]
        kids[p] = 0
        rows = np.int64(0)
        for i in range(s, e):
            rows += cells.n[i]
        if rows < 2 * rules.least or e - s < 2:
            continue
        look(cells, shape, s, e, rules, low, high, wide, rank)
        chosen, at, part = column[p], cut[p], take[p]
        wait = skip[p]
        sides = 2
        for r in range(d):
            a = rank[r] if column[p] < 0 else chosen
            if low[a] == high[a]:
                continue
            if shape.multiway[a]:
                sides, kind = children_of(
                    cells.codes[a, s:e], cells.n[s:e], shape, a, low[a], high[a], rules, side_of, node_rows, node_side
                )
                if sides < 2:
                    continue
                if column[p] >= 0 or wait == 0:
                    chosen, at, part = a, kind, 0
                    break
                wait -= 1
            elif column[p] >= 0:
                break
            else:
                found = cuts_of(
                    cells.codes[a, s:e], cells.n[s:e], low[a], high[a], shape.missing[a], rows, rules, shape.loose[a],
                    min(wait + 1, REACH + 3), hist, cuts, takes,
                )  # fmt: skip
                if found > wait:
                    chosen, at, part, sides = a, cuts[wait], takes[wait], 2
                    break
                wait -= found
        if chosen < 0:
            continue
        split, left = sides_of(cells.codes[chosen, s:e], cells.n[s:e], at, part, side_of, side)
        kids[p] = sides
        deal(cells, s, e, side, sides, split, left, rules, first, last, side_rows)
