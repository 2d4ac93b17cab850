"""Searching a listed lattice over few cells in compiled code, where each node is checked in the light of all before it.

It finds what `optimal.descend` and `optimal.sweep` find. Those check many nodes at a time, in several threads, which
pays for many cells alone.
"""

from __future__ import annotations

from functools import reduce
from typing import NamedTuple

import numpy as np

from sfumato.core.compiled import inlined, inner, kernel
from sfumato.core.policy import TOLERANCE
from sfumato.search.lattice.checker import SMALL_TABLE
from sfumato.search.lattice.kernels import group_cells, group_room, number_labels, raise_boxes
from sfumato.search.lattice.state import LISTED, SHRINKS, LatticeState
from sfumato.search.lattice.value_limits import DENSE, bound_nodes

FEW_CELLS = 1 << 16  # of a table; with more of them threads pay
ROOM = 1 << 20  # cells of all sources
SOURCES = 1 << 12
OFTEN = 8  # times that levels of the widest attributes are met before cells are rolled up to them
ASIDE = 2  # wide columns that are tried at their root first
PAUSE = 256  # checks until bounds, limits and progress are looked at


STRIDE, LEAST, TOP, WIDEST, PREFIX, LEVEL = range(6)  # rows of `VisitedNodes.attributes`
COLUMN, WIDTH, START, PLACE, CODE = range(5)  # rows of `Maps.fused`
RADIX, AT, SIZE = range(3)  # rows of `Maps.columns`
CELL, VALUE = range(2)  # rows of `Pool.entries`
CELLS, ENTRIES, USED = range(3)  # rows of `Pool.sources`


class VisitedNodes(NamedTuple):
    """The nodes, and what is known of them. Few arrays compile far sooner than many: hence numbered rows."""

    nodes: np.ndarray  # int64 [nodes, attributes]
    attributes: np.ndarray  # stride, least and top level; the attributes by their number of values; where the prefixes
    # of levels of so many of these begin in `source` and `met`; room for levels
    source: np.ndarray  # of nodes with a prefix of levels, -1: not yet known
    met: np.ndarray  # how often a prefix was met
    seen: np.ndarray
    floor: np.ndarray  # rows that a node suppresses at least
    corners: np.ndarray  # room for those of a box


class Maps(NamedTuple):
    """From the codes of fused columns to labels, made as they are needed: see `checker.FusedColumns`."""

    fused: np.ndarray  # per fused column: its first column, how many codes it has, where its maps, their sizes, and the
    # codes of its columns begin
    columns: np.ndarray  # of the levels of a column in the number of a map; room for two numbers per column
    size: np.ndarray  # labels of each map, 0: not yet made
    maps: np.ndarray
    ladders: np.ndarray
    tables: np.ndarray  # where the labels of each column and level begin in `ladders`, and how many there are
    codes: np.ndarray  # those of the columns per code of a fused column, one fused column after the other
    seen: np.ndarray
    at: np.ndarray  # where the maps of the last node begin
    sizes: np.ndarray  # and how many labels they have


class Pool(NamedTuple):
    """Cells rolled up to levels of the widest attributes, one source after the other; the first has all cells."""

    fused: np.ndarray
    rows: np.ndarray  # of each cell
    entries: np.ndarray  # of the histogram: cell and value
    times: np.ndarray  # and how often it is there
    sources: np.ndarray  # where the cells and entries of each source begin, and the end; how many sources there are
    table: np.ndarray  # room for the values of all cells


Room = tuple[np.ndarray, np.ndarray, np.ndarray]  # as of `group_room`
Values = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # as the arguments of `bound_nodes`


@inner
def map_node(levels: np.ndarray, m: Maps) -> None:
    """Where the map of each fused column lies at some levels, and how many labels it has."""
    for g in range(m.at.shape[1]):
        first, last, width, number = m.fused[COLUMN, g], m.fused[COLUMN, g + 1], m.fused[WIDTH, g], 0
        for a in range(first, last):
            number += levels[a] * m.columns[RADIX, a]
        begin, place = m.fused[START, g] + number * width, m.fused[PLACE, g] + number
        if m.size[place] == 0:
            columns, code = last - first, m.fused[CODE, g]
            for a in range(first, last):
                m.columns[AT, a - first] = m.tables[0, a, levels[a]]
                m.columns[SIZE, a - first] = m.tables[1, a, levels[a]]
            m.size[place] = number_labels(
                m.codes[code : code + columns * width].reshape((columns, width)), m.ladders, m.columns[AT, :columns],
                m.columns[SIZE, :columns], m.seen, m.maps[begin : begin + width],
            )  # fmt: skip
        m.at[0, g], m.sizes[0, g] = begin, m.size[place]


