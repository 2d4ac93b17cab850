"""Trying cuts: classes, suppression and loss of bit strings; their moves, offspring and annealing."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from sfumato.core.compiled import inner, kernel
from sfumato.core.keys import EMPTY, SPREAD
from sfumato.core.printed import LARGEST_KEY

NO_SUM, MEAN, SUM, GEOMETRIC, MAXIMUM = -1, 0, 1, 2, 3  # how the losses of the columns are put together
BRED, MOVED = 6, 5  # random numbers for a crossing, for a move
MUTATIONS = 3  # at most, per child
WEAKEST = 1e-4  # penalty per share of rows too many, as a share of the loss


class CutShape(NamedTuple):
    """The cuts of all columns in flat arrays: see `search.cuts.Column`. Column a has bits bit_at[a]:bit_at[a + 1]."""

    tree: Any  # bool per column: labels are nodes of a tree, else runs of leaves
    leaf_at: Any
    bit_at: Any
    rows: Any  # rows before each leaf, and in all: column a begins at leaf_at[a] + a
    pair_at: Any
    pair: Any  # cost of a row in the run of leaves i..j of n: pair[pair_at[a] + i * n + j]
    node_at: Any
    up: Any  # per node in preorder: the bit that must be set for it to be there, -1 for none
    bit: Any  # per node: the bit that splits it, -1 for none
    first: Any
    last: Any
    price: Any  # cost of a row under a node
    own: Any  # per column: what all values cost unchanged
    weight: Any
    aggregate: Any


class Sheet(NamedTuple):
    """The cells by their leaves, with columns fused into a few wide ones, and what a suppressed row costs."""

    fused: Any  # uint32 [fused columns, cells]
    count: Any
    member: Any  # the columns that are fused together
    member_at: Any
    width: Any  # values of a fused column
    tuples: Any  # label tuples of a fused column, at most
    part: Any  # leaf of value v in the m-th member: part[part_at[g] + m * width[g] + v]
    part_at: Any
    leaf: Any  # uint32 [columns, cells]: among the leaves of all columns
    gone: Any  # per leaf: cost of a suppressed row, plus what its value costs unchanged
    least: Any  # rows in the smallest class that may be kept
    limit: Any  # rows that may be suppressed
    total: Any  # rows in all


class CutWork(NamedTuple):
    """Room for the numbers of one candidate."""

    label: Any
    cost: Any
    size: Any  # labels per column
    x: Any  # loss per column, times rows
    map_at: Any
    maps: Any
    parts: Any  # label tuples per fused column
    seen: Any
    slot: Any  # class of each cell
    lost: Any
    rows: Any  # per class
    key: Any  # of each cell, and of each slot of the hash
    keys: Any
    number: Any


class Moves(NamedTuple):
    """How bits hang together, and the bits of each level of the hierarchies."""

    up: Any  # per bit: the bit that must be set too, -1 for none
    end: Any  # per bit: one past the last bit that needs it
    column: Any  # per bit
    bit_at: Any
    tree: Any
    presets: Any
    preset_at: Any


def room(shape: CutShape, sheet: Sheet) -> CutWork:
    """Room for the numbers of one candidate."""
    d, leaves, cells = len(shape.tree), int(shape.leaf_at[-1]), len(sheet.count)
    map_at = np.concatenate([[0], np.cumsum(sheet.width)]).astype(np.int64)
    slots = max(65536, 4 * cells)  # classes that are counted by table
    capacity = 1 << (2 * cells).bit_length()
    return CutWork(
        np.empty(leaves, np.uint32), np.empty(leaves), np.empty(d, np.int64), np.empty(d),
        map_at, np.empty(map_at[-1], np.uint32), np.empty(len(map_at) - 1, np.int64), np.empty(sheet.tuples, np.int32),
        np.empty(cells, np.uint32), np.empty(cells + 1, np.uint32), np.empty(slots, np.int64),
        np.empty(cells, np.int64), np.empty(capacity, np.int64), np.empty(capacity, np.uint32),
    )  # fmt: skip


@kernel
def copy(source: np.ndarray, target: np.ndarray) -> None:
    """Copy all entries."""
    for i in range(len(target)):
        target[i] = source[i]


@kernel
def decode(bits: np.ndarray, shape: CutShape, work: CutWork) -> None:
    """The label of each leaf under valid bits, what a row costs there, and the loss with nothing suppressed."""
    for a in range(len(shape.tree)):
        at = shape.leaf_at[a]
        before = at + a
        labels = 0
        total = -shape.own[a]
        if shape.tree[a]:
            for v in range(shape.node_at[a], shape.node_at[a + 1]):
                up, bit = shape.up[v], shape.bit[v]
                if (up < 0 or bits[up]) and (bit < 0 or not bits[bit]):
                    first, last, price = shape.first[v], shape.last[v], shape.price[v]
                    for leaf in range(at + first, at + last + 1):
                        work.label[leaf] = labels
                        work.cost[leaf] = price
                    total += price * (shape.rows[before + last + 1] - shape.rows[before + first])
                    labels += 1
        else:
            leaves = shape.leaf_at[a + 1] - at
            first = 0
            for last in range(leaves):
                work.label[at + last] = labels
                if last == leaves - 1 or bits[shape.bit_at[a] + last]:
                    price = shape.pair[shape.pair_at[a] + first * leaves + last]
                    for leaf in range(at + first, at + last + 1):
                        work.cost[leaf] = price
                    total += price * (shape.rows[before + last + 1] - shape.rows[before + first])
                    labels += 1
                    first = last + 1
        work.size[a] = labels
        work.x[a] = total


@inner
def combine(x: np.ndarray, rows: int, gone: float, weight: np.ndarray, aggregate: int) -> float:
    """The loss over all columns, as LabelLoss.combine; a share `gone` of the rows is taken as suppressed, at 1 each."""
    whole = heaviest = 0.0
    for a in range(len(x)):
        whole += weight[a]
        heaviest = max(heaviest, weight[a])
    if whole == 0.0 or aggregate == NO_SUM:
        return 0.0
    value = 0.0
    for a in range(len(x)):
        one = x[a] / rows
        one += gone * (1.0 - one)
        if aggregate == GEOMETRIC:
            value += math.log1p(one) * weight[a] / whole
        elif aggregate == MAXIMUM:
            value = max(value, one * weight[a] / heaviest)
        else:
            value += one * weight[a]
    if aggregate == GEOMETRIC:
        return math.exp(value) - 1.0
    return value / whole if aggregate == MEAN else value


@kernel
def group(sheet: Sheet, work: CutWork) -> int:
    """The class of each cell, in work.slot; returns how many there may be.

    First the label tuples of the values of each fused column are numbered: the class of a cell is then a sum of one
    look-up per fused column, or, where the table of classes would be too large, the number of that sum by hashing.
    """
    cells, groups = len(work.slot), len(sheet.width)
    maps = work.maps
    full = 1.0
    for g in range(groups):
        to, at, width = work.map_at[g], sheet.part_at[g], sheet.width[g]
        tuples = 1
        for m in range(sheet.member_at[g], sheet.member_at[g + 1]):
            labels = work.size[sheet.member[m]]
            if labels > 1:
                stride = np.uint32(labels)
                for v in range(width):
                    before = maps[to + v] * stride if tuples > 1 else np.uint32(0)
                    maps[to + v] = before + work.label[sheet.part[at + v]]
                tuples *= labels
            at += width
        if tuples > 1 and sheet.member_at[g + 1] - sheet.member_at[g] > 1:
            for k in range(tuples):
                work.seen[k] = -1
            tuples = 0
            for v in range(to, to + width):
                k = work.seen[maps[v]]
                if k < 0:
                    work.seen[maps[v]] = k = tuples
                    tuples += 1
                maps[v] = k
        work.parts[g] = tuples
        full *= tuples
    classes = 1
    if full <= len(work.rows):
        for i in range(cells):
            work.slot[i] = 0
        for g in range(groups):
            if work.parts[g] > 1:
                stride = np.uint32(classes)
                for v in range(work.map_at[g], work.map_at[g + 1]):
                    maps[v] *= stride
                base = np.uint64(work.map_at[g])  # unsigned: a look-up that cannot count from the end is twice as fast
                for i in range(cells):
                    work.slot[i] += maps[base + sheet.fused[g, i]]
                classes *= work.parts[g]
        return classes
    mask = len(work.keys) - 1
    for i in range(cells):
        work.key[i] = 0
    for g in range(groups + 1):
        n = work.parts[g] if g < groups else 1
        if g == groups or classes > LARGEST_KEY // n:  # keys that would not fit 64 bits are numbered on the way
            for j in range(mask + 1):
                work.keys[j] = EMPTY
            classes = 0
            for i in range(cells):
                k = work.key[i]
                j = ((k * SPREAD) >> 32) & mask
                while work.keys[j] != EMPTY and work.keys[j] != k:
                    j = (j + 1) & mask
                if work.keys[j] == EMPTY:
                    work.keys[j] = k
                    work.number[j] = classes
                    classes += 1
                work.slot[i] = work.number[j]
                work.key[i] = work.number[j]
        if n > 1:
            base = np.uint64(work.map_at[g])
            for i in range(cells):
                work.key[i] = work.key[i] * n + maps[base + sheet.fused[g, i]]
            classes *= n
    return classes


@kernel
def weigh(bits: np.ndarray, shape: CutShape, sheet: Sheet, work: CutWork, bar: float, found: np.ndarray) -> float:
    """The loss of a cut; found = suppressed rows (-1 where the labels alone cost more than `bar`, so that no classes
    were counted) and, for losses of classes: classes, squares of their sizes, kept classes, their squares.

    With too many suppressed rows the loss is an estimate, which takes them as average rows.
    """
    decode(bits, shape, work)
    base = combine(work.x, sheet.total, 0.0, shape.weight, shape.aggregate)
    if base > bar:
        found[0] = -1.0
        return base
    classes = group(sheet, work)
    slot, rows = work.slot, work.rows
    for j in range(classes):
        rows[j] = 0
    for i in range(len(slot)):
        rows[slot[i]] += sheet.count[i]
    suppressed = 0
    for j in range(classes):
        suppressed += rows[j] if rows[j] < sheet.least else 0
    found[0] = suppressed
    if shape.aggregate == NO_SUM:
        for j in range(1, 5):
            found[j] = 0.0
        for j in range(classes):
            if rows[j] > 0:
                square = float(rows[j]) * rows[j]
                found[1] += 1
                found[2] += square
                if rows[j] >= sheet.least:
                    found[3] += 1
                    found[4] += square
        return base
    if suppressed == 0:
        return base
    if suppressed > sheet.limit:
        return combine(work.x, sheet.total, suppressed / sheet.total, shape.weight, shape.aggregate)
    lost = 0
    for i in range(len(slot)):  # without a branch, which would be guessed wrong too often
        work.lost[lost] = i
        lost += rows[slot[i]] < sheet.least
    for a in range(len(shape.tree)):
        more = 0.0
        for j in range(lost):
            i = work.lost[j]
            leaf = sheet.leaf[a, i]
            more += sheet.count[i] * (sheet.gone[leaf] - work.cost[leaf])
        work.x[a] += more
    return combine(work.x, sheet.total, 0.0, shape.weight, shape.aggregate)


@kernel
def weigh_all(
    bits: np.ndarray, shape: CutShape, sheet: Sheet, work: CutWork, bar: float, value: np.ndarray, found: np.ndarray
) -> None:
    """The loss of many cuts, and what was found of each. With a bar of -inf nothing but `decode` is done."""
    for b in range(len(bits)):
        value[b] = weigh(bits[b], shape, sheet, work, bar, found[b])


@inner
def toggle(bits: np.ndarray, b: int, moves: Moves) -> None:
    """Split at a bit, with all the splits that this needs; or, where it is split, merge all below it."""
    if bits[b]:
        for below in range(b, moves.end[b]):
            bits[below] = 0
        return
    while b >= 0 and not bits[b]:
        bits[b] = 1
        b = moves.up[b]


@kernel
def pick(bits: np.ndarray, wanted: Any, draw: float) -> int:
    """One of the bits that are set (wanted = 1) or not, -1 where there is none."""
    there = 0
    for b in range(len(bits)):
        there += bits[b] == wanted
    left = int(draw * there)
    for b in range(len(bits)):
        if bits[b] == wanted:
            if left == 0:
                return b
            left -= 1
    return -1


@kernel
def move(bits: np.ndarray, draw: np.ndarray, at: Any, moves: Moves) -> None:
    """Change a cut a little, by five random numbers from `at` on: give a column the cut of one level of its hierarchy,
    shift the border of two runs, merge in one place and split in another, or toggle one bit."""
    kind, n = draw[at], len(bits)
    if kind < 0.2:
        a = int(draw[at + 1] * (len(moves.bit_at) - 1))
        low, high = moves.bit_at[a], moves.bit_at[a + 1]
        level = moves.preset_at[a] + int(draw[at + 2] * (moves.preset_at[a + 1] - moves.preset_at[a]))
        for b in range(low, high):
            bits[b] = moves.presets[level, b]
        if draw[at + 3] < 0.5:  # elsewhere there may now be room for a split, or need for a merge
            toggle(bits, int(draw[at + 4] * n), moves)
        return
    if kind < 0.45:
        b = pick(bits, np.uint8(1), draw[at + 1])
        if b >= 0 and not moves.tree[moves.column[b]]:
            step = 1 + int(4 * draw[at + 2] * draw[at + 2])
            to = b + step if draw[at + 3] < 0.5 else b - step
            if 0 <= to < n and moves.column[to] == moves.column[b] and not bits[to]:
                bits[b], bits[to] = 0, 1
                return
    elif kind < 0.75:
        closed, opened = pick(bits, np.uint8(1), draw[at + 1]), pick(bits, np.uint8(0), draw[at + 2])
        if closed >= 0 and opened >= 0:
            toggle(bits, closed, moves)
            if not bits[opened]:
                toggle(bits, opened, moves)
            return
    a = int(draw[at + 1] * (len(moves.bit_at) - 1))
    low, high = moves.bit_at[a], moves.bit_at[a + 1]
    if draw[at + 3] < 0.5 and high > low:  # columns of few bits get their turn too
        toggle(bits, low + int(draw[at + 4] * (high - low)), moves)
    else:
        toggle(bits, int(draw[at + 4] * n), moves)


@kernel
def breed(
    people: np.ndarray,
    order: np.ndarray,
    draws: np.ndarray,
    bias: float,
    crossover: float,
    mutation: float,
    moves: Moves,
    children: np.ndarray,
) -> None:
    """Children of a population that is ordered best first: selection by rank, crossing at two points, mutation.

    The best is chosen `bias` times as often as the median (Whitley 1989). Half of the crossings are between columns.
    """
    size, n = people.shape
    for c in range(len(children)):
        draw, child = draws[c], children[c]
        one = (bias - math.sqrt(bias * bias - 4 * (bias - 1) * draw[0])) / 2 / (bias - 1)
        two = (bias - math.sqrt(bias * bias - 4 * (bias - 1) * draw[1])) / 2 / (bias - 1)
        copy(people[order[min(int(size * one), size - 1)]], child)
        if draw[2] < crossover:
            other = people[order[min(int(size * two), size - 1)]]
            p, q = int(draw[3] * (n + 1)), int(draw[4] * (n + 1))
            if draw[5] < 0.5:
                p, q = moves.bit_at[int(draw[3] * len(moves.bit_at))], moves.bit_at[int(draw[4] * len(moves.bit_at))]
            for b in range(n):  # from p to q; where q comes first, around the end, which has no meaning of its own
                if (p <= b or b < q) if q < p else (p <= b < q):
                    child[b] = other[b]
            for b in range(n):  # bits that need one which is not set: only valid cuts remain
                if moves.up[b] >= 0 and not child[moves.up[b]]:
                    child[b] = 0
        at = BRED
        for _ in range(MUTATIONS):
            if draw[at] >= mutation:
                break
            move(child, draw, np.int64(at + 1), moves)
            at += 1 + MOVED


@kernel
def take(bits: np.ndarray, trial: np.ndarray, state: np.ndarray, best: np.ndarray, value: float, over: float) -> None:
    """Take the trial if it is under the threshold. state = loss, share of rows too many, penalty, threshold, loss of
    the best valid cut, unit of the penalty, loss of the trial asked about."""
    if value + state[2] * state[5] * over <= state[3]:
        copy(trial, bits)
        state[0], state[1] = value, over
        if over == 0.0 and value < state[4]:
            state[4] = value
            copy(trial, best)


@kernel
def anneal(
    bits: np.ndarray,
    trial: np.ndarray,
    state: np.ndarray,
    best: np.ndarray,
    begin: int,
    draws: np.ndarray,
    heat: np.ndarray,
    most: int,
    ask: bool,
    shape: CutShape,
    sheet: Sheet,
    work: CutWork,
    moves: Moves,
    found: np.ndarray,
) -> tuple[Any, Any, Any]:
    """Steps of simulated annealing from step `begin` on; returns the step to go on from, how many cuts were weighed,
    and whether it asks.

    The penalty on rows too many rises while there are any and falls while there are none, so that the walk stays near
    the limit. With `ask` it stops at each trial that would be taken, which the caller settles and hands to `take`.
    """
    weighed = 0
    for step in range(begin, len(draws)):
        if weighed >= most:
            return step, weighed, False
        state[2] *= 1.005 if state[1] > 0.0 else 1 / 1.005
        state[2] = min(max(state[2], WEAKEST), float(sheet.total))
        copy(bits, trial)
        move(trial, draws[step], np.int64(0), moves)
        now = state[0] + state[2] * state[5] * state[1]
        state[3] = now - heat[step] * math.log(max(draws[step, MOVED], 1e-300))
        value = weigh(trial, shape, sheet, work, state[3], found)
        if found[0] >= 0.0:
            weighed += 1
            over = max(found[0] - sheet.limit, 0.0) / sheet.total
            if value + state[2] * state[5] * over <= state[3]:
                if ask:
                    state[6] = value
                    return step + 1, weighed, True
                take(bits, trial, state, best, value, over)
    return len(draws), weighed, False


@kernel
def split_sizes(
    cells: np.ndarray,
    of: np.ndarray,
    code: np.ndarray,
    child: np.ndarray,
    children: int,
    count: np.ndarray,
    first: np.ndarray,
) -> tuple[Any, np.ndarray]:
    """The smallest class after the cells' classes are split by child[code], and rows per (class, child).

    `first[class]` is the number of a class among those of the cells, -1 elsewhere; it is left as it was found.
    """
    classes = 0
    for i in cells:
        if first[of[i]] < 0:
            first[of[i]] = classes
            classes += 1
    size = np.zeros(classes * children, np.int64)
    for i in cells:
        size[first[of[i]] * children + child[code[i]]] += count[i]
    least = np.int64(0)
    for n in size:
        if n > 0 and (least == 0 or n < least):
            least = n
    for i in cells:
        first[of[i]] = -1
    return least, size
