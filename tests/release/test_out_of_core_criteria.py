"""Criteria with sensitive attributes, searches that need care, and refusals, on a table in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.engines.files.bytes import read_back
from sfumato.engines.files.table import FileTable
from sfumato.errors import BrokenPromise, ColumnError, Infeasible, OutputError, PolicyError

QUASI = ["age", "zip"]


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    rng = np.random.default_rng(1)
    n = 2000
    return pl.DataFrame(
        {
            "age": rng.integers(20, 50, n),
            "zip": rng.choice(["a1", "a2", "b1", "b2"], n),
            "disease": pl.Series(rng.choice(["flu", "cold", "ache", ""], n, p=[0.4, 0.3, 0.2, 0.1])),
            "wage": rng.integers(1, 5, n),
        }
    )


@pytest.fixture
def store(table: pl.DataFrame, tmp_path: Path) -> FileTable:
    table.write_parquet(tmp_path / "in.parquet")
    return FileTable(tmp_path / "in.parquet", part=300)


TREE = {"disease": sf.levels({"flu": "cold or flu", "cold": "cold or flu", "ache": "other"}, "*")}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("require", "more"),
    [
        (sf.DistinctLDiversity("disease", 3), {}),
        (sf.EntropyLDiversity("disease", 2), {}),
        (sf.RecursiveCLDiversity("disease", 3, 2), {}),
        (sf.TCloseness("disease", 0.3), {}),
        (sf.TCloseness("wage", 0.3, "ordered"), {}),
        (sf.TCloseness("disease", 0.3, "hierarchical"), {"hierarchies": TREE}),
        (sf.AlphaK(0.7, 5, "disease"), {}),
        (sf.BetaLikeness("disease", 2.0), {}),
        (sf.DeltaDisclosure("disease", 2.0), {}),
        (sf.KMap(20, 0.1), {}),
        (sf.TCloseness("disease", 0.4, reference={"flu": 2, "cold": 1, "ache": 1}), {"suppression": 0.1}),
        (sf.DistinctLDiversity("disease", 2, per={"ache": 3}), {}),
        (sf.EntropyLDiversity("disease", 1.5, per={"ache": 2}), {}),
        (sf.PersonalKAnonymity("wage", 4), {}),
        (sf.AverageRisk(0.05), {}),
        (sf.SampleUniqueness(0.01), {}),
        (sf.PopulationUniqueness(0.01, 0.1), {}),
        ([sf.KAnonymity(4), sf.DistinctLDiversity("disease", 2), sf.TCloseness("wage", 0.4)], {}),
        ([sf.KAnonymity(12), sf.TCloseness("disease", 0.25)], {"suppression": 0.2}),
    ],
    ids=lambda value: str(value)[:24],
)
@pytest.mark.parametrize("search", ["optimal", "mondrian"])
def test_every_criterion(
    table: pl.DataFrame, store: FileTable, tmp_path: Path, require: Any, more: Any, search: str
) -> None:
    asked = {"quasi": QUASI, "rest": "release", "require": require, "search": search, **more}
    local, stored = sf.anonymize(table, **asked), sf.anonymize(store, to=tmp_path / "out", **asked)
    assert read_back(stored.path / "data.parquet", "parquet").equals(_text(local.table))
    assert stored.verification == local.verification
    assert stored.solution.verdict == local.solution.verdict
    assert stored.manifest["whole"] == local.manifest["whole"]
    assert stored.manifest["sensitive_hierarchies"] == local.manifest["sensitive_hierarchies"]
    assert sf.verify(stored.path).holds


def _text(table: pl.DataFrame) -> pl.DataFrame:
    from sfumato.core.printed import printed_frame

    return printed_frame(table)


@pytest.mark.parametrize(
    ("asked", "picked"),
    [
        ({}, "mondrian"),
        ({"keep": "consistent-columns"}, "optimal"),
        ({"suppression": 0.1, "levels": {"age": 1}}, "optimal"),
    ],
)
def test_auto_picks_a_search_that_keeps_equal_rows_together(
    store: FileTable, tmp_path: Path, asked: Any, picked: str
) -> None:
    release = sf.anonymize(store, to=tmp_path / "out", quasi=QUASI, rest="release", require=sf.KAnonymity(3), **asked)
    assert release.manifest["policy"]["search"]["name"] == picked
    assert release.solution.choice is not None


def test_auto_takes_a_criterion_that_is_not_closed_under_merging(store: FileTable, tmp_path: Path) -> None:
    asked = [sf.KAnonymity(3), sf.EntropyLDiversity("disease", 1.2, per={"ache": 1.5})]
    release = sf.anonymize(store, to=tmp_path / "out", quasi=QUASI, rest="release", require=asked)
    assert release.manifest["policy"]["search"]["labels"] == "ranges"
    assert sf.verify(tmp_path / "out").holds


@pytest.mark.parametrize(
    ("search", "require"),
    [
        ("top-down", [sf.KAnonymity(4)]),
        ("refined", [sf.KAnonymity(4)]),
        # cells that are told apart by the sensitive attribute too
        (sf.Mondrian(relaxed=True), [sf.KAnonymity(4), sf.DistinctLDiversity("ill", 2)]),
    ],
)
def test_searches_that_may_split_are_used_where_they_do_not(tmp_path: Path, search: Any, require: Any) -> None:
    rng = np.random.default_rng(1)
    some = {"age": rng.integers(0, 6, 24), "zip": rng.choice(["a", "b"], 24), "ill": rng.choice(["x", "y", "z"], 24)}
    table = pl.DataFrame(some) if len(require) > 1 else pl.concat([pl.DataFrame(some)] * 4)
    table.write_parquet(tmp_path / "in.parquet")
    asked = {"quasi": QUASI, "rest": "release", "require": require, "search": search}
    release = sf.anonymize(FileTable(tmp_path / "in.parquet"), to=tmp_path / "out", **asked)
    assert read_back(release.path / "data.parquet", "parquet").equals(_text(sf.anonymize(table, **asked).table))


def test_a_search_that_splits_cells_is_refused(store: FileTable, tmp_path: Path) -> None:
    with pytest.raises(PolicyError, match=r"different labels.*mondrian"):
        sf.anonymize(
            store, to=tmp_path / "out", quasi=QUASI, rest="release", require=sf.KAnonymity(50), search="k-member"
        )
    wildcard = sf.MinimalSuppression(rule="wildcard")
    with pytest.raises(PolicyError, match="matches any value"):
        sf.anonymize(store, to=tmp_path / "out", quasi=QUASI, rest="release", require=sf.KAnonymity(3), search=wildcard)
    assert not list(tmp_path.glob("out")) + list(tmp_path.glob(".sfumato*"))


@pytest.mark.parametrize(
    ("asked", "error", "words"),
    [
        ({"quasi": ["agee"]}, ColumnError, "age"),
        ({"weight": "disease"}, ColumnError, "above 0"),
        ({"require": sf.KAnonymity(2001)}, Infeasible, "2000"),
        (
            {"require": sf.KAnonymity(400), "levels": {"age": 0, "zip": 0}, "search": "optimal"},
            Infeasible,
            "suppress",
        ),
        ({"to": sf.Folder("out", format="xlsx")}, OutputError, "parquet"),
        ({"to": None}, PolicyError, "has to be named"),
        ({"to": sf.Table("release")}, PolicyError, "no database"),
        ({"to": 3}, PolicyError, "got int"),
        ({"max_cells": 10}, PolicyError, r"max_cells=10.*age"),
        ({"max_cells": 0}, PolicyError, "max_cells"),
        ({"suppression": -1}, PolicyError, "negative"),
        ({"progress": 3}, PolicyError, "progress"),
    ],
)
def test_what_makes_no_sense_is_refused_and_leaves_nothing(
    store: FileTable, tmp_path: Path, asked: Any, error: Any, words: str
) -> None:
    asked = {"quasi": QUASI, "rest": "release", "require": sf.KAnonymity(3), "to": tmp_path / "out"} | asked
    with pytest.raises(error, match=words):
        sf.anonymize(store, **asked)
    assert [p.name for p in tmp_path.iterdir()] == ["in.parquet"]


def test_a_release_that_breaks_its_promise_is_not_written(
    store: FileTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raw(*args: Any) -> Any:
        from sfumato.engines.protocol import Plan

        return Plan(("age", "zip", "disease", "wage"), ("age", "zip"), ("age", "zip"))

    monkeypatch.setattr("sfumato.release.pipeline.plan_of", raw)
    with pytest.raises(BrokenPromise, match="k-anonymity"):
        sf.anonymize(
            store, to=tmp_path / "out", quasi=QUASI, rest="release", require=sf.KAnonymity(30), search="optimal"
        )
    assert [p.name for p in tmp_path.iterdir()] == ["in.parquet"]


def test_rows_lost_on_the_way_are_noticed(store: FileTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from dataclasses import replace

    from sfumato.release import pipeline as stored

    whole = stored.plan_of

    def fewer(*args: Any) -> Any:
        plan = whole(*args)
        return replace(plan, cells=plan.cells.filter(pl.col("age") > 30))

    monkeypatch.setattr("sfumato.release.pipeline.plan_of", fewer)
    with pytest.raises(BrokenPromise, match="rows and columns"):
        sf.anonymize(
            store, to=tmp_path / "out", quasi=QUASI, rest="release", require=sf.KAnonymity(3), search="mondrian"
        )


def test_what_cannot_be_shown_from_the_release_alone_is_refused(tmp_path: Path) -> None:
    ages, ills = [1] * 50 + [2] * 500 + [3] * 49, ["x"] * 50 + ["y"] * 500 + ["x"] * 49
    table = pl.DataFrame({"age": ages, "zip": ["a"] * 599, "ill": ills})
    table.write_parquet(tmp_path / "in.parquet")
    asked: Any = {"require": [sf.KAnonymity(50), sf.TCloseness("ill", 0.85)], "suppression": 49, "search": "optimal"}
    asked |= {"quasi": QUASI, "rest": "release", "levels": {"age": 0, "zip": 0}}
    with pytest.raises(PolicyError, match="give the suppressed rows away") as local:
        sf.anonymize(table, **asked).save(tmp_path / "local")
    with pytest.raises(PolicyError, match="give the suppressed rows away") as stored:
        sf.anonymize(FileTable(tmp_path / "in.parquet"), to=tmp_path / "out", **asked)
    assert str(stored.value) == str(local.value)
    assert [p.name for p in tmp_path.iterdir()] == ["in.parquet"]


def test_the_value_map_and_the_repr(table: pl.DataFrame, store: FileTable, tmp_path: Path) -> None:
    asked = {"quasi": QUASI, "rest": "release", "require": sf.KAnonymity(3), "search": "optimal", "suppression": 0.05}
    release = sf.anonymize(store, to=tmp_path / "out", **asked)
    assert release.value_map() == sf.anonymize(table, **asked).value_map()
    assert "k-anonymity" in repr(release)
    assert (release.path / "report.html").read_text("utf-8").startswith("<!doctype html>")


def test_an_earlier_release_is_replaced_only_when_asked(store: FileTable, tmp_path: Path) -> None:
    asked: Any = {"quasi": QUASI, "rest": "release", "require": sf.KAnonymity(3), "search": "optimal"}
    first = sf.anonymize(store, to=tmp_path / "out", **asked)
    with pytest.raises(OutputError, match="exists"):
        sf.anonymize(store, to=tmp_path / "out", **asked)
    again = sf.anonymize(store, to=sf.Folder(tmp_path / "out", overwrite=True), **asked)
    assert again.manifest == first.manifest
