"""Learning: a copy teaches as much as the original, a fully suppressed table nothing."""

from __future__ import annotations

import importlib

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ColumnError, MissingExtra, PolicyError
from sfumato.measures.utility import learning, pair_of, utility_summary
from sfumato.measures.utility.learning import MODELS, features_of, shares_of

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True, scope="module")
def _sklearn() -> None:
    pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    rng = np.random.default_rng(2)
    age, job = rng.integers(20, 80, 300), rng.choice(["clerk", "cook", "none"], 300)
    ill = np.where((age > 50) ^ (job == "cook"), "yes", "no")
    return pl.DataFrame({"age": age, "job": job, "ill": ill})


def test_a_copy_teaches_as_much_as_the_original(table):
    found = learning(table, table, target="ill")
    for scores in found.details["models"].values():
        assert scores["released"] == scores["original"]
    assert found.details["kept"] == pytest.approx(1)
    assert found.value > found.baseline + 0.1
    assert found.interval[0] < found.value < found.interval[1]


def test_a_suppressed_table_teaches_the_majority(table):
    hidden = table.with_columns(age=pl.lit("*"), job=pl.lit("*"))
    found = learning(table, hidden, target="ill")
    assert found.value == pytest.approx(found.baseline, abs=0.02)
    assert found.baseline == table["ill"].value_counts()["count"].max() / table.height


def test_ranges_teach_less_than_values_and_more_than_nothing(table):
    release = sf.anonymize(table, quasi=["age", "job"], sensitive=["ill"], require=sf.KAnonymity(20), labels="ranges")
    found = learning(table, release.table, target="ill", models=["random-forest"])
    assert found.baseline < found.value <= found.details["original"] + 0.02


def test_it_repeats_with_its_seed_and_without_alignment(table):
    half = table.head(150)
    first = learning(table, half, target="ill", models=["naive-bayes"], seed=5)
    assert first.to_dict() == learning(table, half, target="ill", models=["naive-bayes"], seed=5).to_dict()
    assert not first.details["aligned"]
    aligned = learning(table, half, target="ill", models=["naive-bayes"], seed=5, rows=np.arange(150))
    assert aligned.details["aligned"]


def test_the_target_may_come_from_the_original_or_be_generalised(table):
    bare = learning(table, table.drop("ill"), target="ill", models=["naive-bayes"])
    assert bare.value == learning(table, table, target="ill", models=["naive-bayes"]).value
    blurred = table.with_columns(ill=pl.when(pl.int_range(300) < 100).then(pl.lit("*")).otherwise(pl.col("ill")))
    assert learning(table, blurred, target="ill", models=["naive-bayes"]).details["untaught"] == 100
    nothing = learning(table, table.with_columns(ill=pl.lit("*")), target="ill", models=["naive-bayes"])
    assert nothing.value == 0


def test_the_sentence_says_how_many_records_were_drawn(table):
    some = learning(table, table, target="ill", models=["random-forest"], most=100, seed=2**40)
    assert "(100 of 300 records, drawn at random)" in some.sentence
    assert some.details["rows"] == 100
    assert "drawn at random" not in learning(table, table, target="ill", models=["naive-bayes"]).sentence


def test_features_by_hand():
    """Ages 20, 30, 40: mean 30, sd 8.165; a range is its middle and width; a set is half of each value."""
    pair = pair_of(
        {"age": [20, 30, 40], "job": ["a", "b", "b"]}, {"age": ["[20, 30]", "*", "40"], "job": ["{a, b}", "b", None]}
    )
    before, after = features_of([pair.column("age"), pair.column("job")])
    s = np.std([20, 30, 40])
    assert before == pytest.approx(np.array([[-10 / s, 0, 1, 0], [0, 0, 0, 1], [10 / s, 0, 0, 1]]))
    assert after == pytest.approx(np.array([[-5 / s, 10 / s, 0.5, 0.5], [0, 20 / s, 0, 1], [10 / s, 0, 0.5, 0.5]]))
    binned, spread = shares_of([pair.column("age")])
    assert binned.sum(axis=1) == pytest.approx([1, 1, 1])
    assert spread[1] == pytest.approx(binned.mean(axis=0))


def test_refusals(table):
    numbers = ({"folds": 1}, {"most": 1}, {"folds": "3"}, {"most": 99.5}, {"seed": -1}, {"seed": "x"}, {"seed": None})
    for wrong in ({"models": ["svm"]}, {"models": []}, {"models": "naive-bayes"}, *numbers):
        with pytest.raises(PolicyError):
            learning(table, table, target="ill", **wrong)
    with pytest.raises(ColumnError, match="no column"):
        learning(table, table, target="il")
    with pytest.raises(ColumnError, match="to predict"):
        learning(table, table, "ill", target="ill")
    many = pl.DataFrame({"a": range(200), "b": range(200)})
    with pytest.raises(PolicyError, match="too many values"):
        learning(many, many, target="a")


def test_without_scikit_learn(table, monkeypatch):
    def absent(name, *more):
        raise ImportError(name)

    module = importlib.import_module("sfumato.measures.utility.learning")
    monkeypatch.setattr(module, "import_module", absent)
    with pytest.raises(MissingExtra, match=r"sfumato\[ml\]"):
        learning(table, table, target="ill")
    from_summary = utility_summary(table, table, target="ill", queries=0)
    assert from_summary["learning"] is None
    assert from_summary["loss"]["classification-metric"] is not None


@pytest.mark.parametrize("seed", range(6))
def test_hidden_features_leave_the_baseline(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(9, 40))
    age = rng.integers(20, 60, n)
    table = pl.DataFrame(
        {
            "age": age,
            "town": rng.choice(["Rome", "Oslo", "Bern"], n),
            "pay": age * 100 + rng.integers(0, 50, n),
            "ill": np.where(age + rng.integers(-8, 8, n) > 40, "yes", "no"),
        }
    )
    quasi = ["age", "town", "pay"]
    whole = f"[{table['pay'].min()}, {table['pay'].max()}]"
    for labels in (dict.fromkeys(quasi, "*"), {"age": "[20, 60]", "town": "{Rome, Oslo, Bern}", "pay": whole}):
        hidden = table.with_columns(pl.lit(label).alias(name) for name, label in labels.items())
        for model in MODELS:
            found = learning(table, hidden, quasi, target="ill", models=[model], seed=seed)
            assert found.value == found.baseline, model


def test_a_width_that_never_varies_teaches_nothing():
    ages = np.arange(20, 60)
    table = pl.DataFrame({"age": ages, "ill": np.where(ages >= 40, "yes", "no")})
    bands = table.with_columns(pl.Series("age", [f"[{a // 10 * 10}, {a // 10 * 10 + 9}]" for a in ages.tolist()]))
    found = learning(table, bands, target="ill", models=["logistic-regression"])
    assert found.value > 0.9
