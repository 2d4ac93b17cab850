"""Association of columns and their clusters, by hand and by brute force."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.search.fragments.association import clustered, in_bins, mean_square_contingency, medoids, released_to
from tests.fuzz import examples


@settings(max_examples=examples(100))
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(1, 3)), min_size=1, max_size=12))
def test_mean_square_contingency_is_its_formula(rows: list[tuple[int, int, int]]) -> None:
    one, other, weight = (np.array(column) for column in zip(*rows, strict=True))
    f = np.zeros((4, 3))
    np.add.at(f, (one, other), weight)
    f = f[f.sum(axis=1) > 0][:, f.sum(axis=0) > 0] / weight.sum()
    product = f.sum(axis=1, keepdims=True) * f.sum(axis=0)
    least = min(f.shape)
    expected = 0.0 if least < 2 else float(((f - product) ** 2 / product).sum()) / (least - 1)
    assert abs(mean_square_contingency(one, other, (4, 3), weight) - expected) < 1e-9


def test_bins_hold_as_many_rows_each() -> None:
    code = np.repeat(np.arange(30), 2)
    binned, bins = in_bins(code, 30, np.ones(60))
    assert bins == 10
    assert np.bincount(binned).tolist() == [6] * 10
    assert in_bins(np.array([0, 1]), 2, np.ones(2))[1] == 2


@settings(max_examples=examples(60))
@given(st.integers(2, 7), st.integers(1, 4), st.integers(0, 10_000))
def test_no_exchange_of_a_medoid_is_nearer(n: int, k: int, seed: int) -> None:
    k = min(k, n)
    distance = np.random.default_rng(seed).random((n, n))
    distance = np.triu(distance, 1) + np.triu(distance, 1).T
    of = medoids(distance, k)
    assert {*of} == {*range(k)}  # no cluster is empty

    def cost(chosen: tuple[int, ...]) -> float:
        return float(distance[:, list(chosen)].min(axis=1).sum())

    # some medoids have these clusters, and no exchange of one of them costs less
    fits = [
        m for m in itertools.combinations(range(n), k)
        if [m[g] for g in of] == [i if i in m else m[int(np.argmin(distance[i, list(m)]))] for i in range(n)]
    ]  # fmt: skip
    assert any(
        cost(m)
        <= min((cost((*rest, i)) for rest in itertools.combinations(m, k - 1) for i in range(n)), default=1e9) + 1e-9
        for m in fits
    )


def test_the_sensitive_column_stands_in_the_last_group() -> None:
    near = np.array([[0, 0.1, 0.9, 0.9], [0.1, 0, 0.9, 0.9], [0.9, 0.9, 0, 0.2], [0.9, 0.9, 0.2, 0]])
    assert clustered(near, 2, None) == [[0, 1], [2, 3]]
    assert clustered(near, 2, 1) == [[0, 1, 2], [3]]
    assert clustered(near, 3, 1) == [[0, 1], [2], [3]]
    assert clustered(near, 2, 3) == [[1], [0, 2, 3]]
    assert released_to([[0, 1], [2, 3]], near) == [[0, 1, 2], [3]]
    assert released_to([[1], [0, 2, 3]], near) == [[0, 1], [2, 3]]
