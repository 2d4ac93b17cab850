"""Rows that queries look at: of a person so many, in so many groups, whatever others have; and bins found fast."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.dp import Public, Unit
from sfumato.dp.queries import ContingencyTable, Mean, Quantile
from sfumato.dp.queries.contingency_table import bin_codes
from sfumato.dp.rows import KEPT, PrivateRows
from sfumato.engines.tables import engine_of
from sfumato.errors import PolicyError
from tests.fuzz import examples

KEYS = {"town": ["a", "b", "c", "d"]}


def rows_of(table: pl.DataFrame, unit: Unit) -> PrivateRows:
    return PrivateRows(engine_of(table), Public.of(dict(table.schema), {"age": (0, 100)}, KEYS), unit)


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
    assert abs(asked.mean("age", epsilon=6, clipped=True).clipped - 500) < 20


@pytest.mark.parametrize("delta", [0.01, 0.5, 1])
def test_a_delta_of_one_over_the_rows_is_refused(delta):
    with pytest.raises(PolicyError, match="delta is out of range"):
        sf.dp.Session(pl.DataFrame({"age": range(100)}), 1, delta, public_rows=100)
