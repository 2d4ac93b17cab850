"""GDPR and clinical profiles: by hand, from classes and from attacks."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato import errors
from sfumato.measures.standards import clinical, gdpr, profile

QUASI = ["age", "zip"]


def people(rows: int, seed: int = 1) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "zip": [f"{z:05d}" for z in rng.integers(10000, 99999, rows)],
            "disease": rng.choice(["flu", "cold", "cancer", "asthma"], rows),
        }
    )


def test_clinical_needs_twelve_alike() -> None:
    twelve = clinical({"age": ["a"] * 12 + ["b"] * 24}, ["age"])
    assert twelve.holds
    highest, average = (check.to_dict() for check in twelve.checks)
    assert highest["value"] == pytest.approx(1 / 12)
    assert average["value"] == pytest.approx(2 / 36)
    eleven = clinical({"age": ["a"] * 11 + ["b"] * 89}, ["age"])
    assert [check.holds for check in eleven.checks] == [False, True]
    assert not eleven.holds
    assert clinical({"age": ["a"] * 11}, ["age"], limit=0.1).holds
    assert "no other record" in clinical({"age": ["a"]}, ["age"]).checks[0].sentence


def test_gdpr_from_classes_by_hand() -> None:
    table = {"age": ["2*"] * 12 + ["3*"] * 12, "disease": ["flu"] * 12 + ["flu", "cold"] * 6}
    found = gdpr(table, ["age"], ["disease"])
    single, link, infer = (check.measure for check in found.checks)
    assert single.value == 0
    assert link.value == pytest.approx(1 / 12)
    assert infer.value == pytest.approx(0.5)  # twelve of 24 in a class of one disease
    assert not found.holds
    assert "nothing is said about inference" in gdpr(table, ["age"]).statement
    assert "the worst record" in link.sentence
    assert "for the worst record" in found.statement


def test_gdpr_sees_classes_that_are_nearly_of_one_value() -> None:
    table = {"age": ["a"] * 100 + ["b"] * 100, "ill": ["hiv"] * 99 + ["flu"] + ["flu"] * 99 + ["hiv"]}
    found = gdpr(table, ["age"], ["ill"])
    infer = found.checks[2].measure
    assert infer.details["homogeneous"] == 0
    assert infer.value == pytest.approx((0.99 - 0.5) / 0.5)
    assert not found.holds


@pytest.mark.slow
def test_gdpr_looks_at_all_released_columns_and_names_the_one_to_blame() -> None:
    table = pl.DataFrame({"age": ["2*"] * 24, "ill": ["flu", "cold", "cough"] * 8, "cost": range(24)})
    bare = table.drop("cost")
    assert gdpr(bare, ["age"], ["ill"]).holds
    for original in (None, table.with_columns(age=pl.Series(range(20, 44)))):
        found = gdpr(table, ["age"], ["ill"], original=original)
        assert not found.holds
        single = found.checks[0].measure
        assert single.value == 1
        assert single.details["quasi"] == 0
        assert single.details["drivers"] == ["cost"]
        assert 'by all released columns, of which "cost" is enough' in found.statement


@pytest.mark.slow
def test_gdpr_is_incomplete_where_a_criterion_was_not_examined() -> None:
    table = {"age": ["2*"] * 12}
    found = gdpr(table, ["age"])
    assert all(check.holds for check in found.checks)
    assert not found.holds
    assert found.examined == ("singling out", "linkability")
    assert "INCOMPLETE" in found.statement
    tried = gdpr({"a": ["x", "y"] * 30}, ["a"], original={"a": ["x", "y"] * 30})
    assert tried.examined == ("singling out",)
    assert not tried.holds
    assert "linkability and inference were not examined" in tried.statement
    # halves that would join nobody through an unprotected copy tell nothing either
    coarse = {"a": ["x", "y"] * 60, "b": ["u", "u", "v", "v"] * 30, "ill": ["f", "c", "f", "c", "c"] * 24}
    shut = gdpr(coarse, ["a", "b"], ["ill"], original=coarse)
    assert shut.examined == ("singling out", "inference")
    assert "linkability was not examined" in shut.statement
    assert json.loads(json.dumps(shut.to_dict()))["examined"] == ["singling out", "inference"]


def test_gdpr_fails_an_unprotected_copy_whose_texts_are_unique() -> None:
    rng = np.random.default_rng(1)
    table = {"code": [f"p{i:04d}" for i in range(300)], "ill": rng.choice(["flu", "hiv", "ok"], 300).tolist()}
    found = gdpr(table, ["code"], ["ill"], original=table)
    assert not found.holds
    assert found.checks[0].measure.value == 1
    assert found.checks[0].measure.details["reference"] == 0


@pytest.mark.slow
def test_gdpr_takes_the_upper_end_of_a_sample() -> None:
    rng = np.random.default_rng(3)
    original = pl.DataFrame({"q": [f"{i:04d}" for i in range(1300)], "r": [f"x{i}" for i in range(1300)]})
    original = original.with_columns(ill=pl.Series(rng.choice(list("abcdefghij"), 1300)))
    released = original.with_columns(q=pl.lit("*"), r=pl.lit("*"))
    found = gdpr(released, ["q", "r"], ["ill"], original=original, trials=25)
    link = next(check for check in found.checks if check.measure.name == "linkability")
    assert link.measure.value < 0.09 < link.measure.interval[1]
    assert not link.holds
    assert "the upper end of its 95% interval counts" in link.measure.sentence
    assert "at the upper end of its interval" in found.statement
    assert gdpr(released, ["q", "r"], ["ill"], original=original, trials=1300).holds  # everybody was tried


def test_profiles_take_missing_values_as_wildcards() -> None:
    table = {"a": ["x"] * 11 + [None], "b": ["u"] * 12, "ill": ["f", "c", "d"] * 4}
    assert not profile("clinical", table, ["a", "b"]).holds
    assert profile("clinical", table, ["a", "b"], wildcard=True).holds
    apart, alike = (profile("gdpr", table, ["a", "b"], ["ill"], wildcard=w).checks for w in (False, True))
    assert [check.measure.value for check in apart[:2]] == pytest.approx([1 / 12, 1])
    assert [check.measure.value for check in alike[:2]] == pytest.approx([0, 1 / 12])
    assert "the stricter reading" in alike[2].sentence
    assert sf.risk(table, quasi=["a", "b"], wildcard=True, profile="clinical")["profile"]["holds"]
    assert profile("hipaa", {"colour": ["red"]}, wildcard=True).holds


def test_clinical_promises_no_anonymity() -> None:
    good, bad = (clinical({"a": ["x"] * n}, ["a"]).statement for n in (12, 11))
    assert "meets the 0.09 threshold of the European Medicines Agency" in good
    assert "does not meet the 0.09 threshold" in bad
    for said in (good, bad):
        assert "fit to be made public" not in said
        assert "no proof of anonymity" in said


@pytest.mark.slow
def test_gdpr_by_attacks() -> None:
    table = people(300)
    bare = gdpr(table, QUASI, "disease", original=table, trials=100)
    assert not bare.holds
    assert [check.measure.name for check in bare.checks] == [
        "singling out (univariate)",
        "singling out (multivariate)",
        "linkability",
        'inference of "disease"',
    ]
    assert all(check.measure.value > 0.2 for check in bare.checks[:2])
    shut = table.with_columns(pl.lit("*").alias(name) for name in QUASI)
    closed = gdpr(shut, QUASI, "disease", original=table, holdout=people(300, 2), trials=300)
    assert closed.holds, [check.to_dict() for check in closed.checks]
    assert json.loads(json.dumps(closed.to_dict()))["holds"] is True
    assert "no risk above the limit" in closed.statement


def test_profiles_by_name() -> None:
    table = {"age": ["2*"] * 12}
    assert profile("clinical", table, ["age"]).holds
    assert profile("gdpr", {**table, "ill": ["f", "c", "d"] * 4}, ["age"], ["ill"]).holds
    assert profile("hipaa", table).holds
    with pytest.raises(errors.PolicyError, match="did you mean"):
        profile("hippa", table)
    with pytest.raises(errors.PolicyError, match="quasi"):
        profile("clinical", table)
    with pytest.raises(errors.ColumnError):
        profile("gdpr", table, ["zip"])
