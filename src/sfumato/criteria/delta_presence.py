"""delta-presence: M. Nergiz, M. Atzori, C. Clifton, Hiding the presence of individuals from shared databases, 2007."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import Real
from sfumato.core.protocols import ClassesView, Flags, HistogramView, Monotonicity, Side, ValueLimits
from sfumato.core.wording import count
from sfumato.criteria.audit import SLACK, Finding, Groups, rounded
from sfumato.criteria.known_population import MEMBER, MEMBERSHIP, OTHER, KnownPopulation, PopulationTable
from sfumato.criteria.model import TOLERANCE, Model
from sfumato.criteria.search_distance import most_rows, share_limits
from sfumato.errors import PolicyError


@dataclass(frozen=True)
class DeltaPresence(Model):
    """Of the people of a population that fit a class, a share of at least low and at most high is in the table.

    Classes are those of the population, generalised as the table is: everybody of it counts, those in classes without
    a released row too, whose presence is 0. So where low is above 0, every class of the population needs rows.

    A class of n people, m of them in the table, satisfies it where low <= m/n <= high. The presence of a union lies
    between that of its parts. That says nothing of a table from which rows are left out, which lowers the presence of
    some: it is promised of tables without suppression.

    Parameters: `population`, the table with everybody of the population, among them all people of the table; `low`,
    the least share of the people of a class that is in the table; `high`, the greatest share of them that may be.

    >>> DeltaPresence("voters.csv", 0, 0.5).parameters()
    {'population': 'voters.csv', 'low': 0, 'high': 0.5}
    """

    population: Annotated[Any, PopulationTable()]
    low: Annotated[float, Real(0, 1)]
    high: Annotated[float, Real(0, 1, above=True)]

    monotonicity: ClassVar[Monotonicity] = "merge"
    bounded_by: ClassVar[str] = "high"
    side: ClassVar[Side] = "at most"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.low > self.high:
            what = f"{self.model}: low is the least presence, and high the greatest"
            raise PolicyError(what, got=f"low {self.low:g}, high {self.high:g}", allowed="low <= high")

    @property
    def of_population(self) -> KnownPopulation:
        """The population whose people it counts."""
        found: KnownPopulation = self.population
        return found

    @property
    def needs(self) -> tuple[str, ...]:
        """Which of the people of a class are in the table."""
        return (MEMBERSHIP,)

    @property
    def least_size(self) -> int:
        """Where every class has somebody of the table, that one is a share of at most `high` of its people."""
        return 1 if self.low <= TOLERANCE else math.ceil(1 / (self.high + 2 * TOLERANCE) - TOLERANCE)

    def parameters(self) -> dict[str, Any]:
        """Its parameters; of the population its name alone."""
        return {**super().parameters(), "population": self.of_population.name}

    def sentence(self) -> str:
        """The promise in words."""
        return (
            f'Of the people of the population "{self.of_population.name}" whom a group of records may be, at least '
            f"{self.low * 100:g}% and at most {self.high * 100:g}% are in the table, and so for those whom no record "
            "fits: by the released labels alone nobody is surer than that whether somebody is in it."
        )

    def holds(self, classes: ClassesView) -> Flags:
        """Which classes of the population satisfy it."""
        presence = members(classes) / np.maximum(classes.size, 1)
        found: Flags = (presence >= self.low - TOLERANCE) & (presence <= self.high + TOLERANCE) & (classes.size > 0)
        return found

    def least_suppressed(self, classes: ClassesView) -> np.ndarray:
        """Of the people that stay in a class at most a share `high` are members, and 1 - `low` others."""
        histogram = classes.histogram(MEMBERSHIP)
        limits = self.value_limits(histogram)
        if limits is None:
            return super().least_suppressed(classes)
        return np.where(self.holds(classes), 0, classes.size - most_rows(classes.size, histogram, limits.cap))

    def value_limits(self, histogram: HistogramView) -> ValueLimits | None:
        """At most a share `high` of members, and 1 - `low` of others."""
        if not {*histogram.text} <= {MEMBER, OTHER}:
            return None
        cap = np.array([self.high if text == MEMBER else 1 - self.low for text in histogram.text])
        return share_limits(np.full(len(cap), -1.0), cap + TOLERANCE, cap)

    def audit(self, groups: Groups) -> Finding:
        """What the people of the population say, by the labels that they fit: the greatest presence of a class; the
        note gives the least."""
        inside = groups.counts(MEMBERSHIP).filter(pl.col("value") == MEMBER).select("class", "n")
        shared = groups.sizes.join(inside, on="class", how="left").with_columns(pl.col("n").fill_null(0))
        presence = pl.col("n") / pl.col("size")
        fails = (presence < self.low - SLACK) | (presence > self.high + SLACK)
        least, most, failing = shared.select(
            presence.min().alias("least"), presence.max().alias("most"), fails.sum().alias("failing")
        ).row(0)
        empty = int(shared.filter(pl.col("n") == 0)["size"].sum())
        note = f"the least presence is {rounded(least):g}"
        if empty:
            note += f"; {count(empty, 'person', 'people')} of the population fit no record"
        return Finding(failing == 0, rounded(most), self.high, int(failing), note)


def members(classes: ClassesView) -> np.ndarray:
    """How many of the people of each class of a population are in the table."""
    histogram = classes.histogram(MEMBERSHIP)
    inside = np.array([text == MEMBER for text in histogram.text])[histogram.value]
    upto = np.concatenate([[0], np.cumsum(np.where(inside, histogram.count, 0))])
    return np.asarray(upto[histogram.start[1:]] - upto[histogram.start[:-1]])
