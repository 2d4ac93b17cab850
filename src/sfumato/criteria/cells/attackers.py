"""Attackers who contribute to the table: what they know of hidden cells beside what is published.

A contributor knows every cell that nobody else contributes to, and a coalition every cell that none but its members
contribute to; of another cell that it is no less than what is their own of it, where nobody has less than nothing. Who
contributes where is not known, only how many: people of a cell are in all cells that hold it, and whoever has a share
in several cells counts as so many people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np

from sfumato.criteria.cells.published import PublishedCells
from sfumato.errors import PolicyError

OUTSIDER, CONTRIBUTOR, COALITION = "outsider", "contributor", "coalition"
MOST_COALITIONS = 200_000


@dataclass(frozen=True)
class Attacker:
    """Somebody who knows the values of some hidden cells, or that some are at least so much.

    Cells are positions among the hidden ones. `known` cells are their own: to find them tells nothing of others.
    """

    kind: str
    known: tuple[int, ...]
    at_least: tuple[tuple[int, float], ...] = ()


@dataclass(frozen=True, eq=False)
class _Unit:
    """People who are alone in some cells, however the cells are nested, or have a share of one: what they know, and how
    many they are."""

    size: int
    known: frozenset[int]
    share: tuple[int, float] | None = None


def contributor_attackers(
    published: PublishedCells,
    contributors: np.ndarray,
    component: np.ndarray,
    *,
    coalition: int = 1,
    largest: np.ndarray | None = None,
    most: int = MOST_COALITIONS,
) -> Iterator[Attacker]:
    """All attackers of at most `coalition` contributors, single ones first: with those who are alone in cells, or all
    of those who are, such as have shares of one more cell.

    `component` has the connected component of each hidden cell, -1 where outsiders know it: only who knows cells of one
    component learns more together than alone. `largest` has the largest contributions to each cell, greatest first
    along a last axis, where no contribution is negative: their contributors know that the cell is no less.
    """
    units = _units(published, contributors, coalition, component)
    if largest is not None:
        units += _sharers(published, contributors, coalition, component, largest)
    by_part: dict[int, tuple[list[_Unit], list[_Unit]]] = {}
    for unit in units:
        for part in {int(component[cell]) for cell in _cells(unit)} - {-1}:
            by_part.setdefault(part, ([], []))[unit.share is not None].append(unit)
    amount = sum(
        _amount([unit.size for unit in alone], coalition)
        + sum(1 + _amount([unit.size for unit in alone], coalition - one.size) for one in sharers)
        for alone, sharers in by_part.values()
    )
    if amount > most:
        hint = "audit smaller coalitions"
        raise PolicyError(
            "there are too many coalitions to try", got=f"{amount:,}", allowed=f"up to {most:,}", hint=hint
        )
    made_of = _made_of(published, contributors, coalition) if coalition > 1 else {}
    for size in range(1, coalition + 1):
        done: set[tuple[frozenset[int], tuple[tuple[int, float], ...]]] = set()
        for alone, sharers in by_part.values():
            for sharer in (None, *sharers):
                left = size - (sharer.size if sharer else 0)
                for many in range(0 if sharer else 1, left + 1):
                    for members in combinations(alone, many):
                        if sum(unit.size for unit in members) != left or (many > 1 and _overlap(members)):
                            continue
                        known = frozenset[int]().union(*(unit.known for unit in members))
                        if many > 1:
                            known = _closed(known, made_of)
                        share = (sharer.share,) if sharer and sharer.share and sharer.share[0] not in known else ()
                        if (known, share) not in done:
                            done.add((known, share))
                            yield Attacker(CONTRIBUTOR if size == 1 else COALITION, tuple(sorted(known)), share)


def _cells(unit: _Unit) -> frozenset[int]:
    """The cells that people know something of."""
    return unit.known if unit.share is None else frozenset([unit.share[0]])


def _amount(sizes: Sequence[int], most: int) -> int:
    """How many sets of units have at most so many people."""
    found = [1] + [0] * most
    for size, often in Counter(sizes).items():
        after = [0] * (most + 1)
        for chosen in range(min(often, most // size) + 1):
            for i in range(most + 1 - chosen * size):
                after[i + chosen * size] += found[i] * comb(often, chosen)
        found = after
    return sum(found) - 1


def _overlap(members: Sequence[_Unit]) -> bool:
    """Whether one of them is part of another."""
    return any(one.known <= other.known or other.known <= one.known for one, other in combinations(members, 2))


def _sharers(
    published: PublishedCells, contributors: np.ndarray, most: int, component: np.ndarray, largest: np.ndarray
) -> list[_Unit]:
    """The contributors, up to so many together, who are some of those of a cell, and have most of it."""
    hidden = published.hidden_cells
    many, low = contributors.reshape(-1)[hidden], published.bounds()[0]
    top = largest.reshape(contributors.size, -1)[hidden]
    found = []
    for size in range(1, min(most, top.shape[1]) + 1):
        share = top[:, :size].sum(1)
        cells = np.flatnonzero((many > size) & (share > low) & (top[:, size - 1] > 0) & (component >= 0))
        found += [_Unit(size, frozenset(), (int(cell), float(share[cell]))) for cell in cells]
    return found


def _made_of(
    published: PublishedCells, contributors: np.ndarray, most: int
) -> dict[int, list[tuple[int, frozenset[int]]]]:
    """The hidden totals of few people that a hidden cell is part of, each with all of its parts that are not empty.

    A total is there once per dimension where all these parts are hidden.
    """
    many, hidden = contributors.reshape(-1), published.hidden_cells
    number = np.full(len(many), -1)
    number[hidden] = np.arange(len(hidden))
    found: dict[int, list[tuple[int, frozenset[int]]]] = {}
    for grid in published.grids:
        few = (many[grid.cell] > 1) & (many[grid.cell] <= most) & (number[grid.cell] >= 0)
        for at, axis in product(np.argwhere(few).tolist(), range(len(grid.dimensions))):
            total = int(number[grid.cell[tuple(at)]])
            place: list[Any] = list(at)
            place[axis] = np.flatnonzero(grid.dimensions[axis].parents == at[axis])
            if not len(place[axis]):
                continue
            parts = grid.cell[tuple(place)]
            filled = frozenset(number[parts[many[parts] > 0]].tolist())
            if filled and -1 not in filled:
                for part in filled:
                    found.setdefault(part, []).append((total, filled))
    return found


def _closed(known: frozenset[int], made_of: dict[int, list[tuple[int, frozenset[int]]]]) -> frozenset[int]:
    """What people know together: also totals of whose parts they know all."""
    found, left = set(known), list(known)
    while left:
        for total, parts in made_of.get(left.pop(), ()):
            if total not in found and parts <= found:
                found.add(total)
                left.append(total)
    return frozenset(found)


def _units(published: PublishedCells, contributors: np.ndarray, most: int, component: np.ndarray) -> list[_Unit]:
    """The sets of up to so many people who are alone in a cell, with what they know: all within their cells."""
    from scipy.sparse import coo_array  # type: ignore[import-untyped]
    from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped]

    many = contributors.reshape(-1)
    small = (many > 0) & (many <= most)
    starts, ends = [], []
    for grid in published.grids:
        for axis, one in enumerate(grid.dimensions):  # a total of as many people has the same people
            cells = np.moveaxis(grid.cell, axis, 0)
            parts, totals = cells[1:], cells[one.parents[1:]]
            same = (many[parts] == many[totals]) & small[parts]
            starts.append(parts[same])
            ends.append(totals[same])
    start, end = np.concatenate(starts), np.concatenate(ends)
    graph = coo_array((np.ones(len(start)), (start, end)), shape=(many.size, many.size))
    _, label = connected_components(graph, directed=False)
    chosen = np.flatnonzero(small)
    chosen = chosen[np.argsort(label[chosen], kind="stable")]
    groups = np.split(chosen, np.flatnonzero(np.diff(label[chosen])) + 1) if len(chosen) else []
    number = np.full(many.size, -1)
    number[published.hidden_cells] = np.arange(len(published.hidden_cells))
    group = np.full(many.size, -1)
    for i, cells in enumerate(groups):
        group[cells] = i
    known: list[set[int]] = [set() for _ in groups]
    for grid in published.grids:
        for at in np.argwhere(group[grid.cell] >= 0):
            below = [np.flatnonzero(one.within[i]) for one, i in zip(grid.dimensions, at, strict=True)]
            inside = number[grid.cell[np.ix_(*below)].reshape(-1)]
            known[group[grid.cell[tuple(at)]]].update(inside[inside >= 0].tolist())
    return [
        _Unit(int(many[cells[0]]), frozenset(own))
        for cells, own in zip(groups, known, strict=True)
        if any(component[cell] >= 0 for cell in own)
    ]
