"""delta-disclosure privacy: J. Brickell, V. Shmatikov, The cost of privacy, KDD 2008."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Annotated, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import Column, OneOf, Real
from sfumato.core.protocols import ClassesView, Flags, HistogramView, Monotonicity, Side, ValueLimits
from sfumato.criteria.audit import Finding, Groups, rounded
from sfumato.criteria.model import TOLERANCE, Model
from sfumato.criteria.search_distance import ROUNDING, most_rows, run_maxima, share_limits, within_shares

ABSENT = ("violates", "skipped")


@dataclass(frozen=True)
class DeltaDisclosure(Model):
    """The share of every sensitive value in every class is within a factor 2^delta of that in the whole table.

    abs(log2(p/q)) < delta for every value of the table, p its share in the class, q in the table before suppression.
    The comparison is strict: a tie fails. A value that a class lacks has p = 0 and violates; with absent="skipped" it
    is passed over, as ARX does, and then the union of satisfying classes need not satisfy.

    Parameters: `attribute`, the sensitive column; `delta`, below how many powers of 2 shares stay; `absent`, what a
    value does that a class lacks.

    >>> DeltaDisclosure("disease", 1).sentence()
    'In every group of records that look alike, every value of "disease" is less than 2 times as frequent or rare as in the whole table.'
    """  # noqa: E501

    attribute: Annotated[str, Column("sensitive column")]
    delta: Annotated[float, Real(0, above=True)]
    absent: Annotated[str, OneOf(ABSENT)] = "violates"

    bounded_by: ClassVar[str] = "delta"
    side: ClassVar[Side] = "below"
    uses_overall_distribution: ClassVar[bool] = True

    @property
    def monotonicity(self) -> Monotonicity:
        """Merging keeps p between those of the parts; a skipped value of one part dilutes the other's."""
        return "merge" if self.absent == "violates" else "none"

    def sentence(self) -> str:
        """The promise in words."""
        occurs = "" if self.absent == "violates" else " that occurs there"
        factor = f"{2**self.delta:g}" if self.delta <= 64 else f"2^{self.delta:g}"
        return (
            f'In every group of records that look alike, every value of "{self.attribute}"{occurs} is less than '
            f"{factor} times as frequent or rare as in the whole table."
        )

    def holds(self, classes: ClassesView) -> Flags:
        """Which classes satisfy it."""
        histogram = classes.histogram(self.attribute)
        return within_shares(classes.size, histogram, self.value_limits(histogram))

    def value_limits(self, histogram: HistogramView) -> ValueLimits:
        """The share of a value is within a factor of q; where absent values violate, it occurs."""
        q = histogram.overall / histogram.overall.sum()
        # strict, so rounding must not let a tie pass: the tolerance is taken off, not added
        inside, factor = 2.0 ** min(self.delta - TOLERANCE * (1 + self.delta), 64.0), 2.0 ** min(self.delta, 64.0)
        found = share_limits(q / inside, q * inside, factor * q)
        if self.absent == "skipped":  # parts that lack a value may have more rows than its own allow
            return found
        with np.errstate(divide="ignore"):
            return replace(found, rows_per=factor / q, distinct=int(np.count_nonzero(q)))

    def least_suppressed(self, classes: ClassesView) -> np.ndarray:
        """A value has at most 2^delta q of the rows that stay, and those are at most its own by 2^-delta q."""
        histogram = classes.histogram(self.attribute)
        limits = self.value_limits(histogram)
        most = most_rows(classes.size, histogram, limits.cap).astype(np.float64)
        if self.absent == "violates":
            own = histogram.count * limits.rows_per[histogram.value]
            most = np.minimum(most, np.floor(-run_maxima(-own, histogram.start) * (1 + ROUNDING) + ROUNDING))
            most[np.diff(histogram.start) < limits.distinct] = 0
        return classes.size - most.astype(np.int64)

    def audit(self, groups: Groups) -> Finding:
        """What the released rows say: the largest abs(log2(p/q)), infinite where a class lacks a value."""
        overall = groups.overall(self.attribute).select("value", q=pl.col("n") / pl.col("n").sum())
        values = overall.height
        p = groups.counts(self.attribute).with_columns(p=pl.col("n") / pl.col("n").sum().over("class"))
        shares = p.join(overall, on="value", how="left", nulls_equal=True)
        gap = (pl.col("p").log(2) - pl.col("q").log(2)).abs().fill_null(math.inf)  # null: the whole table lacks it
        worst = shares.group_by("class").agg(gap=gap.max(), known=pl.col("q").count())
        if self.absent == "violates":
            lacks = pl.col("known") < values
            worst = worst.with_columns(gap=pl.when(lacks).then(pl.lit(math.inf)).otherwise(pl.col("gap")))
        # strict here as well; a margin below the search's, or what the search lets pass could fail here
        fails = pl.col("gap") >= self.delta - TOLERANCE / 10 * (1 + self.delta)
        largest, failing = worst.select(pl.col("gap").max(), fails.sum().alias("failing")).row(0)
        return Finding(failing == 0, rounded(largest), self.delta, int(failing), groups.source(self.attribute))
