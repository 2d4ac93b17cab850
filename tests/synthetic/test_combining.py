"""Estimates of m tables are combined by the rule of their kind."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import PolicyError

Q, V = [10, 12, 11], [4, 4.4, 3.6]


def test_the_worked_example():
    """shared/spec/synthetic.md"""
    full, partial, simple = (sf.synthetic.combine(Q, V, kind) for kind in ("full", "partial", "simple"))
    assert full.estimate == partial.estimate == simple.estimate == 11
    assert (1 + 1 / 3) * full.between - full.within == pytest.approx(-2.666667, abs=1e-6)
    assert full.variance == pytest.approx(4)
    assert full.replaced
    assert partial.variance == pytest.approx(4.333333, abs=1e-6)
    assert simple.variance == pytest.approx(5.333333, abs=1e-6)
    assert simple.standard_error == pytest.approx(5.333333**0.5, abs=1e-6)


def test_rows_of_another_number():
    assert sf.synthetic.combine(Q, V, "full", rows=50, original_rows=100).variance == pytest.approx(2)
    assert sf.synthetic.combine(Q, V, "simple", rows=50, original_rows=100).variance == pytest.approx(4 * (0.5 + 1 / 3))


def test_intervals():
    simple = sf.synthetic.combine(Q, V, "simple")
    assert simple.degrees == np.inf
    assert simple.interval() == pytest.approx((11 - 1.959964 * 5.333333**0.5, 11 + 1.959964 * 5.333333**0.5), abs=1e-5)
    full = sf.synthetic.combine([1, 2, 3, 4], [0.5, 0.5, 0.5, 0.5], "full")
    spread = 1.25 * np.var([1, 2, 3, 4], ddof=1)
    assert full.variance == pytest.approx(spread - 0.5)
    assert full.degrees == pytest.approx(3 * (1 - 0.5 / spread) ** 2)
    low, high = full.interval(0.9)
    assert low < 1.25 * 2 - full.standard_error * 1.7 < high
    partial = sf.synthetic.combine(Q, V)
    assert partial.degrees == pytest.approx(2 * (1 + 12) ** 2)
    assert "11" in repr(partial)


def test_partial_intervals_cover_as_often_as_they_say():
    """Known variance, values drawn anew about a drawn mean: 95% cover the true mean."""
    chance = np.random.default_rng(1)
    n, m, covered = 50, 4, 0
    for _ in range(400):
        x = chance.standard_normal(n)
        copies = [np.where(chance.random(n) < 0.5, x, chance.standard_normal(n) + x.mean()) for _ in range(m)]
        found = sf.synthetic.combine([c.mean() for c in copies], [c.var(ddof=1) / n for c in copies])
        low, high = found.interval()
        covered += low <= 0 <= high
    assert 0.91 < covered / 400 < 0.99


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (([1], [1]), "one table does not tell"),
        (([1, 2], [1]), "each estimate needs its variance"),
        (([1, 2], [1, -1]), "each of the variances is out of range"),
        (([1, float("nan")], [1, 1]), "each of the estimates is out of range"),
        (([1, 2], [1, 1], "half"), "unknown kind of synthesis"),
        (([1, 2], [1, 1], "full", 10), "go together"),
        ((1, [1, 1]), "must be a list of numbers"),
    ],
)
def test_what_makes_no_sense_is_refused(given, message):
    with pytest.raises(PolicyError, match=message):
        sf.synthetic.combine(*given)
    with pytest.raises(PolicyError, match="level"):
        sf.synthetic.combine(Q, V).interval(1)
