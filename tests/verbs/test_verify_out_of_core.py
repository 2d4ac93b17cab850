"""Verify of out-of-core tables: what verify says of the same table in memory."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.engines.files.bytes import read_back, sha256, write_table
from sfumato.engines.files.table import FileTable
from sfumato.errors import ColumnError, PolicyError, ReadError
from sfumato.release import folder as released_data
from sfumato.release.folder import verify_folder, verify_manifest
from tests.measuring_tables import made

pytestmark = pytest.mark.slow

TABLE = made().drop("id")
TREE = sf.wide([["flu", "lung", "*"], ["cold", "lung", "*"], ["ache", "head", "*"], ["none", "head", "*"]])
OF = "disease"
CRITERIA = [
    sf.KAnonymity(3),
    sf.DistinctLDiversity(OF, 2),
    sf.EntropyLDiversity(OF, 2),
    sf.RecursiveCLDiversity(OF, 3, 2),
    sf.TCloseness(OF, 0.3),
    sf.TCloseness(OF, 0.3, distance="hierarchical"),
    sf.TCloseness("wage", 0.3, distance="ordered"),
    sf.AlphaK(0.7, 3, OF),
    sf.BetaLikeness(OF, 3),
    sf.DeltaDisclosure(OF, 3),
    sf.AverageRisk(0.1),
]


@pytest.fixture(scope="module", params=["parquet", "csv"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> FileTable:
    file = tmp_path_factory.mktemp("in") / f"in.{request.param}"
    TABLE.write_parquet(file) if request.param == "parquet" else TABLE.write_csv(file)
    return FileTable(file)


@pytest.mark.parametrize("quasi", [["zip", "member"], [["zip", "town"], ["height", "born"]]])
def test_the_verdicts_are_those_of_the_table_in_memory(store: FileTable, quasi: Any) -> None:
    asked: dict[str, Any] = {"quasi": quasi, "require": CRITERIA, "hierarchies": {OF: TREE}}
    expected = sf.verify(sf.read(store.files[0].path), **asked)
    assert any(p.holds for p in expected.promises)
    assert not expected.holds
    assert sf.verify(store, **asked) == expected


@pytest.mark.parametrize("quasi", [["zip", "member"], ["age", "town", "height"]])
def test_missing_values_that_match_anything(store: FileTable, quasi: list[str]) -> None:
    asked: dict[str, Any] = {"quasi": quasi, "require": [sf.KAnonymity(9), sf.DistinctLDiversity(OF, 4)]}
    expected = sf.verify(sf.read(store.files[0].path), wildcard=True, **asked)
    assert expected != sf.verify(sf.read(store.files[0].path), **asked)
    assert sf.verify(store, wildcard=True, **asked) == expected
    with pytest.raises(PolicyError, match="not defined"):
        sf.verify(store, quasi=quasi, require=sf.TCloseness(OF, 0.2), wildcard=True)


def test_what_is_asked_is_checked(store: FileTable) -> None:
    with pytest.raises(ColumnError, match="zipp"):
        sf.verify(store, quasi=["zipp"], require=sf.KAnonymity(2))
    with pytest.raises(PolicyError, match="too many different combinations"):
        sf.verify(store, quasi=["age", "wage"], require=sf.KAnonymity(2), max_cells=100)


@pytest.fixture(params=["parquet", "csv", "parquet parts", "csv parts"])
def folder(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A release whose data are taken to be large, or are parts."""
    out = tmp_path / "out"
    format = request.param.split()[0]
    TABLE.write_parquet(tmp_path / "in.parquet")
    sf.anonymize(
        FileTable(tmp_path / "in.parquet"),
        quasi=["age", "zip"],
        sensitive=[OF],
        identifying=["weight"],
        insensitive=["height", "born", "town", "member", "wage"],
        require=[sf.KAnonymity(5), sf.TCloseness(OF, 0.5, distance="hierarchical")],
        hierarchies={OF: TREE},
        suppression=0.05,
        to=sf.Folder(out, format),
    )
    if "parts" in request.param:
        in_parts(out, format)
    monkeypatch.setattr(released_data, "LARGE", 0)
    return out


def in_parts(out: Path, format: str = "parquet") -> None:
    """The data file as a folder of parts."""
    data = out / f"data.{format}"
    table = read_back(data, format, True)
    data.unlink()
    data.mkdir()
    for i in range(3):
        write_table(table[i::3], data / f"part-{i}.{format}", format)
    change(out, lambda m: m["files"][0].update(sha256=sha256(data)))


def change(out: Path, how: Any) -> None:
    manifest = json.loads((out / "manifest.json").read_text())
    how(manifest)
    (out / "manifest.json").write_text(json.dumps(manifest))


def test_a_large_release_is_verified_as_a_small_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = verify_folder(folder)
    assert found.holds
    assert found.rows == json.loads((folder / "manifest.json").read_text())["data"]["rows"]
    assert len(found.promises) == 3
    if any(path.is_dir() for path in folder.iterdir()):
        return
    monkeypatch.setattr(released_data, "LARGE", 1 << 40)
    assert verify_folder(folder) == found


def test_faults_of_a_large_release_are_found(folder: Path) -> None:
    whole = verify_folder(folder)
    change(folder, lambda m: m["data"].update(rows=7))
    note = verify_folder(folder).promises[0].note
    assert note == f"it has {whole.rows} rows, the manifest says 7"
    change(folder, lambda m: (m["data"].update(rows=whole.rows), m["files"][0].update(sha256="0")))
    assert verify_folder(folder).promises[0].note == "its sha256 is another"
    change(folder, lambda m: m["promises"][0].update(measured=400))
    assert not verify_folder(folder).promises[1].holds
    change(folder, lambda m: m["whole"][OF].update(flu=1))
    assert "before suppression contradicts the rows" in (verify_folder(folder).promises[0].note or "")
    change(folder, lambda m: m["policy"].update(quasi=[["age", "nothing"]], require=[{"model": "k-anonymity", "k": 2}]))
    assert 'lacks "nothing"' in (verify_folder(folder).promises[1].note or "")


