"""Nearest rows in columns of numbers and names together, found exactly by a tree over distinct rows.

J. H. Friedman, J. L. Bentley, R. A. Finkel, An algorithm for finding best matches in logarithmic expected time, 1977.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from sfumato.core.cells import count_cells
from sfumato.core.compiled import threads, workers
from sfumato.core.keys import first_of
from sfumato.measures.attacks.kernels import NAMED, bounds, grow, nearest
from sfumato.measures.attacks.linkage import chunks


class NearestRows:
    """Points, [rows, columns] with nan where a value is unknown, in a tree that finds the nearest of them.

    Per column `kind` says how it counts, `weight` how much, and `blank` what an unknown value adds.

    >>> one = np.ones(1)
    >>> tree = NearestRows(np.array([[0.0], [2.0], [2.0]]), np.array([1]), one, one)
    >>> [found.tolist() for found in tree.find(np.array([[2.5], [0.5]]))]
    [[0.5, 0.5], [2, 1], [1, 0]]
    """

    def __init__(self, points: np.ndarray, kind: np.ndarray, weight: np.ndarray, blank: np.ndarray) -> None:
        place, count, first, _ = _distinct(points)
        self._spread = np.where(kind == NAMED, -weight, weight)
        order, start, stop, right = grow(place, self._spread)
        place = np.ascontiguousarray(place[order])
        self._row = first[order]
        self._tree = place, count[order], start, stop, right, *bounds(place, start, stop, right), kind, weight, blank

    def find(self, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Per query the least distance to a point, how many points are at it, and one of these."""
        best, ties, one, of, _ = self._walk(queries)
        return best[of], ties[of], self._row[one][of]

    def work(self, queries: np.ndarray) -> float:
        """How many points are looked at per query."""
        *_, of, looked = self._walk(queries)
        return looked / len(of)

    def _walk(self, queries: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, int]:
        asked, _, _, of = _distinct(queries)
        along = grow(asked, self._spread)[0]  # queries that are close to each other walk the same nodes
        best, ties, one = np.zeros(len(asked)), np.zeros(len(asked), np.int64), np.zeros(len(asked), np.int64)
        with workers() as pool:
            looked = pool.map(
                lambda part: nearest(asked, along, *part, *self._tree, best, ties, one),
                chunks(len(asked), 8 * threads()),
            )
            return best, ties, one, of, sum(looked)


def _distinct(points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Distinct points, how often each stands there, the first row of each, and the one of each row."""
    ranks, sizes = [], []
    for column in points.T:
        series = pl.Series(column).fill_nan(None)
        rank = (series.rank("dense").cast(pl.Int64) - 1).fill_null(series.n_unique()).to_numpy()
        ranks.append(rank.astype(np.int32))
        sizes.append(int(rank.max()) + 1)
    cells, of = count_cells([str(i) for i in range(len(ranks))], ranks, sizes)
    first = first_of(of, len(cells))
    return np.ascontiguousarray(points[first]), cells.count, first, of
