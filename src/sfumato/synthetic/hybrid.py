"""Hybrid tables: groups of near rows, drawn anew with the moments of each; Domingo-Ferrer and González-Nicolás, "Hybrid
microdata using microaggregation", Information Sciences 180, 2010."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.parameters import Whole, YesNo
from sfumato.core.wording import count, number
from sfumato.errors import ColumnError
from sfumato.search.microaggregation.groups import grouped, standardised
from sfumato.search.microaggregation.mdav import mdav_groups
from sfumato.search.microaggregation.step import BLOCK, by_missing
from sfumato.synthetic.columns import SyntheticColumn, columns_of, decoded, encoded
from sfumato.synthetic.generator import FitContext, SyntheticGenerator
from sfumato.synthetic.model import FittedModel
from sfumato.synthetic.multivariate_normal import orthonormal

LEAST = 3  # rows of a group: two rows with the same mean and variance are the same two rows


@dataclass(frozen=True)
class Hybrid(SyntheticGenerator):
    """Groups of at least k near rows (MDAV), whose numbers are drawn anew with the mean and covariances of each group.

    k: the least number of rows of a group. exact: whether means and covariances stay exactly, where as many rows are
    drawn as were learnt from.

    k runs from 3, where rows are near those of people, to the number of rows, where they are those of one normal
    distribution. It must be larger than the number of columns of numbers, those left out that follow from others: k
    people and the rows drawn for them lie in one plane of k - 1 dimensions, and whoever is known by more numbers than
    that is found in it, and all their numbers with them.

    Where as many rows are drawn as were learnt from, all means and covariances of numbers stay; they do so exactly
    (`exact`) where numbers may have all decimals and lie beyond the range of their column, whole numbers and dates up
    to their rounding; else values are cut to the range, and rounded to the grid, of their column. Of other columns,
    values are exchanged within each group, each column for itself, so that their counts stay.

    Rows that lack the same numbers are grouped among themselves; where fewer than k do, their other numbers are left
    out, too, and where fewer than k rows are left so, they are.
    """

    k: Annotated[Any, Whole(LEAST)] = 10
    exact: Annotated[Any, YesNo()] = True

    leaves: ClassVar[str] = (
        "Means and covariances of each group are those of k people: with few, rows lie near theirs, and what all of a "
        "group share comes back. Categories stay in their group."
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
        return (
            f"groups of at least {number(self.k)} near rows, whose numbers are drawn with the mean and covariances of "
            "the group, and whose other values are exchanged within it"
        )

    def fit(self, table: pl.DataFrame, context: FitContext) -> HybridModel:
        """Group the rows, and keep the moments of each group."""
        columns = columns_of(table)
        values = encoded(table, columns)
        numbers = [i for i, column in enumerate(columns) if column.is_number]
        if not numbers:
            raise ColumnError(f"{self.name} groups rows by their numbers, and no column has any")
        x = np.column_stack([values[i] for i in numbers])
        if self.k <= (free := _dimensions(x)):
            what = f"groups of k rows give their people away where {count(free, 'number')} of a row can vary freely"
            raise self.refuse(what, got=f"k={self.k}", allowed=f"{free + 1} or more")
        group = self._groups(x)
        order = np.flatnonzero(group >= 0)
        if not len(order):
            raise self.refuse("k is larger than the number of rows that lack the same values", got=f"k={self.k}")
        order = order[np.argsort(group[order], kind="stable")]
        sizes = np.bincount(group[order])
        codes = [values[i][order] for i in range(len(columns)) if i not in numbers]
        kept = tuple(column.unbounded() if self.exact and column.is_number else column for column in columns)
        return HybridModel(
            kept,
            np.array(numbers),
            sizes,
            *_moments(x[order], sizes),
            np.stack(codes) if codes else np.empty((0, len(order)), np.int32),
        )

    def _groups(self, x: np.ndarray) -> np.ndarray:
        """The group of each row, -1 where it is left out; those that lost their numbers have nan in all of them."""
        n = len(x)
        group, made = np.full(n, -1), 0
        z = standardised(x)
        for rows, there in by_missing(np.isnan(x), self.k if self.k < n else LEAST):
            found = np.zeros(len(rows), np.int64)
            if self.k < n:
                found = grouped(z[np.ix_(rows, there)], self.k, mdav_groups, BLOCK)
            group[rows] = found + made
            made += int(found.max()) + 1
        rest = np.flatnonzero(group < 0)
        x[rest] = np.nan
        if len(rest) >= min(self.k, n):
            group[rest] = made
        return group


def _dimensions(x: np.ndarray) -> int:
    """How many numbers of a row can vary freely: the rank of their correlations."""
    z = np.nan_to_num(standardised(x))
    return int(np.linalg.matrix_rank(z.T @ z / len(z), tol=1e-12, hermitian=True))


def _moments(x: np.ndarray, sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The mean of each group, nan where values are missing, and a root of its covariances, [groups, rank, columns]."""
    p = x.shape[1]
    starts = np.cumsum(sizes) - sizes
    means = np.empty((len(sizes), p))
    roots = np.zeros((len(sizes), min(p, int(sizes.max()) - 1), p))
    for size in np.unique(sizes).tolist():
        which = np.flatnonzero(sizes == size)
        rows = x[starts[which][:, None] + np.arange(size)]
        means[which] = rows.mean(axis=1)
        means[which] += (rows - means[which][:, None]).mean(axis=1)  # what rounding took of a mean far from zero
        _, lengths, directions = np.linalg.svd(np.nan_to_num(rows - means[which][:, None]), full_matrices=False)
        rank = min(p, size - 1)
        roots[which, :rank] = (lengths[:, :, None] * directions)[:, :rank] / np.sqrt(size)
    return means, roots


