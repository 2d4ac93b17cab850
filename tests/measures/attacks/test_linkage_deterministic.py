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
    # without it the rows, which are in order, tell what "lung" stands for
    attack = deterministic_linkage(release, table)
    assert attack.details["unread labels"] == {"disease": 1}
    assert candidates(release, table)["candidates"].to_list() == [2, 2, 1]
    # where nobody knows who is who, it is as good as a value that nobody known has
    unknown = deterministic_linkage(release, table, truth="unknown")
    assert unknown.details["values of others"] == {"disease": 1}
    assert 'Texts of "disease" that fit no value' in unknown.sentence
    assert candidates(release, table, truth="unknown")["candidates"].to_list() == [0, 0, 1]
    # and where no label of the column fits anybody it may be anything
    assert candidates(release, {"disease": ["flu"]})["candidates"].to_list() == [3]


def test_a_town_where_nobody_known_lives_is_nobody_s() -> None:
    towns = ["Rome", "Oslo", "Bern", "Kyiv"]
    for known, right in (["Rome"], 1.0), (["Rome", "Paris"], 0.5), (["Rome", "Oslo"], 1.0):
        coded = {"town": [[*towns, "Paris"].index(town) for town in known]}
        assert deterministic_linkage({"town": towns}, {"town": known}).success == right
        assert deterministic_linkage({"town": [0, 1, 2, 3]}, coded).success == right
    assert deterministic_linkage({"town": ["{Rome, Oslo}", "{Rome, Oslo}", "Bern"]}, {"town": ["Rome"]}).success == 0.5


@pytest.mark.parametrize("form", ["{{{}, {}}}", "{},{}", "{}; {}", "{}|{}", "['{}', '{}']"])
def test_sets_of_other_tools_link_as_those_with_braces(form: str) -> None:
    """Six people in two towns each: three are left of everybody known."""
    release = {"town": [form.format("Rome", "Oslo")] * 3 + [form.format("Bern", "Kyiv")] * 3}
    for known in (["Rome", "Oslo", "Bern", "Kyiv"], ["Rome", "Bern"], ["Rome"]):
        assert deterministic_linkage(release, {"town": known}).success == pytest.approx(1 / 3)


def test_an_order_that_only_unread_labels_bear_out_is_not_believed() -> None:
    release = {"town": [f"town {i}" for i in range(19)] + ["Rome"]}
    attack = deterministic_linkage(release, {"town": ["Rome"] + ["Paris"] * 19})
    assert attack.details["truth known"] is False  # the one label that can be read stands in the wrong place
    assert (attack.success, attack.details["single candidate"]) == (0.05, 1)
    by_order = {"town": ["x"] * 10 + ["y"] * 10}  # two groups, nobody fits a label: the order is all there is
    assert deterministic_linkage(by_order, {"town": [f"town {i}" for i in range(20)]}).success == pytest.approx(0.1)


def test_what_the_attacker_does_not_know_fits_anything() -> None:
    table = pl.DataFrame({"age": [21, None, 33], "sex": ["f", "m", "m"]})
    release = {"age": ["2*", "4*", "33"], "sex": ["f", "m", "m"]}
    assert candidates(release, table)["candidates"].to_list() == [1, 2, 1]


def fits(label: str | None, value: str, known: set[str]) -> bool | None:
    """Whether a label covers a value, read without a line of ours; None where it is a text of its own, as a range is
    where no value is a number."""
    if label is None or label == "*" or label == value:
        return True
    if label.startswith("{"):
        return value in label[1:-1].split(", ")
    if label.startswith("["):
        if not any(map(str.isdigit, known)):
            return None
        low, high = map(int, label[1:-1].split(", "))
        return value.isdigit() and low <= int(value) <= high
    if label.endswith("*"):
        return value.startswith(label[:-1])
    return False if label.isdigit() else None


