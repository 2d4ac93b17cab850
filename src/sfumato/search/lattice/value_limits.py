"""Criteria that declare limits per value (`ValueLimits`), checked at many lattice nodes in compiled code.

It settles the nodes that exceed them in too many rows. Of the others `holds` has the last word.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.core.cells import Cells
from sfumato.core.compiled import inner, kernel
from sfumato.core.protocols import Criterion, ValueLimits
from sfumato.criteria.search_distance import ROUNDING, STEPS
from sfumato.search.lattice.kernels import group_cells

LOGS = 1 << 16  # logarithms of counts that are kept
LEAST_LOG = -1e300  # of a share of 0: times no rows it is 0
DENSE = 1 << 22  # classes times values of a sensitive attribute that are counted in a table

Room = tuple[np.ndarray, np.ndarray, np.ndarray]


class Limits:
    """The limits per value of several criteria of one attribute, as arrays, and tables of the rows of its values."""

    def __init__(self, attribute: str, limits: Sequence[ValueLimits], rows: int, classes: int) -> None:
        self.attribute, self.rows, self.classes = attribute, rows, classes
        rows_of = [[one.low, one.high, one.cap, one.rows_per, one.log_share, np.exp(one.log_share)] for one in limits]
        self.shares = np.array(rows_of)
        self.shares[:, 4] = np.maximum(self.shares[:, 4], LEAST_LOG)
        self.numbers = np.array([[one.distinct, one.divergence] for one in limits])
        self.logs = np.log(np.maximum(np.arange(min(rows + 1, LOGS)), 1.0))
        self.tables: dict[int, np.ndarray] = {}

    def room(self, room: Room) -> np.ndarray:
        """The table of the thread that has this room to group cells, of zeros."""
        if id(room[0]) not in self.tables:
            self.tables[id(room[0])] = np.zeros(self.classes * (self.shares.shape[2] + 1))
        return self.tables[id(room[0])]


def stack_limits(criteria: Sequence[Criterion], cells: Cells, rows: int, least: int) -> Limits | None:
    """The limits of all criteria that need a histogram, None where one has none or there are several attributes.

    A class has at least `least` rows."""
    inside = [c for c in criteria if c.needs]
    names = {name for c in inside for name in c.needs}
    if len(names) != 1 or any(c.about_table or (not c.needs and c.monotonicity != "superset") for c in criteria):
        return None
    histogram = cells.histograms[min(names)]
    limits = [limit for c in inside if (limit := c.value_limits(histogram)) is not None]
    classes = min(len(cells), rows // max(least, 1)) + 1  # and one for those that are too small
    if len(limits) < len(inside) or classes * len(histogram.overall) > DENSE:
        return None
    return Limits(min(names), limits, rows, classes)


@inner
def rows_within(table: np.ndarray, at: int, shares: np.ndarray, r: int, divergence: float, logs: np.ndarray) -> float:
    """How many rows of a class stay at most within a divergence: `criteria.search_distance.most_rows_within`."""
    values = shares.shape[2]
    low, high = 0.0, 0.0
    for v in range(values):
        if table[at + 1 + v] > 0:
            high = max(high, table[at + 1 + v] / shares[r, 5, v])
    for _ in range(STEPS):
        x = (low + high) / 2
        part, rows, sums = 0.0, 0.0, 0.0
        for v in range(values):
            c, q = table[at + 1 + v], shares[r, 5, v]
            if q * x < c:
                part += q
            else:
                rows += c
                sums += c * ((logs[np.uint64(c)] if c < len(logs) else np.log(c)) - shares[r, 4, v])
        rows += x * part
        sums += x * np.log(x) * part
        if sums / rows - np.log(rows) > divergence + ROUNDING:
            high = x
        else:
            low = x
    stay = 0.0
    for v in range(values):
        stay += min(table[at + 1 + v], shares[r, 5, v] * high)
    return min(np.floor(stay * (1 + ROUNDING) + ROUNDING), table[at])


@inner
def rows_that_stay(
    table: np.ndarray, at: int, shares: np.ndarray, numbers: np.ndarray, r: int, logs: np.ndarray
) -> float:
    """How many rows of a class stay at most in parts of it that satisfy the limits of a criterion r (see `Limits`); -1
    where the class itself does. A divergence that is met but for rounding counts as met.

    table[at] has the rows of the class, and those of each value follow. Loops have no branch in them, which would be
    guessed wrong too often.
    """
    values, n = shares.shape[2], table[at]
    distinct, divergence = numbers[r, 0], numbers[r, 1]
    found, outside = 0, 0
    for v in range(values):
        c = table[at + 1 + v]
        outside += (c > 0) & ((c > shares[r, 1, v] * n) | (c <= shares[r, 0, v] * n))
        found += c > 0
    excess = 0.0
    if divergence < np.inf:
        for v in range(values):
            c = table[at + 1 + v]
            excess += c * ((logs[np.uint64(c)] if c < len(logs) else np.log(c)) - shares[r, 4, v])
        excess = excess / n - np.log(n) - divergence
    if found < distinct:
        return 0.0
    if outside == 0 and excess <= ROUNDING:
        return -1.0
    most = n
    if excess > ROUNDING:
        most = rows_within(table, at, shares, r, divergence, logs)
    if outside == 0:
        return most
    if distinct > 0:
        own = np.inf
        for v in range(values):
            if table[at + 1 + v] > 0:
                own = min(own, table[at + 1 + v] * shares[r, 3, v])
        most = min(most, np.floor(own * (1 + ROUNDING) + ROUNDING))
    for _ in range(STEPS):  # as `criteria.search_distance.most_rows`
        full, caps = 0.0, 0.0
        for v in range(values):
            c, cap = table[at + 1 + v], shares[r, 2, v]
            capped = cap * most < c
            full += c * (not capped)
            caps += cap * capped
        less = np.floor(full / (1 - caps) * (1 + ROUNDING) + ROUNDING) if caps < 1 else most
        if less >= most:
            break
        most = less
    return most


@kernel
def bound_nodes(
    fused: np.ndarray,
    count: np.ndarray,
    cell: np.ndarray,
    value: np.ndarray,
    times: np.ndarray,
    maps: np.ndarray,
    map_at: np.ndarray,
    map_size: np.ndarray,
    least: int,
    limit: int,
    enough: int,
    shares: np.ndarray,
    numbers: np.ndarray,
    logs: np.ndarray,
    slot: np.ndarray,
    rows: np.ndarray,
    keys: np.ndarray,
    table: np.ndarray,
    found: np.ndarray,
    floor: np.ndarray,
) -> None:
    """For each node b, group the cells by the maps map_at[b] of the fused columns, and hold the classes to limits,
    where those of fewer than `least` rows have at most `limit` rows, until it is known that every specialisation
    suppresses more than `enough` rows. Entry e of the histogram says that cell cell[e] has value[e] times[e] times.

    found[b] = rows suppressed at least, classes, squares of sizes, kept classes, their squares; floor[b] = rows that
    every specialisation suppresses at least. `table` is room for the rows and values of all large classes of a node and
    one more.
    """
    wide = np.uint64(shares.shape[2] + 1)
    for b in range(len(map_at)):
        slots = group_cells(fused, count, len(count), maps, map_at[b], map_size[b], slot, rows, keys)
        small, large = 0, 0
        for j in range(slots):
            n = rows[j]
            if n > 0:
                found[b, 1] += 1
                found[b, 2] += np.float64(n) * n
                if n < least:
                    small += n
                    rows[j] = -1
                else:
                    table[large * wide] = n
                    rows[j] = large
                    large += 1
        found[b, 0], floor[b] = small, small
        if small > limit:
            continue
        for c in range(large + 1):
            for v in range(np.uint64(1), wide):
                table[c * wide + v] = 0
        for i in range(len(count)):
            c = rows[slot[i]]
            slot[i] = np.uint64(c if c >= 0 else large) * wide + np.uint64(1)
        for e in range(len(cell)):
            table[slot[np.uint32(cell[e])] + np.uint64(value[e])] += times[e]
        for c in range(large):
            n = table[c * wide]
            holds, most = True, n
            for r in range(len(shares)):
                own = rows_that_stay(table, np.int64(c * wide), shares, numbers, r, logs)
                if own >= 0:
                    holds, most = False, min(most, own)
            if holds:
                found[b, 3] += 1
                found[b, 4] += n * n
            else:
                found[b, 0] += n
                floor[b] += n - most
                if floor[b] > enough:
                    break
