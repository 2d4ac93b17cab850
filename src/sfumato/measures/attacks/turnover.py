"""Turnover: what the counts of releases tell together, where it is known who joined and who left.

A class of one release and a class of another that share people differ by those who left and those who joined. Where the
rows that one has more of are as many as the people that only it has, these rows are theirs. In small groups every way
in which people may have the values is looked at, and nothing else is left.

Wang, Fung, "Anonymizing sequential releases", KDD 2006; Xiao and Tao, "m-Invariance", SIGMOD 2007.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from sfumato.core.progress import check_cancelled

SMALL = 8  # people of a group that is looked at in every way
MOST_TRIED = 20_000  # steps of that
AT_ONCE = 2_000_000  # numbers of class pairs that are compared at once


@dataclass(frozen=True, eq=False)
class PlacedRelease:
    """A release as somebody sees it who knows its people: the cells that each may be in, and the rows of each cell."""

    cells: Sequence[np.ndarray | None]  # per person; None where they are not in it
    rows: np.ndarray  # int64 (cells, values)
    nobody: np.ndarray  # int64 per cell: rows that stand for nobody

    @property
    def people(self) -> int:
        """How many people are in it."""
        return sum(found is not None for found in self.cells)

    @property
    def suppressed(self) -> int:
        """How many of its people have no row."""
        return self.people - int(self.rows.sum() - self.nobody.sum())

    def certain(self) -> np.ndarray:
        """The cell of each person whose cell is certain, with all people of it known; -1 for others."""
        own = np.array([found[0] if found is not None and len(found) == 1 else -1 for found in self.cells], np.int64)
        maybe = np.zeros(len(self.rows), np.int64)
        for found in self.cells:
            if found is not None:
                maybe[found] += 1
        whole = maybe == self.rows.sum(axis=1) - self.nobody
        for found in self.cells:  # a cell that somebody may be in, and need not, is not known
            if found is not None and len(found) > 1:
                whole[found] = False
        return np.where((own >= 0) & whole[own], own, -1)

    def as_one(self) -> PlacedRelease:
        """The release as a single class."""
        cells = [None if found is None else np.zeros(1, np.int64) for found in self.cells]
        return PlacedRelease(cells, self.rows.sum(axis=0, keepdims=True), self.nobody.sum(keepdims=True))


def by_turnover(left: list[np.ndarray], releases: Sequence[PlacedRelease]) -> list[np.ndarray]:
    """The values that stay possible for each person, of those in `left`, by comparing all classes of two releases, and
    the releases as wholes.

    >>> both = PlacedRelease([np.array([0]), np.array([0])], np.array([[1, 1]]), np.zeros(1, np.int64))
    >>> bob = PlacedRelease([None, np.array([0])], np.array([[0, 1]]), np.zeros(1, np.int64))
    >>> [one.tolist() for one in by_turnover([np.array([0, 1])] * 2, [both, bob])]
    [[0], [1]]
    """
    possible = np.ones((len(left), releases[0].rows.shape[1]), np.bool_)
    for form in (list(releases), [one.as_one() for one in releases]):
        own = [one.certain() for one in form]
        for a in range(len(form)):
            for b in range(a + 1, len(form)):
                _compare(form[a], own[a], form[b], own[b], possible)
    return [values[possible[i, values]] for i, values in enumerate(left)]


def _compare(
    first: PlacedRelease, in_first: np.ndarray, second: PlacedRelease, in_second: np.ndarray, possible: np.ndarray
) -> None:
    """Take from `possible` what two releases rule out."""
    both = np.flatnonzero((in_first >= 0) & (in_second >= 0))
    pairs = pl.DataFrame({"a": in_first[both], "b": in_second[both]}).group_by("a", "b").len()
    a, b, shared = (pairs.get_column(name).to_numpy() for name in ("a", "b", "len"))
    step = max(1, AT_ONCE // first.rows.shape[1])
    for at in range(0, len(a), step):
        here = slice(at, at + step)
        more = first.rows[a[here]] - second.rows[b[here]]
        only_first, only_second = np.maximum(more, 0), np.maximum(-more, 0)
        gone = first.rows[a[here]].sum(axis=1) - shared[here]  # rows of who left, and of nobody
        told = np.flatnonzero(only_first.sum(axis=1) == gone)
        for i in told.tolist():
            check_cancelled()
            of_a, of_b = in_first == a[at + i], in_second == b[at + i]
            common = first.rows[a[at + i]] - only_first[i]
            for who, values in ((of_a & ~of_b, only_first[i]), (of_b & ~of_a, only_second[i]), (of_a & of_b, common)):
                possible[who] &= values > 0


def in_all_worlds(
    left: list[np.ndarray], releases: Sequence[PlacedRelease]
) -> tuple[list[np.ndarray], dict[int, float]]:
    """The values that a person has in some world, in groups of few people, and the greatest share of worlds that one
    value of a person has.

    A world gives everybody one of the values in `left`, and a place in each release, so that every row is somebody's or
    one of those that stand for nobody. Others stay as they are.
    """
    found, sure = list(left), dict[int, float]()
    for people in _groups(releases):
        check_cancelled()
        if len(people) > SMALL or any(not len(left[p]) for p in people):
            continue
        worlds = _worlds([left[p].tolist() for p in people], [_Part(one, people) for one in releases])
        if not worlds:  # too many, or none where a value changed
            continue
        table = np.array(worlds)
        for i, p in enumerate(people):
            values, often = np.unique(table[:, i], return_counts=True)
            found[p], sure[p] = values, float(often.max() / len(table))
    return found, sure


def _groups(releases: Sequence[PlacedRelease]) -> Iterator[list[int]]:
    """People who may share a cell of some release, directly or through others."""
    above = list(range(len(releases[0].cells)))

    def root(one: int) -> int:
        while above[one] != one:
            above[one] = above[above[one]]
            one = above[one]
        return one

    for release in releases:
        if release.suppressed:  # anybody of it may be without a row
            continue
        begun: dict[int, int] = {}
        for person, cells in enumerate(release.cells):
            for cell in () if cells is None else cells.tolist():
                above[root(person)] = root(begun.setdefault(cell, person))
    groups: dict[int, list[int]] = {}
    for person in range(len(above)):
        groups.setdefault(root(person), []).append(person)
    yield from groups.values()


class _Part:
    """What a release has of a group of people."""

    def __init__(self, release: PlacedRelease, people: Sequence[int]) -> None:
        known = not release.suppressed
        cells = [release.cells[p] for p in people]
        self.cells = [None if not known or found is None or not len(found) else found.tolist() for found in cells]
        there = sorted({cell for found in self.cells for cell in found or ()})
        self.rows = {cell: release.rows[cell].copy() for cell in there}
        self.nobody = {cell: int(release.nobody[cell]) for cell in there}

    def fits(self, world: Sequence[int], at: int = 0) -> bool:
        """Whether people with these values have places, from person `at` on, so that all rows are taken."""
        while at < len(world) and self.cells[at] is None:
            at += 1
        if at == len(world):
            return all(int(rows.sum()) == self.nobody[cell] for cell, rows in self.rows.items())
        for cell in self.cells[at] or ():
            if self.rows[cell][world[at]] > 0:
                self.rows[cell][world[at]] -= 1
                fine = self.fits(world, at + 1)
                self.rows[cell][world[at]] += 1
                if fine:
                    return True
        return False

    def has_room(self, world: Sequence[int]) -> bool:
        """Whether so many people, the first of the group, may have these values."""
        last = len(world) - 1
        cells = self.cells[last]
        if cells is None or len(cells) > 1:
            return True
        same = sum(self.cells[i] == cells and value == world[last] for i, value in enumerate(world))
        return bool(self.rows[cells[0]][world[last]] >= same)


def _worlds(options: Sequence[Sequence[int]], parts: Sequence[_Part]) -> list[tuple[int, ...]]:
    """Every way to give people one of their values that fits all releases; none where that takes too long."""
    found = list[tuple[int, ...]]()
    stack: list[tuple[int, ...]] = [()]
    tried = 0
    while stack:
        world = stack.pop()
        tried += 1
        if tried > MOST_TRIED:
            return []
        if len(world) == len(options):
            if all(part.fits(world) for part in parts):
                found.append(world)
            continue
        for value in options[len(world)]:
            longer = (*world, value)
            if all(part.has_room(longer) for part in parts):
                stack.append(longer)
    return found
