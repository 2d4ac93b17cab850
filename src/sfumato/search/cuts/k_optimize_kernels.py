"""k-Optimize: a subtree of the set-enumeration tree over splits, walked depth first with classes as slices of cells.

A place is a value of a column, in order; a split is a place where an interval begins. A cell is a row of numbers: its
place in each column, its rows, then its rows of each label. All columns share one numbering of places, column a having
off[a] up to off[a + 1].
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sfumato.core.compiled import inner, kernel

OUT, TAIL, HEAD = 0, 1, 2  # what a place is: no split, a split that may still come, a split that is chosen


REP = 0  # place where the interval of a place begins
NEXT = 1  # next place where an interval begins, -1 at the end of the column
HIST = 2  # rows of a class
TOPS = 3  # rows of the majority labels of the cells of a class
COARSE = 4  # where an interval begins when only the splits that suit a class are used
GONE = 5  # rows that a tail split suppresses at least
RISE = 6  # how much a tail split raises the bound
USE = 7  # classes that may be better off with a tail split
SPREAD = 8  # classes that a tail split divides
NAME = 9  # a random number; the sum over its places is the key of a cell


class SplitRules(NamedTuple):
    """k, the rows of the table, how many of them may be suppressed, and the number of labels (0: discernibility)."""

    k: int
    rows: int
    limit: int
    labels: int


class SplitWork(NamedTuple):
    """Arrays that every step writes over; few, since each makes kernels slower to compile."""

    at: np.ndarray  # numbers per place, see above
    ends: np.ndarray  # first and last place of a class per column
    hash: np.ndarray  # cell and stamp per slot of a hash table
    clock: np.ndarray  # slots of an older stamp are free
    groups: np.ndarray  # rows, then rows of each label, of groups of cells, or of one class


class BestSplits(NamedTuple):
    """What settling a level found."""

    bound: int  # no choice of tail splits costs less
    fine: int  # the same by single cells
    cost: int  # of the head as it is
    fixed: int  # of the classes that no tail split can change
    suppressed: int
    cells: int  # where the cells of the level end
    classes: int  # where its classes end


def room(cells: int, columns: int, places: int, labels: int) -> SplitWork:
    """Working arrays for a table."""
    capacity = 1 << max(4, int(2 * cells).bit_length())
    shapes = (10, places), (2, columns), (2, capacity), (1,), (cells + 1, 1 + labels)
    work = SplitWork(*(np.zeros(shape, np.int64) for shape in shapes))
    work.at[NAME] = np.random.default_rng(0).integers(-(1 << 62), 1 << 62, places)
    return work


@kernel
def class_cost(rows: int, top: int, rules: SplitRules) -> int:
    """Cost of a class: its rows squared, or those that are not of the majority label; more if it is suppressed."""
    if rules.labels:
        return rows - top if rows >= rules.k else rows
    return rows * rows if rows >= rules.k else rows * rules.rows


@inner
def cell_cost(rows: int, top: int, rules: SplitRules) -> int:
    """What the rows of a cell cost at least, in any class."""
    return rows - top if rules.labels else rows * max(rows, rules.k)


@kernel
def majority(cells: np.ndarray, i: int, d: int) -> int:
    """The rows of the most frequent label of a cell."""
    top = 0
    for y in range(d + 1, cells.shape[1]):
        top = max(top, int(cells[i, y]))
    return top


@kernel
def intervals(state: np.ndarray, off: np.ndarray, least: int, work: SplitWork) -> None:
    """Where the interval of each place begins, and which comes next, when places of at least this state split."""
    for a in range(len(off) - 1):
        begin = off[a]
        for p in range(off[a], off[a + 1]):
            if state[p] >= least:
                begin = p
            work.at[REP, p] = begin
        after = -1
        for p in range(off[a + 1] - 1, off[a] - 1, -1):
            work.at[NEXT, p] = after
            if state[p] >= least:
                after = p


@kernel
def slots(count: int) -> int:
    """The mask of a hash table for so many entries; a small table stays in the processor's cache."""
    size = 16
    while size < 2 * count:
        size *= 2
    return size - 1


