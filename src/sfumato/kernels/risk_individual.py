"""Individual risk per class: the mean of 1/F given the sample count, in a form that stays exact for every f."""

from __future__ import annotations

import math

import numpy as np

from sfumato.kernels import kernel

FEW = 24  # from this f on the series needs few terms whatever p is


@kernel
def individual_risks(f: np.ndarray, p: np.ndarray) -> np.ndarray:
    """p^f/f 2F1(f, f; f+1; 1-p) for whole f >= 1 and 0 < p <= 1.

    By Euler's transformation it is p/f 2F1(1, 1; f+1; 1-p), whose terms n!/((f+1)...(f+n)) (1-p)^n are positive and
    fall by (1-p)(n+1)/(f+n+1). Where they fall slowly (p < 1/2 and few records) the recurrence r_{f+1} = q(1/f - r_f),
    q = p/(1-p) <= 1, from r_1 = q ln(1/p) is stable instead.
    """
    risk = np.empty(len(f))
    for i in range(len(f)):
        z = 1.0 - p[i]
        if p[i] < 0.5 and f[i] < FEW:
            q = p[i] / z
            r = -q * math.log(p[i])
            for n in range(1, f[i]):
                r = q * (1.0 / n - r)
            risk[i] = r
        else:
            term, total, n = 1.0, 1.0, 0
            while term > 1e-18 * total:
                term *= z * (n + 1) / (f[i] + n + 1)
                total += term
                n += 1
            risk[i] = p[i] / f[i] * total
    return risk
