"""Correlated noise, which leaves correlations as they are (Kim 1986; Tendick and Matloff, "A modified random
perturbation method for database security", ACM TODS 19, 1994)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.covariance import root
from sfumato.core.masked import Change, Context, MaskStep
from sfumato.core.parameters import Real, YesNo
from sfumato.core.wording import number
from sfumato.masking.moments import MOST, Moments, looked_at, moments_of, normals, on_grid, refuse_incomplete


@dataclass(frozen=True)
class CorrelatedNoise(MaskStep):
    """Add normal noise whose covariance is that of the columns times a factor, so that correlations stay.

    share: the factor is its square, so that it is to AdditiveNoise what it is there. restore: whether values are then
    drawn towards their mean, so that variances and covariances stay on average too; RestrictedNoise keeps them exactly.
    Linear relations between the columns stay, up to rounding: noisy parts still add up to their noisy total.
    """

    share: Annotated[Any, Real(0, MOST, above=True)] = 0.5
    restore: Annotated[bool, YesNo()] = False

    kinds = ("number",)
    stored = "rows"
    leaves = "Noise hides a value less the farther it lies from all others; several releases of a table average it out."

    def sentence(self) -> str:
        """What it does."""
        then = ", then variances are restored on average" if self.restore else ""
        return f"normal noise is added with the covariance of the columns times {number(float(self.share) ** 2)}{then}"

    def look(self, columns: pl.DataFrame, context: Context) -> Moments:
        """The moments of the columns."""
        return moments_of(columns, context, self, together=True)

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Add noise to the columns together; their covariance is that of the complete rows."""
        x, seen = looked_at(columns, context, self, together=True)
        refuse_incomplete(seen.complete.rows, columns.width, self)
        mean, covariance, share = seen.complete.mean, seen.complete.covariance, float(self.share)
        y = x + share * normals(context.random, columns.columns, len(x)) @ root(covariance)
        shrunk = np.sqrt(1 + share**2) if self.restore else 1.0
        y = (y - mean) / shrunk + mean
        made, facts = on_grid(columns, y, seen.unit, share * np.sqrt(np.diag(covariance)) / shrunk, self)
        return Change(made, facts=facts)
