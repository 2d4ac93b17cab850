"""(X,Y)-anonymity and (X,Y)-linkability, by hand and beside the models that they are with a certain Y."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.errors import PolicyError

VISITS = {"age": ["30s"] * 5 + ["40s"] * 4, "patient": ["Ann"] * 5 + ["Bob", "Cid", "Cid", "Dan"]}


def measured(require: object, **more: object) -> float | None:
    return sf.verify(VISITS, quasi=["age"], require=require, **more).promises[0].measured


def test_by_hand() -> None:
    assert measured(sf.XYAnonymity("patient", 2)) == 1
    assert measured(sf.XYLinkability("patient", 0.5)) == 1
    forties = {name: values[5:] for name, values in VISITS.items()}
    found = sf.verify(forties, quasi=["age"], require=[sf.XYAnonymity("patient", 3), sf.XYLinkability("patient", 0.5)])
    assert [(one.measured, one.holds) for one in found.promises] == [(3, True), (0.5, True)]
    assert not sf.verify(forties, quasi=["age"], require=sf.XYAnonymity("patient", 4)).holds
    assert not sf.verify(forties, quasi=["age"], require=sf.XYLinkability("patient", 0.49)).holds


def test_with_the_column_of_people_it_is_k_anonymity_of_people() -> None:
    assert measured(sf.XYAnonymity("patient", 2)) == measured(sf.KAnonymity(2), person="patient")


def test_with_a_key_of_the_rows_it_is_k_anonymity() -> None:
    table = {**VISITS, "row": list(range(9))}
    found = sf.verify(table, quasi=["age"], require=[sf.XYAnonymity("row", 4), sf.KAnonymity(4)]).promises
    assert found[0].measured == found[1].measured == 4


def test_a_search_keeps_both() -> None:
    table = {"age": [30, 31, 32, 33, 50, 51, 52, 53] * 3, "ill": ["flu", "cold", "flu"] * 8}
    asked = [sf.XYAnonymity("ill", 2), sf.XYLinkability("ill", 0.7)]
    for search in ("optimal", "mondrian"):
        release = sf.anonymize(table, quasi=["age"], require=asked, search=search)
        classes: dict[str, list[str]] = {}
        for age, ill in release.table.select("age", "ill").rows():
            classes.setdefault(age, []).append(ill)
        assert all(len(set(one)) >= 2 for one in classes.values())
        assert all(max(map(one.count, one)) <= 0.7 * len(one) for one in classes.values())


def test_sizes_and_words() -> None:
    assert (sf.XYAnonymity("y", 4).least_size, sf.XYLinkability("y", 0.1).least_size) == (4, 10)
    assert sf.XYLinkability("y", 0.3).least_size == 4
    assert sf.XYAnonymity("y", 1).sentence().endswith('at least 1 value of "y".')
    for wrong in (lambda: sf.XYAnonymity("y", 0), lambda: sf.XYLinkability("y", 0), lambda: sf.XYLinkability("y", 1.1)):
        with pytest.raises(PolicyError):
            wrong()
