"""Distinct l-diversity: A. Machanavajjhala et al., l-diversity: privacy beyond k-anonymity, ACM TKDD 1(1), 2007."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from sfumato.core.protocols import ClassesView, Flags, Monotonicity, Side
from sfumato.criteria.audit import Finding, Groups
from sfumato.criteria.model import Model, check_column, check_integer


@dataclass(frozen=True)
class DistinctLDiversity(Model):
    """Every class has at least l different values of the sensitive attribute; missing is a value.

    Parameters: `attribute`, a sensitive column; `l`, a whole number of at least 1.

    >>> DistinctLDiversity("disease", 3).sentence()
    'In every group of records that look alike, "disease" takes at least 3 different values.'
    """

    attribute: str
    l: int

    monotonicity: ClassVar[Monotonicity] = "superset"
    bounded_by: ClassVar[str] = "l"
    side: ClassVar[Side] = "at least"
    wildcard: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_column(self)
        check_integer(self, "l", 1)

    @property
    def least_size(self) -> int:
        """l records, for l values."""
        return self.l

    def sentence(self) -> str:
        """The promise in words."""
        values = "value" if self.l == 1 else "different values"
        return f'In every group of records that look alike, "{self.attribute}" takes at least {self.l} {values}.'

    def holds(self, classes: ClassesView) -> Flags:
        """Which classes satisfy it."""
        found: Flags = np.diff(classes.histogram(self.attribute).start) >= self.l
        return found

    def audit(self, groups: Groups) -> Finding:
        """What the released rows say: the fewest different values."""
        values = pl.col("values")
        variety = groups.variety(self.attribute, enough=self.l)
        fewest, failing = variety.select(values.min(), (values < self.l).sum().alias("failing")).row(0)
        return Finding(failing == 0, int(fewest), self.l, int(failing))
