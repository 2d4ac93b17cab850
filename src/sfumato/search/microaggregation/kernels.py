"""Groups around far rows, and paths along an order: the loops of microaggregation. Columns are rows of `x` here."""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.core.compiled import inner, kernel


@inner
def distances(x: Any, m: int, p: Any, far: Any) -> None:
    """The squared distance of the first m rows from a point."""
    far[:m] = 0.0
    for c in range(x.shape[0]):
        column, at = x[c], p[c]
        for j in range(m):
            far[j] += (column[j] - at) * (column[j] - at)


@inner
def farthest(far: Any, m: int, row: Any) -> int:
    """The place of the greatest of the first m distances, of the first row among equals."""
    best = 0
    for j in range(1, m):
        if far[j] > far[best] or (far[j] == far[best] and row[j] < row[best]):
            best = j
    return best


@inner
def nearest(far: Any, m: int, row: Any, k: int, found: Any) -> None:
    """The places of the k least of the first m distances, the first rows among equals; they come in order."""
    size = 0
    for j in range(m):
        if size == k:
            last = found[k - 1]
            if far[j] > far[last] or (far[j] == far[last] and row[j] > row[last]):
                continue
        at = size if size < k else k - 1
        while at > 0 and (
            far[j] < far[found[at - 1]] or (far[j] == far[found[at - 1]] and row[j] < row[found[at - 1]])
        ):
            found[at] = found[at - 1]
            at -= 1
        found[at] = j
        size = min(size + 1, k)


@inner
def take_out(x: Any, m: int, far: Any, row: Any, some: Any, group: int, of: Any, total: Any) -> int:
    """Give the rows at some places to a group and close the gaps; how many remain."""
    for j in np.sort(some)[::-1]:
        of[row[j]] = group
        m -= 1
        for c in range(x.shape[0]):
            total[c] -= x[c, j]
            x[c, j] = x[c, m]
        far[j], row[j] = far[m], row[m]
    return m


@kernel
def mdav(x: np.ndarray, k: int, stop: np.ndarray) -> np.ndarray:
    """The group of each row by MDAV; rows are sorted, and the first of equally far ones is taken."""
    x = x.copy()
    d, n = x.shape
    of, row, far = np.zeros(n, np.int64), np.arange(n), np.empty(n)
    found, p, total = np.empty(k, np.int64), np.empty(d), np.zeros(d)
    for c in range(d):
        total[c] = x[c].sum()
    m, group = n, 0
    while m >= 2 * k and not stop[0]:
        for c in range(d):
            p[c] = total[c] / m
        distances(x, m, p, far)
        j = farthest(far, m, row)
        ends = 2 if m >= 3 * k else 1
        for _ in range(ends):
            for c in range(d):
                p[c] = x[c, j]
            distances(x, m, p, far)
            nearest(far, m, row, k, found)
            m = take_out(x, m, far, row, found, group, of, total)
            group += 1
            j = farthest(far, m, row)
    for j in range(m):
        of[row[j]] = group
    return of


@kernel
def v_mdav(x: np.ndarray, k: int, gamma: float, stop: np.ndarray) -> np.ndarray:
    """The group of each row by V-MDAV: groups take further rows in while these are nearer to them than to others."""
    x = x.copy()
    d, n = x.shape
    of, row, far, near = np.full(n, -1), np.arange(n), np.empty(n), np.empty(n)
    found, p, total = np.empty(k, np.int64), np.empty(d), np.zeros(d)
    one = np.empty(1, np.int64)
    for c in range(d):
        total[c] = x[c].sum()
    m, group = n, 0
    while m >= k and not stop[0]:
        for c in range(d):
            p[c] = total[c] / m
        distances(x, m, p, far)
        j = farthest(far, m, row)
        for c in range(d):
            p[c] = x[c, j]
        distances(x, m, p, far)
        nearest(far, m, row, k, found)
        members = np.empty((2 * k, d))
        for i in range(k):
            for c in range(d):
                members[i, c] = x[c, found[i]]
        m = take_out(x, m, far, row, found, group, of, total)
        size = k
        near[:m] = np.inf
        fresh = 0
        while size < 2 * k - 1 and m > 0:
            for i in range(fresh, size):
                distances(x, m, members[i], far)
                for j in range(m):
                    near[j] = min(near[j], far[j])
            fresh = size
            nearest(near, m, row, 1, one)
            j = one[0]
            inside = near[j]
            for c in range(d):
                p[c] = x[c, j]
            distances(x, m, p, far)
            outside = np.inf
            for i in range(m):
                if i != j:
                    outside = min(outside, far[i])
            if inside >= gamma * gamma * outside:
                break
            members[size] = p
            size += 1
            m = take_out(x, m, near, row, one, group, of, total)
        group += 1
    return of


