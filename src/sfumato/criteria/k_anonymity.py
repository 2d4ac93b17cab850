"""k-anonymity: P. Samarati, Protecting respondents' identities in microdata release, IEEE TKDE 13(6), 2001."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import polars as pl

from sfumato.core.parameters import Whole
from sfumato.core.protocols import ClassesView, Flags, Monotonicity, Side
from sfumato.core.wording import count
from sfumato.criteria.audit import Finding, Groups
from sfumato.criteria.model import SIZES, Model


@dataclass(frozen=True)
class KAnonymity(Model):
    """Every class has at least k records.

    Parameters: `k`, how many records a class has at least.

    >>> KAnonymity(10).sentence()
    'Every record shares its quasi-identifiers with at least 9 others.'
    """

    k: Annotated[int, Whole(1)]

    monotonicity: ClassVar[Monotonicity] = "superset"
    bounded_by: ClassVar[str] = "k"
    side: ClassVar[Side] = "at least"
    wildcard: ClassVar[bool] = True
    by_people: ClassVar[str] = SIZES

    @property
    def least_size(self) -> int:
        """k records."""
        return self.k

    def sentence(self) -> str:
        """The promise in words."""
        if self.k == 1:
            return "Every record may stand alone: k = 1 promises nothing."
        return f"Every record shares its quasi-identifiers with at least {count(self.k - 1, 'other')}."

    def holds(self, classes: ClassesView) -> Flags:
        """Which classes satisfy it."""
        found: Flags = classes.size >= self.k
        return found

    def audit(self, groups: Groups) -> Finding:
        """What the released rows say: the smallest class."""
        size = pl.col("size")
        smallest, failing = groups.sizes.select(size.min(), (size < self.k).sum().alias("failing")).row(0)
        return Finding(failing == 0, int(smallest), self.k, int(failing))