@kernel
def find(cells: np.ndarray, i: int, columns: np.ndarray, into: int, mask: int, work: SplitWork) -> int:
    """The slot of the cell that equals cell i in the columns, read through `into`; a free slot if there is none."""
    h = 0
    for x in range(len(columns)):
        h += work.at[NAME, work.at[into, cells[i, columns[x]]]]
    b = (h >> 20) & mask
    while work.hash[1, b] == work.clock[0]:
        q = work.hash[0, b]
        same = True
        for x in range(len(columns)):
            if work.at[into, cells[q, columns[x]]] != work.at[into, cells[i, columns[x]]]:
                same = False
                break
        if same:
            return b
        b = (b + 1) & mask
    return b


@inner
def merge_cells(cells: np.ndarray, d: int, s: int, t: int, w: int, columns: np.ndarray, work: SplitWork) -> int:
    """Move the cells s..t of a class to w and on, merging those that neither head nor tail tells apart."""
    work.clock[0] += 1
    mask = slots(t - s)
    for i in range(s, t):
        b = find(cells, i, columns, REP, mask, work)
        if work.hash[1, b] == work.clock[0]:
            for y in range(d, cells.shape[1]):
                cells[work.hash[0, b], y] += cells[i, y]
            continue
        work.hash[1, b] = work.clock[0]
        work.hash[0, b] = w
        for y in range(d):
            cells[w, y] = work.at[REP, cells[i, y]]
        for y in range(d, cells.shape[1]):
            cells[w, y] = cells[i, y]
        w += 1
    return w


@inner
def count_class(
    cells: np.ndarray, d: int, s: int, t: int, columns: np.ndarray, rules: SplitRules, work: SplitWork
) -> tuple[int, int]:
    """The rows of the majority label of a class, and the bound by its cells; rows per place go to `HIST`."""
    fine = 0
    for x in range(len(columns)):
        work.ends[0, x] = cells[s, columns[x]]
        work.ends[1, x] = work.ends[0, x]
    for y in range(rules.labels):
        work.groups[0, 1 + y] = 0
    for i in range(s, t):
        n = int(cells[i, d])
        top = 0
        if rules.labels:
            top = majority(cells, i, d)
            for y in range(rules.labels):
                work.groups[0, 1 + y] += cells[i, d + 1 + y]
        fine += cell_cost(n, top, rules)
        for x in range(len(columns)):
            p = int(cells[i, columns[x]])
            work.at[HIST, p] += n
            work.at[TOPS, p] += top
            work.ends[0, x] = min(work.ends[0, x], p)
            work.ends[1, x] = max(work.ends[1, x], p)
    top = 0
    for y in range(rules.labels):
        top = max(top, work.groups[0, 1 + y])
    return top, fine


@inner
def weigh_splits(
    rows: int, state: np.ndarray, columns: np.ndarray, rules: SplitRules, work: SplitWork
) -> tuple[int, int]:
    """What each tail split does to the class just counted: how many suit it, and how many do not.

    A split suits a class if both sides keep k rows. One that leaves a side of fewer suppresses that side, which costs
    more than it can save, unless the class holds over half of the table.
    """
    suits = misfits = 0
    for x in range(len(columns)):
        low, high = work.ends[0, x], work.ends[1, x]
        left = 0
        left_top = 0
        top = 0
        p = low
        while 0 <= p <= high:
            top += work.at[TOPS, p]
            p = work.at[NEXT, p]
        p = low
        begin = low
        while 0 <= p <= high:
            if p > low and state[p] == TAIL:
                right = rows - left
                small = (left if left < rules.k else 0) + (right if right < rules.k else 0)
                work.at[SPREAD, p] += 1
                work.at[GONE, p] += small
                if small == 0 or (rules.labels == 0 and 2 * rows - small > rules.rows):
                    suits += 1
                    begin = p
                    work.at[USE, p] += 1
                    work.at[RISE, p] += small * (rules.rows - rules.k)
                else:
                    misfits += 1
                    if rules.labels:
                        work.at[RISE, p] += left_top if left < rules.k else 0
                        work.at[RISE, p] += top - left_top if right < rules.k else 0
                    else:
                        work.at[RISE, p] += small * (rules.rows - 2 * rows + small)
            left += work.at[HIST, p]
            left_top += work.at[TOPS, p]
            work.at[HIST, p] = 0
            work.at[TOPS, p] = 0
            work.at[COARSE, p] = begin
            p = work.at[NEXT, p]
    return suits, misfits


