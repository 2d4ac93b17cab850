"""Entropy l-diversity: A. Machanavajjhala et al., l-diversity: privacy beyond k-anonymity, ACM TKDD 1(1), 2007."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import LARGEST
from sfumato.core.protocols import ClassesView, Flags, Monotonicity, Side
from sfumato.criteria.audit import SLACK, Finding, Groups, rounded
from sfumato.criteria.model import TOLERANCE, Model, check_column, check_real
from sfumato.criteria.search_distance import run_sums


@dataclass(frozen=True)
class EntropyLDiversity(Model):
    """The entropy of the sensitive attribute in every class is at least ln l.

    -sum p_i ln p_i >= ln l: the values are as varied as l equally frequent ones. A class of 2/2/2 is 3-diverse.

    Parameters: `attribute`, a sensitive column; `l`, a number of at least 1, whole or not.

    >>> EntropyLDiversity("disease", 2.5).sentence()
    'In every group of records that look alike, "disease" is at least as varied as 2.5 equally frequent values.'
    """

    attribute: str
    l: float

    monotonicity: ClassVar[Monotonicity] = "merge"
    bounded_by: ClassVar[str] = "l"
    side: ClassVar[Side] = "at least"

    def __post_init__(self) -> None:
        check_column(self)
        check_real(self, "l", 1, LARGEST)

    @property
    def least_size(self) -> int:
        """l records, rounded up: the entropy of n records is at most ln n."""
        return max(1, math.ceil(self.l * (1 - 2 * TOLERANCE)))

    def sentence(self) -> str:
        """The promise in words."""
        values = f"{self.l:g} equally frequent values" if self.l > 1 else "1 value"
        return f'In every group of records that look alike, "{self.attribute}" is at least as varied as {values}.'

    def holds(self, classes: ClassesView) -> Flags:
        """Which classes satisfy it."""
        histogram = classes.histogram(self.attribute)
        n = np.maximum(classes.size, 1)
        # with counts r of n records: -sum r/n ln(r/n) = ln n - (sum r ln r)/n
        entropy = np.log(n) - run_sums(histogram.count * np.log(histogram.count), histogram.start) / n
        found: Flags = (entropy >= math.log(self.l) - TOLERANCE) & (classes.size > 0)
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
        least, failing = entropies.select(
            pl.col("entropy").min(), (pl.col("entropy") < math.log(self.l) - SLACK).sum().alias("failing")
        ).row(0)
        return Finding(failing == 0, rounded(math.exp(least)), self.l, int(failing))
