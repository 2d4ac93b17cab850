"""A criterion about released rows, as a search over the people of a population holds classes to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.core.protocols import ClassesView, Flags, HistogramView, Monotonicity, Side
from sfumato.criteria.class_size_bound import StandIn
from sfumato.criteria.delta_presence import members
from sfumato.criteria.known_population import MEMBERSHIP


@dataclass(frozen=True, eq=False)
class _Released:
    """Classes of a population by those of their people who are in the table."""

    size: np.ndarray
    within: ClassesView

    def histogram(self, attribute: str) -> HistogramView:
        """That of the population's classes, which counts the rows of the table alone."""
        return self.within.histogram(attribute)


@dataclass(frozen=True)
class WithinPopulation(StandIn):
    """Another criterion, held to by the people of a class who are in the table; a class without any satisfies it.

    So it is at most closed under merging: a class with one row may contain one without.
    """

    @property
    def side(self) -> Side:
        """That of the other."""
        found: Side = self.of.side
        return found

    @property
    def monotonicity(self) -> Monotonicity:
        """The union of classes that satisfy or have no row satisfies, where that of satisfying ones does."""
        return "none" if self.of.monotonicity == "none" else "merge"

    @property
    def needs(self) -> tuple[str, ...]:
        """Which people are in the table, and what the other needs of these."""
        return (MEMBERSHIP, *self.of.needs)

    def parameters(self) -> dict[str, Any]:
        """Those of the other."""
        found: dict[str, Any] = self.of.parameters()
        return found

    def holds(self, classes: ClassesView) -> Flags:
        """Which classes satisfy it."""
        size = members(classes)
        found: Flags = (self.of.holds(_Released(size, classes)) | (size == 0)) & (classes.size > 0)
        return found
