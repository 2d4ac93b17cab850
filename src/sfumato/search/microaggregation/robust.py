"""Microaggregation in a robust Mahalanobis distance: Templ, Statistical disclosure control for microdata using the R
package sdcMicro, 2008; the covariance by Rousseeuw and Van Driessen, A fast algorithm for the minimum covariance
determinant estimator, 1999."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import numpy as np

from sfumato.core.parameters import Whole
from sfumato.core.progress import check_cancelled
from sfumato.search.microaggregation.groups import grouped
from sfumato.search.microaggregation.mdav import mdav_groups
from sfumato.search.microaggregation.step import BLOCK, Microaggregation

STARTS, BEST = 100, 10  # subsets that are tried, and those that are followed to the end
FEW = 1500  # rows in which they are looked for
RIDGE = 0.01  # of the variance of a column: more than half of its rows may have one value


@dataclass(frozen=True)
class RobustMicroaggregation(Microaggregation):
    """Group rows as MDAV does, in the Mahalanobis distance of the half of the rows that lies closest together.

    Outliers then do not decide what is near: the covariance is that of the half of the rows whose covariance has the
    least determinant, looked for from subsets drawn by `seed`.

    seed: of the random numbers.
    """

    seed: Annotated[int, Whole(0)] = 0

    def groups(self, x: np.ndarray, k: int) -> np.ndarray:
        """The group of each row."""
        covariance = mcd(x[np.lexsort(x.T[::-1])], self.seed)[1] + RIDGE * np.diag(np.maximum(x.var(axis=0), 1e-300))
        scale, axes = np.linalg.eigh(covariance)
        axes = axes * np.sign(axes[np.argmax(np.abs(axes), axis=0), np.arange(len(axes))])
        return grouped(x @ axes / np.sqrt(scale), k, mdav_groups, BLOCK)


def mcd(x: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """The mean and the covariance of the half of the rows whose covariance has the least determinant, about."""
    rng, (n, d) = np.random.default_rng(seed), x.shape
    few = x if n <= FEW else x[np.sort(rng.choice(n, FEW, replace=False))]
    found = []
    for _ in range(STARTS):
        some = few[rng.choice(len(few), min(d + 1, len(few)), replace=False)]
        for _ in range(2):
            some = _closest(few, some)
        found.append((_size(some), some))
    found.sort(key=lambda one: one[0])
    ends = []
    for size, some in found[:BEST]:
        half, last = _closest(x, some), np.inf
        while (size := _size(half)) < last - 1e-9:
            half, last = _closest(x, half), size
        ends.append((size, half))
    best = min(ends, key=lambda one: one[0])[1]
    return best.mean(axis=0), np.atleast_2d(np.cov(best, rowvar=False))


def _closest(x: np.ndarray, some: np.ndarray) -> np.ndarray:
    """The half of the rows that is closest to the mean of some, in the distance of their covariance."""
    check_cancelled()
    away = x - some.mean(axis=0)
    covariance = np.atleast_2d(np.cov(some, rowvar=False)) + 1e-9 * np.eye(x.shape[1])
    far = (away * np.linalg.solve(covariance, away.T).T).sum(axis=1)
    return x[np.argsort(far, kind="stable")[: (len(x) + x.shape[1] + 1) // 2]]


def _size(some: np.ndarray) -> float:
    """The logarithm of the determinant of the covariance."""
    return float(np.linalg.slogdet(np.atleast_2d(np.cov(some, rowvar=False)) + 1e-9 * np.eye(some.shape[1]))[1])
