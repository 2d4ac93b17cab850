"""Mechanisms: noise and choices, all drawn by OpenDP; what is noised are whole numbers, on a grid that is public."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from sfumato.errors import MissingExtra, PolicyError

RAISED = 2.0**-50  # by how much more a scale is raised each time
TRIES = 60
CHUNK = 2**20  # rows that are sampled at a time
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


def _at_most(make: Callable[[float], Any], distance: Any, most: Decimal, scale: float) -> tuple[Any, float]:
    """A measurement whose loss at a distance is at most that, exactly: the scale is raised until OpenDP says so."""
    step, scale = RAISED, scale * (1 + RAISED)  # a last bit that would mostly be too small
    for _ in range(TRIES):
        measurement = make(scale)
        if Decimal(measurement.map(distance)) <= most:
            return measurement, scale
        scale, step = scale * (1 + step), 2 * step
    raise PolicyError("no noise is large enough", got=f"a cost of {most}", hint="ask for a larger one")


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


def choose(
    scores: Sequence[float], sensitivity: float, cost: Decimal, monotonic: bool = False, zcdp: bool = False
) -> int:
    """The number of one of some candidates, better scores likelier.

    For an epsilon it is noisy max with exponential noise, which is the exponential mechanism at its best (McKenna and
    Sheldon, "Permute-and-flip", 2020); with `zcdp`, `cost` is a rho, and it is the exponential mechanism itself, whose
    bounded range costs epsilon squared over 8 (Cesar and Rogers 2021). `monotonic`: adding a unit moves all scores one
    way.
    """
    return choose_several(scores, 1, sensitivity, cost, monotonic, zcdp)[0]


def choose_several(
    scores: Sequence[float], k: int, sensitivity: float, cost: Decimal, monotonic: bool = False, zcdp: bool = False
) -> list[int]:
    """The numbers of k candidates, the likely best first, for one cost in all (Durfee and Rogers 2019)."""
    return choose_in_each([scores], k, sensitivity, cost, monotonic, zcdp)[0]


def choose_in_each(
    cells: Iterable[Sequence[float]], k: int, sensitivity: float, cost: Decimal, monotonic: bool = False,
    zcdp: bool = False,
) -> list[list[int]]:  # fmt: skip
    """The same in each of some disjoint cells, for one cost in all: parallel composition.

    The sensitivity is over all cells: the sum of what a unit changes the scores of each by, at most; with `zcdp` the
    root of the sum of its squares, as costs are squares of it there.
    """
    dp = opendp()
    measure = dp.zero_concentrated_divergence() if zcdp else dp.max_divergence()
    space = dp.vector_domain(dp.atom_domain(T=float, nan=False)), dp.linf_distance(T=float, monotonic=monotonic)
    times = (1 if monotonic else 2) * Decimal(sensitivity)
    start = float(times) * math.sqrt(k / 8 / float(cost)) if zcdp else float(times * k / cost)
    measurement, _ = _at_most(
        lambda scale: dp.m.make_noisy_top_k(*space, measure, k=k, scale=scale), sensitivity, cost, start
    )
    return [[int(one) for one in measurement(list(map(float, scores)))] for scores in cells]


@dataclass(frozen=True)
class Found:
    """The keys whose noisy counts are at least a threshold, and these counts."""

    counts: Mapping[str, int]
    scale: float
    threshold: int


def frequent_keys(
    counts: Mapping[str, int], groups: int, rows: int, each: int, epsilon: Decimal, delta: Decimal
) -> Found:
    """Keys that nobody knew of, with noisy counts: those of which a threshold is reached (Korolova et al. 2009).

    A unit is in at most so many `groups`, with at most `rows` in all and `each` in one of them. The threshold is one
    above the least that OpenDP says costs no more than delta: OpenDP 0.16 releases counts that are equal to its own,
    and leaves these out of its account of delta (opendp/opendp#2922).
    """
    dp = opendp()
    space = dp.map_domain(dp.atom_domain(T=str), dp.atom_domain(T="i64"))
    metric, unit = dp.l01inf_distance(dp.absolute_distance(T="i64")), (groups, rows, each)

    def make(scale: float, threshold: int) -> Any:
        return dp.m.make_laplace_threshold(space, metric, scale=scale, threshold=threshold)

    _, scale = _at_most(lambda scale: _Epsilon(make(scale, LARGEST)), unit, epsilon, float(rows / epsilon))
    low, high = each, each + math.ceil(scale * (math.log(groups / float(delta)) + 40))  # too few, and enough
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if Decimal(make(scale, middle).map(unit)[1]) <= delta else (middle, high)
    measurement = make(scale, high)
    spent = measurement.map(unit)
    if Decimal(spent[0]) > epsilon or Decimal(spent[1]) > delta:
        raise PolicyError("no threshold is large enough", got=f"delta of {delta}", hint="ask for a larger delta")
    released = measurement({key: min(count, LARGEST) for key, count in counts.items()})
    return Found({key: count for key, count in released.items() if count > high}, scale, high + 1)


@dataclass(frozen=True)
class _Epsilon:
    """A measurement with the first of its two costs."""

    measurement: Any

    def map(self, distance: Any) -> Any:
        return self.measurement.map(distance)[0]


def sample_rows(rows: int, threshold: int) -> np.ndarray:
    """Which rows are sampled, each by itself with probability threshold/2^64: random numbers of the operating system
    below the threshold."""
    found = np.empty(rows, np.bool_)
    for start in range(0, rows, CHUNK):
        size = min(CHUNK, rows - start)
        found[start : start + size] = np.frombuffer(os.urandom(8 * size), np.uint64) < np.uint64(threshold)
    return found


def _clamped(values: Sequence[int]) -> list[int]:
    """Whole numbers within what noise is exact for: clamping moves two of them apart by no more than they were."""
    return [max(-LARGEST, min(LARGEST, int(value))) for value in values]
