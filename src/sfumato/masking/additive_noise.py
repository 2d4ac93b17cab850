"""Additive noise, of each column by itself (Kim, "A method for limiting disclosure in microdata based on random noise
and transformation", ASA Survey Research Methods 1986)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.masked import Change, Context, MaskStep
from sfumato.core.parameters import Real, YesNo
from sfumato.core.wording import number
from sfumato.masking.moments import MOST, Moments, looked_at, moments_of, normals, on_grid


@dataclass(frozen=True)
class AdditiveNoise(MaskStep):
    """Add normal noise to each column of numbers, of a share of its standard deviation.

    share: the standard deviation of the noise, as a share of that of the column. zeros: whether zeros stay zeros, as
    where they say that somebody has no income at all.
    """

    share: Annotated[Any, Real(0, MOST, above=True)] = 0.5
    zeros: Annotated[bool, YesNo()] = False

    kinds = ("number",)
    stored = "rows"
    leaves = (
        "Noise hides a value less the farther it lies from all others; several columns of a person, or several releases"
        " with noise of their own, average it out. Variances grow, and correlations become weaker."
    )

    def sentence(self) -> str:
        """What it does."""
        but = "; zeros stay" if self.zeros else ""
        return f"normal noise is added, of {number(self.share)} times the standard deviation of each column{but}"

    def look(self, columns: pl.DataFrame, context: Context) -> Moments:
        """The moments of the columns."""
        return moments_of(columns, context, self)

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Add noise to each column, and round to a grid that tells nothing of what was added."""
        x, seen = looked_at(columns, context, self)
        spread = float(self.share) * seen.deviations
        y = x + normals(context.random, columns.columns, len(x)) * spread
        if self.zeros:
            y = np.where(x == 0, 0.0, y)
        made, facts = on_grid(columns, y, seen.unit, spread, self)
        return Change(made, facts=facts)
