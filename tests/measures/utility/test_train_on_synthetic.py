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


def with_rare(table: pl.DataFrame, rows: int) -> pl.DataFrame:
    """The table with three classes that only some of the first rows have."""
    place = pl.int_range(pl.len())
    group = pl.when(place < rows).then(pl.lit("r") + (place % 3).cast(pl.String)).otherwise(pl.col("group"))
    return table.with_columns(group=group)


def test_rare_classes_are_left_out_of_all_tables(real, held):
    asked = {"features": ["age", "job"], "target": "group"}
    found = train_on_synthetic(with_rare(real, 4), with_rare(real, 60), hold_out=with_rare(held, 8), **asked)
    plain = train_on_synthetic(real[4:], real[60:], hold_out=held[8:], **asked)
    assert (found.details["rare"], found.details["tested"]) == (3, 392)
    assert found.details["original"] == plain.details["original"]
    assert found.details["synthetic"] == plain.details["synthetic"]
    assert found.sentence.endswith("3 classes with fewer than 10 real rows to learn from are left out.")
    few = train_on_synthetic(real[:12], real, hold_out=held, **asked)  # no two classes would remain
    assert (few.details["rare"], few.details["tested"]) == (0, 400)
    assert plain.details["rare"] == 0
    assert "left out" not in plain.sentence


def test_a_class_that_few_synthetic_rows_have(real, held):
    """The steps of boosted trees grew without a bound where a class was rare, until every row was told to be in it."""
    asked = {"features": ["age", "job", "pay"], "target": "group", "hold_out": held}
    usual, rare = pl.col("group") != "c", pl.col("group") == "c"
    for rows in (1, 2):
        made = pl.concat([real.filter(usual), real.filter(rare)[:rows]])
        assert train_on_synthetic(real, made, **asked).value > 0.85
    many = pl.concat([real.filter(usual)] * 25 + [real.filter(rare)[:1]])  # more than 10,000: some tell when to stop
    assert train_on_synthetic(real, many, **asked).value > 0.8


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
