"""Population uniqueness from the class sizes of a sample: Pitman, Zayatz, SNB, and Dankar's rule between them.

Each function takes the sizes of the sample's classes and the sampling fraction, and gives the share of the population
that is estimated to be unique, in 0..1; nan where the model has no solution. A sample without uniques gives 0.

F. Dankar, K. El Emam, A. Neisa, T. Roffey, Estimating the re-identification risk of clinical data sets, BMC Medical
Informatics and Decision Making 12:66, 2012.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np

from sfumato.core.parameters import OneOf, Real
from sfumato.core.protocols import Monotonicity, Side
from sfumato.criteria.audit import SLACK, Finding, Groups, rounded
from sfumato.criteria.class_size_bound import TableModel
from sfumato.criteria.model import SMALLEST_FRACTION, TOLERANCE
from sfumato.criteria.released_uniqueness import RELEASED_UNIQUENESS

STEPS = 200  # of a bisection, at most
DIRECT = 100_000  # terms that are summed one by one
FAR = 100  # where theta outweighs all terms so many times
SMALL_FRACTION = 0.1  # up to here Dankar's rule takes Pitman


def counts_of_sizes(sizes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct class sizes, ascending, and how many classes have each.

    >>> [x.tolist() for x in counts_of_sizes(np.array([1, 3, 1]))]
    [[1, 3], [2, 1]]
    """
    distinct, count = np.unique(np.asarray(sizes, dtype=np.int64), return_counts=True)
    return distinct, count


def pitman(sizes: np.ndarray, sampling_fraction: float) -> float:
    """Gamma(theta + 1)/Gamma(theta + alpha) N^alpha uniques, with the most likely theta and alpha. Hoshino 2001.

    The likelihood of the sample is that of Pitman's formula, with 0 <= alpha < 1 and theta > -alpha. For each alpha the
    best theta is the root of its score; alpha is the root of the score along that path.

    >>> round(pitman(np.array([1] * 6 + [2] * 3 + [4]), 0.1), 6)
    0.06504
    """
    size, count = counts_of_sizes(sizes)
    rows, classes = int((size * count).sum()), int(count.sum())
    if rows == 0 or size[0] > 1:
        return 0.0
    if classes == rows:  # alpha tends to 1, and everybody is unique
        return 1.0
    if classes == 1:
        return 0.0
    theta = 1.0

    def score(alpha: float) -> float:
        """The derivative of the log-likelihood by alpha, at the best theta."""
        nonlocal theta
        theta = _best_theta(alpha, theta, classes, rows)
        inner = float((count * (digamma(size - alpha) - digamma(1 - alpha))).sum())
        return _ratio_sum(theta, alpha, classes) - inner

    low, high = 1e-6, 1 - 1e-9
    alpha = low if score(low) <= 0 else _root(score, low, high)
    theta = _best_theta(alpha, theta, classes, rows)
    population = rows / sampling_fraction
    log_share = math.lgamma(theta + 1) - math.lgamma(theta + alpha) + (alpha - 1) * math.log(population)
    return min(1.0, math.exp(log_share))


def zayatz(sizes: np.ndarray, sampling_fraction: float) -> float:
    """The share of sample uniques times the chance that one of them is unique in the population. Zayatz 1991.

    That chance is P(f=1 | F=1) P(F=1) / sum over j of P(f=1 | F=j) P(F=j): P(F=j) is taken from the classes of the
    sample, P(f=1 | F=j) is hypergeometric.

    >>> round(zayatz(np.array([1, 1, 2]), 0.5), 6)  # 1/2 * 2/(2 + 8/7)
    0.318182
    """
    size, count = counts_of_sizes(sizes)
    rows = int((size * count).sum())
    if rows == 0 or size[0] > 1:
        return 0.0
    population = max(round(rows / sampling_fraction), rows)
    step = np.arange(1, int(size[-1]))
    # P(f=1 | F=j) / P(f=1 | F=1) = j prod over i < j of (N - n + 1 - i)/(N - i)
    with np.errstate(divide="ignore"):
        logs = np.log(np.maximum(population - rows + 1 - step, 0) / (population - step))
    chance = size * np.exp(np.concatenate([[0.0], np.cumsum(logs)]))[size - 1]
    return float(count[0] / rows * count[0] / (count * chance).sum())


