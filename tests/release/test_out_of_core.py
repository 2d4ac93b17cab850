"""A table in files gives the release that it gives in memory: the same rows, labels, classes and losses."""

from __future__ import annotations

import datetime
import math
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.engines.files.bytes import read_back, write_table
from sfumato.engines.files.count import Tally
from sfumato.engines.files.table import FileTable

ROWS = 3000


@pytest.fixture(scope="module")
def table() -> pl.DataFrame:
    """Every type, with missing values of all forms, both zeros, and text that a spreadsheet would run."""
    rng = np.random.default_rng(6)
    day = datetime.date(1960, 1, 1)

    def holes(values: list[Any], hole: Any, share: float = 0.03) -> list[Any]:
        return [hole if gone else v for v, gone in zip(values, rng.random(ROWS) < share, strict=True)]

    return pl.DataFrame(
        {
            "name": [f"p{i}" for i in range(ROWS)],
            "age": holes(rng.integers(20, 60, ROWS).tolist(), None),
            "height": pl.Series(
                holes(holes(rng.choice([-0.0, 0.0, 1.5, 2.25, 3.0], ROWS).tolist(), math.nan), None), dtype=pl.Float64
            ),
            "born": holes([day + datetime.timedelta(int(d)) for d in rng.integers(0, 40, ROWS)], None),
            "zip": holes(rng.choice(["7", "10", "080", "9"], ROWS).tolist(), ""),
            "town": pl.Series(holes(rng.choice(["=A", "B, b", 'C"c"', "D"], ROWS).tolist(), None)).cast(pl.Categorical),
            "member": holes((rng.random(ROWS) < 0.4).tolist(), None),
            "disease": holes(rng.choice(["flu", "cold", "ache", "none"], ROWS).tolist(), None, 0.05),
            "wage": holes(rng.integers(1, 6, ROWS).tolist(), None),
            "weight": rng.random(ROWS) + 0.5,
            "note": holes(rng.choice(["+1", "x", "-y"], ROWS).tolist(), ""),
        }
    )


def same(table: pl.DataFrame, tmp_path: Path, source: Any = None, format: str = "parquet", **asked: Any) -> None:
    """Both ways, compared."""
    if source is None:
        source = tmp_path / "in.parquet"
        table.write_parquet(source, row_group_size=500)
    asked = {"identifying": ["name"], "rest": "release", "weight": "weight"} | asked
    local = sf.anonymize(table, **asked)
    stored = sf.anonymize(FileTable(source, part=700), to=sf.Folder(tmp_path / "out", format), **asked)
    there = read_back(stored.path / f"data.{format}", format)
    write_table(local.table, tmp_path / f"local.{format}", format)
    here = read_back(tmp_path / f"local.{format}", format)
    assert there.equals(here)
    if format == "parquet":
        assert pl.read_parquet_schema(tmp_path / "local.parquet") == pl.read_parquet_schema(
            stored.path / "data.parquet"
        )
    else:
        assert (tmp_path / f"local.{format}").read_bytes() == (stored.path / f"data.{format}").read_bytes()
    assert stored.solution.verdict == local.solution.verdict
    assert stored.solution.levels == local.solution.levels
    mine, other = dict(stored.manifest), dict(local.manifest)
    mine["data"] = {k: mine["data"][k] for k in ("rows", "columns", "order")}
    mine["files"] = []
    mine["input"], other["input"] = mine["input"]["rows"], other["input"]["rows"]
    assert mine == other
    assert sf.verify(stored.path).holds


K = sf.KAnonymity(5)


@pytest.mark.slow
@pytest.mark.parametrize(
    "asked",
    [
        {"search": "optimal", "suppression": 0.1},
        {"search": "optimal", "suppression": 0.0},
        {"search": sf.Mondrian(), "quasi": ["age", "born", "zip", "town", "member"]},
        {"search": "mondrian", "quasi": ["height", "zip"]},
        {"search": "genetic", "suppression": 0.05, "seed": 1},
        {"search": "datafly", "suppression": 0.3, "loss": "ncp"},
        {"search": "optimal", "quasi": [["age", "town"], ["zip", "member"]], "suppression": 0.05},
        {"search": "optimal", "levels": {"age": (1, 2)}, "suppression": 0.2},
        {"search": sf.Mondrian(labels="hierarchy"), "quasi": ["age", "zip", "town"]},
    ],
    ids=lambda asked: str(asked["search"])[:12],
)
def test_every_recoding_is_that_of_the_table_in_memory(table: pl.DataFrame, tmp_path: Path, asked: Any) -> None:
    asked = {
        "quasi": ["age", "height", "zip", "town"],
        "require": K,
        "hierarchies": {"age": "intervals:5,10,20"},
    } | asked
    if "age" not in str(asked["quasi"]):
        del asked["hierarchies"]
    same(table, tmp_path, **asked)


