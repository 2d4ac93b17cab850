"""A criterion about a column that is quasi-identifying too: it is blurred, and what is counted are its labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfumato.core.protocols import ClassesView, Criterion, Flags, Side
from sfumato.criteria.class_size_bound import StandIn


@dataclass(frozen=True)
class OfLabels(StandIn):
    """Another criterion, held to by the labels of its attribute; the set that it is for has not that attribute in it.

    Generalising other columns merges classes, and generalising the attribute makes its labels fewer: it is closed under
    nothing.

    >>> from sfumato.criteria.distinct_l_diversity import DistinctLDiversity
    >>> made = DistinctLDiversity("disease", 3, quasi=["age"]).on_labels
    >>> made.monotonicity, made.parameters()
    ('none', {'attribute': 'disease', 'l': 3, 'quasi': ['age']})
    """

    @property
    def side(self) -> Side:
        """That of the other."""
        found: Side = self.of.side
        return found

    @property
    def needs(self) -> tuple[str, ...]:
        """Those of the other."""
        return tuple(self.of.needs)

    @property
    def least_size(self) -> int:
        """That of the other."""
        return int(self.of.least_size)

    @property
    def wildcard(self) -> bool:
        """As the other."""
        return bool(self.of.wildcard)

    @property
    def on_labels(self) -> Criterion:
        """Itself."""
        return self

    def parameters(self) -> dict[str, Any]:
        """Those of the other."""
        own = {} if self.quasi is None else {"quasi": list(self.quasi)}
        return {**self.of.parameters(), **own}

    def holds(self, classes: ClassesView) -> Flags:
        """Which classes satisfy it, by histograms of labels."""
        found: Flags = self.of.holds(classes)
        return found
