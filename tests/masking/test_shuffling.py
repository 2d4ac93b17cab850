"""Shuffling: exact marginals, relations that stay, missing values, what cannot be shuffled."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import polars as pl
import pytest

from sfumato.errors import ColumnError, PolicyError
from sfumato.masking.shuffling import Shuffling
from sfumato.verbs.steps import masker, parse
from tests.masking.conftest import Apply
from tests.masking.tables import holds, numbers


def ranks(table: pl.DataFrame, *names: str) -> float:
    known = table.select(names).drop_nulls()
    return float(np.corrcoef([known[name].rank().to_numpy() for name in names])[0, 1])


@pytest.mark.parametrize("missing", [False, True])
def test_marginals_are_exact_and_rank_correlations_close(apply: Apply, missing: bool) -> None:
    frame = numbers(missing=missing)
    change = apply(parse("shuffling income,tax given=age"), frame)
    assert holds(change, frame) == {"marginals": True}
    assert holds(change, frame, change.columns.with_columns(pl.col("tax") + 1)) == {"marginals": False}
    made = frame.with_columns(change.columns.iter_columns())
    for pair in (("income", "tax"), ("age", "income"), ("age", "tax")):
        assert ranks(made, *pair) == pytest.approx(ranks(frame, *pair), abs=0.06), pair
    assert abs(np.corrcoef(made["income"].rank().fill_null(0), frame["income"].rank().fill_null(0))[0, 1]) < 0.6
    assert made["tax"].is_null().equals(frame["tax"].is_null())


def test_categories_and_dates(run: Any) -> None:
    chance = np.random.default_rng(2)
    sex = chance.choice(["F", "M"], 3000)
    days = (chance.standard_normal(3000) * 500 + 1000 * (sex == "M")).astype(int)
    frame = pl.DataFrame({"sex": sex, "born": [date(1980, 1, 1) + timedelta(days=int(d)) for d in days]})
    found = run(frame, Shuffling("born", given=["sex"])).table
    assert found["born"].sort().equals(frame["born"].sort())
    means = [
        table.group_by("sex").agg(pl.col("born").to_physical().mean()).sort("sex")["born"] for table in (frame, found)
    ]
    assert means[0].to_numpy() == pytest.approx(means[1].to_numpy(), abs=60)
    assert (found["born"] == frame["born"]).mean() < 0.05
    alone = run(frame, Shuffling("born")).table.group_by("sex").agg(pl.col("born").to_physical().mean())["born"]
    assert abs(alone[0] - alone[1]) < 100


def test_not_a_number_is_missing(apply: Apply) -> None:
    frame = pl.DataFrame({"x": [1.5, float("nan"), None, 4.0, 2.0, 9.0]})
    made = apply(Shuffling("x"), frame).columns["x"]
    assert made.is_null().to_list() == [False, True, True, False, False, False]


def test_survey_weights_make_the_fit(apply: Apply) -> None:
    """Rows that count for nothing have the opposite relation."""
    chance = np.random.default_rng(3)
    a, e = chance.standard_normal((2, 4000))
    few = np.arange(4000) < 1000
    frame = pl.DataFrame({"a": a, "b": np.where(few, -a, a) + 0.3 * e})
    weights = np.where(few, 1000.0, 0.001)
    made = apply(Shuffling("b", given="a"), frame, weight="w", weights=weights).columns["b"]
    assert np.corrcoef(a[few], made.to_numpy()[few])[0, 1] < -0.6


def test_refusals(apply: Apply) -> None:
    frame = numbers(500).with_columns(twice=pl.col("tax") * 2, name=pl.row_index().cast(pl.String))
    with pytest.raises(ColumnError, match='nearly determine "tax"'):
        apply(Shuffling("tax", given=["age", "twice"]), frame)
    with pytest.raises(ColumnError, match="too many categories"):
        apply(Shuffling("tax", given="name"), frame)
    with pytest.raises(ColumnError, match="too few rows to fit"):
        apply(Shuffling("tax", given=["age", "income"]), frame.head(4))
    with pytest.raises(ColumnError, match="no two different values"):
        apply(Shuffling("x"), pl.DataFrame({"x": [1, 1, 1, None]}))
    with pytest.raises(PolicyError, match="both shuffled and given"):
        Shuffling("tax", given=["tax"])
    step = Shuffling("tax", given=["age"], by="name")
    assert masker("shuffling", **step.parameters()) == step
