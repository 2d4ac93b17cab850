"""Noise on outliers: which rows are outlying, how much noise they get, that the others stay."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.errors import ColumnError, PolicyError
from sfumato.masking.outlier_noise import OutlierNoise
from sfumato.masking.robust import robust_moments
from tests.masking.conftest import Apply


def correlated(rows: int, out: int) -> np.ndarray:
    chance = np.random.default_rng(3)
    x = chance.standard_normal((rows, 2)) @ np.array([[1.0, 0.9], [0.0, 0.4]]) * 100
    x[:out] = [400, -400]  # of two columns together, not of either by itself alone
    return x.round(1)


def test_a_fifth_of_outliers_does_not_move_the_estimate() -> None:
    centre, covariance = robust_moments(correlated(5000, 1000))
    assert np.abs(centre).max() < 12
    assert covariance == pytest.approx(10_000 * np.array([[1, 0.9], [0.9, 0.97]]), rel=0.35)


def test_outlying_rows_change_and_the_others_stay(apply: Apply) -> None:
    x = correlated(5000, 10)
    x[20:24] = np.nan  # without any value
    x[30, 0] = np.nan
    x[30, 1] = 5000
    frame = pl.DataFrame({"a": x[:, 0], "b": x[:, 1]}).fill_nan(None)
    y = apply(OutlierNoise(["a", "b"]), frame).columns
    changed = (y["a"].ne_missing(frame["a"]) | y["b"].ne_missing(frame["b"])).to_numpy()
    assert changed[:10].all()
    assert changed[30]
    assert changed[31:].mean() == pytest.approx(0.04, abs=0.02)  # of normal rows: alpha together, alpha by itself
    assert y["a"].equals(y["a"].round(1))
    assert y["a"].is_null().to_numpy().tolist() == frame["a"].is_null().to_numpy().tolist()
    assert (y["b"] - frame["b"]).abs()[30] > 10


def test_noise_grows_with_the_distance(apply: Apply) -> None:
    x = np.random.default_rng(4).standard_normal(4000).round(3)
    x[:500], x[500:1000] = 10.001, 100.001
    e = apply(OutlierNoise("x", share=0.2), pl.DataFrame({"x": x})).columns["x"].to_numpy() - x
    assert e[500:1000].std() / e[:500].std() == pytest.approx(10, rel=0.15)


def test_a_column_of_mostly_zeros(apply: Apply) -> None:
    x = pl.DataFrame({"x": [0.0] * 80 + [1.25, 2.5] * 10 + [900.0]})
    y = apply(OutlierNoise("x"), x).columns["x"]
    assert y[-1] != 900
    assert y.head(100).equals(x["x"].head(100))


def test_refusals(apply: Apply) -> None:
    with pytest.raises(PolicyError, match="alpha is out of range"):
        OutlierNoise(alpha=0)
    with pytest.raises(ColumnError, match="rounding undoes it"):
        apply(OutlierNoise("x", share=0.1), pl.DataFrame({"x": [*range(5), 90]}))


@pytest.mark.parametrize("unit", [100, 0])
def test_digits_do_not_tell_which_rows_changed(apply: Apply, unit: int) -> None:
    x = np.exp(np.random.default_rng(4).standard_normal(400)) * 30_000
    frame = pl.DataFrame({"pay": (x / 100).round() * 100 if unit else x})
    y = apply(OutlierNoise("pay"), frame).columns["pay"]
    changed = y.filter(y != frame["pay"])
    assert len(changed) > 10
    assert (changed % 100 == 0).all() if unit else not (changed == changed.round(6)).any()
