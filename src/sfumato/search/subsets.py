"""Subsets: what each set of columns takes to satisfy the policy, as Incognito finds it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.lattice import Lattice, Node


@dataclass(frozen=True, eq=False)
class Subset:
    """Some columns and the lattice of their levels; good[levels - least] says which nodes satisfy the policy."""

    columns: tuple[str, ...]
    lattice: Lattice
    good: np.ndarray  # bool, of the lattice's shape
    checks: int

    @property
    def satisfying(self) -> np.ndarray:
        """The level vectors that satisfy, in lexicographic order, int64 [nodes, columns]."""
        return np.argwhere(self.good) + np.array(self.lattice.least, dtype=np.int64)

    @property
    def minimal(self) -> tuple[Node, ...]:
        """Those of which no specialisation satisfies, in lexicographic order."""
        vectors = np.argwhere(minimal_of(self.good)) + np.array(self.lattice.least, dtype=np.int64)
        return tuple(tuple(vector) for vector in vectors.tolist())

    @property
    def safe(self) -> bool:
        """Whether the columns satisfy at their least levels, as a rule without any generalisation."""
        return bool(self.good.flat[0])


@dataclass(frozen=True, eq=False)
class Incognita:
    """What every set of columns takes: small sets first, then in the order of the columns."""

    columns: tuple[str, ...]
    subsets: Mapping[tuple[str, ...], Subset]
    checks: int

    @property
    def whole(self) -> Subset:
        """The set of all columns."""
        return self.subsets[self.columns]

    @property
    def dangerous(self) -> tuple[Subset, ...]:
        """The smallest dangerous combinations: not safe at the least levels, though all that they contain are."""
        found: list[Subset] = []
        for subset in self.subsets.values():
            inside = any(set(smaller.columns) < set(subset.columns) for smaller in found)
            if not subset.safe and not inside:
                found.append(subset)
        return tuple(found)


def minimal_of(good: np.ndarray) -> np.ndarray:
    """Which nodes of an array over a lattice are true while no node with a lower level in one place is.

    Where truth passes on to all generalisations, those are the minimal ones.

    >>> minimal_of(np.array([[False, False, True], [False, True, True]])).astype(int).tolist()
    [[0, 0, 1], [0, 1, 0]]
    """
    least: np.ndarray = good.copy()
    for axis in range(good.ndim):
        after = [slice(None)] * good.ndim
        before = [slice(None)] * good.ndim
        after[axis], before[axis] = slice(1, None), slice(None, -1)
        least[tuple(after)] &= ~good[tuple(before)]
    return least
