"""A criterion that counts people, as a search holds classes to it: several rows of one person count once.

K. Wang and B. Fung, Anonymizing sequential releases, KDD 2006: their (X,Y)-anonymity, with the column of persons as Y.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sfumato.core.protocols import ClassesView, Flags, HistogramView, Monotonicity, Side
from sfumato.criteria.class_size_bound import StandIn
from sfumato.criteria.model import CONCENTRATED


@dataclass(frozen=True, eq=False)
class PeopleHistogram:
    """How many people of each class have each value; the runs are those of a `HistogramView`."""

    start: np.ndarray
    value: np.ndarray
    count: np.ndarray
    overall: np.ndarray
    text: tuple[str | None, ...]
    ancestor: np.ndarray | None = None


@dataclass(frozen=True, eq=False)
class PeopleClasses:
    """Classes by their people, with the histogram of one attribute."""

    size: np.ndarray
    of_attribute: PeopleHistogram | None = None

    def histogram(self, attribute: str) -> HistogramView:
        """How many people of each class have each value."""
        assert self.of_attribute is not None
        return self.of_attribute


@dataclass(frozen=True, eq=False)
class OfPeople(StandIn):
    """Another criterion, held to by the people of each class.

    Who is in a class is read off a histogram of persons, and who has which value off one of (value, person) pairs: the
    people of a union of classes are those of either, never their sum. Whether a union of satisfying classes satisfies
    depends on who is in both: of criteria that look at values it is closed under nothing.

    `persons` names the first histogram, `pairs` the second, whose value i stands for the value `value_of_pair[i]`, in
    ascending order, with the printed form `text`.
    """

    persons: str = field(kw_only=True)
    pairs: str | None = field(default=None, kw_only=True)
    value_of_pair: np.ndarray | None = field(default=None, kw_only=True)
    text: tuple[str | None, ...] = field(default=(), kw_only=True)

    @property
    def side(self) -> Side:
        """That of the other."""
        found: Side = self.of.side
        return found

    @property
    def monotonicity(self) -> Monotonicity:
        """More rows are no fewer people; what is asked of their values may break."""
        return "superset" if not self.of.needs else "none"

    @property
    def needs(self) -> tuple[str, ...]:
        """The histograms of persons, and of their values."""
        return (self.persons,) if self.pairs is None else (self.persons, self.pairs)

    @property
    def least_size(self) -> int:
        """A class of so many people has as many rows."""
        return int(self.of.least_size)

    def parameters(self) -> dict[str, Any]:
        """Those of the other."""
        found: dict[str, Any] = self.of.parameters()
        return found

    def holds(self, classes: ClassesView) -> Flags:
        """Which classes satisfy it."""
        people = np.diff(classes.histogram(self.persons).start)
        if self.pairs is None:
            seen = PeopleClasses(people)
        else:
            seen = PeopleClasses(people, self._values(classes.histogram(self.pairs), people))
        found: Flags = self.of.holds(seen) & (people > 0)
        return found

    def _values(self, pairs: HistogramView, people: np.ndarray) -> PeopleHistogram:
        """How many people of each class have each value."""
        assert self.value_of_pair is not None
        of = np.repeat(np.arange(len(people)), np.diff(pairs.start))
        value = self.value_of_pair[pairs.value]  # ascending in each run, as pairs are
        first = np.ones(len(value), np.bool_)
        first[1:] = (np.diff(value) != 0) | (np.diff(of) != 0)
        at = np.flatnonzero(first)
        of, value, count = of[at], value[at], np.diff(at, append=len(value))
        if self.of.by_people == CONCENTRATED:
            of, value, count = concentrated(of, value, count, people)
        start = np.concatenate([[0], np.cumsum(np.bincount(of, minlength=len(people)))])
        overall = np.bincount(self.value_of_pair, minlength=len(self.text)).astype(np.int64)
        return PeopleHistogram(start, value.astype(np.int32), count.astype(np.int64), overall, self.text)


def concentrated(
    of: np.ndarray, value: np.ndarray, count: np.ndarray, people: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Each person with one value: as many as possible with the most frequent one, then with the next, and so on.

    Any choice of one value per person is at least as varied. `of` has the class of each count.

    >>> of, value, count = np.zeros(3, int), np.array([0, 1, 2]), np.array([1, 3, 2])
    >>> [x.tolist() for x in concentrated(of, value, count, np.array([4]))]
    [[0, 0], [1, 2], [3, 1]]
    """
    order = np.lexsort((value, -count, of))
    of, value, count = of[order], value[order], count[order]
    before = np.cumsum(count) - count
    starts = np.flatnonzero(np.diff(of, prepend=-1))
    before -= np.repeat(before[starts], np.diff(starts, append=len(of)))
    left = np.minimum(count, people[of] - before)
    some = left > 0
    return of[some], value[some], left[some]
