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
        (1, 1e-9, 0.011781, 0.014973),
        (1, 1e-6, 0.017469, 0.024356),
        (0.1, 1e-6, 0.000180, 0.000321),
        (3, 1e-6, 0.147264, 0.185070),
    ],
)
def test_rho_of_epsilon_and_delta(epsilon, delta, simple, tight):
    assert rho_of(epsilon, delta, tight=False) == pytest.approx(simple, abs=5e-7)
    assert rho_of(epsilon, delta) == pytest.approx(tight, abs=5e-7)
    assert delta_of(rho_of(epsilon, delta), epsilon) == pytest.approx(delta, rel=1e-6)


def test_other_closed_forms():
    assert delta_of(0.5, 3) == pytest.approx(0.005143, abs=5e-7)
    assert gaussian_sigma(0.01) == pytest.approx(7.0710678118654755, abs=1e-9)
    assert laplace_interval(2) == pytest.approx(5.991464547107982, abs=1e-9)
    assert zcdp_of_pure(0.5) == 0.125
    assert advanced_composition(0.1, 100, 1e-6) < 100 * 0.1


def test_a_float_is_its_shortest_decimal():
    assert sum([exact(0.05, "epsilon")] * 20) == Decimal(1)
    assert epsilon_of("0.1") == Decimal("0.1")


@pytest.mark.parametrize(
    "value", [0, -1, float("nan"), float("inf"), True, None, "much", 21, "1e-30", "0." + "1" * 50, "1e-13"]
)
def test_what_is_no_epsilon_is_refused(value):
    with pytest.raises(PolicyError, match="epsilon"):
        epsilon_of(value)


def test_a_large_epsilon_is_taken_where_it_is_meant():
    assert epsilon_of(21, i_know=True) == 21
