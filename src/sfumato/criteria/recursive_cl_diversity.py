"""Recursive (c,l)-diversity: A. Machanavajjhala et al., l-diversity: privacy beyond k-anonymity, TKDD 1(1), 2007."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import Column, Real, Whole, Written
from sfumato.core.protocols import ClassesView, Criterion, Flags, HistogramView, Monotonicity, Side
from sfumato.criteria.audit import Finding, Groups, rounded
from sfumato.criteria.by_value import ByValue, bounds_of, check_per, stricter, values_in
from sfumato.criteria.distinct_l_diversity import DistinctLDiversity
from sfumato.criteria.model import CONCENTRATED, TOLERANCE, Model
from sfumato.criteria.of_labels import OfLabels
from sfumato.criteria.search_distance import ROUNDING, run_maxima, run_of, run_sums


@dataclass(frozen=True, repr=False)
class RecursiveCLDiversity(Model):
    """The most frequent sensitive value is less than c times as frequent as all from the l-th on together.

    With counts r_1 >= r_2 >= ... >= r_m in a class: r_1 < c (r_l + r_{l+1} + ... + r_m). The comparison is strict: a
    tie fails. A class with fewer than l values fails.

    With `per`, a class that holds a value of it is held to the c of that value; of several to the least. Then the union
    of satisfying classes need not satisfy: the one that is less even has to be as even as the other's value asks.

    Parameters: `attribute`, the sensitive column; `c`, below how many times the rarer values the most frequent one
    stays; `l`, the value from which on the rarer ones are counted; `per`, printed values (missing as "") to a c of
    their own, at most as large.

    >>> RecursiveCLDiversity("disease", 4, 3).parameters()
    {'attribute': 'disease', 'c': 4, 'l': 3}
    """

    attribute: Annotated[str, Column("sensitive column")]
    c: Annotated[float, Real(0, above=True)]
    l: Annotated[int, Whole(1)]
    per: Annotated[ByValue | None, Written("mapping")] = field(default=None, repr=False)

    bounded_by: ClassVar[str] = "c"
    side: ClassVar[Side] = "below"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_per(self, above=True)

    @property
    def monotonicity(self) -> Monotonicity:
        """A union has no more of its most frequent value for its tail than the worse part; it is asked the lesser c."""
        return "merge" if self.per is None else "none"

    @property
    def by_people(self) -> str | None:
        """Concentrated, as its values are; with `per` not defined."""
        return CONCENTRATED if self.per is None else None

    @property
    def named_values(self) -> tuple[str, ...]:
        """The values with a c of their own."""
        return values_in(self.per)

    @property
    def of_records(self) -> Criterion:
        """Records have l different values, which may be less evenly spread."""
        return DistinctLDiversity(self.attribute, self.l, quasi=self.quasi)

    @property
    def on_labels(self) -> Criterion | None:
        """The values of a label are rarer than it is; a value with a c of its own may be behind any label."""
        return OfLabels(self, quasi=self.quasi) if self.per is None else None

    @property
    def enough_values(self) -> int | None:
        """The n - l + 1 rarest of n values, one record each, come to more than 1/c."""
        return self.l + int(1 / self.c) if self.per is None else None

    @property
    def least_size(self) -> int:
        """l records, for l values."""
        return self.l

    def sentence(self) -> str:
        """The promise in words."""
        tail = "all values" if self.l == 1 else f"the values from number {self.l} on, by frequency,"
        return (
            f'In every group of records that look alike, the most frequent value of "{self.attribute}" '
            f"occurs less than {self.c:g} times as often as {tail} together.{stricter(self.per)}"
        )

    def holds(self, classes: ClassesView) -> Flags:
        """Which classes satisfy it."""
        histogram = classes.histogram(self.attribute)
        start, count = histogram.start, histogram.count
        # strict, so rounding in c * tail must not let a tie pass: the tolerance is taken off, not added
        c: np.ndarray | float = self.c
        if self.per is not None:
            c = -run_maxima(-bounds_of(self, histogram.text, self.c)[histogram.value], start)
        found: Flags = run_maxima(count, start) < c * self._tail(histogram) * (1 - TOLERANCE)
        return found

    def least_suppressed(self, classes: ClassesView) -> np.ndarray:
        """Leaving rows out adds nothing to r_l + ... + r_m, so what exceeds c times that goes."""
        histogram = classes.histogram(self.attribute)
        most = (self.c * self._tail(histogram))[run_of(histogram.start)]
        over = np.ceil((histogram.count - most) * (1 - ROUNDING) - ROUNDING)
        return run_sums(np.maximum(over, 0).astype(np.int64), histogram.start)

    def _tail(self, histogram: HistogramView) -> np.ndarray:
        """r_l + ... + r_m of each class."""
        start, count = histogram.start, histogram.count
        of = run_of(start)
        falling = count[_by_run_then_count(of, count)]
        rank = np.arange(len(of)) - start[:-1][of]
        return run_sums(np.where(rank >= self.l - 1, falling, 0), start)

    def audit(self, groups: Groups) -> Finding:
        """What the released rows say: the largest r_1 / (r_l + ... + r_m), infinite where that tail is empty."""
        falling = groups.counts(self.attribute).sort(["class", "n"], descending=[False, True])
        ratio = (
            falling.group_by("class", maintain_order=True)
            .agg(first=pl.col("n").first(), tail=pl.col("n").slice(self.l - 1).sum())
            .with_columns(ratio=pl.when(pl.col("tail") > 0).then(pl.col("first") / pl.col("tail")).otherwise(math.inf))
        )
        asked = pl.lit(float(self.c))
        if self.per is not None:
            strictest = groups.strictest(self.attribute, self.c, self.per, greatest=False)
            ratio, asked = ratio.join(strictest, on="class"), pl.col("asked")
        # strict here as well; a margin below the search's, or what the search lets pass could fail here
        fails = pl.col("ratio") >= asked * (1 - TOLERANCE / 10)
        largest, failing = ratio.select(pl.col("ratio").max(), fails.sum().alias("failing")).row(0)
        note = groups.absent(self.attribute, self.per)
        return Finding(failing == 0, rounded(largest), self.c, int(failing), note)


def _by_run_then_count(of: np.ndarray, count: np.ndarray) -> np.ndarray:
    """The order of the entries by run, and within a run by falling count."""
    top = int(count.max(initial=0)) + 1
    if len(of) and (int(of[-1]) + 1) * top < 2**62:  # one sort of one key where it fits
        return np.argsort(of * top + (top - 1 - count), kind="stable")
    return np.lexsort((-count, of))
