"""risk, utility and attack of synthetic tables: nothing is compared row by row, and chance is told from copying."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import PolicyError
from sfumato.verbs.synthetic_measures import NO_ORIGINAL, NO_ROWS, OF_A_SAMPLE, UNKNOWN_SPLIT

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
    assert found["synthetic"] == again["synthetic"]
    assert found["synthetic"]["disclosure"]["copied-uniques"]["value"] == 0
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
    with pytest.raises(PolicyError, match="suda looks at rows of people, and this table has none"):
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
    in_part = sf.synthesize(people, sf.SequentialTrees(columns=["cost"]), **asked)
    found = sf.risk(in_part)
    assert found["prosecutor"]["highest"] > 0
    assert found["synthetic"]["rows"]["hold_out"] is None


def test_a_table_of_another_tool(people: pl.DataFrame, release: Any) -> None:
    real, held = people[:150].drop("name"), people[150:].drop("name")
    found = sf.risk(release.table, original=real, holdout=held, synthetic=True, quasi=["age"], sensitive=["ill"])
    assert found["synthetic"]["rows"] == {"original": 150, "released": ROWS, "hold_out": 50}
    found = sf.utility(real, release.table, synthetic=True, holdout=held)
    assert found["loss"] == {}
    assert set(found["synthetic"]) == {"rows", "utility"}


def test_of_an_out_of_core_table_the_rows_held_out_are_not_known(people: pl.DataFrame, tmp_path: Path) -> None:
    people.drop("name").write_parquet(tmp_path / "people.parquet")
    drawn = sf.synthesize(sf.scan(tmp_path / "people.parquet"), "gaussian-copula", seed=1, to=tmp_path / "out")
    for one in (drawn, tmp_path / "out"):
        found = sf.utility(people, one, queries=0)
        assert OF_A_SAMPLE in found["notes"]
        assert found["synthetic"]["rows"] == {"original": ROWS, "released": ROWS, "hold_out": None}