@kernel
def tfrp(x: np.ndarray, k: int, stop: np.ndarray) -> np.ndarray:
    """The group of each row, k rows each, from two fixed corners in turn; -1 for those that are left."""
    x = x.copy()
    d, n = x.shape
    of, row, far = np.full(n, -1), np.arange(n), np.empty(n)
    found, p, total, corner = np.empty(k, np.int64), np.empty(d), np.zeros(d), np.empty((2, d))
    for c in range(d):
        corner[0, c], corner[1, c] = x[c].min(), x[c].max()
    m, group = n, 0
    while m >= k and not stop[0]:
        distances(x, m, corner[group % 2], far)
        j = farthest(far, m, row)
        for c in range(d):
            p[c] = x[c, j]
        distances(x, m, p, far)
        nearest(far, m, row, k, found)
        m = take_out(x, m, far, row, found, group, of, total)
        group += 1
    return of


@kernel
def join_nearest(x: np.ndarray, of: np.ndarray, k: int, stop: np.ndarray) -> None:
    """Give each row that has no group, -1, to the nearest mean of a group of fewer than 2k - 1 rows, or of any."""
    d, n = x.shape
    groups = of.max() + 1
    size, total = np.zeros(groups, np.int64), np.zeros((groups, d))
    for i in range(n):
        if of[i] >= 0:
            size[of[i]] += 1
            for c in range(d):
                total[of[i], c] += x[c, i]
    for i in range(n):
        if of[i] >= 0:
            continue
        if stop[0]:
            return
        best, near, small = 0, np.inf, False
        for g in range(groups):
            fits = size[g] < 2 * k - 1
            if small and not fits:
                continue
            s = 0.0
            for c in range(d):
                t = x[c, i] - total[g, c] / size[g]
                s += t * t
            if s < near or (fits and not small):
                best, near, small = g, s, fits
        of[i] = best
        size[best] += 1
        for c in range(d):
            total[best, c] += x[c, i]


@kernel
def dissolve(x: np.ndarray, of: np.ndarray, k: int, stop: np.ndarray) -> None:
    """Take groups apart whose rows lose less in others, from the one that loses most; none grows beyond 2k - 1."""
    d, n = x.shape
    groups = of.max() + 1
    size, total, lost = np.zeros(groups, np.int64), np.zeros((groups, d)), np.zeros(groups)
    for i in range(n):
        size[of[i]] += 1
        for c in range(d):
            total[of[i], c] += x[c, i]
    for i in range(n):
        for c in range(d):
            t = x[c, i] - total[of[i], c] / size[of[i]]
            lost[of[i]] += t * t
    order = np.argsort(of, kind="mergesort")
    start = np.searchsorted(of[order], np.arange(groups + 1))
    member = np.empty(2 * k, np.int64)
    for g in np.argsort(-lost, kind="mergesort"):
        if stop[0]:
            return
        count, rise = 0, -lost[g]
        first = order[start[g] : start[g + 1]]  # what joined it since is not looked at: it then stays
        if len(first) != size[g]:
            continue
        for i in first:
            best, near = -1, np.inf
            for h in range(groups):
                if h == g or size[h] == 0 or size[h] >= 2 * k - 1:
                    continue
                s = 0.0
                for c in range(d):
                    t = x[c, i] - total[h, c] / size[h]
                    s += t * t
                s *= size[h] / (size[h] + 1)
                if s < near:
                    best, near = h, s
            if best < 0:
                rise = np.inf
                break
            rise += near
            of[i] = best
            member[count] = i
            count += 1
            size[best] += 1
            for c in range(d):
                total[best, c] += x[c, i]
            if rise >= 0:
                break
        for q in range(count):
            i = member[q]
            if rise >= 0:
                size[of[i]] -= 1
                for c in range(d):
                    total[of[i], c] -= x[c, i]
                of[i] = g
        if rise < 0:
            size[g] = 0


