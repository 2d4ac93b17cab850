"""The Pareto front: the points that no other point beats."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def pareto(utility: Sequence[float | None], risk: Sequence[float | None]) -> list[bool]:
    """Which points no other point beats: one with at least the utility and at most the risk, and better in one.

    Points that are equal in both stand together; a point that lacks a value is not on the front.

    >>> pareto([0.9, 0.8, 0.7, None], [0.5, 0.2, 0.3, 0.1])
    [True, True, False, False]
    """
    u = np.array([np.nan if value is None else value for value in utility], np.float64)
    r = np.array([np.nan if value is None else value for value in risk], np.float64)
    known = np.isfinite(u) & np.isfinite(r)
    front = np.zeros(len(u), np.bool_)
    least, at = np.inf, np.nan  # the least risk among points of more utility, and the utility of that point
    for i in np.lexsort((r, -u)):  # most utility first, then least risk
        if known[i] and (r[i] < least or (r[i] == least and u[i] == at)):
            front[i], least, at = True, r[i], u[i]
    return [bool(one) for one in front]
