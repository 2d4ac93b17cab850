"""k-map, estimated: K. El Emam, F. Dankar, Protecting privacy using k-anonymity, JAMIA 15(5), 2008; L. Sweeney 2001."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import OneOf, Real, Whole
from sfumato.core.protocols import ClassesView, Flags, Monotonicity, Side
from sfumato.core.wording import count
from sfumato.criteria.audit import SLACK, Finding, Groups
from sfumato.criteria.model import SMALLEST_FRACTION, TOLERANCE, Model

ESTIMATORS = ("zero-truncated-poisson", "poisson")
LARGEST = 2**40  # people: where the search for the greatest population stops


@dataclass(frozen=True)
class KMap(Model):
    """Every class matches at least k people of the population, as far as its size in the sample can say.

    With a sampling fraction f, a population class of k people leaves a Poisson number of records with mean f k in the
    sample ("zero-truncated-poisson": given that it leaves any). A class passes where so many records or more would be
    left with a probability of `significance` at most, or where it has k records itself. So it is k-anonymity with a
    smaller k, which `least_size` gives.

    Parameters: `k`, how many people of the population a class matches at least; `sampling_fraction`, the share of
    the population that is in the table; `estimator`, how the population of a class is estimated; `significance`,
    the probability of an error.

    >>> KMap(50, 0.1).least_size, KMap(50, 0.1, "poisson", 0.01).least_size
    (10, 12)
    """

    k: Annotated[int, Whole(1, LARGEST)]
    sampling_fraction: Annotated[float, Real(SMALLEST_FRACTION, 1)]
    estimator: Annotated[str, OneOf(ESTIMATORS)] = "zero-truncated-poisson"
    significance: Annotated[float, Real(0, 1 - TOLERANCE, above=True)] = 0.05

    monotonicity: ClassVar[Monotonicity] = "superset"
    bounded_by: ClassVar[str] = "k"
    side: ClassVar[Side] = "at least"

    @property
    def least_size(self) -> int:
        """The records a class must have for its population class to count as k people."""
        truncated = self.estimator == "zero-truncated-poisson"
        return _least(self.k, self.k * self.sampling_fraction, truncated, self.significance)

    def sentence(self) -> str:
        """The promise in words."""
        return (
            f"Every record is estimated to match at least {self.k} people of the population, with "
            f"{self.sampling_fraction * 100:g}% of it in the table ({self.estimator}, level {self.significance:g})."
        )

    def holds(self, classes: ClassesView) -> Flags:
        """Which classes satisfy it."""
        found: Flags = classes.size >= self.least_size
        return found

    def audit(self, groups: Groups) -> Finding:
        """What the released rows say: the greatest k that the smallest class supports."""
        size = pl.col("size")
        smallest = int(groups.sizes.select(size.min()).item())
        small = groups.sizes.filter(size < self.k).get_column("size").value_counts(name="classes")
        failing = sum(count for n, count in small.iter_rows() if self._tail(n, self.k) > self.significance + SLACK)
        note = f"the smallest class has {count(smallest, 'record')}"
        return Finding(failing == 0, self._supported(smallest), self.k, int(failing), note)

    def _supported(self, n: int) -> int:
        """The greatest population class that so many records speak for: at least as large as themselves."""
        low, high = n, n + 1
        while high < LARGEST and self._tail(n, high) <= self.significance + SLACK:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self._tail(n, middle) <= self.significance + SLACK else (low, middle)
        return low

    def _tail(self, n: int, people: int) -> float:
        """The chance that a population class of so many people leaves n records or more: the sum of its terms, or one
        minus those below n where n is below the mean."""
        mean = people * self.sampling_fraction
        truncated = self.estimator == "zero-truncated-poisson"
        if n <= (1 if truncated else 0):
            return 1.0
        whole = -math.expm1(-mean) if truncated else 1.0
        first, last = (n, n + int(10 * math.sqrt(mean)) + 100) if n > mean else (int(truncated), n)
        i = np.arange(first, last)
        factorial = math.lgamma(first + 1) + np.concatenate([[0.0], np.cumsum(np.log(i[1:]))])
        terms = math.fsum(np.exp(i * math.log(mean) - mean - factorial)) / whole
        return terms if n > mean else max(0.0, 1 - terms)


@lru_cache(maxsize=256)
def _least(k: int, mean: float, truncated: bool, significance: float) -> int:
    """The least n, up to k, with P(X >= n) <= significance, by bisection: the tail falls with n."""
    whole = -math.expm1(-mean) if truncated else 1.0
    low, high = 0, k
    while high - low > 1:
        n = (low + high) // 2
        low, high = (low, n) if _upper(n, mean) / whole <= significance + TOLERANCE else (n, high)
    return high


def _upper(n: int, mean: float) -> float:
    """P(X >= n) of a Poisson number, n >= 1: its first term times a series, or that of P(X < n) where it is shorter."""
    terms = np.arange(1, int(10 * math.sqrt(mean)) + 100)  # beyond, they are below the last digit
    if n > mean:
        return _term(n, mean) * (1 + float(np.cumprod(mean / (n + terms)).sum()))
    down = np.maximum(n - terms, 0) / mean
    return 1 - _term(n - 1, mean) * (1 + float(np.cumprod(down).sum()))


def _term(n: int, mean: float) -> float:
    return math.exp(n * math.log(mean) - mean - math.lgamma(n + 1))