@inner
def bound_class(
    cells: np.ndarray, d: int, s: int, t: int, columns: np.ndarray, rules: SplitRules, work: SplitWork
) -> int:
    """A cost that no choice of tail splits brings the class of the cells s..t below, by the splits that suit it."""
    work.clock[0] += 1
    mask = slots(t - s)
    for i in range(s, t):
        b = find(cells, i, columns, COARSE, mask, work)
        if work.hash[1, b] != work.clock[0]:
            work.hash[1, b] = work.clock[0]
            work.hash[0, b] = i
        work.groups[i - s, 0] = 0
        for y in range(rules.labels):
            work.groups[i - s, 1 + y] = 0
        q = work.hash[0, b] - s
        work.groups[q, 0] += cells[i, d]
        for y in range(rules.labels):
            work.groups[q, 1 + y] += cells[i, d + 1 + y]
    total = 0
    for q in range(t - s):
        top = 0
        for y in range(rules.labels):
            top = max(top, work.groups[q, 1 + y])
        total += cell_cost(work.groups[q, 0], top, rules)
    return total


@kernel
def settle(
    cells: np.ndarray, d: int, begin: np.ndarray, cell: int, first: int, last: int, fixed: int, suppressed: int,
    state: np.ndarray, columns: np.ndarray, rules: SplitRules, work: SplitWork,
) -> BestSplits:  # fmt: skip
    """Merge the cells of the classes first..last, drop classes that no tail split can change, and bound the cost.

    Classes below k are suppressed for good; a class of one cell stays as it is.
    """
    for p in range(len(state)):
        work.at[GONE, p] = work.at[RISE, p] = work.at[USE, p] = work.at[SPREAD, p] = 0
    w = cell
    keep = first
    bound = 0
    fine = 0
    cost = 0
    ahead = begin[first]
    for e in range(first, last):
        s = ahead
        ahead = begin[e + 1]
        rows = 0
        for i in range(s, ahead):
            rows += cells[i, d]
        if rows < rules.k:
            fixed += class_cost(rows, 0, rules)
            suppressed += rows
            continue
        start = w
        w = merge_cells(cells, d, s, ahead, start, columns, work)
        if w - start == 1:
            fixed += class_cost(rows, majority(cells, start, d), rules)
            w = start
            continue
        top, single = count_class(cells, d, start, w, columns, rules, work)
        here = class_cost(rows, top, rules)
        cost += here
        fine += single
        suits, misfits = weigh_splits(rows, state, columns, rules, work)
        if suits == 0:
            bound += here
        elif misfits == 0:
            bound += single
        else:
            bound += bound_class(cells, d, start, w, columns, rules, work)
        begin[keep] = start
        keep += 1
    begin[keep] = w
    return BestSplits(bound + fixed, fine + fixed, cost + fixed, fixed, suppressed, w, keep)


@inner
def split_classes(
    cells: np.ndarray, begin: np.ndarray, first: int, last: int, cell: int, a: int, place: int
) -> tuple[int, int]:
    """Copy the classes first..last behind themselves, each split at a place of column a; where all of it ends."""
    w = cell
    keep = last + 1
    for e in range(first, last):
        for side in range(2):
            start = w
            for i in range(begin[e], begin[e + 1]):
                if (cells[i, a] >= place) == (side == 1):
                    for y in range(cells.shape[1]):
                        cells[w, y] = cells[i, y]
                    w += 1
            if w > start:
                begin[keep] = start
                keep += 1
    begin[keep] = w
    return w, keep


@inner
def taller(array: np.ndarray) -> np.ndarray:
    """A copy with room for twice as many rows."""
    grown = np.empty((2 * array.shape[0], array.shape[1]), array.dtype)
    for i in range(array.shape[0]):
        for j in range(array.shape[1]):
            grown[i, j] = array[i, j]
    return grown


