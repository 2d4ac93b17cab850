"""What sums of bounded values leave open of each value, by linear programming: Y. Li, L. Wang, X. Wang and S. Jajodia,
"Auditing interval-based inference", CAiSE 2002."""

from __future__ import annotations

import numpy as np

from sfumato.control.controls.model import solver

TOLERANCE = 1e-6  # of a solver, as a share of the bounds
AT_ONCE = 4  # programs that look for many open values together


def is_narrowed(
    answered: np.ndarray, sizes: np.ndarray, true: np.ndarray, bounds: tuple[float, float], interval: float
) -> bool:
    """Whether the range of some person's value is narrower than an interval, by sums over classes and by bounds.

    answered: which classes are in each sum. sizes: people of each class. true: the sums of the classes, one way that
    all values may be. Of people in one class, all have the same range.

    >>> one = np.array([1, 1])
    >>> [is_narrowed(np.array([[True, True]]), one, np.array(true), (0, 10), 5) for true in ([5.0, 5.0], [9.0, 9.0])]
    [False, True]
    """
    low, high = bounds
    some = sizes > 0
    answered, sizes, true = answered[:, some].astype(np.float64), sizes[some], true[some]
    unit = high - low
    ends = np.column_stack((sizes * low - true, sizes * high - true)) / unit  # of how far a sum may move
    least, most = np.zeros(len(sizes)), np.zeros(len(sizes))
    draws = np.random.default_rng(0)
    need = interval / unit + TOLERANCE if interval < unit else 1.0 - TOLERANCE

    def open_to(at: np.ndarray | slice) -> np.ndarray:
        others = sizes[at] - 1
        below = np.maximum(low, true[at] + unit * least[at] - others * high)
        above = np.minimum(high, true[at] + unit * most[at] - others * low)
        return (above - below) / unit

    def solve(cost: np.ndarray) -> bool:
        found = solver("optimize").linprog(
            cost, A_eq=answered, b_eq=np.zeros(len(answered)), bounds=ends, method="highs"
        )
        if found.status != 0:
            return False
        np.minimum(least, found.x, out=least)
        np.maximum(most, found.x, out=most)
        return True

    for _ in range(AT_ONCE):
        narrow = open_to(slice(None)) < need
        if not narrow.any():
            return False
        cost = np.where(narrow, draws.choice([-1.0, 1.0], len(sizes)), 0.0)
        solve(cost)
        solve(-cost)
    for number in np.flatnonzero(open_to(slice(None)) < need):
        at = np.array([number])
        if open_to(at)[0] < need:
            unit_cost = np.zeros(len(sizes))
            unit_cost[number] = 1.0
            if not (solve(unit_cost) and solve(-unit_cost)) or open_to(at)[0] < need:
                return True
    return False
