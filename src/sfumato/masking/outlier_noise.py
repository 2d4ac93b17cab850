"""Noise on outliers only (Templ and Meindl, "Robustification of microdata masking methods and the comparison with
existing methods", Privacy in Statistical Databases, LNCS 5262, 2008)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.covariance import root
from sfumato.core.masked import Change, Context, MaskStep, as_numbers, numbers_of, refuse_constant
from sfumato.core.parameters import Real
from sfumato.core.wording import number, percent
from sfumato.masking.moments import MOST, complete_rows, decimals, normals, refuse_undone, unit_of
from sfumato.masking.robust import chi_square_quantile, robust_moments, squared_distances


@dataclass(frozen=True)
class OutlierNoise(MaskStep):
    """Add noise to outlying rows only, the more the farther they lie out; all others stay as they are.

    A row is outlying where its robust distance from the centre, of all columns together or of one by itself, is beyond
    what a share alpha of normal rows would reach.

    alpha: the share of normal rows that count as outlying. share: the standard deviation of the noise over the robust
    one of the column, of a row that just is outlying; that of a row twice as far out is twice as large. The noise has
    the robust correlations of the columns.
    """

    share: Annotated[Any, Real(0, MOST, above=True)] = 0.5
    alpha: Annotated[Any, Real(0, 0.5, above=True)] = 0.025

    kinds = ("number",)
    leaves = "Rows that are not outlying are released as they are, and an outlier stays one more often than not."

    def sentence(self) -> str:
        """What it does."""
        return (
            f"rows beyond the robust distance that {percent(self.alpha)} of normal rows reach get normal noise that"
            f" grows with their distance, from {number(self.share)} times the robust standard deviation"
        )

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Add noise to outlying rows."""
        x = numbers_of(columns, self)
        refuse_constant(x, columns.columns, self)
        centre, covariance = robust_moments(x[complete_rows(x, self)])
        sd, share = np.sqrt(np.diag(covariance)), float(self.share)
        out = outlyingness(x, centre, covariance, float(self.alpha))
        rows = np.flatnonzero(out > 1)
        e = normals(context.random.at(rows), columns.columns, len(rows)) @ root(covariance)
        y = x.copy()
        y[rows] += share * out[rows, None] * e
        for i, name in enumerate(columns.columns):
            unit = unit_of(x[:, i])
            refuse_undone(name, share * sd[i], unit, self)
            y[rows, i] = np.round(y[rows, i], decimals(share * sd[i], unit, exact=True))
        return Change(as_numbers(columns, y))


def outlyingness(x: np.ndarray, centre: np.ndarray, covariance: np.ndarray, alpha: float) -> np.ndarray:
    """The robust distance of each row over the largest that is not outlying: of all columns, where all are known, or of
    the one that lies farthest out, whose share of alpha is as large as that of the others."""
    d = x.shape[1]
    alone = np.abs(x - centre) / np.sqrt(np.diag(covariance))
    alone /= np.sqrt(chi_square_quantile(1 - alpha / d, 1))
    found = np.nanmax(alone, axis=1, initial=0)
    known = ~np.isnan(x).any(axis=1)
    if d > 1:
        together = np.sqrt(squared_distances(x[known], centre, covariance) / chi_square_quantile(1 - alpha, d))
        found[known] = np.maximum(found[known], together)
    return np.asarray(found)
