"""The summary: plain values on nasty tables, none of which shows a cell."""

from __future__ import annotations

import json
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.measures.utility import UTILITIES, utility_summary
from tests.fuzz import examples

TABLE = {"age": [20, 30, 40, 60], "job": ["a", "a", "b", "c"], "ill": ["y", "y", "n", "n"]}
RELEASE = {
    "age": ["[20, 30]", "[20, 30]", "[40, 60]", "[40, 60]"],
    "job": ["a", "a", "*", "*"],
    "ill": ["y", "y", "n", "n"],
}


def test_summary_by_hand():
    found = utility_summary(TABLE, RELEASE, ["age", "job"], k=2)
    assert found["rows"] == {"original": 4, "released": 4, "suppressed": 0, "aligned": True}
    assert found["loss"]["lm"] == pytest.approx(((0.25 + 0.25 + 0.5 + 0.5) / 4 + (1 + 1) / 4) / 2)
    assert found["loss"]["discernibility"] == 8
    assert found["loss"]["c-avg"] == 1
    assert found["numbers"]["mean-absolute-error"]["values"] == pytest.approx((5 + 5 + 10 + 10) / 4)
    assert found["numbers"]["mean-absolute-error"]["means"] == 0
    assert found["categories"]["direct-comparison"] == pytest.approx(((0.5 * 4) / 4 + (2 / 3 * 2) / 4 + 0) / 3)
    assert found["distributions"]["per_column"]["ill"]["total-variation"] == 0
    assert found["learning"] is None
    assert found["queries"]["queries"] == 200
    assert all(measure["sentence"] for measure in found["measures"])


def test_the_default_columns_are_those_that_changed():
    assert utility_summary(TABLE, RELEASE, queries=5)["quasi"] == ["age", "job"]
    assert utility_summary(TABLE, TABLE, queries=5)["quasi"] == ["age", "job", "ill"]
    swapped = TABLE | {"age": [60, 30, 40, 20]}
    assert utility_summary(TABLE, swapped, queries=5)["quasi"] == ["age"]


def test_a_target_adds_learning():
    rows = 60
    table = {"x": list(range(rows)), "ill": ["y" if i < 30 else "n" for i in range(rows)]}
    found = utility_summary(table, table, "x", target="ill", queries=0)
    assert found["loss"]["classification-metric"] == 0
    assert found["learning"]["released"] == found["learning"]["original"]
    assert found["queries"] is None


def test_without_alignment_what_compares_rows_is_none():
    found = utility_summary(TABLE, {name: column[:3] for name, column in RELEASE.items()}, queries=5)
    assert found["rows"] == {"original": 4, "released": 3, "suppressed": 1, "aligned": False}
    assert found["numbers"]["mean-squared-error"]["values"] is None
    assert "direct-comparison" not in found["categories"]
    assert found["loss"]["lm"] > 0


def test_notes_say_how_labels_were_read():
    table = {"a": ["u", "u", "v", "w"], "b": ["u", "u", "v", "w"], "c": ["u", "v", "w", "x"], "n": [1, 2, 3, 4]}
    found = utility_summary(table, {"a": list("GGGw"), "b": ["šecrét", *"uvw"], "c": list("GGwx"), "n": [1, 2, 3, 5]})
    assert ["labels" in note for note in found["notes"]] == [True, False, True, False]
    unread, strange, learnt, moved = found["notes"]
    assert unread.startswith('labels of "c" could not be read and count as no information')
    assert strange.startswith('values of "b" that the original does not have')
    assert learnt.startswith('labels of "a" could not be read and are taken for groups')
    assert '"n" (25%)' in moved
    assert "šecrét" not in json.dumps(found, ensure_ascii=False)
    assert utility_summary(TABLE, RELEASE)["notes"] == []


def test_rows_in_another_order_are_measured_by_distributions():
    turned = {name: column[::-1] for name, column in RELEASE.items()}
    found = utility_summary(TABLE, turned, ["age", "job"], queries=5)
    assert found["rows"]["aligned"] is False
    assert "seem to be in another order" in found["notes"][0]
    assert "direct-comparison" not in found["categories"]
    known = utility_summary(TABLE, turned, ["age", "job"], queries=5, rows=[3, 2, 1, 0])
    assert known["loss"] == utility_summary(TABLE, RELEASE, ["age", "job"], queries=5)["loss"]
    assert known["notes"] == []


