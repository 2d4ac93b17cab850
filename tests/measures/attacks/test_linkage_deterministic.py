"""Deterministic linkage: tables worked by hand, every pair of rows compared, and the two ends of protection."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ColumnError, HierarchyError, PolicyError
from sfumato.hierarchies import wide
from sfumato.measures.attacks.linkage import pair_of
from sfumato.measures.attacks.linkage.deterministic import candidates, deterministic_linkage
from sfumato.measures.labels_cover import covers
from sfumato.measures.measure import wilson
from tests.fuzz import examples


def people(n: int = 400) -> pl.DataFrame:
    rng = np.random.default_rng(5)
    return pl.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "zip": [f"{z:05d}" for z in rng.integers(13000, 14000, n)],
            "sex": rng.choice(["f", "m"], n),
        }
    )


def test_four_rows() -> None:
    table = {"age": [21, 25, 33, 38], "sex": ["f", "m", "f", "f"]}
    release = {"age": ["[20, 30)", "[20, 30)", "[30, 40)", "[30, 40)"], "sex": ["f", "m", "*", None]}
    attack = deterministic_linkage(release, table)
    # rows 0 and 1 have one candidate each, rows 2 and 3 two each
    assert attack.success == pytest.approx((1 + 1 + 0.5 + 0.5) / 4)
    assert attack.baseline == pytest.approx(1 / 4)
    assert attack.interval == wilson(3, 4)
    assert attack.exposed[:2] == (0, 1)
    assert candidates(release, table).rows() == [(1, 0, True), (1, 1, True), (2, None, True), (2, None, True)]
    assert "21" not in attack.sentence
    assert attack.details["single candidate"] == 2


@pytest.mark.parametrize(
    ("label", "fits"),
    [
        ("20", [20]),
        ("[20, 30]", [20, 25, 30]),
        ("[20, 30)", [20, 25]),
        (">= 25", [25, 30, 41]),
        ("< 25", [20]),
        ("{20, 41}", [20, 41]),
        ("2*", [20, 25]),
        ("*", [20, 25, 30, 41]),
        (None, [20, 25, 30, 41]),
        ("99", []),
    ],
)
def test_labels(label: str | None, fits: list[int]) -> None:
    ages = [20, 25, 30, 41]
    found = candidates(pl.DataFrame({"age": [label]}, schema={"age": pl.String}), {"age": ages}, truth="unknown")
    assert [age for age, n in zip(ages, found["candidates"], strict=True) if n] == fits
    assert found["among"].null_count() == 4


def test_labels_of_a_hierarchy() -> None:
    edges = [("flu", "lung"), ("asthma", "lung"), ("ulcer", "stomach"), ("lung", "*"), ("stomach", "*")]
    tree = sf.hierarchies.tree(edges)
    table, release = {"disease": ["flu", "asthma", "ulcer"]}, {"disease": ["lung", "lung", "ulcer"]}
    assert candidates(release, table, hierarchies={"disease": tree})["candidates"].to_list() == [2, 2, 1]
    # without it nobody can say what "lung" is: it may be anything
    attack = deterministic_linkage(release, table)
    assert attack.details["unread labels"] == {"disease": 1}
    assert candidates(release, table)["candidates"].to_list() == [2, 2, 3]


def test_what_the_attacker_does_not_know_fits_anything() -> None:
    table = pl.DataFrame({"age": [21, None, 33], "sex": ["f", "m", "m"]})
    release = {"age": ["2*", "4*", "33"], "sex": ["f", "m", "m"]}
    assert candidates(release, table)["candidates"].to_list() == [1, 2, 1]


@settings(max_examples=examples(60))
@given(data=st.data(), width=st.integers(1, 3))
def test_against_all_pairs(data: st.DataObject, width: int) -> None:
    value = st.sampled_from(["1", "2", "5", "12", "ß", None])
    label = st.sampled_from(["1", "2", "12", "*", None, "[1, 5]", "{1, 12}", "1*", ">= 3", "a..z", "?"])
    names = [f"c{i}" for i in range(width)]
    schema = dict.fromkeys(names, pl.String)
    table = pl.DataFrame(data.draw(st.lists(st.tuples(*[value] * width), min_size=1, max_size=7)), schema, orient="row")
    release = pl.DataFrame(
        data.draw(st.lists(st.tuples(*[label] * width), min_size=1, max_size=20)), schema, orient="row"
    )
    truth = data.draw(st.lists(st.integers(-1, release.height - 1), min_size=table.height, max_size=table.height))
    fits = np.ones((table.height, release.height), np.bool_)
    for name in names:
        values, labels = table[name].unique().drop_nulls().to_list(), release[name].unique().to_list()
        cover = covers(labels, values, unread=True, wildcard=True)
        for i, v in enumerate(table[name]):
            for j, one in enumerate(release[name]):
                fits[i, j] &= v is None or cover[labels.index(one), values.index(v)]
    found = candidates(release, table, names, truth=truth)
    assert found["candidates"].to_list() == fits.sum(axis=1).tolist()
    assert found["among"].to_list() == [t >= 0 and bool(fits[i, t]) for i, t in enumerate(truth)]
    only = [int(row.argmax()) if row.sum() == 1 else None for row in fits]
    assert found["row"].to_list() == only
    credit = [1 / row.sum() if t >= 0 and row[t] else 0 for row, t in zip(fits, truth, strict=True)]
    attack = deterministic_linkage(release, table, names, truth=truth)
    assert attack.success == pytest.approx(float(np.mean(credit)))
    assert attack.interval[0] - 1e-9 <= attack.success <= attack.interval[1] + 1e-9


def test_a_copy_is_found_and_a_blank_table_is_not() -> None:
    table = people().unique(maintain_order=True)
    copy = deterministic_linkage(table, table)
    assert copy.success == 1
    assert copy.advantage == 1
    blank = pl.DataFrame({name: ["*"] * table.height for name in table.columns})
    attack = deterministic_linkage(blank, table)
    assert attack.success == pytest.approx(attack.baseline)
    assert attack.interval[0] <= attack.baseline <= attack.interval[1]


@pytest.mark.slow
def test_a_k_anonymous_release_gives_one_in_k_at_most() -> None:
    table = people(1000)
    release = sf.anonymize(table, quasi=["age", "zip", "sex"], require=[sf.KAnonymity(5)])
    n = candidates(release.data, table)["candidates"]
    assert n.min() >= 5
    classes = release.data.unique().height
    attack = deterministic_linkage(release.data, table)
    assert attack.success <= 1 / 5
    assert attack.success <= classes / 1000 + 1e-12  # classes that overlap in what they cover make it less
    assert candidates(release.data, table)["among"].all()


def test_who_is_who() -> None:
    table = {"id": ["x", "y", "z"], "age": [1, 2, 3]}
    release = {"key": ["z", "x"], "age": [3, 1]}
    assert pair_of(release, table, ("key", "id")).truth.tolist() == [1, -1, 0]
    attack = deterministic_linkage(release, table, ["age"], truth=("key", "id"))
    assert attack.success == pytest.approx(2 / 3)
    assert attack.baseline == pytest.approx(2 / 3 / 2)
    assert attack.exposed == (1, 0)
    assert attack.details["external rows"] == [0, 2]
    unknown = deterministic_linkage(release, table, ["age"])  # not as many rows: nobody knows
    assert unknown.details["truth known"] is False
    assert unknown.success == pytest.approx(2 / 3)
    assert unknown.exposed == (1, 0)


@pytest.mark.parametrize(
    ("truth", "match"),
    [(("key", "id"), "several times"), ([0, 1], "who is who"), ([0, 1, 9], "rows"), (3.5, "who is who")],
)
def test_wrong_truths(truth: object, match: str) -> None:
    release, table = {"key": ["a", "a"], "age": [1, 2]}, {"id": ["a", "b", "c"], "age": [1, 2, 3]}
    with pytest.raises(PolicyError, match=match):
        deterministic_linkage(release, table, ["age"], truth=truth)


def test_wrong_columns() -> None:
    with pytest.raises(PolicyError, match="no column to link on"):
        deterministic_linkage({"a": [1]}, {"b": [1]})
    with pytest.raises(ColumnError, match='the external table has no column "a"'):
        deterministic_linkage({"a": [1]}, {"b": [1]}, ["a"])


@pytest.mark.parametrize(
    "column",
    [
        [2**63 - 1, 2**63 - 2, 0],
        [float("nan"), 1.5, None],
        [None, None, None],
        ["", "a, b", "{c}"],
        ["1", 2, None],
    ],
)
def test_nasty_columns(column: list) -> None:
    attack = deterministic_linkage({"a": column}, {"a": column})
    known = [value for value in column if value not in (None, "") and value == value]
    if len(known) == 3:
        assert attack.success == 1
    assert 1 / 3 - 1e-12 <= attack.success <= 1
    assert attack.to_dict()["success"] == pytest.approx(attack.success)


def test_many_distinct_values_are_quick() -> None:
    rng = np.random.default_rng(1)
    table = pl.DataFrame({"x": rng.permutation(30000), "y": rng.integers(0, 9, 30000)})
    attack = deterministic_linkage(table, table)
    assert attack.success == 1
    assert attack.details["median candidates"] == 1


def test_an_order_that_the_records_do_not_bear_out_is_not_believed() -> None:
    table = people(60)
    mixed = table.sample(fraction=1, shuffle=True, seed=1)
    ordered, other = deterministic_linkage(table, table), deterministic_linkage(table, mixed)
    assert ordered.success == pytest.approx(other.success)
    assert (ordered.details["truth known"], other.details["truth known"]) == (True, False)
    assert "order does not tell who is who" in other.sentence
    assert "note" not in ordered.details
    assert candidates(table, mixed)["among"].null_count() == 60
    assert deterministic_linkage(table, mixed, truth=np.arange(60)).success < 0.2  # who says so is believed


def test_an_order_is_believed_where_nobody_fits_anything() -> None:
    moved = {"pay": [10.3, 20.7, 29.1]}
    assert deterministic_linkage(moved, {"pay": [10, 20, 30]}).details["truth known"]


def test_a_hierarchy_that_does_not_fit_names_its_column() -> None:
    with pytest.raises(HierarchyError, match='"job"'):
        deterministic_linkage({"job": ["*", "b"]}, {"job": ["a", "b"]}, hierarchies={"job": wide([["a", "*"]])})
