"""Regressions by least squares and by Newton's method, with the parameters that the rows do not tell left out.

P. McCullagh, J. A. Nelder, Generalized Linear Models, 1989.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfumato.core.compiled import kernel

TOLERANCE = 1e-9  # a parameter with less of its own than this is a combination of those before it
STEPS = 25
CONVERGED = 1e-7  # share of the deviance that a step gains at least
FARTHEST = 30.0  # of a linear predictor: beyond, a probability is 0 or 1 to 13 digits


@dataclass(frozen=True, eq=False)
class Design:
    """Rows of a regression: in each column of the table a row has a value for one parameter, or for none (-1).

    The first column is the intercept, and a later column has later parameters.
    """

    index: np.ndarray  # int32 [columns, rows]
    value: np.ndarray  # float64 [columns, rows]
    parameters: int

    def __getitem__(self, rows: np.ndarray) -> Design:
        """Some of the rows."""
        return Design(np.take(self.index, rows, 1), np.take(self.value, rows, 1), self.parameters)

    def products(self, weight: np.ndarray) -> np.ndarray:
        """The products of all parameters' values with each other, summed over the rows, each with its weight."""
        found = np.zeros((self.parameters, self.parameters))
        add_products(self.index, self.value, weight, found)
        return found + np.tril(found, -1).T

    def kept(self, which: np.ndarray) -> Design:
        """The rows with some of the parameters only."""
        place = np.append(np.where(which, np.cumsum(which) - 1, -1), -1).astype(np.int32)
        return self if which.all() else Design(place[self.index], self.value, int(which.sum()))


@kernel
def add_products(index: np.ndarray, value: np.ndarray, weight: np.ndarray, found: np.ndarray) -> None:
    """Add each row's products to the lower triangle: pair by pair of columns, whose part of it stays in the cache."""
    columns, rows = index.shape
    own = np.empty(rows)
    for i in range(columns):
        for row in range(rows):
            own[row] = weight[row] * value[i, row]
        for j in range(i + 1):
            for row in range(rows):
                one, other = index[i, row], index[j, row]
                if one >= 0 and other >= 0:
                    found[one, other] += own[row] * value[j, row]


@kernel
def predict(index: np.ndarray, value: np.ndarray, weights: np.ndarray, found: np.ndarray) -> None:
    """Add to each row its values, each with the weight of its parameter."""
    columns, rows = index.shape
    for i in range(columns):
        for row in range(rows):
            if index[i, row] >= 0:
                found[row] += weights[index[i, row]] * value[i, row]


@kernel
def add_rows(index: np.ndarray, value: np.ndarray, weight: np.ndarray, found: np.ndarray) -> None:
    """Add the values of each row to their parameters, with the weight of the row."""
    columns, rows = index.shape
    for i in range(columns):
        for row in range(rows):
            if index[i, row] >= 0:
                found[index[i, row]] += weight[row] * value[i, row]


@dataclass(frozen=True, eq=False)
class Fit:
    """Estimates and their covariance, nan for parameters that the rows do not tell; and the fitted values."""

    estimate: np.ndarray
    covariance: np.ndarray
    fitted: np.ndarray
    parameters: int  # that are estimated


def independent(gram: np.ndarray) -> np.ndarray:
    """Which parameters are no combination of those before them, by their products with each other.

    >>> x = np.array([[1.0, 0.0, 1.0], [1.0, 1.0, 2.0], [1.0, 2.0, 3.0]])
    >>> independent(x.T @ x).tolist()
    [True, True, False]
    """
    size = np.sqrt(np.maximum(np.diag(gram), 0))
    unit = np.where(size > 0, size, 1.0)
    scaled, found = gram / np.outer(unit, unit), size > 0
    root = np.zeros_like(scaled)
    for j in range(len(scaled)):  # Cholesky, column by column
        own = scaled[j:, j] - root[j:, :j] @ root[j, :j]
        found[j] &= bool(own[0] > TOLERANCE)
        if found[j]:
            root[j:, j] = own / np.sqrt(own[0])
    return found


def logistic(rows: Design, y: np.ndarray) -> Fit:
    """The logistic regression of a column of 0 and 1; where the rows are separated, as far as 25 steps take it."""
    gram = rows.products(np.ones(len(y)))
    kept = independent(gram)
    part, chance = rows.kept(kept), float(y.mean())
    weights = np.zeros(part.parameters)
    if 0 < chance < 1:
        weights[0] = np.log(chance / (1 - chance))
    p, deviance = _chances(part, weights, y)
    hessian = gram[np.ix_(kept, kept)] * (p[0] * (1 - p[0]))  # all chances are still the same
    for _ in range(STEPS):
        step = np.linalg.solve(_firm(hessian), _summed(part, y - p))
        for _halving in range(8):
            p, now = _chances(part, weights + step, y)
            if now <= deviance + 1e-9 * deviance:
                break
            step = step / 2
        weights, gain, deviance = weights + step, deviance - now, now
        hessian = part.products(p * (1 - p))
        if gain < CONVERGED * (deviance + 0.1):
            break
    return _fit(kept, weights, np.linalg.inv(_firm(hessian)), p)


def linear(rows: Design, y: np.ndarray) -> Fit:
    """The least squares regression, with the usual covariance of its estimates."""
    gram = rows.products(np.ones(len(y)))
    kept = independent(gram)
    part, inverse = rows.kept(kept), np.linalg.inv(gram[np.ix_(kept, kept)])
    weights = inverse @ _summed(part, y)
    fitted = _predicted(part, weights)
    free = len(y) - part.parameters
    noise = float(((y - fitted) ** 2).sum() / free) if free > 0 else np.nan
    return _fit(kept, weights, inverse * noise, fitted)


def _predicted(rows: Design, weights: np.ndarray) -> np.ndarray:
    found = np.zeros(rows.index.shape[1])
    predict(rows.index, rows.value, weights, found)
    return found


def _summed(rows: Design, weight: np.ndarray) -> np.ndarray:
    found = np.zeros(rows.parameters)
    add_rows(rows.index, rows.value, weight, found)
    return found


def _chances(rows: Design, weights: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, float]:
    p = 1 / (1 + np.exp(-np.clip(_predicted(rows, weights), -FARTHEST, FARTHEST)))
    return p, -2 * float(np.log(np.where(y > 0, p, 1 - p)).sum())


def _firm(matrix: np.ndarray) -> np.ndarray:
    """The matrix with an inverse: separated rows leave none, to the last digit."""
    return matrix + np.diag(1e-12 * np.diag(matrix) + 1e-14)


def _fit(kept: np.ndarray, weights: np.ndarray, covariance: np.ndarray, fitted: np.ndarray) -> Fit:
    estimate, every = np.full(len(kept), np.nan), np.full((len(kept), len(kept)), np.nan)
    estimate[kept] = weights
    every[np.ix_(kept, kept)] = covariance
    return Fit(estimate, every, fitted, int(kept.sum()))
