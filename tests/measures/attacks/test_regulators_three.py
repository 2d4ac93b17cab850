"""Singling out, linkability, inference: by hand, on an unprotected copy, on a suppressed table, seeded."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato import errors
from sfumato.measures.attacks import attack_summary, inference, linkability, singling_out
from sfumato.measures.attacks.classes import Encoded
from sfumato.measures.attacks.linkability import across_splits, splits_of
from sfumato.measures.attacks.matching import DistanceSpace, Matching
from sfumato.measures.attacks.singling_out import Side, univariate
from tests.fuzz import examples
from tests.measures.attacks.tables import PATIENTS, QUASI, RELEASED, people, suppressed

FOUR = pl.DataFrame({"age": [20, 30, 40, 60], "zip": ["a", "a", "b", "c"], "disease": ["flu", "flu", "cold", "asthma"]})


def test_distance_is_the_one_expected_of_a_label() -> None:
    released = pl.DataFrame({"age": ["20", "[30, 40]", "*", "30.5"], "zip": ["a", "{a, b}", "*", "c"]})
    matching = Matching(released, ["age", "zip"], [FOUR])
    space = DistanceSpace(matching)
    distance = space.distances(matching.values_of(FOUR)[0])[matching.cell_of_row]  # 20 and a
    star = (0 + 10 + 20 + 40) / 40 / 4
    assert distance.tolist() == pytest.approx(
        [0, ((10 + 20) / 40 / 2 + 1 / 2) / 2, (star + 2 / 3) / 2, (10.5 / 40 + 1) / 2]
    )


def test_singling_out_by_hand() -> None:
    found = singling_out(FOUR, FOUR, ["zip"], mode="univariate")
    assert found.trials == 2  # b and c occur once in the release
    assert found.success == 1
    assert sorted(found.exposed) == [2, 3]
    # a blind guess at a zip isolates in two of three cases
    assert 0 <= found.baseline <= 1
    shut = singling_out(suppressed(FOUR, ["zip", "age"]), FOUR, ["zip", "age"])
    assert shut.success == 0


def test_texts_that_hardly_repeat_cannot_be_guessed() -> None:
    codes = {"code": [f"p{i:04d}" for i in range(300)]}
    for mode in ("univariate", "multivariate"):
        found = singling_out(codes, codes, mode=mode, trials=100)
        assert (found.success, found.baseline, found.advantage) == (1, 0, 1)
    towns = {"town": ["a"] * 50 + ["b"] * 49 + ["c"]}
    assert 0.2 < singling_out(towns, towns, mode="univariate", trials=300).baseline < 0.5  # one town of three


def test_the_ends_of_numbers_that_are_sorted_as_texts() -> None:
    original = pl.DataFrame({"age": [9, 10, 55, 100]})
    released = pl.DataFrame({"age": ["9", "10", "[50, 60]", "100"]})
    encoded = Encoded()
    here, there = (Side(released, ["age"], table, None, False, encoded) for table in (released, original))
    ends = {
        (sign, here.labels[0].text[label])
        for ((_, sign, label),) in univariate(here, there, np.random.default_rng(0))
        if sign != "="
    }
    assert ends == {("<=", "9"), (">=", "100")}


def test_suppressed_cells_do_not_hide_the_column_beside_them() -> None:
    original = people(200)
    holes = original.with_columns(pl.lit(None, pl.String).alias(name) for name in ("age", "zip", "disease"))
    assert singling_out(holes, original, trials=100).success == 1  # by height


def test_a_sample_is_told_from_everything() -> None:
    table = people(300)
    assert singling_out(table, table, mode="univariate", trials=50).details["sampled"]
    assert singling_out(table, table, trials=50).details["sampled"]
    shut = suppressed(table, ["age", "zip", "height"])
    for mode in ("univariate", "multivariate"):
        assert not singling_out(shut, table, mode=mode, trials=50).details["sampled"]
    for trials, sampled in ((50, True), (300, False)):
        assert linkability(table, table, ["zip"], ["height"], trials=trials).details["sampled"] is sampled
        assert inference(table, table, ["zip"], "disease", trials=trials).details["sampled"] is sampled


@pytest.mark.slow
def test_coarse_columns_single_out_together() -> None:
    rng = np.random.default_rng(0)
    table = pl.DataFrame({f"c{i}": rng.integers(0, 3, 500) for i in range(20)})
    assert singling_out(table, table, trials=100).success == 0  # three columns of three values each
    found = attack_summary(table, quasi=["c0", "c1"], original=table, trials=100)
    assert found["singling-out on all columns"]["success"] == 1
    assert attack_summary(table, quasi=table.columns, original=table, trials=100)["singling-out"]["success"] == 1


def test_one_rarest_predicate_is_no_sample() -> None:
    rng = np.random.default_rng(0)
    table = pl.DataFrame({f"c{i}": rng.integers(0, k, 40_000) for i, k in enumerate((70, 2, 16, 7))})
    found = singling_out(table, table, size=2, trials=500)
    assert found.success == 0
    assert found.trials >= 100
    assert found.interval[1] < 0.05


def test_splits_of_columns() -> None:
    assert splits_of(["a"]) == []
    assert splits_of(["a", "b"]) == [(("a",), ("b",))]
    assert [len(splits_of("abcdefgh"[:n])) for n in (3, 4, 5, 6)] == [3, 3, 10, 10]
    many = splits_of("abcdefghi")
    assert 20 < len(many) <= 42
    for first, second in many:
        assert set(first) | set(second) == set("abcdefghi")
        assert (len(first), len(second)) == (4, 5)


@pytest.mark.slow
def test_the_order_of_columns_does_not_hide_linkability() -> None:
    # birth and zip tell people apart, sex and ward nobody: halves in this order join nobody
    n = 300
    table = pl.DataFrame(
        {
            "birth": [f"b{i}" for i in range(n)],
            "zip": [f"z{i}" for i in range(n)],
            "sex": ["m", "f"] * (n // 2),
            "ward": ["u", "v", "w"] * (n // 3),
        }
    )
    quasi = ["birth", "zip", "sex", "ward"]
    weak = linkability(table, table, quasi[:2], quasi[2:])
    assert not weak.details["examined"]
    assert weak.sentence.startswith("Linkability was not examined")
    found = across_splits(table, table, quasi, holdout=None)
    assert found is not None
    assert found.success == 1
    assert found.details["ceiling"] == 1
    assert attack_summary(table, quasi=quasi, original=table)["linkability"]["success"] == 1
    # another column in common may be what the second source knows
    beside = table.select("birth", "sex").with_columns(cost=pl.Series(range(n)))
    assert attack_summary(beside, quasi=["birth", "sex"], original=beside)["linkability"]["success"] == 1


@pytest.mark.slow
def test_the_worst_split_is_found_where_classes_do_not_tell_it() -> None:
    # labels overlap, so that what looks alike in the release says little about what is nearest
    original = people(400)
    rng = np.random.default_rng(2)
    low = [max(18, age - int(rng.integers(0, 8))) for age in original["age"]]
    released = original.with_columns(
        age=pl.Series([f"[{at}, {at + 8}]" for at in low]), zip=pl.col("zip").str.head(1) + pl.lit("****")
    )
    columns = ["age", "zip", "height", "disease"]
    every = [linkability(released, original, *split).success for split in splits_of(columns)]
    found = across_splits(released, original, columns, holdout=None)
    assert found is not None
    assert found.success == max(every) > min(every)
    assert found.details["splits"] == 3


def test_linkability_is_not_examined_where_a_half_tells_nobody_apart() -> None:
    table = pl.DataFrame({"code": [f"c{i}" for i in range(300)], "sex": ["m", "f"] * 150})
    tried = attack_summary(table, quasi=["code", "sex"], original=table)
    assert "linkability" not in tried
    assert tried.skipped["linkability"].startswith("Linkability was not examined")
    alone = attack_summary(table.select("code"), quasi=["code"], original=table)
    assert "two columns" in alone.skipped["linkability"]


@pytest.mark.slow
def test_the_summary_singles_out_on_all_columns() -> None:
    table = people(300)
    shut = suppressed(table, ["age", "zip"])
    found = attack_summary(shut, quasi=["age", "zip"], original=table, trials=100)
    assert found["singling-out"]["success"] == 0
    assert found["singling-out on all columns"]["success"] > 0.9  # by height, which was left as it is
    assert "singling-out on all columns" not in attack_summary(shut.select("age"), quasi=["age"], original=table)


def test_k_anonymous_patients_are_singled_out_only_with_their_disease() -> None:
    quasi = singling_out(RELEASED, PATIENTS, QUASI)
    assert quasi.success == 0
    every = singling_out(RELEASED, PATIENTS)
    # (4790*, >=40) with each of three diseases, (476**, 3*) with heart disease
    assert set(every.exposed) == {3, 4, 5, 6}
    assert every.success == 1


def test_linkability_by_hand() -> None:
    found = linkability(FOUR, FOUR, ["age"], ["disease"], trials=10)
    # age finds each record; flu is one of two, so rows 0 and 1 are a toss
    assert {2, 3} <= set(found.exposed)
    assert found.baseline == pytest.approx(1 / 4)
    sure = linkability(FOUR, FOUR, ["age"], ["disease"], neighbours=2)
    assert sure.baseline == pytest.approx(1 - 1 / 6)
    assert sure.success == 1


def test_inference_by_hand() -> None:
    found = inference(RELEASED, PATIENTS, QUASI, "disease")
    # nearest is the own class: heart disease right three times; of a class with three values the first (cancer) once;
    # cancer right twice
    assert found.success == pytest.approx((3 + 1 + 2) / 9)
    assert found.baseline == pytest.approx(5 / 9)
    assert found.exposed[:3] == (0, 1, 2)  # the surest


def test_inference_of_numbers_and_of_labels() -> None:
    original = pl.DataFrame({"q": ["a", "b", "c"], "pay": [100, 200, 300]})
    close = original.with_columns(pay=pl.Series([104.0, 206.0, 330.0]))
    assert inference(close, original, ["q"], "pay").success == pytest.approx(2 / 3)
    assert inference(close, original, ["q"], "pay", tolerance=0.1).success == 1
    wide = pl.DataFrame({"q": ["a"] * 400, "pay": ["[100, 200]"] * 400})
    many = pl.DataFrame({"q": ["a"] * 400, "pay": [100, 200] * 200})
    half = inference(wide, many, ["q"], "pay")
    assert half.success == pytest.approx(0.5, abs=0.1)
    assert half.success == half.baseline


def run_all(released: pl.DataFrame, original: pl.DataFrame, **more: Any) -> list[Any]:
    known = ["age", "zip", "height"]
    return [
        singling_out(released, original, known, **more),
        singling_out(released, original, known, mode="univariate", **more),
        linkability(released, original, ["zip"], ["height"], **more),
        inference(released, original, known, "disease", **more),
    ]


def test_unprotected_succeeds() -> None:
    table = people(400)
    for found in run_all(table, table, trials=150):
        assert found.success > 0.95, found.name
        assert found.advantage > 0.5, found.name
        assert found.of == "original"


def test_suppressed_is_at_its_baseline() -> None:
    table = people(400)
    shut = suppressed(table, ["age", "zip", "height"])
    for found in run_all(shut, table, trials=400):
        low, high = found.interval
        assert found.success == 0 or low <= found.baseline <= high, found.name
        assert found.advantage < 0.03, found.name


@pytest.mark.slow
def test_holdout_shows_what_is_no_fault_of_the_release() -> None:
    table, others = people(300, 1), people(300, 2)
    for found in run_all(table, table, holdout=others, trials=100):
        assert found.details["control"] < 0.6, found.name
        assert found.details["risk"] > 0.5, found.name
    for found in run_all(others, table, holdout=people(300, 3), trials=100):  # a release about other people
        assert found.details["risk"] < 0.25, found.name


def test_the_seed_repeats() -> None:
    table = people(300)
    again = [[a.to_dict() for a in run_all(table, table, trials=50, seed=7)] for _ in range(2)]
    assert again[0] == again[1]
    assert run_all(table, table, trials=50, seed=8)[0].exposed != tuple(again[0][0]["exposed"])


def test_nonsense_is_refused() -> None:
    with pytest.raises(errors.PolicyError, match="in common"):
        linkability(FOUR, FOUR, ["age"], ["age", "zip"])
    with pytest.raises(errors.PolicyError):
        linkability(FOUR, FOUR, ["age"], [])
    with pytest.raises(errors.PolicyError):
        linkability(FOUR, FOUR, ["age"], ["zip"], neighbours=0)
    with pytest.raises(errors.PolicyError):
        inference(FOUR, FOUR, ["age"], "age")
    with pytest.raises(errors.PolicyError):
        singling_out(FOUR, FOUR, mode="many")
    for wrong in ({"trials": 0}, {"seed": -1}, {"seed": None}, {"trials": 1.5}):
        with pytest.raises(errors.PolicyError):
            inference(FOUR, FOUR, ["age"], "disease", **wrong)
        with pytest.raises(errors.PolicyError):
            singling_out(FOUR, FOUR, **wrong)
    with pytest.raises(errors.ColumnError, match="the original"):
        inference(FOUR, FOUR.drop("zip"), ["age", "zip"], "disease")


CELL = st.one_of(st.none(), st.sampled_from(["*", "[1, 3]", "{1, 2}", "1*", "é", ""]), st.integers(-(2**70), 2**70))


@pytest.mark.slow
@settings(max_examples=examples(40))
@given(st.lists(st.tuples(CELL, CELL, CELL), min_size=1, max_size=8), st.lists(st.tuples(CELL, CELL, CELL), min_size=1))
def test_nasty_tables(rows: list[tuple[Any, ...]], others: list[tuple[Any, ...]]) -> None:
    released, original = ({n: [row[i] for row in some] for i, n in enumerate("abc")} for some in (rows, others))
    for found in (
        singling_out(released, original, trials=5),
        singling_out(released, original, mode="univariate", trials=5),
        linkability(released, original, ["a"], ["b"], trials=5),
        inference(released, original, ["a", "b"], "c", trials=5),
    ):
        assert 0 <= found.success <= 1
        assert 0 <= found.baseline <= 1
        assert all(0 <= row < len(others) for row in found.exposed)


def test_missing_cells_as_wildcards() -> None:
    holes = FOUR.with_columns(zip=pl.Series([None, "a", "b", None], dtype=pl.String), age=pl.col("age"))
    own = inference(holes, FOUR, ["zip"], "disease")
    wild = inference(holes, FOUR, ["zip"], "disease", wildcard=True)
    # c is nowhere as it is: every record is equally far, so flu; as a wildcard it is one of three in two records
    assert own.success == pytest.approx(3 / 4)
    assert wild.trials == 4
    names = ["zip", "age"]
    assert singling_out(holes, FOUR, names, wildcard=True).success <= singling_out(FOUR, FOUR, names).success
    assert linkability(holes, FOUR, ["zip"], ["age"], wildcard=True).trials == 4
