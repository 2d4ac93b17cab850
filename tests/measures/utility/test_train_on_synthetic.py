"""Train on synthetic, test on real: a good table teaches as real rows do, independent columns nothing."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.errors import ColumnError, PolicyError
from sfumato.measures.utility import train_on_synthetic

pytest.importorskip("sklearn")


def people(rows: int, seed: int) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age, job = rng.integers(20, 80, rows), rng.choice(["clerk", "cook", "none"], rows)
    ill = np.where((age > 50) ^ (job == "cook"), "yes", "no")
    group = np.where(age < 40, "a", np.where(job == "none", "b", "c"))
    return pl.DataFrame({"age": age, "job": job, "ill": ill, "group": group, "pay": age * 2.5 + rng.normal(0, 5, rows)})


@pytest.fixture(scope="module")
def real() -> pl.DataFrame:
    return people(800, 1)


@pytest.fixture(scope="module")
def held() -> pl.DataFrame:
    return people(400, 2)


def test_a_copy_scores_as_the_original(real, held):
    found = train_on_synthetic(real, real, ["age", "job"], target="ill", hold_out=held)
    assert found.value == found.baseline > 0.95
    assert found.details["synthetic"] == found.details["original"]
    assert found.details["majority"] == held["ill"].value_counts()["count"].max() / 400
    assert found.details["tested"] == 400


def test_no_dependence_teaches_nothing(real, held):
    made = real.with_columns(real["ill"].shuffle(1))
    found = train_on_synthetic(real, made, ["age", "job"], target="ill", hold_out=held)
    assert found.value < 0.65 < found.baseline
    assert found.details["synthetic"]["accuracy"] < found.details["original"]["accuracy"]


def test_several_classes_and_classes_that_are_missing(real, held):
    found = train_on_synthetic(real, real, ["age", "job"], target="group", hold_out=held)
    assert found.value > 0.95
    made = real.filter(pl.col("group") != "b")
    fewer = train_on_synthetic(real, made, ["age", "job"], target="group", hold_out=held)
    share = (held["group"] == "b").mean()
    assert fewer.details["synthetic"]["accuracy"] <= 1 - share
    assert fewer.value <= (1 + 1 + 0.5) / 3 + 1e-9  # of the class that it never saw a coin
    one = train_on_synthetic(real, real.filter(pl.col("ill") == "no"), ["age", "job"], target="ill", hold_out=held)
    assert one.value == 0.5
    assert one.details["synthetic"]["accuracy"] == (held["ill"] == "no").mean()


def test_a_number_by_r2(real, held):
    found = train_on_synthetic(real, real, ["age"], target="pay", hold_out=held)
    assert found.value == found.baseline > 0.9
    assert found.range == (-np.inf, 1)
    assert (
        train_on_synthetic(real, real.with_columns(pl.col("pay") * 3), ["age"], target="pay", hold_out=held).value < 0
    )


def test_without_a_hold_out_the_sentence_says_so(real):
    found = train_on_synthetic(real, real, target="ill", seed=3)
    assert found.details["tested"] == 200
    assert found.details["trained"] == {"synthetic": 800, "original": 600}
    assert "has seen the tested rows" in found.sentence
    assert found.to_dict() == train_on_synthetic(real, real, target="ill", seed=3).to_dict()


def test_at_most_so_many_rows(real, held):
    found = train_on_synthetic(real, real, target="ill", hold_out=held, most=300)
    assert (found.details["tested"], found.details["trained"]) == (300, {"synthetic": 300, "original": 300})


def test_rows_that_lack_the_target_are_left_out(real, held):
    holes = held.with_columns(ill=pl.when(pl.int_range(400) < 100).then(None).otherwise(pl.col("ill")))
    found = train_on_synthetic(real, real, ["age"], target="ill", hold_out=holes)
    assert found.details["tested"] == 300
    none = train_on_synthetic(
        real, real, ["age"], target="ill", hold_out=held.with_columns(ill=pl.lit(None, pl.String))
    )
    assert np.isnan(none.value)
    assert "cannot be told" in none.sentence


def test_refusals(real):
    with pytest.raises(ColumnError, match="no column"):
        train_on_synthetic(real, real, target="il")
    with pytest.raises(ColumnError, match="to predict"):
        train_on_synthetic(real, real, "ill", target="ill")
    with pytest.raises(PolicyError, match="seed"):
        train_on_synthetic(real, real, target="ill", seed=-1)
    many = real.with_columns(name=pl.int_range(800).cast(pl.String) + "x")
    with pytest.raises(PolicyError, match="too many values"):
        train_on_synthetic(many, many, target="name")
