"""Risks where people are counted and not rows, by hand."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.errors import ColumnError, PolicyError

VISITS = {
    "age": ["3*"] * 5 + ["4*"] * 10,
    "p": [1] * 5 + [1, 2] + [3] * 8,
    "ill": list("abcde") + list("aabbbbbbbb"),
    "home": [1] * 7 + [2] * 8,
}


def test_several_rows_of_a_person_are_one_in_a_class() -> None:
    assert sf.risk(VISITS, quasi=["age"])["prosecutor"]["highest"] == 0.2
    found = sf.risk(VISITS, quasi=["age"], person="p")
    assert (found["rows"], found["people"], found["most_rows"], found["classes"]) == (15, 3, 8, 2)
    assert found["prosecutor"]["highest"] == 1.0  # patient 1 fills a class
    assert found["prosecutor"]["average"] == 0.5  # (1 + 3 * 1/3) / 4: patient 1 is in both classes
    assert found["prosecutor"]["smallest"] == 1
    assert found["uniqueness"]["sample"] == 0.25
    assert found["achieved"]["k"] == 1
    assert not any("record" in one["sentence"] for one in found["measures"])


def test_one_row_per_person_is_what_it_was() -> None:
    table = {"age": [30, 30, 30, 40, 40], "p": list("abcde"), "ill": list("xxyxy")}
    by_rows = sf.risk(table, quasi=["age"], sensitive=["ill"])
    by_people = sf.risk(table, quasi=["age"], sensitive=["ill"], person="p")
    for key in ("prosecutor", "journalist", "marketer", "uniqueness"):
        assert by_people[key] == by_rows[key]
    assert by_people["achieved"]["k"] == by_rows["achieved"]["k"]
    for key, value in by_people["achieved"]["sensitive"]["ill"].items():
        assert by_rows["achieved"]["sensitive"]["ill"][key] == pytest.approx(value)


def test_a_person_is_found_through_any_member_of_the_household() -> None:
    found = sf.risk(VISITS, quasi=["age"], person="p", household="home")["household"]
    # patients 1 and 2: 1 - (1 - 1)(1 - 1/3) = 1; patient 3: 1/3
    assert found["average"] == pytest.approx((1 + 1 + 1 / 3) / 3)
    assert found["expected_records"] == pytest.approx(7 / 3)


def test_null_and_nan_are_one_class() -> None:
    table = {"x": [None, float("nan"), None], "p": ["a", "a", "b"]}
    assert sf.risk(table, quasi=["x"], person="p")["prosecutor"]["smallest"] == 2


def test_a_person_has_one_weight() -> None:
    table = {"age": [30, 30, 40], "p": [1, 1, 2], "w": [2.0, 3.0, 1.0]}
    with pytest.raises(ColumnError, match='"w" differs within 1 of 2 people'):
        sf.risk(table, quasi=["age"], person="p", weight="w")
    found = sf.risk(table | {"w": [2.0, 2.0, 1.0]}, quasi=["age"], person="p", weight="w")
    assert found["individual"]["highest"] == 1.0


def test_what_looks_at_rows_is_refused() -> None:
    for given in ({"suda": True}, {"subsets": 1}, {"profile": "hipaa"}):
        with pytest.raises(PolicyError, match="looks at each row by itself"):
            sf.risk(VISITS, quasi=["age"], person="p", **given)
    with pytest.raises(PolicyError, match="matches any value"):
        sf.risk(VISITS, quasi=["age"], person="p", wildcard=True)
    with pytest.raises(ColumnError, match="whose 1 row is"):
        sf.risk({"age": [30, 30], "p": [1, None]}, quasi=["age"], person="p")
