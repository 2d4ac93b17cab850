"""Promises that count people: several rows of one person are one."""

from __future__ import annotations

import warnings
from collections import defaultdict
from datetime import date
from math import exp, log

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ColumnError, PolicyError
from sfumato.release.people import warn_of_repeats
from tests.fuzz import examples

VISITS = {
    "age": ["3*"] * 5 + ["4*"] * 10,
    "patient": ["P1"] * 5 + ["P1", "P2"] + ["P3"] * 8,
    "ill": ["flu", "cold", "ulcer", "mumps", "polio", "flu", "flu", *["cold"] * 7, "flu"],
}


def three_people(k: int) -> sf.Verification:
    table = {"age": ["4*"] * 10, "patient": ["P1", "P2"] + ["P3"] * 8}
    return sf.verify(table, quasi=["age"], require=sf.KAnonymity(k), person="patient")


def test_a_class_of_one_patient_is_not_5_anonymous() -> None:
    table = {"age": ["3*"] * 5, "patient": ["P1"] * 5}
    assert sf.verify(table, quasi=["age"], require=sf.KAnonymity(5)).holds
    found = sf.verify(table, quasi=["age"], require=sf.KAnonymity(2), person="patient")
    assert not found.holds
    assert found.promises[0].measured == 1
    assert found.promises[0].sentence.startswith('Counted in people ("patient"), not in records. ')
    assert found.classes[0]["smallest"] == 1
    assert found.rows == 5


def test_ten_rows_of_three_people_are_3_anonymous_and_not_4() -> None:
    assert three_people(3).holds
    assert not three_people(4).holds
    assert three_people(4).promises[0].measured == 3


def test_a_person_counts_in_each_class_that_has_rows_of_theirs() -> None:
    found = sf.verify(VISITS, quasi=["age"], require=sf.KAnonymity(1), person="patient")
    assert found.classes[0]["sizes"] == {"1": 1, "3": 1}  # P1 is in both


def measured(require: object, ill: list[str], patient: list[int]) -> float:
    table = {"age": ["*"] * len(ill), "patient": patient, "ill": ill}
    found = sf.verify(table, quasi=["age"], require=require, person="patient", sensitive=["ill"]).promises[0].measured
    assert found is not None
    return found


def test_the_share_of_a_value_is_that_of_the_people_who_have_it() -> None:
    ill, patient = ["flu"] * 9 + ["cold", "ulcer"], [1] * 9 + [2, 3]  # nine visits of one patient
    assert measured(sf.AlphaK(1, 1, "ill"), ill, patient) == pytest.approx(1 / 3)
    ill, patient = ["flu", "flu", "flu", "cold", "ulcer", "mumps"], [1, 2, 3, 1, 2, 3]  # everybody has flu
    assert measured(sf.AlphaK(1, 1, "ill"), ill, patient) == 1


def test_what_everybody_has_is_no_diversity_whatever_else_they_have() -> None:
    ill, patient = ["flu", "flu", "flu", "cold", "ulcer", "mumps"], [1, 2, 3, 1, 2, 3]
    assert measured(sf.DistinctLDiversity("ill", 1), ill, patient) == 1
    assert measured(sf.EntropyLDiversity("ill", 1), ill, patient) == 1
    one = ["flu", "cold", "ulcer", "mumps", "polio"], [1, 1, 1, 1, 1]  # five values of one patient
    assert measured(sf.DistinctLDiversity("ill", 1), *one) == 1


def test_each_person_counts_with_one_value_as_the_commonest_allow() -> None:
    # flu 1, 2; cold 2, 3; ulcer 4: two with flu, then the two others with cold: 2 and 2 at the most concentrated
    ill, patient = ["flu", "flu", "cold", "cold", "ulcer"], [1, 2, 2, 3, 4]
    assert measured(sf.DistinctLDiversity("ill", 1), ill, patient) == 2
    assert measured(sf.EntropyLDiversity("ill", 1), ill, patient) == pytest.approx(2)
    assert measured(sf.RecursiveCLDiversity("ill", 9, 2), ill, patient) == pytest.approx(1)


