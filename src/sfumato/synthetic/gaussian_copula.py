"""Gaussian copula: columns of any kind as cut normal ones; Cario and Nelson, "Modeling and generating random vectors
with arbitrary marginal distributions and correlation matrix", 1997, correlations shrunk as by Schäfer and Strimmer, "A
shrinkage approach to large-scale covariance matrix estimation", 2005."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.covariance import root
from sfumato.core.parameters import YesNo
from sfumato.synthetic.columns import SyntheticColumn, columns_of, decoded, encoded, mostly_alone
from sfumato.synthetic.generator import FitContext, SyntheticGenerator
from sfumato.synthetic.model import FittedModel

GROUPS = 1000  # groups of equal share that numbers of many values are scored in
TERMS = 60  # of the series that ties correlations of scores to those behind them
HALVINGS = 40
NONE = np.empty(0)
FEW = 5.0  # rows that the mean of a level is drawn to the overall one with
EFFECTS = 256  # levels of other columns that the effect of a level is looked for in, all in all


@dataclass(frozen=True)
class GaussianCopula(SyntheticGenerator):
    """Columns as cuts of normal ones: each keeps its own distribution, and pairs their correlation of scores.

    Behind each column stands a normal one. Its values, in order, are pieces of it, as wide as they are frequent;
    the scores of a value are the mean of its piece. Correlations behind are those under which the correlations of the
    scores are those of the table, shrunk towards none (`shrink`) by as much as chance is in them. Categories without
    an order get one, by their effect on the other columns: the first principal direction of what these are like in
    each level. Which values are missing has a normal column of its own. Of numbers that most rows have alone, those
    between two are drawn.

    shrink: whether correlations are drawn towards none by as much as chance is in them.
    """

    shrink: Annotated[Any, YesNo()] = True

    leaves: ClassVar[str] = (
        "Values are those of the table: one that only one person can have still tells that they are in it. How columns "
        "go together beyond a correlation of ranks is lost."
    )

    @property
    def pairs(self) -> bool:
        """Pairs keep a correlation, and two columns of two values each all of it: others do not."""
        return False

    def sentence(self) -> str:
        """How the rows were made."""
        shrunk = "shrunk " if self.shrink else ""
        return f"rows of a Gaussian copula: the distribution of each column, tied by {shrunk}correlations of scores"

    def fit(self, table: pl.DataFrame, context: FitContext) -> GaussianCopulaModel:
        """Cuts of each column, and the correlations behind them."""
        columns = columns_of(table)
        coded = [_ranked(column, x) for column, x in zip(columns, encoded(table, columns), strict=True)]
        coded = ordered_by_effect(columns, coded)
        lacks = [i for i, (code, points) in enumerate(coded) if len(points) and (code < 0).any()]
        codes = [*(code for code, _ in coded), *((coded[i][0] < 0).astype(np.int64) for i in lacks)]
        cuts = [cuts_of(code) for code in codes]
        gone = np.full(len(columns), -1)
        gone[lacks] = len(columns) + np.arange(len(lacks))
        behind = latent_correlations(codes, cuts, self.shrink)
        factor = root(behind)
        length = np.sqrt((factor**2).sum(axis=0))
        values = tuple(points for _, points in coded)
        centres = tuple(
            scores_of(code, cut) if column.is_number and mostly_alone(np.bincount(code[code >= 0]), len(code)) else NONE
            for column, code, cut in zip(columns, codes, cuts, strict=False)
        )
        between = factor / np.where(length > 0, length, 1.0)
        return GaussianCopulaModel(columns, between, tuple(cuts), values, centres, gone)


@dataclass(frozen=True, eq=False, repr=False)
class GaussianCopulaModel(FittedModel):
    """The values of each column, the cuts between them, and the correlations behind."""

    parts: ClassVar[tuple[type, ...]] = (SyntheticColumn,)

    columns: tuple[SyntheticColumn, ...]
    factor: np.ndarray
    cuts: tuple[np.ndarray, ...]  # of each column behind, those of values first, of missing ones after
    values: tuple[np.ndarray, ...]
    centres: tuple[np.ndarray, ...]  # of the pieces, where numbers are drawn between those of rows; else empty
    gone: np.ndarray  # the column behind that tells where a column is missing; -1 for none

    def draw(self, rows: int, rng: np.random.Generator) -> pl.DataFrame:
        """Normal rows, cut into values."""
        z = (rng.standard_normal((rows, len(self.factor))) @ self.factor).T
        found = []
        for i, (column, points) in enumerate(zip(self.columns, self.values, strict=True)):
            missing = np.nan if column.is_number else -1
            if len(self.centres[i]):
                x = np.interp(z[i], self.centres[i], points)
            else:
                x = points[np.searchsorted(self.cuts[i], z[i])] if len(points) else np.full(rows, missing)
            if self.gone[i] >= 0:
                x = np.where(np.searchsorted(self.cuts[self.gone[i]], z[self.gone[i]]) > 0, missing, x)
            found.append(x)
        return decoded(self.columns, found)


def _ranked(column: SyntheticColumn, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rank of each value among the different ones, -1 where it is missing, and these."""
    missing = np.isnan(x) if column.is_number else x < 0
    points, rank = np.unique(x[~missing], return_inverse=True)
    code = np.full(len(x), -1, np.int64)
    code[~missing] = rank
    return code, points