@kernel
def explore(
    table: np.ndarray, starts: np.ndarray, off: np.ndarray, column: np.ndarray, root: np.ndarray, floor: int, best: int,
    budget: int, chosen: np.ndarray, rules: SplitRules, work: SplitWork,
) -> tuple[int, np.ndarray, np.ndarray, int]:  # fmt: skip
    """Walk the subtree of a node for costs below `best`, until about `budget` cells were looked at.

    `root` gives each place its state; `table` has the cells by class of its head, class e from starts[e] on. Returns
    the least cost found (its splits in `chosen`), the nodes that are still open, a bound on the costs below each, and
    how many nodes were evaluated. A node's subtree is its head with any of its tail. As in the paper its children take
    one more split each and leave out those that went before, and the tail is looked at anew after each.
    """
    places, d = len(root), len(off) - 1
    cells = taller(table)
    begin = np.empty(len(table) + 2 * places + 16, np.int64)
    for e in range(len(starts)):
        begin[e] = starts[e]
    states = np.empty((16, places), np.int8)
    for p in range(places):
        states[0, p] = root[p]
    cell = np.zeros(places + 2, np.int64)
    first = np.zeros(places + 2, np.int64)  # the classes of level l are first[l]..first[l + 1] - 1, then where they end
    cell[1], first[1] = len(table), len(starts)
    fixed = np.zeros(places + 1, np.int64)
    lost = np.zeros(places + 1, np.int64)
    bound = np.zeros(places + 1, np.int64)
    bound[0] = floor
    columns = np.empty(d, np.int64)
    level = nodes = spent = 0
    while level >= 0 and spent < budget:
        state = states[level]
        pick = -1
        while bound[level] < best:
            intervals(state, off, TAIL, work)
            actives = 0
            for a in range(d):
                for p in range(off[a], off[a + 1]):
                    if state[p] == TAIL:
                        columns[actives] = a
                        actives += 1
                        break
            nodes += 1
            spent += cell[level + 1] - cell[level] + places
            f = settle(
                cells, d, begin, cell[level], first[level], first[level + 1] - 1, fixed[level], lost[level], state,
                columns[:actives], rules, work,
            )  # fmt: skip
            fixed[level], lost[level] = f.fixed, f.suppressed
            cell[level + 1], first[level + 1] = f.cells, f.classes + 1
            if f.suppressed > rules.limit:
                break
            if f.cost < best:
                best = f.cost
                for p in range(places):
                    chosen[p] = HEAD if state[p] == HEAD else OUT
            bound[level] = max(bound[level], f.bound)
            least = f.fine if rules.labels else f.bound  # what `rise` is said of
            removals = 0
            pick = -1
            for p in range(places):
                if state[p] != TAIL:
                    continue
                if (
                    work.at[USE, p] == 0
                    or lost[level] + work.at[GONE, p] > rules.limit
                    or least + work.at[RISE, p] >= best
                ):
                    state[p] = OUT
                    removals += 1
                elif pick < 0 or work.at[SPREAD, p] > work.at[SPREAD, pick]:
                    pick = p
            if removals == 0 or pick < 0:
                break
        if pick < 0 or bound[level] >= best or lost[level] > rules.limit:
            level -= 1
            continue
        if level + 1 == len(states):
            states = taller(states)
        states[level, pick] = OUT
        for p in range(places):
            states[level + 1, p] = states[level, p]
        states[level + 1, pick] = HEAD
        width = cell[level + 1] - cell[level]
        while cell[level + 1] + width >= len(cells):
            cells = taller(cells)
        while first[level + 1] + width + 2 >= len(begin):
            begin = np.append(begin, begin)
        cell[level + 2], ends = split_classes(
            cells, begin, first[level], first[level + 1] - 1, cell[level + 1], column[pick], pick
        )
        first[level + 2] = ends + 1
        fixed[level + 1], lost[level + 1], bound[level + 1] = fixed[level], lost[level], bound[level]
        level += 1
    return best, states[: level + 1], bound[: level + 1], nodes


NEVER = 1 << 62


