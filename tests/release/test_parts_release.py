"""A Spark frame with more cells than fit one machine, through the verbs: blurred, written and verified in parts."""

from __future__ import annotations

from pathlib import Path
from random import SystemRandom
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import BrokenPromise, PolicyError
from sfumato.release.parts import search as stored_parts

pytestmark = pytest.mark.spark
ROWS = 1500
ASKED: dict[str, Any] = {
    "quasi": ["age", "height", "sex"],
    "identifying": ["name"],
    "sensitive": ["disease"],
    "require": [sf.KAnonymity(10), sf.TCloseness("disease", 0.5)],
    "max_cells": 1000,
}


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    return pl.DataFrame(
        {
            "name": [f"p{i}" for i in range(ROWS)],
            "age": rng.integers(0, 90, ROWS),
            "height": rng.normal(170, 10, ROWS),
            "sex": rng.choice(["F", "M"], ROWS),
            "disease": rng.choice(["flu", "cold", "ache"], ROWS),
        }
    )


@pytest.fixture(scope="module")
def frame(table: pl.DataFrame, spark: Any) -> Any:
    return spark.createDataFrame(table.to_arrow(compat_level=pl.CompatLevel.oldest())).cache()


def test_it_is_the_release_of_one_machine_where_one_part_is_enough(table: pl.DataFrame, frame: Any) -> None:
    here = sf.anonymize(table, search="mondrian", **{k: v for k, v in ASKED.items() if k != "max_cells"})
    release = sf.anonymize(frame, search="mondrian", **ASKED)
    there = pl.from_arrow(release.data.toArrow())
    assert isinstance(there, pl.DataFrame)
    assert there.sort(there.columns).equals(here.table.sort(here.table.columns))
    assert release.solution.verdict.loss == pytest.approx(here.solution.verdict.loss, abs=1e-12)
    assert sf.risk(release)["prosecutor"]["highest"] <= 0.1


def test_the_default_says_why_it_works_in_parts(frame: Any, tmp_path: Path) -> None:
    release = sf.anonymize(frame, to=tmp_path / "out", **ASKED)
    assert "in parts" in release.manifest["policy"]["chosen"]["why"]
    assert release.path == tmp_path / "out"
    assert sf.verify(tmp_path / "out").holds
    assert pl.read_parquet(tmp_path / "out" / "data.parquet" / "*.parquet").height == ROWS


def test_parts_of_text_are_verified_too(frame: Any, tmp_path: Path) -> None:
    sf.anonymize(frame, to=sf.Folder(tmp_path / "out", format="csv"), **ASKED)
    assert sf.verify(tmp_path / "out").holds


TIDY: dict[str, Any] = {
    "quasi": ["age", "born", "sex"],
    "insensitive": ["zip"],
    "require": [sf.KAnonymity(10), sf.DistinctLDiversity("disease", 2)],
    "tidy": True,
}


@pytest.fixture(scope="module")
def people(spark: Any) -> tuple[pl.DataFrame, Any]:
    """Few ages beside many days, so that more steps would be printed of ages than there are."""
    rng = np.random.default_rng(8)
    born = np.datetime64("1940-01-01") + rng.integers(0, 365 * 60, 4000).astype("m8[D]")
    table = pl.DataFrame(
        {
            "age": pl.Series(rng.integers(17, 40, 4000)).set(pl.Series(np.arange(4000) % 300 == 0), None),
            "born": pl.Series(born.astype("M8[D]")),
            "sex": rng.choice(["F", "M"], 4000),
            "zip": rng.choice([f"{i:05}" for i in range(1000, 1900, 30)], 4000),
            "disease": rng.choice(["flu", "cold", "ache"], 4000),
        }
    )
    return table, spark.createDataFrame(table.to_arrow(compat_level=pl.CompatLevel.oldest())).cache()


