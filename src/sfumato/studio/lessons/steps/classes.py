"""Steps that look at the classes of a release: counted, opened, and whether all of them hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from sfumato.core.wording import count, listed
from sfumato.criteria.audit import Groups, in_order
from sfumato.search.events.event import Event
from sfumato.studio.lessons.tables import LessonTable

Counts = tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class ValuesCounted(Event):
    """The values of a column in the whole table."""

    column: str
    counts: Counts

    def sentence(self) -> str:
        """The step in words."""
        return f"In the whole table, {self.column} is {_counted(self.counts)}."


@dataclass(frozen=True)
class ClassOpened(Event):
    """The rows that look alike."""

    labels: tuple[tuple[str, str], ...]
    rows: tuple[int, ...]

    def sentence(self) -> str:
        """The step in words."""
        words = listed(f"{column} {label}" for column, label in self.labels)
        return f"A class of {count(len(self.rows), 'row')} prints {words}."


@dataclass(frozen=True)
class SharesTaken(Event):
    """The values of the column in a class."""

    column: str
    counts: Counts

    def sentence(self) -> str:
        """The step in words."""
        return f"In this class, {self.column} is {_counted(self.counts)}."


@dataclass(frozen=True)
class ReleaseTested(Event):
    """Whether every class holds."""

    classes: int
    failing: int
    holds: bool

    def sentence(self) -> str:
        """The step in words."""
        if self.holds:
            return "Every class keeps the promise, so the release does."
        failing = f"{count(self.failing, 'class', 'classes')} of {self.classes}"
        return f"{failing} {'breaks' if self.failing == 1 else 'break'} the promise, so the release does."


def _counted(counts: Counts) -> str:
    return ", ".join(f"{value} ({rows})" for value, rows in counts)


@dataclass(frozen=True)
class ClassesOfTable:
    """A table as it is released, by one column of sensitive values."""

    table: LessonTable
    column: str

    @cached_property
    def values(self) -> list[str]:
        """The value of each row."""
        return self.table.values(self.column)

    @cached_property
    def order(self) -> list[str]:
        """All values, in the order that the library has."""
        return [value for value in in_order(self.values) if value is not None]

    @cached_property
    def classes(self) -> dict[tuple[str, ...], tuple[int, ...]]:
        """The rows of each class by what they print."""
        found: dict[tuple[str, ...], tuple[int, ...]] = {}
        for row, labels in enumerate(self.table.release_labels):
            found[labels] = (*found.get(labels, ()), row)
        return found

    def counts(self, rows: Sequence[int]) -> Counts:
        """How often each value occurs in some rows."""
        found = Counter(self.values[row] for row in rows)
        return tuple((value, found[value]) for value in self.order if found[value])

    def groups(self, rows: Sequence[int] | None = None) -> Groups:
        """Some rows, or all, as the library audits them: against the distribution in the whole table."""
        some = range(len(self.values)) if rows is None else rows
        labels = self.table.release_labels
        names = self.table.release_columns
        keys = pl.DataFrame({name: [labels[row][i] for row in some] for i, name in enumerate(names)})
        text = {self.column: pl.Series([self.values[row] for row in some], dtype=pl.String)}
        return Groups(keys, text, {self.column: Counter(self.values)}, dict(self.table.trees))

    def opened(self, labels: tuple[str, ...], rows: tuple[int, ...]) -> list[Event]:
        """The first steps of each class."""
        named = tuple(zip(self.table.release_columns, labels, strict=True))
        return [ClassOpened(named, rows), SharesTaken(self.column, self.counts(rows))]
