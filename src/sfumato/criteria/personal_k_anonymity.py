"""Personalised k-anonymity: B. Gedik, L. Liu, Protecting location privacy with personalized k-anonymity, TMC 2008."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import Column, Whole
from sfumato.core.protocols import ClassesView, Flags, HistogramView, Monotonicity, Side
from sfumato.core.wording import count
from sfumato.criteria.audit import Finding, Groups
from sfumato.criteria.model import Model
from sfumato.criteria.search_distance import run_maxima
from sfumato.errors import PolicyError

WISH = re.compile(r"[0-9]{1,15}(\.0*)?")


@dataclass(frozen=True)
class PersonalKAnonymity(Model):
    """Every class has at least k records, and as many as the greatest wish of its members.

    n >= max(k, wishes in the class). A record says in the column `wish` in how large a class it wants to be: a whole
    number, or nothing for no wish. The column is released, so that the promise can be verified. The union of satisfying
    classes satisfies; a record with a greater wish may break the class it joins.

    Parameters: `wish`, the column of wishes, which is sensitive; `k`, how many records every class has at least.

    >>> PersonalKAnonymity("wish", 3).parameters()
    {'wish': 'wish', 'k': 3}
    """

    wish: Annotated[str, Column("sensitive column")]
    k: Annotated[int, Whole(1)] = 1

    monotonicity: ClassVar[Monotonicity] = "merge"
    bounded_by: ClassVar[str] = "k"
    side: ClassVar[Side] = "at least"

    @property
    def needs(self) -> tuple[str, ...]:
        """The column of wishes."""
        return (self.wish,)

    @property
    def least_size(self) -> int:
        """k records."""
        return self.k

    def sentence(self) -> str:
        """The promise in words."""
        records = count(self.k, "record")
        return (
            f"Every group of records that look alike has at least {records}, "
            f'and as many as the greatest wish in "{self.wish}" among them.'
        )

    def holds(self, classes: ClassesView) -> Flags:
        """Which classes satisfy it."""
        asked = greatest_wishes(self, classes.histogram(self.wish))
        found: Flags = (classes.size >= self.k) & (classes.size >= asked)
        return found

    def audit(self, groups: Groups) -> Finding:
        """What the released rows say: the smallest class."""
        sizes = groups.sizes.join(released_wishes(groups, self.wish), on="class")
        fails = (pl.col("size") < self.k) | (pl.col("size") < pl.col("wish"))
        smallest, failing = sizes.select(pl.col("size").min(), fails.sum().alias("failing")).row(0)
        return Finding(failing == 0, int(smallest), self.k, int(failing))


def greatest_wishes(of: Model, histogram: HistogramView) -> np.ndarray:
    """The greatest wish in each class, 0 where nobody has one."""
    return run_maxima(_wishes(of.model, str(getattr(of, "wish", "")), histogram.text)[histogram.value], histogram.start)


@lru_cache(maxsize=8)
def _wishes(model: str, column: str, text: tuple[str | None, ...]) -> np.ndarray:
    """The number that each printed wish is."""
    odd = sum(one is not None and WISH.fullmatch(one) is None for one in text)
    if odd:
        what = f'{model}: {odd} of {len(text)} values of column "{column}" are no wishes'
        raise PolicyError(what, allowed="whole numbers from 0, or nothing for no wish")
    return np.array([0 if one is None else float(one) for one in text], dtype=np.float64)


def released_wishes(groups: Groups, column: str) -> pl.DataFrame:
    """The greatest wish among the released records of each class: class, wish. What is no number nobody can meet."""
    number = pl.col("value").cast(pl.Float64, strict=False).fill_nan(None)
    wish = pl.when(pl.col("value").is_null()).then(0.0).otherwise(number.fill_null(float("inf")))
    return groups.counts(column).group_by("class").agg(wish=wish.max())
