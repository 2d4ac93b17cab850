"""Multivariate normal rows, with exact moments where asked; Mateo-Sanz, Martínez-Ballesté and Domingo-Ferrer, "Fast
generation of accurate synthetic microdata", Privacy in Statistical Databases 2004."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.covariance import mean_and_covariance, root
from sfumato.core.parameters import YesNo
from sfumato.core.wording import count, quoted
from sfumato.errors import ColumnError, PolicyError
from sfumato.synthetic.columns import SyntheticColumn, columns_of, decoded, encoded
from sfumato.synthetic.generator import FitContext, SyntheticGenerator
from sfumato.synthetic.model import FittedModel

RANK = 1e-9  # of the largest length of a column of the factor: less is a linear relation


@dataclass(frozen=True)
class MultivariateNormal(SyntheticGenerator):
    """Rows of a normal distribution with the means and covariances of the columns, which are numbers or dates.

    exact: the rows that are drawn have these means and covariances (n - 1) themselves, and not just on average: they
    are centred, and turned so. Decimals then have all digits, numbers may lie beyond the range of their column, and
    whole numbers and dates are exact up to their rounding. Otherwise values are cut to the range, and rounded to the
    grid, of their column.

    Moments are those of rows without missing values, and linear relations among columns stay. Which values are missing
    is drawn as in the table, whatever the values are.
    """

    exact: Annotated[Any, YesNo()] = False

    kinds: ClassVar[tuple[str, ...]] = ("number",)
    leaves: ClassVar[str] = (
        "Means and covariances tell of people where these are few: whoever knows all rows but one learns that one "
        "from exact moments. What is not normal in the columns is lost."
    )

    @property
    def pairs(self) -> bool:
        """Covariances are kept, and no more of how two columns go together."""
        return False

    @property
    def bounded(self) -> bool:
        """Exact moments leave no room for that."""
        return not self.exact

    def sentence(self) -> str:
        """How the rows were made."""
        kept = ", recoloured so that these are exact" if self.exact else ""
        return f"rows of a normal distribution with the means and covariances of the columns{kept}"

    def fit(self, table: pl.DataFrame, context: FitContext) -> MultivariateNormalModel:
        """Means and covariances of the complete rows."""
        columns = columns_of(table)
        if others := [column.name for column in columns if not column.is_number]:
            hold = "holds" if len(others) == 1 else "hold"
            what = f"{self.name} takes columns of numbers, and {quoted(others)} {hold} categories"
            raise ColumnError(what, hint="leave them out, or use gaussian-copula")
        x = np.column_stack(encoded(table, columns))
        known = ~np.isnan(x)
        complete = x[known.all(axis=1)]
        if len(complete) < x.shape[1] + 2:
            got = f"{count(len(complete), 'complete row')} for {count(x.shape[1], 'column')}"
            hint = "leave out the columns with the most missing values"
            allowed = f"at least {x.shape[1] + 2}"
            raise ColumnError(f"{self.name}: too few rows have all values", got=got, allowed=allowed, hint=hint)
        mean, covariance = mean_and_covariance(complete, None)
        lacking, often = np.unique(~known, axis=0, return_counts=True)
        kept = tuple(column.unbounded() for column in columns) if self.exact else columns
        return MultivariateNormalModel(kept, mean, root(covariance), lacking, often, self.exact)


@dataclass(frozen=True, eq=False, repr=False)
class MultivariateNormalModel(FittedModel):
    """Means, a root of the covariances, and which values are missing how often."""

    parts: ClassVar[tuple[type, ...]] = (SyntheticColumn,)

    columns: tuple[SyntheticColumn, ...]
    mean: np.ndarray
    factor: np.ndarray  # uncorrelated numbers times it have the covariances
    lacking: np.ndarray  # sets of columns that are missing together, one a row
    often: np.ndarray
    exact: bool

    def draw(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """Normal rows."""
        x = self.mean + normal_rows(self.factor, rows, rng, self.exact)
        if self.lacking.any():
            x[self.lacking[rng.choice(len(self.often), rows, p=self.often / self.often.sum())]] = np.nan
        return decoded(self.columns, list(x.T))


def normal_rows(factor: np.ndarray, rows: int, rng: np.random.Generator, exact: bool) -> np.ndarray:
    """Rows about zero with the covariances that a factor stands for; `exact`, those of the rows themselves."""
    if not exact:
        return np.asarray(rng.standard_normal((rows, len(factor))) @ factor)
    _, lengths, directions = np.linalg.svd(factor)
    rank = int((lengths > RANK * lengths.max(initial=0)).sum())
    if rows < rank + 1:
        what = f"exact covariances of {count(rank, 'column')} need more rows than columns"
        raise PolicyError(what, got=count(rows, "row"), hint="ask for more rows, or for moments that are not exact")
    return np.sqrt(rows - 1) * orthonormal(rows, rank, rng) @ (lengths[:rank, None] * directions[:rank])


def orthonormal(rows: int, columns: int, rng: np.random.Generator, sets: tuple[int, ...] = ()) -> np.ndarray:
    """Random orthonormal columns of mean zero, fewer than rows; `sets` of them."""
    drawn = rng.standard_normal((*sets, rows, columns))
    q, r = np.linalg.qr(drawn - drawn.mean(axis=-2, keepdims=True))
    return np.asarray(q * np.sign(np.diagonal(r, axis1=-2, axis2=-1))[..., None, :])
