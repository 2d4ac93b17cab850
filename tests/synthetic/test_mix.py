"""A share of each value is the person's, the rest of the nearest row that was drawn."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.errors import PolicyError
from sfumato.synthetic.gaussian_copula import GaussianCopula
from sfumato.synthetic.generator import FitContext
from sfumato.synthetic.mix import Mix
from sfumato.synthetic.sequential_trees import SequentialTrees


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    chance = np.random.default_rng(1)
    x = chance.standard_normal(400)
    return pl.DataFrame({"x": x, "y": x + 0.5 * chance.standard_normal(400), "t": np.where(x > 0, "high", "low")})


def drawn(table: pl.DataFrame, rows: int = 400, **options: object) -> pl.DataFrame:
    return Mix(**options).fit(table, FitContext(np.random.default_rng(1))).draw(rows, np.random.default_rng(2))


def test_more_of_the_original_is_nearer_to_it(table):
    def distance(share: float) -> float:
        made = drawn(table, share=share).select("x", "y").to_numpy()
        return float(np.mean([np.abs(table.select("x", "y").to_numpy() - row).sum(axis=1).min() for row in made]))

    far, middle, near = map(distance, (0.0, 0.5, 0.95))
    assert far > middle > near
    assert near > 0


def test_columns_still_go_together(table):
    made = drawn(table, 800, share=0.4)
    assert made.schema == table.schema
    assert made.select(pl.corr("x", "y")).item() > 0.8
    assert ((made["x"] > 0) == (made["t"] == "high")).mean() > 0.9


def test_what_one_of_them_lacks_is_taken_from_one_of_them():
    frame = pl.DataFrame({"x": [1.0, 2.0, None, 4.0] * 50, "t": ["a", "b", None, "a"] * 50})
    made = drawn(frame, share=0.5)
    assert 20 < made["x"].null_count() < 160
    assert set(made["t"].unique()) == {"a", "b", None}


def test_generators_are_given_by_value_name_or_table():
    assert Mix().generator == Mix(generator="gaussian-copula").generator == GaussianCopula()
    given = Mix(0.2, {"name": "sequential-trees", "leaf": 9})
    assert given == Mix(0.2, SequentialTrees(leaf=9))
    assert Mix(**given.parameters()) == given


def test_what_it_cannot_mix_is_refused():
    with pytest.raises(PolicyError, match="share is out of range"):
        Mix(1)
    with pytest.raises(PolicyError, match="must make all columns anew"):
        Mix(generator=SequentialTrees(columns=["x"]))
    with pytest.raises(PolicyError, match="must make all columns anew"):
        Mix(generator=Mix())
    with pytest.raises(PolicyError, match="unknown generator"):
        Mix(generator="copula")
    with pytest.raises(PolicyError, match=r"bayes: unknown parameter .degre.; did you mean .degree."):
        Mix(generator={"name": "bayes", "degre": 2})
