"""Random and deterministic rounding: unbiased, the same everywhere, and what sums tell."""

from __future__ import annotations

import numpy as np
import pytest

from sfumato.errors import PolicyError
from sfumato.tables.perturbation import DeterministicRounding, RandomRounding
from sfumato.tables.perturbation.draws import cell_draws
from tests.tables.perturbation.problems import SPEC, counts_table, problem_of, random_counts, sums_table


def test_random_rounding_is_unbiased_over_keys() -> None:
    table = counts_table(SPEC)
    problem, value = problem_of(table), table.value.ravel()
    mean = np.zeros(len(value))
    runs = 800
    for seed in range(runs):
        changed = RandomRounding(5, seed)(problem).changed
        assert changed is not None
        assert (changed % 5 == 0).all()
        assert (np.abs(changed - value) < 5).all()
        assert (changed[value % 5 == 0] == value[value % 5 == 0]).all()
        mean += changed / runs
    deviation = np.sqrt((value % 5) * (5 - value % 5) / runs)  # of the mean, exactly
    assert (np.abs(mean - value) <= 4.5 * deviation + 1e-9).all()


def test_draws_are_of_the_cell_and_not_of_the_table() -> None:
    counts = random_counts((3, 4, 2), 4, 5)
    full = counts_table(counts)
    part = counts_table(counts.sum(axis=2))
    assert part.by == ("a", "b")
    turned = counts_table(counts.sum(axis=2).T)  # its a is b
    every = np.arange(part.value.size)
    in_full = np.ravel_multi_index((*np.unravel_index(every, part.shape), np.zeros(len(every), int)), full.shape)
    own = cell_draws(part, every, None, "x")
    assert (own == cell_draws(full, in_full, None, "x")).all()
    assert len(np.unique(own)) == len(own)
    assert (own == cell_draws(part, every, None, "x")).all()
    assert not (own == cell_draws(part, every, 1, "x")).any()
    other = cell_draws(turned, every, None, "x").reshape(turned.shape).T
    assert np.argwhere(other == own.reshape(part.shape)).tolist() == [[i, i] for i in range(4)]  # labels are the same


def test_another_owner_draws_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    table = counts_table(SPEC)
    every = np.arange(table.value.size)
    monkeypatch.setenv("SFUMATO_KEY", "one")
    first = cell_draws(table, every, 7, "x")
    monkeypatch.setenv("SFUMATO_KEY", "two")
    assert not (first == cell_draws(table, every, 7, "x")).any()


def test_deterministic_rounding_falls_to_its_sums() -> None:
    """Four cells of 2 and their total 8 are published as 0, 0, 0, 0 and 10: only 2, 2, 2, 2 fits."""
    found = DeterministicRounding(5)(problem_of(counts_table([2, 2, 2, 2])))
    assert found.changed is not None
    assert found.changed.tolist() == [10, 0, 0, 0, 0]
    assert found.facts["determined"] == 4
    assert DeterministicRounding(5)(problem_of(counts_table([2, 9, 12]))).facts["determined"] == 0


def test_random_rounding_can_fall_to_its_sums() -> None:
    """2 + 2 = 4, published as 0 + 0 = 6."""
    problem = problem_of(counts_table([2, 2]))
    fell = 0
    for seed in range(200):
        found = RandomRounding(3, seed)(problem)
        assert found.changed is not None
        published = found.changed.tolist()
        assert found.facts["determined"] == (2 if published in ([6, 0, 0], [3, 3, 3]) and published[0] == 6 else 0)
        fell += published == [6, 0, 0]
    assert 0 < fell < 30  # 1 in 27


def test_sums_with_digits() -> None:
    table = sums_table({("x",): [1.25], ("y",): [-7.5], ("z",): [2.5]})
    for method in (RandomRounding(5), DeterministicRounding(5)):
        changed = method(problem_of(table)).changed
        assert changed is not None
        assert (changed % 5 == 0).all()
        assert (np.abs(changed - table.value.ravel()) < 5).all()
    nearest = dict(zip(table.dimensions[0].labels, DeterministicRounding(5)(problem_of(table)).changed, strict=True))
    assert nearest == {"*": -5, "x": 0, "y": -5, "z": 5}


def test_out_of_range() -> None:
    with pytest.raises(PolicyError, match="base"):
        RandomRounding(1)
    with pytest.raises(PolicyError, match="base"):
        DeterministicRounding(0)
    assert "5" in RandomRounding().statement()
    assert not RandomRounding.hides
    assert not RandomRounding.additive