@pytest.mark.parametrize("wrong", [{"seed": -1}, {"seed": "x"}, {"queries": -1}, {"dimension": 0}, {"dimension": "2"}])
def test_wrong_numbers_are_refused_before_the_work(wrong):
    with pytest.raises(sf.errors.PolicyError, match=f"{next(iter(wrong))} is out of range.*a whole number"):
        utility_summary(
            TABLE, RELEASE, queries=wrong.get("queries", 0), **{n: v for n, v in wrong.items() if n != "queries"}
        )


@pytest.mark.slow
@pytest.mark.parametrize("name", UTILITIES)
def test_every_variant_runs_and_stays_in_its_range(name):
    variant = UTILITIES[name]
    table = {"age": [20, 30, 40, 60] * 5, "disease": ["y", "y", "n", "n"] * 5}
    release = {"age": ["[20, 30]", "[20, 30]", "[40, 60]", "[40, 60]"] * 5, "disease": ["y", "y", "n", "n"] * 5}
    found = variant.make(table, release, **variant.example)
    assert found.range[0] <= found.value <= found.range[1]
    assert variant.summary
    assert variant.cite


MARK = "šecrét-"
cells = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_infinity=False),
    st.sampled_from(["", "*", "α"]),
)
texts = st.one_of(st.none(), st.just(""), st.text(max_size=3).map(MARK.__add__))
columns = {
    "mixed": cells.map(lambda v: v if v is None else str(v)),
    "text": texts,
    "number": st.one_of(st.none(), st.floats(-1e300, 1e300), st.just(float("nan"))),
    "huge": st.integers(-(2**62), 2**62),
}
tables = st.lists(st.fixed_dictionaries(columns), min_size=1, max_size=8).map(
    lambda rows: pl.DataFrame(
        rows, schema={"mixed": pl.String, "text": pl.String, "number": pl.Float64, "huge": pl.Int64}, orient="row"
    )
)


@pytest.mark.slow
@settings(max_examples=examples(30))
@given(table=tables, data=st.data())
def test_nasty_tables(table, data):
    keep = data.draw(st.lists(st.booleans(), min_size=table.height, max_size=table.height).filter(any))
    rows = np.flatnonzero(keep)
    starred = data.draw(st.sets(st.sampled_from(table.columns)))
    release = table[rows.tolist()].with_columns(pl.lit("*").alias(name) for name in starred)
    try:
        found = utility_summary(table, release, list(columns), rows=rows, queries=5)
    except sf.errors.SfumatoError as error:
        assert MARK not in str(error)
        raise
    text = json.dumps(found, allow_nan=False)
    assert MARK not in text
    for name, share in found["loss"].items():
        if name in ("lm", "ncp", "precision", "non-uniform-entropy"):
            assert -1e-12 <= share <= 1 + 1e-9, name
    if not starred and len(rows) == table.height:
        for name in ("lm", "ncp", "precision", "non-uniform-entropy", "kl-divergence"):
            assert found["loss"][name] == pytest.approx(0, abs=1e-9), name
        assert found["categories"]["direct-comparison"] == pytest.approx(0, abs=1e-12)
        assert found["distributions"]["total-variation"] == pytest.approx(0, abs=1e-12)
        assert found["queries"]["median"] == pytest.approx(0, abs=1e-12)


@settings(max_examples=examples(20))
@given(table=tables)
def test_another_table_of_the_same_shape(table):
    """A release that has nothing to do with the original: synthetic rows, more than there were."""
    release = pl.concat([table.reverse(), table]).with_columns(pl.col("number") * 1.5, mixed=pl.lit("new"))
    found = utility_summary(table, release, list(columns), queries=5)
    assert found["rows"]["suppressed"] == 0
    json.dumps(found, allow_nan=False)
    assert not any(math.isnan(v) for v in found["distributions"]["per_column"]["text"].values())
