"""Steps that cut regions into classes, as Mondrian does, and what classes end with in every search."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.core.wording import count, listed, number
from sfumato.search.events.event import Event, Record

Words = tuple[tuple[str, str | None], ...]  # label per column


@dataclass(frozen=True)
class RegionOpened(Event):
    """A part of the table is looked at; `ranges` has the least and greatest value per column."""

    ranges: tuple[tuple[str, str | None, str | None], ...]
    records: tuple[Record, ...]
    rows: int

    def sentence(self) -> str:
        """The step in words."""
        spans = listed(f"{column} from {_shown(low)} to {_shown(high)}" for column, low, high in self.ranges)
        return f"A region of {count(self.rows, 'row')}: {spans}."


@dataclass(frozen=True)
class ColumnChosen(Event):
    """The column whose cut is tried, with its normalised range; `others` are column, range and why it is not tried."""

    column: str
    width: float
    others: tuple[tuple[str, float, str], ...]

    def sentence(self) -> str:
        """The step in words."""
        why = "; ".join(f"{column} ({number(width)}) is {reason}" for column, width, reason in self.others)
        return f"{self.column} is tried, with a normalised range of {number(self.width)}{why and '; ' + why}."


@dataclass(frozen=True)
class MedianFound(Event):
    """The value in the middle of a region, with the rows below it and the rows up to it."""

    column: str
    median: str | None
    below: int
    up_to: int

    def sentence(self) -> str:
        """The step in words."""
        rows = f"{count(self.below, 'row')} below it, {number(self.up_to)} up to it"
        return f"The median of {self.column} is {_shown(self.median)}: {rows}."


@dataclass(frozen=True)
class ChildrenFound(Event):
    """The children of the node of a hierarchy that a region spans, with the rows of each."""

    column: str
    node: str | None
    children: tuple[tuple[str | None, int], ...]

    def sentence(self) -> str:
        """The step in words."""
        rows = listed(f"{_shown(label)} with {count(rows, 'row')}" for label, rows in self.children)
        return f"{self.column} spans {_shown(self.node)}, whose children are {rows}."


@dataclass(frozen=True)
class CutAllowed(Event):
    """A cut whose sides all satisfy what is required; `value` is the one that it is at."""

    column: str
    cut: str
    value: str | None
    sizes: tuple[int, ...]

    def sentence(self) -> str:
        """The step in words."""
        return f"The cut {self.cut} is allowed: {_sides(self.sizes)}."


@dataclass(frozen=True)
class CutRefused(Event):
    """A cut of which a side would not satisfy what is required."""

    column: str
    cut: str
    value: str | None
    sizes: tuple[int, ...]
    why: str

    def sentence(self) -> str:
        """The step in words."""
        return f"The cut {self.cut} is not allowed: {_sides(self.sizes)}, and {self.why}."


@dataclass(frozen=True)
class RegionsMade(Event):
    """The region falls into those on the sides of the cut."""

    column: str
    cut: str
    regions: tuple[tuple[Record, ...], ...]

    def sentence(self) -> str:
        """The step in words."""
        return f"The region is cut by {self.cut} into {count(len(self.regions), 'region')}."


@dataclass(frozen=True)
class ClassClosed(Event):
    """Records that are a class, and why no more is done to it."""

    records: tuple[Record, ...]
    rows: int
    why: str

    def sentence(self) -> str:
        """The step in words."""
        return f"{count(self.rows, 'row')} {'is' if self.rows == 1 else 'are'} a class: {self.why}."


@dataclass(frozen=True)
class ClassesJoined(Event):
    """A class that fails what is required joins the one with which it loses least."""

    records: tuple[Record, ...]
    joins: tuple[Record, ...]

    def sentence(self) -> str:
        """The step in words."""
        own, other = (count(sum(r.rows for r in some), "row") for some in (self.records, self.joins))
        return f"A class of {own} fails what is required and joins a class of {other}."


@dataclass(frozen=True)
class LabelsGiven(Event):
    """What a class prints in each column."""

    labels: Words
    records: tuple[Record, ...]
    rows: int

    def sentence(self) -> str:
        """The step in words."""
        words = listed(f"{column} {_shown(label)}" for column, label in self.labels)
        return f"A class of {count(self.rows, 'row')} prints {words}."


def _shown(value: str | None) -> str:
    return "missing" if value is None else value


def _sides(sizes: tuple[int, ...]) -> str:
    return f"sides of {listed(map(number, sizes))} rows"
