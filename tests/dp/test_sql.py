"""SQL: a statement asks what its typed JSON asks, means what a database takes it for, and all else is refused."""

from __future__ import annotations

import json
import pickle
from contextlib import suppress
from decimal import Decimal
from typing import Any

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.dp import Public
from sfumato.dp.queries.text import parse_query
from sfumato.dp.sql import looks_like_sql, parse_sql
from sfumato.errors import ColumnError, PolicyError, SfumatoError, SqlRefused
from tests.fuzz import examples

TYPES = {"age": pl.Int64(), "pay": pl.Float64(), "sex": pl.String(), "a b": pl.String(), "born": pl.Date()}
PUBLIC = Public.of(TYPES, {"age": (0, 120), "pay": (-5.5, 20)}, {"sex": ["F", "M"], "a b": ["x'y", 'u"v']})
NUMBERS, GROUPS = ("age", "pay"), ("sex", "a b", "age")

texts = st.text(st.characters(codec="utf-8", exclude_categories=["C"]), max_size=6) | st.sampled_from(
    ["NULL", "--", "'"]
)
numbers = st.integers(-(10**9), 10**9) | st.floats(-1e9, 1e9).map(lambda x: round(x, 6))


def name(column: str, quoted: bool = False) -> str:
    return column if column.isalnum() and not quoted else f'"{column}"'


def literal(value: Any) -> str:
    return repr(value) if not isinstance(value, str) else "'" + value.replace("'", "''") + "'"


@st.composite
def condition(draw: st.DrawFn) -> tuple[str, list[dict[str, Any]]]:
    column = draw(st.sampled_from([*TYPES]))
    values = {"born": st.dates().map(str), "sex": texts, "a b": texts}.get(column, numbers)
    kind = draw(st.sampled_from(["compare", "in", "not in", "between", "is", "is not"]))
    one, some = draw(values), draw(st.lists(values, min_size=1, max_size=3, unique=True))
    asked = name(column, draw(st.booleans()))
    if kind == "compare":
        signs = ["=", "<>", "!="] + (["<", "<=", ">", ">="] if column not in ("sex", "a b") else [])
        sign = draw(st.sampled_from(signs))
        return f"{asked} {sign} {literal(one)}", [{"column": column, "sign": sign.replace("<>", "!="), "value": one}]
    if kind == "in":
        return f"{asked} IN ({', '.join(map(literal, some))})", [{"column": column, "sign": "in", "value": some}]
    if kind == "not in":
        each = [{"column": column, "sign": "!=", "value": value} for value in some]
        return f"{asked} not in ({','.join(map(literal, some))})", each
    if kind == "between":
        ends = [{"column": column, "sign": ">=", "value": one}, {"column": column, "sign": "<=", "value": some[0]}]
        return f"{asked} BETWEEN {literal(one)} AND {literal(some[0])}", ends
    sign = "=" if kind == "is" else "!="
    return f"{asked} {kind} null", [{"column": column, "sign": sign, "value": None}]


def aggregates(by: list[str]) -> st.SearchStrategy[tuple[str, dict[str, Any]]]:
    number = st.sampled_from(NUMBERS)
    if by:
        inner = {"median({})": {"query": "median"}, "sum({})": {"query": "sum"}, "var_pop({})": {"query": "variance"}}
        return st.one_of(
            st.just(("count(*)", {"query": "contingency-table", "by": by})),
            number.map(lambda c: (f"AVG({c})", {"query": "grouped-mean", "column": c, "by": by})),
            st.tuples(st.sampled_from([*inner]), number).map(
                lambda f: (f[0].format(f[1]), {"query": "grouped", "of": {**inner[f[0]], "column": f[1]}, "by": by})
            ),
        )
    of_one = {"sum": "sum", "avg": "mean", "mean": "mean", "var_pop": "variance", "variance": "variance",
              "stddev": "standard-deviation", "stddev_pop": "standard-deviation"}  # fmt: skip
    share = st.integers(1, 99).map(lambda whole: whole / 100)
    columns, quantiles = st.sampled_from([*TYPES]), st.tuples(number, share)
    functions = st.tuples(st.sampled_from([*of_one]), number)
    within = "percentile_cont({1}) within group (order by {0})"
    return st.one_of(
        st.just(("Count( * )", {"query": "count"})),
        columns.map(lambda c: (f"count(distinct {name(c)})", {"query": "distinct-count", "column": c})),
        functions.map(lambda f: (f"{f[0]}({f[1]})", {"query": of_one[f[0]], "column": f[1]})),
        number.map(lambda c: (f"median({c})", {"query": "median", "column": c})),
        number.map(lambda c: (f"min({c})", {"query": "quantile", "column": c, "q": 0.01})),
        number.map(lambda c: (f"max({c})", {"query": "quantile", "column": c, "q": 0.99})),
        quantiles.map(lambda f: (f"quantile({f[0]}, {f[1]})", {"query": "quantile", "column": f[0], "q": f[1]})),
        quantiles.map(lambda f: (within.format(*f), {"query": "quantile", "column": f[0], "q": f[1]})),
        st.just(("covar_pop(age, pay)", {"query": "covariance", "one": "age", "other": "pay"})),
    )


