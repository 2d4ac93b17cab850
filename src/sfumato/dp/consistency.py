"""Consistency of noisy tables: the non-negative table over all their columns that they fit best, by least squares.

Barak, Chaudhuri, Dwork, Kale, McSherry and Talwar, "Privacy, accuracy, and consistency too", 2007, for marginals; Hay,
Rastogi, Miklau and Suciu, "Boosting the accuracy of differentially private histograms through consistency", 2010, for
hierarchies. The fit is found by accelerated projected gradients (Beck and Teboulle, FISTA, 2009). All of it looks at
noisy numbers alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.core.compiled import kernel
from sfumato.errors import PolicyError

MOST_CELLS = 2**21  # of the table over all columns that hang together
STEPS = 1000
WORK = 2**31  # cells that are gone through, over all steps
LOOKED = 10  # steps after which the gain is looked at
GAIN = 1e-4  # of the weighted squares: that of one noisy number is about 1
NEAR = 1e-3


@dataclass(frozen=True, eq=False)
class NoisyTable:
    """Noisy counts over the groups of some columns: `groups` has the group of each value of a column, and `variance` is
    that of the noise of one count."""

    columns: tuple[str, ...]
    groups: tuple[np.ndarray, ...]
    values: np.ndarray
    variance: float

    @property
    def shape(self) -> tuple[int, ...]:
        """How many groups each column has."""
        return tuple(int(of.max()) + 1 for of in self.groups)


def consistent(tables: Sequence[NoisyTable], whole: bool = True) -> list[np.ndarray]:
    """Tables without a negative count that are all sums of one table: what two of them share, they agree on.

    Columns that no table holds together are fitted apart, all to the same total, which is the mean of the totals of the
    tables, the less noisy ones weighing more.

    >>> one = NoisyTable(("sex",), (np.arange(2),), np.array([9.0, -3.0]), 1.0)
    >>> two = NoisyTable(("sex", "ill"), (np.arange(2), np.arange(2)), np.array([[6.0, 3.0], [1.0, -1.0]]), 1.0)
    >>> [found.tolist() for found in consistent([one, two])]
    [[7, 0], [[5, 2], [0, 0]]]
    """
    precision = np.array([1 / (table.variance * math.prod(table.shape)) for table in tables])
    total = max(float(np.dot(precision, [float(table.values.sum()) for table in tables]) / precision.sum()), 0.0)
    total = float(round(total)) if whole else total
    found: list[np.ndarray] = [np.zeros(0)] * len(tables)
    for columns in _components(tables):
        own = [i for i, table in enumerate(tables) if table.columns[0] in columns]
        fits = _Fit(columns, [tables[i] for i in own])
        joint = fits.rounded(fits.solve(total), total) if whole else fits.solve(total)
        for i, sums in zip(own, fits.sums(joint), strict=True):
            found[i] = sums.astype(np.int64) if whole else sums
    return found


def refuse_large(tables: Iterable[Sequence[str]], sizes: Mapping[str, int]) -> None:
    """Refuse tables whose columns together have more cells than can be fitted; what is public alone decides."""
    for columns in _joined(tables):
        if (cells := math.prod(sizes[name] for name in columns)) > MOST_CELLS:
            what = f"the margins that share columns have too many cells together: {', '.join(columns)}"
            hint = "give fewer values or bins, or margins that share fewer columns"
            raise PolicyError(what, got=f"{cells:,}", allowed=f"{MOST_CELLS:,}", hint=hint)


def _components(tables: Sequence[NoisyTable]) -> list[tuple[str, ...]]:
    return _joined(table.columns for table in tables)


def _joined(sets: Iterable[Sequence[str]]) -> list[tuple[str, ...]]:
    """Columns that hang together through tables, in the order in which they come."""
    found: list[tuple[str, ...]] = []
    for names in sets:
        mine = [one for one in found if {*one} & {*names}]
        found = [one for one in found if one not in mine]
        found.append(tuple(dict.fromkeys([name for one in (*mine, names) for name in one])))
    return found


class _Fit:
    """Tables over some columns, and the table over all of these that they fit."""

    def __init__(self, columns: tuple[str, ...], tables: Sequence[NoisyTable]) -> None:
        sizes = {name: len(of) for table in tables for name, of in zip(table.columns, table.groups, strict=True)}
        self.columns, self.tables = columns, tables
        self.shape = tuple(sizes[name] for name in columns)
        self.parts = [_Sums(columns, self.shape, table) for table in tables]

    def sums(self, joint: np.ndarray) -> list[np.ndarray]:
        return [part.down(joint) for part in self.parts]

    def solve(self, total: float) -> np.ndarray:
        """The table of a total, nowhere negative, with the least weighted squares."""
        weights = [1 / table.variance for table in self.tables]
        cells = math.prod(self.shape)
        x = np.full(self.shape, total / cells)
        if not total or cells == 1:
            return x
        bound = sum(weight * part.most for weight, part in zip(weights, self.parts, strict=True))
        y, momentum, before = x, 1.0, math.inf
        for step in range(max(LOOKED, min(STEPS, WORK // (cells * len(self.parts))))):
            apart = [part.down(y) - table.values for part, table in zip(self.parts, self.tables, strict=True)]
            slope = np.zeros(self.shape)
            for weight, part, rest in zip(weights, self.parts, apart, strict=True):
                slope += part.up(weight * rest)
            new = _on_simplex(y - slope / bound, total)
            if float(np.vdot(y - new, new - x)) > 0:  # it went too far: O'Donoghue and Candes 2015
                momentum = 1.0
            after = (1 + math.sqrt(1 + 4 * momentum * momentum)) / 2
            y, x, momentum = new + (momentum - 1) / after * (new - x), new, after
            if step % LOOKED == LOOKED - 1:
                squares = self._squares(x, weights)
                if before - squares <= GAIN:
                    break
                before = squares
        return x

    def _squares(self, x: np.ndarray, weights: Sequence[float]) -> float:
        rests = [part.down(x) - table.values for part, table in zip(self.parts, self.tables, strict=True)]
        return sum(weight * float(np.vdot(rest, rest)) for weight, rest in zip(weights, rests, strict=True))

    def rounded(self, joint: np.ndarray, total: float) -> np.ndarray:
        """Whole numbers of the same total, each next to its own, so that sums of tables move little."""
        cells = math.prod(self.shape)
        joint = joint * (total / joint.sum()) if total else joint
        places = np.empty((len(self.parts), cells), np.int32)
        for i, part in enumerate(self.parts):
            places[i] = part.up(
                np.arange(math.prod(part.table.shape), dtype=np.int32).reshape(part.table.shape)
            ).ravel()
        widest = max(math.prod(table.shape) for table in self.tables)
        found = _round(joint.ravel(), places, np.zeros((len(self.parts), widest)), NEAR)
        found[found.argmax()] += round(total) - int(found.sum())  # of numbers so large that floats miss a one
        return found.reshape(self.shape)


class _Sums:
    """From a table over all columns to sums of it, and back."""

    def __init__(self, columns: tuple[str, ...], shape: tuple[int, ...], table: NoisyTable) -> None:
        self.table = table
        self.left = tuple(i for i, name in enumerate(columns) if name not in table.columns)
        self.kept = sorted(columns.index(name) for name in table.columns)
        self.axes = [table.columns.index(columns[i]) for i in self.kept]  # of the table, in the order of all columns
        self.back = np.argsort(self.axes)
        self.wide = tuple(size if i in self.kept else 1 for i, size in enumerate(shape))
        self.shape = shape
        self.sorted = []
        most = math.prod(shape[i] for i in self.left)
        for axis, at in enumerate(self.axes):
            of = table.groups[at]
            if not np.array_equal(of, np.arange(len(of))):
                order = np.argsort(of, kind="stable")
                starts = np.flatnonzero(np.diff(of[order], prepend=-1))
                self.sorted.append((axis, of, order, starts))
                most *= int(np.bincount(of).max())
        self.most = most  # cells of one sum: no eigenvalue of up(down()) is greater

    def down(self, joint: np.ndarray) -> np.ndarray:
        found = joint.sum(self.left) if self.left else joint
        for axis, _, order, starts in self.sorted:
            found = np.add.reduceat(found.take(order, axis), starts, axis)
        return found.transpose(self.back)

    def up(self, sums: np.ndarray) -> np.ndarray:
        found = sums.transpose(self.axes)
        for axis, of, _, _ in self.sorted:
            found = found.take(of, axis)
        return np.broadcast_to(found.reshape(self.wide), self.shape)


def _on_simplex(x: np.ndarray, total: float) -> np.ndarray:
    """The nearest numbers that are not negative and have a total (Michelot 1986)."""
    above = x.ravel()
    least = (above.sum() - total) / above.size
    while True:
        rest = above[above > least]
        if rest.size in (0, above.size):
            return np.maximum(x - least, 0.0)
        above, least = rest, (rest.sum() - total) / rest.size


@kernel
def _round(values, places, rest, near):  # type: ignore[no-untyped-def]
    """Round each number down or up, whichever brings the sums of tables nearer; all together stay within one."""
    found = np.empty(values.size, np.int64)
    over = 0.0
    for i in range(values.size):
        low = math.floor(values[i])
        part = values[i] - low
        moved = 0.0
        for t in range(places.shape[0]):
            moved += 2.0 * (rest[t, places[t, i]] - part) + 1.0
        up = moved < 0.0
        if over - part < near - 1.0:
            up = True
        elif over + 1.0 - part > 1.0 - near:
            up = False
        shift = (1.0 if up else 0.0) - part
        over += shift
        for t in range(places.shape[0]):
            rest[t, places[t, i]] += shift
        found[i] = low + (1 if up else 0)
    return found
