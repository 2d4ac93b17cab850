"""Greedy suppression, an O(k log k)-approximation. Meyerson and Williams, Optimal k-anonymity, PODS 2004."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sfumato.kernels.suppression_greedy import cover
from sfumato.search.problem import Problem, Solution, by_class, judge
from sfumato.search.suppression_cells import blocks, codes_of, differing, mended_cells, refuse, released, single_rows


@dataclass(frozen=True)
class GreedySuppression:
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
        began = time.perf_counter()
        problem = by_class(problem)
        refuse(problem, "greedy-suppression")
        least = problem.policy.least_size
        fine, split = single_rows(problem, 2 * least)
        of, checks = _covered(fine, least)
        of = mended_cells(fine, of, np.ones(len(problem.attributes)))
        partition, columns = released(fine, differing(codes_of(fine), of), split)
        seconds = time.perf_counter() - began
        kept, verdict, _ = judge(fine, columns)
        return Solution(partition, verdict, kept, False, checks, seconds)


def _covered(problem: Problem, least: int) -> tuple[np.ndarray, int]:
    """The class of each row and how many balls were looked at; a piece of `least` rows and more stays alone."""
    of = np.full(len(problem.cells), -1, np.int64)
    alone = np.flatnonzero(problem.cells.count >= max(least, 2))
    of[alone] = np.arange(len(alone))
    rest = np.flatnonzero(of < 0)
    classes, done, checks = len(alone), 0, 0
    inner = replace(problem, cells=problem.cells.take(rest))
    for block in blocks(inner, least) if len(rest) else []:
        tuples, alike = np.unique(inner.cells.codes[:, block].T, axis=0, return_inverse=True)
        order = np.argsort(alike.reshape(-1), kind="stable")
        start = np.concatenate([[0], np.cumsum(np.bincount(alike.reshape(-1)))])
        found, balls = cover(np.ascontiguousarray(tuples), start, least)
        _, number = np.unique(found, return_inverse=True)
        of[rest[block[order]]] = classes + number
        classes, checks, done = classes + int(number.max()) + 1, checks + int(balls), done + len(block)
        problem.progress("covering rows", done / len(rest))
    return of, checks