@kernel
def line(
    start: np.ndarray, group: np.ndarray, entry: np.ndarray, spare: int, most: int, rules: SplitRules, size: np.ndarray,
    votes: np.ndarray, cost: np.ndarray, back: np.ndarray, lost: np.ndarray,
) -> int:  # fmt: skip
    """The least cost of one column when all others are settled; lost[-1] tells the rows that its splits suppress.

    Entry e of segment j (start[j]..start[j + 1]) adds the rows and labels entry[e] to group[e]. An interval of segments
    costs what its groups cost; it must not suppress over `spare` rows, or cost `most`. back[j] is where the interval
    that ends before segment j begins.
    """
    segments = len(start) - 1
    for j in range(segments + 1):
        cost[j] = NEVER
        back[j] = -1
        lost[j] = 0
    cost[0] = 0
    for i in range(segments):
        if cost[i] >= most:
            continue
        total = 0
        gone = 0
        floor = 0  # what longer intervals cost at least
        end = i
        while end < segments and cost[i] + floor < most:
            for e in range(start[end], start[end + 1]):
                g = group[e]
                n = entry[e, 0]
                old = size[g]
                new = old + n
                size[g] = new
                before = 0
                top = 0
                for y in range(rules.labels):
                    before = max(before, votes[g, y])
                    votes[g, y] += entry[e, 1 + y]
                    top = max(top, votes[g, y])
                floor += n - top + before if rules.labels else n * (old + new)
                total += class_cost(new, top, rules) - class_cost(old, before, rules)
                gone += (new if new < rules.k else 0) - (old if old < rules.k else 0)
            end += 1
            if gone <= spare and cost[i] + total < cost[end]:
                cost[end] = cost[i] + total
                back[end] = i
                lost[end] = lost[i] + gone
        for e in range(start[i], start[end]):
            size[group[e]] = 0
            for y in range(rules.labels):
                votes[group[e], y] = 0
    return cost[segments]


@kernel
def best_line(
    table: np.ndarray, off: np.ndarray, state: np.ndarray, a: int, order: np.ndarray, start: np.ndarray, most: int,
    rules: SplitRules, work: SplitWork, back: np.ndarray,
) -> int:  # fmt: skip
    """The least cost when the other columns are split as `state` says and column a in the best way.

    `order` has the cells by segment of column a, start[j]..start[j + 1] those of segment j.
    """
    d = len(off) - 1
    count = len(table)
    segments = len(start) - 1
    others = np.empty(d - 1, np.int64)
    for x in range(d - 1):
        others[x] = x if x < a else x + 1
    intervals(state, off, HEAD, work)
    work.clock[0] += 1
    number = np.empty(count, np.int64)
    group = np.empty(count, np.int64)
    entry = np.zeros((count, 1 + rules.labels), np.int64)
    begin = np.zeros(segments + 1, np.int64)
    seen = np.empty(count, np.int64)  # the last entry of a group
    groups = 0
    w = 0
    for j in range(segments):
        begin[j] = w
        for x in range(start[j], start[j + 1]):
            i = order[x]
            b = find(table, i, others, REP, work.hash.shape[1] - 1, work)
            if work.hash[1, b] != work.clock[0]:
                work.hash[1, b] = work.clock[0]
                work.hash[0, b] = i
                number[i] = groups
                seen[groups] = -1
                groups += 1
            g = number[work.hash[0, b]]
            if seen[g] < begin[j]:
                seen[g] = w
                group[w] = g
                w += 1
            for y in range(1 + rules.labels):
                entry[seen[g], y] += table[i, d + y]
    begin[segments] = w
    size = np.zeros(groups, np.int64)
    votes = np.zeros((groups, rules.labels), np.int64)
    cost = np.empty(segments + 1, np.int64)
    lost = np.empty(segments + 1, np.int64)
    value = line(begin, group, entry, rules.limit, most, rules, size, votes, cost, back, lost)
    if value < most and lost[segments] > rules.limit:  # too many rows in all: do without suppression
        value = line(begin, group, entry, 0, most, rules, size, votes, cost, back, lost)
    return value


@kernel
def survey(
    table: np.ndarray, off: np.ndarray, state: np.ndarray, a: int, order: np.ndarray, start: np.ndarray,
    moves: np.ndarray, most: int, rules: SplitRules, work: SplitWork, back: np.ndarray,
) -> tuple[int, int]:  # fmt: skip
    """The best of the moves (p, q): turn split p over, and q too unless it is p. Its cost, if below `most`, and its
    number, or -1."""
    pick = -1
    for x in range(len(moves)):
        p, q = moves[x, 0], moves[x, 1]
        state[p] = HEAD - state[p]
        if q != p:
            state[q] = HEAD - state[q]
        value = best_line(table, off, state, a, order, start, most, rules, work, back)
        if value < most:
            most = value
            pick = x
        state[p] = HEAD - state[p]
        if q != p:
            state[q] = HEAD - state[q]
    return most, pick
