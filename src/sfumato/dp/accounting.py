"""Accounting of differential privacy: pure, approximate and zero-concentrated; Bun and Steinke, "Concentrated
differential privacy", 2016, with the conversion of Canonne, Kamath and Steinke, "The discrete Gaussian for differential
privacy", 2020; advanced composition by Dwork, Rothblum and Vadhan, "Boosting and differential privacy", 2010."""

from __future__ import annotations

import math
from decimal import ROUND_DOWN, Context, Decimal, Inexact, InvalidOperation
from typing import Any

import numpy as np

from sfumato.core.parameters import shown
from sfumato.errors import PolicyError

LARGEST = Decimal(20)  # an epsilon above it bounds nothing that anybody would call private
DIGITS = 40  # of exact sums
DECIMALS = 12  # of what is charged
EXACT = Context(prec=DIGITS, traps=[Inexact, InvalidOperation])
EXACT_DOWN = Context(prec=DIGITS, rounding=ROUND_DOWN)  # of shares, which add up to no more than the whole
HALVINGS = 200


def exact(value: Any, what: str, least: Decimal = Decimal(0), strict: bool = True) -> Decimal:
    """A number as an exact decimal: a float stands for its shortest printed one.

    >>> exact(0.05, "epsilon") * 20 == 1
    True
    """
    try:
        value = value.item() if isinstance(value, np.generic) else value
        if isinstance(value, bool) or not isinstance(value, int | float | str | Decimal):
            raise ValueError
        found = Decimal(repr(value) if isinstance(value, float) else value)
        fits = found.is_finite() and abs(found) < 10**DECIMALS and found == round(found, DECIMALS)
    except (ValueError, InvalidOperation):
        fits = False
    if not fits:
        allowed = f"such as 0.1, with up to {DECIMALS} decimals"
        raise PolicyError(f"{what} must be a number", got=shown(value), allowed=allowed)
    if found < least or (strict and found == least):
        raise PolicyError(
            f"{what} is out of range", got=shown(value), allowed=f"above {least}" if strict else f"{least} or more"
        )
    return EXACT.normalize(found) if found else Decimal(0)


def epsilon_of(value: Any, i_know: bool = False) -> Decimal:
    """An epsilon: above 0, and at most 20 unless its owner insists."""
    found = exact(value, "epsilon")
    if found > LARGEST and not i_know:
        hint = "i_know=True takes it all the same"
        raise PolicyError(
            "epsilon is so large that it protects nobody", got=shown(value), allowed=f"up to {LARGEST}", hint=hint
        )
    return found


def laplace_interval(scale: float, share: float = 0.95) -> float:
    """Half the width of the interval that Laplace noise of a scale lies in with a probability.

    >>> round(laplace_interval(2), 6)
    5.991465
    """
    return scale * math.log(1 / (1 - share))


def gaussian_sigma(rho: float, sensitivity: float = 1.0) -> float:
    """The standard deviation of Gaussian noise that costs rho.

    >>> round(gaussian_sigma(0.01), 6)
    7.071068
    """
    return sensitivity / math.sqrt(2 * rho)


def zcdp_of_pure(epsilon: float) -> float:
    """What an epsilon-private answer costs in rho."""
    return epsilon * epsilon / 2


def delta_of(rho: float, epsilon: float) -> float:
    """The least delta that rho-zCDP gives with an epsilon (tight).

    >>> round(delta_of(0.5, 3), 6)
    0.005143
    """

    def log_delta(alpha: float) -> float:
        own = (alpha - 1) * (alpha * rho - epsilon) + alpha * math.log1p(-1 / alpha)
        return own - math.log(alpha - 1)

    low, high = 1 + 1e-9, max(2.0, 2 * (epsilon + 1) / rho + 2)
    for _ in range(HALVINGS):  # it has one minimum
        one, other = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, other) if log_delta(one) < log_delta(other) else (one, high)
    return min(1.0, math.exp(log_delta((low + high) / 2)))


def rho_of(epsilon: float, delta: float, tight: bool = True) -> float:
    """The most rho that an epsilon and a delta have room for; by the simple formula unless `tight`.

    >>> round(rho_of(1, 1e-6), 6), round(rho_of(1, 1e-6, tight=False), 6)
    (0.024356, 0.017469)
    """
    if not tight:
        log = math.log(1 / delta)
        return (math.sqrt(log + epsilon) - math.sqrt(log)) ** 2
    low, high = 0.0, epsilon + 1
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if delta_of(middle, epsilon) <= delta else (low, middle)
    return low


def advanced_composition(epsilon: float, times: int, delta: float) -> float:
    """The epsilon of some answers together, beside plain addition, for a further delta.

    >>> round(advanced_composition(0.1, 100, 1e-6), 3), round(100 * 0.1, 3)
    (6.308, 10.0)
    """
    return epsilon * math.sqrt(2 * times * math.log(1 / delta)) + times * epsilon * math.expm1(epsilon)
