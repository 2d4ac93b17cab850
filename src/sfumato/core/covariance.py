"""Means, covariances and their roots, which maskers and generators share."""

from __future__ import annotations

import numpy as np

RANK = 1e-12  # of the largest eigenvalue: what is smaller is a linear relation between columns


def mean_and_covariance(x: np.ndarray, weights: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Means and covariances (n - 1) of complete rows, under survey weights where there are any.

    >>> mean_and_covariance(np.array([[1.0], [3.0]]), None)[1].tolist()
    [[2.0]]
    """
    mean = np.average(x, axis=0, weights=weights)
    mean = mean + np.average(x - mean, axis=0, weights=weights)  # what rounding took of a mean far from zero
    centred = x - mean
    w = np.ones(len(x)) if weights is None else weights / weights.mean()
    return mean, np.asarray(centred.T @ (centred * w[:, None])) / (len(x) - 1)


def root(covariance: np.ndarray, power: float = 0.5, sd: np.ndarray | None = None) -> np.ndarray:
    """The symmetric root of a covariance, or, `power` -0.5, that of its pseudo-inverse; linear relations stay.

    Columns are scaled first, by their own standard deviations or by `sd`, so that those in small units are no relation.
    What is returned is a right factor: rows of uncorrelated numbers times it have the covariance; rows of the
    covariance times the inverse are uncorrelated. Where one is undone by the other, both need the same scale: a linear
    relation has another direction in another.
    """
    sd = np.sqrt(np.diag(covariance)) if sd is None else sd
    scale = np.where(sd > 0, sd, 1.0)
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    kept = values > RANK * values.max(initial=0)
    powers = np.where(kept, np.where(kept, values, 1.0) ** power, 0.0)
    found = (vectors * powers) @ vectors.T
    return np.asarray(found * scale if power > 0 else found / scale[:, None])