def test_labels_are_tidy_in_parts_too(people: tuple[pl.DataFrame, Any], tmp_path: Path) -> None:
    table, frame = people
    method = sf.Mondrian(cut="best", dimension="ncp", labels="hierarchy")
    here = sf.anonymize(table, search=method, **TIDY)
    release = sf.anonymize(frame, max_cells=1000, **TIDY)  # which picks the same
    there = pl.from_arrow(release.data.toArrow())
    assert isinstance(there, pl.DataFrame)
    assert there.sort(there.columns).equals(here.table.sort(here.table.columns))
    assert release.solution.verdict.loss == pytest.approx(here.solution.verdict.loss, abs=1e-12)
    assert release.manifest["policy"]["tidy"]
    assert release.manifest["measured"] == here.manifest["measured"]
    release.save(tmp_path / "out")
    assert sf.verify(tmp_path / "out").holds


def test_labels_of_many_parts_are_no_more_than_the_values(
    people: tuple[pl.DataFrame, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    table, frame = people
    monkeypatch.setattr("sfumato.release.parts.mondrian.PART_ROWS", 500)
    given = TIDY | {"quasi": ["age", "born", "zip"], "insensitive": ["sex"]}
    release = sf.anonymize(frame, max_cells=1000, **given)
    there = pl.from_arrow(release.data.toArrow())
    assert isinstance(there, pl.DataFrame)
    for name in ("age", "born"):
        assert there[name].n_unique() <= table[name].n_unique() + (name == "age")
    assert there["zip"].str.contains(r"^[0-9]*\**$").all()
    lost = sf.utility(table, there, quasi=given["quasi"])["loss"]["lm"]
    assert release.solution.verdict.loss == pytest.approx(lost, rel=0.01)
    monkeypatch.setattr("sfumato.release.parts.domain.STEPPED", 100)
    ranges = sf.anonymize(frame, max_cells=1000, **given)
    assert not ranges.manifest["policy"]["tidy"]  # days are too many, and print ranges
    assert ranges.verification.holds


def test_what_was_written_and_fails_is_not_released(
    frame: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    true = stored_parts.verify_on
    monkeypatch.setattr(stored_parts, "verify_on", lambda rows, *given, **more: true(rows.limit(50), *given, **more))
    with pytest.raises(BrokenPromise):
        sf.anonymize(frame, to=tmp_path / "out", **ASKED)
    assert list(tmp_path.iterdir()) == []


def test_a_search_that_needs_all_cells_is_refused_by_name(frame: Any) -> None:
    with pytest.raises(PolicyError, match="optimal"):
        sf.anonymize(frame, search="optimal", **ASKED)
    with pytest.raises(PolicyError, match="numbers and dates must be written as text; got a table with more cells"):
        sf.anonymize(frame, numbers="bounds", **ASKED)


def test_more_classes_than_fit_are_verified_on_the_cluster(table: pl.DataFrame, frame: Any) -> None:
    asked: dict[str, Any] = {"quasi": ["age", "height"], "require": [sf.KAnonymity(2)]}
    assert sf.verify(frame, max_cells=100, **asked) == sf.verify(table, **asked)


def test_more_cells_than_the_sample_promised_are_blurred_in_parts_too(
    frame: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sfumato.release.request.estimate", lambda *given: 900)
    release = sf.anonymize(frame, **ASKED)
    assert "in parts" in release.manifest["policy"]["chosen"]["why"]


def test_a_protected_column_that_changes_meanwhile_is_found_out(table: pl.DataFrame, spark: Any) -> None:
    from pyspark.sql import functions as F

    moody = F.udf(lambda: SystemRandom().choice(["flu", "cold", "ache", "burn", "gout"]), "string").asNondeterministic()
    frame = spark.createDataFrame(table.to_arrow(compat_level=pl.CompatLevel.oldest())).withColumn("disease", moody())
    with pytest.raises(sf.errors.ReadError, match="changed while"):
        sf.anonymize(frame, **ASKED)
