"""Formulas select the rows that Python selects, and their text reads as the same formula."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.control import SetQuery, parse_formula, parse_set_query
from sfumato.control.formula import Formula
from sfumato.core.conditions import Condition
from sfumato.errors import PolicyError
from tests.fuzz import examples

TABLE = pl.DataFrame(
    {"age": [29, 41, None, 52, 29, 38], "sex": ["F", "F", "M", None, "M", "F"], "not": ["a b", "or", "(", "'", "", "x"]}
)
ROWS = TABLE.to_dicts()

SPOKEN = [
    ("", lambda r: True),
    ("age > 40", lambda r: r["age"] is not None and r["age"] > 40),
    ("not age > 40", lambda r: r["age"] is None or r["age"] <= 40),
    ("not not age > 40", lambda r: r["age"] is not None and r["age"] > 40),
    ("sex = F or sex = M and age > 30", lambda r: r["sex"] == "F" or (r["sex"] == "M" and (r["age"] or 0) > 30)),
    ("(sex = F or sex = M) and age > 30", lambda r: r["sex"] in ("F", "M") and (r["age"] or 0) > 30),
    ("not (sex = F AND age in (29, 41))", lambda r: not (r["sex"] == "F" and r["age"] in (29, 41))),
    ("age between 30 and 45 or age is missing", lambda r: r["age"] is None or 30 <= r["age"] <= 45),
    ("sex not in (F) or \"not\" = 'a b'", lambda r: r["sex"] == "M" or r["not"] == "a b"),
    ('"not" in ("or", "(")', lambda r: r["not"] in ("or", "(")),
]


@pytest.mark.parametrize(("text", "meant"), SPOKEN, ids=[text or "all" for text, _ in SPOKEN])
def test_rows(text, meant) -> None:
    formula = parse_formula(text)
    assert formula.rows(TABLE).tolist() == [meant(row) for row in ROWS]
    assert parse_formula(str(formula)) == formula


WORDS = st.sampled_from(["age", "not", "a b", "or", "(", "it's", 'say "x"', "missing", "F", "where", ","])
CONDITIONS = st.builds(
    lambda column, sign, values: Condition(column, sign, values if sign == "in" else values[:1]),
    WORDS,
    st.sampled_from(["=", "!=", "<", "in"]),
    st.lists(st.none() | WORDS, min_size=1, max_size=3).map(tuple),
)
FORMULAS = st.recursive(
    CONDITIONS.map(lambda one: Formula("condition", (), one)),
    lambda inner: (
        st.builds(lambda a, b: a & b, inner, inner)
        | st.builds(lambda a, b: a | b, inner, inner)
        | inner.map(lambda a: ~a)
    ),
    max_leaves=8,
)


@settings(max_examples=examples(200), deadline=None)
@given(FORMULAS)
def test_text_reads_as_the_same_formula(formula) -> None:
    assert parse_formula(str(formula)) == formula


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.sampled_from(["age > 40", "sex = F", "sex is missing"]), min_size=2, max_size=4))
def test_operators_are_those_of_sets(texts) -> None:
    formulas = [parse_formula(text) for text in texts]
    rows = [one.rows(TABLE) for one in formulas]
    assert (formulas[0] & formulas[1]).rows(TABLE).tolist() == (rows[0] & rows[1]).tolist()
    assert (~formulas[0] | formulas[-1]).rows(TABLE).tolist() == (~rows[0] | rows[-1]).tolist()
    assert np.all((~formulas[0]).rows(TABLE) ^ rows[0])


@pytest.mark.parametrize(
    "text",
    ["age >", "and", "age > 40 or", "(age > 40", "age > 40)", "not", "age > 40 sex = F", "age = 'x", "(" * 60, "age"],
)
def test_refused_texts(text) -> None:
    with pytest.raises(PolicyError, match="this is no formula"):
        parse_formula(text)


def test_too_long_and_too_many() -> None:
    with pytest.raises(PolicyError, match="too long"):
        parse_formula("age = 1 or " * 2000 + "age = 1")
    with pytest.raises(PolicyError, match="too many conditions"):
        parse_formula(" or ".join(f"age = {i}" for i in range(60)))


def test_queries() -> None:
    query = parse_set_query("max 'my pay' WHERE age > 40 and not (sex = F)")
    assert query == SetQuery("max", "my pay", parse_formula("age > 40 and not sex = F"))
    assert parse_set_query(str(query)) == query
    assert str(parse_set_query("count")) == "count"
    assert parse_set_query("count where sex = where").columns == ("sex",)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("median wage", "unknown kind"),
        ("sun wage", 'did you mean "sum"'),
        ("sum", "is of a column"),
        ("count wage", "of no column"),
        ("sum wage age", "one column"),
        ("count where", "ends after where"),
        ("", "no query"),
        (7, "is a text"),
    ],
)
def test_refused_queries(text, why) -> None:
    with pytest.raises(PolicyError, match=why):
        parse_set_query(text)


def test_a_time_with_a_zone_is_compared_with_such() -> None:
    moments = pl.DataFrame({"at": [datetime(2026, 5, 1, tzinfo=UTC), datetime(2026, 5, 3, tzinfo=UTC)]})
    assert parse_formula("at > 2026-05-02T00:00:00+00:00").rows(moments).tolist() == [False, True]
    with pytest.raises(PolicyError, match="with its zone"):
        parse_formula("at > 2026-05-02").rows(moments)
