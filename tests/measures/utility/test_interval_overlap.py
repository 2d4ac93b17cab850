"""Interval overlap: the formula, the intervals of a regression by hand, and coefficients that one table lacks."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from sfumato.errors import ColumnError, PolicyError
from sfumato.measures.utility import interval_overlap
from sfumato.measures.utility.interval_overlap import overlap


def people(rows: int, seed: int, slope: float = 2.0) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    x, job = rng.normal(50, 10, rows), rng.choice(["clerk", "cook", "none"], rows, p=[0.5, 0.3, 0.2])
    y = slope * x + np.where(job == "cook", 8.0, 0.0) + rng.normal(0, 5, rows)
    ill = rng.random(rows) < 1 / (1 + np.exp(-(x - 50) / 10))
    return pl.DataFrame({"x": x, "job": job, "y": y, "ill": np.where(ill, "yes", "no")})


def test_the_formula():
    assert overlap((0, 2), (1, 5)) == pytest.approx((1 / 2 + 1 / 4) / 2)
    assert overlap((0, 4), (1, 2)) == pytest.approx((1 / 4 + 1) / 2)
    assert overlap((0, 1), (3, 5)) == pytest.approx((-2 - 1) / 2)
    assert overlap((1, 1), (1, 1)) == 1


def test_a_line_by_hand():
    """x 1..4, y 1 3 2 4: slope 0.8, intercept 0.5, residual variance 0.9; se of the slope √(0.9/5)."""
    found = interval_overlap(
        {"x": [1, 2, 3, 4], "y": [1, 3, 2, 4]}, {"x": [1, 2, 3, 4], "y": [2, 3, 3, 5]}, outcome="y", predictors="x"
    )
    z = 1.959963984540054
    slope = found.details["coefficients"][1]
    assert found.details["regression"] == "linear"
    assert slope["original"] == pytest.approx([0.8 - z * math.sqrt(0.18), 0.8 + z * math.sqrt(0.18)])
    assert slope["other"] == pytest.approx([0.9 - z * math.sqrt(0.35 / 5), 0.9 + z * math.sqrt(0.35 / 5)])
    half = z * math.sqrt(0.18), z * math.sqrt(0.07)
    assert slope["overlap"] == pytest.approx((2 * half[1] / (2 * half[0]) + 1) / 2)  # the second lies in the first
    first = found.details["coefficients"][0]
    assert np.mean(first["original"]) == pytest.approx(0.5)
    assert np.diff(first["original"])[0] / 2 == pytest.approx(z * math.sqrt(0.9 * (1 / 4 + 2.5**2 / 5)))


def test_logistic_for_two_values():
    real, made = people(2000, 1), people(2000, 2)
    found = interval_overlap(real, made, outcome="ill", predictors=["x"], hold_out=people(2000, 3))
    assert found.details["regression"] == "logistic"
    slope = found.details["coefficients"][1]
    assert slope["original"][0] < 0.1 < slope["original"][1]
    assert 0 < found.value < 1
    assert found.baseline > 0
    numbers = interval_overlap(
        real.with_columns(ill=pl.col("ill") == "yes"), made.with_columns(ill=pl.col("ill") == "yes"),
        outcome="ill", predictors="x",
    )  # fmt: skip
    assert numbers.value == pytest.approx(found.value)


def test_a_wrong_slope_and_a_category():
    found = interval_overlap(people(500, 1), people(500, 2, slope=1.0), outcome="y", predictors=["x", "job"])
    by = {entry["term"]: entry for entry in found.details["coefficients"]}
    assert list(by) == ["intercept", "x", "job = cook", "job = none"]
    assert by["x"]["overlap"] < 0
    assert by["job = cook"]["overlap"] > 0
    assert found.value == pytest.approx(np.mean([max(entry["overlap"], 0) for entry in by.values()]))


def test_what_one_table_does_not_tell():
    real = people(500, 1)
    made = people(500, 2).filter(pl.col("job") != "none").with_columns(twice=pl.col("x") * 2)
    found = interval_overlap(
        real.with_columns(twice=pl.col("x") * 2), made, outcome="y", predictors=["x", "job", "twice"]
    )
    by = {entry["term"]: entry["overlap"] for entry in found.details["coefficients"]}
    assert by["job = none"] is None  # counts as 0
    assert "twice" not in by
    assert "1 of them lie apart or are not told" in found.sentence


def test_rows_that_lack_a_value_are_left_out():
    real = people(300, 1)
    holes = real.with_columns(x=pl.when(pl.int_range(300) < 50).then(None).otherwise(pl.col("x")))
    found = interval_overlap(holes, real, outcome="y", predictors="x")
    assert found.details["left_out"] == [50, 0]
    alone = interval_overlap(real[50:], real, outcome="y", predictors="x")
    assert [entry["original"] for entry in found.details["coefficients"]] == [
        pytest.approx(entry["original"]) for entry in alone.details["coefficients"]
    ]


def test_refusals():
    real = people(50, 1)
    with pytest.raises(PolicyError, match="not two values"):
        interval_overlap(real, real, outcome="job")
    with pytest.raises(ColumnError, match="no column"):
        interval_overlap(real, real, outcome="z")
    with pytest.raises(ColumnError, match="to explain"):
        interval_overlap(real, real, outcome="y", predictors=["y"])
    for wrong in (0, 1, "x", 1.5):
        with pytest.raises(PolicyError, match="level"):
            interval_overlap(real, real, outcome="y", level=wrong)
