"""Closed forms of accounting, and budgets in exact decimals."""

from __future__ import annotations

from decimal import Decimal

import pytest

from sfumato.core.accounting import (
    advanced_composition,
    delta_of,
    epsilon_of,
    exact,
    gaussian_sigma,
    laplace_interval,
    rho_of,
    zcdp_of_pure,
)
from sfumato.errors import PolicyError


@pytest.mark.parametrize(
    ("epsilon", "delta", "simple", "tight"),
    [
        (1, 1e-9, 0.01178116039520, 0.01497305767359),
        (1, 1e-6, 0.01746890476912, 0.02435597035954),
        (0.1, 1e-6, 0.00018030408018, 0.00032104769035),
        (3, 1e-6, 0.14726389008021, 0.18506984065340),
    ],
)
def test_rho_of_epsilon_and_delta(epsilon, delta, simple, tight):
    """Computed in decimals of 50 digits, with the best alpha where the derivative is 0."""
    assert rho_of(epsilon, delta, tight=False) == pytest.approx(simple, abs=1e-13)
    assert rho_of(epsilon, delta) == pytest.approx(tight, abs=1e-13)
    assert delta_of(rho_of(epsilon, delta), epsilon) == pytest.approx(delta, rel=1e-9)


def test_other_closed_forms():
    assert delta_of(0.5, 3) == pytest.approx(0.00514318406386, abs=1e-13)
    assert gaussian_sigma(0.01) == pytest.approx(7.0710678118654755, abs=1e-9)
    assert laplace_interval(2) == pytest.approx(5.991464547107982, abs=1e-9)
    assert zcdp_of_pure(0.5) == 0.125
    assert advanced_composition(0.1, 100, 1e-6) == pytest.approx(6.30823095051341, abs=1e-9)


def test_a_float_is_its_shortest_decimal():
    assert sum([exact(0.05, "epsilon")] * 20) == Decimal(1)
    assert epsilon_of("0.1") == Decimal("0.1")


@pytest.mark.parametrize(
    "value", [0, -1, float("nan"), float("inf"), True, None, "much", 21, "1e-30", "0." + "1" * 50, "1e-13"]
)
def test_what_is_no_epsilon_is_refused(value):
    with pytest.raises(PolicyError, match="epsilon"):
        epsilon_of(value)


@pytest.mark.parametrize("value", [1e-13, "1e-30", 10**13])
def test_a_number_of_too_many_digits_is_told_as_that(value):
    with pytest.raises(PolicyError, match=r"too many digits.*up to 12 decimals"):
        exact(value, "delta")


def test_a_large_epsilon_is_taken_where_it_is_meant():
    assert epsilon_of(21, i_know=True) == 21
