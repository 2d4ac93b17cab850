"""(X,Y)-anonymity: K. Wang and B. Fung, Anonymizing sequential releases, KDD 2006."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import Column, Whole
from sfumato.core.protocols import ClassesView, Criterion, Flags, Monotonicity, Side
from sfumato.core.wording import count
from sfumato.criteria.audit import Finding, Groups
from sfumato.criteria.model import CONCENTRATED, Model
from sfumato.criteria.of_labels import OfLabels


@dataclass(frozen=True)
class XYAnonymity(Model):
    """Every combination of values of X is linked to at least k different values of Y.

    X is the set of quasi-identifiers that it is for, Y a column beside it. Where Y is the column that says whose each
    row is, this is k-anonymity of people and not of rows; where Y is a key of the rows, it is k-anonymity itself; where
    Y is a sensitive column, it is distinct l-diversity. Missing is a value.

    Parameters: `attribute`, the column Y; `k`, how many different values of it a combination of X has at least.

    >>> XYAnonymity("patient", 5).sentence()
    'Every combination of quasi-identifiers is linked to at least 5 different values of "patient".'
    """

    attribute: Annotated[str, Column("sensitive column")]
    k: Annotated[int, Whole(1)]

    monotonicity: ClassVar[Monotonicity] = "superset"
    bounded_by: ClassVar[str] = "k"
    side: ClassVar[Side] = "at least"
    wildcard: ClassVar[bool] = True
    by_people: ClassVar[str] = CONCENTRATED

    @property
    def on_labels(self) -> Criterion:
        """Labels that differ have values that differ."""
        return OfLabels(self, quasi=self.quasi)

    @property
    def least_size(self) -> int:
        """k records, for k values."""
        return self.k

    def sentence(self) -> str:
        """The promise in words."""
        linked = count(self.k, "different value") if self.k > 1 else "1 value"
        return f'Every combination of quasi-identifiers is linked to at least {linked} of "{self.attribute}".'

    def holds(self, classes: ClassesView) -> Flags:
        """Which classes satisfy it."""
        found: Flags = np.diff(classes.histogram(self.attribute).start) >= self.k
        return found

    def audit(self, groups: Groups) -> Finding:
        """What the released rows say: the fewest different values that a combination is linked to."""
        values = pl.col("values")
        fewest, failing = (
            groups.variety(self.attribute, enough=self.k)
            .select(values.min(), (values < self.k).sum().alias("failing"))
            .row(0)
        )
        return Finding(failing == 0, int(fewest), self.k, int(failing))
