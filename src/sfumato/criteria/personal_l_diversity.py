"""Personalised l-diversity, after X. Xiao, Y. Tao, Personalized privacy preservation, SIGMOD 2006."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import Column, Whole
from sfumato.core.protocols import ClassesView, Criterion, Flags, Monotonicity, Side
from sfumato.criteria.audit import Finding, Groups
from sfumato.criteria.model import Model
from sfumato.criteria.of_labels import OfLabels
from sfumato.criteria.personal_k_anonymity import greatest_wishes, released_wishes


@dataclass(frozen=True)
class PersonalLDiversity(Model):
    """Every class has at least l different sensitive values, and as many as the greatest wish of its members.

    A record says in the column `wish` among how many different values it wants to be: a whole number, or nothing for no
    wish. The column is released, so that the promise can be verified. The union of satisfying classes satisfies; a
    record with a greater wish may break the class it joins. Missing is a value.

    Parameters: `attribute`, the sensitive column; `wish`, the column of wishes, which is sensitive too; `l`, how
    many different values every class has at least.

    >>> PersonalLDiversity("disease", "wish", 2).parameters()
    {'attribute': 'disease', 'wish': 'wish', 'l': 2}
    """

    attribute: Annotated[str, Column("sensitive column")]
    wish: Annotated[str, Column("sensitive column")]
    l: Annotated[int, Whole(1)] = 1

    monotonicity: ClassVar[Monotonicity] = "merge"
    bounded_by: ClassVar[str] = "l"
    side: ClassVar[Side] = "at least"

    @property
    def needs(self) -> tuple[str, ...]:
        """The sensitive attribute and the column of wishes."""
        return tuple(dict.fromkeys((self.attribute, self.wish)))

    @property
    def on_labels(self) -> Criterion:
        """Labels that differ have values that differ."""
        return OfLabels(self, quasi=self.quasi)

    @property
    def least_size(self) -> int:
        """l records, for l values."""
        return self.l

    def sentence(self) -> str:
        """The promise in words."""
        values = "value" if self.l == 1 else "different values"
        return (
            f'In every group of records that look alike, "{self.attribute}" takes at least {self.l} {values}, '
            f'and as many as the greatest wish in "{self.wish}" among them.'
        )

    def holds(self, classes: ClassesView) -> Flags:
        """Which classes satisfy it."""
        values = np.diff(classes.histogram(self.attribute).start)
        found: Flags = (values >= self.l) & (values >= greatest_wishes(self, classes.histogram(self.wish)))
        return found

    def audit(self, groups: Groups) -> Finding:
        """What the released rows say: the fewest different values."""
        variety = groups.counts(self.attribute).group_by("class").agg(values=pl.col("value").len())
        asked = variety.join(released_wishes(groups, self.wish), on="class")
        fails = (pl.col("values") < self.l) | (pl.col("values") < pl.col("wish"))
        fewest, failing = asked.select(pl.col("values").min(), fails.sum().alias("failing")).row(0)
        return Finding(failing == 0, int(fewest), self.l, int(failing))