@st.composite
def statements(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A statement of the grammar, and the typed JSON that asks the same."""
    by = draw(st.lists(st.sampled_from(GROUPS), max_size=2, unique=True))
    asked = draw(st.lists(aggregates(by), min_size=1, max_size=3, unique_by=lambda one: one[0]))
    where = draw(st.lists(condition(), max_size=3))
    space = draw(st.sampled_from([" ", "\n", "  \t"]))
    text = f"select{space}{', '.join([*map(name, by), *(sql for sql, _ in asked)])}{space}FROM t"
    if where:
        text += f"{space}WHERE {' AND '.join(sql for sql, _ in where)}"
    if by:
        text += f" group by {', '.join(map(name, draw(st.permutations(by))))}"
    conditions = [one for _, listed in where for one in listed]
    queries = [
        {**query, "of": {**query["of"], "where": conditions}} if "of" in query else {**query, "where": conditions}
        for _, query in asked
    ]
    text += draw(st.sampled_from(["", ";", " ; "]))
    return text, queries[0] if len(queries) == 1 else {"query": "several", "queries": queries}


@pytest.mark.slow
@settings(max_examples=examples(1500), deadline=None)
@given(statements())
def test_a_statement_asks_what_its_json_asks(asked: tuple[str, dict[str, Any]]) -> None:
    text, plain = asked
    found = parse_sql(text, TYPES)
    assert found.table == "t"
    assert found.query.form(PUBLIC) == parse_query(json.loads(json.dumps(plain))).form(PUBLIC)
    assert looks_like_sql(text)


@pytest.mark.slow
@settings(max_examples=examples(1500), deadline=None)
@given(
    statements(), st.integers(0, 400), st.text(max_size=3) | st.sampled_from(["--", "/*", "(", " or ", "'", '"', ";"])
)
def test_a_spoilt_statement_is_asked_or_refused_and_never_fails_otherwise(
    asked: tuple[str, Any], at: int, put: str
) -> None:
    text = asked[0]
    try:
        parse_sql(text[: at % len(text)] + put + text[at % len(text) + len(put) :], TYPES)
    except SqlRefused as refused:
        assert 0 <= refused.position <= len(text) + 3
        assert f"line {refused.line}, column {refused.column}" in str(refused)


@settings(max_examples=examples(300), deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_refused_in_words(text: str) -> None:
    with pytest.raises(SqlRefused):
        parse_sql(text)


REFUSED = {
    "select count(*) from t join u on t.a = u.a": ("a join", 23),
    "select count(*) from t left join u": ("a join", 23),
    "select count(*) from t, u": ("a join", 22),
    "select count(*) from (select * from t)": ("a query within a query", 21),
    "select count(*) from t where age = (select 1)": ("a query within a query", 35),
    "select count(*) from t where age in (select 1)": ("a query within a query", 37),
    "select count(*) from t where exists (select 1)": ("a query within a query", 29),
    "with x as (select 1) select count(*) from x": ("a query within a query", 0),
    "select upper(sex), count(*) from t group by sex": ("a function of one row", 7),
    "select count(*) from t where upper(sex) = 'F'": ("a function of one row", 29),
    "select count(*) from t where sex = lower('F')": ("a function of one row", 35),
    "select sum(abs(age)) from t": ("a function of one row", 11),
    "select avg(age + 1) from t": ("an expression of one row", 15),
    "select count(*) from t where age + 1 > 2": ("an expression of one row", 33),
    "select count(*) from t where age > 1 + 1": ("arithmetic", 37),
    "select count(*) -- all\nfrom t": ("a comment", 16),
    "select /* all */ count(*) from t": ("a comment", 7),
    "select count(*) from t -- all": ("a comment", 23),
    "select /*+ hint */ count(*) from t": ("stands where a column should be", 7),
    "select count(*) from t; drop table t": ("a second statement", 24),
    "select count(*) from t; select count(*) from t": ("a second statement", 24),
    "drop table t": ("only SELECT", 0),
    "select * from t": ("rows of the table cannot be listed", 7),
    "select age from t": ("rows cannot be listed", 7),
    "select sex, count(*) from t": ("not grouped by", 7),
    "select count(*) from t group by sex": ("not selected", 32),
    "select count(*) from t where age = 1 or age = 2": ("OR", 37),
    "select count(*) from t where (age = 1)": ("brackets", 29),
    "select count(*) from t where not age = 1": ("NOT", 29),
    "select count(*) from t where age not between 1 and 2": ("NOT BETWEEN", 37),
    "select count(*) from t where age = null": ("NULL", 35),
    "select count(*) from t where 1 = 1": ("begins with a column", 29),
    "select count(*) from t where age = pay": ("a second column", 35),
    "select count(*) from t where sex like 'F%'": ("LIKE", 33),
    "select sex, count(*) from t group by sex having count(*) > 5": ("HAVING", 41),
    "select sex, count(*) from t group by sex order by sex": ("ORDER BY", 41),
    "select count(*) from t limit 5": ("LIMIT", 23),
    "select distinct sex from t": ("DISTINCT", 7),
    "select count(*) as n from t": ("an alias", 16),
    "select count(*) n from t": ("an alias", 16),
    "select count(*) from t x": ("an alias", 23),
    "select count(*) over () from t": ("a window", 16),
    "select count(*) filter (where age = 1) from t": ("FILTER", 16),
    "select count(*) from s.t": ("without its schema", 22),
    "select avg(t.age) from t": ("without its table", 12),
    "select sum(distinct age) from t": ("DISTINCT is of count alone", 11),
    "select var_samp(age) from t": ("no aggregate", 7),
    "select covar_pop(age, age) from t": ("two columns", 7),
    "select quantile(age, 2) from t": ("above 0 and below 1", 21),
    "select avg(agee) from t": ('no column "agee"', 11),
    "select avg(date) from t": ("a word of SQL", 11),
    "select count(*), count(*) from t": ("asked twice", 17),
    "select sex, sex, count(*) from t group by sex": ("selected twice", 12),
    "select count(*) from t where sex = 'F": ("not closed", 35),
    "select count(*) union select 1": ("several queries in one", 16),
    "select case when age then 1 end from t": ("CASE", 7),
    "select count(*)": ("it ends where FROM", 15),
    "": ("it is empty", 0),
}  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_not_in_the_subset_is_refused_with_reason_and_place(text: str) -> None:
    why, place = REFUSED[text]
    with pytest.raises(SqlRefused) as refused:
        parse_sql(text, TYPES)
    assert why in str(refused.value)
    assert refused.value.position == place
    again = pickle.loads(pickle.dumps(refused.value))
    assert (str(again), again.position) == (str(refused.value), place)


def test_lines_and_columns_are_told() -> None:
    with pytest.raises(SqlRefused, match=r"line 3, column 2"):
        parse_sql("select count(*)\nfrom t\n join u")
    with pytest.raises(PolicyError, match="too long"):
        parse_sql("select count(*) from t" + " " * 10_000)


def test_a_database_takes_it_for_the_same() -> None:
    """With a budget that leaves no noise to speak of, answers are those of DuckDB."""
    rng = np.random.default_rng(1)
    n = 2000
    table = pl.DataFrame(
        {
            "age": [None if x < 0.1 else int(100 * x) for x in rng.random(n)],
            "pay": rng.uniform(-5, 20, n),
            "sex": [("F", "M", None)[i] for i in rng.choice(3, n, p=[0.5, 0.4, 0.1])],
        }
    )
    session = sf.dp.Session(
        table, 10**6, bounds={"age": (0, 100), "pay": (-5.5, 20)}, keys={"sex": ["F", "M"]}, i_know=True
    )
    database = duckdb.connect()
    database.register("t", table.to_arrow())
    for text in (
        "count(*), count(age), count(sex), count(distinct sex) FROM t WHERE pay > 3 AND age BETWEEN 20 AND 60",
        "count(*), sum(age), avg(pay) FROM t WHERE sex <> 'F' AND age NOT IN (30, 31, 32)",
        "var_pop(pay), stddev_pop(age), covar_pop(age, pay) FROM t WHERE sex IS NOT NULL",
        "count(*), avg(age) FROM t WHERE sex IS NULL AND age IS NOT NULL",
        "median(age), quantile_cont(pay, 0.25) FROM t WHERE sex IN ('F', 'M')",
    ):
        expected = database.execute(f"SELECT {text}").fetchall()[0]
        found = session.sql("SELECT " + text.replace("quantile_cont", "quantile"), epsilon=10_000).value
        assert found == [pytest.approx(one, abs=0.6 if "median" in text else 0.1) for one in map(float, expected)]
    grouped = "SELECT sex, count(*), avg(pay) FROM t WHERE age > 40 GROUP BY sex"
    found = session.sql(grouped, epsilon=10_000).value
    expected = database.execute(grouped + " HAVING sex IS NOT NULL ORDER BY sex").fetchall()
    assert found["sex"].to_list() == [row[0] for row in expected]
    assert found["count"].to_list() == [row[1] for row in expected]
    assert found["mean"].to_list() == pytest.approx([row[2] for row in expected], abs=0.1)
    grouped = "SELECT sex, median(age), sum(pay), count(DISTINCT age) FROM t WHERE age > 40 GROUP BY sex"
    found = session.sql(grouped, epsilon=10_000).value
    expected = database.execute(grouped + " HAVING sex IS NOT NULL ORDER BY sex").fetchall()
    assert [tuple(row) for row in found.rows()] == [
        (row[0], *(pytest.approx(x, abs=1) for x in row[1:])) for row in expected
    ]


def test_several_aggregates_share_the_cost_and_are_stored_together() -> None:
    session = sf.dp.Session({"age": [31, 42]}, 1, bounds={"age": (0, 120)})
    text = "SELECT count(*), avg(age) FROM t"
    priced = session.price(text, 0.4)
    assert priced["scales"] == [pytest.approx(5), pytest.approx(10), pytest.approx(60 * 10)]
    answer = session.sql(text, epsilon=0.4)
    assert session.left.epsilon == Decimal("0.6")
    assert len(answer.value) == len(answer.interval) == 2
    same = {"query": "several", "queries": [{"query": "count"}, {"query": "mean", "column": "age"}]}
    again = session.ask(same, 0.4)
    assert (again.again, again.value, again.interval) == (True, answer.value, answer.interval)
    assert json.loads(json.dumps(answer.plain()))["value"] == answer.value
    with pytest.raises(PolicyError, match="a single question only"):
        session.ask(same, 0.1, clipped=True)
    with pytest.raises(SqlRefused, match=r'no column "agee".*did you mean'):
        session.sql("SELECT avg(agee) FROM t", epsilon=0.1)


@pytest.mark.parametrize(
    "given",
    [
        {}, {"query": 5}, {"query": "mode"}, {"query": "mean"}, {"query": "mean", "column": ["age"]},
        {"query": "mean", "column": "age", "of": 1}, {"query": "count", "where": 5}, {"query": "count", "where": [5]},
        {"query": "count", "where": [{"column": "age", "sign": "~", "value": 1}]},
        {"query": "count", "where": [{"column": "age", "sign": ">", "value": [1]}]},
        {"query": "several", "queries": []}, {"query": "several"},
        {"query": "several", "queries": 5}, {"query": "several", "queries": [{"query": "several"}, {"query": "count"}]},
        {"query": "quantile", "column": "age", "q": "half"}, {"query": "quantile", "column": "age", "q": 10**400},
        {"query": "contingency-table", "by": {"a": 1}}, {"query": "contingency-table", "by": "sex", "bins": {"x": 3}},
        {"query": "contingency-table", "by": "sex", "bins": {"sex": None}},
        {"query": "quantile", "column": "age", "candidates": -1},
    ],
)  # fmt: skip
def test_typed_json_that_makes_no_sense_is_refused(given: Any) -> None:
    with pytest.raises((PolicyError, ColumnError)):
        parse_query(given)


KEYS = ["query", "column", "sign", "value", "age"]


@settings(max_examples=examples(500), deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["query", "column", "by", "bins", "q", "where", "queries", "one", "other", "candidates"]),
        st.recursive(
            st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(["age", "sex", "mean", ""]),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
            max_leaves=5,
        ),
    ),
    st.sampled_from(["count", "mean", "quantile", "histogram", "several", "covariance", "grouped-mean"]),
)  # fmt: skip
def test_any_json_is_a_query_or_refused_in_words(given: Any, query: str) -> None:
    with suppress(SfumatoError):
        parse_query({**given, "query": query}).form(PUBLIC)
