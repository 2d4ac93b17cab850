"""Additive noise: its size, zeros, the grid, and noise that rounding would undo."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.errors import ColumnError, PolicyError
from sfumato.masking.additive_noise import AdditiveNoise
from sfumato.verbs.steps import parse
from tests.masking.conftest import Apply
from tests.masking.tables import holds, numbers


def test_the_noise_is_a_share_of_the_standard_deviation(apply: Apply) -> None:
    frame = numbers(20_000)
    made = apply(parse("additive-noise income,tax share=0.5"), frame).columns
    noise = [(made[name] - frame[name]).to_numpy() for name in made.columns]
    for name, e in zip(made.columns, noise, strict=True):
        assert e.std(ddof=1) / frame[name].std() == pytest.approx(0.5, rel=0.02)
        assert abs(e.mean()) < 4 * e.std() / np.sqrt(len(e))
    assert abs(np.corrcoef(noise)[0, 1]) < 0.03


def test_values_lie_on_a_grid_that_is_checked(apply: Apply) -> None:
    frame = pl.DataFrame({"age": [31, 42, 58, 66], "lab": [1 / 3, 0.5, 1 / 7, 2.0], "pay": [10.25, 20.5, 13.0, None]})
    change = apply(AdditiveNoise(["age", "lab", "pay"]), frame)
    assert change.columns.schema == {"age": pl.Int64, "lab": pl.Float64, "pay": pl.Float64}
    assert change.columns["pay"].is_null().to_list() == [False, False, False, True]
    assert [dict(fact.parameters) for fact in change.facts] == [{"base": 1}, {"base": 0.0001}, {"base": 0.01}]
    assert holds(change, frame) == {"points": True}
    assert holds(change, frame, change.columns.with_columns(pl.col("lab") + 0.00003)) == {"points": False}


def test_zeros_stay_where_asked(apply: Apply) -> None:
    frame = pl.DataFrame({"x": [0.0] * 50 + [1 / 3, 100 / 3] * 25})
    assert (apply(AdditiveNoise("x", zeros=True), frame).columns["x"] == 0).sum() == 50
    assert (apply(AdditiveNoise("x"), frame).columns["x"] == 0).sum() < 5


def test_survey_weights_make_the_standard_deviation(apply: Apply) -> None:
    frame = pl.DataFrame({"x": np.arange(10_000) / 7})
    weights = np.where(np.arange(10_000) < 100, 1000.0, 1e-6)  # of the first hundred, nearly alone
    e = (apply(AdditiveNoise("x", share=0.2), frame, weight="w", weights=weights).columns["x"] - frame["x"]).std()
    assert e == pytest.approx(0.2 * 100 / 7 / np.sqrt(12), rel=0.05)


def test_noise_that_rounding_undoes_is_refused(apply: Apply) -> None:
    frame = pl.DataFrame({"children": [0, 1, 2, 3], "pay": [1000.0, 3000.0, 2000.0, 7000.0]})
    with pytest.raises(ColumnError, match='unit of column "children" that rounding undoes it'):
        apply(AdditiveNoise("children", share=0.2), frame)
    with pytest.raises(ColumnError, match='"pay"'):
        apply(AdditiveNoise("pay", share=0.1), frame)
    assert apply(AdditiveNoise("children", share=0.5), frame).columns["children"].dtype == pl.Int64


def test_refusals(apply: Apply) -> None:
    with pytest.raises(PolicyError, match="share is out of range"):
        AdditiveNoise(share=0)
    with pytest.raises(PolicyError, match="zeros must be true or false"):
        AdditiveNoise(zeros=1)  # type: ignore[arg-type]
    with pytest.raises(ColumnError, match='"x" has one value only'):
        apply(AdditiveNoise("x"), pl.DataFrame({"x": [2.0, 2.0]}))
    with pytest.raises(ColumnError, match="takes columns of numbers"):
        apply(AdditiveNoise("x"), pl.DataFrame({"x": ["a", "b"]}))


def test_numbers_that_have_no_variance_are_refused(apply: Apply) -> None:
    with pytest.raises(ColumnError, match="too large to compute with"):
        apply(AdditiveNoise("x"), pl.DataFrame({"x": [1e200, -1e200]}))
    with pytest.raises(ColumnError, match="one value only"):
        apply(AdditiveNoise("x"), pl.DataFrame({"x": [1e-200, -1e-200]}))
    with pytest.raises(ColumnError, match="infinite values"):
        apply(AdditiveNoise("x"), pl.DataFrame({"x": [float("inf"), 1.0]}))
