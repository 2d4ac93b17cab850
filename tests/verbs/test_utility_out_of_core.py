"""Utility of an out-of-core release: the figures of the same tables in memory, their rows not matched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.engines.files.bytes import read_back
from sfumato.engines.files.table import FileTable
from sfumato.errors import ColumnError, PolicyError
from sfumato.measures.utility import Pair, utility_summary
from sfumato.release import folder as released_data
from tests.measuring_tables import alike, made

pytestmark = pytest.mark.slow

TABLE = made().drop("id")
QUASI = ["age", "zip", "born"]
ASKED: dict[str, Any] = {
    "quasi": QUASI,
    "sensitive": ["disease"],
    "insensitive": ["height", "town", "member", "wage"],
    "weight": "weight",
    "require": sf.KAnonymity(5),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> FileTable:
    file = tmp_path_factory.mktemp("in") / "in.parquet"
    TABLE.write_parquet(file, row_group_size=500)
    return FileTable(file, part=700)


@pytest.fixture(scope="module", params=["mondrian", "optimal"])
def release(store: FileTable, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    trees = {"zip": sf.redact("right")}
    to = sf.Folder(tmp_path_factory.mktemp("out") / "out", "csv")
    return sf.anonymize(store, search=request.param, suppression=0.05, hierarchies=trees, to=to, **ASKED)


def in_memory(released: pl.DataFrame, trees: Any = None, **asked: Any) -> dict[str, Any]:
    """The summary of tables of which nobody knows which row came from which; learning trains on rows."""
    found = utility_summary(Pair(TABLE, released, None, trees or {}), **asked)
    return found | {"learning": None, "measures": [m for m in found["measures"] if m["name"] != "learning"]}


def test_the_figures_are_those_of_tables_in_memory(store: FileTable, release: Any) -> None:
    table = read_back(release.path / "data.csv")
    trees = release.hierarchies
    assert trees
    found = sf.utility(store, release, queries=50, dimension=3)
    alike(in_memory(table, trees, quasi=QUASI, k=5, queries=50, dimension=3), found)
    assert found["loss"]["lm"] == pytest.approx(release.solution.verdict.loss, abs=1e-12)
    assert found["rows"] == {
        "original": TABLE.height,
        "released": table.height,
        "suppressed": TABLE.height - table.height,
        "aligned": False,
    }
    assert "no order of rows" in found["notes"][0]


def test_either_table_may_be_in_memory(store: FileTable, release: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = read_back(release.path / "data.csv")
    expected = in_memory(table, quasi=QUASI, k=5, target="disease", queries=20)
    asked: dict[str, Any] = {"target": "disease", "queries": 20}
    found = sf.utility(store, release.path, **asked)
    alike(expected, found)
    alike(expected, sf.utility(store, table, quasi=QUASI, k=5, **asked))
    monkeypatch.setattr(released_data, "LARGE", 0)
    alike(expected, sf.utility(store, release.path, **asked))
    alike(expected, sf.utility(TABLE, release.path, **asked))
    assert any("learning" in note for note in found["notes"])


def test_columns_that_changed_are_measured_where_none_are_named(store: FileTable, tmp_path: Path) -> None:
    table = TABLE.with_columns(age=pl.lit("*"), wage=pl.col("wage") + 1)
    table.write_parquet(tmp_path / "released.parquet")
    found = sf.utility(store, FileTable(tmp_path / "released.parquet"), queries=10)
    assert found["quasi"] == ["age", "wage"]
    alike(in_memory(table, queries=10), found)
    assert any("do not hold their original value" in note for note in found["notes"])


def test_labels_that_cannot_be_read_count_as_in_memory(store: FileTable, tmp_path: Path) -> None:
    table = TABLE.with_columns(town=pl.when(pl.col("town") == "=A").then(pl.lit("north")).otherwise(pl.lit("south")))
    table.write_parquet(tmp_path / "released.parquet")
    found = sf.utility(store, FileTable(tmp_path / "released.parquet"), quasi=["town"], queries=10)
    alike(in_memory(table, quasi=["town"], queries=10), found)
    assert any("could not be read" in note for note in found["notes"])


def test_columns_of_too_many_values_are_left_out_with_a_note(tmp_path: Path) -> None:
    table = made().drop("town")  # one of its values is "*", which covers all where rows are not matched
    table.write_parquet(tmp_path / "in.parquet")
    store = FileTable(tmp_path / "in.parquet")
    found = sf.utility(store, store, quasi=["age"], queries=5, max_cells=1900)
    assert 'left out: "id"' in found["notes"][1]
    assert "numbers are left out" in found["notes"][2]
    assert found["numbers"] is None
    assert "id" not in found["distributions"]["per_column"]
    assert found["distributions"]["total-variation"] == 0
    for asked in ({"quasi": ["id"]}, {"quasi": ["age"], "target": "id"}):
        with pytest.raises(PolicyError, match="too many different combinations"):
            sf.utility(store, store, max_cells=1900, **asked)


def test_what_compares_rows_is_refused_by_name(store: FileTable, tmp_path: Path) -> None:
    for asked in ({"rows": [0]}, {"key": "age"}):
        with pytest.raises(PolicyError, match="rows and key"):
            sf.utility(store, TABLE, **asked)
    TABLE.drop("disease").write_parquet(tmp_path / "less.parquet")
    with pytest.raises(PolicyError, match="the classification metric compares row by row"):
        sf.utility(store, FileTable(tmp_path / "less.parquet"), target="disease", queries=5)
    with pytest.raises(PolicyError, match="needs the original and the release"):
        sf.utility(store)
    with pytest.raises(ColumnError, match="share no column"):
        sf.utility(store, {"other": [1]})
