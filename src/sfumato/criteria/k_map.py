"""k-map, counted: L. Sweeney 2001; estimated: K. El Emam, F. Dankar, Protecting privacy using k-anonymity, 2008."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import OneOf, Real, Whole
from sfumato.core.protocols import ClassesView, Flags, Monotonicity, Side
from sfumato.core.wording import count
from sfumato.criteria.audit import SLACK, Finding, Groups
from sfumato.criteria.delta_presence import members
from sfumato.criteria.known_population import MEMBER, MEMBERSHIP, KnownPopulation, PopulationTable
from sfumato.criteria.model import SMALLEST_FRACTION, TOLERANCE, Model
from sfumato.errors import PolicyError

ESTIMATORS = ("zero-truncated-poisson", "poisson")
LARGEST = 2**40  # people: where the search for the greatest population stops


@dataclass(frozen=True)
class KMap(Model):
    """Every class matches at least k people of the population: as its table counts them, or as its sample can say.

    With the table of the `population`, every class that has a released row fits at least k of its people. Without, with
    a sampling fraction f, a population class of k people leaves a Poisson number of records with mean f k in the
    sample ("zero-truncated-poisson": given that it leaves any). A class passes where so many records or more would be
    left with a probability of `significance` at most, or where it has k records itself. So it is k-anonymity with a
    smaller k, which `least_size` gives.

    Parameters: `k`, how many people of the population a class matches at least; `sampling_fraction`, the share of
    the population that is in the table; `estimator`, how the population of a class is estimated; `significance`,
    the probability of an error; `population`, the table with everybody of the population, which is counted then.

    >>> KMap(50, 0.1).least_size, KMap(50, 0.1, "poisson", 0.01).least_size
    (10, 12)
    """

    k: Annotated[int, Whole(1, LARGEST)]
    sampling_fraction: Annotated[float | None, Real(SMALLEST_FRACTION, 1)] = None
    estimator: Annotated[str, OneOf(ESTIMATORS)] = "zero-truncated-poisson"
    significance: Annotated[float, Real(0, 1 - TOLERANCE, above=True)] = 0.05
    population: Annotated[Any, PopulationTable()] = None

    bounded_by: ClassVar[str] = "k"
    side: ClassVar[Side] = "at least"

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.sampling_fraction is None) == (self.population is None):
            given = "neither" if self.population is None else "both"
            what = f"{self.model} takes a sampling fraction, to estimate by, or the table of the population, to count"
            raise PolicyError(what, got=given, allowed="one of sampling_fraction and population")

    @property
    def of_population(self) -> KnownPopulation | None:
        """The population whose people it counts, where it does."""
        found: KnownPopulation | None = self.population
        return found

    @property
    def needs(self) -> tuple[str, ...]:
        """Which of the people of a class are in the table, where they are counted."""
        return () if self.population is None else (MEMBERSHIP,)

    @property
    def monotonicity(self) -> Monotonicity:
        """A larger class is estimated to match no fewer people. Counted, a class without released rows satisfies, and
        one with few people that contains it does not: the union of satisfying ones does."""
        return "superset" if self.population is None else "merge"

    def parameters(self) -> dict[str, Any]:
        """Its parameters; of the population its name alone."""
        found = super().parameters()
        if self.of_population is None:
            return found
        return {name: found[name] for name in ("k", "quasi") if name in found} | {"population": self.of_population.name}

    @property
    def least_size(self) -> int:
        """The records a class must have for its population class to count as k people."""
        if self.sampling_fraction is None:
            return 1
        truncated = self.estimator == "zero-truncated-poisson"
        return _least(self.k, self.k * self.sampling_fraction, truncated, self.significance)

    def sentence(self) -> str:
        """The promise in words."""
        if self.of_population is not None:
            name = self.of_population.name
            return f'Every record may be any of at least {self.k} people of the population "{name}", as counted there.'
        assert self.sampling_fraction is not None
        return (
            f"Every record is estimated to match at least {self.k} people of the population, with "
            f"{self.sampling_fraction * 100:g}% of it in the table ({self.estimator}, level {self.significance:g})."
        )

    def holds(self, classes: ClassesView) -> Flags:
        """Which classes satisfy it."""
        found: Flags = classes.size >= (self.least_size if self.population is None else self.k)
        return found if self.population is None else (found | (members(classes) == 0)) & (classes.size > 0)

    def audit(self, groups: Groups) -> Finding:
        """What the released rows say: the greatest k that the smallest class supports; of a counted population how many
        people fit the class that fewest fit."""
        if self.population is not None:
            return self._counted(groups)
        size = pl.col("size")
        smallest = int(groups.sizes.select(size.min()).item())
        small = groups.sizes.filter(size < self.k).get_column("size").value_counts(name="classes")
        failing = sum(count for n, count in small.iter_rows() if self._tail(n, self.k) > self.significance + SLACK)
        note = f"the smallest class has {count(smallest, 'record')}"
        return Finding(failing == 0, self._supported(smallest), self.k, int(failing), note)

    def _counted(self, groups: Groups) -> Finding:
        """The people of the population, by the labels that they fit."""
        inside = groups.counts(MEMBERSHIP).filter(pl.col("value") == MEMBER).select("class")
        sizes = groups.sizes.join(inside, on="class", how="semi")["size"]
        fewest: Any = sizes.min()
        failing = int((sizes < self.k).sum())
        return Finding(failing == 0, fewest if fewest is None else int(fewest), self.k, failing)

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
        assert self.sampling_fraction is not None
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
