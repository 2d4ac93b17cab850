"""A table drawn from a model: what leaves, what is promised of it, and what its manifest tells."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ColumnError, Infeasible, PolicyError, UndecidedColumns
from sfumato.measures.risk.copied_uniques import repeats

RNG = np.random.default_rng(7)
ROWS = 400
PEOPLE = pl.DataFrame(
    {
        "age": RNG.integers(18, 90, ROWS),
        "ward": RNG.choice(["a", "b", "c"], ROWS),
        "stay": RNG.choice([1, 2, 3, 5], ROWS),
    }
)
COMMON = pl.DataFrame({"age": [31, 42, 58, 42] * 25, "ill": ["no", "no", "yes", "yes"] * 25})


def test_as_many_rows_as_asked_and_the_same_again(tmp_path):
    made = [sf.synthesize(COMMON, "bootstrap", rows=37, seed=4) for _ in range(2)]
    assert made[0].data.height == 37
    assert made[0].data.equals(made[1].data)
    assert not sf.synthesize(COMMON, "bootstrap", rows=37, seed=5).data.equals(made[0].data)
    assert made[0].data.schema == COMMON.schema


def test_a_saved_release_verifies_and_tells_nothing_of_the_original(tmp_path):
    release = sf.synthesize(PEOPLE, "bootstrap", copies="keep", seed=1, to=tmp_path / "out")
    found = sf.verify(tmp_path / "out")
    assert found.outcome == "nothing promised"
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["made_by"] == "synthesis"
    assert release.synthesis.repeated > 0
    assert set(manifest["synthesis"]) == {"copies", "m", "hold_out", "partial", "copies_people", "mixes_people"}
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == ["data.csv", "manifest.json", "report.html"]


def test_copies_of_unique_rows_are_dropped_and_checked_against_the_original(tmp_path):
    release = sf.synthesize(PEOPLE, "bootstrap", copies="drop", seed=1, to=tmp_path / "out")
    assert not repeats(PEOPLE, release.data).any()
    assert [fact.holds for fact in release.facts] == [True]
    assert [fact.holds for fact in sf.verify(tmp_path / "out", original=PEOPLE).facts] == [True]
    alone = release.data.unique()
    assert [fact.holds for fact in sf.verify(tmp_path / "out", original=alone).facts] == [False]


@pytest.mark.parametrize("copies", ["redraw", "drop"])
def test_a_model_that_has_only_copies_to_give_is_refused(copies):
    with pytest.raises(Infeasible, match="repeats people"):
        sf.synthesize(PEOPLE.with_row_index("n"), "bootstrap", insensitive=["n"], seed=1, copies=copies)


@pytest.mark.parametrize("m", [1, 3])
def test_quasi_identifiers_that_are_not_the_first_columns_order_the_rows(m, tmp_path):
    asked = {"quasi": ["stay", "age"], "sensitive": ["ward"], "copies": "keep", "m": m, "seed": 1}
    release = sf.synthesize(PEOPLE, "bootstrap", to=tmp_path / "out", **asked)
    assert sf.verify(tmp_path / "out").outcome == "nothing promised"
    first = release.data if m == 1 else release.data.filter(pl.col("copy") == 1)
    smallest = first.group_by("stay", "age").len()["len"].min()
    assert release.manifest["measured"][0]["smallest"] <= smallest  # of each copy by itself


def test_rows_are_held_out():
    release = sf.synthesize(PEOPLE, "bootstrap", copies="keep", hold_out=0.25, seed=1)
    assert release.hold_out.height == 100
    assert release.learnt_from.height == 300
    both = pl.concat([release.hold_out, release.learnt_from])
    assert both.sort(both.columns).equals(PEOPLE.sort(PEOPLE.columns))


def test_each_of_several_copies_keeps_the_promise(tmp_path):
    release = sf.synthesize(COMMON, "bootstrap", m=3, quasi=["age"], k=5, seed=1, to=tmp_path / "out")
    assert release.data.get_column("copy").to_list() == sorted([1, 2, 3] * 100)
    assert sf.verify(tmp_path / "out").holds
    with pytest.raises(Infeasible, match="k-anonymity"):
        sf.synthesize(COMMON, "bootstrap", rows=9, m=3, quasi=["age"], k=5, seed=1)


@pytest.mark.parametrize(
    ("asked", "error", "says"),
    [
        ({"rows": 0}, PolicyError, "rows"),
        ({"rows": 10**9 + 1}, PolicyError, "rows"),
        ({"hold_out": 1.0}, PolicyError, "hold_out"),
        ({"copies": "burn"}, PolicyError, "copies"),
        ({"m": 0}, PolicyError, "m is out of range"),
        ({"generator": "sequencial-trees"}, PolicyError, "generator"),
        ({"identifying": ["age", "ill"]}, ColumnError, "no column"),
    ],
)
def test_what_makes_no_sense_is_refused(asked, error, says):
    with pytest.raises(error, match=says):
        sf.synthesize(COMMON, **{"generator": "bootstrap", **asked})


def test_few_rows_and_names_are_refused():
    with pytest.raises(PolicyError, match="more rows"):
        sf.synthesize(COMMON[:49], "bootstrap")
    named = COMMON.with_columns(name=pl.Series([f"P{i}" for i in range(100)]))
    with pytest.raises(UndecidedColumns, match="name"):
        sf.synthesize(named, "bootstrap")
    assert "name" not in sf.synthesize(named, "bootstrap", identifying=["name"]).data.columns


@pytest.mark.parametrize("kind", ["pandas", "arrow", "dict", "lazy"])
def test_a_frame_of_the_kind_that_came_in(kind):
    given = {
        "pandas": COMMON.to_pandas,
        "arrow": COMMON.to_arrow,
        "dict": lambda: COMMON.to_dict(as_series=False),
        "lazy": COMMON.lazy,
    }[kind]()
    found = sf.synthesize(given, "bootstrap", rows=20, seed=4).data
    assert type(found) is type(given)


def test_some_columns_are_made_anew_and_the_others_are_those_of_people(tmp_path):
    release = sf.synthesize(
        PEOPLE, sf.SequentialTrees(columns=["stay"]), insensitive=["age"], seed=1, to=tmp_path / "out"
    )
    both = (frame.drop("stay").sort("age", "ward") for frame in (PEOPLE, release.data))
    assert next(both).equals(next(both))
    assert release.changed == ("stay",)
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["synthesis"]["partial"] is True
    with pytest.raises(PolicyError, match="rows that it had"):
        sf.synthesize(PEOPLE, sf.SequentialTrees(columns=["stay"]), insensitive=["age"], rows=10)


def test_rows_at_risk_are_made_anew_and_no_others():
    table = PEOPLE.with_columns(pl.col("age") // 10, n=pl.int_range(ROWS) * 1.5)
    generator = sf.SequentialTrees(columns=["stay"], rows_at_risk=0.1, leaf=5)
    made = sf.synthesize(table, generator, quasi=["age", "ward"], rest="release", seed=1).data
    changed = table.join(made, on="n", maintain_order="left").select(pl.col("stay") != pl.col("stay_right")).to_series()
    size = table.select(pl.len().over("age", "ward")).to_series()
    assert 0 < changed.filter(size < 10).sum() < (size < 10).sum()
    assert not changed.filter(size >= 10).any()
    with pytest.raises(PolicyError, match="quasi-identifiers"):
        sf.synthesize(table, generator, rest="release")


def test_rows_that_are_held_out_do_not_count_as_learnt_from():
    with pytest.raises(PolicyError, match="got 15; allowed: 50 or more"):
        sf.synthesize(PEOPLE[:150], hold_out=0.9)


def test_requests_that_lack_something_say_what(tmp_path):
    with pytest.raises(ColumnError, match="quasi is empty: name at least one"):
        sf.synthesize(PEOPLE, k=3)
    with pytest.raises(PolicyError, match=r"bayes: unknown parameter .degre.; did you mean .degree."):
        sf.synthesize(PEOPLE, "bayes degre=2")
    (tmp_path / "empty.csv").write_text("a,b\n")
    with pytest.raises(PolicyError, match="needs more rows to learn from; got 0"):
        sf.synthesize(sf.scan(tmp_path / "empty.csv"), to=tmp_path / "out")


def test_proper_copies_are_of_models_of_their_own(tmp_path):
    """Without it, all copies are drawn from one model: no value leaves its leaves. Grown on a bootstrap sample each,
    models differ, and so do the values that can be drawn."""
    rng = np.random.default_rng(3)
    table = pl.DataFrame({"x": rng.integers(0, 2, 400), "y": np.arange(400) % 97})
    kept = {"copies": "keep", "hold_out": 0, "rest": "release", "seed": 1, "m": 2, "rows": 20_000}
    for data, to in ((table, None), (_scanned(table, tmp_path), tmp_path / "out")):
        lacking = []
        for proper in (False, True):
            generator = sf.SequentialTrees(proper=proper, smoothing="none")
            made = sf.synthesize(data, generator, **kept, to=None if to is None else to / str(proper))
            frame = made.data if to is None else pl.read_parquet(made.path / "data.parquet")
            drawn = frame.group_by("copy").agg(pl.col("y").unique()).sort("copy")["y"].to_list()
            lacking.append([{*table["y"]} - {*values} for values in drawn])
        assert lacking[0] == [set(), set()]
        assert lacking[1][0] != lacking[1][1]


def _scanned(table, folder):
    table.write_parquet(folder / "table.parquet")
    return sf.scan(folder / "table.parquet")
