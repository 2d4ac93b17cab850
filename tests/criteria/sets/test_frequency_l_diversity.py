"""What the tables of Anatomy say of their promise, worked out by hand."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.criteria.sets import SET_PROMISES, FrequencyLDiversity, set_promise
from sfumato.criteria.sets.model import examined_set
from sfumato.criteria.sets.published import PublishedSet, PublishedTable, TableLink

ROLES = {"group": "group", "disease": "sensitive", "count": "count"}


def published(groups: list[str | None], values: list[tuple[Any, Any, Any]]) -> PublishedSet:
    people = pl.DataFrame({"group": pl.Series(groups, dtype=pl.String), "age": [str(i) for i in range(len(groups))]})
    schema = {"group": pl.String, "disease": pl.String, "count": pl.String}
    counted = pl.DataFrame(values, schema=schema, orient="row")
    return PublishedSet(
        {
            "quasi": PublishedTable("quasi", people, {"group": "group", "age": "quasi"}),
            "sensitive": PublishedTable("sensitive", counted, ROLES),
        },
        [TableLink("join", ("quasi", "sensitive"), ("group",))],
    )  # fmt: skip


TWO = ["1", "1", "2", "2"]


def test_half_of_a_group_at_most() -> None:
    found = examined_set(
        FrequencyLDiversity("disease", 2),
        published(TWO, [("1", "flu", "1"), ("1", "cold", "1"), ("2", "flu", "1"), ("2", None, "1")]),
    )
    assert (found.holds, found.measured, found.bound, found.quasi, found.how) == (True, 2.0, 2, (), "proven")


def test_a_value_of_two_thirds_of_its_group_fails() -> None:
    said = [("1", "flu", "2"), ("1", "cold", "1"), ("2", "flu", "1"), ("2", "ulcer", "1")]
    found = examined_set(FrequencyLDiversity("disease", 2), published(["1", "1", "1", "2", "2"], said))
    assert (found.holds, found.measured, found.note) == (False, 1.5, "1 groups fails")


def test_a_value_in_two_lines_is_one() -> None:
    said = [("1", "flu", "1"), ("1", "flu", "1"), ("1", "cold", "1")]
    assert not examined_set(FrequencyLDiversity("disease", 2), published(["1"] * 3, said)).holds


@pytest.mark.parametrize(
    ("groups", "values", "note"),
    [
        (["1", "1", "2"], [("1", "flu", "1"), ("1", "cold", "1")], "do not speak of the same rows"),
        (["1", "1"], [("1", "flu", "1"), ("1", "cold", "1"), ("2", "flu", "1")], "do not speak of the same rows"),
        (["1", None], [("1", "flu", "1"), ("1", "cold", "1")], "do not speak of the same rows"),
        (["1", "1"], [("1", "flu", "-1"), ("1", "cold", "3")], "no whole number above 0"),
        (["1", "1"], [("1", "flu", "1.5"), ("1", "cold", "0.5")], "no whole number above 0"),
        (["1", "1"], [("1", "flu", "0"), ("1", "cold", "2")], "no whole number above 0"),
        (["1", "1"], [("1", "flu", "1e0"), ("1", "cold", "1")], "no whole number above 0"),
        (["1", "1"], [("1", "flu", "99999999999999999999"), ("1", "cold", "1")], "no whole number above 0"),
    ],
)
def test_tables_that_contradict_each_other_keep_nothing(groups: Any, values: Any, note: str) -> None:
    found = examined_set(FrequencyLDiversity("disease", 2), published(groups, values))
    assert not found.holds
    assert found.measured is None
    assert note in str(found.note)


def test_the_sensitive_column_beside_the_quasi_identifiers_is_a_breach() -> None:
    good = published(TWO, [(g, v, "1") for g in "12" for v in ("flu", "cold")])
    people = good.tables["quasi"]
    told = PublishedTable("quasi", people.texts.with_columns(disease=pl.lit("flu")), people.roles)
    found = examined_set(FrequencyLDiversity("disease", 2), PublishedSet({**good.tables, "quasi": told}, good.links))
    assert not found.holds
    assert "and only there" in str(found.note)


def _beside(texts: dict[str, list[str]], roles: dict[str, str]) -> PublishedSet:
    good = published(TWO, [(g, v, "1") for g in "12" for v in ("flu", "cold")])
    return PublishedSet({**good.tables, "more": PublishedTable("more", pl.DataFrame(texts), roles)}, good.links)


@pytest.mark.parametrize("role", ["sensitive", "insensitive"])
def test_a_third_table_that_tells_who_has_which_value_is_a_breach(role: str) -> None:
    told = {"age": ["0", "1", "2", "3"], "disease": ["flu", "cold", "flu", "cold"]}
    rows = _beside(told, {"age": "quasi", "disease": role})
    groups = _beside({"group": TWO, **told}, {"group": "group", "age": "quasi", "disease": role})
    finer = {"group": ["1", "2", "3", "4"], "disease": told["disease"], "count": ["1"] * 4}
    for tables in (rows, groups, _beside(finer, {**ROLES, "disease": role})):
        found = examined_set(FrequencyLDiversity("disease", 2), tables)
        assert not found.holds
        assert "nothing else" in str(found.note)


@pytest.mark.parametrize("role", ["quasi", "insensitive", "sensitive"])
def test_a_further_column_beside_the_counts_is_a_breach(role: str) -> None:
    good = published(TWO, [(g, v, "1") for g in "12" for v in ("flu", "cold")])
    counted = good.tables["sensitive"]
    told = PublishedTable(
        "sensitive", counted.texts.with_columns(age=pl.Series(["0", "1", "2", "3"])), {**ROLES, "age": role}
    )
    tables = PublishedSet({**good.tables, "sensitive": told}, good.links)
    assert not examined_set(FrequencyLDiversity("disease", 2), tables).holds


def test_parameters_are_checked_and_make_it_again() -> None:
    for variant in SET_PROMISES.values():
        assert set_promise(variant.name, **variant.example.parameters()) == variant.example
        assert variant.example.sentence().endswith(".")
        assert variant.stops
        assert variant.leaves
    with pytest.raises(sf.errors.PolicyError, match="l is out of range"):
        FrequencyLDiversity("disease", 0)
    with pytest.raises(sf.errors.PolicyError, match="unknown promise"):
        set_promise("frequency-l-diversty", attribute="disease", l=2)
