"""Mechanisms: noise and choices, all drawn by OpenDP; what is noised are whole numbers, on a grid that is public."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sfumato.errors import MissingExtra, PolicyError

RAISED = 2.0**-50  # by how much more a scale is raised each time
TRIES = 60
LARGEST = 2**52  # whole numbers that noise is added to


def opendp() -> Any:
    """OpenDP's measurements, made ready."""
    try:
        import opendp.prelude as dp
    except ImportError:
        raise MissingExtra("opendp", "dp") from None
    dp.enable_features("contrib")
    return dp


@dataclass(frozen=True)
class Noisy:
    """Whole numbers with noise, the scale of the noise, and the name of the mechanism."""

    values: tuple[int, ...]
    scale: float
    mechanism: str


def _at_most(make: Callable[[float], Any], distance: float | int, most: Decimal, scale: float) -> tuple[Any, float]:
    """A measurement whose loss at a distance is at most that, exactly: the scale is raised until OpenDP says so."""
    step = RAISED
    for _ in range(TRIES):
        measurement = make(scale)
        if Decimal(measurement.map(distance)) <= most:
            return measurement, scale
        scale, step = scale * (1 + step), 2 * step
    raise PolicyError("no noise is large enough", got=f"epsilon of {most}", hint="ask for a larger epsilon")


def laplace(values: Sequence[int], sensitivity: int, epsilon: Decimal) -> Noisy:
    """Whole numbers with discrete Laplace (two-sided geometric) noise; L1 sensitivity (Ghosh, Roughgarden and
    Sundararajan 2009)."""
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l1_distance(T="i64")
    measurement, scale = _at_most(
        lambda scale: dp.m.make_laplace(*space, scale=scale), sensitivity, epsilon, float(sensitivity / epsilon)
    )
    return Noisy(tuple(measurement(_clamped(values))), scale, "geometric")


def gaussian(values: Sequence[int], sensitivity: float, rho: Decimal) -> Noisy:
    """Whole numbers with discrete Gaussian noise; L2 sensitivity (Canonne, Kamath and Steinke 2020)."""
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T=float)
    start = sensitivity / math.sqrt(2 * float(rho))
    measurement, scale = _at_most(lambda scale: dp.m.make_gaussian(*space, scale=scale), sensitivity, rho, start)
    return Noisy(tuple(measurement(_clamped(values))), scale, "discrete-gaussian")


def choose(scores: Sequence[float], sensitivity: float, epsilon: Decimal, monotonic: bool = False) -> int:
    """The number of one of some candidates, better scores likelier: noisy max with exponential noise, which is the
    exponential mechanism at its best (McKenna and Sheldon, "Permute-and-flip", 2020). `monotonic`: adding a unit moves
    all scores one way."""
    dp = opendp()
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float, monotonic=monotonic)
    start = float((1 if monotonic else 2) * Decimal(sensitivity) / epsilon)
    measurement, _ = _at_most(
        lambda scale: dp.m.make_noisy_max(*space, dp.max_divergence(), scale=scale), sensitivity, epsilon, start
    )
    return int(measurement(list(map(float, scores))))


def _clamped(values: Sequence[int]) -> list[int]:
    """Whole numbers within what noise is exact for: clamping moves two of them apart by no more than they were."""
    return [max(-LARGEST, min(LARGEST, int(value))) for value in values]
