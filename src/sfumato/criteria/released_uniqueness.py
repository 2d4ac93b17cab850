"""Population uniqueness over released rows, by the definitions: plain sums that share nothing with the search.

Each function takes how many classes there are of each size and the sampling fraction, and gives the share of the
population that is estimated to be unique; nan where the model has no solution.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

Sizes = Mapping[int, int]
ROUNDS = 200


def pitman(counts: Sizes, fraction: float) -> float:
    """By Newton's method on both scores, which are sums over 1/(theta + i alpha), 1/(theta + i) and 1/(i - alpha)."""
    rows, classes = _totals(counts)
    if classes == rows:
        return 1.0
    if counts.get(1, 0) == 0 or classes == 1:
        return 0.0
    up, down = np.arange(1.0, classes), np.arange(1.0, rows)
    largest = max(counts)
    beyond = np.zeros(largest)  # beyond[i] classes have more than i records
    for size, count in counts.items():
        beyond[:size] += count
    inner = np.arange(1.0, largest)
    weight = beyond[1:]

    def likelihood(theta: float, alpha: float) -> float:
        if not 0 < alpha < 1 or theta <= -alpha:
            return -math.inf
        return float(
            np.log(theta + up * alpha).sum() - np.log(theta + down).sum() + (weight * np.log(inner - alpha)).sum()
        )

    ones, twos = counts.get(1, 0), counts.get(2, 0)
    alpha = min(max(ones / (ones + 2 * twos) if twos else 0.5, 0.01), 0.95)
    theta = max(1.0, classes / 10)
    best = likelihood(theta, alpha)
    for _ in range(ROUNDS):
        a, b, c = 1 / (theta + up * alpha), 1 / (theta + down), weight / (inner - alpha)
        by_theta, by_alpha = a.sum() - b.sum(), (up * a).sum() - c.sum()
        tt, ta = (b * b).sum() - (a * a).sum(), -(up * a * a).sum()
        aa = -((up * a) ** 2).sum() - (c / (inner - alpha)).sum()
        # theta moves on the scale of theta + alpha, so that it stays above -alpha
        scale = theta + alpha
        g = np.array([by_theta * scale, by_alpha])
        h = np.array([[tt * scale * scale + by_theta * scale, ta * scale], [ta * scale, aa]])
        if h[0, 0] >= 0 or h[0, 0] * h[1, 1] <= h[0, 1] ** 2:  # not a summit: uphill, as steep as the curvature allows
            h = np.diag(-np.abs(np.diag(h)) - 1e-9)
        move = -np.linalg.solve(h, g)
        length = 1.0
        while True:
            new_theta = scale * math.exp(min(max(length * move[0], -5), 5)) - alpha
            new_alpha = min(max(alpha + length * move[1], alpha / 4), (3 + alpha) / 4)
            found = likelihood(new_theta, new_alpha)
            # so near the summit the likelihood is flat to the last digit, and Newton's step is right
            if found >= best or np.abs(length * move).max() < 1e-5:
                break
            length /= 2
        done = abs(new_alpha - alpha) < 1e-15 and abs(new_theta - theta) < 1e-13 * (1 + abs(theta))
        theta, alpha, best = new_theta, new_alpha, max(found, best)
        if done or alpha < 1e-6:
            break
    if alpha < 1e-6:  # the summit is at alpha 0, where the uniques are theta
        alpha = 1e-6
        theta = _bisect(lambda x: (1 / (x + up * alpha)).sum() - (1 / (x + down)).sum(), 1e-9, 1e12)
    logs = math.lgamma(theta + 1) - math.lgamma(theta + alpha) + (alpha - 1) * math.log(rows / fraction)
    return min(1.0, math.exp(logs))


def zayatz(counts: Sizes, fraction: float) -> float:
    """Step by step: a population class of j records leaves exactly one in the sample, by drawing without return."""
    rows, classes = _totals(counts)
    if counts.get(1, 0) == 0:
        return 0.0
    population = max(round(rows / fraction), rows)
    chance, whole = rows / population, 0.0  # of one given record in the sample, and all others of its class out of it
    alone = chance * counts[1] / classes
    for j in range(1, max(counts) + 1):
        if j > 1:
            chance *= max(population - rows - (j - 2), 0) / (population - (j - 1))
        if j in counts:
            whole += j * chance * counts[j] / classes
    return counts[1] / rows * alone / whole


def snb(counts: Sizes, fraction: float) -> float:
    """By two nested bisections on the generating function of a population class, thinned by the sampling."""
    rows, classes = _totals(counts)
    ones, twos = counts.get(1, 0), counts.get(2, 0)
    if ones == 0:
        return 0.0
    if fraction >= 1:
        return ones / rows
    stay, out = fraction, 1 - fraction
    first = sum(i * stay**2 * (1 - stay**2) ** (i - 1) * n for i, n in counts.items())
    second = sum(out**i * ((1 + stay) ** i - 1) * n for i, n in counts.items() if out**i > 0)
    third = sum(out**i * n for i, n in counts.items()) / sum(i * stay * out ** (i - 1) * n for i, n in counts.items())
    population_classes = classes + ones * first / second * third**2
    share = population_classes * fraction / rows
    if twos == 0:
        return min(1.0, share)

    def thinned(a: float, b: float) -> tuple[float, float]:
        """Chances that a class leaves one and two records, pi G'(1 - pi) and pi^2/2 G''(1 - pi), without b^a."""
        rest = 1 - (1 - b) * out
        slope = (1 - b) / rest
        return stay * (1 + out * a * slope), stay**2 / 2 * (2 * a * slope + out * a * (a + 1) * slope**2)

    def shape(b: float) -> float:
        def gap(log_a: float) -> float:
            one, two = thinned(math.exp(log_a), b)
            return two / one - twos / ones

        return math.exp(_bisect(gap, -60, 60))

    def excess(b: float) -> float:
        a = shape(b)
        return math.log(population_classes * thinned(a, b)[0] / ones) + a * math.log(b / (1 - (1 - b) * out))

    low, high = 1e-12, 1 - 1e-9
    if excess(low) * excess(high) > 0:
        return math.nan
    b = _bisect(excess, low, high)
    return min(1.0, share * b ** shape(b))


def dankar(counts: Sizes, fraction: float) -> float:
    """Pitman up to a sampling fraction of 0.1; above, the smaller of Zayatz and SNB."""
    if fraction <= 0.1:
        return pitman(counts, fraction)
    known = [x for x in (zayatz(counts, fraction), snb(counts, fraction)) if not math.isnan(x)]
    return min(known)


RELEASED_UNIQUENESS: dict[str, Callable[[Sizes, float], float]] = {
    "dankar": dankar,
    "pitman": pitman,
    "zayatz": zayatz,
    "snb": snb,
}


def _totals(counts: Sizes) -> tuple[int, int]:
    return sum(size * count for size, count in counts.items()), sum(counts.values())


def _bisect(f: Callable[[float], float], low: float, high: float) -> float:
    rising = f(high) > f(low)
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        if (f(middle) > 0) == rising:
            high = middle
        else:
            low = middle
    return (low + high) / 2