@inner
def chain(x: Any, rows: Any, m: int, first: int, stop: Any) -> None:
    """Order the first m rows: each next one is the nearest of those that are left; rows are rows of x here."""
    rows[0], rows[first] = rows[first], rows[0]
    for at in range(1, m):
        if stop[0]:
            return
        best, near = at, np.inf
        p = rows[at - 1]
        for j in range(at, m):
            s = 0.0
            for c in range(x.shape[1]):
                t = x[rows[j], c] - x[p, c]
                s += t * t
                if s >= near:
                    break
            if s < near:
                best, near = j, s
        rows[at], rows[best] = rows[best], rows[at]


@inner
def path(x: Any, rows: Any, m: int, k: int, upto: Any, square: Any, cost: Any, before: Any) -> float:
    """The least loss of groups of k to 2k - 1 rows that follow each other in an order of m; before[end] is a start."""
    d = x.shape[1]
    for c in range(d):
        upto[0, c] = 0.0
    square[0] = 0.0
    for j in range(m):
        s = 0.0
        for c in range(d):
            v = x[rows[j], c] - x[rows[0], c]
            upto[j + 1, c] = upto[j, c] + v
            s += v * v
        square[j + 1] = square[j] + s
    cost[0] = 0.0
    for j in range(1, m + 1):
        cost[j] = np.inf
        for i in range(max(j - 2 * k + 1, 0), j - k + 1):
            if cost[i] < np.inf:
                s = 0.0
                for c in range(d):
                    t = upto[j, c] - upto[i, c]
                    s += t * t
                whole = cost[i] + square[j] - square[i] - s / (j - i)
                if whole < cost[j]:
                    cost[j], before[j] = whole, i
    return cost[m]


@kernel
def chained(x: np.ndarray, first: int, stop: np.ndarray) -> np.ndarray:
    """All rows in an order of nearest next, from a first one."""
    rows = np.arange(len(x))
    chain(x, rows, len(x), first, stop)
    return rows


@kernel
def path_groups(x: np.ndarray, rows: np.ndarray, k: int) -> np.ndarray:
    """The best groups of k to 2k - 1 rows that follow each other in an order (Hansen and Mukherjee 2003)."""
    n, d = x.shape
    before = np.zeros(n + 1, np.int64)
    path(x, rows, n, k, np.empty((n + 1, d)), np.empty(n + 1), np.empty(n + 1), before)
    of, end, group = np.empty(n, np.int64), n, 0
    while end > 0:
        for j in range(before[end], end):
            of[rows[j]] = group
        end = before[end]
        group += 1
    return of


@inner
def gower(x: Any, m: int, p: Any, weight: Any, category: Any, far: Any) -> None:
    """The distance of the first m rows from a point: differences of numbers, 1 for other categories, weighted."""
    far[:m] = 0.0
    for c in range(x.shape[0]):
        column, at, w = x[c], p[c], weight[c]
        if category[c]:
            for j in range(m):
                if column[j] != at:
                    far[j] += w
        else:
            for j in range(m):
                far[j] += w * abs(column[j] - at)


@kernel
def gower_mdav(x: np.ndarray, weight: np.ndarray, category: np.ndarray, k: int, stop: np.ndarray) -> np.ndarray:
    """The group of each row by MDAV in the distance of Gower, from the means of numbers and the modes of categories,
    which are numbers from 0."""
    x = x.copy()
    d, n = x.shape
    of, row, far = np.zeros(n, np.int64), np.arange(n), np.empty(n)
    found, p, total = np.empty(k, np.int64), np.empty(d), np.zeros(d)
    most = 0
    for c in range(d):
        total[c] = x[c].sum()
        if category[c]:
            most = max(most, int(x[c].max()) + 1)
    often = np.zeros((d, most), np.int64)
    for c in range(d):
        if category[c]:
            for j in range(n):
                often[c, int(x[c, j])] += 1
    m, group = n, 0
    while m >= 2 * k and not stop[0]:
        for c in range(d):
            p[c] = np.argmax(often[c]) if category[c] else total[c] / m
        gower(x, m, p, weight, category, far)
        j = farthest(far, m, row)
        ends = 2 if m >= 3 * k else 1
        for _ in range(ends):
            for c in range(d):
                p[c] = x[c, j]
            gower(x, m, p, weight, category, far)
            nearest(far, m, row, k, found)
            for c in range(d):
                if category[c]:
                    for i in found:
                        often[c, int(x[c, i])] -= 1
            m = take_out(x, m, far, row, found, group, of, total)
            group += 1
            j = farthest(far, m, row)
    for j in range(m):
        of[row[j]] = group
    return of
