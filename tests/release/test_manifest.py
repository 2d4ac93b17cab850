"""Manifests outlive versions: those of every format that was ever written are kept here, and must be read for good."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import ReadError
from sfumato.release.manifest import FORMAT, READ, STREAM, is_release, load_manifest, read_manifest

KEPT = Path(__file__).parent / "manifests"
FOLDERS = sorted(folder for folder in KEPT.glob("format_*/*") if folder.is_dir())


def keys(document: Any, name: str = "") -> set[str]:
    """The fields of a document, with those inside; what stands in a list counts once."""
    if isinstance(document, list):
        return set().union(*(keys(one, f"{name}[]") for one in document))
    if not isinstance(document, dict) or name.split(".")[-1] in (
        "hierarchies",
        "levels",
        "whole",
        "versions",
        "search",
    ):
        return {name}
    return {name}.union(*(keys(value, f"{name}.{key}") for key, value in document.items()))


def test_every_format_is_kept() -> None:
    kept = {f"format_{number}" for number in READ} | {f"stream_{number + 1}" for number in range(STREAM)}
    assert kept == {folder.name for folder in KEPT.iterdir()}
    assert FORMAT in READ


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: f"{folder.parent.name}-{folder.name}")
def test_a_kept_release_still_holds(folder: Path) -> None:
    assert is_release(folder)
    assert read_manifest(folder).format in READ
    if (table := folder.with_suffix(".csv")).exists():
        found = sf.verify(table, manifest=folder)
    else:
        found = sf.verify(folder)
    assert found.holds
    assert len(found.promises) > 1


@pytest.mark.parametrize("folder", sorted(KEPT.glob("stream_*/*")), ids=lambda folder: folder.name)
def test_a_kept_stream_still_holds(folder: Path) -> None:
    found = sf.verify(folder)
    assert found.outcome == "stated"  # that classes are of different people
    assert len(found.promises) == 4  # files, rows and values per class, different people
    with pytest.raises(ReadError, match="holds a stream, not one table"):
        read_manifest(folder)


def test_a_stream_of_another_number_is_refused(tmp_path: Path) -> None:
    shutil.copytree(KEPT / "stream_1" / "castle", tmp_path / "out")
    document = load_manifest(tmp_path / "out")
    (tmp_path / "out" / "manifest.json").write_text(json.dumps(document | {"stream": STREAM + 1}), "utf-8")
    with pytest.raises(ReadError, match="no manifest of a stream"):
        sf.verify(tmp_path / "out")


def test_the_manifest_of_a_stream_does_not_lose_fields(tmp_path: Path) -> None:
    kept = KEPT / f"stream_{STREAM}" / "castle_with_report"
    stream(tmp_path / "out", tmp_path / "in")
    assert keys(load_manifest(kept)) == keys(load_manifest(tmp_path / "out"))


def stream(to: Path, arriving: Path) -> None:
    """A small stream of files, released into a folder."""
    arriving.mkdir()
    for j in range(3):
        ages = [20 + (7 * i + 3 * j) % 50 for i in range(40)]
        columns = {"age": ages, "ward": [f"w{a % 4}" for a in ages], "ill": list("abcd") * 10}
        pl.DataFrame({**columns, "patient": range(40 * j, 40 * j + 40)}).write_parquet(arriving / f"{j}.parquet")
    require = [sf.KAnonymity(4), sf.DistinctLDiversity("ill", 2)]
    asked: dict[str, Any] = {"quasi": ["age", "ward"], "sensitive": "ill", "domains": {"age": (0, 100)}}
    how: dict[str, Any] = {"delay": 30, "seed": 1, "once": True, "finish": True}
    how |= {"to": to, "state": arriving.with_suffix(".state"), "person": "patient"}
    for _ in sf.stream(arriving, require=require, **asked, **how):
        pass


def test_a_format_does_not_lose_fields(tmp_path: Path) -> None:
    table = {"name": ["a", "b", "c", "d"], "age": [31, 32, 58, 59], "disease": ["flu", "cold"] * 2}
    asked: dict[str, Any] = {"identifying": ["name"], "quasi": ["age"], "unprotected": ["disease"]}
    release = sf.anonymize(table, k=2, search="optimal", **asked)
    release.save(tmp_path / "out")
    old, new = load_manifest(KEPT / f"format_{FORMAT}" / "full_domain"), load_manifest(tmp_path / "out")
    lost = {key for key in keys(old) - keys(new) if not key.startswith((".solution.loss_per", ".measured[].sizes"))}
    assert not lost


def test_a_file_belongs_to_the_list_of_files(tmp_path: Path) -> None:
    shutil.copytree(KEPT / "format_2" / "full_domain", tmp_path / "two")
    document, place = load_manifest(tmp_path / "two"), tmp_path / "two" / "manifest.json"
    place.write_text(json.dumps(document | {"files": document["files"] * 2}), "utf-8")
    with pytest.raises(ReadError, match="several data files"):
        sf.verify(tmp_path / "two")
    place.write_text(json.dumps(document | {"data": document["data"] | {"sha256": "0" * 64}}), "utf-8")
    with pytest.raises(ReadError, match="belongs to its file"):
        sf.verify(tmp_path / "two")


def test_what_is_not_known_is_refused(tmp_path: Path) -> None:
    shutil.copytree(FOLDERS[0], tmp_path / "new")
    document = load_manifest(tmp_path / "new")
    for number in (0, max(READ) + 1):
        (tmp_path / "new" / "manifest.json").write_text(json.dumps(document | {"format": number}), "utf-8")
        with pytest.raises(ReadError, match="format that this version does not know"):
            sf.verify(tmp_path / "new")


def test_a_changed_row_is_found_under_an_old_format(tmp_path: Path) -> None:
    folder = KEPT / "format_1" / "full_domain"
    shutil.copytree(folder, tmp_path / "changed")
    data = tmp_path / "changed" / "data.csv"
    data.write_text(data.read_text("utf-8").replace("flu", "cold", 1), "utf-8")
    assert not sf.verify(tmp_path / "changed").holds
