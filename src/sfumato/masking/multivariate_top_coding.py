"""Multivariate top coding: rows outside a robust ellipsoid are pulled back to it (Templ, Statistical Disclosure Control
for Microdata, 2017)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.masked import Change, Context, Fact, MaskStep, as_numbers, numbers_of, refuse_constant
from sfumato.core.parameters import Real
from sfumato.core.wording import percent, quoted
from sfumato.errors import ColumnError
from sfumato.masking.moments import complete_rows, decimals, unit_of
from sfumato.masking.robust import chi_square_quantile, robust_moments, squared_distances


@dataclass(frozen=True)
class MultivariateTopCoding(MaskStep):
    """Pull rows that lie far out in several columns together back, along the ray to the robust centre.

    A row lies out where its robust distance is beyond what a share alpha of normal rows would reach; it comes to lie at
    that distance. Rows with a missing value stay as they are, unless one of the others is beyond all of the ellipsoid,
    and becomes its end.

    alpha: the share of normal rows that would lie out.
    """

    alpha: Annotated[Any, Real(0, 0.5, above=True)] = 0.025

    kinds = ("number",)
    leaves = (
        "It is known of each row at the edge that it lies farther out; all others are released as they are. Whoever"
        " knows one value of a changed row learns its other values."
    )

    def sentence(self) -> str:
        """What it does."""
        return f"rows beyond the robust distance that {percent(self.alpha)} of normal rows reach are pulled back to it"

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Pull rows that lie out back, and cut single columns at the ends of the ellipsoid."""
        x, names = numbers_of(columns, self), columns.columns
        refuse_constant(x, names, self)
        known = complete_rows(x, self)
        centre, covariance = robust_moments(x[known])
        sd = np.sqrt(np.maximum(np.diag(covariance), 0))
        if flat := [name for name, width in zip(names, sd, strict=True) if not width > 0]:
            what = f"{self.name}: nearly all values of {quoted(flat)} are equal"
            raise ColumnError(what, hint="use top-bottom-coding for such columns")
        reach = chi_square_quantile(1 - float(self.alpha), len(names))
        distance = squared_distances(x[known], centre, covariance)
        out = distance > reach
        rows, y, facts = known[out], x.copy(), []
        y[rows] = centre + (x[rows] - centre) * np.sqrt(reach / distance[out])[:, None]
        for i, name in enumerate(names):
            digits = decimals(sd[i], unit_of(x[:, i]), exact=True)  # others would tell which rows were pulled
            ends = (centre[i] + np.array([-1, 1]) * np.sqrt(reach) * sd[i]) * 10.0**digits
            low, high = (float(np.round(end / 10.0**digits, digits)) for end in (np.floor(ends[0]), np.ceil(ends[1])))
            y[rows, i] = np.round(y[rows, i], digits)
            y[:, i] = np.clip(y[:, i], low, high)
            facts.append(Fact("between", (name,), {"low": low, "high": high}))
        return Change(as_numbers(columns, y), facts=tuple(facts))
