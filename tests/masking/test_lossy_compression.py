"""Lossy compression: the transform by its definition, what stays of a column, singular vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.errors import PolicyError
from sfumato.masking.lossy_compression import LossyCompression, compressed, cosine_transform, inverse_cosine_transform
from sfumato.verbs.steps import masker, parse
from tests.masking.conftest import Apply
from tests.masking.tables import holds, numbers

NAMES = ["age", "income", "tax"]


@pytest.mark.parametrize("n", [1, 2, 3, 8, 17, 100])
def test_the_transform_is_the_one_of_the_definition(n: int) -> None:
    x = np.random.default_rng(n).standard_normal(n)
    j = np.arange(n)
    matrix = np.sqrt(2 / n) * np.cos(np.pi * j[:, None] * (2 * j + 1) / (2 * n))
    matrix[0] /= np.sqrt(2)
    assert np.abs(cosine_transform(x) - matrix @ x).max() < 1e-12
    assert np.abs(inverse_cosine_transform(matrix @ x) - x).max() < 1e-12


def test_the_largest_coefficients_stay() -> None:
    x = np.random.default_rng(1).standard_normal(50)
    c = cosine_transform(x - x.mean())
    left = cosine_transform(compressed(x, 0.1) - x.mean())
    largest = np.argsort(np.abs(c))[-5:]
    assert left[largest] == pytest.approx(c[largest], abs=1e-12)
    assert np.abs(np.delete(left, largest)).max() < 1e-12


def test_columns_keep_their_means_and_lose_detail(apply: Apply) -> None:
    frame = numbers(missing=True)
    change = apply(parse("lossy-compression age,income,tax keep=0.005"), frame)
    assert holds(change, frame) == {"means": True}
    assert holds(change, frame, change.columns.with_columns(pl.col("tax") + 1e-3)) == {"means": False}
    x, y = (table["income"].drop_nulls().to_numpy() for table in (frame, change.columns))
    assert 0.95 < np.corrcoef(x, y)[0, 1] < 1
    assert np.isin(y.round(2), x).mean() < 0.1
    assert change.columns["tax"].is_null().equals(frame["tax"].is_null())


def test_another_order_loses_more(run: Any) -> None:
    frame = numbers()
    far = []
    for step in (LossyCompression("tax"), LossyCompression("tax", order="age")):
        far.append(np.abs(run(frame, step).table["tax"] - frame["tax"]).mean())
    assert far[1] > 5 * far[0]


def test_first_singular_vectors(apply: Apply) -> None:
    frame = numbers()
    change = apply(LossyCompression(NAMES, kind="singular", rank=1), frame)
    y = change.columns.to_numpy()
    z = (frame.select(NAMES).to_numpy() - y.mean(axis=0)) / frame.select(NAMES).to_numpy().std(axis=0, ddof=1)
    u, s, v = np.linalg.svd(z, full_matrices=False)
    expected = s[0] * np.outer(u[:, 0], v[0]) * frame.select(NAMES).to_numpy().std(axis=0, ddof=1) + y.mean(axis=0)
    assert y == pytest.approx(expected, rel=1e-9)
    assert holds(change, frame) == {"means": True}
    weighted = apply(
        LossyCompression(NAMES, kind="singular"), frame, weight="weight", weights=frame["weight"].to_numpy()
    )
    assert holds(weighted, frame) == {"means": True}
    assert apply(LossyCompression(NAMES, kind="singular"), numbers(missing=True)).facts == ()


def test_refusals(apply: Apply) -> None:
    with pytest.raises(PolicyError, match='rank is no parameter of kind "cosine"'):
        LossyCompression(rank=2)
    with pytest.raises(PolicyError, match="keep is out of range"):
        LossyCompression(keep=2)
    with pytest.raises(PolicyError, match="rank must be below the number of columns"):
        apply(LossyCompression(["age", "tax"], kind="singular", rank=2), numbers())
    step = LossyCompression("tax", keep=0.1, order="age")
    assert masker("lossy-compression", **step.parameters()) == step