@inner
def roll_source(s: int, levels: np.ndarray, m: Maps, pool: Pool, room: Room) -> int:
    """The source for generalisations of some levels, from one that serves them as well; that itself, where a new one
    has not far fewer cells or there is no room for it."""
    slot, rows, keys = room
    groups, new = m.at.shape[1], pool.sources[USED, 0]
    first, last, begin = pool.sources[CELLS, s], pool.sources[CELLS, s + 1], pool.sources[CELLS, new]
    cells, count = last - first, pool.rows[first:last]
    fused = pool.fused[groups * first : groups * last].reshape((groups, cells))
    map_node(levels, m)
    within = rows[: max(SMALL_TABLE, 4 * cells)]
    slots = group_cells(fused, count, cells, m.maps, m.at[0], m.sizes[0], slot, within, keys)
    classes = 0
    for j in range(slots):
        classes += rows[j] > 0
    first, last, entry = pool.sources[ENTRIES, s], pool.sources[ENTRIES, s + 1], pool.sources[ENTRIES, new]
    full = begin + classes > len(pool.rows) or entry + last - first >= len(pool.times) or new == SOURCES
    if full or classes > SHRINKS * cells:
        return s
    c = 0
    for j in range(slots):
        if rows[j] > 0:
            pool.rows[begin + c] = rows[j]
            rows[j] = c
            c += 1
    for i in range(cells):  # of the cells that are one now, the last one lends its codes
        for g in range(groups):
            pool.fused[groups * begin + g * classes + rows[slot[i]]] = fused[g, i]
    values = len(pool.table) // len(slot)
    pool.table[: classes * values] = 0
    for e in range(first, last):
        pool.table[rows[slot[pool.entries[CELL, e]]] * values + pool.entries[VALUE, e]] += pool.times[e]
    for c in range(classes):
        for v in range(values):
            n = pool.table[c * values + v]  # without a branch, which would be guessed wrong too often
            pool.entries[CELL, entry], pool.entries[VALUE, entry], pool.times[entry] = c, v, n
            entry += n > 0
    pool.sources[CELLS, new + 1], pool.sources[ENTRIES, new + 1] = begin + classes, entry
    pool.sources[USED, 0] = new + 1
    return int(new)


@inlined
def serve(node: int, only_root: bool, x: VisitedNodes, m: Maps, pool: Pool, room: Room) -> int:
    """The source of a node, with few cells: those that are alike at its levels of the widest attributes. At the root
    cells are rolled up at once, at other levels where these are met often; see `LatticeState.serve`."""
    levels = x.attributes[LEVEL]
    for a in range(len(levels)):  # assigned as arrays they would take two seconds more to compile
        levels[a] = x.attributes[LEAST, a]
    s, key, root = np.int64(0), 0, True
    for depth in range(len(levels)):
        a = x.attributes[WIDEST, depth]
        least, top, own = x.attributes[LEAST, a], x.attributes[TOP, a], x.nodes[node, a]
        key = key * (top + 1 - least) + own - least
        levels[a] = own
        root = root and own == top
        place = x.attributes[PREFIX, depth] + key
        if x.source[place] < 0:
            if own == least:
                x.source[place] = s
                continue
            x.met[place] += 1
            if not root and (only_root or x.met[place] < OFTEN):
                break
            x.source[place] = roll_source(s, levels, m, pool, room)
        s = np.int64(x.source[place])
    return int(s)


