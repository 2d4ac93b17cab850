"""(alpha,k)-anonymity: R. Wong, J. Li, A. Fu, K. Wang, (alpha,k)-anonymity: an enhanced k-anonymity model, KDD 2006."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import Column, Real, Whole, Written, is_text, is_whole
from sfumato.core.protocols import ClassesView, Criterion, Flags, HistogramView, Monotonicity, Side
from sfumato.core.wording import count
from sfumato.criteria.audit import SLACK, Finding, Groups, bounds_frame, rounded
from sfumato.criteria.by_value import ByValue, bounds_of, check_per, stricter, values_in
from sfumato.criteria.k_anonymity import KAnonymity
from sfumato.criteria.model import SHARES, TOLERANCE, Model
from sfumato.criteria.of_labels import OfLabels
from sfumato.criteria.search_distance import most_rows, run_maxima, run_of
from sfumato.errors import PolicyError


@dataclass(frozen=True, repr=False)
class AlphaK(Model):
    """Every class has at least k records, and no sensitive value more than a share alpha of them.

    n >= k and count(s)/n <= alpha, for the given values s, or for every value where none is given. A value in `per`
    has at most its own share.

    Parameters: `alpha`, the largest share of a value; `k`, how many records a class has at least; `attribute`, the
    sensitive column; `values`, the printed values to guard, or None for every value; `per`, printed values (missing
    as "") to an alpha of their own, at most as large.

    >>> AlphaK(0.5, 3, "disease", ["HIV"]).parameters()
    {'alpha': 0.5, 'k': 3, 'attribute': 'disease', 'values': ['HIV']}
    """

    alpha: Annotated[float, Real(0, 1, above=True)]
    k: Annotated[int, Whole(1)]
    attribute: Annotated[str, Column("sensitive column")]
    values: Annotated[tuple[str, ...] | None, Written("list")] = None
    per: Annotated[ByValue | None, Written("mapping")] = field(default=None, repr=False)

    monotonicity: ClassVar[Monotonicity] = "merge"
    bounded_by: ClassVar[str] = "alpha"
    side: ClassVar[Side] = "at most"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_per(self, above=True)
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
    def by_people(self) -> str | None:
        """The share of the people of a class who have a value; with `per` not defined."""
        return SHARES if self.per is None else None

    @property
    def of_records(self) -> Criterion:
        """k records; of the records of a class a value may have any share."""
        return KAnonymity(self.k, quasi=self.quasi)

    @property
    def named_values(self) -> tuple[str, ...]:
        """The values to guard, and those with an alpha of their own."""
        return tuple(dict.fromkeys((*(self.values or ()), *values_in(self.per))))

    @property
    def enough_values(self) -> int | None:
        """1/alpha records, each of another value; of a larger k, which is about rows that look alike, no number is."""
        least = math.ceil(1 / self.alpha - SLACK)
        return least if self.values is None and self.per is None and self.k <= least else None

    @property
    def on_labels(self) -> Criterion | None:
        """The values of a label are no more frequent than it is; a guarded value may be behind any label."""
        return OfLabels(self, quasi=self.quasi) if self.values is None and self.per is None else None

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
            f"has a share above {self.alpha * 100:g}%.{stricter(self.per)}"
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
        if self.per is not None:
            most = bounds_of(self, histogram.text, 1)[histogram.value]
            over = histogram.count / classes.size[run_of(histogram.start)] > most + TOLERANCE
            found &= run_maxima(over.astype(np.int64), histogram.start) == 0
        return found

    def largest_shares(self, histogram: HistogramView) -> np.ndarray:
        """The largest share of a class that each value may have."""
        cap = np.full(len(histogram.overall), self.alpha)
        if self.values is not None:
            cap[~self._guarded(histogram)] = 1.0
        return cap if self.per is None else np.minimum(cap, bounds_of(self, histogram.text, 1))

    def least_suppressed(self, classes: ClassesView) -> np.ndarray:
        """A guarded value has at most a share alpha of the rows that stay."""
        histogram = classes.histogram(self.attribute)
        return np.asarray(classes.size - most_rows(classes.size, histogram, self.largest_shares(histogram)))

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
        own = bounds_frame(self.per)
        if self.values is not None:
            named = [*self.values, *own["value"].fill_null("")]
            counts = counts.filter(pl.col("value").fill_null("").is_in(named))
        shared = counts.join(groups.sizes, on="class").join(own, on="value", how="left", nulls_equal=True)
        shared = shared.with_columns(share=pl.col("n") / pl.col("size"))
        above = pl.col("share") > pl.col("asked").fill_null(1.0) + SLACK
        worst = shared.group_by("class").agg(pl.col("share").max(), above=above.any())
        shares = groups.sizes.join(worst, on="class", how="left").with_columns(
            pl.col("share").fill_null(0.0), pl.col("above").fill_null(False)
        )
        fails = (pl.col("size") < self.k) | (pl.col("share") > self.alpha + SLACK) | pl.col("above")
        smallest, largest, failing = shares.select(
            pl.col("size").min(), pl.col("share").max(), fails.sum().alias("failing")
        ).row(0)
        note = f"the smallest class has {count(smallest, 'record')}, k is {self.k}"
        guarded = set(self.values or ())
        absent = len(guarded.difference(counts["value"].unique()))
        if absent:
            note += f'; {absent} of {len(guarded)} guarded values do not occur in the released "{self.attribute}"'
        note = "; ".join(filter(None, (note, groups.absent(self.attribute, self.per))))
        return Finding(failing == 0, rounded(largest), self.alpha, int(failing), note)


def _is_short(value: Any) -> bool:
    """Whether a value is a whole number that prints."""
    return is_whole(value) and abs(value) < 2**128
