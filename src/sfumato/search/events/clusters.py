"""Steps that group near records: k-member, top-down and MDAV."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.core.wording import count, listed, number
from sfumato.search.events.event import Event, Record


@dataclass(frozen=True)
class SeedChosen(Event):
    """The record that a class starts with: the one that loses most together with the last record taken."""

    record: Record
    last: Record
    loss: float

    def sentence(self) -> str:
        """The step in words."""
        return f"{self.record} starts a class: it is farthest from {self.last}, with a loss of {number(self.loss)}."


@dataclass(frozen=True)
class RecordAdded(Event):
    """The record that a class loses least with."""

    record: Record
    loss: float
    rows: int

    def sentence(self) -> str:
        """The step in words."""
        return (
            f"{self.record} is nearest: with it the class has {count(self.rows, 'row')} and loses {number(self.loss)}."
        )


@dataclass(frozen=True)
class LeftoverPlaced(Event):
    """A record that is left over goes to the class that it costs least."""

    record: Record
    joins: tuple[Record, ...]

    def sentence(self) -> str:
        """The step in words."""
        rows = count(sum(r.rows for r in self.joins), "row")
        return f"{self.record} is left over and goes to the class of {rows} that it costs least."


@dataclass(frozen=True)
class SeedsChosen(Event):
    """Two records of a group that are far apart: its halves start with them."""

    first: Record
    second: Record
    loss: float
    rows: int

    def sentence(self) -> str:
        """The step in words."""
        apart = f"{self.first} and {self.second} are far apart, with a loss of {number(self.loss)}"
        return f"Of {count(self.rows, 'row')}, {apart}: they are the seeds."


@dataclass(frozen=True)
class RecordAssigned(Event):
    """The next record goes to the half whose loss grows less; `grows` is by how much that of each would."""

    record: Record
    half: int  # 0 or 1
    grows: tuple[float, float]

    def sentence(self) -> str:
        """The step in words."""
        first, second = map(number, self.grows)
        seed = ("first", "second")[self.half]
        return f"{self.record} goes to the {seed} seed: the first group would lose {first} more, the second {second}."


@dataclass(frozen=True)
class HalvesRefused(Event):
    """Neither half has k rows: the group stays whole."""

    sizes: tuple[int, int]
    k: int

    def sentence(self) -> str:
        """The step in words."""
        return f"Halves of {self.sizes[0]} and {self.sizes[1]} rows are both below {self.k}: the group stays whole."


@dataclass(frozen=True)
class GroupLeft(Event):
    """A group of fewer than k rows is to be repaired."""

    records: tuple[Record, ...]
    k: int

    def sentence(self) -> str:
        """The step in words."""
        return f"A group of {count(len(self.records), 'row')} is below {self.k} and has to be repaired."


@dataclass(frozen=True)
class GroupRepaired(Event):
    """A group of fewer than k rows borrows the records that it loses least with, or joins another, as costs less."""

    records: tuple[Record, ...]
    other: tuple[Record, ...]
    moved: tuple[Record, ...]
    borrows: bool

    def sentence(self) -> str:
        """The step in words."""
        small, large = count(len(self.records), "row"), count(len(self.other), "row")
        if self.borrows:
            return f"The group of {small} borrows {listed(self.moved)} from a group of {large}."
        return f"The group of {small} joins a group of {large}."


@dataclass(frozen=True)
class CentroidTaken(Event):
    """The mean of the rows that are left, in columns of numbers and dates."""

    rows: int
    means: tuple[tuple[str, float], ...]

    def sentence(self) -> str:
        """The step in words."""
        middle = listed(f"{column} {number(mean)}" for column, mean in self.means) or "no number"
        return f"{count(self.rows, 'row')} {'is' if self.rows == 1 else 'are'} left; on average they have {middle}."


@dataclass(frozen=True)
class FarthestFromCentroid(Event):
    """The record r that is farthest from the mean."""

    record: Record
    distance: float

    def sentence(self) -> str:
        """The step in words."""
        return f"r = {self.record} is farthest from the mean, {number(self.distance)} standard deviations."


@dataclass(frozen=True)
class FarthestFromRecord(Event):
    """The record s that is farthest from r."""

    record: Record
    other: Record
    distance: float

    def sentence(self) -> str:
        """The step in words."""
        return f"s = {self.record} is farthest from r = {self.other}, {number(self.distance)} standard deviations."


@dataclass(frozen=True)
class GroupFormed(Event):
    """A record and the k - 1 records nearest to it."""

    around: Record
    records: tuple[Record, ...]

    def sentence(self) -> str:
        """The step in words."""
        near = [record for record in self.records if record != self.around]
        return f"{self.around} takes its nearest, {listed(near)}." if near else f"{self.around} is a group alone."


@dataclass(frozen=True)
class RestGrouped(Event):
    """The records that are left are a group."""

    records: tuple[Record, ...]

    def sentence(self) -> str:
        """The step in words."""
        return f"What is left is a group of {count(len(self.records), 'row')}."