def snb(sizes: np.ndarray, sampling_fraction: float) -> float:
    """K b^a uniques: population classes have 1 + NegativeBinomial(a, b) members. Chen and Keller-McNulty 1998.

    K is Shlosser's estimate in the form of Haas and Stokes 1998; a and b are where the expected numbers of classes of
    one and of two records in the sample are those seen.

    >>> round(snb(np.array([1] * 6 + [2] * 3 + [4]), 0.5), 6)
    0.142109
    """
    size, count = counts_of_sizes(sizes)
    rows = int((size * count).sum())
    if rows == 0 or size[0] > 1:
        return 0.0
    pi, population = sampling_fraction, rows / sampling_fraction
    ones = float(count[0])
    twos = float(count[1]) if len(size) > 1 and size[1] == 2 else 0.0
    if pi >= 1:
        return ones / rows
    classes = _shlosser(size, count, pi)
    if twos == 0:  # no pairs: a is 0, and every class has one member
        return min(1.0, classes / population)

    def shape(b: float) -> float:
        """The a at which two- and one-record classes are as frequent as seen: a quadratic with one positive root."""
        d, ratio = (1 - pi) * (1 - b), twos / ones
        first, last = pi * (1 - b) * d, -2 * ratio * (1 - d) ** 2
        middle = pi * (1 - b) * (2 - d) - 2 * ratio * (1 - d) * d
        spread = math.sqrt(middle * middle - 4 * first * last)
        return -2 * last / (middle + spread) if middle > 0 else (spread - middle) / (2 * first)

    def excess(b: float) -> float:
        """Expected over seen one-record classes, as a logarithm."""
        a, d = shape(b), (1 - pi) * (1 - b)
        return math.log(classes * pi / ones) + a * math.log(b / (1 - d)) + math.log1p(a * d / (1 - d))

    low, high = 1e-12, 1 - 1e-9
    if excess(low) * excess(high) > 0:
        return math.nan
    b = _root(excess, low, high)
    return min(1.0, classes * math.exp(shape(b) * math.log(b)) / population)


def dankar(sizes: np.ndarray, sampling_fraction: float) -> float:
    """Pitman where the sampling fraction is at most 0.1, else the smaller of Zayatz and SNB. Dankar et al. 2012."""
    if sampling_fraction <= SMALL_FRACTION:
        return pitman(sizes, sampling_fraction)
    other, found = snb(sizes, sampling_fraction), zayatz(sizes, sampling_fraction)
    return found if math.isnan(other) else min(found, other)


ESTIMATORS: dict[str, Callable[[np.ndarray, float], float]] = {
    "dankar": dankar,
    "pitman": pitman,
    "zayatz": zayatz,
    "snb": snb,
}


def _shlosser(size: np.ndarray, count: np.ndarray, pi: float) -> float:
    """Number of classes in the population, empty ones aside."""
    gone = np.exp(size * math.log1p(-pi))
    twice = math.log1p(-pi * pi)
    first = (size * pi**2 * np.exp((size - 1) * twice) * count).sum()
    second = ((np.exp(size * twice) - gone) * count).sum()
    third, fourth = (gone * count).sum(), (size * pi * gone / (1 - pi) * count).sum()
    return float(count.sum() + count[0] * first / second * (third / fourth) ** 2)


def _best_theta(alpha: float, near: float, classes: int, rows: int) -> float:
    """The theta at which the likelihood is greatest for this alpha; found in log(theta + alpha)."""

    def score(t: float) -> float:
        theta = math.exp(t) - alpha
        return _inverse_sum(theta, alpha, classes) - _inverse_sum(theta, 1.0, rows)

    low = high = math.log(max(near + alpha, 1e-9))
    while score(low) <= 0 and low > -690:
        low -= 2
    while score(high) > 0 and high < 690:
        high += 2
    return math.exp(_root(score, low, high)) - alpha


def _inverse_sum(theta: float, alpha: float, terms: int) -> float:
    """Sum over i from 1 to terms - 1 of 1/(theta + i alpha)."""
    if terms <= 64 or (theta > FAR * alpha * terms and terms <= DIRECT):  # differences of digamma would cancel
        return float((1 / (theta + alpha * np.arange(1, terms))).sum())
    at = theta / alpha
    return float(digamma(at + terms) - digamma(at + 1)) / alpha


def _ratio_sum(theta: float, alpha: float, terms: int) -> float:
    """Sum over i from 1 to terms - 1 of i/(theta + i alpha)."""
    if terms <= DIRECT:
        i = np.arange(1.0, terms)
        return float((i / (theta + alpha * i)).sum())
    return (terms - 1 - theta * _inverse_sum(theta, alpha, terms)) / alpha


