"""(X,Y)-linkability: K. Wang and B. Fung, Anonymizing sequential releases, KDD 2006."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import Column, Real
from sfumato.core.protocols import ClassesView, Criterion, Flags, Monotonicity, Side
from sfumato.criteria.audit import SLACK, Finding, Groups, rounded
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.criteria.model import SHARES, TOLERANCE, Model
from sfumato.criteria.of_labels import OfLabels
from sfumato.criteria.search_distance import run_maxima


@dataclass(frozen=True)
class XYLinkability(Model):
    """No value of Y has more than a share h of the records of a combination of values of X.

    X is the set of quasi-identifiers that it is for, Y a column beside it. The share is the confidence with which
    somebody who knows X infers the value of Y; where Y says whose each row is, no person has more than that share of
    the rows that fit.

    Parameters: `attribute`, the column Y; `h`, the largest share of a value of it.

    >>> XYLinkability("disease", 0.5).sentence()
    'Of the records of every combination of quasi-identifiers, no value of "disease" has a share above 50%.'
    """

    attribute: Annotated[str, Column("sensitive column")]
    h: Annotated[float, Real(0, 1, above=True)]

    monotonicity: ClassVar[Monotonicity] = "merge"
    bounded_by: ClassVar[str] = "h"
    side: ClassVar[Side] = "at most"
    by_people: ClassVar[str] = SHARES

    @property
    def of_records(self) -> Criterion:
        """1/h records; of the records of a class a value may have any share."""
        return KAnonymity(self.least_size, quasi=self.quasi)

    @property
    def on_labels(self) -> Criterion:
        """The values of a label are no more frequent than it is."""
        return OfLabels(self, quasi=self.quasi)

    @property
    def least_size(self) -> int:
        """1/h records: one record alone is a share of 1/n."""
        return max(1, math.ceil(1 / (self.h + 2 * TOLERANCE) - TOLERANCE))

    def sentence(self) -> str:
        """The promise in words."""
        return (
            f'Of the records of every combination of quasi-identifiers, no value of "{self.attribute}" has a share '
            f"above {self.h * 100:g}%."
        )

    def holds(self, classes: ClassesView) -> Flags:
        """Which classes satisfy it."""
        histogram = classes.histogram(self.attribute)
        most = run_maxima(histogram.count, histogram.start)
        found: Flags = (most <= (self.h + TOLERANCE) * np.maximum(classes.size, 1)) & (classes.size > 0)
        return found

    def audit(self, groups: Groups) -> Finding:
        """What the released rows say: the largest share of a value."""
        share = pl.col("n") / pl.col("size")
        worst = groups.counts(self.attribute).join(groups.sizes, on="class").group_by("class").agg(share=share.max())
        over = pl.col("share") > self.h + SLACK
        largest, failing = worst.select(pl.col("share").max(), over.sum().alias("failing")).row(0)
        return Finding(failing == 0, rounded(largest), self.h, int(failing))
