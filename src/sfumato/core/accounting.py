"""Accounting of differential privacy: pure, approximate and zero-concentrated; Bun and Steinke, "Concentrated
differential privacy", 2016, with the conversion of Canonne, Kamath and Steinke, "The discrete Gaussian for differential
privacy", 2020; advanced composition by Dwork, Rothblum and Vadhan, "Boosting and differential privacy", 2010."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import ROUND_DOWN, ROUND_UP, Context, Decimal, Inexact, InvalidOperation
from functools import lru_cache
from typing import Any

import numpy as np

from sfumato.core.parameters import Real, one_of, shown
from sfumato.errors import PolicyError

LARGEST = Decimal(20)  # an epsilon above it bounds nothing that anybody would call private
DIGITS = 40  # of exact sums
DECIMALS = 12  # of what is charged
EXACT = Context(prec=DIGITS, traps=[Inexact, InvalidOperation])
WIDE = Context(prec=2 * DIGITS)  # of squares
EXACT_DOWN = Context(prec=DIGITS, rounding=ROUND_DOWN)  # of shares, which add up to no more than the whole
HALVINGS = 200
ROUNDED = Decimal(1).scaleb(-DECIMALS)
PLAIN, ZCDP = "plain", "zcdp"
ACCOUNTING = (PLAIN, ZCDP)


@dataclass(frozen=True)
class PrivacyCost:
    """What an answer takes of a budget, in exact decimals: epsilon and delta, or with zero-concentrated accounting rho
    and delta."""

    epsilon: Decimal
    delta: Decimal = Decimal(0)
    rho: Decimal = Decimal(0)

    def __post_init__(self) -> None:
        if not all(part.is_finite() and part >= 0 for part in self.parts):
            raise PolicyError("a cost is no refund", got=", ".join(map(str, self.parts)), allowed="0 or more")

    def plus(self, other: PrivacyCost) -> PrivacyCost:
        """Both together."""
        return PrivacyCost(*(EXACT.add(one, two) for one, two in zip(self.parts, other.parts, strict=True)))

    @property
    def parts(self) -> tuple[Decimal, Decimal, Decimal]:
        """Epsilon, delta and rho."""
        return self.epsilon, self.delta, self.rho

    def __str__(self) -> str:
        names = ("epsilon", "delta", "rho")
        said = [f"{name} {part.normalize():f}" for name, part in zip(names, self.parts, strict=True) if part]
        return ", ".join(said) or "epsilon 0"


NOTHING = PrivacyCost(Decimal(0))


@dataclass(frozen=True)
class Budget:
    """What may be spent in all, so that everything together is (epsilon, delta)-differentially private.

    accounting: "plain" adds epsilons, and deltas; "zcdp" adds rhos, and deltas of thresholds, until what they convert
    to would be more than epsilon and delta.

    >>> Budget(Decimal(1), Decimal("1e-6"), "zcdp").left(NOTHING).rho
    Decimal('0.024355970335')
    """

    epsilon: Decimal
    delta: Decimal = Decimal(0)
    accounting: str = PLAIN

    def __post_init__(self) -> None:
        one_of(self.accounting, "accounting", ACCOUNTING)
        if self.accounting == ZCDP and not self.delta:
            raise PolicyError("zero-concentrated accounting needs a delta", got="0", allowed="such as 1e-6")

    def left(self, spent: PrivacyCost) -> PrivacyCost:
        """What is left of it: with zero-concentrated accounting the rho, and the epsilon of one pure answer."""
        delta = max(EXACT.subtract(self.delta, spent.delta), Decimal(0))
        if self.accounting == PLAIN:
            return PrivacyCost(max(EXACT.subtract(self.epsilon, spent.epsilon), Decimal(0)), delta)
        most = _down(rho_of(float(self.epsilon), float(delta))) if delta else Decimal(0)
        rho = max(EXACT.subtract(most, spent.rho), Decimal(0))
        return PrivacyCost(_down(math.sqrt(2 * float(rho))), delta, rho)

    def holds(self, spent: PrivacyCost, cost: PrivacyCost) -> bool:
        """Whether it has room for a cost beside what was spent."""
        left = self.left(PrivacyCost(spent.epsilon, EXACT.add(spent.delta, cost.delta), spent.rho))
        if EXACT.add(spent.delta, cost.delta) > self.delta:
            return False
        return cost.rho <= left.rho if self.accounting == ZCDP else cost.epsilon <= left.epsilon

    def __str__(self) -> str:
        return f"{PrivacyCost(self.epsilon, self.delta)}{' by zCDP' if self.accounting == ZCDP else ''}"


def _down(value: float) -> Decimal:
    """A number as a decimal that is not more, and surely so whatever its last bits are."""
    return (Decimal(value) * (1 - Decimal("1e-9"))).quantize(ROUNDED, ROUND_DOWN)


def pure_as_rho(epsilon: Decimal) -> Decimal:
    """What an epsilon-private answer costs in rho, rounded up."""
    return WIDE.divide(WIDE.multiply(epsilon, epsilon), Decimal(2)).quantize(ROUNDED, ROUND_UP, WIDE)


def gaussian_rho(epsilon: Decimal, delta: Decimal) -> Decimal:
    """The rho of Gaussian noise that is (epsilon, delta)-private, rounded down.

    >>> gaussian_rho(Decimal(1), Decimal("1e-6"))
    Decimal('0.024355970335')
    """
    return _down(rho_of(float(epsilon), float(delta)))


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
        known = found.is_finite()
    except (ValueError, InvalidOperation):
        known = False
    if not known:
        raise PolicyError(f"{what} must be a number", got=shown(value), allowed="such as 0.1")
    if found < least or (strict and found == least):
        raise PolicyError(
            f"{what} is out of range", got=shown(value), allowed=f"above {least}" if strict else f"{least} or more"
        )
    if abs(found) >= 10**DECIMALS or found != round(found, DECIMALS):
        text = f"{found}"
        got = shown(text) if len(text) <= 60 else f"a number of {len(text)} digits"
        raise PolicyError(f"{what} has too many digits", got=got, allowed=f"up to {DECIMALS} decimals")
    return EXACT.normalize(found) if found else Decimal(0)


@dataclass(frozen=True)
class ExactReal(Real):
    """A number that is exact as a decimal, as what private answers cost."""

    def __call__(self, value: Any, what: str) -> float:
        found, most = exact(value, what, Decimal(self.least), strict=self.above), Decimal(self.most)
        if found > most or (self.below and found == most):
            allowed = f"{'below' if self.below else 'up to'} {self.most:g}"
            raise PolicyError(f"{what} is out of range", got=shown(value), allowed=allowed)
        return float(found)


def epsilon_of(value: Any, i_know: bool = False) -> Decimal:
    """An epsilon: above 0, and at most 20 unless its owner insists."""
    found = exact(value, "epsilon")
    if found > LARGEST and not i_know:
        hint = "i_know=True takes it all the same"
        raise PolicyError(
            "epsilon is so large that it protects nobody", got=shown(value), allowed=f"up to {LARGEST}", hint=hint
        )
    return found


@dataclass(frozen=True)
class Epsilon(ExactReal):
    """An epsilon that is not too large."""

    most: float = float(LARGEST)
    above: bool = field(default=True, kw_only=True)

    def __call__(self, value: Any, what: str) -> float:
        return float(epsilon_of(value))


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

    if rho <= 0:
        return 0.0
    low, high = 1 + 1e-9, max(2.0, 2 * (epsilon + 1) / rho + 2)
    for _ in range(HALVINGS):  # it has one minimum
        one, other = low + (high - low) / 3, high - (high - low) / 3
        low, high = (low, other) if log_delta(one) < log_delta(other) else (one, high)
    return min(1.0, math.exp(log_delta((low + high) / 2)))


@lru_cache(1000)
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


def least_epsilon(rho: Decimal, delta: Decimal) -> Decimal:
    """The least epsilon that a rho gives with a delta, rounded up.

    >>> least_epsilon(Decimal("0.024355970335"), Decimal("1e-6"))
    Decimal('1.00000001')
    """
    low, high = 0.0, float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / float(delta)))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of(float(rho), middle) <= float(delta) else (middle, high)
    return EXACT.normalize((Decimal(high) * (1 + Decimal("1e-9"))).quantize(Decimal("1e-8"), ROUND_UP))


def advanced_composition(epsilon: float, times: int, delta: float) -> float:
    """The epsilon of some answers together, beside plain addition, for a further delta.

    >>> round(advanced_composition(0.1, 100, 1e-6), 3), round(100 * 0.1, 3)
    (6.308, 10.0)
    """
    return epsilon * math.sqrt(2 * times * math.log(1 / delta)) + times * epsilon * math.expm1(epsilon)


def advanced_of(epsilons: Sequence[float], delta: float) -> float:
    """The same of answers with epsilons of their own, which were fixed beforehand.

    >>> round(advanced_of([0.1] * 100, 1e-6), 3)
    6.308
    """
    squares = math.fsum(one * one for one in epsilons)
    return math.sqrt(2 * squares * math.log(1 / delta)) + math.fsum(one * math.expm1(one) for one in epsilons)
