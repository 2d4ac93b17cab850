"""Distinct l-diversity: A. Machanavajjhala et al., l-diversity: privacy beyond k-anonymity, ACM TKDD 1(1), 2007."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import Column, Whole, Written
from sfumato.core.protocols import ClassesView, Criterion, Flags, Monotonicity, Side
from sfumato.criteria.audit import Finding, Groups
from sfumato.criteria.by_value import ByValue, bounds_of, check_per, stricter, values_in
from sfumato.criteria.model import CONCENTRATED, Model
from sfumato.criteria.of_labels import OfLabels
from sfumato.criteria.search_distance import run_maxima


@dataclass(frozen=True, repr=False)
class DistinctLDiversity(Model):
    """Every class has at least l different values of the sensitive attribute; missing is a value.

    With `per`, a class that holds a value of it has at least as many different values as that asks for; of several the
    most. Adding such a record to a class may break it, while the union of satisfying classes satisfies.

    Parameters: `attribute`, the sensitive column; `l`, how many different values a class has at least; `per`,
    printed values (missing as "") to an l of their own, at least as large.

    >>> DistinctLDiversity("disease", 3).sentence()
    'In every group of records that look alike, "disease" takes at least 3 different values.'
    """

    attribute: Annotated[str, Column("sensitive column")]
    l: Annotated[int, Whole(1)]
    per: Annotated[ByValue | None, Written("mapping")] = field(default=None, repr=False)

    bounded_by: ClassVar[str] = "l"
    side: ClassVar[Side] = "at least"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_per(self, whole=True)

    @property
    def monotonicity(self) -> Monotonicity:
        """A record whose value asks for more may break a class; a union has the values of all that ask."""
        return "superset" if self.per is None else "merge"

    @property
    def by_people(self) -> str | None:
        """Concentrated, as its values are; with `per` not defined."""
        return CONCENTRATED if self.per is None else None

    @property
    def wildcard(self) -> bool:
        """Overlapping classes have no strictest bound."""
        return self.per is None

    @property
    def named_values(self) -> tuple[str, ...]:
        """The values with an l of their own."""
        return values_in(self.per)

    @property
    def on_labels(self) -> Criterion | None:
        """Labels that differ have values that differ; a value with an l of its own may be behind any label."""
        return OfLabels(self, quasi=self.quasi) if self.per is None else None

    @property
    def enough_values(self) -> int | None:
        """l records, of l values."""
        return self.l if self.per is None else None

    @property
    def least_size(self) -> int:
        """l records, for l values."""
        return self.l

    def sentence(self) -> str:
        """The promise in words."""
        values = "value" if self.l == 1 else "different values"
        promise = f'In every group of records that look alike, "{self.attribute}" takes at least {self.l} {values}.'
        return promise if self.per is None else promise + stricter(self.per)

    def holds(self, classes: ClassesView) -> Flags:
        """Which classes satisfy it."""
        histogram = classes.histogram(self.attribute)
        found: Flags = np.diff(histogram.start) >= self.l
        if self.per is not None:
            asked = bounds_of(self, histogram.text, self.l)[histogram.value]
            found &= np.diff(histogram.start) >= run_maxima(asked, histogram.start)
        return found

    def audit(self, groups: Groups) -> Finding:
        """What the released rows say: the fewest different values."""
        values = pl.col("values")
        variety = groups.variety(self.attribute, enough=self.l)
        if self.per is None:
            variety = variety.with_columns(asked=pl.lit(self.l))
        else:
            variety = variety.join(groups.strictest(self.attribute, self.l, self.per, greatest=True), on="class")
        fewest, failing = variety.select(values.min(), (values < pl.col("asked")).sum().alias("failing")).row(0)
        return Finding(failing == 0, int(fewest), self.l, int(failing), groups.absent(self.attribute, self.per))
