"""Robust centre, covariance and distances of rows (Maronna and Zamar, "Robust estimates of location and dispersion for
high-dimensional datasets", Technometrics 44, 2002)."""

from __future__ import annotations

import math

import numpy as np

NORMAL = 1.4826  # the standard deviation of a normal column over its median absolute deviation
INSIDE = 0.9  # of normal rows: these make the estimate of the second round


def chi_square_quantile(share: float, freedom: int) -> float:
    """What a chi-square number of so many degrees of freedom stays below with a probability.

    >>> round(chi_square_quantile(0.975, 1), 4), round(chi_square_quantile(0.95, 3), 4)
    (5.0239, 7.8147)
    """
    low, high = 0.0, 1.0
    while _below(high, freedom / 2) < share:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _below(middle, freedom / 2) < share else (low, middle)
    return high


def _below(x: float, a: float) -> float:
    """The distribution function, by the series of the incomplete gamma function."""
    term = total = 1 / a
    n = 0
    while term > total * 1e-16:
        n += 1
        term *= x / 2 / (a + n)
        total += term
    return total * math.exp(a * math.log(x / 2) - x / 2 - math.lgamma(a))


def robust_scale(x: np.ndarray) -> np.ndarray:
    """The scale of each column by its median absolute deviation; by its standard deviation where more than half of the
    values are equal."""
    found = NORMAL * np.median(np.abs(x - np.median(x, axis=0)), axis=0)
    return np.where(found > 0, found, x.std(axis=0))


def robust_moments(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Centre and covariance of complete rows, whatever a minority of them is like: the orthogonalised estimate of
    Gnanadesikan and Kettenring, then mean and covariance of the rows that lie within it, scaled to normal rows.

    >>> centre, covariance = robust_moments(np.array([[float(i % 11)] for i in range(99)] + [[1e6]]))
    >>> float(centre[0]), bool(covariance[0, 0] < 20)
    (5.0, True)
    """
    scale, d = robust_scale(x), x.shape[1]
    y = x / scale
    together = np.eye(d)
    for i in range(d):
        for j in range(i):
            sums = np.column_stack([y[:, i] + y[:, j], y[:, i] - y[:, j]])
            plus, minus = robust_scale(sums) ** 2
            together[i, j] = together[j, i] = (plus - minus) / 4
    _, axes = np.linalg.eigh(together)
    along = y @ axes
    back = scale[:, None] * axes
    centre, covariance = back @ np.median(along, axis=0), (back * robust_scale(along) ** 2) @ back.T
    distance = squared_distances(x, centre, covariance)
    usual = float(np.median(distance)) / chi_square_quantile(0.5, d)
    near = x[distance <= usual * chi_square_quantile(INSIDE, d)]
    if usual == 0 or len(near) <= d + 1:  # more than half of the rows are alike
        return centre, covariance
    made = np.atleast_2d(np.cov(near, rowvar=False))
    of_normal = float(np.median(squared_distances(x, near.mean(axis=0), made))) / chi_square_quantile(0.5, d)
    return near.mean(axis=0), made * of_normal


def squared_distances(x: np.ndarray, centre: np.ndarray, covariance: np.ndarray) -> np.ndarray:
    """Squared Mahalanobis distances; a direction without spread does not count."""
    scale = np.sqrt(np.maximum(np.diag(covariance), 0))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    kept = values > 1e-12 * values.max(initial=0)
    along = ((x - centre) / scale) @ vectors[:, kept]
    return np.asarray((along**2 / values[kept]).sum(axis=1))
