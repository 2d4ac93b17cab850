"""Generalisation: labels of a level, missing values, levels and hierarchies in all forms, refusals."""

from __future__ import annotations

import datetime as dt
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ColumnError, HierarchyError, PolicyError
from sfumato.masking.generalisation import Generalisation
from sfumato.release.facts import as_dict, check_public
from sfumato.verbs.steps import masker, parse
from tests.masking.conftest import Apply

TABLE = pl.DataFrame(
    {
        "age": [31, 38, None, 44],
        "zip": ["08001", "08002", "09123", None],
        "born": [dt.date(1980, 1, 2), None, dt.date(1980, 7, 3), dt.date(1999, 1, 1)],
    }
)
WRITTEN = {"age": "intervals:5,10", "zip": {"redact": "right"}, "born": "dates:month,year"}


def test_values_become_labels_of_their_level(apply: Apply) -> None:
    step = Generalisation({"age": 2, "zip": 2, "born": 2}, hierarchies=WRITTEN)
    change = apply(step, TABLE)
    assert change.columns.to_dict(as_series=False) == {
        "age": ["[30, 40)", "[30, 40)", None, "[40, 50)"],
        "zip": ["080**", "080**", "091**", None],
        "born": ["1980", None, "1980", "1999"],
    }
    for fact in change.facts:
        assert check_public(change.columns, None, as_dict(fact, 0)).holds
        assert not check_public(TABLE, None, as_dict(fact, 0)).holds
    assert masker("generalisation", **step.parameters()) == step
    assert "hierarchies" not in step.published_parameters()


def test_levels_in_their_forms(apply: Apply) -> None:
    hierarchies = {"age": sf.intervals(5, 10), "zip": "redact:right"}
    made = apply(parse("generalisation age,zip levels=3,1"), TABLE, hierarchies=hierarchies).columns
    assert made["age"].to_list() == ["*", "*", None, "*"]
    assert made["zip"].to_list() == ["0800*", "0800*", "0912*", None]
    assert apply(Generalisation("age", levels=0), TABLE, hierarchies=hierarchies).columns["age"].equals(TABLE["age"])
    with pytest.raises(PolicyError, match=r'hierarchy of "age" has no such level; got 4; allowed: 0 to 3'):
        apply(Generalisation({"age": 4}), TABLE, hierarchies=hierarchies)


def test_a_hierarchy_must_be_there_and_fit(apply: Apply) -> None:
    with pytest.raises(ColumnError, match='"age" has no hierarchy'):
        apply(Generalisation({"age": 1}), TABLE)
    with pytest.raises(HierarchyError, match='"zip" does not hold numbers only'):
        apply(Generalisation({"zip": 1}, hierarchies={"zip": "intervals:5"}), TABLE)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "generalisation needs columns"),
        ({"columns": {"age": 1}, "levels": 2}, "levels are given twice"),
        ({"columns": {"age": -1}}, 'level of "age" is out of range'),
        ({"columns": ["age", "zip"], "levels": [1]}, "one for all columns, or one for each"),
        ({"columns": "age", "hierarchies": {"age": sf.flat()}}, "must be written as in a policy file"),
        ({"columns": "age", "hierarchies": {"age": "interval:5"}}, "unknown hierarchy"),
    ],
)
def test_bad_parameters_are_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(PolicyError, match=message):
        masker("generalisation", **given)
