"""Queries: what they count, what one unit changes at most, and intervals that hold the truth as often as they say."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.accounting import PrivacyCost
from sfumato.core.conditions import Condition, expression, parse_filter
from sfumato.core.mechanisms import frequent_keys
from sfumato.dp import QUERIES, Public, Unit
from sfumato.dp.queries import (
    ApproximateBounds,
    ContingencyTable,
    Count,
    Covariance,
    DecisionTree,
    DistinctCount,
    FrequentKeys,
    Grouped,
    GroupedMean,
    LinearRegression,
    LogisticRegression,
    Mean,
    NaiveBayes,
    Quantile,
    Several,
    StandardDeviation,
    Sum,
    Top,
    Variance,
)
from sfumato.dp.queries.learning import FixedDraws
from sfumato.dp.queries.query import Part
from sfumato.dp.queries.text import parse_query, parse_several
from sfumato.dp.rows import PrivateRows
from sfumato.engines.tables import engine_of
from sfumato.errors import ColumnError, PolicyError
from tests.fuzz import examples, slow_but

BOUNDS = {"age": (0, 100), "pay": (-5.5, 20.25)}
KEYS = {"sex": ["F", "M"], "town": ["a", "b", "c"]}
ASKED: list[Any] = [
    Count(), Count("age > 40 and sex = F"), Sum("age"), Sum("pay", "sex != F"), Mean("pay"),
    Mean("age", "town in (a, b)"), Variance("pay"), StandardDeviation("age"), Quantile("age"),
    Quantile("pay", 0.9, 50), ContingencyTable("sex"), ContingencyTable(["sex", "town"]),
    ContingencyTable(["town", "age"], [0, 18, 65, 100]), ContingencyTable("pay", 7, "age < 50"), DistinctCount("age"),
    DistinctCount("sex", "age > 30"), Covariance("age", "pay"), GroupedMean("pay", ["sex", "age"], 3),
    Several([Count("age > 40"), Mean("pay"), Quantile("age")]), Grouped(Quantile("age", 0.3), ["sex", "town"]),
    Grouped(Mean("pay", "age < 80"), "age", 4), Grouped(ContingencyTable("sex"), "town"),
    Grouped(Variance("pay"), "sex"), FrequentKeys("town"),
    FrequentKeys(["age", "sex"], "pay > 2"), Top("town"), Top("sex", 1, "age > 30"),
    Grouped(Top("sex", 1), "town"), LinearRegression("pay", ["age", "sex", "town"]), LinearRegression("age", "pay"),
    LinearRegression("age", ["sex", "town"], 1.0, "pay > 0"), Grouped(LinearRegression("age", "pay"), "sex"),
    LogisticRegression("sex", ["age", "pay", "town"]), LogisticRegression("town", "pay", "b", 2, "age > 30"),
    NaiveBayes("town", ["age", "sex"]), NaiveBayes("sex", "pay", 3), DecisionTree("sex", ["age", "pay", "town"]),
    DecisionTree("town", "sex", 1), ApproximateBounds("pay"), ApproximateBounds("age", "sex = F"),
]  # fmt: skip


OF_COLUMN = [
    sf.dp.Session.distinct_count, sf.dp.Session.sum, sf.dp.Session.mean, sf.dp.Session.variance,
    sf.dp.Session.standard_deviation, sf.dp.Session.quantile, sf.dp.Session.median, sf.dp.Session.top,
    sf.dp.Session.bounds,
]  # fmt: skip


def test_every_query_is_tried():
    assert {type(query) for query in ASKED} == {variant.make for variant in QUERIES.values()}


def rows_of(table: pl.DataFrame, unit: Unit) -> PrivateRows:
    return PrivateRows(engine_of(table) if table.height else None, Public.of(dict(table.schema), BOUNDS, KEYS), unit)


def small_table(rng: np.random.Generator, n: int) -> pl.DataFrame:
    """Some rows of a few persons, with missing values, values beyond the bounds and others than the keys."""
    maybe = lambda values: [None if rng.random() < 0.15 else value for value in values]  # noqa: E731
    return pl.DataFrame(
        {
            "who": rng.integers(0, 4, n),
            "age": maybe(rng.integers(-20, 140, n).tolist()),
            "pay": maybe(rng.choice([*rng.uniform(-9, 30, 9), np.nan, np.inf, -np.inf, 1e300, -0.0], n).tolist()),
            "sex": maybe(rng.choice(["F", "M", "X"], n).tolist()),
            "town": rng.choice(["a", "b", "c", "d"], n),
        },
        schema_overrides={"age": pl.Int64, "pay": pl.Float64, "sex": pl.String},
    )


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    """A small table of any seed."""
    return small_table(np.random.default_rng(draw(st.integers(0, 2**32))), draw(st.integers(2, 12)))


@st.composite
def units(draw: st.DrawFn) -> Unit:
    """A row or a person, who comes or goes or is exchanged, with limits of rows and groups."""
    neighbours = draw(st.sampled_from(["add-remove", "replace"]))
    if draw(st.booleans()):
        return Unit(neighbours=neighbours)
    some = st.one_of(st.none(), st.integers(1, 2))
    return Unit("who", draw(st.integers(1, 3)), neighbours, draw(some), draw(some))


def neighbour(table: pl.DataFrame, other: pl.DataFrame, unit: Unit) -> pl.DataFrame:
    """The unit of the first row goes, or another comes in its place."""
    gone = table[1:] if unit.person is None else table.filter(pl.col("who") != table["who"][0])
    if unit.neighbours == "add-remove":
        return gone
    return pl.concat([gone, other[:1] if unit.person is None else other.with_columns(who=pl.lit(99, pl.Int64))])


def excess(part: Part, one: Any, two: Any) -> float:
    """By how much two tables differ more than a part says, in L1, L2 or the changes of scores; 0 or less is right."""
    if part.keys is not None:
        change = np.array([abs(one.get(key, 0) - two.get(key, 0)) for key in {*one, *two}] or [0])
        seen = np.count_nonzero(change), change.sum(), change.max()
        return max(own - most for own, most in zip(seen, part.keys, strict=True))
    assert len(one) == len(two) == part.width
    change = np.abs(np.asarray(one, float) - np.asarray(two, float))
    if part.candidates is None:
        most = part.sensitivity
    else:
        change, most = change.reshape(part.cells, -1).max(axis=1), part.score_change
        if part.monotonic:
            moves = (np.asarray(two) - np.asarray(one)).reshape(part.cells, -1)
            assert np.all((moves >= 0).all(axis=1) | (moves <= 0).all(axis=1))
    l2 = float(most) if part.l2 is None else part.l2
    return max(change.sum() - most, float(np.sqrt(np.square(change).sum())) - l2 * (1 + 1e-12))


@settings(max_examples=examples(400), deadline=None)
@given(table=tables(), other=tables(), unit=units())
@pytest.mark.parametrize("query", slow_but(ASKED, *ASKED[::3]), ids=repr)
def test_one_unit_changes_no_more_than_is_said(query, table, other, unit):
    """Brute force over neighbouring tables."""
    both = [numbers(query, rows_of(frame, unit)) for frame in (table, neighbour(table, other, unit))]
    for part, one, two in zip(query.parts(rows_of(table, unit).public, unit), *both, strict=True):
        assert excess(part, one, two) <= 0


def numbers(query: Any, rows: PrivateRows) -> list[Any]:
    """The numbers of each part; where later ones depend on draws, of the same draws for every table."""
    if not query.adaptive or isinstance(query, Several):
        return query.exact(rows)
    rng = np.random.default_rng(11)
    parts = query.parts(rows.public, rows.unit)
    drawn = FixedDraws(parts, [rng.normal(0, 30, part.width) for part in parts])
    query.run(rows, drawn)
    return drawn.seen


def test_questions_together_have_equal_shares_and_their_answers_in_order():
    table = pl.DataFrame({"age": [20, 60, 60, 60], "pay": [1.0, 2.0, 3.0, 4.0], "sex": ["F", "M", "M", "M"]})
    session = sf.dp.Session(table, 10**6, bounds=BOUNDS, keys={"sex": ["F", "M"]}, i_know=True)
    much = 60_000
    both = session.several(["count where age > 30", Mean("pay"), {"query": "median", "column": "age"}], epsilon=much)
    assert both.value == [3, pytest.approx(2.5, abs=0.01), 60]
    assert both.interval[0] == (3, 3)
    assert both.interval[2] is None
    assert both.scale[0] == pytest.approx(3 / much)  # a third of the cost, as a mean of two numbers has
    assert both.scale[1] == pytest.approx(6 / much)
    again = session.ask("count where age > 30; mean pay; median age", much)
    assert again.again
    assert again.value == both.value
    grouped = session.several(
        [ContingencyTable("sex"), GroupedMean("age", "sex"), GroupedMean("pay", "sex")], epsilon=much
    )
    assert grouped.value.columns == ["sex", "count", "mean_age", "count_age", "mean_pay", "count_pay"]
    assert grouped.value["mean_pay"].to_list() == pytest.approx([1, 3], abs=0.01)
    with pytest.raises(PolicyError, match="a single question only"):
        session.several([Count()], epsilon=1, clipped=True)


def test_a_question_in_groups_is_answered_in_each_for_the_cost_of_one():
    rng = np.random.default_rng(5)
    table = pl.DataFrame({"age": rng.integers(0, 101, 3000), "sex": rng.choice(["F", "M"], 3000)})
    table = table.with_columns(pay=pl.when(pl.col("sex") == "F").then(12.0).otherwise(4.0))
    session = sf.dp.Session(table, 10**6, bounds=BOUNDS, keys={"sex": ["F", "X", "M"]}, i_know=True)
    much = {"epsilon": 10_000}
    found = session.grouped("median pay", "sex", **much)
    assert found.value.columns == ["sex", "quantile"]
    assert found.value["quantile"].to_list()[::2] == pytest.approx([12, 4], abs=0.1)  # nobody is X
    assert session.ask("median pay by=sex", 10_000).again
    means, alone = session.grouped(Mean("pay"), "sex", **much), session.grouped_mean("pay", "sex", **much)
    assert means.value["mean"].to_list()[::2] == pytest.approx(alone.value["mean"].to_list()[::2], abs=0.01)
    assert means.scale == pytest.approx(alone.scale)  # groups take no more noise than one does
    assert means.interval[0][0] <= 12 <= means.interval[0][1] + 0.01
    tables = session.grouped(ContingencyTable("sex"), "age", bins=2, **much).value
    assert tables["count"].sum() == 3000
    assert session.price("mean pay by=age", 1)["scales"][0] == 2
    with pytest.raises(PolicyError, match="cannot be asked in groups"):
        session.grouped(FrequentKeys("sex"), "age", **much)


def test_the_most_frequent_and_those_that_nobody_listed():
    table = pl.DataFrame({"town": [*"aaaaabbbbbbbbcc"] * 20 + ["rare"], "sex": [*"FMF" * 100, None]})
    session = sf.dp.Session(table, 10**4, 1e-4, keys={"town": ["c", "b", "a", "z"]}, i_know=True)
    assert session.top("town", 3, epsilon=1000).value == ["b", "a", "c"]
    with pytest.raises(PolicyError, match="fewer public values"):
        session.top("town", 5, epsilon=1)
    with pytest.raises(PolicyError, match="an epsilon and a delta"):
        session.frequent_keys("town", epsilon=1)
    found = session.frequent_keys("town", epsilon=5, delta=1e-6)
    assert found.value["town"].to_list() == ["b", "a", "c"]
    assert found.value["count"].to_list() == pytest.approx([160, 100, 40], abs=10)
    assert (session.left.epsilon, session.left.delta) == (10**4 - 1005, Decimal("99e-6"))
    both = session.frequent_keys(["town", "sex"], epsilon=5, delta=1e-6, where="town = a")
    assert both.value.columns == ["town", "sex", "count"]
    assert session.frequent_keys("town", epsilon=1, delta=1e-6, where="town = nowhere").value.height == 0
    two = session.several([FrequentKeys("town"), FrequentKeys("sex"), Count()], epsilon=6, delta=2e-6)
    assert [type(value) for value in two.value] == [pl.DataFrame, pl.DataFrame, int]


def test_bounds_are_found_where_most_numbers_are(monkeypatch):
    monkeypatch.setattr(
        "sfumato.dp.queries.approximate_bounds.BY_CHANCE", 1e-9
    )  # that an empty bin is taken for a full one
    rng = np.random.default_rng(6)
    table = pl.DataFrame(
        {"pay": [*rng.uniform(300, 900, 5000), 1e12], "loss": [*rng.uniform(-70, 5, 5000), None], "age": [0] * 5001,
         "name": ["a"] * 5001, "text": ["7.5"] * 5001, "well": [True] * 5001,
         "all": [float("inf")] * 2000 + [float("-inf")] * 2000 + [float("nan")] * 1001}
    )  # fmt: skip
    session = sf.dp.Session(table, 100, i_know=True)
    assert session.bounds("pay", epsilon=1).value == (256, 1024)
    assert session.bounds("loss", epsilon=1).value == (-128, 8)
    assert session.bounds("age", epsilon=1).value == (0, 1)
    assert session.bounds("all", epsilon=1).value == (-(2.0**49), 2.0**49)
    assert session.ask("bounds pay where pay > 2000", 0.1).value is None
    assert session.bounds("text", epsilon=1).value == (4, 8)
    assert session.bounds("name", epsilon=0.1).value is None
    assert session.left.epsilon == Decimal("94.8")
    with pytest.raises(PolicyError, match="no column of numbers"):
        session.bounds("well", epsilon=1)


def test_keys_of_several_questions_share_their_delta(monkeypatch):
    asked: list[Decimal] = []

    def watched(counts, groups, rows, each, epsilon, delta):
        asked.append(delta)
        return frequent_keys(counts, groups, rows, each, epsilon, delta)

    monkeypatch.setattr("sfumato.dp.noise.frequent_keys", watched)
    session = sf.dp.Session({"town": ["a"], "sex": ["F"]}, 1, 1e-4)
    session.several([FrequentKeys("town"), FrequentKeys("sex")], epsilon=1, delta=1e-5)
    assert asked == [Decimal("5e-6")] * 2


@pytest.mark.parametrize("unit", slow_but([Unit(), Unit("who", 3), Unit("who", 3, "replace", 2, 1)], Unit("who", 3)))
def test_a_fault_in_a_sensitivity_is_seen(unit):
    """Half of what is said is exceeded on some small tables, for each question but those whose bound is not reached."""
    rng = np.random.default_rng(7)
    seen = set()
    for _ in range(30):
        table, other = small_table(rng, int(rng.integers(2, 9))), small_table(rng, 6)
        public = rows_of(table, unit).public
        for query in (
            Count(),
            Quantile("age", 0.5, 20),
            Grouped(Count(), "town"),
            Grouped(Quantile("age"), "sex"),
            Top("town"),
        ):
            both = [query.exact(rows_of(frame, unit)) for frame in (table, neighbour(table, other, unit))]
            for part, one, two in zip(query.parts(public, unit), *both, strict=True):
                half = replace(
                    part, sensitivity=part.sensitivity / 2.01, score_change=part.score_change / 2.01, l2=None
                )
                if excess(half, one, two) > 0:
                    seen.add(repr(query))
    assert len(seen) == 5


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"query": "several", "queries": "count"}, "questions in a list"),
        ({"query": "several", "queries": []}, "questions in a list"),
        ({"query": "several", "queries": [3]}, "not a question"),
        ({"query": "several", "queries": ["count; count"]}, "have no others in them"),
        ({"column": "age"}, "has its name"),
        ({"query": "mean", "colunm": "age"}, 'did you mean "column"'),
        ({"query": "median", "column": "age", "q": 0.2}, "a median has no q"),
    ],
)
def test_plain_values_that_are_no_question_are_refused(given, says):
    with pytest.raises(PolicyError, match=says):
        parse_query(given)


def test_without_noise_to_speak_of_answers_are_the_exact_ones():
    rng = np.random.default_rng(1)
    n = 5000
    table = pl.DataFrame(
        {"age": rng.integers(0, 101, n), "pay": rng.uniform(-5, 20, n), "sex": rng.choice(["F", "M"], n)}
    )
    session = sf.dp.Session(table, 10**5, bounds=BOUNDS, keys={"sex": ["F", "M"]}, i_know=True)
    often = {"epsilon": 5000}
    assert session.count(**often).value == n
    old = table.filter(pl.col("age") > 40)
    assert session.count(where="age > 40", **often).value == old.height
    assert session.sum("age", **often).value == table["age"].sum()
    assert session.sum("pay", **often).value == pytest.approx(table["pay"].sum(), abs=0.1)
    assert session.mean("pay", where="age > 40", **often).value == pytest.approx(old["pay"].mean(), abs=1e-3)
    assert session.variance("age", **often).value == pytest.approx(table["age"].var(ddof=0), abs=0.05)
    assert session.standard_deviation("pay", **often).value == pytest.approx(table["pay"].std(ddof=0), abs=0.01)
    assert session.distinct_count("age", **often).value == table["age"].n_unique()
    covariance = np.cov(table["age"], table["pay"], ddof=0)[0, 1]
    assert session.covariance("age", "pay", **often).value == pytest.approx(covariance, abs=0.1)
    means = session.grouped_mean("pay", "sex", **often).value
    assert means.columns == ["sex", "mean", "count"]
    assert means["mean"][1] == pytest.approx(table.filter(pl.col("sex") == "M")["pay"].mean(), abs=1e-3)
    assert session.median("age", **often).value == pytest.approx(table["age"].median(), abs=1)
    assert session.quantile("pay", 0.9, **often).value == pytest.approx(table["pay"].quantile(0.9), abs=0.1)
    assert session.minimum("age", **often).value <= 2
    assert session.maximum("age", **often).value >= 98
    found = session.histogram(["sex", "age"], bins=[0, 50, 100], **often).value
    assert found.columns == ["sex", "age", "count"]
    assert found["count"].sum() == n
    assert found["count"][0] == table.filter(pl.col("sex") == "F", pl.col("age") < 50).height


def test_of_a_person_only_some_rows_count_whatever_others_have():
    table = pl.DataFrame(
        {"who": [1, 1, 1, 2], "age": [50, 40, 30, 20], "pay": [1.0] * 4, "sex": ["F"] * 4, "town": ["a"] * 4}
    )
    rows = rows_of(table, Unit("who", 2))
    found = rows.of(["age"], ())
    assert sorted(found.column("age")) == [20, 30, 40]
    assert found.total() == 3
    asked = rows.of(["age"], parse_filter("age > 45"))
    assert asked.column("age").to_list() == [50]  # what is asked for comes first


@pytest.mark.parametrize(
    ("asked", "error", "says"),
    [
        (lambda s: s.sum("sex", epsilon=1), PolicyError, "no public bounds"),
        (lambda s: s.mean("aeg", epsilon=1), ColumnError, 'did you mean "age"'),
        (lambda s: s.count(where="aeg > 3", epsilon=1), ColumnError, 'no column "aeg"'),
        (lambda s: s.count(where="sex > F", epsilon=1), PolicyError, "asks for an order"),
        (lambda s: s.count(where="age > old", epsilon=1), PolicyError, "not a number"),
        (lambda s: s.count(where="age >", epsilon=1), PolicyError, "ends too soon"),
        (lambda s: s.histogram("pay", bins=[3, 2], epsilon=1), PolicyError, "ascending edges"),
        (lambda s: s.histogram("who", epsilon=1), PolicyError, "no public values"),
        (lambda s: s.grouped("count", "pay", bins=5000, epsilon=1), PolicyError, "too many groups"),
        (lambda s: s.grouped("median pay", "age", bins=2000, epsilon=1), PolicyError, "too many numbers"),
        (lambda s: s.price(Grouped(Count(), "who"), 1), PolicyError, "no public values"),
        (lambda s: s.quantile("age", 1.5, epsilon=1), PolicyError, "q is out of range"),
        (lambda s: s.quantile("age", 0, epsilon=1), PolicyError, "q is out of range"),
        (lambda s: s.histogram("sex", bins={"age": 3}, epsilon=1), ColumnError, "the histogram has no column"),
        (lambda s: s.ask("mean age where", 1), PolicyError, "ends after where"),
        (lambda s: s.ask("mean age column=pay", 1), PolicyError, "column is given twice"),
        (lambda s: s.count(epsilon=1, request=5), PolicyError, "request must be a text"),
        (lambda s: s.count(where="day > 2020-01-01", epsilon=1), PolicyError, "an ISO date or time with its zone"),
        (lambda s: s.count(epsilon=0), PolicyError, "epsilon is out of range"),
        (lambda s: s.histogram("pay", bins="12", epsilon=1), PolicyError, "ascending edges"),
        (lambda s: s.histogram("pay", bins={0, 5, 12}, epsilon=1), PolicyError, "ascending edges"),
        (lambda s: s.histogram("pay", bins=[False, True], epsilon=1), PolicyError, "ascending edges"),
        (lambda s: s.ask(Several(5), 1), PolicyError, "questions in a list"),
        (lambda s: s.ask(Several(None), 1), PolicyError, "questions in a list"),
        (lambda s: s.ask(Several("count"), 1), PolicyError, "questions in a list"),
        (lambda s: s.count(where=[Condition("age", "=", ())], epsilon=1), PolicyError, "this is no condition"),
        (lambda s: s.count(where="span = 2020-01-01", epsilon=1), PolicyError, "a span of time"),
        (lambda s: s.count(where="span > 12:00", epsilon=1), PolicyError, "a span of time"),
        (lambda s: s.covariance(["age"], "pay", epsilon=1), PolicyError, "must name a column"),
        (lambda s: s.grouped_mean(["age"], "sex", epsilon=1), PolicyError, "must name a column"),
        (lambda s: s.grouped(Mean(["age"]), "sex", epsilon=1), PolicyError, "must name a column"),
        (lambda s: s.price(Mean({"age"}), 1), PolicyError, "must name a column"),
        *((lambda s, ask=ask: ask(s, ["age"], epsilon=1), PolicyError, "must name a column") for ask in OF_COLUMN),
    ],
)
def test_what_makes_no_sense_is_refused_and_charges_nothing(asked, error, says):
    table = pl.DataFrame({"who": [1, 2], "age": [1, 2], "pay": [1.0, 2.0], "sex": ["F", "M"], "town": ["a", "b"]})
    table = table.with_columns(day=pl.lit(0).cast(pl.Datetime("us", "UTC")), span=pl.lit(0).cast(pl.Duration("us")))
    session = sf.dp.Session(table, 1, bounds=BOUNDS, keys=KEYS)
    with pytest.raises(error, match=says):
        asked(session)
    assert session.left == PrivacyCost(session.budget.epsilon)


def test_one_kind_of_missing_value_and_one_of_numbers():
    table = pl.DataFrame(
        {"pay": [1.0, float("nan"), None, 30.0], "name": ["a", "", None, "b"], "code": [1.0, 2.0, 2.0, None]}
    )
    session = sf.dp.Session(table, 10**6, bounds={"pay": (0, 10)}, keys={"code": [1, 2]}, i_know=True)
    much = {"epsilon": 10**4}
    assert session.count(where="pay = missing", **much).value == 2
    assert session.count(where="pay > 5", **much).value == 1
    assert session.count(where="name = missing", **much).value == 2
    assert session.histogram("code", **much).value["count"].to_list() == [1, 2]
    assert session.sum("pay", **much).value == pytest.approx(11, abs=0.01)


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        ("day >= 2020-02-01", 2), ("day between 2020-01-15 and 2020-02-15", 1), ("day is missing", 1),
        ("town not in (a, b)", 1), ("town not in (a, missing)", 2), ("pay is not missing and town != a", 1),
        ("pay between 1 and 2", 2), ("well = true", 2), ('town = "is"', 0), ("town in (a, missing)", 2),
    ],
)  # fmt: skip
def test_filters_by_types(where, expected):
    table = pl.DataFrame(
        {
            "day": pl.Series(["2020-01-01", "2020-02-01", "2020-03-01", None]).str.to_date(),
            "town": ["a", "b", "c", None], "pay": [1.0, 2.0, None, None], "well": [True, True, False, None],
        }
    )  # fmt: skip
    session = sf.dp.Session(table, 10**6, bounds={"pay": (0, 10)}, i_know=True)
    assert session.count(where=where, epsilon=10**4).value == expected


@pytest.mark.parametrize(
    "where",
    ["age between 3", "age between 3 or 4", "age is 3", "age not 3", "age not in 3", "age = 1 or age = 2", "(age = 1)"],
)
def test_filters_that_cannot_be_read_are_refused(where):
    with pytest.raises(PolicyError, match="this is no filter"):
        parse_filter(where)


def test_long_filters_are_refused_and_what_is_said_twice_counts_once():
    assert parse_filter(" and ".join(["age > 40"] * 2000)) == parse_filter("age > 40")
    listed = ", ".join(map(str, range(1000)))
    assert len(parse_filter(f"age not in ({listed}) and age in ({listed})")) == 1001
    for where in (f"age in ({listed}, 1000)", f"age not in ({listed}, 1000)", f"age in (1) and age in ({listed}, x)"):
        with pytest.raises(PolicyError, match='compares "age" with too many values'):
            parse_filter(where)
    for where in (" and ".join(f"age > {i}" for i in range(51)), [Condition("age", "=", (f"{i}",)) for i in range(51)]):
        with pytest.raises(PolicyError, match="too many conditions"):
            parse_filter(where)


@pytest.mark.parametrize("dtype", [pl.Int64, pl.UInt8, pl.Float64, pl.Float32, pl.String, pl.Categorical])
@pytest.mark.parametrize("values", [("1",), ("1", "2"), ("1", None), (None,), ("300", "2"), ("2", "2.0", "-0.0", "1")])
def test_lists_mean_what_their_values_mean_one_by_one(dtype, values):
    known = [0, 1, 2, None]
    frame = pl.DataFrame({"x": pl.Series(known).cast(pl.String).cast(dtype) if dtype == pl.Categorical else known})
    frame = frame.with_columns(pl.col("x").cast(dtype))

    def met(conditions: list[Condition]) -> list[bool]:
        return frame.with_columns(met=expression(conditions, frame.schema))["met"].to_list()

    alone = [met([Condition("x", "=", (value,))]) for value in values]
    among = [any(row) for row in zip(*alone, strict=True)]
    assert met([Condition("x", "in", values)]) == among
    unequal = met([Condition("x", "!=", (value,)) for value in values])
    assert unequal == [not one and value is not None for one, value in zip(among, known, strict=True)]


def test_questions_in_one_text_are_parted_outside_of_quotes_in_linear_time():
    asked = parse_query("""count where town = "a;b" ; mean age where sex = 'F;"' """)
    assert [one.conditions[0].values for one in asked.queries] == [("a;b",), ('F;"',)]
    assert parse_several(("count", Mean("age"))) == parse_query("count; mean age")
    for text, says in ((";" * 9_999 + "'", "this is no query"), ("count" + " " * 10_000, "too long")):
        with pytest.raises(PolicyError, match=says):
            parse_query(text)
    for one in (5, None, "count", {"query": "count"}):
        with pytest.raises(PolicyError, match="questions in a list"):
            parse_several(one)


@pytest.mark.parametrize("number", [2**63 - 1, -(2**63), 2**62, 10**15])
def test_a_whole_number_of_any_size_is_a_key_of_its_own(number):
    """2**63 - 1 was taken for missing, and its count for that of all missing ones."""
    counts = []
    for rows in ([None] * 9, [None] * 9 + [number]):
        frame = pl.DataFrame({"n": pl.Series(rows, dtype=pl.Int64)})
        public = Public.of(dict(frame.schema), {"n": (0, 10)}, {})
        counts += FrequentKeys("n").exact(PrivateRows(engine_of(frame), public, Unit()))
    assert counts[0] == {"[null]": 9}
    assert counts[1].pop("[null]") == 9
    assert [*counts[1].values()] == [1]


@pytest.mark.parametrize(
    ("dtype", "keys"),
    [
        (pl.UInt8, [[1]]), (pl.UInt8, [b"x"]), (pl.UInt8, [object()]), (pl.UInt8, [1, 300]), (pl.UInt8, [1, "x"]),
        (pl.UInt8, [1.5, 2]), (pl.UInt8, ["1.5"]), (pl.UInt8, [True]), (pl.UInt8, b"12"), (pl.UInt8, [float("inf")]),
        (pl.Float64, ["x"]), (pl.Float32, [1e300]), (pl.Float64, ["nan"]), (pl.Decimal(9, 1), [1.25]),
        (pl.UInt8, ["٣"]), (pl.Float64, ["٣.5"]),
        (pl.String, [[1]]), (pl.String, [b"x"]), (pl.String, [object()]), (pl.String, {"a"}),
    ],
)  # fmt: skip
def test_keys_that_a_column_cannot_have_are_refused(dtype, keys):
    with pytest.raises(PolicyError, match='the values of "u"'):
        Public.of({"u": dtype if isinstance(dtype, pl.DataType) else dtype()}, None, {"u": keys})


@pytest.mark.parametrize(
    ("dtype", "keys", "texts"),
    [
        (pl.UInt8(), [1, "2", 3.0, None], ("1", "2", "3", "")), (pl.Float64(), [1, "2.5"], ("1.0", "2.5")),
        (pl.Float32(), [0.1, float("nan")], ("0.1", "")), (pl.Boolean(), [True, False], ("true", "false")),
        (pl.Date(), ["2020-01-01"], ("2020-01-01",)), (pl.String(), ["a", ""], ("a", "")),
        (pl.Decimal(9, 1), [1.5], ("1.5",)), (pl.String(), [None], ("",)), (pl.Int64(), [2**62 + 1], (f"{2**62 + 1}",)),
    ],
)  # fmt: skip
def test_keys_are_printed_as_their_column_is(dtype, keys, texts):
    assert Public.of({"u": dtype}, None, {"u": keys}).keys["u"] == texts


def test_bounds_are_two_numbers_of_a_column_of_numbers():
    for one in ("01", b"01", {0, 9}, {0: 1, 9: 1}, [False, True], [0], 5, None):
        with pytest.raises(PolicyError, match="must be two numbers"):
            Public.of({"x": pl.Int64()}, {"x": one}, None)
    for dtype in (pl.Categorical(), pl.Enum(["1", "2"]), pl.List(pl.Int64), pl.Binary()):
        with pytest.raises(PolicyError, match='"x" has bounds and is no column of numbers'):
            Public.of({"x": dtype}, {"x": (0, 9)}, None)
    assert Public.of({"x": pl.String()}, {"x": ("0", 9)}, None).bounds == {"x": (0.0, 9.0)}


def test_numbers_beyond_what_noise_is_exact_for_are_held_there_and_refuse_nobody():
    """Whether an answer is refused would tell how many rows there are."""
    for rows in (4, 20_000):
        table = pl.DataFrame({"x": np.full(rows, 10**15 - 1)})
        session = sf.dp.Session(table, 20, bounds={"x": (0, 10**15 - 2)})
        assert session.sum("x", epsilon=10).value > 0
    near = sf.dp.Session({"x": [1e9 + 0.5] * 1000}, 20, bounds={"x": (1e9, 1e9 + 1)})
    assert near.sum("x", epsilon=10).value == pytest.approx(1e12, rel=1e-3)


def test_who_a_person_is_has_no_bounds():
    with pytest.raises(ColumnError, match="has no bounds"):
        sf.dp.Session({"who": ["p1", "p2"], "x": [1, 2]}, 1, person="who", bounds={"who": (0, 9), "x": (0, 9)})


@pytest.mark.parametrize("person", [None, "who"])
@pytest.mark.parametrize("query", [variant.example for variant in QUERIES.values()], ids=list(QUERIES))
def test_tables_out_of_core_are_counted_alike(query, person, tmp_path):
    rng = np.random.default_rng(3)
    table = pl.DataFrame(
        {
            "who": rng.integers(0, 150, 300),
            "age": pl.Series(rng.integers(-5, 120, 300)).set(pl.Series(rng.random(300) < 0.1), None),
            "pay": rng.integers(-20, 90, 300) / 4,
            "sex": rng.choice(["F", "M", "X", None], 300),
            "town": rng.choice(["a", "b", "c"], 300),
        }
    )
    table.write_parquet(tmp_path / "t.parquet")
    unit = Unit(person, 2 if person else 1)
    stored = PrivateRows(engine_of(sf.scan(tmp_path / "t.parquet")), Public.of(dict(table.schema), BOUNDS, KEYS), unit)
    held = rows_of(table, unit)
    for _ in range(2):  # the second time from what is kept
        for one, two in zip(numbers(query, held), numbers(query, stored), strict=True):
            assert np.array_equal(one, two)
