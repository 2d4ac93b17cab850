"""Rules are read, compared with the types of columns, and refused where rows or other rules contradict them."""

from __future__ import annotations

import datetime as dt
from functools import cache

import numpy as np
import polars as pl
import pytest

from sfumato.errors import ColumnError, PolicyError
from sfumato.synthetic.columns import columns_of
from sfumato.synthetic.formula import Formula
from sfumato.synthetic.rules import bind_rules, check_rules, parse_rule


@cache
def people() -> pl.DataFrame:
    """Children are not married and earn nothing; where it is not known whether somebody is married, nor is the pay."""
    chance = np.random.default_rng(1)
    n = 2000
    age = chance.integers(5, 80, n)
    married = np.where((age < 16) | (chance.uniform(size=n) < 0.4), "no", "yes")
    gone = (age >= 16) & (chance.uniform(size=n) < 0.1)
    pay = np.where(age < 16, 0, chance.integers(1, 400, n) * 10)
    return pl.DataFrame(
        {
            "age": age,
            "sex": chance.choice(["F", "M", "X"], n),
            "married": pl.Series(married).set(pl.Series(gone), None),
            "pay": pl.Series(pay).set(pl.Series(gone), None),
            "grade": pl.Series(chance.choice(["low", "mid", "high"], n), dtype=pl.Enum(["low", "mid", "high"])),
            "born": [dt.date(2020, 1, 1) - dt.timedelta(days=365 * int(a)) for a in age],
        }
    )


def holds(text: str) -> np.ndarray:
    columns = {column.name: column for column in columns_of(people())}
    x = {name: column.encode(people()[name]) for name, column in columns.items()}
    return bind_rules([parse_rule(text)], columns)[0].holds(x)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("age < 16", pl.col("age") < 16),
        ("age <= 15.5 and age > 9", (pl.col("age") < 16) & (pl.col("age") > 9)),
        ("age >= 20 AND sex == F", (pl.col("age") >= 20) & (pl.col("sex") == "F")),
        ("sex in (F, 'M')", pl.col("sex") != "X"),
        ("sex != F", pl.col("sex") != "F"),
        ("married != yes", pl.col("married") == "no"),
        ("married = missing", pl.col("married").is_null()),
        ("pay != missing", pl.col("pay").is_not_null()),
        ("pay in (0, missing)", (pl.col("pay") == 0) | pl.col("pay").is_null()),
        ("grade >= mid", pl.col("grade") != "low"),
        ("born < 1990-01-01", pl.col("born") < dt.date(1990, 1, 1)),
    ],
)
def test_conditions_are_read_by_the_type_of_their_column(condition, expected):
    found = holds(f"if {condition} then {'pay = 0' if 'pay' not in condition else 'sex = F'}")
    assert found.tolist() == people().select(expected.fill_null(False)).to_series().to_list()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("age < 16", '"if"'),
        ("if age < 16", "too soon"),
        ("if age < 16 then married", "too soon"),
        ("if age < 16 then married < no", "one column"),
        ("if age < 16 then married = no and pay = 0", "one column"),
        ("if age < then married = no", '"then"'),
        ("if age in (1, 2 then married = no", '"[)]"'),
        ('if age < 16 then "married = no', "quote"),
        ("if age ~ 16 then married = no", '"in"'),
        (16, "must be a text"),
    ],
)
def test_what_is_no_rule_is_refused(text, says):
    with pytest.raises(PolicyError, match=says):
        parse_rule(text)


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("if agee < 16 then married = no", ColumnError, "did you mean"),
        ("if age < young then married = no", PolicyError, "not a number"),
        ("if born < 1990 then married = no", PolicyError, "ISO 8601"),
        ("if sex < F then married = no", PolicyError, "order"),
        ("if sex = Q then married = no", PolicyError, "does not have"),
        ("if age < 16 then pay = -5", PolicyError, "no value of the column"),
        ("if age < 16 then age = 3", PolicyError, "its own value"),
    ],
)
def test_what_fits_no_column_is_refused(text, error, says):
    with pytest.raises(error, match=says):
        holds(text)


def checked(*texts: str) -> None:
    columns = {column.name: column for column in columns_of(people())}
    x = {name: column.encode(people()[name]) for name, column in columns.items()}
    check_rules(bind_rules([parse_rule(text) for text in texts], columns), x, columns)


def test_rows_that_contradict_are_counted_and_not_shown():
    wrong = people().filter((pl.col("age") < 30) & (pl.col("married").ne_missing("no"))).height
    with pytest.raises(PolicyError, match=rf"{wrong} rows of the table do not"):
        checked("if age < 30 then married = no")
    checked("if age < 16 then married = no", "if age < 12 and sex = F then married = no")


@pytest.mark.parametrize(
    ("one", "other", "may"),
    [
        ("age < 5", "age > 79", False),
        ("age < 16", "pay = 10", True),  # no row has both, and a synthetic row might
        ("age < 16", "age > 14 and pay = 10", True),
        ("age < 16", "age >= 15.5 and pay = 10", False),
        ("age < 16 and sex = F", "sex in (M, X) and pay = 10", False),
        ("age < 16 and sex != F", "sex in (F, X) and pay = 10", True),
        ("age < 16 and pay != missing", "pay = missing and sex = F", False),
    ],
)
def test_rules_that_could_both_apply_contradict_each_other(one, other, may):
    columns = {column.name: column for column in columns_of(people())}
    x = {name: column.encode(people()[name])[:0] for name, column in columns.items()}
    rules = bind_rules(
        [parse_rule(f"if {one} then married = no"), parse_rule(f"if {other} then married = yes")], columns
    )
    if may:
        with pytest.raises(PolicyError, match="contradict each other"):
            check_rules(rules, x, columns)
    else:
        check_rules(rules, x, columns)


@pytest.mark.parametrize(
    "text", ["", "1 + 2", "age **", "age ** 2", "open(age)", "age.real", "age if pay else 1", "age and pay", "[age]",
     "age @ pay", "not age", "(" * 300 + "age", "True + age"]
)  # fmt: skip
def test_what_is_no_formula_is_refused(text):
    with pytest.raises(PolicyError, match="no formula"):
        Formula(text)


def test_a_formula_has_no_value_where_it_divides_by_nothing():
    x = {"a": np.array([1.0, 2.0, np.nan]), "b": np.array([0.0, 4.0, 1.0])}
    assert np.array_equal(Formula("-a / b + 1").value(x), [np.nan, 0.5, np.nan], equal_nan=True)
