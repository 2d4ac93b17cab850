"""What the risk measures are asked, checked: shares, thresholds, sizes of a population."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

from sfumato.errors import PolicyError


def share(value: Any, what: str, *, above_zero: bool = False) -> float:
    """A number from 0 to 1.

    >>> share(1, "threshold")
    1.0
    """
    real = isinstance(value, Real) and not isinstance(value, bool)
    if not real or not 0 <= value <= 1 or (above_zero and value == 0):
        allowed = f"a number {'above 0' if above_zero else 'from 0'} and at most 1" if above_zero else "0 to 1"
        raise PolicyError(f"{what} is out of range", got=shown(value), allowed=allowed)
    return float(value)


def fraction_of(rows: int, population_size: Any, sampling_fraction: Any) -> float:
    """The sampling fraction, from itself or from the size of the population.

    >>> fraction_of(10, 200, None)
    0.05
    """
    if (population_size is None) == (sampling_fraction is None):
        raise PolicyError(
            "the size of the population or the sampling fraction is needed, and only one of them",
            allowed="population_size=1000000 or sampling_fraction=0.01",
        )
    if population_size is None:
        return share(sampling_fraction, "sampling_fraction", above_zero=True)
    if not is_size(population_size) or population_size < rows:
        allowed = f"a number of at least the {rows} rows of the table"
        raise PolicyError("population_size is out of range", got=shown(population_size), allowed=allowed)
    return float(rows / population_size)


def is_size(value: Any) -> bool:
    """Whether a value can be the size of a population: a number above 0."""
    real = isinstance(value, Integral | Real) and not isinstance(value, bool)
    return real and math.isfinite(value) and value > 0


def shown(value: Any) -> str:
    """A value that was asked for as it stands in a message: numbers and words, else its type."""
    return repr(value) if isinstance(value, str | int | float) else f"a value of type {type(value).__name__}"
