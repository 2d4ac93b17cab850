"""Differential privacy of a recoded table: beta and k from epsilon and delta, against the published table."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import polars as pl
import pytest

import sfumato as sf
from sfumato.criteria.differential_privacy import least_k, sampled_delta, sampling_threshold
from sfumato.errors import PolicyError
from sfumato.release.verify import verify_table

LEAST = {  # Bild, Kuhn and Prasser 2018: epsilon to the least k at delta 1e-3, 1e-5, 1e-6
    "0.5": (27, 51, 63),
    "1": (34, 61, 74),
    "2": (64, 113, 131),
}
DELTAS = ("1e-3", "1e-5", "1e-6")
REACHED = {"0.5": (9.654e-4, 9.113e-6, 9.258e-7), "1": (8.506e-4, 7.803e-6, 8.995e-7)}


@pytest.mark.parametrize("epsilon", LEAST)
def test_the_least_k_is_that_of_the_paper_and_one_less_is_too_few(epsilon: str) -> None:
    beta = 1 - math.exp(-float(epsilon))
    for k, delta in zip(LEAST[epsilon], DELTAS, strict=True):
        assert least_k(Decimal(epsilon), Decimal(delta)) == k
        assert sampled_delta(k, float(epsilon), beta) <= float(delta) < sampled_delta(k - 1, float(epsilon), beta)


@pytest.mark.parametrize("epsilon", REACHED)
def test_the_delta_at_that_k_is_as_computed_elsewhere(epsilon: str) -> None:
    beta = 1 - math.exp(-float(epsilon))
    for k, delta in zip(LEAST[epsilon], REACHED[epsilon], strict=True):
        assert sampled_delta(k, float(epsilon), beta) == pytest.approx(delta, rel=6e-4)


def _exactly(k: int, epsilon: Fraction, beta: Fraction) -> Fraction:
    """The delta of the definition in fractions, over many n; e^epsilon is `epsilon` here."""
    gamma = (epsilon - 1 + beta) / epsilon
    found = Fraction(0)
    for n in range(max(math.ceil(k / gamma - 1), 1), 8 * k):
        least = math.floor(gamma * n) + 1
        found = max(
            found, sum((math.comb(n, j) * beta**j * (1 - beta) ** (n - j) for j in range(least, n + 1)), Fraction())
        )
    return found


@pytest.mark.parametrize(
    ("k", "factor", "beta"), [(3, 3, Fraction(1, 2)), (7, 2, Fraction(1, 3)), (12, 4, Fraction(3, 5))]
)
def test_delta_is_the_largest_tail_to_nine_digits(k: int, factor: int, beta: Fraction) -> None:
    exact = _exactly(k, Fraction(factor), beta)
    assert sampled_delta(k, math.log(factor), float(beta)) == pytest.approx(float(exact), rel=1e-9)


def test_rows_are_never_sampled_with_more_than_epsilon_allows() -> None:
    for epsilon in ("0.1", "0.9", "1", "2", "7.5"):
        most = 1 - (-Decimal(epsilon)).exp()
        found = Decimal(sampling_threshold(Decimal(epsilon))) / 2**64
        assert most - Decimal(2) ** -63 < found <= most


def test_epsilon_is_split_exactly() -> None:
    one = sf.DifferentialPrivacy(1, 1e-6)
    assert (one.choosing, one.anonymising) == (Decimal("0.1"), Decimal("0.9"))
    assert one.choosing + one.anonymising == one.cost.epsilon == 1
    other = sf.DifferentialPrivacy(0.7, 1e-5, epsilon_search=0.2)
    assert other.anonymising == Decimal("0.5")
    assert other.k == 51
    assert sf.DifferentialPrivacy(**other.parameters()) == other


def test_a_smaller_delta_hides_more() -> None:
    found = [sf.DifferentialPrivacy(1, delta).k for delta in (1e-3, 1e-6, 1e-9, 1e-12)]
    assert found == sorted(found)
    assert len(set(found)) == 4


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"epsilon": 0, "delta": 1e-6}, "epsilon is out of range"),
        ({"epsilon": -1, "delta": 1e-6}, "epsilon is out of range"),
        ({"epsilon": float("nan"), "delta": 1e-6}, "epsilon must be a number"),
        ({"epsilon": 21, "delta": 1e-6}, "protects nobody"),
        ({"epsilon": 15, "delta": 1e-6}, "samples nearly all rows"),
        ({"epsilon": 1e-9, "delta": 1e-6}, "no row would be sampled"),
        ({"epsilon": 1, "delta": 0}, "delta is out of range"),
        ({"epsilon": 1, "delta": 1}, "delta is out of range"),
        ({"epsilon": 1, "delta": "much"}, "delta must be a number"),
        ({"epsilon": 1, "delta": 1e-6, "epsilon_search": 1}, "a part of epsilon"),
        ({"epsilon": 1, "delta": 1e-6, "epsilon_search": 0}, "epsilon_search is out of range"),
    ],
)
def test_nonsense_is_refused(given: dict[str, float], said: str) -> None:
    with pytest.raises(PolicyError, match=said):
        sf.DifferentialPrivacy(**given)


def test_rows_refute_it_and_never_prove_it() -> None:
    asked = sf.DifferentialPrivacy(1, 1e-6)
    few, enough = (pl.DataFrame({"age": ["3*"] * rows}) for rows in (asked.k - 1, asked.k))
    assert verify_table(few, [["age"]], [asked]).outcome == "broken"
    found = verify_table(enough, [["age"]], [asked])
    assert (found.outcome, found.holds, found.promises[0].how) == ("by construction", False, "by construction")
    with pytest.raises(PolicyError, match="no rows prove"):
        sf.verify(enough, quasi=["age"], require=asked)
