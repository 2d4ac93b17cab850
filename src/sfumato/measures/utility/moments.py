"""Means, spreads and correlations of columns of numbers, of rows that may stand for several."""

from __future__ import annotations

import numpy as np


def mean(x: np.ndarray, times: np.ndarray | None) -> np.ndarray:
    """The mean of each column.

    >>> mean(np.array([[1.0], [4.0]]), np.array([2, 1])).tolist()
    [2.0]
    """
    return np.asarray(x.mean(axis=0) if times is None else np.average(x, axis=0, weights=times))


def spread(x: np.ndarray, times: np.ndarray | None) -> np.ndarray:
    """The standard deviation of each column, with n."""
    if times is None:
        return np.asarray(x.std(axis=0))
    return np.sqrt(mean((x - mean(x, times)) ** 2, times))


def covariance(x: np.ndarray, times: np.ndarray | None) -> np.ndarray:
    """The covariance matrix, with n - 1."""
    return np.atleast_2d(np.cov(x, rowvar=False, fweights=times))


def correlation(x: np.ndarray, times: np.ndarray | None) -> np.ndarray:
    """The correlation matrix; a column without spread correlates with none."""
    s = spread(x, times)
    z = (x - mean(x, times)) / np.where(s > 0, s, 1.0)
    product = z.T @ z / len(x) if times is None else (z * times[:, None]).T @ z / times.sum()
    return np.asarray(np.clip(product, -1.0, 1.0))
