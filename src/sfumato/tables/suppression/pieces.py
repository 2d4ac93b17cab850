"""Pieces of a table, each with the cells that may be hidden and the sums among them: the whole, or a simple subtable.

P.-P. de Wolf, HiTaS: a heuristic approach to cell suppression in hierarchical tables, Inference Control in Statistical
Databases, LNCS 2316, 2002.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product
from math import comb
from typing import Any

import numpy as np

from sfumato.core.wording import count
from sfumato.errors import Infeasible
from sfumato.tables.protection import ProtectionProblem
from sfumato.tables.suppression.attack import Piece
from sfumato.tables.values import Dimension, TableGrid

MOST_CHECKED = 3_000  # cells of a table that is first audited with all candidates hidden
MOST_SETS = 300  # sets of published cells that are looked through for a smallest one in conflict


def whole_piece(problem: ProtectionProblem) -> Piece:
    """The whole table."""
    return _piece(problem, np.arange(problem.value.size), np.arange(len(problem.sums)))


def subtable(problem: ProtectionProblem, cells: np.ndarray) -> Piece:
    """Some cells, and the sums that lie among them."""
    cells, sums = np.unique(cells), problem.sums
    first, entry = problem.entries_of_cells
    rows, often = np.unique(sums.row[entry[_ranges(first[cells], first[cells + 1])]], return_counts=True)
    return _piece(problem, cells, rows[often == np.diff(sums.start)[rows]])


def piece_of(problem: ProtectionProblem, cells: np.ndarray) -> Piece:
    """Some cells of a table, and all of its sums: all other cells are taken for published."""
    return _piece(problem, cells, np.arange(len(problem.sums)))


def _piece(problem: ProtectionProblem, cells: np.ndarray, rows: np.ndarray) -> Piece:
    sums = problem.sums
    cells = cells[(problem.candidate | problem.forced)[cells]]
    place = np.full(problem.value.size, -1)
    place[cells] = np.arange(len(cells))
    entry = _ranges(sums.start[rows], sums.start[rows + 1])
    of = np.repeat(np.arange(len(rows)), np.diff(sums.start)[rows])
    there = place[sums.cell[entry]] >= 0
    entry, width = entry[there], np.bincount(of[there], minlength=len(rows))
    start = np.concatenate([[0], np.cumsum(width[width > 0])]).astype(np.int64)
    value, primary = problem.value[cells], problem.primary.cells.ravel()[cells]
    down, up = np.maximum(value - problem.least[cells], 0), np.maximum(problem.most[cells] - value, 0)
    below, above = (np.where(primary, np.maximum(one[cells], 0), 0.0) for one in (problem.below, problem.above))
    return Piece(
        cells, start, place[sums.cell[entry]], sums.sign[entry], down, up, below, above, problem.cost[cells],
        problem.forced[cells], problem.known_by.within(place),
    )  # fmt: skip


def _ranges(first: np.ndarray, end: np.ndarray) -> np.ndarray:
    """The numbers of several ranges, one after the other."""
    often = end - first
    return np.arange(int(often.sum())) + np.repeat(first - np.cumsum(often) + often, often)


def families(dimension: Dimension) -> list[np.ndarray]:
    """Each node with children, with these, from the root down; the root alone where it has none."""
    found = [np.append(node, below) for node, below in enumerate(dimension.children) if len(below)]
    found.sort(key=lambda one: int(dimension.depth[one[0]]))
    return found or [np.zeros(1, np.int64)]


def simple_subtables(problem: ProtectionProblem) -> Iterator[np.ndarray]:
    """The cells of all subtables without a hierarchy, an axis per dimension, those of higher levels first."""
    every: list[tuple[int, TableGrid, tuple[Any, ...]]] = []
    for grid in problem.table.grids:
        for each in product(*map(families, grid.dimensions)):
            depth = sum(int(one.depth[nodes[0]]) for one, nodes in zip(grid.dimensions, each, strict=True))
            every.append((depth, grid, each))
    yield from (grid.cell[np.ix_(*nodes)] for _, grid, nodes in sorted(every, key=lambda one: one[0]))


def around(problem: ProtectionProblem, cell: int) -> np.ndarray:
    """The cells of the subtables that a cell lies in: in each dimension its family above and that below it."""
    cells = []
    for grid in problem.table.grids:
        for at in np.argwhere(grid.cell == cell):
            found = []
            for one, node in zip(grid.dimensions, at, strict=True):
                above = int(one.parent[node])
                near = [np.array([node]), one.children[node]]
                if above >= 0:
                    near += [np.array([above]), one.children[above]]
                found.append(np.unique(np.concatenate(near)).astype(np.int64))
            cells.append(grid.cell[np.ix_(*found)].ravel())
    return np.concatenate(cells)


def everything(problem: ProtectionProblem) -> np.ndarray:
    """The pattern that hides all candidates; Infeasible where it does not pass the audit. Of a large table that is
    found out only where nothing less does, for it takes long."""
    hidden = problem.candidate | problem.forced
    if hidden.size <= MOST_CHECKED:
        problem.report_progress("checking that the table can be protected", None)
        if len(exposed := problem.audit(hidden)):
            raise infeasible(problem, exposed)
    return hidden


def infeasible(problem: ProtectionProblem, exposed: np.ndarray) -> Infeasible:
    """The error for a table with cells that are exposed even where all candidates are hidden."""
    hidden = problem.candidate | problem.forced
    what, hints = f"{count(len(exposed), 'cell')} cannot be protected, whichever others are hidden", []
    asked = empty = np.zeros(0, np.int64)
    if hidden.size <= MOST_CHECKED and not len(problem.audit(np.ones_like(hidden))):
        conflict = _conflict(problem, hidden)
        none = problem.table.count.ravel()[conflict] == 0
        asked, empty = conflict[~none], conflict[none]
        parts = []
        if len(asked):
            places = ", ".join(str(int(one)) for one in asked[:10]) + (" and more" if len(asked) > 10 else "")
            parts.append(f"{count(len(asked), 'cell')} must be published (in rows {places} of the table, from 0)")
            hints.append("leave one of these rows out of publish")
        if len(empty):
            parts.append(f"{count(len(empty), 'empty cell')} may not be hidden")
            hints.append('allow that by zeros="hide"')
        what += ", because " + " and ".join(parts)
    hints.append("coarsen the table, or use a method that changes values")
    closest = {"exposed": np.sort(exposed).tolist(), "published": asked.tolist(), "empty": empty.tolist()}
    return Infeasible(what, hint=", or ".join(hints), closest=closest)


def _conflict(problem: ProtectionProblem, hidden: np.ndarray) -> np.ndarray:
    """Published cells that no pattern protects the table with, whichever others are hidden, and without any of which
    one does: the fewest, where these are quickly found; empty cells only where the others are not in conflict alone.

    Found by leaving out halves, then parts of these, then single ones.
    """
    published = np.flatnonzero(~hidden)
    none = problem.table.count.ravel()[published] == 0
    left = [one for one in (published[~none], published[none]) if len(one)]
    needed: list[int] = []

    def fails(cells: Sequence[int] | np.ndarray) -> bool:
        problem.report_progress("looking for the cells in conflict", None)
        tried = np.ones_like(hidden)
        tried[[*cells]] = False
        return bool(len(problem.audit(tried)))

    while left:
        part = left.pop()
        if fails(np.concatenate([np.array(needed, np.int64), *left])):  # in conflict without these
            continue
        if len(part) == 1:
            needed.append(int(part[0]))
        else:
            left += [part[len(part) // 2 :], part[: len(part) // 2]]
    audits = 0
    for size in range(1, len(needed)):
        audits += comb(len(published), size)
        if audits > MOST_SETS:
            break
        for cells in combinations(published.tolist(), size):
            if fails(cells):
                return np.array(cells, np.int64)
    return np.sort(np.array(needed, np.int64))
