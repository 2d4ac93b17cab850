"""Rows that queries look at: of a person so many, in so many groups, whatever others have; and bins found fast."""

from __future__ import annotations

import json
import sqlite3
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.cli import main
from sfumato.core.accounting import NOTHING, PrivacyCost
from sfumato.dp import Public, Unit
from sfumato.dp.queries import ContingencyTable, Count, Mean, Quantile, Variance
from sfumato.dp.queries.contingency_table import bin_codes
from sfumato.dp.queries.query import LAPLACE, normal_whole
from sfumato.dp.rows import KEPT, PrivateRows
from sfumato.engines.tables import engine_of
from sfumato.errors import AnswerFailed, BudgetSpent, PolicyError
from tests.fuzz import examples

KEYS = {"town": ["a", "b", "c", "d"]}


def rows_of(table: pl.DataFrame, unit: Unit) -> PrivateRows:
    keys = {name: values for name, values in KEYS.items() if name in table.columns}
    return PrivateRows(engine_of(table), Public.of(dict(table.schema), {"age": (0, 100)}, keys), unit)


TABLES = st.lists(st.tuples(st.integers(1, 4), st.sampled_from("abcdx"), st.integers(0, 9)), min_size=1, max_size=25)


@given(TABLES, st.integers(1, 5), st.integers(1, 4), st.integers(1, 3))
@settings(max_examples=examples(60), deadline=None)
def test_a_person_is_in_so_many_groups_whatever_others_have(people, rows, groups, each):
    table = pl.DataFrame(people, schema=["who", "town", "age"], orient="row")
    unit = Unit("who", rows, groups=groups, rows_per_group=each)
    query = ContingencyTable("town")
    whole, [part] = query.exact(rows_of(table, unit))[0], query.parts(rows_of(table, unit).public, unit)
    for who in {row[0] for row in people}:
        alone = query.exact(rows_of(table.filter(pl.col("who") == who), unit))[0]
        assert alone.max(initial=0) <= each
        assert np.count_nonzero(alone) <= groups
        assert alone.sum() <= min(rows, part.sensitivity)
        assert np.linalg.norm(alone) <= part.l2 + 1e-9
        others = table.filter(pl.col("who") != who)
        rest = query.exact(rows_of(others, unit))[0] if others.height else np.zeros(4)
        assert np.array_equal(whole - rest, alone)


def test_limits_are_of_persons():
    with pytest.raises(PolicyError, match="no column of persons"):
        Unit(groups=2)
    with pytest.raises(PolicyError, match="groups_per_person"):
        Unit("who", 3, groups=0)


@given(
    st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40, unique=True),
    st.lists(st.floats(allow_nan=True), min_size=1, max_size=30),
)
@example([0.0, 2.225073858507e-311], [0.0])
@settings(max_examples=examples(200), deadline=None)
def test_bins_are_those_of_a_search_among_the_edges(edges, given):
    ends = np.sort(np.array(edges))
    x = np.concatenate([given, ends, np.nextafter(ends, -np.inf), np.nextafter(ends, np.inf)])
    code = np.searchsorted(ends, x, side="right") - 1
    code[x == ends[-1]] = len(ends) - 2
    outside = np.isnan(x) | (x < ends[0]) | (x > ends[-1])
    assert np.array_equal(bin_codes(x, ends), np.where(outside, -1, code))


def test_what_is_kept_of_columns_is_bounded_and_changes_no_answer():
    table = pl.DataFrame({"age": [5, 60, None, 44], "town": ["a", "b", "b", None]})
    rows = rows_of(table, Unit())
    for bins in range(1, 2 * KEPT):
        asked = ContingencyTable("age", bins, where="town = b")
        assert asked.exact(rows)[0].tolist() == asked.exact(rows_of(table, Unit()))[0].tolist()
    assert len(rows.kept) <= KEPT
    for query in (Quantile("age", where="town != b"), Quantile("age"), Mean("age", where="age > 5")):
        for one, two in zip(query.exact(rows), query.exact(rows_of(table, Unit())), strict=True):
            assert np.array_equal(one, two)


@pytest.mark.parametrize("price", [{"rho": 0.05}, {"epsilon": 0.3}])
def test_zero_concentrated_accounting_holds_more_answers(price, tmp_path):
    table = pl.DataFrame({"age": range(100)})
    asked = sf.dp.Session(
        table, 2, 1e-6, bounds={"age": (0, 100)}, accounting="zcdp", ledger=tmp_path / "l.sqlite", public_rows=100
    )
    before = asked.left
    answer = asked.mean("age", **price)
    assert ("gaussian" in answer.mechanism) == ("rho" in price)
    assert before.rho - asked.left.rho == answer.cost.rho > 0
    assert asked.mean("age", **price).again


