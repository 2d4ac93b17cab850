"""Greedy cover by balls around tuples, made a partition on the way."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.core.compiled import inner, kernel
from sfumato.core.protocols import Search
from sfumato.search.problem import Problem, Solution
from sfumato.search.suppression.cells import blanked, in_blocks


@inner
def best_ball(
    codes: np.ndarray, c: int, rows: np.ndarray, left: np.ndarray, least: int, far: np.ndarray
) -> tuple[float, int]:
    """The radius of the ball around a tuple with the least radius per row that it would newly cover, and that share.

    A ball has `least` rows, and covers at most 2 `least` - 1 new ones. `far` gets the distance of every tuple.
    """
    n, d = codes.shape
    inside, new = np.zeros(d + 1, np.int64), np.zeros(d + 1, np.int64)
    for t in range(n):
        apart = 0
        for a in range(d):
            if codes[t, a] != codes[c, a]:
                apart += 1
        far[t] = apart
        inside[apart] += rows[t]
        new[apart] += left[t]
    best, radius = np.inf, -1
    total = fresh = 0
    for r in range(d + 1):
        total += inside[r]
        fresh += new[r]
        if total >= least and fresh > 0 and r / min(fresh, 2 * least - 1) < best:
            best, radius = r / min(fresh, 2 * least - 1), r
    return best, radius


@kernel
def cover(codes: np.ndarray, start: np.ndarray, least: int) -> tuple[np.ndarray, int]:
    """The class of each row; rows start[t]:start[t + 1] are those of tuple t. Also how many balls were looked at.

    The ball of least radius per newly covered row is taken again and again. Where it has fewer than `least` new rows,
    it takes rows of other classes that can spare them, and else is united with a class that cannot.
    """
    n = len(codes)
    of = np.full(start[-1], -1, np.int64)
    size = np.zeros(start[-1] + 1, np.int64)
    rows = np.diff(start)
    left = rows.copy()
    far = np.empty(n, np.int64)
    classes = balls = 0
    heap = [(0.0, np.int64(0))]
    heap.pop()
    for t in range(n):
        if rows[t] >= least:
            of[start[t] : start[t + 1]] = classes
            size[classes] = rows[t]
            left[t] = 0
            classes += 1
    for t in range(n):
        if left[t]:
            heap.append((best_ball(codes, t, rows, left, least, far)[0], np.int64(t)))
            balls += 1
    heapq.heapify(heap)
    while len(heap):
        _, c = heapq.heappop(heap)
        if left[c] == 0:
            continue
        share, radius = best_ball(codes, c, rows, left, least, far)
        balls += 1
        if len(heap) and (share, c) > heap[0]:  # others are better by now: shares only ever grow
            heapq.heappush(heap, (share, c))
            continue
        _take_ball(radius, far, start, left, of, size, classes, least)
        classes += 1
        if left[c]:
            heapq.heappush(heap, (share, c))
    return of, balls


@inner
def _take_ball(
    radius: int,
    far: np.ndarray,
    start: np.ndarray,
    left: np.ndarray,
    of: np.ndarray,
    size: np.ndarray,
    mine: int,
    least: int,
) -> None:
    """Make a class of a ball: the nearest new rows, then as many others as it needs."""
    for r in range(radius + 1):
        for t in range(len(far)):
            if far[t] == r and left[t]:
                for v in range(start[t], start[t + 1]):
                    if of[v] < 0 and size[mine] < 2 * least - 1:
                        of[v] = mine
                        size[mine] += 1
                        left[t] -= 1
    for r in range(radius + 1):
        for t in range(len(far)):
            if far[t] == r and size[mine] < least:
                for v in range(start[t], start[t + 1]):
                    if of[v] >= 0 and of[v] != mine and size[of[v]] > least and size[mine] < least:
                        size[of[v]] -= 1
                        of[v] = mine
                        size[mine] += 1
    if size[mine] >= least:
        return
    for r in range(radius + 1):
        for t in range(len(far)):
            if far[t] == r:
                for v in range(start[t], start[t + 1]):
                    if of[v] >= 0 and of[v] != mine:
                        old = of[v]
                        for w in range(len(of)):
                            if of[w] == old:
                                of[w] = mine
                        size[mine] += size[old]
                        size[old] = 0
                        return


@dataclass(frozen=True)
class GreedySuppression(Search):
    """Cover the rows greedily by balls of rows that differ in few columns, and blank what differs (_CS, heuristic).

    Of all balls around rows that are not covered, the one with the least radius per row that it newly covers is
    taken: k rows at least, 2k - 1 at most. A ball with fewer new rows takes rows from classes that can spare them, or
    is united with one that cannot. Missing is a value here. Blank cells are released as missing values.

    That is the paper's cover by balls, whose time does not grow exponentially with k, with each ball trimmed to 2k - 1
    rows. Under k-anonymity at most (2k - 1)(2k - 2)/k H(2k - 1) times as many cells go as must, H(n) = 1 + ... + 1/n:
    the radii of the cover sum to at most H(2k - 1) times the diameters of the best classes, of which k times the sum
    must go; and a row loses at most 2k - 2 times the radii of its class. (The paper has 3k(1 + ln k) for the cover by
    all sets of k to 2k - 1 rows.) Beyond 4096 rows, equal rows that need no others aside, the table is taken in
    blocks, and the factor holds in each.

    Classes that fail another criterion are united with the nearest. No rows are suppressed.
    """

    code: ClassVar[str] = "_CS"
    guarantee: ClassVar[str] = "heuristic"
    splits: ClassVar[bool] = True

    def __call__(self, problem: Problem) -> Solution:
        """Cover each block of rows."""
        return blanked(problem, "greedy-suppression", 2, _covered)


def _covered(problem: Problem, least: int) -> tuple[np.ndarray, int]:
    """The class of each row and how many balls were looked at; a piece of `least` rows and more stays alone."""
    balls = 0

    def covers(rows: np.ndarray) -> np.ndarray:
        nonlocal balls
        tuples, alike = np.unique(problem.cells.codes[:, rows].T, axis=0, return_inverse=True)
        order = np.argsort(alike.reshape(-1), kind="stable")
        start = np.concatenate([[0], np.cumsum(np.bincount(alike.reshape(-1)))])
        found, looked_at = cover(np.ascontiguousarray(tuples), start, least)
        balls += int(looked_at)
        classes = np.empty(len(rows), np.int64)
        classes[order] = np.unique(found, return_inverse=True)[1]
        return classes

    return in_blocks(problem, least, "covering rows", covers), balls