def ordered_by_effect(
    columns: Sequence[SyntheticColumn], coded: Sequence[tuple[np.ndarray, np.ndarray]]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The same columns with the levels of categories that have no order put into one: along the first principal
    direction of what the other columns are like in each level."""
    found = list(coded)
    most = max(EFFECTS // max(len(columns), 1), 2)
    marks = [_marks(column, code, len(points), most) for column, (code, points) in zip(columns, coded, strict=True)]
    for i, (column, (code, points)) in enumerate(zip(columns, coded, strict=True)):
        if column.is_number or isinstance(column.like.dtype, pl.Enum) or len(points) < 3:
            continue
        there = code >= 0
        size = np.bincount(code[there], minlength=len(points))
        effects = [_effect(code[there], size, mark[there], shares) for j, (mark, shares) in enumerate(marks) if j != i]
        if not effects:
            continue
        means = np.concatenate(effects, axis=1)
        _, _, directions = np.linalg.svd(np.sqrt(size)[:, None] * means, full_matrices=False)
        direction = directions[0] * np.sign(directions[0][np.argmax(np.abs(directions[0]))] or 1.0)
        order = np.argsort(means @ direction, kind="stable")
        rank = np.empty(len(points), np.int64)
        rank[order] = np.arange(len(points))
        found[i] = np.where(there, rank[code], -1), points[order]
    return found


def _marks(column: SyntheticColumn, code: np.ndarray, levels: int, most: int) -> tuple[np.ndarray, np.ndarray]:
    """What a column tells of the levels of others: scores of numbers, with no shares; of categories the more frequent
    levels, with their shares, and a last one for the rest."""
    if column.is_number or not levels:
        score = np.concatenate([scores_of(code, cuts_of(code)), [0.0]])
        return score[code], np.empty(0)
    size = np.bincount(code[code >= 0], minlength=levels)
    top = np.argsort(-size, kind="stable")[:most]
    place = np.full(levels + 1, len(top))
    place[top] = np.arange(len(top))
    return place[code], size[top] / size.sum()


def _effect(code: np.ndarray, size: np.ndarray, mark: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """What another column is like in each level: its mean score, or shares beside those of all rows, in the metric of
    correspondence analysis; drawn to the overall where a level has few rows."""
    if not len(shares):
        return (np.bincount(code, weights=mark, minlength=len(size)) / (size + FEW))[:, None]
    wide = len(shares) + 1
    both = np.bincount(code * wide + mark, minlength=len(size) * wide).reshape(-1, wide)[:, :-1]
    return np.asarray((both - size[:, None] * shares) / (size[:, None] + FEW) / np.sqrt(shares))


def cuts_of(code: np.ndarray) -> np.ndarray:
    """The points that cut a standard normal column into pieces as wide as codes are frequent.

    >>> cuts_of(np.array([0, 0, 1, 1, -1])).tolist()
    [0.0]
    """
    often = np.bincount(code[code >= 0])
    shares = np.cumsum(often)[:-1] / max(often.sum(), 1)
    return np.fromiter(map(NormalDist().inv_cdf, shares.tolist()), np.float64, len(shares))


def scores_of(code: np.ndarray, cuts: np.ndarray) -> np.ndarray:
    """The mean of each piece of a standard normal column."""
    if not (code >= 0).any():
        return np.empty(0)
    often = np.bincount(code[code >= 0])
    edge = np.concatenate([[0.0], _density(cuts), [0.0]])
    return np.asarray((edge[:-1] - edge[1:]) / (often / often.sum()))


def _density(x: np.ndarray) -> np.ndarray:
    return np.exp(-x * x / 2) / np.sqrt(2 * np.pi)


def latent_correlations(codes: Sequence[np.ndarray], cuts: Sequence[np.ndarray], shrink: bool) -> np.ndarray:
    """The correlations of normal columns under which the scores of their pieces covary as those of some codes do.

    By Mehler's formula the covariance of two scores is the sum of a_k b_k r^k, where r is the correlation behind them,
    and a_k, b_k are the coefficients of the scores in normalised Hermite polynomials; it grows with r.
    """
    scored = [_series(code, cut) for code, cut in zip(codes, cuts, strict=True)]
    s = np.column_stack([score for score, _ in scored])
    a = np.column_stack([coefficients for _, coefficients in scored])  # [terms, columns]
    there = np.column_stack([code >= 0 for code in codes]).astype(np.float64)
    n = np.maximum(there.T @ there, 1.0)
    means = s.T @ there / n
    covariance = s.T @ s / n - means * means.T
    low, high = np.full_like(n, -1.0), np.ones_like(n)
    series = a[:, :, None] * a[:, None, :]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        value = np.zeros_like(n)
        for term in series[::-1]:
            value = (value + term) * middle
        low, high = np.where(value < covariance, middle, low), np.where(value < covariance, high, middle)
    deviation = np.sqrt(np.clip(np.diag(covariance), 0.0, None))
    flat = deviation < 1e-9
    correlation = np.where(flat[:, None] | flat, 0.0, (low + high) / 2)
    if shrink:
        z = s / np.where(flat, 1.0, deviation)
        r = z.T @ z / n
        variance = n / np.maximum(n - 1, 1.0) ** 3 * np.clip((z * z).T @ (z * z) - n * r * r, 0.0, None)
        np.fill_diagonal(variance, 0.0)
        np.fill_diagonal(r, 0.0)
        total = float((r * r).sum())
        correlation = correlation * (1 - (min(float(variance.sum()) / total, 1.0) if total > 0 else 1.0))
    np.fill_diagonal(correlation, 1.0)
    return np.asarray(correlation)


def _series(code: np.ndarray, cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The score of each row, 0 where it is missing, and the coefficients of the scores in Hermite polynomials."""
    often = np.bincount(code[code >= 0])
    if len(often) > 2 * GROUPS:  # neighbours of small share are scored together
        middle = (np.cumsum(often) - often / 2) / often.sum()
        group = np.unique(np.floor(middle * GROUPS), return_inverse=True)[1]
        code = np.concatenate([group, [-1]])[code]
        cuts = cuts[np.flatnonzero(np.diff(group))]
    score = scores_of(code, cuts)
    step = np.diff(score)  # the coefficient is the sum of steps times what lies above each cut
    function, before = _density(cuts), np.zeros(len(cuts))  # of the polynomial times the density
    found = np.empty(TERMS)
    for k in range(TERMS):
        found[k] = (step * function).sum() / np.sqrt(k + 1)
        function, before = (cuts * function - np.sqrt(k) * before) / np.sqrt(k + 1), function
    return np.concatenate([score, [0.0]])[code], found