@kernel
def visit_nodes(
    order: np.ndarray,
    begin: int,
    most: int,
    bound: np.ndarray,
    best: float,
    least: int,
    limit: int,
    prunes: bool,
    aside: np.ndarray,
    only_root: bool,
    low: np.ndarray,
    x: VisitedNodes,
    m: Maps,
    pool: Pool,
    room: Room,
    values: Values | None,
) -> tuple[int, int, bool]:
    """Check the nodes order[begin:] in turn, until one suppresses at most `limit` rows or there were `most` checks:
    how far it came, how many it checked, and whether that is why.

    Passed over are nodes that were seen, that suppress more than the limit by what is known of others, and whose bound
    of the loss is above the best. With each column of `aside` at its root a node is tried first: that is cheap, and
    where it suppresses too much already, so does the node. Where a node `prunes`, no specialisation of one that fails
    satisfies. `values` are the shares, numbers and logarithms of `Limits`, and room for what `bound_nodes` finds; `low`
    is room for a number.
    """
    slot, rows, keys = room
    stride, groups, checks = x.attributes[STRIDE], m.at.shape[1], 0
    for place in range(begin, len(order)):
        last = order[place]
        if bound[last] > best:
            continue
        for step in range(len(aside) + 1):
            if x.seen[last] or x.floor[last] > limit:
                break
            node = last
            if step < len(aside):
                a = aside[step]
                node += (x.attributes[TOP, a] - x.nodes[last, a]) * stride[a]
            if x.seen[node] or x.floor[node] > limit or (node == last and step < len(aside)):
                continue
            if checks >= most:
                return place, checks, False
            s = serve(node, only_root, x, m, pool, room)
            first, end = pool.sources[CELLS, s], pool.sources[CELLS, s + 1]
            count = pool.rows[first:end]
            fused = pool.fused[groups * first : groups * end].reshape((groups, end - first))
            within = rows[: max(SMALL_TABLE, 4 * len(count))]
            map_node(x.nodes[node], m)
            suppressed = 0.0
            if values is None:
                for j in range(group_cells(fused, count, len(count), m.maps, m.at[0], m.sizes[0], slot, within, keys)):
                    suppressed += within[j] if within[j] < least else 0
            else:
                shares, numbers, logs, table, found = values
                first, end = pool.sources[ENTRIES, s], pool.sources[ENTRIES, s + 1]
                found[:], low[:] = 0, 0
                bound_nodes(
                    fused, count, pool.entries[CELL, first:end], pool.entries[VALUE, first:end], pool.times[first:end],
                    m.maps, m.at, m.sizes, least, limit, limit, shares, numbers, logs, slot, within, keys, table, found,
                    low,
                )  # fmt: skip
                suppressed = found[0, 0]
            checks += 1
            if suppressed <= limit:
                if node == last:
                    x.seen[node] = True
                    return place, checks, True
                x.seen[node] = bound[node] > best  # else its turn comes
                continue
            x.seen[node] = True
            if prunes:
                low[0] = limit + 1
            for a in range(len(stride)):
                x.corners[1, 0, a] = x.nodes[node, a] - x.attributes[LEAST, a]
            raise_boxes(x.floor, stride, x.corners[0], x.corners[1], low, x.attributes[LEVEL])
    return len(order), checks, False


