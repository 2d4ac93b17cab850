"""Random orthogonal matrix masking: orthogonal blocks, exact moments, the share of mixing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sfumato.errors import ColumnError, PolicyError
from sfumato.masking.romm import ROMM, blocks, mixed
from sfumato.verbs.steps import parse
from tests.masking.conftest import Apply
from tests.masking.tables import holds, numbers

NAMES = ["age", "income", "tax"]


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("p", [0.2, 0.5, 1])
def test_moments_are_exact_and_values_are_mixed(apply: Apply, p: float, missing: bool, weighted: bool) -> None:
    frame = numbers(3000, missing=missing)
    given: dict[str, Any] = {"weight": "weight", "weights": frame["weight"].to_numpy()} if weighted else {}
    change = apply(ROMM(NAMES, p=p), frame, **given)
    assert holds(change, frame) == {"means": True, "covariances": True}
    known = frame["tax"].is_not_null().to_numpy()
    x, y = frame["tax"].to_numpy()[known], change.columns["tax"].to_numpy()[known]
    assert np.corrcoef(x, y)[0, 1] == pytest.approx((1 - p) / np.hypot(p, 1 - p), abs=0.13)
    assert np.isnan(change.columns["tax"].to_numpy()[~known]).all()
    assert change.columns["tax"].round(2).is_in(frame["tax"].drop_nulls().implode()).sum() < 100


def test_the_matrix_is_orthogonal_and_fixes_the_ones() -> None:
    chance = np.random.default_rng(1)
    matrix = mixed(np.eye(40), None, 0.4, chance)
    assert np.abs(matrix @ matrix.T - np.eye(40)).max() < 1e-12
    assert np.abs(matrix @ np.ones(40) - 1).max() < 1e-12
    assert np.linalg.det(matrix) == pytest.approx(1)
    assert np.diag(mixed(np.eye(320), None, 0.01, chance)).min() > 0.999  # near the identity


def test_every_row_is_in_one_block() -> None:
    for rows in (3, 15, 16, 31, 33, 1000):
        dealt = list(blocks(rows, np.random.default_rng(2)))
        assert sorted(np.concatenate([part.ravel() for part in dealt]).tolist()) == list(range(rows))
        assert min(part.shape[1] for part in dealt) >= min(rows, 17)


def test_refusals(apply: Apply) -> None:
    for p in (0, 1.5):
        with pytest.raises(PolicyError, match="p is out of range"):
            parse(f"romm income p={p}")
    with pytest.raises(ColumnError, match="at least 10"):
        apply(ROMM(NAMES), numbers(4))
