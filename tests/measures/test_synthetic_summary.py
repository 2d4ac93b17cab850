"""Every measure of a synthetic table in one go: what the inputs allow, beside the rows held out, and notes."""

from __future__ import annotations

import json
import math
from functools import partial

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.registry import Variant
from sfumato.errors import ColumnError, MissingExtra, PolicyError
from sfumato.measures.measure import Measure
from sfumato.measures.utility import UTILITIES

DISCLOSURE = [
    "copied-uniques",
    "replicated-uniques",
    "disco",
    "nearest-record",
    "synthetic-membership",
    "likely-but-absent",
]
UTILITY = [
    "propensity",
    "propensity of boosted trees",
    "marginals",
    "correlations",
    "interval-overlap",
    "train-on-synthetic",
]
ATTACKS = ["singling-out", "singling-out-univariate", "singling-out on all columns", "linkability", "inference"]

synthetic_summary = partial(sf.measures.synthetic.synthetic_summary, trials=120)  # quick


def people(seed: int, rows: int = 160) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, rows)
    return pl.DataFrame(
        {
            "age": age,
            "zip": rng.choice(["1001", "1002", "1003"], rows),
            "sex": rng.choice(["f", "m"], rows),
            "pay": (age * 10 + rng.integers(0, 300, rows)) * 1.0,
            "ill": rng.choice(["flu", "cold", "none"], rows, p=[0.2, 0.2, 0.6]),
        }
    )


REAL, DRAWN, HELD = people(1), people(2), people(3, 120)
ROLES = {"quasi": ["age", "zip", "sex"], "sensitive": ["ill"]}


@pytest.fixture(scope="module")
def fresh():
    """Of a table of other people."""
    return synthetic_summary(REAL, DRAWN, hold_out=HELD, target="sex", **ROLES)


def test_everything_with_baselines(fresh):
    found = fresh
    assert found["rows"] == {"original": 160, "released": 160, "hold_out": 120}
    assert list(found["disclosure"]) == DISCLOSURE
    assert list(found["attacks"]) == ATTACKS
    assert list(found["utility"]) == UTILITY
    assert all(
        figure["baseline"] is not None
        for kind in ("disclosure", "attacks", "utility")
        for figure in found[kind].values()
    )
    names = [measure["name"] for measure in found["measures"]]
    assert names == [*found["disclosure"], *found["attacks"], *found["utility"]]
    assert len(set(names)) == len(names)
    for measure in found["measures"]:
        assert measure["sentence"].endswith("."), measure["name"]
    json.dumps(found, allow_nan=False)
    assert str(found).startswith("160 rows by age, zip and sex")


@pytest.mark.slow
def test_copies_stand_out_and_strangers_do_not(fresh):
    copies = synthetic_summary(REAL, REAL, hold_out=HELD, **ROLES)
    for name in ("copied-uniques", "replicated-uniques", "disco", "nearest-record", "synthetic-membership"):
        told, chance = copies["disclosure"][name], fresh["disclosure"][name]
        assert told["value"] > told["baseline"] + 0.3, name
        assert abs(chance["value"] - chance["baseline"]) < 0.1, name
    for name in ("singling-out on all columns", "linkability", "inference"):
        told, chance = copies["attacks"][name], fresh["attacks"][name]
        assert told["value"] > told["baseline"] + 0.1, name
        assert abs(chance["value"] - chance["baseline"]) < 0.1, name
    singled = next(measure for measure in copies["measures"] if measure["name"] == "singling-out on all columns")
    assert singled["details"]["holdout rows"] == 120  # and as many rows of the original
    assert "on people whom the model never saw" in singled["sentence"]


@pytest.mark.slow
def test_without_rows_held_out_the_notes_say_so():
    found = synthetic_summary(REAL, DRAWN, **ROLES)
    assert list(found["disclosure"]) == [*DISCLOSURE[:3], "likely-but-absent"]
    assert list(found["attacks"]) == ATTACKS
    assert found["rows"]["hold_out"] is None
    assert "no real rows were held out" in found["notes"][0]
    assert any("nearest records and membership are left out" in note for note in found["notes"])


@pytest.mark.slow
def test_without_roles():
    found = synthetic_summary(REAL, DRAWN, hold_out=HELD)
    assert list(found["disclosure"]) == [name for name in DISCLOSURE if name not in ("replicated-uniques", "disco")]
    assert list(found["attacks"]) == ["singling-out", "singling-out-univariate", "linkability"]
    assert len(found["notes"]) == 2
    secrets = synthetic_summary(REAL, DRAWN, hold_out=HELD, quasi=["age"], sensitive=["ill", "zip"])
    assert {"disco: ill", "disco: zip"} <= set(secrets["disclosure"])
    assert {"inference: ill", "inference: zip"} <= set(secrets["attacks"])


@pytest.mark.slow
def test_what_cannot_be_measured_is_a_note(monkeypatch):
    def lacks(*given, **asked):
        raise MissingExtra("scikit-learn", "ml")

    def there(tables, **asked):
        return Measure("x", 1.0, (0.0, 1.0), "Fine.")

    table = {"propensity": lacks, "marginals": there, "train-on-synthetic": lacks}
    variants = {name: Variant(make, example={}, cite="none") for name, make in table.items()}
    monkeypatch.setattr("sfumato.measures.synthetic.UTILITIES", UTILITIES | variants)
    found = synthetic_summary(REAL, DRAWN, hold_out=HELD, target="ill", quasi=["age"])
    assert list(found["utility"]) == ["marginals", "correlations"]
    needs = "is left out: this needs scikit-learn"
    expected = [f"propensity {needs}", f"propensity of boosted trees {needs}"]
    expected += ['interval-overlap is left out: "ill" is no number', f"train-on-synthetic {needs}"]
    assert [note[: len(start)] for note, start in zip(found["notes"], expected, strict=True)] == expected


@pytest.mark.slow
def test_types_do_not_matter(fresh):
    texts = DRAWN.with_columns(pl.col("age").cast(pl.Float64), pl.col("pay").cast(pl.Int64).cast(pl.String))
    found = synthetic_summary(REAL, texts, hold_out=HELD, target="sex", **ROLES)
    assert found == fresh  # to the last digit: the same seed draws the same


@pytest.mark.parametrize(
    "tables",
    [
        ({"a": [1], "b": ["x"]}, {"a": [1], "b": ["x"]}, {"a": [2], "b": ["y"]}),
        ({"a": [None] * 3, "b": [None] * 3}, {"a": [None], "b": [None]}, {"a": [math.nan], "b": [""]}),
        ({"a": [7] * 4, "b": ["x"] * 4}, {"a": [7] * 40, "b": ["x"] * 40}, {"a": [7], "b": ["x"]}),
        ({"a": [1, 2]}, {"a": ["x", "y", "z"]}, None),
    ],
    ids=["one row", "missing", "constant", "one column"],
)
def test_edges(tables):
    original, drawn, held = tables
    roles = {"quasi": ["a"], "sensitive": ["b"]} if len(original) > 1 else {}
    found = synthetic_summary(original, drawn, hold_out=held, **roles)
    json.dumps(found, allow_nan=False)
    assert found["rows"]["released"] == len(drawn["a"])


def test_columns_are_checked():
    with pytest.raises(ColumnError, match="agee"):
        synthetic_summary(REAL, DRAWN, quasi=["agee"])
    with pytest.raises(PolicyError, match="quasi-identifying and sensitive"):
        synthetic_summary(REAL, DRAWN, quasi=["age"], sensitive=["age"])
    with pytest.raises(PolicyError, match="trials"):
        synthetic_summary(REAL, DRAWN, trials=0)
