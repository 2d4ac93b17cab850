"""Groups of near rows are drawn anew: all means and covariances stay, from near the original to one normal draw."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.errors import ColumnError, PolicyError
from sfumato.synthetic.generator import FitContext
from sfumato.synthetic.hybrid import Hybrid


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    """Two clusters, a column that follows from two others, one that is constant, and a category."""
    chance = np.random.default_rng(1)
    side = chance.integers(0, 2, 301)
    x = chance.standard_normal((301, 2)) + 8 * side[:, None]
    numbers = {"a": x[:, 0] + 1e5, "b": x[:, 1], "sum": x[:, 0] - x[:, 1], "same": 3.0}
    return pl.DataFrame({**numbers, "side": np.where(side, "right", "left")})


def drawn(table: pl.DataFrame, rows: int = 301, **options: object) -> pl.DataFrame:
    return Hybrid(**options).fit(table, FitContext(np.random.default_rng(1))).draw(rows, np.random.default_rng(2))


@pytest.mark.parametrize("k", [3, 10, 100, 301, 1000])
@pytest.mark.parametrize("times", [1, 2])
def test_means_and_covariances_stay(table, k, times):
    made = drawn(table, 301 * times, k=k)
    numbers = ["a", "b", "sum", "same"]
    before, after = table.select(numbers).to_numpy(), made.select(numbers).to_numpy()
    assert np.allclose(after.mean(axis=0), before.mean(axis=0), rtol=1e-12)
    assert np.allclose(np.cov(after.T, ddof=0), np.cov(before.T, ddof=0), atol=1e-8)
    assert np.allclose(after[:, 0] - after[:, 1] - 1e5, after[:, 2], atol=1e-8)
    counts = dict(table["side"].value_counts().rows())
    assert dict(made["side"].value_counts().rows()) == {side: times * rows for side, rows in counts.items()}


def test_k_runs_from_near_rows_to_one_normal_draw(table):
    """The two clusters stay for small groups, and are gone where all rows are one."""
    near, far = (drawn(table, k=k) for k in (3, 301))
    assert near.filter(pl.col("b").is_between(3, 5)).height < 10
    assert far.filter(pl.col("b").is_between(3, 5)).height > 20
    assert (near.filter(pl.col("side") == "left")["b"] < 4).all()
    assert not set(near["b"]) & set(table["b"])


def test_rows_of_rare_patterns_of_missing_values_do_not_come_alone():
    """One row lacks what no other does: neither its number nor its category is released."""
    chance = np.random.default_rng(3)
    x, y = chance.standard_normal((2, 60))
    frame = pl.DataFrame({"x": x, "y": y, "t": ["common"] * 59 + ["rare"]})
    frame = frame.with_columns(x=pl.when(pl.col("t") == "common").then("x"))
    made = drawn(frame, 60, k=5)
    assert made.height == 60
    assert "rare" not in made["t"].to_list()
    assert made["x"].null_count() == 0
    frame = frame.with_columns(x=pl.when(pl.int_range(60) > 9).then("x"))
    made = drawn(frame.with_columns(y=pl.when(pl.int_range(60) > 0).then("y")), 600, k=5)
    assert abs(made["x"].null_count() - 100) < 30
    assert (made["y"].is_null() & made["x"].is_not_null()).sum() == 0


def test_whole_numbers_stay_whole():
    chance = np.random.default_rng(4)
    age = pl.Series("age", chance.integers(0, 90, 300), dtype=pl.UInt8)
    made = drawn(age.to_frame(), 300, k=10)
    assert made.schema == {"age": pl.UInt8}
    assert abs(made["age"].mean() - age.mean()) < 0.1
    inside = drawn(age.to_frame(), 300, k=300, exact=False)
    assert age.min() <= inside["age"].min() <= inside["age"].max() <= age.max()


def test_what_it_cannot_do_is_refused(table):
    for k in (1, 2):
        with pytest.raises(PolicyError, match="k is out of range"):
            Hybrid(k=k)
    with pytest.raises(ColumnError, match="no column has any"):
        drawn(table.select("side"))
