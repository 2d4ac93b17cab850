"""beta-likeness: J. Cao, P. Karras, Publishing microdata with a robust privacy guarantee, PVLDB 5(11), 2012."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import Column, OneOf, Real, Written
from sfumato.core.protocols import ClassesView, Flags, HistogramView, Monotonicity, Side, ValueLimits
from sfumato.criteria.audit import SLACK, Finding, Groups, rounded
from sfumato.criteria.by_value import ByValue, against, check_reference, values_in
from sfumato.criteria.model import TOLERANCE, Model
from sfumato.criteria.search_distance import most_rows, share_limits, within_shares

KINDS = ("basic", "enhanced")


@dataclass(frozen=True, repr=False)
class BetaLikeness(Model):
    """No sensitive value gains more than beta in any class, relative to its share in the whole table.

    For every value with p > q: (p - q)/q <= beta ("basic"), or <= min(beta, -ln q) ("enhanced", which keeps a common
    value from becoming near certain). p is the share in the class, q in the table before suppression.

    With a `reference`, q is that distribution, given from outside: a mapping from printed values (missing as "") to
    counts or shares, or a file with a value and a number per line. The release publishes it. A value that it lacks
    gains infinitely.

    Parameters: `attribute`, the sensitive column; `beta`, the largest gain of a value; `kind`, whether common
    values are held closer; `reference`, the distribution to compare with, in place of the table's own.

    >>> BetaLikeness("disease", 2, "enhanced").parameters()
    {'attribute': 'disease', 'beta': 2, 'kind': 'enhanced'}
    """

    attribute: Annotated[str, Column("sensitive column")]
    beta: Annotated[float, Real(0, above=True)]
    kind: Annotated[str, OneOf(KINDS)] = "basic"
    reference: Annotated[ByValue | None, Written("mapping")] = field(default=None, repr=False)

    monotonicity: ClassVar[Monotonicity] = "merge"  # p of a union lies between those of its parts
    bounded_by: ClassVar[str] = "beta"
    side: ClassVar[Side] = "at most"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_reference(self)

    @property
    def uses_overall_distribution(self) -> bool:
        """Whether q is that of the whole table."""
        return self.reference is None

    @property
    def named_values(self) -> tuple[str, ...]:
        """The values of the reference."""
        return values_in(self.reference)

    def sentence(self) -> str:
        """The promise in words."""
        cap = ", less for common values" if self.kind == "enhanced" else ""
        where = "whole table" if self.reference is None else "reference given from outside"
        return (
            f'In every group of records that look alike, no value of "{self.attribute}" is more than '
            f"{1 + self.beta:g} times as frequent as in the {where}{cap}."
        )

    def holds(self, classes: ClassesView) -> Flags:
        """Which classes satisfy it."""
        histogram = classes.histogram(self.attribute)
        return within_shares(classes.size, histogram, self.value_limits(histogram))

    def least_suppressed(self, classes: ClassesView) -> np.ndarray:
        """A value has at most (1 + beta) q of the rows that stay."""
        histogram = classes.histogram(self.attribute)
        return np.asarray(classes.size - most_rows(classes.size, histogram, self.value_limits(histogram).cap))

    def value_limits(self, histogram: HistogramView) -> ValueLimits:
        """A value has at most (1 + beta) q of the rows: none where the whole table or the reference lacks it."""
        values = len(histogram.overall)
        if self.reference is not None:
            histogram, _ = against(histogram, self)
        q = (histogram.overall / histogram.overall.sum())[:values]  # those of the table come first
        bound = np.full(values, float(self.beta))
        if self.kind == "enhanced":
            bound = np.minimum(bound, -np.log(np.maximum(q, np.finfo(np.float64).tiny)))
        return share_limits(np.full(values, -1.0), (1 + bound) * (1 + TOLERANCE) * q, (1 + bound) * q)

    def audit(self, groups: Groups) -> Finding:
        """What the released rows say: the largest gain (p - q)/q."""
        groups = groups.beside(self.attribute, self.reference)
        overall = groups.overall(self.attribute).with_columns(q=pl.col("n") / pl.col("n").sum()).select("value", "q")
        p = groups.counts(self.attribute).with_columns(p=pl.col("n") / pl.col("n").sum().over("class"))
        shares = p.join(overall, on="value", how="left", nulls_equal=True).with_columns(pl.col("q").fill_null(0.0))
        gains = shares.select(
            "class",
            gain=(pl.col("p") - pl.col("q")) / pl.col("q"),
            cap=-pl.col("q").log() if self.kind == "enhanced" else pl.lit(float("inf")),
        )
        worst = gains.group_by("class").agg(
            gain=pl.col("gain").max(),
            capped=(pl.col("gain") > pl.col("cap") + SLACK * (1 + pl.col("cap"))).any(),
        )
        fails = (pl.col("gain") > self.beta + SLACK * (1 + self.beta)) | pl.col("capped")
        largest, failing, capped = worst.select(
            pl.col("gain").max(), fails.sum().alias("failing"), pl.col("capped").sum()
        ).row(0)
        notes = [f"in {capped} classes a value gains more than -ln q"] if capped else []
        notes += [source] if (source := groups.source(self.attribute)) else []
        return Finding(failing == 0, rounded(max(largest, 0.0)), self.beta, int(failing), "; ".join(notes) or None)
