"""The summary runs what it has the inputs for; the table knows every attack."""

from __future__ import annotations

import json

import polars as pl
import pytest

from sfumato import errors
from sfumato.hierarchies import wide
from sfumato.measures.attacks import ATTACKS, attack_summary
from tests.measures.attacks.tables import ILLNESS, NAMES, PATIENTS, QUASI, RELEASED, SALARIES, people

ON_ONE = ["homogeneity", "background-knowledge", "skewness", "negative-disclosure"]


@pytest.mark.slow
def test_only_what_has_its_inputs() -> None:
    assert list(attack_summary(RELEASED, quasi=QUASI, sensitive="disease")) == ON_ONE
    with_original = attack_summary(RELEASED, quasi=QUASI, sensitive=["disease"], original=PATIENTS)
    three = ["singling-out", "singling-out-univariate", "singling-out on all columns", "linkability", "inference"]
    assert list(with_original) == [*ON_ONE, *three, "order"]
    every = attack_summary(
        RELEASED, quasi=QUASI, sensitive="disease", original=PATIENTS, holdout=PATIENTS, releases=[RELEASED]
    )
    assert list(every) == [*ON_ONE, *three, "intersection", "membership", "order"]
    assert every["homogeneity"]["exposed"] == [0, 1, 2]


def test_an_external_table_is_linked() -> None:
    voters = PATIENTS.drop("disease").with_columns(name=pl.Series(NAMES))
    found = attack_summary(RELEASED, quasi=QUASI, external=voters)
    assert list(found) == ["deterministic-linkage", "probabilistic-linkage", "distance-linkage"]
    assert found["deterministic-linkage"]["success"] == pytest.approx(3 / 9)  # three classes of three
    some = attack_summary(RELEASED, quasi=QUASI, external=voters.head(2))
    assert list(some) == ["deterministic-linkage", "probabilistic-linkage"]  # nobody says who is who
    apart = {"income": [1, 2, 3, 4, 5, 6, 7, 8, 90]}
    assert list(attack_summary(RELEASED, quasi=QUASI, external=apart)) == ["cluster-linkage"]
    assert attack_summary(RELEASED, quasi=QUASI, external=voters.select("name").head(3)) == {}


def test_several_sensitive_columns_have_their_own_entries() -> None:
    found = attack_summary(
        SALARIES, quasi=QUASI, sensitive=["salary", "disease"], hierarchies={"disease": wide(ILLNESS)}
    )
    assert found["similarity: salary"]["exposed"] == found["similarity: disease"]["exposed"] == [0, 1, 2]


def test_the_result_is_json_and_names_no_cell() -> None:
    text = json.dumps(attack_summary(RELEASED, quasi=QUASI, sensitive="disease", original=PATIENTS, seed=4, trials=20))
    for word in ("heart", "cancer", "flu", "476", "4790", "2*"):
        assert word not in text


def test_a_hierarchy_that_does_not_fit_the_released_labels_is_left_out() -> None:
    found = attack_summary(RELEASED, quasi=QUASI, sensitive="disease", hierarchies={"disease": wide(ILLNESS)})
    assert list(found) == ON_ONE


def test_quasi_is_needed() -> None:
    with pytest.raises(errors.PolicyError):
        attack_summary(RELEASED, quasi=[], sensitive="disease")


def test_every_attack_stands_in_the_table() -> None:
    assert {*ON_ONE, "similarity", "membership", "intersection", "singling-out", "linkability", "inference"} <= set(
        ATTACKS
    )
    for entry in ATTACKS.values():
        assert entry.cite
        assert entry.summary.endswith((".", "?"))


def test_examples_of_the_table_run() -> None:
    table = people(60).rename({"height": "salary"})
    calls = {
        "membership": {"original": table, "holdout": people(60, 2)},
        "intersection": {"releases": [table], "original": table},
        "singling-out": {"original": table},
        "linkability": {"original": table},
        "inference": {"original": table},
    }
    for name in [*ON_ONE, "similarity", *calls]:
        given = dict(calls.get(name, {}))
        if name != "intersection":
            given["released"] = table
        assert ATTACKS[name].make(**given, **ATTACKS[name].example).success > 0.5