def _root(f: Callable[[float], float], low: float, high: float) -> float:
    """Where f changes its sign between low and high: Ridders' method, which is a bisection that hurries."""
    at_low, at_high = f(low), f(high)
    if at_low == 0 or low == high:
        return low
    if at_high == 0:
        return high
    if (at_low > 0) == (at_high > 0):  # rounding has hidden the change, which is then at the end nearer to zero
        return low if abs(at_low) < abs(at_high) else high
    for _ in range(STEPS):
        middle = 0.5 * (low + high)
        if not low < middle < high or high - low <= 4e-16 * max(abs(low), abs(high)):
            break
        at_middle = f(middle)
        if at_middle == 0:
            return middle
        bent = middle + (middle - low) * math.copysign(1, at_low - at_high) * at_middle / math.sqrt(
            at_middle * at_middle - at_low * at_high
        )
        if not low < bent < high:
            bent = middle
        at_bent = f(bent)
        if at_bent == 0:
            return bent
        for x, y in sorted([(middle, at_middle), (bent, at_bent)]):
            if (y > 0) == (at_low > 0) and x > low:
                low, at_low = x, y
            elif (y > 0) != (at_low > 0) and x < high:
                high, at_high = x, y
    return 0.5 * (low + high)


def digamma(x: np.ndarray | float) -> np.ndarray:
    """The derivative of the logarithm of the gamma function, for x > 0: recurrence up to 10, then its series.

    >>> round(float(digamma(1.0)), 12)  # minus Euler's constant
    -0.577215664902
    """
    x = np.array(x, dtype=np.float64)
    below = np.zeros_like(x)
    for _ in range(10):
        small = x < 10
        if not small.any():
            break
        below += np.where(small, 1 / np.where(small, x, 1.0), 0.0)
        x = np.where(small, x + 1, x)
    y = 1 / (x * x)
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y * (1 / 132 - y * 691 / 32760)))))
    found: np.ndarray = np.log(x) - 0.5 / x - series - below
    return found


@dataclass(frozen=True)
class PopulationUniqueness(TableModel):
    """At most a share t of the population that the records were drawn from is estimated to be unique in it.

    The estimate is made from the class sizes of the release: by Pitman's model, Zayatz's, the slide negative binomial
    ("snb"), or by Dankar's rule, which takes Pitman up to a sampling fraction of 0.1 and the smaller of the other two
    above. It is a promise about the table as a whole, and neither merging nor leaving out records must lower it. A
    release in which nobody stands alone is estimated at 0; where the model has no solution the promise is broken.

    Parameters: `t`, the largest share of unique people; `sampling_fraction`, the share of the population that is in
    the table; `estimator`, the model of the population.

    >>> PopulationUniqueness(0.01, 0.1).parameters()
    {'t': 0.01, 'sampling_fraction': 0.1, 'estimator': 'dankar'}
    """

    t: Annotated[float, Real(0, 1)]
    sampling_fraction: Annotated[float, Real(SMALLEST_FRACTION, 1)]
    estimator: Annotated[str, OneOf(tuple(ESTIMATORS))] = "dankar"

    monotonicity: ClassVar[Monotonicity] = "none"
    bounded_by: ClassVar[str] = "t"
    side: ClassVar[Side] = "at most"

    @property
    def enough_size(self) -> int:
        """A table whose classes all have at least so many records satisfies it."""
        return 2

    def sentence(self) -> str:
        """The promise in words."""
        return (
            f"At most {self.t * 100:g}% of the population is estimated to be unique in it, with "
            f"{self.sampling_fraction * 100:g}% of the population in the table ({self.estimator})."
        )

    def holds_table(self, sizes: np.ndarray) -> bool:
        """Whether a table of classes of these sizes satisfies it."""
        return len(sizes) > 0 and ESTIMATORS[self.estimator](sizes, self.sampling_fraction) <= self.t + TOLERANCE

    def audit(self, groups: Groups) -> Finding:
        """What the released rows say: the estimated share of the population that is unique."""
        table = groups.sizes.get_column("size").value_counts(name="classes").sort("size")
        counts = dict(table.iter_rows())
        share = RELEASED_UNIQUENESS[self.estimator](counts, self.sampling_fraction)
        if math.isnan(share):
            return Finding(False, None, self.t, 0, f"the model {self.estimator} has no solution for these class sizes")
        return Finding(share <= self.t + SLACK, rounded(share), self.t, 0)
