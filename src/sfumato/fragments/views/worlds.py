"""The exact answer: whether there is a table with these views in which a person has none of some values.

A table is so many rows of each kind. That its views are the published ones, that it has so many rows, and that it keeps
the dependencies, are equations and inequalities of whole numbers, which HiGHS solves by branch and bound
(Huangfu and Hall 2018). A table that it finds is counted again in whole numbers before it is believed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
import polars as pl

from sfumato.core.progress import check_cancelled
from sfumato.errors import MissingExtra
from sfumato.fragments.views.joins import TooManyKinds
from sfumato.fragments.views.published import COUNT, PART, Projection, Published

MOST_VARIABLES = 200_000
NODES = 20_000  # of one search
NONE = 2  # how HiGHS ends where there is no solution
TRIES, DEPTH = 100_000, 300  # of a least set of values


class TooLong(Exception):
    """A least set was not found within its tries; it has so many members, at least."""

    def __init__(self, size: int) -> None:
        self.size = size
        super().__init__(size)


@dataclass
class SearchBudget:
    """How many searches are left, and until when."""

    steps: int
    until: float
    used: int = 0
    ended: bool = False  # whether a search was refused, or not finished

    def take(self) -> bool:
        """Whether there is room for one more."""
        check_cancelled()
        if self.used >= self.steps or time.monotonic() >= self.until:
            self.ended = True
            return False
        self.used += 1
        return True


@dataclass(eq=False)
class Worlds:
    """All tables that can be behind the views."""

    published: Published
    kinds: pl.DataFrame
    matrix: Any = field(init=False)
    low: np.ndarray = field(init=False)
    high: np.ndarray = field(init=False)
    most: np.ndarray = field(init=False)  # of each variable: rows of a kind, then one per combination of a dependency
    piece: np.ndarray = field(init=False)  # which variables and equations hang together

    def __post_init__(self) -> None:
        sparse = scipy("sparse")
        rows = self.published.table.height
        lines = _Lines(self.kinds.height)
        for view in self.published.views:
            self._view(view, lines)
        if self.published.size_known and not any(not (view.distinct or view.where) for view in self.published.views):
            lines.add(np.arange(self.kinds.height), np.zeros(self.kinds.height, np.int64), [rows], [rows])
        # more rows than these are never needed: one for each published row, as often as it is published
        room = sum(view.rows.height if view.distinct else int(view.rows[COUNT].sum()) for view in self.published.views)
        room = rows if self.published.size_known else max(room, 1)
        for columns, to in self.published.dependencies:
            self._dependency(columns, to, lines, room)
        self.most = np.r_[np.full(self.kinds.height, room), np.ones(lines.width - self.kinds.height, np.int64)]
        shape = (lines.height, lines.width)
        self.matrix = sparse.csr_array(
            (np.concatenate(lines.value), (np.concatenate(lines.line), np.concatenate(lines.place))), shape
        )
        self.low, self.high = np.concatenate(lines.low), np.concatenate(lines.high)
        if lines.width > MOST_VARIABLES:
            raise TooManyKinds
        both = sparse.block_array([[None, self.matrix.T], [self.matrix, None]])
        self.piece = scipy("sparse.csgraph").connected_components(both, directed=False)[1]

    def _inside(self, view: Projection) -> np.ndarray:
        inside = [number for number, part in enumerate(self.published.parts) if view.holds_in(part)]
        return np.flatnonzero(self.kinds[PART].is_in(inside).to_numpy())

    def _view(self, view: Projection, lines: _Lines) -> None:
        inside = self._inside(view)
        numbered = view.rows.with_row_index("line")
        own = self.kinds[inside].select(view.columns).join(numbered, on=view.columns, how="left", maintain_order="left")
        counts = view.rows[COUNT].to_numpy()
        low, high = (np.ones(len(counts)), np.full(len(counts), np.inf)) if view.distinct else (counts, counts)
        lines.add(inside, own["line"].to_numpy().astype(np.int64), low, high)

    def _dependency(self, columns: Sequence[str], to: str, lines: _Lines, room: int) -> None:
        """Of the values that a combination could lead to, one is taken; kinds with another have no row."""
        pairs = self.kinds.select(*columns, to).unique(maintain_order=True)
        pairs = pairs.filter(pl.len().over(columns) > 1).with_row_index("pair")
        if not pairs.height:
            return
        first = lines.width
        lines.width += pairs.height
        group = pairs.select(pl.struct(columns).rank("dense"))[columns[0]].to_numpy().astype(np.int64) - 1
        places = first + pairs["pair"].to_numpy().astype(np.int64)
        lines.add(places, group, np.ones(group.max() + 1), np.ones(group.max() + 1))
        own = self.kinds.with_row_index("kind").join(pairs, on=[*columns, to])
        kind, pair = own["kind"].to_numpy().astype(np.int64), own["pair"].to_numpy().astype(np.int64)
        weights = np.r_[np.ones(len(kind), np.int64), np.full(len(places), -room)]
        ends = np.full(pairs.height, -np.inf), np.zeros(pairs.height)
        lines.add(np.r_[kind, places], np.r_[pair, np.arange(len(places))], *ends, weights)

    def without(self, person: int, values: Iterable[int], budget: SearchBudget) -> frozenset[int] | bool | None:
        """The values of a person in a table where they have none of these; False where there is no such table, None
        where the search was not finished."""
        optimize = scipy("optimize")
        mine = (self.kinds[self.published.identity] == person).to_numpy()
        what = self.kinds[self.published.value].to_numpy()
        most = self.most.copy()
        most[: self.kinds.height][mine & np.isin(what, [*values])] = 0
        width = len(most)
        pieces = np.unique(self.piece[:width][: self.kinds.height][mine])
        chosen = np.flatnonzero(np.isin(self.piece[:width], pieces))
        lines = np.flatnonzero(np.isin(self.piece[width:], pieces))
        if not budget.take():
            return None
        part = self.matrix[lines][:, chosen]
        low, high = self.low[lines], self.high[lines]
        found = optimize.milp(
            np.zeros(len(chosen)),
            integrality=np.ones(len(chosen)),
            bounds=optimize.Bounds(0, most[chosen]),
            constraints=optimize.LinearConstraint(part, low, high),
            options={"time_limit": max(0.01, budget.until - time.monotonic()), "node_limit": NODES},
        )
        if found.status == NONE:
            return False
        if found.x is None:
            budget.ended = True
            return None
        taken = np.rint(found.x).astype(np.int64)
        sums = part.astype(np.int64) @ taken
        if (taken < 0).any() or (taken > most[chosen]).any() or (sums < low).any() or (sums > high).any():
            return None
        there = np.zeros(width, np.int64)
        there[chosen] = taken
        return frozenset(what[mine & (there[: self.kinds.height] > 0)].tolist())


def scipy(module: str) -> Any:
    """A module of SciPy, which holds HiGHS."""
    try:
        return import_module(f"scipy.{module}")
    except ImportError:
        raise MissingExtra("scipy", "ml") from None


class _Lines:
    """Lines of a matrix: where a number stands, which, and between what its line must sum to."""

    def __init__(self, width: int) -> None:
        self.width, self.height = width, 0
        self.place: list[np.ndarray] = []
        self.line: list[np.ndarray] = []
        self.value: list[np.ndarray] = []
        self.low: list[np.ndarray] = []
        self.high: list[np.ndarray] = []

    def add(self, places: Any, lines: Any, low: Any, high: Any, values: Any = None) -> None:
        """Lines after those that there are."""
        self.place.append(np.asarray(places))
        self.line.append(np.asarray(lines) + self.height)
        self.value.append(np.ones(len(places), np.int64) if values is None else np.asarray(values))
        self.low.append(np.asarray(low, np.float64))
        self.high.append(np.asarray(high, np.float64))
        self.height += len(self.low[-1])


def smallest_hitting_set(family: Sequence[frozenset[int]], most: int) -> frozenset[int] | None:
    """The least set that has a member of each, up to a size; None where it would have to be larger. TooLong, with the
    size that it has at least, where that takes too many tries.

    >>> sorted(smallest_hitting_set([frozenset("ab"), frozenset("bc")], 2))
    ['b']
    """
    tries = 0
    forced = frozenset[int]().union(*(one for one in family if len(one) == 1))

    def hit(chosen: frozenset[int], left: int) -> frozenset[int] | None:
        nonlocal tries
        tries += 1
        if tries > TRIES or left > DEPTH:
            raise TooLong(size)
        missed = [one for one in family if not one & chosen]
        if not missed:
            return chosen
        if not left:
            return None
        fewest: frozenset[int] = min(missed, key=len)
        for value in sorted(fewest):
            found = hit(chosen | {value}, left - 1)
            if found is not None:
                return found
        return None

    for size in range(len(forced), most + 1):
        found = hit(forced, size - len(forced))
        if found is not None:
            return found
    return None


def least_cover(
    worlds: Worlds, person: int, known: Iterable[frozenset[int]], most: int, budget: SearchBudget
) -> tuple[int, int | None]:
    """Bounds on the least number of values of which a person certainly has one, from the values that they have in
    tables that are known: (low, high), equal where the search has ended. It stops at `most`; None is no upper bound.

    Tables are looked for that avoid the least set that no table known so far avoids, until there is none.
    """
    family = [*known]
    while True:
        try:
            chosen = smallest_hitting_set(family, most - 1)
        except TooLong as error:
            budget.ended = True
            return error.size, None
        if chosen is None:
            return most, None
        found = worlds.without(person, chosen, budget)
        if found is False:
            return len(chosen), len(chosen)
        if found is None or isinstance(found, bool):
            return len(chosen), None
        family.append(found)
