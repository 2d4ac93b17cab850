"""Multiplicative noise: the mean and spread of its factors, the gap, one factor a row, digits."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.errors import ColumnError, PolicyError
from sfumato.masking.multiplicative_noise import MultiplicativeNoise
from sfumato.verbs.steps import masker, parse
from tests.masking.conftest import Apply
from tests.masking.tables import holds, numbers

VALUES = pl.DataFrame({"x": 10 ** np.random.default_rng(1).uniform(-3, 6, 20_000)})


@pytest.mark.parametrize(
    ("step", "spread"),
    [
        ("multiplicative-noise x", 0.1),
        ("multiplicative-noise x kind=normal share=0.3", 0.3),
        ("multiplicative-noise x kind=log-normal share=0.3", 0.3),
        ("multiplicative-noise x kind=two-sided a=0.1 b=0.2", np.sqrt(0.07 / 3)),
    ],
)
def test_factors_have_mean_1_and_the_spread(apply: Apply, step: str, spread: float) -> None:
    masking = parse(step)
    factors = (apply(masking, VALUES).columns["x"] / VALUES["x"]).to_numpy()
    assert factors.mean() == pytest.approx(1, abs=4 * spread / 140)
    assert factors.std() == pytest.approx(spread, rel=0.03)
    assert masker("multiplicative-noise", **masking.parameters()) == masking


def test_two_sided_noise_has_a_gap(apply: Apply) -> None:
    factors = (apply(MultiplicativeNoise("x", kind="two-sided", a=0.1, b=0.2), VALUES).columns["x"] / VALUES["x"]) - 1
    assert 0.0999 < factors.abs().min() < 0.101  # type: ignore[operator]
    assert 0.199 < factors.abs().max() < 0.2001  # type: ignore[operator]
    assert (factors > 0).mean() == pytest.approx(0.5, abs=0.02)


def test_one_factor_a_row_keeps_ratios(apply: Apply) -> None:
    frame = VALUES.with_columns(y=pl.col("x") / 3)
    made = apply(MultiplicativeNoise(["x", "y"], together=True), frame).columns
    assert (made["x"] / made["y"]).to_numpy() == pytest.approx(3, rel=1e-3)
    apart = apply(MultiplicativeNoise(["x", "y"]), frame).columns
    assert (apart["x"] / apart["y"]).std() > 0.3  # type: ignore[operator]


def test_digits_are_few_and_units_stay(apply: Apply) -> None:
    made = apply(MultiplicativeNoise("x"), VALUES).columns["x"]
    assert all(len(f"{value:.12g}".replace(".", "").strip("0")) <= 5 for value in made.head(300))
    frame = numbers(missing=True)
    change = apply(MultiplicativeNoise(["age", "tax"]), frame)
    assert change.columns.schema == {"age": pl.Int64, "tax": pl.Float64}
    assert change.columns["tax"].is_null().equals(frame["tax"].is_null())
    assert holds(change, frame) == {"points": True}
    assert holds(change, frame, change.columns.with_columns(pl.col("age") + 0.5)) == {"points": False}


def test_refusals(apply: Apply) -> None:
    with pytest.raises(PolicyError, match='share is no parameter of kind "two-sided"'):
        MultiplicativeNoise(kind="two-sided", share=0.1)
    with pytest.raises(PolicyError, match='a is no parameter of kind "normal"'):
        MultiplicativeNoise(kind="normal", a=0.1)
    with pytest.raises(PolicyError, match="gap is no smaller"):
        MultiplicativeNoise(kind="two-sided", a=0.2, b=0.1)
    with pytest.raises(PolicyError, match="unknown kind of multiplicative-noise"):
        MultiplicativeNoise(kind="uniform")
    with pytest.raises(ColumnError, match="rounding undoes it"):
        apply(MultiplicativeNoise("x"), pl.DataFrame({"x": [0, 1, 2, 3]}))
