"""The equations that an attacker has: each total is the sum of its parts, over hidden cells only.

Published cells stand on the right-hand side. Bounds are carried from equation to equation, which settles most cells
before any program is solved.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sfumato.criteria.cells.published import RELATIVE, PublishedCells
from sfumato.errors import MissingExtra, PolicyError

ROUNDS = 60  # that bounds are carried on for


@dataclass(frozen=True, eq=False)
class Equations:
    """Equations with coefficients 1 and -1: an entry per hidden cell of an equation, in order of equations.

    `cells` are the positions, among all hidden cells, of those that occur; `member` counts within them.
    """

    cells: np.ndarray
    row: np.ndarray
    member: np.ndarray
    sign: np.ndarray
    right: np.ndarray

    @cached_property
    def lengths(self) -> np.ndarray:
        """How many cells each equation has."""
        return np.bincount(self.row, minlength=len(self.right))

    @cached_property
    def starts(self) -> np.ndarray:
        """Where the entries of each equation start, and where the last one ends."""
        return np.concatenate(([0], np.cumsum(self.lengths)))

    @cached_property
    def matrix(self) -> Any:
        """The coefficients as a sparse matrix, a row per equation."""
        from scipy.sparse import csr_array  # type: ignore[import-untyped]

        shape = len(self.right), len(self.cells)
        return csr_array((self.sign.astype(float), self.member, self.starts), shape=shape)

    def residual(self, point: np.ndarray) -> float:
        """How far a point is off the equations."""
        if not len(self.right):
            return 0.0
        found = np.bincount(self.row, self.sign * point[self.member], len(self.right)) - self.right
        return float(np.abs(found).max())

    def without(self, fixed: np.ndarray, point: np.ndarray) -> Equations:
        """The equations over the cells that are not fixed, those fixed put at their values; no empty ones."""
        gone = fixed[self.member]
        moved = np.bincount(self.row[gone], (self.sign * point[self.member])[gone], len(self.right))
        number = np.cumsum(~fixed) - 1
        return _numbered(
            self.cells[~fixed], self.row[~gone], number[self.member[~gone]], self.sign[~gone], self.right - moved
        )

    def split(self) -> tuple[Equations, ...]:
        """The connected components; each cell is in one, also where no equation has it."""
        from scipy.sparse.csgraph import connected_components  # type: ignore[import-untyped]

        adjacency = abs(self.matrix)
        amount, label = connected_components(adjacency.T @ adjacency, directed=False)
        if amount == 1:
            return (self,)
        cells_in = np.argsort(label, kind="stable")
        cell_ends = np.searchsorted(label[cells_in], np.arange(amount + 1))
        number = np.empty(len(label), np.int64)
        number[cells_in] = np.arange(len(label)) - cell_ends[label[cells_in]]
        of_entry = label[self.member]
        entries = np.argsort(of_entry, kind="stable")
        ends = np.searchsorted(of_entry[entries], np.arange(amount + 1))
        found = []
        for i in range(amount):
            own = entries[ends[i] : ends[i + 1]]
            cells = self.cells[cells_in[cell_ends[i] : cell_ends[i + 1]]]
            rows, row = np.unique(self.row[own], return_inverse=True)
            found.append(Equations(cells, row, number[self.member[own]], self.sign[own], self.right[rows]))
        return tuple(found)

    @cached_property
    def is_network(self) -> bool:
        """Whether the coefficients are those of a network, up to the signs of equations: then all vertices are whole.

        By Heller and Tompkins: no cell is in more than two equations, and these can be signed so that each cell has 1
        in one of its two and -1 in the other.
        """
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        often = np.bincount(self.member, minlength=len(self.cells))
        if (often > 2).any():
            return False
        order = np.argsort(self.member, kind="stable")
        both = order[(often == 2)[self.member[order]]].reshape(-1, 2)
        one, other, rows = self.row[both[:, 0]], self.row[both[:, 1]], len(self.right)
        turned = rows * (self.sign[both[:, 0]] == self.sign[both[:, 1]])
        start = np.concatenate((one, one + rows))
        end = np.concatenate((other + turned, other + rows - turned))
        graph = coo_array((np.ones(len(start)), (start, end)), shape=(2 * rows, 2 * rows))
        _, label = connected_components(graph, directed=False)
        return bool((label[:rows] != label[rows:]).all())

    def tightened(
        self, low: np.ndarray, high: np.ndarray, whole: bool, near: float, rounds: int = ROUNDS
    ) -> tuple[np.ndarray, np.ndarray]:
        """Bounds that follow from bounds: in each equation, what the others leave to a cell.

        Changes of magnitudes up to `near` are not carried on. A PolicyError where a cell is left with nothing.
        """
        low, high = low.copy(), high.copy()
        plus, row, size = self.sign > 0, self.row, len(self.right)
        for _ in range(rounds):
            least = np.where(plus, low[self.member], -high[self.member])
            most = np.where(plus, high[self.member], -low[self.member])
            upper = self.right[row] - _others(row, least, size, -np.inf)
            lower = self.right[row] - _others(row, most, size, np.inf)
            raised, lowered = np.full(len(low), -np.inf), np.full(len(low), np.inf)
            np.maximum.at(raised, self.member, np.where(plus, lower, -upper))
            np.minimum.at(lowered, self.member, np.where(plus, upper, -lower))
            better, worse = raised > low + near, lowered < high - near
            if not better.any() and not worse.any():
                break
            low, high = np.where(better, raised, low), np.where(worse, lowered, high)
            if (low > high + 10 * near).any():
                raise contradiction()
            high = np.maximum(low, high)
        if whole:
            return np.ceil(low - near), np.floor(high + near)
        return low, high


def contradiction() -> PolicyError:
    """What is said of a published table that no values fit."""
    hint = "a total does not agree with its parts, or a hidden cell is not within the bounds that attackers know"
    return PolicyError("no values of the hidden cells fit the published ones", hint=hint)


def hidden_equations(published: PublishedCells, absolute: float | None = None) -> Equations:
    """All equations with a hidden cell: of each dimension, each node with children, each combination of other nodes.

    Each set of cells is there once. A PolicyError where published totals do not add up.
    """
    try:
        import scipy  # type: ignore[import-untyped]  # noqa: F401
    except ImportError:
        raise MissingExtra("scipy", "ml") from None
    faults = published.additivity_faults(absolute)
    if faults:
        named = [f'"{one.dimension}", row {one.cell if one.row is None else one.row}' for one in faults[:5]]
        raise PolicyError(f"{len(faults):,} published totals are not the sum of their parts, as these:", named)
    hidden, values = published.hidden, np.nan_to_num(published.values, nan=0.0)
    number = np.full(hidden.size, -1, np.int64)
    number[hidden.reshape(-1)] = np.arange(int(hidden.sum()))
    rows, members, signs, rights, off = [], [], [], [], 0
    for axis, one, index in (
        (axis, one, grid.cell) for grid in published.grids for axis, one in enumerate(grid.dimensions)
    ):
        if not len(one.totals):
            continue
        own = np.moveaxis(index, axis, 0).reshape(len(one.labels), -1)
        cells, given = number[own], values.reshape(-1)[own]
        place = np.zeros(len(one.labels), np.int64)
        place[one.totals] = np.arange(len(one.totals))
        wide = cells.shape[1]
        right = -given[one.totals]
        np.add.at(right, place[one.parents[1:]], given[1:])
        for nodes, equation, plus in (
            (one.totals, place[one.totals], 1),
            (np.arange(1, len(cells)), place[one.parents[1:]], -1),
        ):
            ids = equation[:, None] * wide + np.arange(wide)
            known = cells[nodes] >= 0
            rows.append(off + ids[known])
            members.append(cells[nodes][known])
            signs.append(np.full(int(known.sum()), plus, np.int8))
        rights.append(right.reshape(-1))
        off += right.size
    if not rows:
        empty = np.zeros(0, np.int64)
        return Equations(np.arange(int(hidden.sum())), empty, empty, empty.astype(np.int8), np.zeros(0))
    row, member, sign = np.concatenate(rows), np.concatenate(members), np.concatenate(signs)
    order = np.lexsort((member, row))
    twice = (np.diff(row[order]) == 0) & (np.diff(member[order]) == 0)  # a total that is its only part
    alone = np.ones(len(order), np.bool_)
    alone[:-1] &= ~twice
    alone[1:] &= ~twice
    order = order[alone]
    all_cells = np.arange(int(hidden.sum()))
    found = _numbered(all_cells, row[order], member[order], sign[order], np.concatenate(rights))
    return _distinct(found, absolute, published)


def _others(row: np.ndarray, bound: np.ndarray, size: int, infinite: float) -> np.ndarray:
    """Of each entry, the sum of the bounds of the other entries of its equation."""
    free = np.isinf(bound)
    finite = np.where(free, 0.0, bound)
    open_ends = np.bincount(row[free], minlength=size)
    found = np.bincount(row, finite, size)[row] - finite
    return np.where(open_ends[row] - free > 0, infinite, found)


def _numbered(cells: np.ndarray, row: np.ndarray, member: np.ndarray, sign: np.ndarray, right: np.ndarray) -> Equations:
    """Equations whose rows are numbered in a row; those without entries are dropped."""
    used, again = np.unique(row, return_inverse=True)
    return Equations(cells, again.astype(np.int64), member, sign, right[used])


def _distinct(found: Equations, absolute: float | None, published: PublishedCells) -> Equations:
    """The same with one of the equations that have the same cells."""
    first = found.sign[found.starts[:-1]].astype(np.int64)  # an equation and its negative are the same
    sign = (found.sign * first[found.row]).astype(np.int8)
    right = found.right * first
    mark = np.random.default_rng(1).integers(1, 2**62, len(found.cells), dtype=np.int64)
    key = np.zeros(len(right), np.int64)
    with np.errstate(over="ignore"):
        np.add.at(key, found.row, mark[found.member] * sign)
    order = np.lexsort((key, found.lengths))
    same = np.flatnonzero((np.diff(key[order]) == 0) & (np.diff(found.lengths[order]) == 0))
    one, other = order[same], order[same + 1]
    wide = found.lengths[one]
    inside = np.arange(int(wide.sum())) - np.repeat(np.cumsum(wide) - wide, wide)
    a, b = np.repeat(found.starts[one], wide) + inside, np.repeat(found.starts[other], wide) + inside
    differ = np.zeros(len(one), np.int64)
    np.add.at(differ, np.repeat(np.arange(len(one)), wide), (found.member[a] != found.member[b]) | (sign[a] != sign[b]))
    twice = differ == 0
    near = (
        0.0 if published.whole else absolute or 10 * RELATIVE * float(np.nanmax(np.abs(published.values), initial=0.0))
    )
    if (np.abs(right[one] - right[other])[twice] > near).any():
        raise contradiction()
    stay = np.ones(len(right), bool)
    stay[other[twice]] = False
    own = stay[found.row]
    return _numbered(found.cells, found.row[own], found.member[own], sign[own], right)
