"""Entropy l-diversity: A. Machanavajjhala et al., l-diversity: privacy beyond k-anonymity, ACM TKDD 1(1), 2007."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import LARGEST, Column, Real, Written
from sfumato.core.protocols import ClassesView, Criterion, Flags, Monotonicity, Side
from sfumato.criteria.audit import SLACK, Finding, Groups, rounded
from sfumato.criteria.by_value import ByValue, bounds_of, check_per, stricter, values_in
from sfumato.criteria.distinct_l_diversity import DistinctLDiversity
from sfumato.criteria.model import CONCENTRATED, TOLERANCE, Model
from sfumato.criteria.of_labels import OfLabels
from sfumato.criteria.search_distance import run_maxima, run_sums


@dataclass(frozen=True, repr=False)
class EntropyLDiversity(Model):
    """The entropy of the sensitive attribute in every class is at least ln l.

    -sum p_i ln p_i >= ln l: the values are as varied as l equally frequent ones. A class of 2/2/2 is 3-diverse.

    With `per`, a class that holds a value of it is at least as varied as that asks for; of several the most. Then the
    union of satisfying classes need not satisfy: the less varied one has to be as varied as the other's value asks.

    Parameters: `attribute`, the sensitive column; `l`, as how many equally frequent values it is varied at least,
    whole or not; `per`, printed values (missing as "") to an l of their own, at least as large.

    >>> EntropyLDiversity("disease", 2.5).sentence()
    'In every group of records that look alike, "disease" is at least as varied as 2.5 equally frequent values.'
    """

    attribute: Annotated[str, Column("sensitive column")]
    l: Annotated[float, Real(1, LARGEST)]
    per: Annotated[ByValue | None, Written("mapping")] = field(default=None, repr=False)

    bounded_by: ClassVar[str] = "l"
    side: ClassVar[Side] = "at least"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_per(self)

    @property
    def monotonicity(self) -> Monotonicity:
        """The entropy of a union is at least the lesser of its parts; what it is asked for is the greater."""
        return "merge" if self.per is None else "none"

    @property
    def by_people(self) -> str | None:
        """Concentrated, as its values are; with `per` not defined."""
        return CONCENTRATED if self.per is None else None

    @property
    def of_records(self) -> Criterion:
        """Records have as many different values, which may be less evenly spread."""
        return DistinctLDiversity(self.attribute, self.least_size, quasi=self.quasi)

    @property
    def named_values(self) -> tuple[str, ...]:
        """The values with an l of their own."""
        return values_in(self.per)

    @property
    def on_labels(self) -> Criterion | None:
        """Labels are no more varied than their values; a value with an l of its own may be behind any label."""
        return OfLabels(self, quasi=self.quasi) if self.per is None else None

    @property
    def enough_values(self) -> int | None:
        """The entropy of n equally frequent values is ln n."""
        return self.least_size if self.per is None else None

    @property
    def least_size(self) -> int:
        """l records, rounded up: the entropy of n records is at most ln n."""
        return max(1, math.ceil(self.l * (1 - 2 * TOLERANCE)))

    def sentence(self) -> str:
        """The promise in words."""
        values = f"{self.l:g} equally frequent values" if self.l > 1 else "1 value"
        promise = f'In every group of records that look alike, "{self.attribute}" is at least as varied as {values}.'
        return promise if self.per is None else promise + stricter(self.per)

    def holds(self, classes: ClassesView) -> Flags:
        """Which classes satisfy it."""
        histogram = classes.histogram(self.attribute)
        n = np.maximum(classes.size, 1)
        # with counts r of n records: -sum r/n ln(r/n) = ln n - (sum r ln r)/n
        entropy = np.log(n) - run_sums(histogram.count * np.log(histogram.count), histogram.start) / n
        asked: np.ndarray | float = math.log(self.l)
        if self.per is not None:
            own = bounds_of(self, histogram.text, self.l)[histogram.value]
            asked = np.log(np.maximum(run_maxima(own, histogram.start), 1))
        found: Flags = (entropy >= asked - TOLERANCE) & (classes.size > 0)
        return found

    def audit(self, groups: Groups) -> Finding:
        """What the released rows say: the least exp(entropy), which is an l."""
        share = pl.col("n") / pl.col("n").sum().over("class")
        entropies = (
            groups.counts(self.attribute)
            .with_columns(term=-share * share.log())
            .group_by("class", maintain_order=True)
            .agg(entropy=pl.col("term").sum())
        )
        asked = pl.lit(float(self.l))
        if self.per is not None:
            strictest = groups.strictest(self.attribute, self.l, self.per, greatest=True)
            entropies, asked = entropies.join(strictest, on="class"), pl.col("asked")
        least, failing = entropies.select(
            pl.col("entropy").min(), (pl.col("entropy") < asked.log() - SLACK).sum().alias("failing")
        ).row(0)
        note = groups.absent(self.attribute, self.per)
        return Finding(failing == 0, rounded(math.exp(least)), self.l, int(failing), note)
