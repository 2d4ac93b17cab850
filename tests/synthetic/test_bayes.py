"""A network learns what depends on what from counts alone, and draws it."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.core.progress import quiet
from sfumato.engines.protocol import COUNT
from sfumato.engines.tables import engine_of
from sfumato.errors import PolicyError
from sfumato.synthetic.bayes import Bayes
from sfumato.synthetic.generator import FitContext
from tests.conformance.test_generators import assert_pairs_kept, chain, table


def context() -> FitContext:
    return FitContext(np.random.default_rng(1))


@pytest.mark.parametrize("degree", [1, 2])
def test_the_pairs_of_a_chain_are_kept(degree):
    model = Bayes(degree=degree).fit(chain(), context())
    assert_pairs_kept(chain(), model.draw(100_000, np.random.default_rng(2)))
    if degree == 1:  # the tree of a chain is the chain
        assert {frozenset({node.column, *node.parents}) for node in model.nodes[1:]} == {
            frozenset({0, 1}),
            frozenset({1, 2}),
        }


def test_two_columns_together_tell_what_neither_tells():
    """Degree 2 keeps the parity of three columns, of which two tell a little of the third; degree 1 cannot."""
    chance = np.random.default_rng(3)
    a, b = chance.uniform(size=(2, 20_000)) < 0.6
    frame = pl.DataFrame({"a": a, "b": b, "c": a ^ b})

    def odd(degree: int) -> float:
        made = Bayes(degree=degree).fit(frame, context()).draw(20_000, np.random.default_rng(4))
        return float((made["a"] ^ made["b"] ^ made["c"]).mean())

    assert odd(2) < 0.001
    assert odd(1) > 0.2


def test_counts_of_an_engine_give_the_same_model():
    engine = engine_of(table())

    def count(names):
        return engine.count(names, quiet, 10**6)

    given = Bayes().fit_counts(count, table().schema, context())
    own = Bayes().fit(table(), context())
    assert given.draw(300, np.random.default_rng(5)).equals(own.draw(300, np.random.default_rng(5)))


def test_a_column_of_many_levels_stays_small():
    chance = np.random.default_rng(6)
    level = chance.zipf(1.3, 20_000) % 2000
    other = (level + chance.integers(0, 3, 20_000)) % 2000
    frame = pl.DataFrame({"a": level.astype(str), "b": other.astype(str), "c": level % 2 == 0})
    model = Bayes().fit(frame, context())
    assert sum(part.size for node in model.nodes for part in node.code) < 30_000
    made = model.draw(20_000, np.random.default_rng(7))
    top = frame.filter(pl.col("a") == "1")["b"].value_counts(normalize=True).sort("b")
    again = made.filter(pl.col("a") == "1")["b"].value_counts(normalize=True)
    both = top.join(again, on="b", how="left").fill_null(0.0)
    assert (both["proportion"] - both["proportion_right"]).abs().max() < 0.05


def test_alpha_leaves_the_rows_of_few():
    """A combination that one row has is drawn from that row alone without smoothing."""
    frame = pl.DataFrame({"a": ["x"] * 500 + ["y"], "b": ["p", "q"] * 250 + ["r"]})

    def others(alpha: float) -> float:
        made = Bayes(degree=1, alpha=alpha).fit(frame, context()).draw(200_000, np.random.default_rng(8))
        return float((made.filter(pl.col("a") == "y")["b"] != "r").mean())

    assert others(0) == 0
    assert 0.3 < others(1) < 0.7
    assert others(20) > 0.9


def test_inside_a_bin_values_are_donors_or_of_its_range():
    frame = pl.DataFrame({"x": np.arange(0, 1000, 10)})
    donors, any_of = (
        Bayes(inside=inside, bins=4).fit(frame, context()).draw(5000, np.random.default_rng(9))["x"]
        for inside in ("donor", "uniform")
    )
    assert donors.is_in(frame["x"].implode()).all()
    assert donors.n_unique() == any_of.n_unique() == 100  # its grid is that of tens
    assert abs(any_of.mean() - frame["x"].mean()) < 15


def test_nothing_is_learnt_of_independent_columns():
    chance = np.random.default_rng(10)
    frame = pl.DataFrame({f"c{i}": chance.integers(0, 20, 300) for i in range(4)})
    model = Bayes(degree=3).fit(frame, context())
    assert sum(len(node.parents) for node in model.nodes) <= 4


def test_odd_columns_and_parameters():
    frame = pl.DataFrame([{"no": None, "one": "x"}] * 9, {"no": pl.Float64, "one": pl.String})
    made = Bayes().fit(frame, context()).draw(5, np.random.default_rng(1))
    assert made.rows() == [(None, "x")] * 5
    counts = Bayes().fit_counts(lambda names: frame.group_by(names).len(COUNT), frame.schema, context())
    assert counts.draw(2, np.random.default_rng(1)).rows() == [(None, "x")] * 2
    for wrong in ({"degree": 9}, {"bins": 1}, {"alpha": -1}, {"inside": "normal"}):
        with pytest.raises(PolicyError):
            Bayes(**wrong)
