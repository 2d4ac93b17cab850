"""(k,e)-anonymity: Q. Zhang et al., Aggregate query answering on anonymized tables, ICDE 2007."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import polars as pl

from sfumato import Variant
from sfumato.core.parameters import Column, Real, Whole
from sfumato.core.protocols import ClassesView, Flags, Monotonicity, Side
from sfumato.criteria.audit import SLACK, Finding, Groups, rounded
from sfumato.criteria.model import TOLERANCE, Model
from sfumato.errors import PolicyError


@dataclass(frozen=True)
class KEAnonymity(Model):
    """Every class has at least k different numbers of the sensitive attribute, the least and the greatest e apart.

    Parameters: `attribute`, a sensitive column of numbers; `k`, how many numbers a class has at least; `e`, how far
    apart its least and its greatest are.

    >>> KEAnonymity("salary", 3, 1000).sentence()
    'In every group of records that look alike, "salary" takes at least 3 values, which spread over 1000 or more.'
    """

    attribute: Annotated[str, Column("sensitive column")]
    k: Annotated[int, Whole(1)]
    e: Annotated[float, Real(0)]

    monotonicity: ClassVar[Monotonicity] = "superset"  # more rows: no fewer values, no smaller spread
    bounded_by: ClassVar[str] = "e"
    side: ClassVar[Side] = "at least"

    @property
    def least_size(self) -> int:
        """k records, for k values."""
        return self.k

    def sentence(self) -> str:
        """The promise in words."""
        values = f'"{self.attribute}" takes at least {self.k} values, which spread over {self.e:g} or more'
        return f"In every group of records that look alike, {values}."

    def holds(self, classes: ClassesView) -> Flags:
        """Which classes satisfy it. The values of a class ascend, so the first and the last are its ends."""
        histogram = classes.histogram(self.attribute)
        try:
            number = np.array([float(text) for text in histogram.text if text is not None] + [np.nan])
        except ValueError:
            raise self._no_numbers() from None
        if None in histogram.text:
            raise self._no_numbers()
        values, start = np.diff(histogram.start), histogram.start
        some = values > 0
        spread = np.full(len(values), -np.inf)
        spread[some] = number[histogram.value[start[1:][some] - 1]] - number[histogram.value[start[:-1][some]]]
        found: Flags = (values >= self.k) & (spread >= self.e - TOLERANCE)
        return found

    def audit(self, groups: Groups) -> Finding:
        """What the released rows say: the smallest spread of a class."""
        counts = groups.counts(self.attribute).with_columns(number=pl.col("value").cast(pl.Float64, strict=False))
        if counts["number"].null_count():
            raise self._no_numbers()
        number = pl.col("number")
        classes = counts.group_by("class").agg(values=pl.len(), spread=number.max() - number.min())
        fails = (pl.col("values") < self.k) | (pl.col("spread") < self.e - SLACK)
        smallest, failing = classes.select(pl.col("spread").min(), fails.sum().alias("failing")).row(0)
        return Finding(failing == 0, rounded(smallest), self.e, int(failing))

    def _no_numbers(self) -> PolicyError:
        return PolicyError(f'{self.model}: "{self.attribute}" must hold a number in every row')


VARIANT = Variant(KEAnonymity, example=KEAnonymity("salary", 3, 10), cite="Zhang et al. 2007", words="(k, e)-anonymity")
