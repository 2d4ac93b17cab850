"""Steps over sets of splits: k-Optimize. A split is a column and the value that an interval begins at."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.core.wording import count, listed, number
from sfumato.search.events.event import Event

Splits = tuple[tuple[str, str | None], ...]  # in the order in which they were added


@dataclass(frozen=True)
class DescentEnded(Event):
    """What steepest descents lead to: the tree is searched for what costs less."""

    splits: Splits
    cost: int

    def sentence(self) -> str:
        """The step in words."""
        return f"Steepest descents lead to a cost of {number(self.cost)}, with {_named(self.splits)}."


@dataclass(frozen=True)
class SplitsOpened(Event):
    """A node of the tree is opened: what its splits cost, and how many more may be added below it."""

    splits: Splits
    cost: int
    more: int

    def sentence(self) -> str:
        """The step in words."""
        cost = f"the cost is {number(self.cost)}"
        return f"With {_named(self.splits)}, {cost}; {count(self.more, 'more split')} may be added."


@dataclass(frozen=True)
class LeastCostFound(Event):
    """Splits that cost less than all before them."""

    splits: Splits
    cost: int

    def sentence(self) -> str:
        """The step in words."""
        return f"A cost of {number(self.cost)} is the best so far, with {_named(self.splits)}."


@dataclass(frozen=True)
class BoundTaken(Event):
    """What a node and all below it cost at least, whatever is added."""

    splits: Splits
    bound: int
    best: int

    def sentence(self) -> str:
        """The step in words."""
        return f"Whatever is added, the cost is at least {number(self.bound)}; the best is {number(self.best)}."


@dataclass(frozen=True)
class SplitsDropped(Event):
    """Splits that are not added below a node: no class gains by them, they suppress too many rows, or cost too much."""

    splits: Splits
    useless: Splits
    suppressing: Splits
    costly: Splits

    def sentence(self) -> str:
        """The step in words."""
        why = {
            "that no class gains by": self.useless,
            "that would suppress too many rows": self.suppressing,
            "that cannot cost less than the best": self.costly,
        }
        left = listed(f"{count(len(some), 'split')} {words}" for words, some in why.items() if some)
        return f"Left out below: {left}."


@dataclass(frozen=True)
class SplitsReordered(Event):
    """The split that is added next: the one that divides most classes."""

    splits: Splits
    first: tuple[str, str | None]
    divides: int

    def sentence(self) -> str:
        """The step in words."""
        divided = count(self.divides, "class", "classes")
        return f"{_named((self.first,))}: it divides {divided}, as many as any other, and is added first."


@dataclass(frozen=True)
class SubtreePruned(Event):
    """A node is left with all below it; `best` is None where it is left for the rows that it suppresses."""

    splits: Splits
    bound: int
    best: int | None
    suppressed: int

    def sentence(self) -> str:
        """The step in words."""
        node = _named(self.splits) if self.splits else "the root"
        if self.best is None:
            gone = f"{count(self.suppressed, 'row')} suppressed, which is too many"
            return f"At {node} there are {gone}: it is pruned with all below it."
        if self.bound < self.best:
            return f"No split is left to add below {node}."
        least = f"costs less than {number(self.bound)}, and the best is {number(self.best)}"
        return f"Nothing below {node} {least}: it is pruned."


@dataclass(frozen=True)
class SplitsChosen(Event):
    """The splits that the search decides for."""

    splits: Splits
    cost: int

    def sentence(self) -> str:
        """The step in words."""
        return f"Nothing is left: the result costs {number(self.cost)}, with {_named(self.splits)}."


def _named(splits: Splits) -> str:
    at: dict[str, list[str]] = {}
    for column, value in splits:
        at.setdefault(column, []).append("missing" if value is None else value)
    return listed(f"{column} split at {' | '.join(values)}" for column, values in at.items()) or "no split"
