"""Correlations of numbers, of categories and of both, by hand."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.errors import ColumnError
from sfumato.measures.utility import correlations
from sfumato.measures.utility.correlations import correlation_ratio, cramers_v, pearson


def test_pearson_where_both_are_known():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 3))
    assert pearson(x * [1e200, 1, 1e-200]) == pytest.approx(np.corrcoef(x.T))
    holes = x.copy()
    holes[::7, 0] = holes[::5, 2] = np.nan
    both = ~np.isnan(holes[:, [0, 2]]).any(axis=1)
    assert pearson(holes)[0, 2] == pytest.approx(np.corrcoef(x[both][:, [0, 2]].T)[0, 1])
    assert pearson(np.column_stack([x[:, 0], np.full(200, 0.1), np.full(200, np.nan)]))[0].tolist() == [1, 0, 0]


def test_cramers_v_by_hand():
    """A table of 20, 10, 10, 20: chi² 6.667, phi² 0.1111; corrected for 60 rows 0.0942 over 0.9831."""
    one, other = np.repeat([0, 0, 1, 1], [20, 10, 10, 20]), np.repeat([0, 1, 0, 1], [20, 10, 10, 20])
    found = cramers_v(one.astype(np.int32), other.astype(np.int32), (2, 2))
    assert found == pytest.approx(np.sqrt((1 / 9 - 1 / 59) / (1 - 1 / 59)))
    rng = np.random.default_rng(0)
    chance = [cramers_v(*rng.integers(0, 9, (2, 100), np.int32), (9, 9)) for _ in range(20)]
    assert np.mean(chance) < 0.12  # without the correction about 0.28


def test_correlation_ratio_by_hand():
    """1, 1 | 2, 4: means 1 and 3, of a total of 6 the groups have 4; corrected 1 - (1/3)(3/2)."""
    found = correlation_ratio(np.array([1.0, 1.0, 2.0, 4.0, np.nan]), np.array([0, 0, 1, 1, 2]), 3)
    assert found**2 == pytest.approx(1 - (2 / 6) * 3 / 2)


def test_the_mean_and_the_largest_difference():
    real = pl.DataFrame({"a": [1, 2, 3, 4] * 5, "b": [1, 2, 3, 4] * 5, "c": ["x", "x", "y", "y"] * 5})
    made = real.with_columns(b=pl.Series([4, 3, 2, 1] * 5))
    found = correlations(real, made, hold_out=real)
    assert found.value == pytest.approx(2 / 3)
    assert found.details["largest"]["columns"] == ["a", "b"]
    assert found.details["largest"]["difference"] == pytest.approx(2)
    assert found.baseline == 0
    assert np.array(found.details["original"])[0, 2] == pytest.approx(np.array(found.details["synthetic"])[1, 2])


def test_a_column_that_lost_its_variation_lost_its_correlation():
    real = pl.DataFrame({"a": range(10), "b": range(10), "c": list("xy") * 5})
    assert correlations(real, real.with_columns(b=pl.lit(3))).details["largest"]["difference"] == pytest.approx(1)
    with pytest.raises(ColumnError, match="two columns"):
        correlations(real, real, "a")