@dataclass(frozen=True, eq=False, repr=False)
class HybridModel(FittedModel):
    """Moments of groups, and the categories of their rows."""

    parts: ClassVar[tuple[type, ...]] = (SyntheticColumn,)

    columns: tuple[SyntheticColumn, ...]
    numbers: np.ndarray  # the columns of numbers
    sizes: np.ndarray  # of the groups
    means: np.ndarray
    roots: np.ndarray
    codes: np.ndarray  # of the other columns, group by group

    def draw(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """As many rows of each group as it has, or in proportion."""
        times, more = divmod(rows, int(self.sizes.sum()))
        often = times * self.sizes + rng.multivariate_hypergeometric(self.sizes, more, method="marginals")
        first = np.cumsum(often) - often
        x = np.empty((rows, len(self.numbers)))
        ranks = np.minimum(self.sizes - 1, x.shape[1])
        for m, rank in sorted({*zip(often.tolist(), ranks.tolist(), strict=True)}):
            which = np.flatnonzero((often == m) & (ranks == rank))
            if m > rank:  # exactly
                made = np.sqrt(m) * orthonormal(m, rank, rng, (len(which),))
            else:
                made = rng.standard_normal((len(which), m, rank))
            at = first[which][:, None] + np.arange(m)
            x[at] = self.means[which][:, None] + made @ self.roots[which, :rank]
        group = np.repeat(np.arange(len(often)), often)
        start = np.cumsum(self.sizes) - self.sizes
        member = start[group] + (np.arange(rows) - first[group]) % self.sizes[group]
        shuffled = rng.permutation(rows)
        own = np.repeat(np.arange(len(self.sizes)), self.sizes)
        found: list[np.ndarray] = [np.empty(0)] * len(self.columns)
        for i, column in zip(self.numbers.tolist(), x.T, strict=True):
            found[i] = column[shuffled]
        others = [i for i in range(len(self.columns)) if not self.columns[i].is_number]
        for i, code in zip(others, self.codes, strict=True):
            exchanged = code[np.lexsort((rng.random(len(code)), own))]
            found[i] = exchanged[member][shuffled]
        return decoded(self.columns, found)
