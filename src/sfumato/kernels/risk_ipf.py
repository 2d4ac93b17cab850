"""Iterative proportional fitting of all two-way margins over the cells that can occur."""

from __future__ import annotations

import numpy as np

from sfumato.kernels import kernel


@kernel
def fit_pairs(
    codes: np.ndarray,
    firsts: np.ndarray,
    seconds: np.ndarray,
    widths: np.ndarray,
    target: np.ndarray,
    starts: np.ndarray,
    most: int,
    tolerance: float,
) -> tuple[np.ndarray, int, float]:
    """Expected counts of the cells whose pairwise margins are the target's; sweeps done; greatest gap left.

    Pair k is of columns firsts[k], seconds[k]; its margin is target[starts[k]:starts[k + 1]], at first code times
    widths[k] plus second code.
    """
    cells = codes.shape[1]
    mean = np.ones(cells)
    gap, sweeps = np.inf, 0
    while sweeps < most and gap > tolerance:
        sweeps += 1
        gap = 0.0
        for k in range(len(firsts)):
            one, other, width = codes[firsts[k]], codes[seconds[k]], widths[k]
            wanted = target[starts[k] : starts[k + 1]]
            margin = np.zeros(len(wanted))
            for i in range(cells):
                margin[one[i] * width + other[i]] += mean[i]
            for j in range(len(wanted)):
                # relative to the count, so that the rare are fitted as well as the frequent
                if wanted[j] > 0:
                    if sweeps > 1:
                        gap = max(gap, abs(margin[j] - wanted[j]) / wanted[j])
                    margin[j] = wanted[j] / margin[j] if margin[j] > 0 else 0.0
            for i in range(cells):
                mean[i] *= margin[one[i] * width + other[i]]
        if sweeps == 1:
            gap = np.inf
    return mean, sweeps, gap