def test_too_many_combinations_are_no_fault_of_the_file(folder: Path) -> None:
    change(folder, lambda m: m["files"][0].update(sha256="0"))
    with pytest.raises(PolicyError, match="too many different combinations"):
        verify_folder(folder, most=3)


def test_a_large_release_that_is_no_table_any_more(folder: Path) -> None:
    place = next(p for p in folder.iterdir() if p.name.startswith("data"))
    file = next(place.glob("part-*")) if place.is_dir() else place
    file.write_bytes(b"\x00\x01" if file.suffix == ".parquet" else b'"')
    found = verify_folder(folder)
    assert not found.holds
    assert "cannot be read as a table" in (found.promises[0].note or "")


def test_which_data_are_read_into_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    TABLE.write_parquet(tmp_path / "data.parquet")
    TABLE.write_csv(tmp_path / "data.csv")

    def streamed(format: str, guarded: bool = True) -> bool:
        return released_data.is_streamed(tmp_path / f"data.{format}", format, guarded)

    assert not streamed("parquet")
    assert not streamed("csv")
    monkeypatch.setattr(released_data, "MANY", TABLE.height * TABLE.width - 1)
    assert streamed("parquet")  # whose bytes are few
    assert not streamed("csv")
    monkeypatch.setattr(released_data, "LARGE", 1000)
    assert streamed("csv")
    assert not streamed("csv", guarded=False)  # which the reader of streams takes no notice of


def test_a_folder_of_parts_has_one_fingerprint(tmp_path: Path) -> None:
    for name in ("one", "other"):
        (tmp_path / name / "sub").mkdir(parents=True)
        (tmp_path / name / "b").write_text("2")
        (tmp_path / name / "sub" / "a").write_text("1")
    first = sha256(tmp_path / "one")
    assert first == sha256(tmp_path / "other")
    (tmp_path / "other" / "b").rename(tmp_path / "other" / "c")
    assert sha256(tmp_path / "other") != first
    (tmp_path / "one" / ".hidden").write_text("")
    assert sha256(tmp_path / "one") != first


def test_parts_stay_inside_the_folder(tmp_path: Path) -> None:
    test = tmp_path / "out"
    (test / "data.parquet").mkdir(parents=True)
    secret = tmp_path / "secret.parquet"
    TABLE.write_parquet(secret)
    (test / "data.parquet" / "part-0.parquet").symlink_to(secret)
    manifest = {"format": 1, "policy": {"quasi": [["age"]], "require": []}}
    data = {"file": "data.parquet", "format": "parquet", "sha256": "0", "rows": 1, "columns": []}
    (test / "manifest.json").write_text(json.dumps(manifest | {"data": data}))
    with pytest.raises(ReadError, match="is not in the folder"):
        verify_folder(test)
    shutil.rmtree(test / "data.parquet")
    (test / "data.parquet").mkdir()
    with pytest.raises(ReadError, match="is not in the folder"):
        verify_folder(test)


def test_a_table_elsewhere_is_verified_with_its_manifest(folder: Path, tmp_path: Path) -> None:
    expected = verify_folder(folder)
    place = next(p for p in folder.iterdir() if p.name.startswith("data"))
    files = sorted(place.iterdir()) if place.is_dir() else [place]
    table = pl.concat([sf.read(file) for file in files])
    table.write_parquet(tmp_path / "elsewhere.parquet")
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    change(
        folder, lambda m: m.update(files=[], data={k: m["data"][k] for k in ("rows", "columns")} | {"table": "release"})
    )
    with pytest.raises(ReadError, match="no file of this folder") as error:
        verify_folder(folder)
    assert "pass the table" in str(error.value)
    with pytest.raises(ReadError, match="no file of this folder"):
        sf.risk(folder)
    store = FileTable(tmp_path / "elsewhere.parquet")
    found = verify_manifest(folder, store)
    assert found.holds
    assert found.promises[1:] == expected.promises[1:]
    # the other values of a table are compared with nothing, and those of a file are by its bytes
    assert found.promises[0].sentence == "The table has the columns, rows and class sizes that the manifest describes."
    assert expected.promises[0].sentence.startswith("The data file is the one that the manifest describes")
    assert verify_manifest(folder, table) == found
    with pytest.raises(PolicyError, match="too many different combinations"):
        verify_manifest(folder, store, most=3)
    table.head(50).write_parquet(tmp_path / "elsewhere.parquet")
    less = verify_manifest(folder, FileTable(tmp_path / "elsewhere.parquet"))
    assert not less.holds
    assert "it has 50 rows" in (less.promises[0].note or "")


@pytest.mark.parametrize("name", ["_hidden.parquet", "extra.parquet", "part-9.csv", "sub/part-9.parquet", "link"])
def test_nothing_lies_among_the_parts_that_is_not_counted(tmp_path: Path, name: str) -> None:
    place = tmp_path / "data.parquet"
    place.mkdir()
    TABLE.write_parquet(place / "part-0.parquet")
    assert released_data.data_place(tmp_path, "data.parquet", "parquet") == place.resolve()
    if name == "link":
        (tmp_path / "elsewhere").mkdir()
        (place / name).symlink_to(tmp_path / "elsewhere")
    else:
        (place / name).parent.mkdir(exist_ok=True)
        TABLE.write_parquet(place / name)
    with pytest.raises(ReadError, match="not in the folder"):
        released_data.data_place(tmp_path, "data.parquet", "parquet")
