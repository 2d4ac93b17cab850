"""Barnardisation: counts move by one, totals follow."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import PolicyError
from sfumato.tables.perturbation import Barnardisation
from tests.tables.perturbation.problems import SPEC, TREE, counts_table, off, problem_of, random_counts, sums_table


@pytest.mark.parametrize("seed", range(10))
def test_bounds_and_sums(seed: int) -> None:
    table = counts_table(random_counts((5, 3, 2), 3, seed), TREE)
    changed = Barnardisation(0.4, seed)(problem_of(table)).changed
    assert changed is not None
    assert off(table, changed) == 0
    leaf = np.ix_(*(np.unique(one.leaf) for one in table.dimensions))
    before, after = table.value[leaf], changed.reshape(table.shape)[leaf]
    assert (np.abs(after - before) <= 1).all()
    assert (after[before == 0] == 0).all()
    assert (changed >= 0).all()


def test_probabilities() -> None:
    table = counts_table(SPEC)
    problem = problem_of(table)
    moves = np.zeros(3)
    runs, inner = 600, 7
    for seed in range(runs):
        changed = Barnardisation(0.2, seed)(problem).changed
        assert changed is not None
        delta = (changed - table.value.ravel()).reshape(table.shape)[1:, 1:][table.value[1:, 1:] > 0]
        assert delta.size == inner
        moves += np.bincount(delta.astype(int) + 1, minlength=3)
    assert moves / (runs * inner) == pytest.approx([0.2, 0.6, 0.2], abs=0.03)


def test_same_cell_same_change() -> None:
    counts = random_counts((4, 3), 5, 1)
    one = Barnardisation()(problem_of(counts_table(counts))).changed
    two = Barnardisation()(problem_of(counts_table(counts))).changed
    assert one is not None
    assert two is not None
    assert (one == two).all()


def test_refusals() -> None:
    with pytest.raises(PolicyError, match="counts"):
        Barnardisation()(problem_of(sums_table({("x",): [1.5], ("y",): [2.0]})))
    with pytest.raises(PolicyError, match="p is"):
        Barnardisation(0.6)