class Visitor:
    """The arrays of a search over few cells, and what it has come to."""

    def __init__(self, walk: LatticeState) -> None:
        self.walk = walk
        self.aside = walk.widest[:ASIDE] if walk.by_size else walk.widest[:0]
        self.aside = self.aside[walk.greatest[self.aside] == walk.tops[self.aside]]
        self.prunes = walk.monotone
        self.only_root = walk.limit > 0 and walk.costs.by_value
        self.nodes = walk.lattice.nodes().astype(np.int64)
        self.bound = walk.bounds(self.nodes)
        self.cells = walk.sources[0].cells
        self.lattice, self.maps, self.pool = self._lattice(), self._maps(), self._pool()
        self.room = group_room(len(self.cells))
        self.low = np.zeros(1)
        self.values: Values | None = None
        if (limits := walk.limits) is not None:
            room = limits.room(self.room), np.zeros((1, 5))
            self.values = limits.shares, limits.numbers, limits.logs, *room

    def _lattice(self) -> VisitedNodes:
        walk = self.walk
        ends = np.cumsum([0, *np.cumprod((walk.tops - walk.least + 1)[walk.widest])])
        source, met = np.full(ends[-1], -1, np.int32), np.zeros(ends[-1], np.int32)
        attributes = np.stack([walk.stride, walk.least, walk.tops, walk.widest, ends[:-1], walk.least])
        seen, corners = np.zeros(len(self.nodes), np.bool_), np.zeros((2, 1, walk.d), np.int64)
        return VisitedNodes(self.nodes, attributes, source, met, seen, walk.floor, corners)

    def _maps(self) -> Maps:
        columns, ladders = self.walk.sources[0].columns, self.walk.sources[0].ladders
        width = np.array([values.shape[1] for values in columns.values])
        number = np.array([len(at) for at in columns.at])
        codes = [np.ascontiguousarray(values).reshape(-1) for values in columns.values]
        begin = [
            np.cumsum([0, *sizes]) for sizes in (map(len, columns.columns), number * width, number, map(len, codes))
        ]
        fused = np.stack([begin[0], np.append(width, 0), *begin[1:]])
        radix = np.concatenate(columns.radix)
        at = np.empty((1, len(width)), np.int64)
        return Maps(
            fused, np.stack([radix, radix, radix]), np.zeros(fused[PLACE, -1], np.int64),
            np.empty(fused[START, -1], np.int32), ladders.flat, ladders.tables, np.concatenate(codes), columns.seen, at,
            at.copy(),
        )  # fmt: skip

    def _pool(self) -> Pool:
        limits, first, cells = self.walk.limits, self.walk.sources[0], len(self.cells)
        fused, rows = np.empty(len(first.fused) * ROOM, np.int32), np.empty(ROOM, np.int64)
        fused[: first.fused.size], rows[:cells] = first.fused.reshape(-1), self.cells.count
        sources = np.zeros((3, SOURCES + 1), np.int64)
        sources[CELLS, 1], sources[USED, 0] = cells, 1
        if limits is None:
            return Pool(fused, rows, np.empty((2, 1), np.int32), np.empty(1, np.int64), sources, np.empty(0, np.int64))
        h = self.cells.histograms[limits.attribute]
        used = sources[ENTRIES, 1] = len(h.value)
        entries, times = (np.empty((2, 2 * ROOM + used), np.int32), np.empty(2 * ROOM + used, np.int64))
        entries[CELL, :used], entries[VALUE, :used], times[:used] = first.owner(limits.attribute), h.value, h.count
        return Pool(fused, rows, entries, times, sources, np.empty(cells * len(h.overall), np.int64))

    def visit(self, order: np.ndarray, begin: int) -> tuple[int, bool]:
        """Check nodes in turn until one is good, and settle that: how far it came, and whether one was."""
        walk = self.walk
        best = walk.best[0] + TOLERANCE if walk.best else np.inf
        place, checks, good = visit_nodes(
            order, begin, walk.room(PAUSE), self.bound, best, walk.policy.least_size, min(walk.limit, walk.rows - 1),
            self.prunes, self.aside, self.only_root, self.low, self.lattice, self.maps, self.pool, self.room,
            self.values,
        )  # fmt: skip
        walk.checks += checks
        if good and walk.by_size and walk.limit == 0:  # its loss is that of its labels
            walk.offer(self.nodes[order[place]], float(self.bound[order[place]]), 0)
        elif good:
            walk.checks -= 1
            walk.examine(self.nodes[order[place]][None, :])
        return place, good

    def descend(self) -> bool:
        """As `optimal.descend`: from the root to the neighbour below that is best by its bound and satisfies. Says
        whether the root does."""
        walk = self.walk
        here = walk.greatest
        if not self.visit(np.array([len(self.nodes) - 1]), 0)[1] or walk.best is None:
            walk.checks -= 1
            return False
        while not walk.over():
            place = (here - walk.least) @ walk.stride
            lower = place - walk.stride[here > walk.least]
            lower = lower[np.argsort(self.bound[lower], kind="stable")]
            before, at = walk.best, 0
            while at < len(lower) and walk.best == before and not walk.over():
                at, good = self.visit(lower, at)
                at += good
            if walk.best == before:
                break
            here = np.array(walk.best[2], dtype=np.int64)
            walk.report("searching the lattice", 0.0)
        return True

    def sweep(self) -> bool:
        """As `optimal.sweep`: every node that is still in question; says whether it finished."""
        walk, nodes = self.walk, self.nodes
        ahead = np.flatnonzero(walk.promising(self.bound))
        reach = reduce(np.multiply.outer, [np.arange(1.0, n + 1) for n in walk.lattice.shape]).reshape(-1)
        order = ahead[np.argsort(-reach[ahead], kind="stable")]
        at = 0
        while True:
            if walk.over():
                rest = order[at:]
                rest = rest[~self.lattice.seen[rest] & (walk.floor[rest] <= walk.limit)]
                rest = rest[walk.promising(walk.bounds(nodes[rest], rest))]
                if not len(rest):
                    return True
                walk.open_bound = float(walk.bounds(nodes[rest], rest).min())
                return False
            at, good = self.visit(order, at)
            at += good
            if at == len(order):
                return True
            if walk.limit > 0:
                rest = order[at:]
                self.bound[rest] = walk.bounds(nodes[rest], rest)
            walk.report("searching the lattice", at / len(order))


def visitor(walk: LatticeState) -> Visitor | None:
    """The visitor of a lattice, where it serves: few cells, and criteria that compiled code can check."""
    limits, source = walk.limits, walk.sources[0]
    if not walk.one_set or not walk.costs.by_label or walk.lattice.size > LISTED or walk.limit >= walk.rows // 2:
        return None  # where most nodes may be suppressed to the half, most are good
    if not walk.by_size and limits is None:
        return None
    if np.prod(walk.tops - walk.least + 1.0) > LISTED:  # columns that tell nothing have levels, too
        return None
    cells = len(source.cells)
    values = limits.shares.shape[2] if limits is not None else 0
    maps = sum(len(at) * own.shape[1] for at, own in zip(source.columns.at, source.columns.values, strict=True))
    return Visitor(walk) if cells <= FEW_CELLS and max(maps, cells * values) <= DENSE else None