def test_gaussian_answers_cost_an_epsilon_and_a_delta():
    asked = sf.dp.Session(pl.DataFrame({"age": range(100)}), 2, 1e-5, bounds={"age": (0, 100)})
    answer = asked.histogram("age", bins=4, epsilon=1, delta=1e-6)
    assert answer.mechanism == "discrete-gaussian"
    assert (str(asked.left.epsilon), asked.left.delta) == ("1", answer.cost.delta * 9)
    assert answer.scale == pytest.approx(1 / np.sqrt(2 * 0.024355970335), rel=1e-6)
    for wrong, says in (
        ({"rho": 0.1}, "zero-concentrated"),
        ({}, "costs an epsilon"),
        ({"epsilon": 1, "rho": 1}, "both"),
    ):
        with pytest.raises(PolicyError, match=says):
            asked.count(**wrong)


def test_what_was_clipped_is_told_where_it_is_paid_for():
    asked = sf.dp.Session(pl.DataFrame({"age": [5.0] * 500 + [900.0] * 500}), 20, bounds={"age": (0, 100)})
    assert asked.mean("age", epsilon=1).clipped is None
    price = asked.price("mean age", 6, clipped=True)
    assert price["numbers"] == 3
    assert len(price["scales"]) == 3
    assert abs(asked.mean("age", epsilon=6, clipped=True).clipped - 500) < 20


@pytest.mark.parametrize("delta", [0.01, 0.5, 1])
def test_a_delta_of_one_over_the_rows_is_refused(delta):
    with pytest.raises(PolicyError, match="delta is out of range"):
        sf.dp.Session(pl.DataFrame({"age": range(100)}), 1, delta, public_rows=100)


@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_databases_are_asked_like_frames(kind, tmp_path):
    table = pl.DataFrame({"who": [1, 1, 2, 3], "age": [5, None, 60, 44], "town": ["a", "b", "b", None]})
    place = tmp_path / f"t.{kind}"
    if kind == "sqlite":
        with closing(sqlite3.connect(place)) as link:
            link.execute("create table t (who int, age int, town text)")
            link.executemany("insert into t values (?, ?, ?)", table.rows())
            link.commit()
    else:
        duckdb = pytest.importorskip("duckdb")
        with duckdb.connect(str(place)) as link:
            link.register("frame", table.to_arrow())
            link.execute("create table t as select * from frame")
    asked = {"bounds": {"age": (0, 100)}, "keys": KEYS, "ledger": tmp_path / "l.sqlite", "version": "first"}
    with sf.dp.Session(sf.Database(str(place), "t"), 5, **asked) as stored:
        rows = stored._rows
        for query in (Mean("age"), ContingencyTable("town"), Quantile("age", where="town = b"), Count("age > 9")):
            for one, two in zip(query.exact(rows), query.exact(rows_of(table, Unit())), strict=True):
                assert np.array_equal(one, two)
        first = stored.mean("age", epsilon=1, request="r")
    with sf.dp.Session(sf.Database(str(place), "t"), 5, **asked) as stored:  # of the same version
        assert stored.mean("age", epsilon=1, request="r").value == first.value
        assert stored.left.epsilon == 4


def test_rows_that_answer_nothing_take_no_place_of_a_person():
    rows = pl.DataFrame({"who": [1, 1], "age": [None, 5], "town": ["zz", "a"]})
    found = rows_of(rows, Unit("who", 1))
    assert Mean("age").exact(found)[0] == 1
    assert ContingencyTable("town").exact(rows_of(rows, Unit("who", 1, groups=1)))[0].sum() == 1


def test_what_cannot_be_read_is_told_by_one_sentence_whatever_it_was(tmp_path):
    far = pl.DataFrame({"day": pl.Series([0, 2**31 - 1], dtype=pl.Int32).cast(pl.Date)})
    far.write_parquet(tmp_path / "t.parquet")
    asked = sf.dp.Session(sf.scan(tmp_path / "t.parquet"), 1)
    with pytest.raises(AnswerFailed, match="the answer could not be given") as raised:
        asked.distinct_count("day", epsilon=0.5)
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


def test_threads_share_a_session_and_look_at_rows_one_after_the_other(monkeypatch):
    session, under_way, most = sf.dp.Session({"x": [1.0, 2.0]}, 1), 0, 0

    def slowly(self, rows, draw):
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        time.sleep(0.02)
        under_way -= 1
        return [draw(np.array([2]))]

    monkeypatch.setattr(Count, "run", slowly)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda i: session.count(where=f"x > {i}", epsilon="0.1"), range(4)))
    assert (most, str(session.left)) == (1, "epsilon 0.6")