@pytest.mark.slow
@pytest.mark.parametrize("format", ["csv", "tsv", "parquet"])
@pytest.mark.parametrize("search", ["optimal", "mondrian"])
def test_text_in_and_out(table: pl.DataFrame, tmp_path: Path, search: str, format: str) -> None:
    write_table(table, tmp_path / "in.csv", "csv")
    text = sf.read(tmp_path / "in.csv")
    asked = {"quasi": ["age", "height", "zip", "town"], "require": [K, sf.DistinctLDiversity("disease", 2)]}
    same(text, tmp_path, tmp_path / "in.csv", format, search=search, suppression=0.05 * (search == "optimal"), **asked)


def test_typed_columns_are_printed_and_guarded_as_in_memory(table: pl.DataFrame, tmp_path: Path) -> None:
    same(table, tmp_path, format="csv", quasi=["born", "member"], require=K, search="optimal", suppression=0.1)


def test_the_order_of_files_is_the_order_of_rows_and_changes_no_class(table: pl.DataFrame, tmp_path: Path) -> None:
    order = [2, 0, 1]
    for place, i in enumerate(order):
        table[1000 * i : 1000 * (i + 1)].write_parquet(tmp_path / f"{place}.parquet")
    moved = pl.concat([table[1000 * i : 1000 * (i + 1)] for i in order])
    asked: Any = {"quasi": ["age", "zip", "town"], "require": K, "search": "mondrian"}
    same(moved, tmp_path, str(tmp_path / "*.parquet"), **asked)
    there = pl.read_parquet(tmp_path / "out" / "data.parquet").select("age", "zip", "town", "disease")
    first = sf.anonymize(table, identifying=["name"], rest="release", **asked)
    assert there.sort(pl.all()).equals(
        first.table.select(there.columns).with_columns(pl.all().cast(pl.String)).sort(pl.all())
    )


class Interrupt(BaseException):
    """As Ctrl-C, but for this test alone."""


def test_an_interrupted_count_is_taken_up_beside_the_target_and_cleaned_away(
    table: pl.DataFrame, tmp_path: Path
) -> None:
    table.write_parquet(tmp_path / "in.parquet")
    asked: Any = {"quasi": ["age", "zip"], "identifying": ["name"], "rest": "release", "require": K}
    counting = []

    def stop(message: str, share: float | None) -> None:
        if message == "counting rows" and share and share > 0.6:
            raise Interrupt

    def note(message: str, share: float | None) -> None:
        if message == "counting rows":
            counting.append(share)

    with pytest.raises(Interrupt):
        sf.anonymize(FileTable(tmp_path / "in.parquet", part=500), to=tmp_path / "out", progress=stop, **asked)
    work = tmp_path / ".sfumato-count-out"
    assert len(list(work.rglob("*.parquet"))) == 4
    assert not (tmp_path / "out").exists()
    sf.anonymize(FileTable(tmp_path / "in.parquet", part=500), to=tmp_path / "out", progress=note, **asked)
    assert counting == sorted(counting)
    assert counting[-1] == 1.0
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.parquet", "out"]


