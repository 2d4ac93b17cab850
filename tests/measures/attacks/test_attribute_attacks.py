"""Homogeneity, background knowledge, skewness, similarity, negative disclosure: by hand on the classic tables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato import errors
from sfumato.hierarchies import wide
from sfumato.measures.attacks import background_knowledge, homogeneity, negative_disclosure, similarity, skewness
from tests.measures.attacks.tables import ILLNESS, PATIENTS, QUASI, RELEASED, SALARIES, people, suppressed

ON_ONE_TABLE = [homogeneity, background_knowledge, skewness, negative_disclosure]


def test_homogeneity_pins_bob_to_heart_disease() -> None:
    found = homogeneity(RELEASED, QUASI, "disease")
    assert found.exposed == (0, 1, 2)  # Bob is row 2
    assert found.success == pytest.approx(3 / 9)
    assert found.baseline == 0
    assert found.trials == 9
    assert found.details["guess"] == pytest.approx((3 + 1 + 2) / 9)
    assert found.details["guess baseline"] == pytest.approx(5 / 9)


def test_homogeneity_with_a_share() -> None:
    assert homogeneity(RELEASED, QUASI, "disease", share=2 / 3).exposed == (0, 1, 2, 6, 7, 8)


def test_background_knowledge_without_heart_disease_leaves_cancer() -> None:
    found = background_knowledge(RELEASED, QUASI, "disease", values=["heart disease"])
    assert found.trials == 4  # those who have no heart disease
    assert found.exposed == (7, 8)  # 36 in 47673 is Carl, row 7
    assert found.success == pytest.approx(2 / 4)
    assert found.details["average probability"] == pytest.approx((1 / 2 + 1 / 2 + 1 + 1) / 4)


def test_background_knowledge_of_the_worst_case() -> None:
    one = background_knowledge(RELEASED, QUASI, "disease", rule_out=1)
    assert one.exposed == (0, 1, 2, 6, 7, 8)
    assert one.details["average probability"] == pytest.approx((6 + 3 * 0.5) / 9)
    # without quasi-identifiers, cancer out: 5/6 for heart disease; heart disease out: 3/4 for cancer, 1/4 for flu
    assert one.details["average probability baseline"] == pytest.approx((5 * 5 / 6 + 3 * 3 / 4 + 1 / 4) / 9)
    assert background_knowledge(RELEASED, QUASI, "disease", rule_out=2).success == 1
    assert background_knowledge(RELEASED, QUASI, "disease", rule_out=0).success == pytest.approx(3 / 9)


def test_background_knowledge_with_less_than_certainty() -> None:
    found = background_knowledge(RELEASED, QUASI, "disease", rule_out=1, certainty=0.5)
    assert found.success == 1


def test_skewness_gains() -> None:
    found = skewness(RELEASED, QUASI, "disease", threshold=0.4)
    # heart disease 1 - 5/9 = 0.444; flu 1/3 - 1/9 = 0.222; cancer 2/3 - 3/9 = 0.333
    assert found.exposed == (0, 1, 2)
    assert found.details["highest gain"] == pytest.approx(4 / 9)
    assert found.details["average gain"] == pytest.approx((4 / 9 + 2 / 9 + 1 / 3) / 3)
    ratio = skewness(RELEASED, QUASI, "disease", threshold=1.5, scale="ratio")
    assert ratio.exposed == (3, 4, 5)  # flu: 1/3 is three times 1/9, a gain of 2
    assert ratio.details["highest gain"] == pytest.approx(2)


def test_skewness_with_values_and_a_prior() -> None:
    assert skewness(RELEASED, QUASI, "disease", values=["cancer"], threshold=0.3).exposed == (6, 7, 8)
    prior = {"heart disease": 0.98, "cancer": 0.01, "flu": 0.01}
    found = skewness(RELEASED, QUASI, "disease", prior=prior, threshold=0.5)
    assert found.details["highest gain"] == pytest.approx(2 / 3 - 0.01)
    assert math.isinf(skewness(RELEASED, QUASI, "disease", prior={}, scale="ratio").details["highest gain"])


def test_similarity_of_salaries_and_of_diseases() -> None:
    salary = similarity(SALARIES, QUASI, "salary")
    assert salary.exposed == (0, 1, 2)  # 3 to 5 of 3 to 11 is a quarter
    assert salary.success == pytest.approx(3 / 9)
    assert similarity(SALARIES, QUASI, "salary", width=0.375).exposed == (0, 1, 2, 6, 7, 8)
    disease = similarity(SALARIES, QUASI, "disease", hierarchy=wide(ILLNESS))
    assert disease.exposed == (0, 1, 2)  # all stomach diseases
    assert disease.details["level"] == 2
    assert similarity(SALARIES, QUASI, "disease", hierarchy=wide(ILLNESS), level=0).success == 0


def test_similarity_needs_to_know_what_is_alike() -> None:
    with pytest.raises(errors.PolicyError, match="hierarchy"):
        similarity(SALARIES, QUASI, "disease")
    with pytest.raises(errors.PolicyError, match="level"):
        similarity(SALARIES, QUASI, "disease", hierarchy=wide(ILLNESS), level=3)


def test_similarity_of_missing_values() -> None:
    table = {"q": ["a", "a", "b", "b", "c", "c"], "s": [1, None, None, None, 2, 11]}
    assert similarity(table, ["q"], "s").exposed == (2, 3)  # both missing is one value; missing beside 1 is no range


def test_negative_disclosure() -> None:
    found = negative_disclosure(RELEASED, QUASI, "disease")  # flu is 1/9, above a tenth
    assert found.exposed == (0, 1, 2, 6, 7, 8)
    assert found.details["average share ruled out"] == pytest.approx((4 / 9 + 0 + 1 / 9) / 3)
    assert negative_disclosure(RELEASED, QUASI, "disease", common=0.2).exposed == (0, 1, 2)  # no cancer
    assert negative_disclosure(RELEASED, QUASI, "disease", values=["flu"]).exposed == (0, 1, 2, 6, 7, 8)
    assert negative_disclosure(RELEASED, QUASI, "disease", values=["measles"]).success == 0


@pytest.mark.parametrize("attack", ON_ONE_TABLE)
def test_unprotected_succeeds_and_suppressed_is_at_its_baseline(attack: Any) -> None:
    table = people(300)
    quasi = ["age", "zip", "height"]
    open_ = attack(table, quasi, "disease")
    assert open_.success > 0.99
    assert open_.advantage > 0.9
    closed = attack(suppressed(table, quasi), quasi, "disease")
    assert closed.success == closed.baseline
    assert closed.advantage == 0


def test_similarity_unprotected_and_suppressed() -> None:
    table, quasi = people(300), ["age", "zip"]
    assert similarity(table, quasi, "height").success > 0.99
    closed = similarity(suppressed(table, quasi), quasi, "height")
    assert closed.success == closed.baseline == 0


@pytest.mark.parametrize("attack", ON_ONE_TABLE)
def test_results_are_plain_and_hold_no_content(attack: Any) -> None:
    found = attack(RELEASED, QUASI, "disease").to_dict()
    assert {"success", "baseline", "interval", "trials", "exposed", "sentence", "advantage"} <= set(found)
    text = repr(found)
    for word in ("heart", "cancer", "flu", "476", "4790", "2*"):
        assert word not in text
    assert "%" in found["sentence"]
    low, high = found["interval"]
    assert low <= found["success"] <= high


@pytest.mark.parametrize(
    ("attack", "options"),
    [
        (homogeneity, {"share": 1.5}),
        (background_knowledge, {"rule_out": -1}),
        (background_knowledge, {"values": "flu"}),
        (skewness, {"scale": "log"}),
        (skewness, {"threshold": -1}),
        (skewness, {"prior": {"flu": 2.0}}),
        (negative_disclosure, {"common": "some"}),
    ],
)
def test_senseless_parameters_are_refused(attack: Any, options: dict[str, Any]) -> None:
    with pytest.raises(errors.PolicyError):
        attack(RELEASED, QUASI, "disease", **options)


def test_absent_columns_are_named() -> None:
    with pytest.raises(errors.ColumnError, match='did you mean "disease"'):
        homogeneity(RELEASED, QUASI, "diseases")
    with pytest.raises(errors.PolicyError, match="both"):
        homogeneity(RELEASED, [*QUASI, "disease"], "disease")


CELL = st.one_of(st.none(), st.text(max_size=2), st.integers(-(2**70), 2**70), st.floats())


@given(st.lists(st.tuples(CELL, CELL), min_size=1, max_size=12))
def test_nasty_tables_give_shares(rows: list[tuple[Any, Any]]) -> None:
    table = {"q": [q for q, _ in rows], "s": [s for _, s in rows]}
    for attack in ON_ONE_TABLE:
        found = attack(table, ["q"], "s")
        assert 0 <= found.success <= 1
        assert 0 <= found.baseline <= 1
        assert found.success >= found.baseline - 1e-12  # a class never knows less than nothing for certain
        assert all(0 <= row < len(rows) for row in found.exposed)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("uvwx")), min_size=1, max_size=15), st.integers(0, 3))
def test_background_knowledge_is_the_plain_formula(rows: list[tuple[str, str]], n: int) -> None:
    table = pl.DataFrame(rows, schema=["q", "s"], orient="row")
    found = background_knowledge(table, ["q"], "s", rule_out=n)
    chances = []
    for q, s in rows:
        mine = [t for p, t in rows if p == q]
        others = sorted((mine.count(t) for t in set(mine) - {s}), reverse=True)
        chances.append(mine.count(s) / (len(mine) - sum(others[:n])))
    assert found.details["average probability"] == pytest.approx(np.mean(chances))
    assert found.success == pytest.approx(np.mean([c == 1 for c in chances]))


def test_patients_themselves_are_all_exposed() -> None:
    assert homogeneity(PATIENTS, QUASI, "disease").success == 1
