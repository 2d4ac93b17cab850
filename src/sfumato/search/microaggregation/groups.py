"""Groups of near rows: what they lose, and tables too large for one, cut into blocks.

Domingo-Ferrer and Mateo-Sanz, Practical data-oriented microaggregation, 2002. A matrix has a row for each row of the
table; what is near depends on the units of its columns, so they are standardised first. Groups are numbers per row.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sfumato.core.compiled import workers

Grouping = Callable[[np.ndarray, int], np.ndarray]


def standardised(matrix: np.ndarray) -> np.ndarray:
    """The matrix with mean 0 and standard deviation 1, over n - 1, in each column; constant ones are 0,
    and what is missing stays nan.

    >>> standardised(np.array([[1.0, 5.0], [3.0, 5.0], [5.0, 5.0]])).tolist()
    [[-1.0, 0.0], [0.0, 0.0], [1.0, 0.0]]
    """
    x = np.asarray(matrix, np.float64)
    known = (~np.isnan(x)).sum(axis=0)
    x = x - np.nansum(x, axis=0) / np.maximum(known, 1)
    sd = np.sqrt(np.nansum(x * x, axis=0) / np.maximum(known - 1, 1))
    return np.asarray(x / np.where(sd > 0, sd, 1.0))


def loss(matrix: np.ndarray, groups: np.ndarray) -> float:
    """The information loss in percent: 100 SSE/SST, on standardised columns.

    >>> round(loss(np.array([[1.0], [2.0], [8.0], [9.0]]), np.array([0, 0, 1, 1])), 9)
    2.0
    """
    x = standardised(matrix)
    total = float((x * x).sum())
    inside = x - means(x, groups)[groups]
    return 100 * float((inside * inside).sum()) / total if total > 0 else 0.0


def means(matrix: np.ndarray, groups: np.ndarray) -> np.ndarray:
    """The mean of each group, [groups, columns]."""
    sums = np.stack([np.bincount(groups, weights=column) for column in matrix.T], axis=1)
    return np.asarray(sums / np.bincount(groups)[:, None])


def grouped(matrix: np.ndarray, k: int, make: Grouping, block: int | None = None) -> np.ndarray:
    """The groups that `make` finds in sorted rows, so that they do not depend on the order of the table.

    With `block`, rows are cut in two at the median of the widest column until no part has more; `make` sees a part.
    """
    x = np.ascontiguousarray(matrix, np.float64)
    order = np.lexsort(x.T[::-1])
    parts = [order] if block is None else _parts(x, order, max(block, 2 * k))
    with workers() as pool:
        found = list(pool.map(lambda rows: make(np.ascontiguousarray(x[rows]), k), parts))
    groups, made = np.empty(len(x), np.int64), 0
    for rows, one in zip(parts, found, strict=True):
        groups[rows] = one + made
        made += int(one.max(initial=-1)) + 1
    return groups


def _parts(x: np.ndarray, rows: np.ndarray, most: int) -> list[np.ndarray]:
    """Parts of at most so many rows, cut at medians."""
    if len(rows) <= most:
        return [rows]
    part = x[rows]
    order = np.argsort(part[:, np.argmax(part.var(axis=0))], kind="stable")
    half = len(rows) // 2
    return [cut for side in (order[:half], order[half:]) for cut in _parts(x, rows[np.sort(side)], most)]


def dense(of: np.ndarray) -> np.ndarray:
    """The same groups, numbered from 0 without gaps."""
    return np.unique(of, return_inverse=True)[1].reshape(-1)
