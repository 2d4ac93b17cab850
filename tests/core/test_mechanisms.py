"""Noise has its exact law, neighbouring tables are as hard to tell apart as epsilon says, and a fault would be seen."""

from __future__ import annotations

import math
from decimal import Decimal
from itertools import permutations

import numpy as np
import pytest
from scipy import stats

from sfumato.core.mechanisms import choose, choose_in_each, choose_several, frequent_keys, gaussian, laplace

DRAWS = 20_000
ALPHA = 1e-6  # of a test; a handful of them is run


def draws(sensitivity: int, epsilon: str, at: int = 0) -> np.ndarray:
    return np.array(laplace([at] * DRAWS, sensitivity, Decimal(epsilon)).values)


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, "0.5"), (3, "1")])
def test_geometric_noise_has_its_law(sensitivity, epsilon):
    found = draws(sensitivity, epsilon)
    a = math.exp(-float(epsilon) / sensitivity)
    reach = int(12 / -math.log(a))
    law = np.array([(1 - a) / (1 + a) * a ** abs(k) for k in range(-reach, reach + 1)])
    seen = np.bincount(np.clip(found, -reach, reach) + reach, minlength=2 * reach + 1)
    wide = law * DRAWS >= 5
    expected = np.append(law[wide], 1 - law[wide].sum()) * DRAWS
    counted = np.append(seen[wide], DRAWS - seen[wide].sum())
    assert stats.chisquare(counted[expected > 0], expected[expected > 0]).pvalue > ALPHA


def test_gaussian_noise_has_its_variance():
    found = np.array(gaussian([0] * 5000, 1.0, Decimal("0.01")).values)
    spread = 5000 * found.var() / 50
    assert stats.chi2.sf(spread, 4999) > ALPHA
    assert stats.chi2.cdf(spread, 4999) > ALPHA


def largest_ratio(one: np.ndarray, other: np.ndarray) -> float:
    """The largest log ratio of how often a value is seen, less what chance may add to it."""
    low, high = min(one.min(), other.min()), max(one.max(), other.max())
    counts = [np.bincount(x - low, minlength=high - low + 1) for x in (one, other)]
    often = (counts[0] >= 100) & (counts[1] >= 100)
    ratio = np.abs(np.log(counts[0][often] / counts[1][often]))
    chance = 5 * np.sqrt(1 / counts[0][often] + 1 / counts[1][often])
    return float((ratio - chance).max())


def test_neighbours_are_told_apart_by_epsilon_at_most_and_a_halved_sensitivity_is_seen():
    epsilon = "0.5"
    assert largest_ratio(draws(1, epsilon, 10), draws(1, epsilon, 11)) <= float(epsilon)
    assert largest_ratio(draws(1, epsilon, 10), draws(1, epsilon, 12)) > float(epsilon)  # as if it were 2, and said 1


def test_better_candidates_are_likelier_by_epsilon():
    found = np.array([choose([0.0, 1.0, 2.0], 1.0, Decimal(2)) for _ in range(2000)])
    seen = np.bincount(found, minlength=3)
    heads, law = np.exp([-2.0, -1.0, 0.0]), np.zeros(3)
    for order in permutations(range(3)):  # the first, in any order, whose coin comes up heads: permute and flip
        left = 1.0
        for one in order:
            law[one] += left * heads[one] / 6
            left *= 1 - heads[one]
    assert law.sum() == pytest.approx(1)
    assert stats.chisquare(seen, law * 2000).pvalue > ALPHA


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


def test_a_key_of_one_unit_is_found_with_a_probability_of_delta_at_most():
    delta = Decimal("0.02")
    keys = {str(i): 1 for i in range(20_000)}  # each is another unit's own
    found = frequent_keys(keys, 1, 1, 1, Decimal(1), delta)
    expected = len(keys) * float(delta)
    assert 0.2 * expected < len(found.counts) < expected + 6 * math.sqrt(expected)
    assert min(found.counts.values()) >= found.threshold


def test_the_scale_is_never_too_small():
    for epsilon in ("0.05", "0.1", "0.3", "0.7", "1", "1.1"):
        found = laplace([0], 1, Decimal(epsilon))
        assert Decimal(found.scale) * Decimal(epsilon) >= 1
        assert found.scale == pytest.approx(1 / float(epsilon), rel=1e-12)


def test_numbers_too_large_for_exact_noise_are_held_at_the_largest():
    assert abs(laplace([2**60], 1, Decimal(1)).values[0] - 2**52) < 100
