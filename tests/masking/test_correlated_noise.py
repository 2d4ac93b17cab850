"""Correlated noise: its covariance, restored variances, linear relations, missing values."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.errors import ColumnError, PolicyError
from sfumato.masking.correlated_noise import CorrelatedNoise
from tests.masking.conftest import Apply
from tests.masking.tables import holds, numbers

NAMES = ["age", "income", "tax"]


@pytest.mark.parametrize(("restore", "factor"), [(False, 1.25), (True, 1.0)])
def test_covariances_grow_by_a_factor_or_stay(apply: Apply, restore: bool, factor: float) -> None:
    frame = numbers(40_000)
    change = apply(CorrelatedNoise(NAMES, share=0.5, restore=restore), frame)
    before, after = (np.cov(table.select(NAMES).to_numpy(), rowvar=False) for table in (frame, change.columns))
    assert after / before == pytest.approx(np.full((3, 3), factor), rel=0.08)
    assert np.corrcoef(frame["tax"], change.columns["tax"])[0, 1] == pytest.approx(1 / np.sqrt(1.25), abs=0.01)
    assert holds(change, frame) == {"points": True}


def test_parts_still_add_up(apply: Apply) -> None:
    frame = numbers().with_columns(total=pl.col("income") + pl.col("tax"))
    made = apply(CorrelatedNoise(["income", "tax", "total"], restore=True), frame).columns
    assert (made["income"] + made["tax"] - made["total"]).abs().max() <= 3  # type: ignore[operator]
    assert (made["income"] - frame["income"]).std() > 1000  # type: ignore[operator]


def test_missing_values_stay_missing(apply: Apply) -> None:
    frame = numbers(missing=True)
    made = apply(CorrelatedNoise(NAMES), frame).columns
    assert made.select(pl.all().is_null()).equals(frame.select(pl.col(NAMES).is_null()))


def test_refusals(apply: Apply) -> None:
    frame = pl.DataFrame({"x": [1.5, 2.0, None, 7.0], "y": [None, 3.5, 1.0, 2.0]})
    with pytest.raises(ColumnError, match="too few rows have all values; got 2 complete rows for 2 columns"):
        apply(CorrelatedNoise(["x", "y"]), frame)
    with pytest.raises(PolicyError, match="restore must be true or false"):
        CorrelatedNoise(restore="yes")  # type: ignore[arg-type]
