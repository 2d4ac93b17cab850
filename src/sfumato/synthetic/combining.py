"""Estimates from m synthetic tables as one; Raghunathan, Reiter and Rubin, "Multiple imputation for statistical
disclosure limitation", 2003 (full); Reiter, "Inference for partially synthetic, public use microdata sets", 2003
(partial); Raab, Nowok and Dibben, "Practical data synthesis for large samples", 2016 (simple)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import Any

import numpy as np

from sfumato.core.parameters import one_of, real_number, share_of, whole_number
from sfumato.core.wording import Described, count, number
from sfumato.errors import PolicyError

KINDS = ("partial", "full", "simple")
NEARLY_NORMAL = 1000.0  # degrees of freedom from which on the normal distribution serves
POINTS = 200  # at which densities are summed


@dataclass(frozen=True, repr=False)
class CombinedEstimate(Described):
    """An estimate from m synthetic tables, with its variance.

    `between` is the variance of the estimates over the tables, `within` the mean of theirs; `degrees` are those of the
    t distribution, infinite for the normal one. `replaced` says that the variance came out negative, and that of the
    original sample stands for it.
    """

    estimate: float
    variance: float
    kind: str
    m: int
    between: float
    within: float
    degrees: float
    replaced: bool = False

    @property
    def standard_error(self) -> float:
        """The root of the variance."""
        return float(np.sqrt(self.variance))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """The interval that covers the true value so often."""
        level = share_of(level, "level", above=True)
        if level == 1:
            raise PolicyError("level is out of range", got="1", allowed="a number > 0 and < 1")
        reach = student_quantile((1 + level) / 2, self.degrees) * self.standard_error
        return self.estimate - reach, self.estimate + reach

    def described(self) -> tuple[str, Sequence[tuple[str, str]]]:
        """What a notebook shows."""
        low, high = self.interval()
        facts = [
            ("estimate", number(self.estimate)),
            ("standard error", number(self.standard_error)),
            ("95% interval", f"{number(low)} to {number(high)}"),
            ("rule", self.kind),
        ]
        return f"Estimate from {count(self.m, 'synthetic table')}", facts


def combine(
    estimates: Sequence[float],
    variances: Sequence[float],
    kind: str = "partial",
    rows: int | None = None,
    original_rows: int | None = None,
) -> CombinedEstimate:
    """One estimate from those of m synthetic tables.

    With mean q, between-variance b (over m - 1) and mean variance v, the variance is b/m + v for partially synthetic
    tables, (1 + 1/m) b - v for fully synthetic ones drawn from a model that was drawn itself ("proper"), and
    v (k/n + 1/m) for simple synthesis of large samples, where each table has k rows and the original n.

    Parameters
    ----------
    estimates, variances: of the same quantity, one of each table. kind: "partial", "full" or "simple".
    rows, original_rows: k and n; the same unless given. A fully synthetic variance that is negative becomes v k/n.

    Examples
    --------
    >>> found = combine([10, 12, 11], [4, 4.4, 3.6], "partial")
    >>> found.estimate, round(found.variance, 6)
    (11.0, 4.333333)
    """
    one_of(kind, "kind of synthesis", KINDS)
    q = _numbers(estimates, "estimates", -np.inf)
    u = _numbers(variances, "variances", 0)
    if len(q) != len(u):
        raise PolicyError("each estimate needs its variance", got=f"{len(q)} and {len(u)}")
    if len(q) < 2:
        what = "one table does not tell how much tables differ"
        raise PolicyError(what, got=count(len(q), "estimate"), allowed="2 or more")
    if (rows is None) != (original_rows is None):
        raise PolicyError("rows and original_rows go together", hint="give both, or neither where they are the same")
    share = whole_number(rows, "rows") / whole_number(original_rows, "original_rows") if rows is not None else 1.0
    m, b, v = len(q), float(np.var(q, ddof=1)), float(u.mean())
    degrees, replaced = np.inf, False
    if kind == "partial":
        variance = b / m + v
        degrees = (m - 1) * (1 + v * m / b) ** 2 if b > 0 else np.inf
    elif kind == "full":
        variance = (1 + 1 / m) * b - v
        if variance > 0:
            degrees = max((m - 1) * (1 - v / ((1 + 1 / m) * b)) ** 2, 1.0)
        else:
            variance, replaced = v * share, True
    else:
        variance = v * (share + 1 / m)
    return CombinedEstimate(float(q.mean()), variance, kind, m, b, v, float(degrees), replaced)


def _numbers(given: Any, what: str, least: float) -> np.ndarray:
    if not isinstance(given, Sequence | np.ndarray) or isinstance(given, str):
        raise PolicyError(f"{what} must be a list of numbers", got=type(given).__name__)
    return np.array([float(real_number(one, f"each of the {what}", least)) for one in given])


def student_quantile(p: float, degrees: float) -> float:
    """The quantile of the t distribution, for p of a half or more and one degree of freedom or more.

    The density is summed over the angle whose tangent is t over the root of the degrees.

    >>> round(student_quantile(0.975, 4.5), 6), round(student_quantile(0.975, 1), 6)
    (2.658912, 12.706205)
    """
    if degrees > NEARLY_NORMAL:
        z = NormalDist().inv_cdf(p)
        return z + (z**3 + z) / (4 * degrees)
    nodes, weights = _nodes()

    def mass(angle: float) -> float:
        return float((weights * np.cos((nodes + 1) * angle / 2) ** (degrees - 1)).sum() * angle / 2)

    low, high = 0.0, np.pi / 2
    wanted = (2 * p - 1) * mass(high)
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if mass(middle) < wanted else (low, middle)
    return float(np.sqrt(degrees) * np.tan(low))


@cache
def _nodes() -> tuple[np.ndarray, np.ndarray]:
    return np.polynomial.legendre.leggauss(POINTS)