def test_a_count_that_has_saved_nothing_leaves_nothing(
    table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.write_parquet(tmp_path / "in.parquet")

    def fail(tally: Tally, *given: Any) -> None:
        raise sf.errors.ReadError("the disk is gone")

    monkeypatch.setattr(Tally, "add", fail)
    asked: Any = {"quasi": ["age"], "rest": "release", "require": K}
    with pytest.raises(sf.errors.ReadError, match="gone"):
        sf.anonymize(FileTable(tmp_path / "in.parquet"), to=tmp_path / "out", **asked)
    assert [p.name for p in tmp_path.iterdir()] == ["in.parquet"]


def test_a_failure_while_writing_leaves_nothing(
    table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table.write_parquet(tmp_path / "in.parquet")

    def stop(message: str, share: float | None) -> None:
        if message == "recoding rows":
            raise Interrupt

    asked: Any = {"quasi": ["age", "zip"], "identifying": ["name"], "rest": "release", "require": K}
    with pytest.raises(Interrupt):
        sf.anonymize(FileTable(tmp_path / "in.parquet"), to=tmp_path / "out", progress=stop, **asked)
    assert [p.name for p in tmp_path.iterdir()] == ["in.parquet"]


def test_columns_that_nobody_decided_on_are_refused(table: pl.DataFrame, tmp_path: Path) -> None:
    table.write_parquet(tmp_path / "in.parquet")
    with pytest.raises(sf.errors.UndecidedColumns, match='"name": the name says'):
        sf.anonymize(FileTable(tmp_path / "in.parquet"), to=tmp_path / "out", quasi=["age"], require=K)


def test_the_files_of_a_release_hold_no_value_of_suppressed_rows_alone(tmp_path: Path) -> None:
    table = pl.DataFrame({"age": [20, 20, 20, 30, 30, 30, 77], "town": ["a", "b", "a", "a", "b", "a", "SECRET"]})
    table.write_parquet(tmp_path / "in.parquet")
    for search in ("optimal", "genetic"):
        asked: Any = {"quasi": ["age", "town"], "require": sf.KAnonymity(3), "suppression": 1, "search": search}
        release = sf.anonymize(FileTable(tmp_path / "in.parquet"), to=sf.Folder(tmp_path / search, "csv"), **asked)
        assert release.solution.verdict.suppressed == 1
        assert not any(word in p.read_text("utf-8") for p in release.path.iterdir() for word in ("SECRET", "77]"))


@pytest.mark.parametrize("moment", ["counting rows", "searching", "recoding rows"])
def test_a_file_that_is_written_anew_meanwhile_is_found_out(tmp_path: Path, moment: str) -> None:
    names = ["age", "note", "name"]
    table = pl.DataFrame({"age": [20, 21] * 30, "note": ["fine"] * 60, "name": [f"id{i}" for i in range(60)]})
    table.write_csv(tmp_path / "in.csv")

    def change(message: str, share: float | None) -> None:
        if message == moment:
            table.select("age", "name", "note").write_csv(tmp_path / "in.csv")  # as many bytes, other places

    asked: Any = {"quasi": ["age"], "identifying": ["name"], "rest": "release", "require": K, "progress": change}
    with pytest.raises(sf.errors.ReadError, match="changed"):
        sf.anonymize(FileTable(tmp_path / "in.csv"), to=sf.Folder(tmp_path / "out", "csv"), **asked)
    assert table.columns == names
    assert [p.name for p in tmp_path.iterdir()] == ["in.csv"]


def test_a_release_does_not_replace_its_own_source(table: pl.DataFrame, tmp_path: Path) -> None:
    table.write_parquet(tmp_path / "in.parquet")
    asked: Any = {"quasi": ["age"], "identifying": ["name"], "rest": "release", "require": K}
    sf.anonymize(FileTable(tmp_path / "in.parquet"), to=tmp_path / "out", **asked)
    again = sf.Folder(tmp_path / "out", overwrite=True)
    with pytest.raises(sf.errors.OutputError, match="holds the table"):
        sf.anonymize(FileTable(tmp_path / "out" / "data.parquet"), to=again, **asked)


def test_counts_are_not_saved_where_others_may_read_them(table: pl.DataFrame, tmp_path: Path) -> None:
    table.write_parquet(tmp_path / "in.parquet")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / ".sfumato-count-out").symlink_to(tmp_path / "elsewhere")
    asked: Any = {"quasi": ["age"], "rest": "release", "require": K}
    with pytest.raises(sf.errors.OutputError, match="others may read"):
        sf.anonymize(FileTable(tmp_path / "in.parquet", part=500), to=tmp_path / "out", **asked)
    assert not list((tmp_path / "elsewhere").glob("*/*"))
