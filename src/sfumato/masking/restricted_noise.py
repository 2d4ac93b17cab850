"""Noise under which means and covariances of the sample stay exactly (Brand, "Microdata protection through noise
addition", Inference Control in Statistical Databases, LNCS 2316, 2002)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.covariance import mean_and_covariance, root
from sfumato.core.masked import Change, Context, MaskStep, as_numbers, numbers_of, refuse_constant
from sfumato.core.parameters import Real
from sfumato.core.wording import number
from sfumato.masking.moments import FEWEST, MOST, are_enough, complete_rows, normals, patterns, refuse_far, same_moments


@dataclass(frozen=True)
class RestrictedNoise(MaskStep):
    """Add correlated normal noise, then restore means, variances and covariances exactly.

    share: the standard deviation of the noise, as a share of that of each column. Rows that have values in the same
    columns keep their means and covariances, where they are ten, and two more than these columns; a few rows with
    missing values of their own kind keep them on average. Whole numbers become decimals.
    """

    share: Annotated[Any, Real(0, MOST, above=True)] = 0.5

    kinds = ("number",)
    leaves = (
        "Noise hides a value less the farther it lies from all others; several releases of a table average it out."
        " Whoever knows all rows but one learns that one from the means."
    )

    def sentence(self) -> str:
        """What it does."""
        return (
            f"correlated normal noise is added, of {number(self.share)} times the standard deviation of each column,"
            " then means and covariances are restored exactly"
        )

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Add noise to the columns together, then map rows linearly, so that moments are those of the originals."""
        x, share = numbers_of(columns, self), float(self.share)
        refuse_constant(x, columns.columns, self)
        refuse_far(x, columns.columns, self)
        rows, w = complete_rows(x, self, FEWEST), context.weights
        mean, covariance = mean_and_covariance(x[rows], None if w is None else w[rows])
        z = x + share * normals(context.random, columns.columns, len(x)) @ root(covariance)
        y = (z - mean) / np.sqrt(1 + share**2) + mean
        for rows, known in patterns(x):
            at = np.ix_(rows, known)
            if are_enough(x[at]):
                y[at] = restored(x[at], z[at], None if w is None else w[rows])
        return Change(as_numbers(columns, y), facts=same_moments(columns.columns, context))


def restored(x: np.ndarray, z: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Rows `z` mapped linearly, so that their means and covariances are those of `x`."""
    (mean, covariance), (found, spread) = mean_and_covariance(x, weights), mean_and_covariance(z, weights)
    sd = np.sqrt(np.diag(covariance))
    return np.asarray((z - found) @ root(spread, -0.5, sd) @ root(covariance, 0.5, sd) + mean)