def candidate_rows(release: pl.DataFrame, table: pl.DataFrame, truth: list[int] | None) -> list[set[int]]:
    """The candidates of each person by the definition, pair by pair."""
    found = [set(range(release.height)) for _ in range(table.height)]
    for name in release.columns:
        labels, values = release[name].to_list(), table[name].to_list()
        known = {value for value in values if value is not None}
        telling = {
            label
            for label in labels
            if label not in (None, "*") and (label.startswith("{") or any(fits(label, value, known) for value in known))
        }
        of_people = {(labels[t], v) for t, v in zip(truth, values, strict=True) if t >= 0} if truth else set()
        for i, value in enumerate(values):
            for row, label in enumerate(labels):
                covers = value is None or fits(label, value, known)
                if covers is None and label in known:
                    covers = False
                elif covers is None:
                    covers = (label, value) in of_people if any(t >= 0 for t in truth or ()) else not telling
                if not covers:
                    found[i].discard(row)
    return found


@settings(max_examples=examples(150))
@given(data=st.data(), width=st.integers(1, 3))
def test_against_all_pairs(data: st.DataObject, width: int) -> None:
    value = st.sampled_from(["1", "2", "5", "12", "Rome", "Oslo", "Paris", None])
    label = st.sampled_from(
        ["1", "2", "12", "Rome", "Oslo", "Kyiv", "Bern", "*", None, "[1, 5]", "{1, 12}", "{Rome, Bern}", "1*"]
    )
    names = [f"c{i}" for i in range(width)]
    schema = dict.fromkeys(names, pl.String)
    table = pl.DataFrame(data.draw(st.lists(st.tuples(*[value] * width), min_size=1, max_size=7)), schema, orient="row")
    release = pl.DataFrame(
        data.draw(st.lists(st.tuples(*[label] * width), min_size=1, max_size=20)), schema, orient="row"
    )
    truth = data.draw(
        st.one_of(
            st.none(),
            st.lists(st.integers(-1, release.height - 1), min_size=table.height, max_size=table.height),
        )
    )
    rows = candidate_rows(release, table, truth)
    given_truth = "unknown" if truth is None else truth
    found = candidates(release, table, names, truth=given_truth)
    assert found["candidates"].to_list() == list(map(len, rows))
    assert found["row"].to_list() == [min(some) if len(some) == 1 else None for some in rows]
    if truth is not None:
        assert found["among"].to_list() == [t in some for some, t in zip(rows, truth, strict=True)]
    among = [bool(some) if truth is None else truth[i] in some for i, some in enumerate(rows)]
    credit = [1 / len(some) if right else 0 for some, right in zip(rows, among, strict=True)]
    attack = deterministic_linkage(release, table, names, truth=given_truth)
    assert attack.success == pytest.approx(float(np.mean(credit)))
    assert attack.interval[0] - 1e-9 <= attack.success <= attack.interval[1] + 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_a_small_register_against_a_release_of_ours(seed: int) -> None:
    rng = np.random.default_rng(seed)
    towns = ["Rome", "Oslo", "Bern", "Kyiv", "Riga", "Lima", "Baku", "Doha"]
    table = pl.DataFrame(
        {
            "town": rng.choice(towns, 120, p=np.arange(8, 0, -1) / 36),
            "job": rng.choice(["cook", "nurse", "clerk", "smith", "judge"], 120),
            "age": rng.integers(20, 60, 120),
        }
    )
    release = sf.anonymize(table, quasi=["town", "job", "age"], require=[sf.KAnonymity(3)], search="mondrian").data
    register = table.sample(3, seed=seed)
    rows = candidate_rows(release, register.cast(pl.String), None)
    assert all(len(some) >= 3 for some in rows)
    success = deterministic_linkage(release, register).success
    assert success == pytest.approx(sum(1 / len(some) for some in rows) / 3)
    whole = [len(some) for some in candidate_rows(release, table.cast(pl.String), None)]
    assert candidates(release, table, truth="unknown")["candidates"].to_list() == whole


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
