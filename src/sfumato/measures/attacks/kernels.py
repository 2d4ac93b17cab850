"""Which released cells cover a person, and a tree over points: halves of halves, each cut where it is widest."""

from __future__ import annotations

import numpy as np

from sfumato.core.compiled import inner, kernel

LEAF = 8  # items of a leaf
DEEPEST = 64  # nodes that wait on a walk: one per level of a tree of halves


@inner
def halve(order: np.ndarray, key: np.ndarray, start: int, stop: int, middle: int) -> None:
    """Arrange order[start:stop] so that no key before `middle` is above one behind it; key[i] belongs to order[i]."""
    low, high = start, stop - 1
    while low < high:
        a, b, c = key[low], key[(low + high) // 2], key[high]
        pivot = max(min(a, b), min(max(a, b), c))
        i, j = low, high
        while i <= j:
            while key[i] < pivot:
                i += 1
            while key[j] > pivot:
                j -= 1
            if i <= j:
                key[i], key[j] = key[j], key[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j
        elif middle >= i:
            low = i
        else:
            return


@kernel
def grow(place: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The items in tree order, and per node (a node before its children, the left one next) where its items start and
    stop, and its right child (-1: a leaf).

    place[item, column] is where an item stands, nan where that is unknown. A node is cut at the median of the column in
    which its items are furthest apart: weight times the distance, or the weight itself where it is negative (names that
    are either equal or not), or where some are unknown.
    """
    n, columns = place.shape
    order = np.arange(n)
    key = np.empty(n)
    most = 2 * (n // (LEAF // 2) + 1) + 1
    start, stop, right = np.zeros(most, np.int64), np.zeros(most, np.int64), np.full(most, -1, np.int64)
    waiting = np.zeros((DEEPEST + 2, 3), np.int64)  # start, stop, whose right child
    waiting[0, 1], waiting[0, 2] = n, -1
    left_to_do, nodes = 1, 0
    while left_to_do:
        left_to_do -= 1
        a, b, parent = waiting[left_to_do]
        if parent >= 0:
            right[parent] = nodes
        start[nodes], stop[nodes] = a, b
        nodes += 1
        if b - a <= LEAF:
            continue
        widest, cut = 0.0, -1
        for c in range(columns):
            low, high, unknown = np.inf, -np.inf, 0
            for i in range(a, b):
                x = place[order[i], c]
                if np.isnan(x):
                    unknown += 1
                else:
                    low, high = min(low, x), max(high, x)
            spread = 0.0
            if high > low:
                spread = weight[c] * (high - low) if weight[c] > 0 else -weight[c]
            if 0 < unknown < b - a:
                spread = max(spread, abs(weight[c]))
            if spread > widest:
                widest, cut = spread, c
        if cut < 0:
            continue
        for i in range(a, b):
            x = place[order[i], cut]
            key[i] = np.inf if np.isnan(x) else x
        middle = (a + b) // 2
        halve(order, key, a, b, middle)
        waiting[left_to_do, 0], waiting[left_to_do, 1], waiting[left_to_do, 2] = middle, b, nodes - 1
        waiting[left_to_do + 1, 0], waiting[left_to_do + 1, 1], waiting[left_to_do + 1, 2] = a, middle, -1
        left_to_do += 2
    return order, start[:nodes].copy(), stop[:nodes].copy(), right[:nodes].copy()


@kernel
def inside(value: int, label: int, low: np.ndarray, high: np.ndarray, begin: np.ndarray, listed: np.ndarray) -> bool:
    """Whether a label covers a value: one between its least and greatest, and in its list where it has gaps.

    A value that is not known (-1) is covered by every label.
    """
    if value < 0:
        return True
    if value < low[label] or value > high[label]:
        return False
    a, b = begin[label], begin[label + 1]
    if a == b:
        return True
    while a < b:
        middle = (a + b) // 2
        if listed[middle] < value:
            a = middle + 1
        else:
            b = middle
    return a < begin[label + 1] and listed[a] == value


@kernel
def covered(
    labels: np.ndarray,
    values: np.ndarray,
    cell: np.ndarray,
    point: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    begin: np.ndarray,
    listed: np.ndarray,
) -> np.ndarray:
    """Whether cell[p] covers point[p], for each pair; the labels of all columns are numbered through."""
    found = np.ones(len(cell), np.bool_)
    for p in range(len(cell)):
        for c in range(labels.shape[0]):
            if not inside(values[c, point[p]], labels[c, cell[p]], low, high, begin, listed):
                found[p] = False
                break
    return found


@kernel
def set_bits(
    holds: np.ndarray,
    first: int,
    values: np.ndarray,
    step: int,
    labels: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    begin: np.ndarray,
    listed: np.ndarray,
) -> None:
    """Set bit i of row `first` + j // step where labels[i] covers values[j]; values ascend."""
    for i in range(len(labels)):
        label = labels[i]
        word, bit = i // 64, np.uint64(1) << np.uint64(i % 64)
        a = np.searchsorted(values, low[label])
        while a < len(values) and values[a] <= high[label]:
            if inside(values[a], label, low, high, begin, listed):
                holds[first + a // step, word] |= bit
                a = (a // step + 1) * step
            else:
                a += 1


@kernel
def count_bits(
    first: int,
    last: int,
    point: np.ndarray,
    columns: np.ndarray,
    part: np.ndarray,
    holds: np.ndarray,
    start: np.ndarray,
    stop: np.ndarray,
    coarse: bool,
    cells: np.ndarray,
    labels: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    begin: np.ndarray,
    listed: np.ndarray,
    count: np.ndarray,
    found: np.ndarray,
    sole: np.ndarray,
) -> None:
    """For the points first..last - 1 the rows of the cells that hold them, and one of these cells."""
    known = np.zeros(len(columns), np.int64)
    for p in range(first, last):
        n, a, b = 0, 0, (len(cells) + 63) // 64
        for c in columns:
            row = part[c, p]
            if row >= 0:
                known[n] = row
                n += 1
                a, b = max(a, start[row]), min(b, stop[row])
        for word in range(a, b):
            bits = holds[known[0], word] if n else ~np.uint64(0)
            for i in range(1, n):
                if bits == 0:
                    break
                bits &= holds[known[i], word]
            at = word * 64
            while bits != 0 and at < len(cells):
                if bits & np.uint64(1):
                    cell, fits = cells[at], True
                    if coarse:
                        for c in columns:
                            if not inside(point[c, p], labels[c, cell], low, high, begin, listed):
                                fits = False
                                break
                    if fits:
                        found[p] += count[cell]
                        sole[p] = cell
                bits >>= np.uint64(1)
                at += 1


@kernel
def label_costs(
    p: int,
    column: np.ndarray,
    point: np.ndarray,
    agree: np.ndarray,
    blank: np.ndarray,
    differ: np.ndarray,
    star: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    begin: np.ndarray,
    listed: np.ndarray,
    found: np.ndarray,
) -> None:
    """What each label counts with a person: where it agrees, where it is unknown, where it differs."""
    for label in range(len(column)):
        c = column[label]
        if point[c, p] < 0 or star[label]:
            found[label] = blank[c, p]
        elif inside(point[c, p], label, low, high, begin, listed):
            found[label] = agree[c, p]
        else:
            found[label] = differ[c, p]


@kernel
def patterns(
    people: np.ndarray,
    cells: np.ndarray,
    count: np.ndarray,
    found: np.ndarray,
    column: np.ndarray,
    point: np.ndarray,
    agree: np.ndarray,
    blank: np.ndarray,
    differ: np.ndarray,
    star: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    begin: np.ndarray,
    listed: np.ndarray,
) -> None:
    """Count the released rows by the sum of what their labels count with each person; cells are [cells, columns]."""
    of_label = np.zeros(len(column))
    for k in range(len(people)):
        label_costs(people[k], column, point, agree, blank, differ, star, low, high, begin, listed, of_label)
        for i in range(len(cells)):
            code = 0.0
            for c in range(cells.shape[1]):
                code += of_label[cells[i, c]]
            found[k, int(code)] += count[i]


@kernel
def best_cells(
    first: int,
    last: int,
    cells: np.ndarray,
    count: np.ndarray,
    least: np.ndarray,
    ties: np.ndarray,
    sole: np.ndarray,
    own: np.ndarray,
    own_begin: np.ndarray,
    own_cost: np.ndarray,
    column: np.ndarray,
    point: np.ndarray,
    agree: np.ndarray,
    blank: np.ndarray,
    differ: np.ndarray,
    star: np.ndarray,
    low: np.ndarray,
    high: np.ndarray,
    begin: np.ndarray,
    listed: np.ndarray,
) -> None:
    """For the people first..last - 1 the least sum of what labels count, the rows at it, and one of these cells.

    And the sums of own[own_begin[p]:own_begin[p + 1]], the cells where p is known to be.
    """
    of_label = np.zeros(len(column))
    for p in range(first, last):
        label_costs(p, column, point, agree, blank, differ, star, low, high, begin, listed, of_label)
        best, tied = np.inf, 0
        for i in range(len(cells)):
            d = 0.0
            for c in range(cells.shape[1]):
                d += of_label[cells[i, c]]
                if d > best + 1e-9:
                    break
            if d < best - 1e-9:
                best, tied, sole[p] = d, count[i], i
            elif d <= best + 1e-9:
                tied += count[i]
        least[p], ties[p] = best, tied
        for k in range(own_begin[p], own_begin[p + 1]):
            for c in range(cells.shape[1]):
                own_cost[k] += of_label[cells[own[k], c]]


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
    one: np.ndarray,
) -> int:
    """For the queries order[first:last] the least distance to a point, how many rows are at it, and one such point.

    Points come in tree order. A node is left out where even the nearest place inside its bounds is further away. Gives
    how many points were looked at.
    """
    columns, looked = query.shape[1], 0
    waiting, far = np.zeros(DEEPEST + 2, np.int64), np.zeros(DEEPEST + 2)
    reach = np.zeros(2)
    for at in range(first, last):
        q = query[order[at]]
        best, tied, there = np.inf, 0, 0
        waiting[0], far[0] = 0, 0.0
        todo = 1
        while todo:
            todo -= 1
            if far[todo] > best * (1 + SAME) + NIL:
                continue
            node = waiting[todo]
            if right[node] < 0:
                looked += stop[node] - start[node]
                for i in range(start[node], stop[node]):
                    d = 0.0
                    for c in range(columns):
                        d += apart(q[c], place[i, c], kind[c], weight[c], blank[c])
                    if d < best * (1 - SAME) - NIL:
                        best, tied, there = d, count[i], i
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
        distance[order[at]], ties[order[at]], one[order[at]] = best, tied, there
    return looked


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


@kernel
def align(start: np.ndarray, places: np.ndarray) -> np.ndarray:
    """For each item of a list its place in the other, -1 where it gets none; places grow along the list.

    The places that item i may have are places[start[i]:start[i + 1]], ascending. As many items as possible get one.
    """
    items = len(start) - 1
    last = np.empty(items + 1, np.int64)  # per length of a run the entry with the least place that ends one
    before = np.empty(len(places), np.int64)
    owner = np.empty(len(places), np.int64)
    longest = 0
    for i in range(items):
        for entry in range(start[i + 1] - 1, start[i] - 1, -1):  # backwards, so that an item is in a run once
            low, high = 0, longest
            while low < high:
                middle = (low + high) // 2
                if places[last[middle]] < places[entry]:
                    low = middle + 1
                else:
                    high = middle
            last[low] = entry
            before[entry] = last[low - 1] if low else -1
            owner[entry] = i
            longest = max(longest, low + 1)
    found = np.full(items, -1, np.int64)
    entry = last[longest - 1] if longest else -1
    while entry >= 0:
        found[owner[entry]] = places[entry]
        entry = before[entry]
    return found