def test_households_are_counted_beside_people() -> None:
    table = {"age": ["3*"] * 4, "p": [1, 2, 3, 4], "home": ["a", "a", "b", "b"]}
    found = sf.verify(table, quasi=["age"], require=sf.KAnonymity(3), person="p", household="home")
    assert [(one.holds, one.measured) for one in found.promises] == [(True, 4), (False, 2)]
    assert not found.holds
    assert "households" in found.promises[1].sentence


def test_it_is_told_what_cannot_be_counted() -> None:
    table = {"age": ["3*"] * 3, "p": ["a", None, ""], "ill": ["x", "y", "z"]}
    with pytest.raises(ColumnError, match='column "p" does not say whose 2 rows are; got 2 missing of 3'):
        sf.verify(table, quasi=["age"], require=sf.KAnonymity(2), person="p")
    with pytest.raises(ColumnError, match='no column "q"'):
        sf.verify(table, quasi=["age"], require=sf.KAnonymity(2), person="q")
    with pytest.raises(ColumnError, match="cannot be quasi and say whose a row is at once"):
        sf.verify(table, quasi=["age", "p"], require=sf.KAnonymity(2), person="p")
    with pytest.raises(ColumnError, match="cannot name persons and households at once"):
        sf.verify(table, quasi=["age"], require=sf.KAnonymity(2), person="p", household="p")
    with pytest.raises(PolicyError, match="t-closeness cannot count people"):
        sf.verify(table, quasi=["age"], require=sf.TCloseness("ill", 0.2), person="p")
    with pytest.raises(PolicyError, match="cannot be counted where a missing value matches"):
        sf.verify(table, quasi=["age"], require=sf.KAnonymity(2), person="p", wildcard=True)


def choices(values: list[set[str]]) -> list[tuple[str, ...]]:
    found: list[tuple[str, ...]] = [()]
    for one in values:
        found = [(*rest, value) for rest in found for value in sorted(one)]
    return found


def entropy(chosen: tuple[str, ...]) -> float:
    shares = [chosen.count(value) / len(chosen) for value in set(chosen)]
    return exp(-sum(share * log(share) for share in shares))


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 4), st.sampled_from("xyz")), min_size=1, max_size=12))
def test_no_choice_of_a_value_per_person_is_worse_than_what_is_measured(rows: list[tuple[str, int, str]]) -> None:
    table = dict(zip(("age", "p", "ill"), map(list, zip(*rows, strict=True)), strict=True))
    of: dict[str, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for age, person, ill in rows:
        of[age][person].add(ill)
    worlds = [chosen for people in of.values() for chosen in choices(list(people.values()))]
    diversity = [sf.DistinctLDiversity("ill", 1), sf.EntropyLDiversity("ill", 1)]
    require = [sf.KAnonymity(1), *diversity, sf.AlphaK(1, 1, "ill")]
    found = sf.verify(table, quasi=["age"], require=require, person="p", sensitive=["ill"])
    k, distinct, varied, share = (promise.measured for promise in found.promises)
    assert None not in (k, distinct, varied, share)
    assert k == min(len(people) for people in of.values())
    assert distinct <= min(len(set(chosen)) for chosen in worlds)
    assert varied <= min(map(entropy, worlds)) + 1e-9
    assert share == pytest.approx(max(max(map(one.count, one)) / len(one) for one in worlds))
    if all(len(values) == 1 for people in of.values() for values in people.values()):  # then it is what it always was
        once = pl.DataFrame(table).unique(["age", "p"])
        rowwise = sf.verify(once, quasi=["age"], require=require, sensitive=["ill"])
        assert [one.measured for one in rowwise.promises] == pytest.approx([k, distinct, varied, share])


@pytest.mark.parametrize(
    ("values", "told"),
    [
        (["a", "a", "b", "b"], True),
        ([1, 1, 2, 2], True),
        ([70.5, 70.5, 81.0, 81.0], False),  # two people may weigh the same
        ([date(1970, 1, 1)] * 2 + [date(1980, 1, 1)] * 2, False),
    ],
)
def test_what_may_name_a_person_is_warned_of_where_it_repeats(values, told):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        warn_of_repeats(pl.DataFrame({"who": values}), ["who"])
    said = [one.message.told_in("file") for one in caught]
    assert [text.endswith('with "who" named as person, people are counted') for text in said] == [True] * told
    assert all('person="who" counts people' in str(one.message) for one in caught)
