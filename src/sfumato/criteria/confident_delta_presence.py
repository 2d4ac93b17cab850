"""delta-presence with a confidence: Nergiz and Clifton, delta-presence without complete world knowledge, TKDE 2010."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import Column, Real, Whole
from sfumato.core.protocols import ClassesView, Flags, Monotonicity, Side
from sfumato.criteria.audit import SLACK, Finding, Groups, rounded
from sfumato.criteria.delta_presence import members
from sfumato.criteria.known_population import MEMBER, MEMBERSHIP, KnownPopulation, PopulationTable
from sfumato.criteria.model import TOLERANCE, Model
from sfumato.errors import PolicyError

EXACT = 1e-9  # of quotients that are whole but for rounding


@dataclass(frozen=True)
class ConfidentDeltaPresence(Model):
    """The presence of every class is within bounds with a confidence, where only a distribution of people is known.

    Of a population of `size` people those of the table are known, and the others are drawn from the distribution, each
    for itself. A class with m rows and the probability p then has m + X people, X binomial with size - rows and p, and
    satisfies where low <= m / (m + X) <= high with a probability of at least the confidence. With `low` above 0 nobody
    of the population is to be in a class without rows, with that probability. Each class has the confidence for itself,
    so the union of two that satisfy may not.

    Parameters: `distribution`, a table whose rows are as people are, or a mapping of columns to the share of each of
    their values, which are then independent; `size`, how many people the population has; `low`, the least presence;
    `high`, the greatest presence; `confidence`, how probable that is at least; `weight`, a column of the distribution
    that says how often each of its rows counts.

    >>> ConfidentDeltaPresence("census.csv", 300_000, 0, 0.2, 0.95).parameters()["size"]
    300000
    """

    distribution: Annotated[Any, PopulationTable()]
    size: Annotated[int, Whole(1)]
    low: Annotated[float, Real(0, 1)]
    high: Annotated[float, Real(0, 1, above=True)]
    confidence: Annotated[float, Real(0, 1, above=True, below=True)]
    weight: Annotated[str | None, Column()] = None

    monotonicity: ClassVar[Monotonicity] = "none"
    bounded_by: ClassVar[str] = "confidence"
    side: ClassVar[Side] = "at least"
    uses_overall_distribution: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low > self.high:
            what = f"{self.model}: low is the least presence, and high the greatest"
            raise PolicyError(what, got=f"low {self.low:g}, high {self.high:g}", allowed="low <= high")

    @property
    def of_population(self) -> KnownPopulation:
        """The distribution that the people of the population are drawn from."""
        return KnownPopulation(self.distribution.data, self.weight, drawn=True)

    @property
    def needs(self) -> tuple[str, ...]:
        """The rows of a class, and its weight in the distribution."""
        return (MEMBERSHIP,)

    def parameters(self) -> dict[str, Any]:
        """Its parameters; of the distribution its name alone."""
        return {**super().parameters(), "distribution": self.of_population.name}

    def sentence(self) -> str:
        """The promise in words."""
        return (
            f'With {self.size:,} people, of whom those not in the table are as "{self.of_population.name}" says, '
            f"between {self.low * 100:g}% and {self.high * 100:g}% of the people whom a group of records may be are "
            f"in the table, with a confidence of {self.confidence * 100:g}%."
        )

    def holds(self, classes: ClassesView) -> Flags:
        """Which classes satisfy it."""
        histogram, inside = classes.histogram(MEMBERSHIP), members(classes)
        total = dict(zip(histogram.text, histogram.overall.tolist(), strict=True))
        rows, weight = total.get(MEMBER, 0), sum(n for text, n in total.items() if text != MEMBER)
        share = (classes.size - inside) / max(weight, 1)
        surely = confidences(inside, share, max(self.size - rows, 0), self.low, self.high)
        found: Flags = (surely >= self.confidence - TOLERANCE) & (classes.size > 0)
        return found

    def audit(self, groups: Groups) -> Finding:
        """What the distribution says by the released labels: the least confidence of a class."""
        counted = groups.counts(MEMBERSHIP).with_columns(own=pl.col("value").fill_null("") == MEMBER)
        whole = groups.overall(MEMBERSHIP).with_columns(own=pl.col("value").fill_null("") == MEMBER)
        rows, weight = (int(whole.filter(own)["n"].sum()) for own in (pl.col("own"), ~pl.col("own")))
        each = counted.group_by("class").agg(
            inside=pl.col("n").filter("own").sum(), others=pl.col("n").filter(~pl.col("own")).sum()
        )
        people = max(self.size - rows, 0)
        found = [
            self._confidence(inside, others / max(weight, 1), people)
            for inside, others in each.sort("class").select("inside", "others").iter_rows()
        ]
        failing = sum(surely < self.confidence - SLACK for surely in found)
        return Finding(failing == 0, rounded(min(found)), self.confidence, failing)

    def _confidence(self, inside: int, share: float, people: int) -> float:
        """That of one class: the terms of the binomial distribution one by one."""
        if inside == 0:
            return 1.0 if self.low == 0 else (1 - share) ** people
        least = max(math.ceil(inside / self.high - EXACT) - inside, 0)
        most = people if self.low == 0 else min(math.floor(inside / self.low + EXACT) - inside, people)
        if share <= 0 or share >= 1:
            other = 0 if share <= 0 else people
            return float(least <= other <= most)
        first, last, rest = (0, least - 1, True) if self.low == 0 else (least, most, False)
        whole = math.lgamma(people + 1)
        terms = (
            math.exp(
                whole - math.lgamma(j + 1) - math.lgamma(people - j + 1)
                + j * math.log(share) + (people - j) * math.log1p(-share)
            )
            for j in range(first, min(last, people) + 1)
        )  # fmt: skip
        within = math.fsum(terms)
        return max(0.0, 1 - within) if rest else within


def confidences(inside: np.ndarray, share: np.ndarray, people: int, low: float, high: float) -> np.ndarray:
    """For classes with so many rows and such shares of the other people: how probable a presence within the bounds is.

    >>> confidences(np.array([1, 0]), np.array([0.5, 0.5]), 2, 0, 0.5).tolist()
    [0.75, 1.0]
    """
    least = np.maximum(np.ceil(inside / high - EXACT).astype(np.int64) - inside, 0)
    most = np.full(len(inside), people)
    if low > 0:
        most = np.minimum(np.floor(inside / low + EXACT).astype(np.int64) - inside, people)
    first, stop = (np.zeros_like(least), np.minimum(least, people + 1)) if low == 0 else (least, most + 1)
    width = np.maximum(stop - first, 0)
    j = np.arange(int(width.sum())) - np.repeat(np.cumsum(width) - width - first, width)
    top = np.arange(j.max(initial=0))
    ways = np.concatenate([[0.0], np.cumsum(np.log((people - top) / (top + 1)))])
    with np.errstate(divide="ignore", invalid="ignore"):
        of, odd = np.log(share), np.log1p(-share)
        left = np.where(people - j > 0, (people - j) * np.repeat(odd, width), 0.0)
        terms = np.exp(ways[j] + np.where(j > 0, j * np.repeat(of, width), 0.0) + left)
    upto = np.concatenate([[0.0], np.cumsum(terms)])
    ends = np.cumsum(width)
    within = upto[ends] - upto[ends - width]
    found = np.clip(1 - within if low == 0 else within, 0.0, 1.0)
    empty = np.ones(len(inside)) if low == 0 else (1 - share) ** people
    return np.asarray(np.where(inside == 0, empty, found))
