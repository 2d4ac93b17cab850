"""Errors of numbers: four rows by hand, and microaggregated files against sdcMicro."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ColumnError, PolicyError
from sfumato.measures.utility import eigenvalues, il1s, numeric_error

BEFORE = {"x": [1.0, 2.0, 3.0, 4.0], "z": [4, 3, 2, 1]}
AFTER = {"x": [1.0, 2.0, 3.0, 6.0], "z": [4, 3, 2, 1]}
TURNED = -8 / math.sqrt(14 * 5)  # the correlation of x and z in the release; it was -1


@pytest.mark.parametrize(
    ("error", "on", "expected", "percent"),
    [
        ("mean-squared-error", "values", 4 / 4, 100 * 1 / 1.25),
        ("mean-absolute-error", "values", 2 / 4, 100 * 0.5 / 1.0),
        ("mean-variation", "values", 0.5 / 4, 12.5),
        ("mean-squared-error", "means", 0.25, 100 * 0.25 / 1.25),
        ("mean-absolute-error", "means", 0.5, 100 * 0.5 / math.sqrt(1.25)),
        ("mean-variation", "means", 0.2, 20),
        ("mean-squared-error", "covariances", 9, 100),
        ("mean-absolute-error", "covariances", 3, 100),
        ("mean-variation", "covariances", 1.8, 100),
    ],
)
def test_one_column_by_hand(error, on, expected, percent):
    """Means 2.5 and 3, variances 5/3 and 14/3."""
    found = numeric_error(BEFORE, AFTER, "x", error=error, on=on)
    assert found.value == pytest.approx(expected)
    assert found.details["percent"] == pytest.approx(percent)
    assert found.name == f"{error} of {on}"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ("mean-squared-error", (1 + TURNED) ** 2),
        ("mean-absolute-error", 1 + TURNED),
        ("mean-variation", 1 + TURNED),
    ],
)
def test_correlations_by_hand(error, expected):
    found = numeric_error(BEFORE, AFTER, error=error, on="correlations")
    assert found.value == pytest.approx(expected)
    assert found.value <= found.range[1]


def test_two_columns_by_hand():
    assert numeric_error(BEFORE, AFTER).value == pytest.approx(4 / 8)
    assert numeric_error(BEFORE, AFTER).details["per_column"] == {"x": 1.0, "z": 0.0}
    covariance = 5 / 3 - 8 / 3  # of x and z: from -5/3 to -8/3
    assert numeric_error(BEFORE, AFTER, on="covariances").value == pytest.approx((9 + covariance**2 + 0) / 3)


def test_il1s_by_hand():
    s = math.sqrt(5 / 3)
    assert il1s(BEFORE, AFTER, "x").value == pytest.approx(2 / (4 * math.sqrt(2) * s))
    assert il1s(BEFORE, AFTER).value == pytest.approx(2 / (8 * math.sqrt(2) * s))
    assert math.isnan(il1s({"x": [1, 1]}, {"x": [1, 2]}).value)


def test_eigenvalues_by_hand():
    """Correlation matrices of two columns have the eigenvalues 1 + r and 1 - r."""
    found = eigenvalues(BEFORE, AFTER)
    assert found.value == pytest.approx((1 + TURNED) / 2)
    assert found.details["original"] == pytest.approx([2, 0], abs=1e-12)
    assert eigenvalues(BEFORE, BEFORE).value == pytest.approx(0, abs=1e-12)


def test_labels_count_as_their_midpoint():
    labels = {"x": ["[1, 2]", "[1, 2]", ">= 3", "*"], "z": [4, 3, 2, 1]}
    found = numeric_error({"x": [1, 2, 3, 4], "z": [4, 3, 2, 1]}, labels, "x", error="mean-absolute-error")
    assert found.value == pytest.approx((0.5 + 0.5 + 0.5 + 1.5) / 4)


@pytest.mark.parametrize(
    ("label", "middle"),
    [
        ("20-29", 24.5),
        ("20 - 29", 24.5),
        ("20..29", 24.5),
        ("[20, 30)", 25),
        ("[-30, -20]", -25),
        ("-30--20", -25),
        ("{20, 21, 25}", 22),
        ("-4", -4),
        (">= 90", 90),
        ("90+", 90),
        ("[90, inf)", 90),
        ("1e3", 1000),
    ],
)
def test_a_range_that_no_original_value_is_in_is_its_middle(label, middle):
    found = numeric_error({"x": [10, 10, 50, 50]}, {"x": [label] * 4}, on="means", error="mean-absolute-error")
    assert found.value == pytest.approx(abs(30 - middle))


def test_a_word_with_digits_is_no_number():
    found = numeric_error({"x": [10, 10, 50, 50]}, {"x": ["a1", "b2", "c3", "50"]}, error="mean-absolute-error")
    assert found.details["left_out"] == 3
    assert "Left out: 3 released rows" in found.sentence


def test_the_mean_of_each_column_is_the_baseline():
    flat = {"x": [2.5] * 4, "z": [2.5] * 4}
    for error in ("mean-squared-error", "mean-absolute-error", "mean-variation"):
        found = numeric_error(BEFORE, flat, error=error)
        assert found.value == pytest.approx(found.baseline)
    assert il1s(BEFORE, flat).value == pytest.approx(il1s(BEFORE, BEFORE).baseline)
    assert numeric_error(BEFORE, AFTER, on="means").baseline is None


def test_missing_and_suppressed_rows_are_left_out():
    found = numeric_error({"x": [1, 2, None, 4]}, {"x": [1, 4, 3]}, rows=[0, 1, 2])
    assert found.value == pytest.approx((0 + 4) / 2)
    assert found.details["left_out"] == 1
    means = numeric_error({"x": [1, 2, 3, 4]}, {"x": [1, 2]}, on="means")
    assert means.value == pytest.approx(1)
    with pytest.raises(PolicyError, match="row by row"):
        numeric_error({"x": [1, 2, 3, 4]}, {"x": [1, 2]})


def test_zeros_are_left_out_of_mean_variation():
    found = numeric_error({"x": [0, 2]}, {"x": [1, 1]}, error="mean-variation")
    assert found.value == 0.5
    assert found.details["zeros_left_out"] == 1
    nothing = numeric_error({"x": [0, 0]}, {"x": [1, 1]}, error="mean-variation")
    assert math.isnan(nothing.value)
    assert "all original values are 0" in nothing.sentence


def test_undefined():
    assert math.isnan(numeric_error({"x": [1]}, {"x": [2]}, on="covariances").value)
    assert math.isnan(numeric_error({"x": [1, 2]}, {"x": [2, 3]}, on="correlations").value)
    assert math.isnan(eigenvalues({"x": [1]}, {"x": [2]}).value)
    with pytest.raises(ColumnError, match="does not hold numbers"):
        numeric_error({"x": ["a"]}, {"x": ["a"]}, "x")
    with pytest.raises(ColumnError, match="no numeric column"):
        numeric_error({"x": ["a"]}, {"x": ["a"]})
    with pytest.raises(PolicyError, match="unknown error"):
        numeric_error(BEFORE, AFTER, error="mean-square")
    with pytest.raises(PolicyError, match="unknown on"):
        numeric_error(BEFORE, AFTER, on="medians")


def mdav(x: np.ndarray, k: int) -> np.ndarray:
    """Maximum distance to average vector, over standardised columns: Domingo-Ferrer and Mateo-Sanz 2002."""
    z, left, groups = (x - x.mean(axis=0)) / x.std(axis=0), np.arange(len(x)), []

    def take(centre: np.ndarray) -> None:
        nonlocal left
        near = np.argsort(((z[left] - centre) ** 2).sum(axis=1), kind="stable")[:k]
        groups.append(left[near])
        left = np.delete(left, near)

    def farthest(centre: np.ndarray) -> np.ndarray:
        return z[left[((z[left] - centre) ** 2).sum(axis=1).argmax()]]

    while len(left) >= 3 * k:
        first = farthest(z[left].mean(axis=0))
        take(first)
        take(farthest(first))
    if len(left) >= 2 * k:
        take(farthest(z[left].mean(axis=0)))
    groups.append(left)
    released = x.copy()
    for group in groups:
        released[group] = x[group].mean(axis=0)
    return released


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("Tarragona_k3", "Tarragona"), ("Tarragona_k5", "Tarragona"), ("Tarragona_k10", "Tarragona"),
        ("Census_k3", "CASCrefmicrodata"), ("Census_k5", "CASCrefmicrodata"), ("Census_k10", "CASCrefmicrodata"),
        ("EIA_11_UTILITYID_k10", "EIA"),
    ],
)  # fmt: skip
def test_microaggregated_files_as_sdcmicro_measures_them(shared, name, file):
    case = json.loads((shared / "oracles/sdc.json").read_text())["mdav"][name]
    table = sf.read(shared / f"data/sdc/{file}.csv").select(pl.col(case["variables"]).cast(pl.Float64))
    release = pl.DataFrame(mdav(table.to_numpy(), case["k"]), schema=table.columns)
    assert il1s(table, release).value == pytest.approx(case["IL1old"], rel=1e-9)
    assert numeric_error(table, release).details["percent"] == pytest.approx(case["IL_pct"], rel=1e-9)
    if file != "CASCrefmicrodata":  # singular
        assert eigenvalues(table, release).details["relative"] == pytest.approx(case["eigen"], rel=1e-8)
