"""Promises about the table as a whole, and what stands for one where a search looks at one class at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.core.protocols import ClassesView, Flags, Monotonicity
from sfumato.criteria.audit import Finding, Groups
from sfumato.criteria.model import Model


@dataclass(frozen=True)
class StandIn(Model):
    """What a search holds classes to in the place of another criterion, whose promise it is."""

    of: Any

    @property
    def model(self) -> str:
        """That of the other."""
        return str(self.of.model)

    @property
    def bounded_by(self) -> str:
        """That of the other."""
        return str(self.of.bounded_by)

    @property
    def bound(self) -> float | int:
        """That of the other."""
        found: float | int = self.of.bound
        return found

    def sentence(self) -> str:
        """The promise of the other, in words."""
        return str(self.of.sentence())

    def audit(self, groups: Groups) -> Finding:
        """What the released rows say about the other."""
        found: Finding = self.of.audit(groups)
        return found


@dataclass(frozen=True)
class ClassSizeBound(StandIn):
    """Every class has so many records that the table satisfies another criterion, which no class alone can break.

    It asks for more than that criterion does: one class with fewer records may be made up for by others.

    >>> from sfumato.criteria.average_risk import AverageRisk
    >>> ClassSizeBound(AverageRisk(0.05)).least_size
    20
    """

    monotonicity: ClassVar[Monotonicity] = "superset"

    @property
    def least_size(self) -> int:
        """With so many records in every class, the other holds."""
        return max(int(self.of.enough_size), int(self.of.least_size))

    def parameters(self) -> dict[str, Any]:
        """None of its own."""
        return {}

    def holds(self, classes: ClassesView) -> Flags:
        """Which classes have enough records."""
        found: Flags = classes.size >= self.least_size
        return found


class TableModel(Model):
    """A privacy model about the table as a whole, with the defaults of `TableCriterion`."""

    about_table: ClassVar[bool] = True

    @property
    def enough(self) -> ClassSizeBound:
        """What stands for it where a search looks at one class at a time."""
        return ClassSizeBound(self, quasi=self.quasi)

    def holds(self, classes: ClassesView) -> Flags:
        """No class alone breaks it."""
        found: Flags = classes.size > 0
        return found
