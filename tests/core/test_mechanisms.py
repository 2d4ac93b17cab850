"""Noise has its exact law, neighbouring tables are as hard to tell apart as epsilon says, and a fault would be seen."""

from __future__ import annotations

import math
from collections import Counter
from decimal import Decimal
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy import stats

from sfumato.core.mechanisms import choose_in_each, choose_several, frequent_keys, gaussian, laplace
from tests.fuzz import FUZZ, slow_but

TESTS = 20  # of laws and of ratios, at most: their error probabilities add up
ALPHA = 1e-6 / TESTS
AWAY = stats.norm.isf(ALPHA / 100)  # standard deviations that none of a hundred ratios is away by
SIZES = slow_but([2_000, 100_000], 2_000)
CHOICES = slow_but([2_000, 12_000 if FUZZ == 1 else 100_000], 2_000)  # a choice takes ten times as long as a number


def fits(counted: np.ndarray, law: np.ndarray) -> bool:
    """Whether counts have a law, by a chi-square test; what is seen less than five times is taken together."""
    draws = counted.sum()
    wide = law * draws >= 5
    seen, expected = (np.append(x[wide], x.sum() - x[wide].sum()) for x in (counted, law * draws))
    some = expected > 1
    assert law.sum() == pytest.approx(1, abs=1e-9)
    return bool(stats.chisquare(seen[some], expected[some] * seen[some].sum() / expected[some].sum()).pvalue > ALPHA)


def counts_of(found: np.ndarray, reach: int) -> np.ndarray:
    """How often each whole number from -reach to reach is there; beyond it counts as the end."""
    return np.bincount(np.clip(found, -reach, reach) + reach, minlength=2 * reach + 1)


def geometric_law(a: float, reach: int) -> np.ndarray:
    law = np.array([(1 - a) / (1 + a) * a ** abs(k) for k in range(-reach, reach + 1)])
    law[[0, -1]] = a**reach / (1 + a)  # all beyond the ends
    return law


def geometric(size: int, sensitivity: int, epsilon: str, at: int = 0) -> np.ndarray:
    return np.array(laplace([at] * size, sensitivity, Decimal(epsilon)).values)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, "0.5"), (3, "1")])
def test_geometric_noise_has_its_law(sensitivity, epsilon, size):
    a = math.exp(-float(epsilon) / sensitivity)
    reach = int(12 / -math.log(a))
    drawn = geometric(size, sensitivity, epsilon)
    assert drawn.var() == pytest.approx(2 * a / (1 - a) ** 2, rel=6 * math.sqrt(5 / size))  # its kurtosis is about 6
    found = counts_of(drawn, reach)
    assert fits(found, geometric_law(a, reach))
    if size > 2_000:
        assert not fits(found, geometric_law(math.exp(-2 * float(epsilon) / sensitivity), reach))  # it can fail


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(("sensitivity", "rho"), [(1.0, "0.02"), (2.0, "0.5")])
def test_gaussian_noise_has_its_law(sensitivity, rho, size):
    sigma = sensitivity / math.sqrt(2 * float(rho))
    reach = int(8 * sigma) + 1
    law = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma**2))
    found = np.array(gaussian([0] * size, sensitivity, Decimal(rho)).values)
    assert fits(counts_of(found, reach), law / law.sum())


SCORES = [0.0, 1.0, 2.0, 1.5]


def permute_and_flip(scores: list[float], scale: float) -> np.ndarray:
    """The first, in any order, whose coin comes up heads (McKenna and Sheldon 2020)."""
    heads, law = np.exp((np.array(scores) - max(scores)) / scale), np.zeros(len(scores))
    for order in permutations(range(len(scores))):
        left = 1.0
        for one in order:
            law[one] += left * heads[one] / math.factorial(len(scores))
            left *= 1 - heads[one]
    return law


def exponential(scores: list[float], scale: float) -> np.ndarray:
    """Probabilities in proportion to the exponential of the scores (McSherry and Talwar 2007)."""
    weights = np.exp(np.array(scores) / scale)
    return weights / weights.sum()


def chosen(size: int, k: int, cost: str, zcdp: bool, scores: list[float] = SCORES, sensitivity: float = 1.0) -> Any:
    """How often each ordered choice of k is made."""
    found = choose_in_each([scores] * size, k, sensitivity, Decimal(cost), zcdp=zcdp)
    seen = Counter(map(tuple, found))
    return np.array([seen[pair] for pair in permutations(range(len(scores)), k)])


@pytest.mark.parametrize("size", CHOICES)
@pytest.mark.parametrize("zcdp", [False, True])
@pytest.mark.parametrize("k", [1, 2])
def test_choices_have_their_law(k, zcdp, size):
    """One after the other, each among those that are left; for a rho by the exponential mechanism (Gumbel noise)."""
    cost = "0.5" if zcdp else "2"
    scale = 2 * math.sqrt(k / 8 / 0.5) if zcdp else 2 * k / 2
    first, law = (exponential if zcdp else permute_and_flip), []
    for pair in permutations(range(len(SCORES)), k):
        left, likely = list(range(len(SCORES))), 1.0
        for one in pair:
            likely *= first([SCORES[other] for other in left], scale)[left.index(one)]
            left.remove(one)
        law.append(likely)
    assert fits(chosen(size, k, cost, zcdp), np.array(law))


