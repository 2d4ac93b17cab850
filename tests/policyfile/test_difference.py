"""Difference of two policies, part by part."""

from __future__ import annotations

from sfumato.policyfile.difference import PolicyChange, difference

BEFORE = {
    "roles": {"quasi": [["age", "zip"], ["age", "job"]], "sensitive": ["cost"]},
    "require": [{"model": "k-anonymity", "k": 5}, {"model": "t-closeness", "attribute": "cost", "t": 0.2}],
    "search": {"method": "auto", "suppression": 0.02},
}
AFTER = {
    "roles": {"quasi": ["age", "zip"], "insensitive": ["cost"]},
    "require": [{"model": "k-anonymity", "k": 10}],
    "search": {"method": "mondrian", "suppression": 0.02},
    "hierarchies": {"age": {"intervals": [5, 10]}},
}


def test_what_changed():
    assert difference(BEFORE, AFTER) == (
        PolicyChange("roles", "job", "quasi", None),
        PolicyChange("roles", "cost", "sensitive", "insensitive"),
        PolicyChange("require", "k-anonymity", "k = 5", "k = 10"),
        PolicyChange("require", "t-closeness cost", "t = 0.2", None),
        PolicyChange("search", "method", "auto", "mondrian"),
        PolicyChange("hierarchies", "age", None, "{ intervals = [5, 10] }"),
    )


def test_the_same_is_no_change_and_two_of_a_kind_are_told_apart():
    assert difference(BEFORE, BEFORE) == ()
    twice = {"require": [{"model": "k-anonymity", "k": 2, "quasi": ["a"]}, {"model": "k-anonymity", "k": 3}]}
    assert [change.name for change in difference({}, twice)] == ["k-anonymity", "k-anonymity (2)"]