def test_no_warning_tells_of_a_row(recwarn):
    asked = sf.dp.Session({"x": [1.0, 1e308, float("inf"), float("nan")]}, 1, bounds={"x": (0, 10)})
    asked.sum("x", epsilon=0.1)
    asked.variance("x", epsilon=0.1)
    assert not recwarn.list


@pytest.mark.parametrize(
    ("session", "price", "says"),
    [
        ({"delta": 1e-6}, {"epsilon": 1e-6, "delta": 1e-12}, "no Gaussian noise is so large"),
        ({"delta": 1e-6, "accounting": "zcdp"}, {"epsilon": 10**9}, "does not hold"),
        ({}, {"epsilon": 0.1, "request": "r" * 10**6}, "request must be a text"),
    ],
)
def test_nonsense_is_refused_before_it_is_charged(session, price, says):
    asked = sf.dp.Session({"x": [1.0]}, 1, **session)
    with pytest.raises((PolicyError, BudgetSpent), match=says):
        asked.count(**price)
    assert asked.left == asked.budget.left(NOTHING)


def test_wide_noise_has_its_interval_at_once():
    person = pl.DataFrame({"who": [1], "x": [1.0]})
    asked = sf.dp.Session(person, 1, person="who", rows_per_person=10**6)
    low, high = asked.count(epsilon="1e-12").interval
    assert high - low > 1e18
    assert normal_whole(50.0) == pytest.approx(1.96 * 50, abs=2)
    assert normal_whole(1e9) == pytest.approx(1.959964e9, rel=1e-6)


def test_no_cost_is_a_refund(tmp_path):
    with pytest.raises(PolicyError, match="no refund"):
        PrivacyCost(Decimal("-0.1"))
    first = sf.dp.Session({"x": [1.0]}, 1, ledger=tmp_path / "l.sqlite")
    first.for_analyst("b", 1).close()
    first.count(epsilon=0.1)  # its ledger is still open
    with pytest.raises(PolicyError, match="as it was first stated"):
        sf.dp.Session({"x": [1.0]}, 1, ledger=tmp_path / "l.sqlite", dataset_delta=1e-6)


def test_an_interval_of_a_variance_is_in_order():
    rows = rows_of(pl.DataFrame({"age": [0, 100] * 200}), Unit())
    for noise in np.linspace(-500, 500, 41):
        exact = [[400.0], [0.0], [1_000_000.0 + noise * 2500]]
        low, high = Variance("age").answer(exact, [8.0, 400.0, 20_000.0], rows.public, LAPLACE)[1]
        assert low <= high


@pytest.mark.slow
@pytest.mark.parametrize("odd", ["ann;1.5;31.12.2024", "ann;1,5;2024-12-31", "ann;?;none"])
def test_no_row_of_a_file_has_a_say_in_how_others_are_read(odd, tmp_path, capsys, monkeypatch):
    """Of files that anonymize reads, a decimal comma or an order of dates is that which all values have."""
    monkeypatch.chdir(tmp_path)
    rows = [f"p{i};{i},5;{i % 28 + 1:02}.03.2024" for i in range(60)]
    found = []
    for name, lines in (("one.csv", rows), ("other.csv", [*rows, odd])):
        (tmp_path / name).write_text("\n".join(["who;pay;day", *lines, ""]))
        asked = sf.dp.Session(name, 10**6, bounds={"pay": (0, 100)}, keys={"day": ["05.03.2024"]}, i_know=True)
        much = {"epsilon": 10**4}
        counts = [asked.count(where=where, **much).value for where in ("pay is missing", "day = 05.03.2024")]
        made = sf.dp.release_marginals(name, ["day"], 10**4, keys={"day": ["05.03.2024"]}, i_know=True)
        told = ["--epsilon", "20", "--budget", "20", "--ledger", f"{name}.sqlite", "--json"]
        assert main(["query", "ask", name, "count where day = 05.03.2024", *told]) == 0
        shell = json.loads(capsys.readouterr().out)["value"]
        found.append(np.array([*counts, made.tables["day"]["count"][0], shell]))
    assert np.abs(found[0] - found[1]).max() <= 1 + 2 * 2  # of the shell's noise
    assert main(["query", "ask", "one.csv", "count", "--decimal", "comma", *told]) != 0
    assert "each cell by itself" in capsys.readouterr().out
