"""The Gaussian copula keeps distributions and correlations, and orders categories by what other columns are like."""

from __future__ import annotations

import numpy as np
import polars as pl

from sfumato.synthetic.gaussian_copula import GaussianCopula
from sfumato.synthetic.generator import FitContext
from tests.conformance.test_generators import assert_pairs_kept, chain


def drawn(table: pl.DataFrame, rows: int = 20_000) -> pl.DataFrame:
    return GaussianCopula().fit(table, FitContext(np.random.default_rng(1))).draw(rows, np.random.default_rng(2))


def test_two_values_each_are_kept_in_all_pairs():
    assert_pairs_kept(chain(), drawn(chain(), 100_000))


def test_correlations_of_skewed_and_cut_columns_are_kept():
    chance = np.random.default_rng(3)
    z = chance.standard_normal((20_000, 2))
    x = z[:, 0]
    y = 0.8 * x + 0.6 * z[:, 1]
    table = pl.DataFrame({"x": np.exp(x), "few": np.floor(y), "half": y > 0.5})
    made = drawn(table)
    for one in ("few", "half"):
        before, after = (frame.select(pl.corr("x", one, method="spearman")).item() for frame in (table, made))
        assert abs(before - after) < 0.02, one
    assert abs(made["x"].log().std() - 1) < 0.02


def test_categories_are_ordered_by_what_the_other_columns_are_like():
    chance = np.random.default_rng(4)
    mean = {"b": 0.0, "d": 3.0, "a": 6.0, "c": 9.0}  # no order of the alphabet
    level = chance.choice(list(mean), 8000)
    x = np.vectorize(mean.get)(level) + chance.standard_normal(8000)
    made = drawn(pl.DataFrame({"level": level, "x": x}))
    means = dict(made.group_by("level").agg(pl.col("x").mean()).iter_rows())
    assert sorted(means, key=means.__getitem__) == list(mean)
    assert max(abs(means[key] - mean[key]) for key in mean) < 0.6


def test_missing_values_go_with_other_columns():
    chance = np.random.default_rng(5)
    x = chance.standard_normal(8000)
    y = np.where(chance.uniform(size=8000) < 1 / (1 + np.exp(-2 * x)), np.nan, x.round(1))
    made = drawn(pl.DataFrame({"x": x, "y": y}))
    gone = made["y"].is_null()
    assert abs(gone.mean() - 0.5) < 0.03
    assert made.filter(gone)["x"].mean() > 0.45
    assert made.filter(~gone)["x"].mean() < -0.45


def test_chance_correlations_are_shrunk():
    chance = np.random.default_rng(6)
    table = pl.DataFrame({f"x{i}": chance.standard_normal(30) for i in range(20)})
    model = GaussianCopula().fit(table, FitContext(chance))
    off = model.factor.T @ model.factor - np.eye(20)
    loose = GaussianCopula(shrink=False).fit(table, FitContext(chance))
    free = loose.factor.T @ loose.factor - np.eye(20)
    assert np.abs(off).max() < 0.3 * np.abs(free).max()


def test_odd_columns_come_back():
    """All missing, one value only, one row only."""
    schema = {"no": pl.Float64, "one": pl.String, "t": pl.String}
    table = pl.DataFrame([{"no": None, "one": "x", "t": None}] * 9, schema)
    made = drawn(table, 30)
    assert made.schema == table.schema
    assert made["no"].null_count() == made["t"].null_count() == 30
    assert made["one"].unique().to_list() == ["x"]
    assert drawn(pl.DataFrame({"x": [3], "y": ["a"]}), 4).rows() == [(3, "a")] * 4
