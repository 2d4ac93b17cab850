"""Steps over level vectors: Samarati, Incognito, OLA, optimal, Datafly."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.core.wording import count, listed, number
from sfumato.search.events.event import Event, Record

Levels = tuple[tuple[str, int], ...]  # level per column


@dataclass(frozen=True)
class WindowSet(Event):
    """The heights that are left to search."""

    low: int
    high: int

    def sentence(self) -> str:
        """The step in words."""
        if self.low == self.high:
            return f"Only height {self.low} is left."
        return f"The least height that will do lies between {self.low} and {self.high}."


@dataclass(frozen=True)
class HeightOpened(Event):
    """The level vectors of one height are tried next."""

    height: int
    vectors: int

    def sentence(self) -> str:
        """The step in words."""
        return f"Height {self.height} is opened: {count(self.vectors, 'level vector')} to try."


@dataclass(frozen=True)
class NodeTried(Event):
    """A level vector is tested: the rows in classes that fail, against the limit of suppression.

    `rolled_up_from` is the vector whose classes were rolled up, None where the table was counted.
    """

    levels: Levels
    failing: int
    limit: int
    satisfied: bool
    rolled_up_from: Levels | None = None

    def sentence(self) -> str:
        """The step in words."""
        verdict = "it satisfies" if self.satisfied else "it does not"
        how = "" if self.rolled_up_from is None else f", rolled up from {_at(self.rolled_up_from)}"
        return f"With {_at(self.levels)}{how}, {_rows(self.failing, self.limit)}: {verdict}."


@dataclass(frozen=True)
class DistanceTaken(Event):
    """How far up each column two records must go to look alike."""

    record: Record
    other: Record
    levels: Levels

    def sentence(self) -> str:
        """The step in words."""
        return f"{self.record} and {self.other} are alike from {_at(self.levels)} on."


@dataclass(frozen=True)
class TuplesCounted(Event):
    """The rows whose distance from a record lies within a level vector."""

    record: Record
    levels: Levels
    rows: int
    k: int

    def sentence(self) -> str:
        """The step in words."""
        enough = "enough" if self.rows >= self.k else "too few"
        like = f"{count(self.rows, 'row')} {'looks' if self.rows == 1 else 'look'} like {self.record}"
        return f"With {_at(self.levels)}, {like}: {enough} for k = {self.k}."


@dataclass(frozen=True)
class HeightAccepted(Event):
    """A vector of the height satisfies: nothing above it is looked at."""

    height: int
    levels: Levels

    def sentence(self) -> str:
        """The step in words."""
        return f"Height {self.height} will do, with {_at(self.levels)}: only lower heights can be better."


@dataclass(frozen=True)
class HeightExhausted(Event):
    """No vector of the height satisfies: nothing below it does."""

    height: int

    def sentence(self) -> str:
        """The step in words."""
        return f"No level vector of height {self.height} satisfies, so none below does: the search goes higher."


@dataclass(frozen=True)
class ResultFound(Event):
    """The level vector that the search decides for."""

    levels: Levels
    loss: float

    def sentence(self) -> str:
        """The step in words."""
        return f"The result is {_at(self.levels)}, with a loss of {number(self.loss)}."


@dataclass(frozen=True)
class FinalCheck(Event):
    """The level vector is tested once more, whatever led to it."""

    levels: Levels
    failing: int
    limit: int
    classes: int
    satisfied: bool

    def sentence(self) -> str:
        """The step in words."""
        verdict = "it holds" if self.satisfied else "it does not hold"
        made = count(self.classes, "class", "classes")
        return f"Final check of {_at(self.levels)}: {made} stay, {_rows(self.failing, self.limit)}: {verdict}."


@dataclass(frozen=True)
class RowsSuppressed(Event):
    """The rows of classes that fail are removed."""

    records: tuple[Record, ...]
    rows: int

    def sentence(self) -> str:
        """The step in words."""
        return f"{count(self.rows, 'row')} of classes that fail {'is' if self.rows == 1 else 'are'} suppressed."


@dataclass(frozen=True)
class SubsetOpened(Event):
    """Some of the columns alone are looked at."""

    columns: tuple[str, ...]
    candidates: int

    def sentence(self) -> str:
        """The step in words."""
        return f"{listed(self.columns)} alone: {count(self.candidates, 'level vector')} to decide."


@dataclass(frozen=True)
class NodeMarked(Event):
    """A level vector satisfies without a test: it generalises one that does."""

    levels: Levels
    generalises: Levels

    def sentence(self) -> str:
        """The step in words."""
        return f"{_at(self.levels)} satisfies, since {_at(self.generalises)} does."


@dataclass(frozen=True)
class NodeDropped(Event):
    """A level vector fails without a test: fewer columns at the same levels do."""

    levels: Levels
    failed: Levels

    def sentence(self) -> str:
        """The step in words."""
        return f"{_at(self.levels)} is dropped, since {_at(self.failed)} failed already."


@dataclass(frozen=True)
class SubsetsJoined(Event):
    """Sets with one column more are made of those that were decided, with the vectors that are left of each."""

    subsets: tuple[tuple[tuple[str, ...], int], ...]

    def sentence(self) -> str:
        """The step in words."""
        sets = ", ".join(f"{{{', '.join(columns)}}} {vectors}" for columns, vectors in self.subsets)
        return f"The next sets of columns are joined, each with the level vectors that are left: {sets}."


@dataclass(frozen=True)
class TaggedUp(Event):
    """Level vectors that satisfy because one that they generalise does."""

    levels: Levels
    nodes: tuple[Levels, ...]

    def sentence(self) -> str:
        """The step in words."""
        more = count(len(self.nodes), "level vector")
        return f"All that generalises {_at(self.levels)} satisfies: {more} more without a test."


@dataclass(frozen=True)
class TaggedDown(Event):
    """Level vectors that fail because one that generalises them does."""

    levels: Levels
    nodes: tuple[Levels, ...]

    def sentence(self) -> str:
        """The step in words."""
        more = count(len(self.nodes), "level vector")
        return f"Nothing below {_at(self.levels)} satisfies: {more} more without a test."


@dataclass(frozen=True)
class NodePruned(Event):
    """A level vector loses more than the best by its labels alone, whatever its classes."""

    levels: Levels
    bound: float
    best: float

    def sentence(self) -> str:
        """The step in words."""
        return f"{_at(self.levels)} loses at least {number(self.bound)}, the best {number(self.best)}: not tested."


@dataclass(frozen=True)
class BestFound(Event):
    """A level vector that is better than all before it."""

    levels: Levels
    loss: float

    def sentence(self) -> str:
        """The step in words."""
        return f"{_at(self.levels)} is the best so far, with a loss of {number(self.loss)}."


@dataclass(frozen=True)
class ColumnGeneralised(Event):
    """The column with the most distinct values goes up one level; `distinct` are the values per column before."""

    column: str
    level: int
    distinct: tuple[tuple[str, int], ...]

    def sentence(self) -> str:
        """The step in words."""
        values = count(dict(self.distinct)[self.column], "distinct value")
        return f"{self.column} has the most to generalise, {values}, and goes to level {self.level}."


@dataclass(frozen=True)
class RowsLeft(Event):
    """How many rows are in classes that fail."""

    levels: Levels
    failing: int
    limit: int

    def sentence(self) -> str:
        """The step in words."""
        on = "no further column goes up" if self.failing <= self.limit else "another column must go up"
        return f"{_rows(self.failing, self.limit)}: {on}."


def _at(levels: Levels) -> str:
    return listed(f"{column} at level {level}" for column, level in levels)


def _rows(rows: int, limit: int) -> str:
    are, most = "is" if rows == 1 else "are", f"at most {number(limit)}" if limit else "none"
    return f"{count(rows, 'row')} {are} in classes that fail, and {most} may be"
