"""How many different values a table has, from how often a sample has each."""

from __future__ import annotations

import math

import numpy as np


def distinct_in(counts: np.ndarray, rows: int) -> int:
    """About how many different values a table of so many rows has, of which a sample has each so often.

    The larger of two estimates, neither of which is below the other on every table: values that the sample has once
    stand for the square root of rows per sampled row (Charikar); and all values alike (Chao), of which so many rows
    meet a share.

    >>> distinct_in(np.array([2, 1, 1]), 16)
    5

    References
    ----------
    Charikar, Chaudhuri, Motwani and Narasayya, "Towards estimation error guarantees for distinct values", PODS 2000.
    Chao, "Nonparametric estimation of the number of classes in a population", Scand. J. Statistics 11, 1984.
    """
    seen, once, twice = len(counts), int((counts == 1).sum()), int((counts == 2).sum())
    spread = seen - once + math.sqrt(max(1.0, rows / max(1, int(counts.sum())))) * once
    every = seen + once * (once - 1) / (2 * (twice + 1))
    alike = every * -math.expm1(-rows / every) if every else 0.0
    return min(rows, max(seen, round(max(spread, alike))))
