"""Normal rows have the moments of the table: on average, or exactly."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.errors import ColumnError, PolicyError
from sfumato.synthetic.generator import FitContext
from sfumato.synthetic.multivariate_normal import MultivariateNormal


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    """Three columns of numbers, and one that follows from two of them."""
    chance = np.random.default_rng(1)
    x = chance.standard_normal((400, 3)) @ np.array([[3.0, 1.0, 0.0], [0.0, 2.0, 1.0], [0.0, 0.0, 0.5]]) + [50, -7, 1e4]
    return pl.DataFrame({"a": x[:, 0], "b": x[:, 1], "c": x[:, 2], "sum": x[:, 0] + 2 * x[:, 1]})


def drawn(table: pl.DataFrame, rows: int = 400, **options: object) -> pl.DataFrame:
    model = MultivariateNormal(**options).fit(table, FitContext(np.random.default_rng(1)))
    return model.draw(rows, np.random.default_rng(2))


@pytest.mark.parametrize("rows", [4, 400, 1000])
def test_exact_moments_of_any_number_of_rows(table, rows):
    made = drawn(table, rows, exact=True).to_numpy()
    assert np.allclose(made.mean(axis=0), table.to_numpy().mean(axis=0), rtol=1e-9)
    assert np.allclose(np.cov(made.T), np.cov(table.to_numpy().T), rtol=1e-9, atol=1e-7)
    assert np.allclose(made[:, 3], made[:, 0] + 2 * made[:, 1])


def test_moments_on_average(table):
    made = drawn(table, 100_000).to_numpy()
    assert np.allclose(made.mean(axis=0), table.to_numpy().mean(axis=0), rtol=0.01, atol=0.05)
    assert np.allclose(np.cov(made.T), np.cov(table.to_numpy().T), rtol=0.05, atol=0.1)
    assert (made >= table.to_numpy().min(axis=0)).all()


def test_whole_numbers_and_dates_are_exact_up_to_rounding():
    chance = np.random.default_rng(4)
    age = chance.integers(1, 60, 300)
    day = pl.Series(age * 30 + chance.integers(0, 99, 300)).cast(pl.Int32).cast(pl.Date)
    table = pl.DataFrame({"age": pl.Series(age, dtype=pl.Int16), "day": day})
    made = drawn(table, 300, exact=True)
    assert made.schema == table.schema
    assert abs(made["age"].mean() - age.mean()) < 0.05
    assert abs(made["age"].cast(float).var() / age.var(ddof=1) - 1) < 0.01
    assert made["age"].min() < 1
    assert abs(made["day"].to_physical().mean() - day.to_physical().mean()) < 0.1


def test_missing_values_are_as_frequent():
    x = pl.DataFrame({"x": [1.0, 2.0, None, 4.0] * 50, "y": [5.0, 1.0, 1.5, 2.0] * 50})
    made = drawn(x, 4000)
    assert abs(made["x"].null_count() / 4000 - 0.25) < 0.03
    assert made["y"].null_count() == 0


def test_what_it_cannot_take_is_refused(table):
    with pytest.raises(ColumnError, match='"town" holds categories'):
        drawn(table.with_columns(town=pl.lit("Oslo")))
    with pytest.raises(ColumnError, match="too few rows"):
        drawn(table.head(5))
    with pytest.raises(PolicyError, match="need more rows"):
        drawn(table, 3, exact=True)
    with pytest.raises(PolicyError, match="true or false"):
        MultivariateNormal(exact="yes")
