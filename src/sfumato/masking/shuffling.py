"""Data shuffling (Muralidhar and Sarathy, "Data shuffling: a new masking approach for numerical data", Management
Science 52, 2006)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
import polars as pl

from sfumato.core.covariance import mean_and_covariance, root
from sfumato.core.masked import Change, Context, Fact, MaskStep, kind_of_column
from sfumato.core.parameters import ColumnNames
from sfumato.core.printed import plain_values
from sfumato.core.random_stream import RandomStream
from sfumato.core.wording import count, quoted
from sfumato.errors import ColumnError
from sfumato.masking.moments import normals

LEAST = 0.001  # of the variance of a column that a fit must leave: with less, hardly a value would move
MOST = 100  # categories of a column that others are fitted on: each has a coefficient


@dataclass(frozen=True)
class Shuffling(MaskStep):
    """Give the values of each column to other rows, so that its relations to the other columns stay.

    The columns are fitted on those named in `given`, by their normal scores; residuals with the covariance that the
    fit leaves are drawn for each row, and the values of a column go to the rows in the order of what is drawn. All
    values stay, each as often; rank correlations stay nearly. Without `given` only those among the columns do.

    given: columns whose relations to the shuffled ones stay.
    """

    given: Annotated[Any, ColumnNames()] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if both := [name for name in self.given if name in self.columns]:
            raise self.refuse(f"{quoted(both)} cannot be both shuffled and given", hint="name each column once")

    kinds = ("number", "date")
    leaves = "All values are released, so that a value that only one person can have still tells that they are there."

    @property
    def needs(self) -> tuple[str, ...]:
        """The columns that others are fitted on."""
        return tuple(name for name in self.given if name not in self.by)

    def sentence(self) -> str:
        """What it does."""
        fitted = f" fitted on {quoted(self.given)}" if self.given else ""
        return f"values are shuffled between rows in the order of a random draw{fitted}; each stays as often as it was"

    def apply(self, columns: pl.DataFrame, context: Context) -> Change:
        """Shuffle the known values of each column."""
        names, rows = columns.columns, columns.height
        random = context.random.part("scores")
        scores = np.column_stack([self._scores(columns.get_column(name), random) for name in names])
        brought = [self._fitted_on(context.table.get_column(name), random) for name in self.given]
        design = np.column_stack([np.ones(rows), *brought])
        known = ~np.isnan(scores).any(axis=1)
        least = design.shape[1] + len(names) + 1
        if known.sum() < least:
            got = f"{count(int(known.sum()), 'complete row')} for {count(design.shape[1] - 1, 'predictor')}"
            raise ColumnError(f"{self.name}: too few rows to fit", got=got, allowed=f"at least {least}")
        w = None if context.weights is None else context.weights[known]
        pull = np.ones((int(known.sum()), 1)) if w is None else np.sqrt(w / w.mean())[:, None]
        slopes = np.linalg.lstsq(design[known] * pull, scores[known] * pull, rcond=None)[0]
        fit = design @ slopes
        _, left = mean_and_covariance(scores[known] - fit[known], w)
        _, before = mean_and_covariance(scores[known], w)
        if fixed := [name for name, share in zip(names, np.diag(left) / np.diag(before), strict=True) if share < LEAST]:
            what = (
                f"{self.name}: the given columns nearly determine {quoted(fixed)}, so that values would stay in place"
            )
            raise ColumnError(what, hint="leave out of given what follows from the columns, or shuffle it too")
        drawn = fit + normals(context.random, names, rows) @ root(left)
        made = [_in_order(columns.get_column(name), drawn[:, i]) for i, name in enumerate(names)]
        return Change(pl.DataFrame(made), facts=(Fact("marginals", tuple(names)),))

    def _scores(self, column: pl.Series, random: RandomStream) -> np.ndarray:
        """Normal scores by rank, nan where a value is missing: those of a sorted normal sample (Bell and Doksum 1965);
        equal values share the mean of theirs."""
        if kind_of_column(column) == "category":
            raise ColumnError(f'{self.name} takes columns of numbers or dates, and "{column.name}" is none')
        x = plain_values(column).to_physical().cast(pl.Float64).fill_null(np.nan).to_numpy()
        there = ~np.isnan(x)
        if not there.any() or np.ptp(x[there]) == 0:
            raise ColumnError(f'{self.name}: "{column.name}" has no two different values', hint="leave it out")
        drawn = np.sort(random.generator().standard_normal(int(there.sum())))  # for all columns the same
        order = np.argsort(x[there], kind="stable")
        ascending = x[there][order]
        starts = np.flatnonzero(np.append(True, ascending[1:] != ascending[:-1]))
        often = np.diff(starts, append=len(order))
        found = np.full(len(x), np.nan)
        found[np.flatnonzero(there)[order]] = np.repeat(np.add.reduceat(drawn, starts) / often, often)
        return found

    def _fitted_on(self, column: pl.Series, random: RandomStream) -> np.ndarray:
        """What a column brings to the fit: its scores, 0 and a mark of their own where they are missing; of categories
        a mark each."""
        if kind_of_column(column) != "category":
            if column.drop_nulls().n_unique() < 2:
                return np.empty((len(column), 0))
            scores = self._scores(column, random)
            marks = [np.isnan(scores).astype(float)] if np.isnan(scores).any() else []
            return np.column_stack([np.nan_to_num(scores), *marks])
        if column.n_unique() > MOST:
            got = f'more than {MOST} in "{column.name}"'
            raise ColumnError(f"{self.name}: a column that others are fitted on has too many categories", got=got)
        return column.to_dummies(drop_first=True).to_numpy().astype(float)


def _in_order(column: pl.Series, drawn: np.ndarray) -> pl.Series:
    """The known values of a column, given to rows in the order of what was drawn for them."""
    column = plain_values(column)
    rows = np.flatnonzero(column.is_not_null().to_numpy())
    rows = rows[np.argsort(drawn[rows], kind="stable")]
    taken = np.full(len(column), -1)
    taken[rows] = np.arange(len(rows))
    values = column.drop_nulls().sort()
    return values.gather(pl.Series(taken).set(pl.Series(taken < 0), None)).alias(column.name)
