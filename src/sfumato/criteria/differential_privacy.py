"""(epsilon, delta)-differential privacy of a recoded table: R. Bild, K. Kuhn, F. Prasser, SafePub, PoPETs 2018(1);
N. Li, W. Qardaji, D. Su, On sampling, anonymization, and differential privacy, ASIACCS 2012."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Context, Decimal
from functools import lru_cache
from typing import Annotated, ClassVar

import polars as pl

from sfumato.core.accounting import EXACT_DOWN, Epsilon, ExactReal, PrivacyCost, exact
from sfumato.core.parameters import shown
from sfumato.core.protocols import BY_CONSTRUCTION, ClassesView, Flags, Monotonicity, Side
from sfumato.core.wording import number
from sfumato.criteria.audit import Finding, Groups
from sfumato.criteria.model import Model
from sfumato.errors import PolicyError

BITS = 64  # of a random number that a row is sampled by
SEARCH_SHARE = Decimal("0.1")  # of epsilon, for the choice of levels
LARGEST_K = 1_000_000
SLACK = 1e-8  # relative: what floats lose of a delta, and more
PRECISE = Context(prec=60)


@dataclass(frozen=True)
class DifferentialPrivacy(Model):
    """Whether a row was in the table or not, every release is about as likely: by sampling rows, and hiding few alike.

    Rows are sampled with probability beta, generalised by levels that are chosen by the exponential mechanism, and
    classes of fewer than k sampled rows are left out: beta and k follow from epsilon and delta. It takes
    `search="safepub"`. The released rows show that no class is smaller than k; the rest holds by construction.

    Parameters: `epsilon`, what the whole release costs; `delta`, the probability that it costs more;
    `epsilon_search`, the part of epsilon that the choice of levels is paid from, a tenth without it.

    >>> DifferentialPrivacy(1, 1e-6, epsilon_search=0.1).k, round(DifferentialPrivacy(1, 1e-6).beta, 6)
    (73, 0.59343)
    """

    epsilon: Annotated[float, Epsilon()]
    delta: Annotated[float, ExactReal(0, 1, above=True, below=True)]
    epsilon_search: Annotated[float | None, ExactReal(above=True)] = None

    monotonicity: ClassVar[Monotonicity] = "superset"
    bounded_by: ClassVar[str] = "k"
    side: ClassVar[Side] = "at least"
    how: ClassVar[str] = BY_CONSTRUCTION

    def __post_init__(self) -> None:
        whole, delta, part = self.epsilon, self.delta, self.epsilon_search
        super().__post_init__()
        if part is not None and exact(part, "epsilon_search") >= exact(whole, "epsilon"):
            what = f"{self.model}: epsilon_search is a part of epsilon"
            raise PolicyError(what, got=shown(part), allowed=f"below {exact(whole, 'epsilon')}")
        least_k(self.anonymising, exact(delta, "delta"))  # which refuses what no k will do for

    @property
    def cost(self) -> PrivacyCost:
        """What a release costs."""
        return PrivacyCost(exact(self.epsilon, "epsilon"), exact(self.delta, "delta"))

    @property
    def choosing(self) -> Decimal:
        """The part of epsilon that the choice of levels is paid from."""
        if self.epsilon_search is not None:
            return exact(self.epsilon_search, "epsilon_search")
        return EXACT_DOWN.multiply(exact(self.epsilon, "epsilon"), SEARCH_SHARE)

    @property
    def anonymising(self) -> Decimal:
        """The part of epsilon that sampling and hiding take."""
        return exact(self.epsilon, "epsilon") - self.choosing

    @property
    def threshold(self) -> int:
        """A row is sampled where a random number of 64 bits is below it."""
        return sampling_threshold(self.anonymising)

    @property
    def beta(self) -> float:
        """The probability that a row is sampled: 1 - e^-epsilon of the part that is left, rounded down."""
        return self.threshold / 2**BITS

    @property
    def k(self) -> int:
        """The least size of a class of sampled rows that is released."""
        return least_k(self.anonymising, exact(self.delta, "delta"))

    @property
    def least_size(self) -> int:
        """k rows."""
        return self.k

    def sentence(self) -> str:
        """The promise in words."""
        return private_sentence(self.cost.epsilon, self.cost.delta)

    def holds(self, classes: ClassesView) -> Flags:
        """Which classes are large enough."""
        found: Flags = classes.size >= self.k
        return found

    def audit(self, groups: Groups) -> Finding:
        """What the released rows can say of it: the smallest class, which breaks it where it is too small."""
        size, k = pl.col("size"), self.k
        smallest, failing = groups.sizes.select(size.min(), (size < k).sum().alias("failing")).row(0)
        return Finding(failing == 0, int(smallest), k, int(failing))


def private_sentence(epsilon: Decimal, delta: Decimal, unit: str = "row", replaced: bool = False) -> str:
    """What differential privacy says of a unit, in words.

    >>> private_sentence(Decimal("0.5"), Decimal(0))
    'Whether any one row was in the data or not, every outcome is at most 1.649 times as likely (epsilon 0.5).'
    """
    factor, who = number(math.exp(float(epsilon))), "person" if unit == "person" else "row"
    but = f", but for a chance of {delta.normalize():f}" if delta else ""
    said = f"Whatever any one {who} of the data said" if replaced else f"Whether any one {who} was in the data or not"
    return f"{said}, every outcome is at most {factor} times as likely{but} (epsilon {epsilon.normalize():f})."


@lru_cache(maxsize=256)
def sampling_threshold(epsilon: Decimal) -> int:
    """1 - e^-epsilon in steps of 2^-64, rounded down.

    >>> sampling_threshold(Decimal(1)) / 2**64
    0.6321205588285577
    """
    beta = PRECISE.subtract(Decimal(1), PRECISE.exp(-epsilon))
    steps = PRECISE.multiply(PRECISE.subtract(beta, Decimal("1e-55")), Decimal(2**BITS))
    return max(int(steps.to_integral_value(ROUND_FLOOR)), 0)


def sampled_delta(k: int, epsilon: float, beta: float) -> float:
    """The delta of sampling with probability beta and hiding classes of fewer than k sampled rows, at an epsilon of
    at least -ln(1 - beta).

    With gamma = (e^epsilon - 1 + beta)/e^epsilon it is the largest, over n >= k/gamma - 1, of the probability that a
    binomial number of n trials is above gamma n. That probability is at most exp(-n D), D the relative entropy of gamma
    and beta, which ends the search.

    >>> f"{sampled_delta(34, 1, 1 - math.exp(-1)):.3e}"
    '8.506e-04'
    """
    gamma = 1 - (1 - beta) * math.exp(-epsilon)
    decay = gamma * math.log(gamma / beta) - (1 - gamma) * epsilon  # (1 - gamma)/(1 - beta) is e^-epsilon
    n = max(math.ceil(k / gamma - 1), 1)
    worst = 0.0
    while True:
        worst = max(worst, _tail(n, math.floor(gamma * n * (1 - 1e-13)) + 1, beta))
        n += 1
        if math.exp(-n * decay) <= worst:
            return worst


def _tail(n: int, least: int, beta: float) -> float:
    """The probability that a binomial number of n trials is at least so many."""
    if least > n:
        return 0.0
    log = math.lgamma(n + 1) - math.lgamma(least + 1) - math.lgamma(n - least + 1)
    term = math.exp(log + least * math.log(beta) + (n - least) * math.log1p(-beta))
    total, odds = 0.0, beta / (1 - beta)
    for j in range(least, n + 1):
        total += term
        term *= (n - j) / (j + 1) * odds
        if term < total * 1e-18:
            break
    return total


@lru_cache(maxsize=256)
def least_k(epsilon: Decimal, delta: Decimal) -> int:
    """The least k that hides enough for an epsilon and a delta, where as many rows are sampled as epsilon allows.

    >>> [least_k(Decimal(1), Decimal(delta)) for delta in ("1e-3", "1e-5", "1e-6")]
    [34, 61, 74]
    """
    beta, most = sampling_threshold(epsilon) / 2**BITS, float(delta) * (1 - SLACK)
    if beta < 1e-6:
        raise PolicyError("epsilon is so small that no row would be sampled", got=epsilon, allowed="0.00001 or more")

    def enough(k: int) -> bool:
        return sampled_delta(k, float(epsilon), beta) <= most

    low, high = 0, 16
    while not enough(high):
        low, high = high, 2 * high
        if high > LARGEST_K:
            what = "so large an epsilon samples nearly all rows, and hides them only among more than a million alike"
            raise PolicyError(what, got=f"epsilon {epsilon}", allowed="about 10 or less")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high
