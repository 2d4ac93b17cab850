"""Forest suppression, an O(k)-approximation. Aggarwal et al., Approximation algorithms for k-anonymity, 2005."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from sfumato.kernels.suppression_forest import cut, grow
from sfumato.search.problem import Problem, Solution, by_class, judge
from sfumato.search.suppression_cells import blocks, codes_of, differing, mended_cells, refuse, released, single_rows

NO_SHAPE, NO_TABLE = np.zeros((0, 5), np.int64), np.zeros(0, np.float32)


@dataclass(frozen=True)
class ForestSuppression:
    """Join each row to its nearest ones, cut the trees small, and blank what differs in a tree (_CS, heuristic).

    Rows are as far apart as they have differing columns, missing being a value. A tree that has fewer than k rows
    gets an edge from the row that has none yet to the nearest row outside, and trees with more than
    max(2k - 1, 3k - 5) rows are cut. Blank cells are released as missing values.

    Under k-anonymity at most max(2k - 1, 3k - 5) times as many cells go as must, which is never above 3k - 3 times:
    all edges together weigh no more than the cells of the best solution, since no row has an edge longer than to its
    (k - 1)-th nearest row; and a row loses at most the weight of all edges of its tree. Beyond 4096 rows, equal rows
    that need no others aside, the table is taken in blocks, and the factor holds in each.

    Classes that fail another criterion are united with the nearest. No rows are suppressed.
    """

    code: ClassVar[str] = "_CS"
    guarantee: ClassVar[str] = "heuristic"
    splits: ClassVar[bool] = True

    def __call__(self, problem: Problem) -> Solution:
        """Grow and cut a forest in each block of rows."""
        began = time.perf_counter()
        problem = by_class(problem)
        refuse(problem, "forest-suppression")
        least = problem.policy.least_size
        fine, split = single_rows(problem, 3 * least)
        of = forest(fine, fine.cells.codes.T, least, NO_SHAPE, NO_TABLE)
        of = mended_cells(fine, of, np.ones(len(problem.attributes)))
        partition, columns = released(fine, differing(codes_of(fine), of), split)
        seconds = time.perf_counter() - began
        kept, verdict, _ = judge(fine, columns)
        return Solution(partition, verdict, kept, False, len(fine.cells), seconds)


def forest(problem: Problem, points: np.ndarray, least: int, shape: np.ndarray, table: np.ndarray) -> np.ndarray:
    """The class of each row by forests in blocks; a piece of `least` rows and more is a class of its own."""
    of = np.full(len(problem.cells), -1, np.int64)
    alone = np.flatnonzero(problem.cells.count >= max(least, 2))
    of[alone] = np.arange(len(alone))
    rest = np.flatnonzero(of < 0)
    if not len(rest):
        return of
    classes, done = len(alone), 0
    points = np.ascontiguousarray(points, dtype=np.int32)
    inner = replace(problem, cells=problem.cells.take(rest))
    for block in blocks(inner, least):
        rows = rest[block]
        _, alike = np.unique(points[rows], axis=0, return_inverse=True)
        edges = grow(points[rows], alike.reshape(-1), min(least, len(rows)), shape, table)
        found, count = cut(edges, min(least, len(rows)))
        of[rows] = classes + found
        classes += count
        done += len(rows)
        problem.progress("growing trees", done / len(rest))
    return of
