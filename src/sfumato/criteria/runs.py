"""Runs: sums and maxima over the runs of a sparse histogram, without a loop over classes."""

from __future__ import annotations

import numpy as np


def run_sums(x: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Sum of x over each run start[c]:start[c + 1]; an empty run sums to 0.

    >>> run_sums(np.array([1, 2, 3]), np.array([0, 2, 2, 3])).tolist()
    [3, 0, 3]
    """
    return _reduced(np.add, x, start)


def run_maxima(x: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Greatest x of each run; 0 for an empty run.

    >>> run_maxima(np.array([1, 2, 3]), np.array([0, 2, 2, 3])).tolist()
    [2, 0, 3]
    """
    return _reduced(np.maximum, x, start)


def run_of(start: np.ndarray) -> np.ndarray:
    """The run that each entry belongs to.

    >>> run_of(np.array([0, 2, 2, 3])).tolist()
    [0, 0, 2]
    """
    return np.repeat(np.arange(len(start) - 1), np.diff(start))


def _reduced(how: np.ufunc, x: np.ndarray, start: np.ndarray) -> np.ndarray:
    filled = start[1:] > start[:-1]  # reduceat gives x[start] for an empty run: those are left out
    if len(filled) and filled.all():
        whole: np.ndarray = how.reduceat(x, start[:-1])
        return whole
    out = np.zeros(len(filled), dtype=x.dtype)
    if filled.any():
        out[filled] = how.reduceat(x, start[:-1][filled])
    return out
