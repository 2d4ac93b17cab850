"""Intervals hold the truth as often as they say, by the exact laws of the noise, and errors fall with the budget."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.accounting import PrivacyCost
from sfumato.dp import Public, Unit
from sfumato.dp.noise import Noise
from sfumato.dp.queries import (
    ContingencyTable,
    Count,
    Covariance,
    Grouped,
    GroupedMean,
    LinearRegression,
    Mean,
    Quantile,
    StandardDeviation,
    Sum,
    Variance,
)
from sfumato.dp.queries.query import within
from sfumato.dp.rows import PrivateRows
from sfumato.engines.tables import engine_of
from tests.fuzz import slow_but

RUNS = 2000
LAPLACE_NOISE = Noise(PrivacyCost(Decimal(0)), epsilon=Decimal("0.5"))
GAUSSIAN_NOISE = Noise(PrivacyCost(Decimal(0)), rho=Decimal("0.02"))
QUESTIONS = [
    Count(), Sum("pay"), Mean("pay"), Variance("pay"), StandardDeviation("pay"), Covariance("age", "pay"),
    ContingencyTable("sex"), GroupedMean("pay", "sex"), Grouped(Mean("age"), "sex"),
    LinearRegression("pay", ["age", "sex"]),
]  # fmt: skip


@pytest.fixture(scope="module")
def rows() -> PrivateRows:
    rng = np.random.default_rng(2)
    n = 20_000
    age, sex = rng.integers(0, 100, n), rng.choice(["F", "M"], n)
    pay = np.clip(0.1 * age + 3 * (sex == "F") + rng.normal(0, 2, n), -5, 20)
    table = pl.DataFrame({"age": age, "sex": sex, "pay": pay})
    public = Public.of(dict(table.schema), {"age": (0, 100), "pay": (-5.5, 20.25)}, {"sex": ["F", "M"]})
    return PrivateRows(engine_of(table), public, Unit())


def simulated(query: Any, rows: PrivateRows, noise: Noise, runs: int) -> tuple[Any, list[tuple[Any, Any]]]:
    """The exact answer, and some noisy ones: noise by its law, from a seed."""
    rng = np.random.default_rng(4)
    parts = query.parts(rows.public, rows.unit)
    exact = [np.asarray(values, np.float64) for values in query.exact(rows)]
    scales = noise.scales(parts)
    drawn = []
    for part, scale in zip(parts, scales, strict=True):
        shape, own = (runs, part.width), scale / part.step
        if noise.rho and own > 50:
            drawn.append(np.rint(rng.normal(0, own, shape)))
        elif noise.rho:  # where a rounded normal law is another
            k = np.arange(-math.ceil(12 * own), math.ceil(12 * own) + 1)
            law = np.exp(-0.5 * np.square(k / own))
            drawn.append(rng.choice(k, shape, p=law / law.sum()).astype(np.float64))
        else:
            p = -np.expm1(-1 / own)  # a difference of two geometric numbers is two-sided geometric
            drawn.append((rng.geometric(p, shape) - rng.geometric(p, shape)).astype(np.float64))
    steps = [part.step for part in parts]
    told = [(e * s).tolist() for e, s in zip(exact, steps, strict=True)]
    truth = query.answer(told, [1e-12] * len(parts), rows.public, noise.law)[0]
    answers = [
        query.answer(
            [((e + d[run]) * s).tolist() for e, d, s in zip(exact, drawn, steps, strict=True)],
            scales, rows.public, noise.law,
        )
        for run in range(runs)
    ]  # fmt: skip
    return truth, answers


def values_of(value: Any) -> np.ndarray:
    """The numbers of an answer that intervals are of."""
    if isinstance(value, pl.DataFrame):
        return value.get_column("mean" if "mean" in value.columns else "count").to_numpy()
    if hasattr(value, "coefficients"):
        return np.array(list(value.coefficients.values()))
    return np.array([value])


def ends_of(interval: Any) -> np.ndarray:
    own = list(interval.values()) if isinstance(interval, dict) else interval
    return np.array(own if isinstance(own, list) else [own])


@pytest.mark.parametrize("noise", [LAPLACE_NOISE, GAUSSIAN_NOISE], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("query", slow_but(QUESTIONS, QUESTIONS[0]), ids=lambda one: one.name)
def test_intervals_hold_the_truth_as_often_as_they_say(query, noise, rows):
    truth, answers = simulated(query, rows, noise, RUNS)
    held = [
        (ends[:, 0] <= values_of(truth)) & (values_of(truth) <= ends[:, 1])
        for ends in (ends_of(interval) for _, interval in answers)
    ]
    share = np.mean(held, axis=0)
    whole = isinstance(query, Count | ContingencyTable)  # no fewer than 95% of whole numbers
    assert np.all(share > 0.94)
    assert np.all(share < (0.98 if whole else 0.96))


FEW = [
    (query, n, high_every, rho)
    for query in (Mean("pay"), Variance("pay"), Covariance("age", "pay"))
    for n, high_every in ((1, 1), (5, 1), (20, 1), (20, 2), (200, 4))
    for rho in ("0", "0.005", "0.02", "5")
]


@pytest.mark.parametrize(
    ("query", "n", "high_every", "rho"), slow_but(FEW, FEW[9], FEW[34]), ids=lambda one: getattr(one, "name", str(one))
)
def test_intervals_of_few_rows_at_the_bounds_hold_the_truth(query, n, high_every, rho):
    """A ratio of two noisy numbers is far from its first order there."""
    high = np.arange(n) % high_every == 0
    table = pl.DataFrame({"age": np.where(high, 100, 0), "pay": np.where(high, 20.0, -5.0)})
    public = Public.of(dict(table.schema), {"age": (0, 100), "pay": (-5, 20)}, {})
    noise = Noise(PrivacyCost(Decimal(0)), rho=Decimal(rho)) if rho != "0" else LAPLACE_NOISE
    truth, answers = simulated(query, PrivateRows(engine_of(table), public, Unit()), noise, RUNS)
    assert np.mean([low <= truth <= high for _, (low, high) in answers]) > 0.94
    assert all(low <= value <= high for value, (low, high) in answers)


def test_a_planted_fault_in_an_interval_is_seen(rows):
    """Two thirds of an interval hold less than they say."""
    truth, answers = simulated(Mean("pay"), rows, LAPLACE_NOISE, 400)
    held = [abs(value - truth) <= (high - low) / 3 for value, (low, high) in answers]
    assert np.mean(held) < 0.92


@pytest.mark.parametrize("query", [Mean("pay"), LinearRegression("pay", ["age", "sex"])], ids=lambda one: one.name)
def test_errors_fall_with_the_budget(query, rows):
    errors = []
    for epsilon in ("0.1", "1", "10"):
        truth, answers = simulated(query, rows, Noise(PrivacyCost(Decimal(0)), epsilon=Decimal(epsilon)), 20)
        errors.append(np.median([np.abs(values_of(value) - values_of(truth)).max() for value, _ in answers]))
    assert errors[0] > 3 * errors[1] > 9 * errors[2]


def test_the_error_of_a_median_falls_with_the_budget():
    table = pl.DataFrame({"pay": np.random.default_rng(3).normal(8, 2, 2000)})
    session = sf.dp.Session(table, 10**6, bounds={"pay": (-50, 50)}, i_know=True)
    truth = table["pay"].median()
    error = {
        epsilon: np.median([abs(session.ask(Quantile("pay", 0.5, 900 + i), epsilon).value - truth) for i in range(15)])
        for epsilon in (0.002, 2)
    }
    assert error[0.002] > 5 * error[2]


@pytest.mark.parametrize("scales", [[1.0] * 4, [3.0, 1.0, 1.0, 0.5, 0.01], [1.0] * 30], ids=len)
def test_sums_of_many_noises_are_as_wide_as_they_are(scales):
    rng = np.random.default_rng(5)
    drawn = np.abs(sum(rng.laplace(0, scale, 200_000) for scale in scales))
    assert np.mean(drawn <= within(scales)) == pytest.approx(0.95, abs=0.002)
