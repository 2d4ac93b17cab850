"""(alpha,k)-anonymity: R. Wong, J. Li, A. Fu, K. Wang, (alpha,k)-anonymity: an enhanced k-anonymity model, KDD 2006."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import is_whole
from sfumato.core.protocols import ClassesView, Flags, HistogramView, Monotonicity, Side
from sfumato.core.wording import count
from sfumato.criteria.audit import SLACK, Finding, Groups, rounded
from sfumato.criteria.model import TOLERANCE, Model, check_column, check_integer, check_real, is_text
from sfumato.criteria.search_distance import run_maxima
from sfumato.errors import PolicyError


@dataclass(frozen=True)
class AlphaK(Model):
    """Every class has at least k records, and no sensitive value more than a share alpha of them.

    n >= k and count(s)/n <= alpha, for the given values s, or for every value where none is given.

    Parameters: `alpha`, above 0 and at most 1; `k`, a whole number of at least 1; `attribute`, a sensitive column;
    `values`, the printed values to guard, or None for every value.

    >>> AlphaK(0.5, 3, "disease", ["HIV"]).parameters()
    {'alpha': 0.5, 'k': 3, 'attribute': 'disease', 'values': ['HIV']}
    """

    alpha: float
    k: int
    attribute: str
    values: tuple[str, ...] | None = None

    monotonicity: ClassVar[Monotonicity] = "merge"
    bounded_by: ClassVar[str] = "alpha"
    side: ClassVar[Side] = "at most"

    def __post_init__(self) -> None:
        check_real(self, "alpha", 0, 1, open_below=True)
        check_integer(self, "k", 1)
        check_column(self)
        if self.values is None:
            return
        listed = (self.values,) if isinstance(self.values, str) else self.values
        whole = isinstance(listed, list | tuple) and all(is_text(v) or _is_short(v) for v in listed)
        if not whole or not listed or "" in listed:
            raise PolicyError(
                f"{self.model}: values must list the values to guard, as they are printed",
                allowed="a list of one text or more",
                hint="leave values out to guard every value",
            )
        self._settle("values", tuple(str(value) for value in listed))

    @property
    def named_values(self) -> tuple[str, ...]:
        """The values to guard."""
        return self.values or ()

    @property
    def least_size(self) -> int:
        """k records, and 1/alpha of them where every value is guarded: one record alone is a share of 1/n."""
        rarest = 1 if self.values is not None else math.ceil(1 / (self.alpha + 2 * TOLERANCE) - TOLERANCE)
        return max(self.k, rarest)

    def sentence(self) -> str:
        """The promise in words."""
        if self.values is None:
            guarded = "no value"
        else:
            guarded = "no guarded value" if len(self.values) == 1 else f"none of the {len(self.values)} guarded values"
        share = (
            f'in every group of records that look alike, {guarded} of "{self.attribute}" '
            f"has a share above {self.alpha * 100:g}%."
        )
        if self.k == 1:
            return share[0].upper() + share[1:]
        others = count(self.k - 1, "other")
        return f"Every record shares its quasi-identifiers with at least {others}, and {share}"

    def holds(self, classes: ClassesView) -> Flags:
        """Which classes satisfy it."""
        histogram = classes.histogram(self.attribute)
        count = histogram.count
        if self.values is not None:
            count = np.where(self._guarded(histogram)[histogram.value], count, 0)
        share = run_maxima(count, histogram.start) / np.maximum(classes.size, 1)
        found: Flags = (classes.size >= self.k) & (share <= self.alpha + TOLERANCE)
        return found

    def _guarded(self, histogram: HistogramView) -> Flags:
        """Which values are guarded."""
        named = set(self.values or ())
        codes = [histogram.text.index(value) for value in named if value in histogram.text]
        if len(codes) < len(named):
            unknown = f"{len(named) - len(codes)} of {len(named)}"
            raise PolicyError(
                f'{self.model}: {unknown} values to guard do not occur in column "{self.attribute}"',
                hint="values are compared as they are printed, upper and lower case apart",
            )
        guarded = np.zeros(len(histogram.text), dtype=np.bool_)
        guarded[codes] = True
        return guarded

    def audit(self, groups: Groups) -> Finding:
        """What the released rows say: the largest share of a guarded value; the note gives the smallest class."""
        counts = groups.counts(self.attribute)
        if self.values is not None:
            counts = counts.filter(pl.col("value").is_in(list(self.values)))
        commonest = counts.group_by("class").agg(n=pl.col("n").max())
        shares = groups.sizes.join(commonest, on="class", how="left").select(
            "size", share=pl.col("n").fill_null(0) / pl.col("size")
        )
        fails = (pl.col("size") < self.k) | (pl.col("share") > self.alpha + SLACK)
        smallest, largest, failing = shares.select(
            pl.col("size").min(), pl.col("share").max(), fails.sum().alias("failing")
        ).row(0)
        note = f"the smallest class has {count(smallest, 'record')}, k is {self.k}"
        named = set(self.values or ())
        absent = len(named.difference(counts["value"].unique()))
        if absent:
            note += f'; {absent} of {len(named)} guarded values do not occur in the released "{self.attribute}"'
        return Finding(failing == 0, rounded(largest), self.alpha, int(failing), note)


def _is_short(value: Any) -> bool:
    """Whether a value is a whole number that prints."""
    return is_whole(value) and abs(value) < 2**128
