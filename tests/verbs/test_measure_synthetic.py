"""risk, utility and attack of synthetic tables: nothing is compared row by row, and chance is told from copying."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import PolicyError
from sfumato.measures.risk import copied_uniques
from sfumato.verbs.synthetic_measures import (
    AFTER_COPIES,
    MIXED_ROWS,
    NEAR_ROWS,
    NO_CLASSES,
    NO_ORIGINAL,
    NO_ROWS,
    OF_A_SAMPLE,
    UNKNOWN_SPLIT,
)
from tests.fuzz import slow_but

ROWS = 200


@pytest.fixture(scope="module")
def people() -> pl.DataFrame:
    chance = np.random.default_rng(7)
    age = chance.integers(18, 60, ROWS)
    return pl.DataFrame(
        {
            "name": [f"P{i}" for i in range(ROWS)],
            "age": age,
            "ward": chance.choice(["a", "b", "c"], ROWS),
            "cost": (age * 30 + chance.normal(0, 300, ROWS)).round(1),
            "ill": np.where(chance.uniform(size=ROWS) < age / 80, "yes", "no"),
        }
    )


@pytest.fixture(scope="module")
def release(people: pl.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("synthetic") / "out"
    asked: dict[str, Any] = {"identifying": ["name"], "quasi": ["age", "ward"], "sensitive": ["ill"]}
    return sf.synthesize(people, "sequential-trees", seed=4, to=folder, **asked)


@pytest.mark.slow
def test_a_folder_and_its_original_tell_what_a_release_does(people: pl.DataFrame, release: Any) -> None:
    found, again = sf.risk(release), sf.risk(release.path, original=people)
    assert "prosecutor" not in found
    assert "classes" not in found
    assert found["synthetic"]["rows"] == {"original": 180, "released": ROWS, "hold_out": 20}
    own, folders = (dict(one["synthetic"]["disclosure"]) for one in (found, again))
    copied, counted_after = own.pop("copied-uniques"), folders.pop("copied-uniques")
    assert own == folders
    assert found["synthetic"]["attacks"] == again["synthetic"]["attacks"]
    assert copied["value"] == counted_after["value"] == 0
    before = copied_uniques(release.learnt_from, release.synthesis.first, hold_out=release.hold_out)
    assert before.value > 0
    assert copied["baseline"] == before.baseline  # before any row was drawn again
    sentence = next(one["sentence"] for one in found["measures"] if one["name"] == "copied-uniques")
    assert f"as drawn, before copies were taken out, {before.details['copied']} (" in sentence
    assert "unique in the original" not in sentence  # as the rows held out are of it, too
    assert AFTER_COPIES in again["notes"]
    assert AFTER_COPIES not in found["notes"]
    assert set(found["synthetic"]) == {"rows", "disclosure", "attacks"}
    assert any(measure["name"] == "likely-but-absent" for measure in found["measures"])


@pytest.mark.slow
def test_another_original_tells_nothing_of_the_rows_held_out(people: pl.DataFrame, release: Any) -> None:
    other = people.with_columns(pl.col("age") + 1)
    found = sf.risk(release.path, original=other)
    assert UNKNOWN_SPLIT in found["notes"]
    assert sum("cannot be told" in note for note in found["notes"]) == 1
    assert found["synthetic"]["rows"]["hold_out"] is None


def test_without_the_original_nothing_is_measured(release: Any) -> None:
    found = sf.risk(release.path)
    assert found["measures"] == []
    assert NO_ORIGINAL in found["notes"]
    with pytest.raises(PolicyError, match="suda looks at rows of people as they are, and this table has none"):
        sf.risk(release, suda=True)


@pytest.mark.slow
def test_no_loss_and_nothing_row_by_row(people: pl.DataFrame, release: Any) -> None:
    found = sf.utility(people, release.path)
    assert found["loss"] == {}
    assert not found["rows"]["aligned"]
    assert NO_ROWS in found["notes"][0]
    assert found["synthetic"]["utility"]["marginals"]["value"] < 0.3
    assert found["numbers"]["mean-variation"]["means"] < 0.1
    assert not {measure["name"] for measure in found["measures"]} & {"lm", "total-variation", "contingency"}
    assert sf.utility(release)["synthetic"] == found["synthetic"]
    fewer = sf.utility(people[:100], release.path)
    assert any("made of a table of 200 rows" in note for note in fewer["notes"])
    with pytest.raises(PolicyError, match="rows and key say which row came from which"):
        sf.utility(people, release.path, key="age")


@pytest.mark.slow
def test_exposed_rows_are_those_of_the_original(people: pl.DataFrame, release: Any) -> None:
    found, again = sf.attack(release, trials=100), sf.attack(release.path, original=people, trials=100)
    assert found == again
    assert found.skipped["order"] == NO_ROWS
    assert "membership" in found
    exposed = found["inference"]["exposed"]
    assert exposed
    assert not {*exposed} & {*release.synthesis.held_out.tolist()}


@pytest.mark.slow
def test_rows_of_people_and_promises_keep_their_classes(people: pl.DataFrame) -> None:
    asked: dict[str, Any] = {"identifying": ["name"], "quasi": ["ward"], "seed": 1}
    copied = sf.risk(sf.synthesize(people, "bootstrap", copies="keep", **asked))
    assert copied["prosecutor"]["highest"] > 0
    assert copied["synthetic"]["disclosure"]["copied-uniques"]["value"] > 0.4
    promised = sf.risk(sf.synthesize(people, m=2, k=5, **asked))
    assert promised["achieved"]["k"] >= 5
    assert promised["rows"] == ROWS
    assert "measured of the first of 2 tables" in promised["notes"]
    in_part = sf.synthesize(people, sf.SequentialTrees(columns=["cost"]), rest="release", **asked)
    found = sf.risk(in_part)
    assert found["prosecutor"]["highest"] > 0
    assert found["synthetic"]["rows"]["hold_out"] is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("order", "kind"),
    slow_but(
        [("canonical", "polars"), ("random", "polars"), ("canonical", "pandas"), ("random", "pandas")],
        ("random", "pandas"),
    ),
)
def test_rows_of_people_are_compared_with_their_own(people: pl.DataFrame, order: str, kind: str) -> None:
    given: Any = people if kind == "polars" else people.to_pandas()
    asked: dict[str, Any] = {"identifying": ["name"], "quasi": ["age", "cost"], "rest": "release", "seed": 1}
    release = sf.synthesize(given, sf.SequentialTrees(columns=["cost"]), order=order, **asked)
    found = sf.risk(release)
    window = found["interval_disclosure"]["columns"]
    assert window["age"]["rank"] == 1  # as it was
    assert window["cost"]["rank"] < 1
    assert found["distance_linkage"]["success"] > found["distance_linkage"]["baseline"]
    assert sf.utility(release, queries=0)["rows"]["aligned"]
    several = sf.risk(sf.synthesize(given, sf.SequentialTrees(columns=["cost"]), order=order, m=2, **asked))
    assert "no interval disclosure" in several["interval_disclosure"]["note"]


@pytest.mark.slow
def test_rows_of_people_without_quasi_identifiers_are_measured(people: pl.DataFrame) -> None:
    rows = people.drop("name")
    copied = sf.risk(sf.synthesize(rows, "bootstrap", copies="keep", seed=1))
    assert copied["synthetic"]["disclosure"]["copied-uniques"]["value"] > 0.4
    in_part = sf.risk(sf.synthesize(rows, sf.SequentialTrees(columns=["cost"]), rest="release", seed=1))
    assert {"synthetic", "distance_linkage"} <= {*in_part}


@pytest.mark.slow
def test_rows_that_are_mixed_are_said_to_be_those_of_people(people: pl.DataFrame, tmp_path: Path) -> None:
    asked: dict[str, Any] = {"identifying": ["name"], "quasi": ["age", "ward"], "sensitive": ["ill"], "seed": 1}
    release = sf.synthesize(people, sf.Mix(0.9), to=tmp_path / "out", **asked)
    for one, known in ((release, {}), (tmp_path / "out", {"original": people})):
        found = sf.risk(one, **known)
        assert found["notes"][0] == NO_CLASSES.format(MIXED_ROWS)
        assert NEAR_ROWS in found["notes"]
        assert found["synthetic"]["disclosure"]["nearest-record"]["value"] > 0.9
        with pytest.raises(PolicyError, match="each of its rows is a person's, mixed with one drawn"):
            sf.risk(one, suda=True)
        assert sf.attack(one, trials=20, **known).skipped["order"] == MIXED_ROWS
        used = sf.utility(people, one, queries=0)
        assert MIXED_ROWS in used["notes"][0]
        assert not any(NO_ROWS in note for note in (*found["notes"], *used["notes"]))
    drawn = sf.risk(sf.synthesize(people, sf.Mix(0), **asked))
    assert drawn["notes"][0] == NO_CLASSES.format(NO_ROWS)


@pytest.mark.slow
def test_a_table_of_another_tool(people: pl.DataFrame, release: Any) -> None:
    real, held = people[:150].drop("name"), people[150:].drop("name")
    found = sf.risk(release.table, original=real, holdout=held, synthetic=True, quasi=["age"], sensitive=["ill"])
    assert found["synthetic"]["rows"] == {"original": 150, "released": ROWS, "hold_out": 50}
    found = sf.utility(real, release.table, synthetic=True, holdout=held)
    assert found["loss"] == {}
    assert set(found["synthetic"]) == {"rows", "utility"}


@pytest.mark.slow
def test_of_an_out_of_core_table_the_rows_held_out_are_not_known(people: pl.DataFrame, tmp_path: Path) -> None:
    people.drop("name").write_parquet(tmp_path / "people.parquet")
    drawn = sf.synthesize(sf.scan(tmp_path / "people.parquet"), "gaussian-copula", seed=1, to=tmp_path / "out")
    for one in (drawn, tmp_path / "out"):
        found = sf.utility(people, one, queries=0)
        assert OF_A_SAMPLE in found["notes"]
        assert found["synthetic"]["rows"] == {"original": ROWS, "released": ROWS, "hold_out": None}
