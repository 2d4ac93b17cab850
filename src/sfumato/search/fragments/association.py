"""Columns clustered by association: T. Li, N. Li, J. Zhang, I. Molloy, Slicing, IEEE TKDE 24(3), 2012, section 4.1."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sfumato.core.keys import rank_tuples

BINS = 10  # of equal frequency, of a column with an order that has more values


def mean_square_contingency(
    one: np.ndarray, other: np.ndarray, sizes: tuple[int, int], weight: np.ndarray | None = None
) -> float:
    """The mean-square contingency coefficient of two columns of codes, 0 where they are independent, 1 where each value
    of the one with more values goes with one value of the other: the sum over pairs of (f_ij - f_i f_j)^2 / (f_i f_j),
    over min(d1, d2) - 1. `weight`: rows of each entry.

    >>> mean_square_contingency(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), (2, 2))
    1.0
    >>> mean_square_contingency(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), (2, 2))
    0.0
    """
    rows = len(one) if weight is None else int(weight.sum())
    ours, theirs = (np.bincount(c, weight, minlength=n) for c, n in zip((one, other), sizes, strict=True))
    least = min(int((ours > 0).sum()), int((theirs > 0).sum()))
    if least < 2:
        return 0.0
    pair, pairs = rank_tuples([one, other], sizes, len(one))
    expected = np.empty(pairs)
    expected[pair] = ours[one] * theirs[other]  # of pairs that occur, times the rows
    together = np.bincount(pair, weight, minlength=pairs)
    found = float((together**2 / expected).sum()) - 1  # those that do not occur come to what is left of 1
    return 0.0 if rows == 0 else min(max(found / (least - 1), 0.0), 1.0)


def in_bins(code: np.ndarray, size: int, weight: np.ndarray) -> tuple[np.ndarray, int]:
    """The codes of a column with an order, in bins of equal frequency where there are many.

    >>> in_bins(np.arange(40), 40, np.ones(40))[0].tolist()[::8]
    [0, 2, 4, 6, 8]
    """
    if size <= BINS:
        return code, size
    rows = np.bincount(code, weight, minlength=size)
    middle = np.cumsum(rows) - rows / 2
    return np.minimum(middle / rows.sum() * BINS, BINS - 1).astype(np.int64)[code], BINS


def medoids(distance: np.ndarray, k: int) -> np.ndarray:
    """The cluster of each item by k-medoids, as PAM finds them (Kaufman and Rousseeuw 1990): medoids are built one by
    one, then exchanged for others while that brings items nearer to theirs.

    >>> medoids(np.array([[0, 0.1, 1, 1], [0.1, 0, 1, 1], [1, 1, 0, 0.1], [1, 1, 0.1, 0]]), 2).tolist()
    [0, 0, 1, 1]
    """
    n = len(distance)
    chosen: list[int] = []
    nearest = np.full(n, np.inf)
    for _ in range(k):
        cost = np.minimum(distance, nearest[:, None]).sum(axis=0)
        cost[chosen] = np.inf
        chosen.append(int(np.argmin(cost)))
        nearest = np.minimum(nearest, distance[:, chosen[-1]])
    best, better = float(nearest.sum()), True
    while better:
        better = False
        for place in range(k):
            rest = [m for i, m in enumerate(chosen) if i != place]
            others = distance[:, rest].min(axis=1, initial=np.inf)
            cost = np.minimum(distance, others[:, None]).sum(axis=0)
            cost[chosen] = np.inf
            least = int(np.argmin(cost))
            if cost[least] < best - 1e-12:
                chosen[place], best, better = least, float(cost[least]), True
    chosen.sort()
    found = np.argmin(distance[:, chosen], axis=1)
    found[chosen] = np.arange(k)  # a medoid is in its own cluster, also where another is as near
    return found


def clustered(distance: np.ndarray, c: int, alpha: int | None) -> list[list[int]]:
    """The columns in c groups, the last of which has the sensitive column, which comes last in `distance`.

    With `alpha` its group is of so many columns, those most associated with it; without, all columns are clustered.
    """
    n = len(distance)
    if alpha is None:
        of = medoids(distance, c)
        groups = [np.flatnonzero(of == i).tolist() for i in range(c)]
        groups.sort(key=lambda group: (n - 1 in group, -len(group), group))
        return groups
    beside = np.argsort(distance[:-1, -1], kind="stable")[: alpha - 1].tolist()
    rest = np.array([i for i in range(n - 1) if i not in beside])
    of = medoids(distance[np.ix_(rest, rest)], c - 1)
    groups = [rest[of == i].tolist() for i in range(c - 1)]
    groups.sort(key=lambda group: (-len(group), group))
    return [*groups, [*sorted(beside), n - 1]]


def released_to(groups: Sequence[Sequence[int]], distance: np.ndarray) -> list[list[int]]:
    """The groups after the column that is least associated with the sensitive one has left its group, for the one
    whose columns are nearest to it."""
    *others, held = (list(group) for group in groups)
    sensitive = len(distance) - 1
    leaves = max((i for i in held if i != sensitive), key=lambda i: (distance[i, sensitive], i))
    near = min(range(len(others)), key=lambda g: (float(distance[leaves, others[g]].mean()), g))
    others[near] = sorted([*others[near], leaves])
    return [*others, [i for i in held if i != leaves]]