@pytest.mark.parametrize("size", SIZES)
def test_keys_that_reach_a_threshold_have_the_law_of_their_counts(size):
    found = frequent_keys({f"key {i}": 20 for i in range(size)}, 1, 1, 1, Decimal(1), Decimal("1e-8"))
    assert found.scale == pytest.approx(1)
    law = geometric_law(math.exp(-1), 60)[found.threshold - 20 + 60 :]
    seen = np.bincount(np.array(list(found.counts.values())) - found.threshold, minlength=len(law))
    assert fits(np.append(seen, size - seen.sum()), np.append(law, 1 - law.sum()))


@pytest.mark.parametrize("size", SIZES)
def test_a_key_of_one_person_is_seen_with_probability_delta_at_most(size):
    delta = 0.02
    found = frequent_keys({f"key {i}": 1 for i in range(size)}, 1, 1, 1, Decimal(1), Decimal(str(delta)))
    assert stats.binom.sf(len(found.counts) - 1, size, delta) > ALPHA
    two = frequent_keys({f"key {i}": 4 for i in range(size)}, 1, 1, 1, Decimal(1), Decimal(str(delta)))
    assert (
        stats.binom.sf(len(two.counts) - 1, size, delta) < ALPHA
    )  # of a person who counts four times, it would be seen


def largest_ratio(one: np.ndarray, other: np.ndarray) -> float:
    """The largest log ratio of how often outcomes are seen, less what chance may add to it."""
    often = (one >= 15) & (other >= 15)
    assert often.any()
    ratio = np.abs(np.log(one[often] / other[often]))
    return float((ratio - AWAY * np.sqrt(1 / one[often] + 1 / other[often])).max())


def test_neighbours_are_told_apart_by_epsilon_at_most_and_a_halved_sensitivity_is_seen():
    at = {value: counts_of(geometric(6_000, 1, "1.5", value) - 10, 12) for value in (10, 11, 12)}
    assert largest_ratio(at[10], at[11]) <= 1.5
    assert largest_ratio(at[10], at[12]) > 1.5  # as if it were 2, and said 1


@pytest.mark.slow
@pytest.mark.parametrize(("k", "zcdp"), [(1, False), (2, False), (1, True)])
def test_choices_of_neighbours_are_told_apart_by_epsilon_at_most(k, zcdp):
    """Scores that all move by the sensitivity, each as is worst; with a rho the range of the ratios is bounded."""
    cost, epsilon = ("0.5", 2.0) if zcdp else ("2", 2.0)
    scores, moved = [1.0, 1.0, 1.0], [2.0, 0.0, 0.0]
    one, other = (chosen(8_000, k, cost, zcdp, x) for x in (scores, moved))
    assert largest_ratio(one, other) <= epsilon
    faulty = [chosen(8_000, k, cost, zcdp, x, 0.5) for x in (scores, moved)]  # noise for half of what they move by
    assert largest_ratio(*faulty) > epsilon


@pytest.mark.slow
@pytest.mark.parametrize(("monotonic", "doubled"), [(True, 1), (False, 2)])
def test_choices_in_disjoint_cells_cost_as_one(monotonic, doubled):
    """Each cell draws with the whole epsilon: of two candidates the worse is chosen with half of e^(-d / scale)."""
    cells, sensitivity, epsilon, behind = 6000, 2.0, Decimal("0.5"), 4.0
    found = choose_in_each([[0.0, behind]] * cells, 1, sensitivity, epsilon, monotonic)
    worse = sum(one == [0] for one in found)
    chance = math.exp(-behind / (doubled * sensitivity / float(epsilon))) / 2
    assert abs(worse - cells * chance) < 5.5 * math.sqrt(cells * chance * (1 - chance))


@pytest.mark.slow
def test_choices_for_a_rho_are_of_the_exponential_mechanism():
    """Whose range is bounded: permute and flip would cost four times the rho (opendp/opendp#2911, before 0.16)."""
    cells = 3000
    worse = sum(one == [0] for one in choose_in_each([[0.0, 1.0]] * cells, 1, 1.0, Decimal("0.5"), zcdp=True))
    chance = 1 / (1 + math.e)
    assert abs(worse - cells * chance) < 5.5 * math.sqrt(cells * chance * (1 - chance))


def test_several_choices_divide_one_epsilon():
    """With k = 2 the first choice is that of half of the epsilon."""
    runs, behind = 300, 4.0
    worse = sum(choose_several([0.0, behind], 2, 1.0, Decimal(1), True)[0] == 0 for _ in range(runs))
    chance = math.exp(-behind / 2) / 2
    assert abs(worse - runs * chance) < 6 * math.sqrt(runs * chance)


def test_the_scale_is_never_too_small():
    for epsilon in ("0.05", "0.1", "0.3", "0.7", "1", "1.1"):
        found = laplace([0], 1, Decimal(epsilon))
        assert Decimal(found.scale) * Decimal(epsilon) >= 1
        assert found.scale == pytest.approx(1 / float(epsilon), rel=1e-12)


def test_numbers_too_large_for_exact_noise_are_held_at_the_largest():
    assert abs(laplace([2**60], 1, Decimal(1)).values[0] - 2**52) < 100
