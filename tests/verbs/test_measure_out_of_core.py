"""Risk of an out-of-core table: the figures of the same table in memory, or a refusal by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.engines.files.table import FileTable
from sfumato.errors import ColumnError, PolicyError
from sfumato.measures import risk as single
from sfumato.release import folder as released_data
from tests.measuring_tables import alike, made

TABLE = made()
SETS: list[Any] = [["age", "zip", "member"], ["height", "born", "town", "zip"], [["age", "zip"], ["town", "born"]]]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> FileTable:
    file = tmp_path_factory.mktemp("in") / "in.parquet"
    TABLE.write_parquet(file, row_group_size=500)
    return FileTable(file, part=700)


@pytest.mark.slow
@pytest.mark.parametrize("quasi", SETS)
@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"sensitive": "disease", "sampling_fraction": 0.1, "threshold": 0.05},
        {"sensitive": ["disease", "wage"], "hierarchies": {"disease": sf.flat()}},
        {"weight": "weight"},
        {"suda": True, "subsets": 2, "population": 50_000},
        {"wildcard": True, "sensitive": ["disease"], "suda": 2, "sampling_fraction": 0.2, "weight": "weight"},
        {"profile": "clinical", "wildcard": True},
    ],
)
def test_the_risks_are_those_of_the_table_in_memory(store: FileTable, quasi: Any, asked: dict[str, Any]) -> None:
    alike(sf.risk(TABLE, quasi=quasi, **asked), sf.risk(store, quasi=quasi, **asked))


@pytest.mark.slow
@pytest.mark.parametrize("wildcard", [False, True])
@pytest.mark.parametrize("blurred", [False, True])
def test_a_population_is_a_frame_or_a_store(store: FileTable, tmp_path: Path, wildcard: bool, blurred: bool) -> None:
    sample = TABLE.head(300)
    if blurred:  # labels that the population does not have
        sample = sample.with_columns(age=pl.lit("[20, 45)"), zip=pl.lit("*"))
    sample.write_parquet(tmp_path / "sample.parquet")
    asked: dict[str, Any] = {"quasi": ["age", "zip", "member"], "wildcard": wildcard}
    expected = sf.risk(sample, population=TABLE, **asked)
    assert (expected["journalist"]["average"] < expected["prosecutor"]["average"]) or wildcard
    elsewhere = FileTable(tmp_path / "sample.parquet")
    alike(expected, sf.risk(sample, population=store, **asked))
    alike(expected, sf.risk(elsewhere, population=TABLE, **asked))
    alike(expected, sf.risk(elsewhere, population=store, **asked))


def test_text_files_and_single_measures(tmp_path: Path) -> None:
    file = tmp_path / "in.csv"
    TABLE.write_csv(file)
    quasi, elsewhere = ["age", "zip", "town"], FileTable(file)
    here = sf.read(file)
    alike(sf.risk(here, quasi=quasi, sensitive=["disease"]), sf.risk(elsewhere, quasi=quasi, sensitive=["disease"]))
    assert single.prosecutor(elsewhere, quasi) == single.prosecutor(here, quasi)
    assert single.subsets(elsewhere, quasi).equals(single.subsets(here, quasi))
    assert single.suda_attributes(elsewhere, quasi).equals(single.suda_attributes(here, quasi))
    assert single.sample_uniqueness(elsewhere, quasi) == single.sample_uniqueness(here, quasi)


@pytest.mark.slow
def test_adult(shared: Path, tmp_path: Path) -> None:
    table = pl.read_csv(shared / "data" / "arx" / "adult.csv", separator=";").with_columns(w=pl.lit(2) + pl.col("age"))
    table.write_parquet(tmp_path / "adult.parquet")
    asked: dict[str, Any] = {"quasi": ["sex", "age", "race", "education"], "sensitive": ["occupation"], "weight": "w"}
    alike(sf.risk(table, suda=3, **asked), sf.risk(FileTable(tmp_path / "adult.parquet"), suda=3, **asked))


def test_no_count_is_made_twice(store: FileTable, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, ...]] = []
    count = FileTable.count

    def counting(self: FileTable, columns: Any, *more: Any) -> pl.DataFrame:
        asked.append(tuple(columns))
        return count(self, columns, *more)

    monkeypatch.setattr(FileTable, "count", counting)
    sf.risk(store, quasi=["age", "zip"], sensitive=["disease"], suda=True, subsets=2, profile="clinical")
    assert asked == [("age", "zip", "disease")]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"household": "id"}, "household risk cannot be measured"),
        ({"profile": "hipaa"}, 'profile "hipaa" cannot'),
        ({"profile": "gdpr"}, 'profile "gdpr" cannot'),
        ({"original": TABLE}, "interval disclosure"),
    ],
)
def test_what_needs_rows_is_refused_by_name(store: FileTable, asked: dict[str, Any], says: str) -> None:
    with pytest.raises(PolicyError, match=says) as error:
        sf.risk(store, quasi=["age"], **asked)
    assert "out-of-core table" in str(error.value)
    assert "table.sample" in str(error.value)


def test_an_original_that_is_not_in_memory_is_refused(store: FileTable) -> None:
    with pytest.raises(PolicyError, match="interval disclosure"):
        sf.risk(TABLE, quasi=["age"], original=store)


def test_attacks_are_refused_by_name(store: FileTable) -> None:
    for given in ({"released": store}, {"released": TABLE, "original": store}, {"released": TABLE, "external": store}):
        with pytest.raises(PolicyError, match="success of attacks cannot be measured on an out-of-core table"):
            sf.attack(quasi=["age"], sensitive=["disease"], **given)


def test_scores_per_record_are_for_tables_in_memory(store: FileTable) -> None:
    for measure in (single.suda, single.minimum_unsafe):
        with pytest.raises(sf.errors.InputError):
            measure(store, ["age"])


def test_too_many_combinations_are_refused_where_asked_for(store: FileTable) -> None:
    with pytest.raises(PolicyError, match="too many different combinations") as error:
        sf.risk(store, quasi=["id", "age"], max_cells=1000)
    assert "max_cells" in str(error.value)
    for asked in ({"sensitive": ["id"]}, {"weight": "id"}):
        with pytest.raises(PolicyError, match="too many different combinations"):
            sf.risk(store, quasi=["zip"], max_cells=1000, **asked)
    with pytest.raises(PolicyError, match="max_cells is out of range; got 0"):
        sf.risk(store, quasi=["zip"], max_cells=0)


def test_columns_that_the_table_lacks(store: FileTable) -> None:
    for asked in ({"quasi": ["agee"]}, {"quasi": ["age"], "sensitive": ["agee"]}, {"quasi": ["age"], "weight": "agee"}):
        with pytest.raises(ColumnError, match="agee"):
            sf.risk(store, **asked)


@pytest.fixture(scope="module", params=["csv", "parquet"])
def release(store: FileTable, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return sf.anonymize(
        store,
        quasi=["age", "zip", "born"],
        identifying=["id"],
        sensitive=["disease"],
        insensitive=["height", "town", "member", "wage"],
        weight="weight",
        require=[sf.KAnonymity(5), sf.EntropyLDiversity("disease", 1.5)],
        search="optimal",
        suppression=0.1,
        to=sf.Folder(tmp_path_factory.mktemp("out") / "out", request.param),
    )


@pytest.mark.slow
def test_a_large_release_folder_is_counted(release: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    small = sf.risk(release.path, suda=True)
    assert "notes" not in small
    monkeypatch.setattr(released_data, "LARGE", 0)
    large = sf.risk(release.path, suda=True)
    alike(small, {key: value for key, value in large.items() if key != "notes"})
    assert "have no numbers" in large["notes"][0]
    assert large["achieved"]["k"] >= 5
    assert "individual" in large
    alike(large, sf.risk(release, suda=True))


def test_what_a_release_has_and_cannot_be_counted_is_left_out(release: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(released_data, "LARGE", 0)
    classes = sf.risk(release.path)["classes"]
    found = sf.risk(release.path, max_cells=classes)
    assert [note.split('"')[1] for note in found["notes"]] == ["disease", "weight"]
    assert "individual" not in found
    assert found["achieved"]["sensitive"] == {}
    assert found["classes"] == classes
