"""Lattice: the level vectors between a least and a greatest one."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.core.microdata import Attribute
from sfumato.errors import PolicyError

Node = tuple[int, ...]


@dataclass(frozen=True)
class Lattice:
    """Level vectors `least` <= v <= `greatest`, componentwise; a vector that is greater generalises further."""

    least: Node
    greatest: Node

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of levels per attribute."""
        return tuple(high - low + 1 for low, high in zip(self.least, self.greatest, strict=True))

    @property
    def size(self) -> int:
        """Number of level vectors; may be far beyond what a list can hold."""
        return math.prod(self.shape)

    def nodes(self) -> np.ndarray:
        """All level vectors in lexicographic order, int16 [nodes, attributes]."""
        grid = np.indices(self.shape, dtype=np.int16).reshape(len(self.shape), -1).T
        return np.ascontiguousarray(grid + np.array(self.least, dtype=np.int16))

    @property
    def strides(self) -> np.ndarray:
        """Steps in lexicographic order for one level of each attribute."""
        return np.array([math.prod(self.shape[i + 1 :]) for i in range(len(self.shape))], dtype=np.int64)


def lattice(attributes: Sequence[Attribute], levels: Mapping[str, tuple[int, int]]) -> Lattice:
    """The lattice of the attributes' hierarchies, within the levels asked for."""
    least, greatest = [], []
    for attribute in attributes:
        height = attribute.ladder.height
        useful = height if len(attribute.categories) > 1 else 0  # generalising a constant column gains nothing
        low, high = levels.get(attribute.name, (0, useful))
        if not 0 <= low <= high <= height:
            raise PolicyError(
                f'levels of "{attribute.name}" must be a least and a greatest level',
                got=(low, high),
                allowed=f"0 to {height}",
            )
        least.append(low)
        greatest.append(high)
    return Lattice(tuple(least), tuple(greatest))
