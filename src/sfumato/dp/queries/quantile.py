"""Quantiles by the exponential mechanism; Smith, "Privacy-preserving statistical estimation with optimal convergence
rates", 2011, over public candidates. Minimum and maximum are quantiles near the ends, never the extremes themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np

from sfumato.core.parameters import Column, Real, Whole, Written
from sfumato.dp.queries.query import Law, Part, Query
from sfumato.dp.rows import PrivateRows
from sfumato.dp.values import CELLS, Public, Unit
from sfumato.errors import PolicyError

FINEST = 10_000  # denominator of q
NEAR = 0.01  # the share of rows that a private minimum has below it


@dataclass(frozen=True)
class Quantile(Query):
    """The value that a share q of the rows is below: one of public candidates, evenly between the bounds.

    Of a column of whole numbers candidates are all of these, where there are not more than `candidates`. Else each
    stands for the numbers that are nearest to it, so that one that many rows have is found.

    q: the share of rows that are below. candidates: how many values there are to choose from.
    """

    column: Annotated[str, Column()]
    q: Annotated[float, Real(0, 1, above=True, below=True)] = 0.5
    candidates: Annotated[int, Whole(2, CELLS)] = 1000
    where: Annotated[Any, Written("text")] = None
    how: ClassVar[str] = (
        "the score of a candidate is how far the rows below and above it are out of balance, which a row changes by "
        "q or 1 - q at most"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 0 < self._share < 1:
            raise PolicyError("q is out of range", got=f"{self.q}", allowed="above 0 and below 1")

    @property
    def _share(self) -> Fraction:
        """q as a fraction, so that scores are whole numbers."""
        return Fraction(self.q).limit_denominator(FINEST)

    @property
    def columns(self) -> tuple[str, ...]:
        """The column."""
        return (self.column,)

    def _points(self, public: Public) -> np.ndarray:
        low, high = public.ends(self.column)
        if self._is_whole(public):
            return np.arange(math.ceil(low), math.floor(high) + 1, dtype=np.float64)
        return np.linspace(low, high, self.candidates)

    def _is_whole(self, public: Public) -> bool:
        """Whether the candidates are all whole numbers that there are."""
        low, high = public.ends(self.column)
        between = math.floor(high) - math.ceil(low)
        return public.schema[self.column].is_integer() and 0 <= between < self.candidates

    def parts(self, public: Public, unit: Unit) -> tuple[Part, ...]:
        """A choice."""
        points = self._points(public)
        below, whole = self._share.numerator, self._share.denominator
        change = float(unit.rows * (max(below, whole - below) if unit.times == 1 else whole))
        return (Part(len(points), 1, candidates=tuple(points.tolist()), score_change=change),)

    def exact(self, rows: PrivateRows) -> list[np.ndarray]:
        """The score of each candidate: minus what is out of balance."""
        known, upto = rows.of(self.columns, self.conditions, needed=self.columns).sorted_upto(self.column)
        points = self._points(rows.public)
        near = 0.0 if self._is_whole(rows.public) else (points[1] - points[0]) / 2
        below, beyond = np.searchsorted(known, points - near), np.searchsorted(known, points + near, side="right")
        above = len(known) - beyond if upto is None else upto[-1] - upto[beyond]
        below = below if upto is None else upto[below]
        share = self._share
        return [-np.abs(below * (share.denominator - share.numerator) - above * share.numerator)]

    def answer(self, noisy: Sequence[Any], scales: Sequence[float], public: Public, law: Law) -> tuple[Any, Any]:
        """The candidate; how near it is to the exact quantile depends on the rows around it, and would cost more."""
        value = noisy[0][0]
        return (int(value) if public.schema[self.column].is_integer() and value == int(value) else value), None
