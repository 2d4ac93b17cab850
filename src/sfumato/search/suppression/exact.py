"""The fewest cells, by looking at everything that could be fewer: for small tables."""

from __future__ import annotations

import numpy as np

from sfumato.core.compiled import inner, kernel
from sfumato.search.suppression.cells import ranked


@kernel
def best_classes(codes: np.ndarray, weight: np.ndarray, least: int) -> np.ndarray:
    """The class of each row in a partition into classes of `least` rows at least that blanks the least weight of cells.

    Over all sets of rows: the best partition of a set takes its first row with some others, no more than 2k - 1 in
    all, since larger classes can be cut at no cost.
    """
    n, d = codes.shape
    every = 1 << n
    cost = np.zeros(every)
    rows = np.zeros(every, np.int64)
    for s in range(1, every):
        rows[s] = rows[s & (s - 1)] + 1
        if rows[s] < least or rows[s] > max(2 * least - 1, 1):
            continue
        for c in range(d):
            first, same, there = -2, True, 0
            for r in range(n):
                if s >> r & 1:
                    if first == -2:
                        first = codes[r, c]
                    elif codes[r, c] != first:
                        same = False
                    if codes[r, c] >= 0:
                        there += 1
            if not same:
                cost[s] += weight[c] * there
    best = np.full(every, np.inf)
    choice = np.zeros(every, np.int64)
    best[0] = 0.0
    for s in range(1, every):
        low = s & -s
        others = s ^ low
        part = others
        while True:
            taken = part | low
            if least <= rows[taken] <= 2 * least - 1 and best[s ^ taken] + cost[taken] < best[s]:
                best[s] = best[s ^ taken] + cost[taken]
                choice[s] = taken
            if part == 0:
                break
            part = (part - 1) & others
    of = np.zeros(n, np.int64)
    s, classes = every - 1, 0
    while s:
        for r in range(n):
            if choice[s] >> r & 1:
                of[r] = classes
        classes += 1
        s ^= choice[s]
    return of


@inner
def repair_price(
    codes: np.ndarray, blank: np.ndarray, fixed: np.ndarray, weight: np.ndarray, least: int, r: int
) -> float:
    """The least weight of more cells until row r alone matches `least` rows: some of its own, and then of others what
    still differs. Cells that are fixed stay."""
    n, d = codes.shape
    best = np.inf
    price = np.empty(n)
    for own in range(1 << d):
        mine, allowed = 0.0, True
        for c in range(d):
            if own >> c & 1:
                if codes[r, c] < 0 or blank[r] >> c & 1 or fixed[r] >> c & 1:
                    allowed = False
                    break
                mine += weight[c]
        if not allowed or mine >= best:
            continue
        for t in range(n):
            price[t] = 0.0
            for c in range(d):
                if (own | blank[r] | blank[t]) >> c & 1 or codes[r, c] < 0 or codes[t, c] < 0:
                    continue
                if codes[r, c] != codes[t, c]:
                    price[t] += np.inf if fixed[t] >> c & 1 else weight[c]
        total, order = mine, ranked(price)
        for i in range(least):
            total += price[order[i]]
        best = min(best, total)
    return best


@kernel
def fewest_blanks(
    codes: np.ndarray, weight: np.ndarray, least: int, start: np.ndarray, most: int
) -> tuple[np.ndarray, bool, int]:
    """Branch and bound: the columns to blank in each row so that every row matches `least`, from a solution `start`.

    A row that matches too few needs one more of its own cells, or of the cells of others that differ from it: each is
    tried, those before it being fixed. A branch is as dear as the dearest row is to repair alone. At most `most`
    branches are opened; whether that was enough, and how many they were.
    """
    n, d = codes.shape
    best_blank = start.copy()
    best = 0.0
    for r in range(n):
        for c in range(d):
            if start[r] >> c & 1:
                best += weight[c]
    depth_most = n * d + 1
    blank, fixed = np.zeros((depth_most + 1, n), np.int64), np.zeros((depth_most + 1, n), np.int64)
    spent = np.zeros(depth_most + 1)
    row = np.zeros(depth_most + 1, np.int64)
    turn = np.full(depth_most + 1, -1, np.int64)
    depth, opened = 0, 0
    while depth >= 0:
        if turn[depth] < 0:  # a new branch: who is worst off?
            opened += 1
            if opened > most:
                return best_blank, False, opened
            worst, dearest = -1, 0.0
            for r in range(n):
                price = repair_price(codes, blank[depth], fixed[depth], weight, least, r)
                if price > dearest:
                    worst, dearest = r, price
            if worst < 0:
                if spent[depth] < best - 1e-9:
                    best = spent[depth]
                    best_blank[:] = blank[depth]
                depth -= 1
                continue
            if spent[depth] + dearest >= best - 1e-9:
                depth -= 1
                continue
            row[depth] = worst
            turn[depth] = 0
        r, advanced = row[depth], False
        while turn[depth] < n * d:  # the own cells first
            i = turn[depth]
            t, c = (r + i // d) % n, i % d
            turn[depth] += 1
            taken = (blank[depth, t] | fixed[depth, t]) >> c & 1
            helps = t == r or (codes[r, c] >= 0 and codes[t, c] != codes[r, c] and not blank[depth, r] >> c & 1)
            if taken or codes[t, c] < 0 or not helps:
                continue
            blank[depth + 1] = blank[depth]
            fixed[depth + 1] = fixed[depth]
            blank[depth + 1, t] |= np.int64(1) << c
            spent[depth + 1] = spent[depth] + weight[c]
            fixed[depth, t] |= np.int64(1) << c
            turn[depth + 1] = -1
            advanced = True
            break
        depth += 1 if advanced else -1
    return best_blank, True, opened
