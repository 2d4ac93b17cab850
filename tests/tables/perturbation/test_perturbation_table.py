"""Perturbation tables by exact enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from sfumato.errors import PolicyError
from sfumato.tables.perturbation.perturbation_table import greatest_entropy, perturbation_table

CASES = [
    (d, v, js)
    for d, v, js in product(range(1, 7), (0.05, 0.5, 1.0, 1.08, 2.0, 3.0, 6.0), range(5))
    if max(js - 1, 0) <= v <= d and max(js, 1) <= d + 1 and (js < 2 or d >= js - 1)
]


@pytest.mark.parametrize(("largest", "variance", "forbidden"), CASES)
def test_mean_variance_and_support(largest: int, variance: float, forbidden: int) -> None:
    try:
        table = perturbation_table(largest, variance, forbidden)
    except PolicyError:
        assert forbidden > 1  # some count has no such change
        return
    change, p = table.change, table.probability
    assert change.tolist() == list(range(-largest, largest + 1))
    assert p[0].tolist() == [float(v == 0) for v in change]
    assert (p >= 0).all()
    assert np.abs(p.sum(axis=1) - 1).max() < 1e-12
    assert np.abs(p[1:] @ change).max() < 1e-12
    assert np.abs(p[1:] @ change**2 - variance).max() < 1e-11
    for count in range(1, len(p) + largest):
        result = count + change
        row = p[min(count, len(p) - 1)]
        impossible = (result < 0) | ((result > 0) & (result < forbidden))
        assert (row[impossible] == 0).all()


def test_greatest_entropy_beats_others() -> None:
    """Along the directions that keep sum, mean and variance, entropy falls either way."""
    change = np.arange(-3.0, 4.0)
    p = greatest_entropy(change, 1.3)
    constraints = np.stack([np.ones(7), change, change**2])
    directions = np.linalg.svd(constraints)[2][3:]

    def entropy(q: np.ndarray) -> float:
        return float(-(q * np.log(q)).sum())

    for direction in directions:
        for step in (1e-3, -1e-3):
            assert entropy(p + step * direction) < entropy(p)


def test_published_table_of_others() -> None:
    """D=1, V=1/2: the quarter, half and quarter that any such table must be; D=2, V=1: exp(a + b v^2)."""
    assert perturbation_table(1, 0.5).probability[-1] == pytest.approx([0.25, 0.5, 0.25])
    row = perturbation_table(2, 1.0).probability[-1]
    assert row == pytest.approx(row[::-1])
    assert row[1] * row[1] ** 3 == pytest.approx(row[0] * row[2] ** 3)  # log p is a parabola


@pytest.mark.parametrize(("largest", "variance", "forbidden"), [(1, 1.5, 0), (3, 0.5, 2), (2, 2.0, 3), (6, 40.0, 0)])
def test_no_such_table(largest: int, variance: float, forbidden: int) -> None:
    with pytest.raises(PolicyError, match="variance"):
        perturbation_table(largest, variance, forbidden)


def test_lookup_gives_each_change_its_share() -> None:
    table = perturbation_table(3, 1.0, 2)
    keys = (np.arange(100_000) + 0.5) / 100_000
    for count in range(12):
        found = table.changes(np.full(len(keys), count), keys)
        row = table.probability[min(count, len(table.probability) - 1)]
        share = np.bincount(found + 3, minlength=7) / len(keys)
        assert share == pytest.approx(row, abs=2e-5)
    last = table.changes(np.arange(12), np.full(12, np.nextafter(1, 0)))
    rows = table.probability[np.minimum(np.arange(12), len(table.probability) - 1)]
    assert (rows[np.arange(12), last + 3] > 0).all()
