"""k-Optimize: the best splits of one column when the other columns are settled, for a first good solution."""

from __future__ import annotations

import numpy as np

from sfumato.kernels import kernel
from sfumato.kernels.k_optimize import HEAD, REP, Rules, Work, class_cost, find, intervals

NEVER = 1 << 62


@kernel
def line(
    start: np.ndarray, group: np.ndarray, entry: np.ndarray, spare: int, most: int, rules: Rules, size: np.ndarray,
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
    rules: Rules, work: Work, back: np.ndarray,
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
    moves: np.ndarray, most: int, rules: Rules, work: Work, back: np.ndarray,
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
