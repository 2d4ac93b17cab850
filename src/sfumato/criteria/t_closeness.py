"""t-closeness: N. Li, T. Li, S. Venkatasubramanian, Privacy beyond k-anonymity and l-diversity, ICDE 2007."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import Column, OneOf, Real, Written, real_number
from sfumato.core.protocols import ClassesView, Flags, HistogramView, Monotonicity, Side, ValueLimits
from sfumato.criteria.audit import SLACK, Finding, Groups, rounded
from sfumato.criteria.by_value import ByValue, against, bounds_of, check_per, check_reference, stricter, values_in
from sfumato.criteria.model import TOLERANCE, Model
from sfumato.criteria.released_distance import RELEASED
from sfumato.criteria.search_distance import ROUNDING, SEARCHED, most_rows, most_rows_within, run_maxima
from sfumato.errors import PolicyError

DISTANCES = ("equal", "ordered", "hierarchical", "kl")


@dataclass(frozen=True, repr=False)
class TCloseness(Model):
    """The distribution of the sensitive attribute in every class is within t of that in the whole table.

    D(p, q) <= t, with p the distribution in the class, q in the table before suppression, and D the earth mover's
    distance between values that are equally far apart ("equal"), in order ("ordered") or leaves of a hierarchy
    ("hierarchical"), or the Kullback-Leibler divergence ("kl", which is no distance and may exceed 1).

    With a `reference`, q is that distribution, given from outside: a mapping from printed values (missing as "") to
    counts or shares, or a file with a value and a number per line. The release publishes it. A value that it lacks has
    q = 0, and no place in an ordered distance: a class that has it fails.

    With `per`, a class that holds a value of it is within the t of that value; of several the least. Then the union of
    satisfying classes need not satisfy.

    Parameters: `attribute`, the sensitive column; `t`, the distance at most, up to 1 except for kl; `distance`, how
    far apart values are; `reference`, the distribution to compare with, not for the hierarchical distance; `per`,
    printed values (missing as "") to a t of their own, at most as large.

    >>> TCloseness("salary", 0.2, "ordered").parameters()
    {'attribute': 'salary', 't': 0.2, 'distance': 'ordered'}
    """

    attribute: Annotated[str, Column("sensitive column")]
    t: Annotated[float, Real(0)]
    distance: Annotated[str, OneOf(DISTANCES)] = "equal"
    reference: Annotated[ByValue | None, Written("mapping")] = field(default=None, repr=False)
    per: Annotated[ByValue | None, Written("mapping")] = field(default=None, repr=False)

    bounded_by: ClassVar[str] = "t"
    side: ClassVar[Side] = "at most"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.distance != "kl":
            real_number(self.t, f"{self.model}: t", 0, 1)
        if self.reference is not None and self.distance == "hierarchical":
            what = f"{self.model}: a reference has no hierarchical distance"
            raise PolicyError(what, allowed="equal, ordered, kl", hint="take another distance, or no reference")
        check_reference(self)
        check_per(self)

    @property
    def monotonicity(self) -> Monotonicity:
        """The distance of a union is at most the greater of its parts; what it is asked for is the lesser."""
        return "merge" if self.per is None else "none"

    @property
    def uses_overall_distribution(self) -> bool:
        """Whether q is that of the whole table."""
        return self.reference is None

    @property
    def named_values(self) -> tuple[str, ...]:
        """The values of the reference, and those with a t of their own."""
        return tuple(dict.fromkeys((*values_in(self.per), *values_in(self.reference))))

    @property
    def uses_order(self) -> bool:
        """Whether the distance runs along the order of the values."""
        return self.distance == "ordered"

    @property
    def uses_hierarchy(self) -> bool:
        """Whether the distance runs along their hierarchy."""
        return self.distance == "hierarchical"

    def sentence(self) -> str:
        """The promise in words."""
        name = "Kullback-Leibler divergence" if self.distance == "kl" else f"{self.distance} distance"
        where = "whole table" if self.reference is None else "reference given from outside"
        return (
            f'In every group of records that look alike, "{self.attribute}" is distributed as in the {where}, '
            f"within {self.t:g} ({name}).{stricter(self.per)}"
        )

    def holds(self, classes: ClassesView) -> Flags:
        """Which classes satisfy it."""
        histogram = classes.histogram(self.attribute)
        if self.distance == "hierarchical" and histogram.ancestor is None:
            raise PolicyError(
                f'{self.model}: distance hierarchical needs a hierarchy of "{self.attribute}", and it has none',
                hint=f'give one in hierarchies for "{self.attribute}", or take distance equal or ordered',
            )
        asked: np.ndarray | float = self.t
        if self.per is not None:
            asked = -run_maxima(-bounds_of(self, histogram.text, self.t)[histogram.value], histogram.start)
        lost = np.zeros(len(histogram.value), np.bool_)
        if self.reference is not None:
            histogram, lost = against(histogram, self, self.uses_order)
        distance = SEARCHED[self.distance](classes.size, histogram)
        found: Flags = (distance <= asked + TOLERANCE) & (classes.size > 0)
        return found & (run_maxima(lost, histogram.start) == 0) if lost.any() else found

    def least_suppressed(self, classes: ClassesView) -> np.ndarray:
        """The distance is convex, and at most 1: m of n rows at a distance D are enough only if n D <= (n - m) t + m.
        Between equally distant values 1 - D is the sum of min(p, q)."""
        if self.reference is not None and self.distance != "equal":  # it may lack values, which are infinitely far
            return super().least_suppressed(classes)
        histogram, t = classes.histogram(self.attribute), self.t + TOLERANCE
        if self.reference is not None:
            histogram, _ = against(histogram, self)
        q = histogram.overall / histogram.overall.sum()
        if self.distance == "equal" and t < 1:
            return np.asarray(classes.size - most_rows(classes.size, histogram, q, 1 - t))
        if self.distance == "kl":
            return np.asarray(classes.size - most_rows_within(classes.size, histogram, t))
        excess = SEARCHED[self.distance](classes.size, histogram) - t
        least = classes.size * excess / max(1 - t, ROUNDING)
        return np.clip(np.ceil(least * (1 - ROUNDING) - ROUNDING), 0, classes.size).astype(np.int64)

    def value_limits(self, histogram: HistogramView) -> ValueLimits | None:
        """Those of a divergence."""
        if self.distance != "kl" or self.per is not None or self.reference is not None:
            return None
        q = histogram.overall / histogram.overall.sum()
        free = np.full(len(q), np.inf)
        with np.errstate(divide="ignore"):
            return ValueLimits(-free, free, free, free, np.log(q), divergence=self.t + TOLERANCE)

    def audit(self, groups: Groups) -> Finding:
        """What the released rows say: the largest distance."""
        groups = groups.beside(self.attribute, self.reference)
        distances = RELEASED[self.distance](groups, self.attribute)
        asked = pl.lit(float(self.t))
        if self.per is not None:
            strictest = groups.strictest(self.attribute, self.t, self.per, greatest=False)
            distances, asked = distances.join(strictest, on="class"), pl.col("asked")
        largest, failing = distances.select(
            pl.col("distance").max(), (pl.col("distance") > asked + SLACK).sum().alias("failing")
        ).row(0)
        notes = filter(None, (groups.absent(self.attribute, self.per), groups.source(self.attribute)))
        return Finding(failing == 0, rounded(max(largest, 0.0)), self.t, int(failing), "; ".join(notes) or None)
