"""What published views prove by themselves: worked by hand, against all tables that there can be, planted faults."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import assume, event, given, settings

import sfumato as sf
from sfumato.criteria.sets import ViewKAnonymity
from sfumato.criteria.sets.model import examined_set
from sfumato.criteria.sets.published import PublishedSet, PublishedTable
from sfumato.criteria.sets.view_k_anonymity import cuts
from tests.fragments.test_views import COLUMNS, WHO, registered
from tests.fragments.views_by_hand import covers, keeps, selected
from tests.fuzz import examples


def published(**tables: tuple[str, list[tuple[Any, ...]]]) -> PublishedSet:
    """Tables from a row of column names and rows of texts."""
    found = {}
    for name, (columns, rows) in tables.items():
        frame = pl.DataFrame(rows, schema=dict.fromkeys(columns.split(), pl.String), orient="row")
        found[name] = PublishedTable(name, frame, {})
    return PublishedSet(found)


REGISTER = ("name sex", [("Ann", "F"), ("Eve", "F"), ("Bob", "M"), ("Joe", "M")])
WARD = ("sex disease", [("F", "flu"), ("F", "cold"), ("M", "flu"), ("M", "cold"), ("M", "ague")])
PROMISE = ViewKAnonymity("name", "disease", 2, distinct=("ward",))


def test_values_beside_what_a_person_has() -> None:
    found = examined_set(PROMISE, published(register=REGISTER, ward=WARD))
    assert (found.holds, found.measured, found.bound, found.note) == (True, 2, 2, None)
    men = (REGISTER[0], REGISTER[1][2:])
    assert examined_set(PROMISE, published(register=men, ward=(WARD[0], WARD[1][2:]))).measured == 3


def test_people_with_one_value_fail() -> None:
    found = examined_set(PROMISE, published(register=REGISTER, ward=(WARD[0], WARD[1][:3])))
    assert (found.holds, found.measured, found.note) == (False, 1, "2 groups fail")


def test_people_with_several_rows_are_not_proven() -> None:
    twice = (REGISTER[0], [("Ann", "F"), ("Ann", "F"), ("Bob", "M"), ("Joe", "M")])
    found = examined_set(PROMISE, published(register=twice, ward=WARD))
    assert (found.holds, found.measured) == (False, 1)


def test_a_dependency_and_a_condition_link_their_columns() -> None:
    """Towns part names from diseases, until it is known which zip has which town, or a table is selected by both."""
    register = ("name zip", [("Ann", "1"), ("Eve", "2"), ("Bob", "1")])
    ward = ("town disease", [("Rome", "flu"), ("Bari", "cold"), ("Rome", "ague")])
    apart = published(register=register, ward=ward)
    assert examined_set(ViewKAnonymity("name", "disease", 3), apart).holds
    assert not examined_set(ViewKAnonymity("name", "disease", 2, dependent=[["zip", "town"]]), apart).holds
    assert not examined_set(ViewKAnonymity("name", "disease", 2, selected={"ward": ("zip",)}), apart).holds


def test_cuts() -> None:
    ring = [{"name", "x"}, {"x", "disease"}, {"name", "y"}, {"y", "disease"}]
    assert cuts(ring, "name", "disease") == [["x", "y"]]
    assert cuts([{"name", "x"}, {"x", "y"}, {"y", "disease"}], "name", "disease") == [["x"], ["y"]]
    assert cuts([{"name"}, {"disease"}], "name", "disease") == [[]]


@pytest.mark.parametrize(
    ("tables", "note"),
    [
        ({"ward": WARD, "register": ("name sex", REGISTER[1]), "other": ("sex", [("F",)])}, "number of rows"),
        ({"register": REGISTER, "ward": (WARD[0], [*WARD[1], WARD[1][0]])}, "stand more than once"),
        ({"register": REGISTER}, "there is no table"),
        ({"ward": WARD, "others": ("name", [("Ann",)]), "register": REGISTER}, "number of rows"),
        ({"ward": ("name disease", [("Max", "flu")]), "register": REGISTER}, "whom the tables of all rows do not"),
    ],
)
def test_tables_that_are_no_views_of_one_prove_nothing(tables: dict[str, Any], note: str) -> None:
    found = examined_set(PROMISE, published(**tables))
    assert not found.holds
    assert found.measured is None
    assert note in str(found.note)


def test_without_a_register_of_all_rows_nothing_is_proven() -> None:
    tables = published(register=REGISTER, ward=WARD)
    for promise in (
        ViewKAnonymity("name", "disease", 2, distinct=("ward", "register")),
        ViewKAnonymity("name", "disease", 2, distinct=("ward",), selected={"register": ("sex",)}),
    ):
        found = examined_set(promise, tables)
        assert not found.holds
        assert "of all rows" in str(found.note)


def test_a_column_in_no_table_is_not_linked() -> None:
    found = examined_set(ViewKAnonymity("name", "pay", 2, distinct=("ward",)), published(register=REGISTER, ward=WARD))
    assert found.holds
    assert 'no table shows "pay"' in str(found.note)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"k": 1}, "k is out of range"),
        ({"identity": "disease"}, "one column"),
        ({"dependent": "zip"}, "lists of columns"),
        ({"dependent": [["zip", "zip"]]}, "set of columns"),
        ({"selected": ["age"]}, "must map"),
    ],
)
def test_parameters_that_make_no_sense(given: dict[str, Any], message: str) -> None:
    with pytest.raises(sf.errors.PolicyError, match=message):
        ViewKAnonymity(**({"identity": "name", "attribute": "disease", "k": 2} | given))


@pytest.mark.slow
@settings(max_examples=examples(500), deadline=None)
@given(registered())
def test_what_is_proven_holds_in_every_table(case: Any) -> None:
    """Whatever the private table is: nobody has a cover below what the published tables are said to prove."""
    rows, views, known, _, k = case
    shown = {}
    for view in views:
        places = [COLUMNS.index(name) for name in view.columns]
        own = [tuple(str(row[i]) for i in places) for row in selected(view, rows, COLUMNS)]
        shown[view.name] = (" ".join(view.columns), sorted({*own}) if view.distinct else own)
    conditions = {view.name: tuple({one.column for one in view.conditions}) for view in views if view.conditions}
    distinct = tuple(view.name for view in views if view.distinct)
    assume(keeps(rows, COLUMNS, known) and all(own for _, own in shown.values()))
    promise = ViewKAnonymity(*WHO, k, distinct, conditions or None, [[*names, to] for names, to in known])
    found = examined_set(promise, published(**shown))
    event(f"proven: {found.measured}")
    assert found.holds == (found.measured is None or found.measured >= k)
    if found.measured is not None:
        assert min(covers(rows, COLUMNS, views, WHO, known).values()) >= found.measured
