"""Perturbation tables of greatest entropy: J. K. Marley, V. L. Leaver, A method for confidentialising user-defined
tables, ISI 2011; S. Giessing, Computational issues in the design of transition probabilities, PSD 2016."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sfumato.errors import PolicyError

FACE = 1e-12  # how near a variance is to the least or greatest one to be taken for it
STEPS = 200


@dataclass(frozen=True, eq=False)
class PerturbationTable:
    """The probability of each change of a count: a row for each of the counts 0, 1, ..., the last one for all above."""

    change: np.ndarray  # int64, -D to D
    probability: np.ndarray  # [rows, changes]

    def changes(self, counts: np.ndarray, keys: np.ndarray) -> np.ndarray:
        """What each count changes by, by its key from 0 to 1."""
        row = np.minimum(counts, len(self.probability) - 1)
        upto = np.cumsum(self.probability, axis=1)
        upto[self.probability[:, ::-1].cumsum(axis=1)[:, ::-1] - self.probability <= 0] = np.inf  # the last that occurs
        number = np.zeros(len(counts), np.int64)
        for k in range(len(self.change) - 1):
            number += keys >= upto[row, k]
        return self.change[number]


@lru_cache(maxsize=64)
def perturbation_table(largest: int, variance: float, forbidden: int = 0) -> PerturbationTable:
    """The table with mean 0 and the variance for each count above 0, of changes of at most `largest`, whose results are
    not below 0, and not among 1 to `forbidden` - 1.

    A count of 0 stays. Of all such tables this is the one of greatest entropy, which says least of the count.

    >>> table = perturbation_table(1, 0.5)
    >>> table.probability.round(3).tolist()
    [[0.0, 1.0, 0.0], [0.25, 0.5, 0.25]]
    """
    change = np.arange(-largest, largest + 1)
    rows = largest + max(forbidden, 1)
    count = np.arange(rows + 1)[:, None]
    result = count + change
    allowed = (result >= 0) & ((result == 0) | (result >= forbidden))
    least, most = _variances(change, allowed[1:])
    if not least - FACE <= variance <= most + FACE:
        raise PolicyError(
            f"no perturbation table of changes by at most {largest} has that variance for all counts",
            got=f"a variance of {variance:g}", allowed=_between(least, most),
        )  # fmt: skip
    probability = np.zeros(result.shape)
    probability[0, largest] = 1
    for row in range(1, rows + 1):
        known = change[allowed[row]]
        probability[row, allowed[row]] = greatest_entropy(known.astype(np.float64), variance)
    same = probability[1:] == probability[-1]  # the rows above the last that differs are one
    last = int(np.flatnonzero(~same.all(axis=1)).max(initial=-1)) + 2
    return PerturbationTable(change, probability[: last + 1])


def _between(least: float, most: float) -> str:
    return f"{least:g} to {most:g}" if least <= most else "none: allow larger changes, or smaller results"


def _variances(change: np.ndarray, allowed: np.ndarray) -> tuple[float, float]:
    """The least and the greatest variance that every row can have with mean 0."""
    low = np.where(allowed, change, 0).min(axis=1)
    high = np.where(allowed, change, 0).max(axis=1)
    below = np.where(allowed & (change <= 0), change, change.min() - 1).max(axis=1)
    above = np.where(allowed & (change >= 0), change, change.max() + 1).min(axis=1)
    if (below < change.min()).any() or (above > change.max()).any():
        return np.inf, -np.inf  # some count cannot have mean 0
    return float((-below * above).max()), float((-low * high).min())


def greatest_entropy(change: np.ndarray, variance: float) -> np.ndarray:
    """The distribution of greatest entropy over some changes with mean 0 and a variance, by Newton's method.

    It is exp(a v + b v^2) up to a factor, and the dual function log sum exp(a v + b v^2) - b V smooth and convex.
    """
    below, above = change[change <= 0].max(), change[change >= 0].min()
    low, high = change.min(), change.max()
    for left, right in ((below, above), (low, high)):
        if abs(-left * right - variance) <= FACE * max(1.0, variance):  # on an edge two changes occur
            share = 0.5 if left == right else right / (right - left)
            return np.asarray((change == left) * share + (change == right) * (1 - share))
    size = max(-low, high)
    v, goal = change / size, np.array([0.0, variance / size**2])
    moments = np.stack([v, v * v])
    at = np.zeros(2)

    def dual(point: np.ndarray) -> tuple[float, np.ndarray]:
        power = point @ moments
        top = power.max()
        weight = np.exp(power - top)
        return float(top + np.log(weight.sum()) - point @ goal), weight / weight.sum()

    value, p = dual(at)
    for _ in range(STEPS):
        slope = moments @ p - goal
        error = float(np.abs(slope).max())
        if error < 1e-16:
            break
        bend = (moments * p) @ moments.T - np.outer(moments @ p, moments @ p)
        step = np.linalg.lstsq(bend, -slope, rcond=1e-14)[0]
        length, fall = 1.0, float(slope @ step)
        while True:
            new, q = dual(at + length * step)
            near = error < 1e-6  # where the dual function no longer tells points apart
            if np.abs(moments @ q - goal).max() < 0.9 * error if near else new <= value + 1e-4 * length * fall:
                break
            if length < 1e-10:
                return p
            length /= 2
        at, value, p = at + length * step, new, q
    return p
