"""Tables in files: found, counted part by part, sampled, and written as `write_table` would."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from sfumato.engines.files.bytes import write_table
from sfumato.engines.files.read import read
from sfumato.engines.files.table import FileTable, ScannedFile
from sfumato.engines.files.write import write
from sfumato.engines.order import RowOrder
from sfumato.engines.protocol import COUNT, LABEL, Plan
from sfumato.errors import ColumnError, EmptyTable, OutputError, PolicyError, ReadError

MANY = 10**9


def quiet(message: str, share: float | None) -> None:
    """Nobody looks."""


def counted(store: FileTable, *columns: str, work: Path | None = None, say: Any = quiet) -> list[tuple[Any, ...]]:
    return sorted(store.count(columns, say, MANY, work).rows(), key=str)


TABLE = pl.DataFrame(
    {"a": [1, 2, 2, None, 1, 2], "b": ["x", "", None, "y", "x", ""], "c": [0.0, -0.0, 1.0, None, 0.0, -0.0]}
)
CELLS = sorted([(1, "x", 0.0, 2), (2, None, 0.0, 2), (2, None, 1.0, 1), (None, "y", None, 1)], key=str)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The table in three files."""
    for i in range(3):
        TABLE[2 * i : 2 * i + 2].write_parquet(tmp_path / f"part-{i}.parquet")
    return tmp_path


def test_files_patterns_folders_and_lists_are_one_table(folder: Path) -> None:
    names = [folder / f"part-{i}.parquet" for i in range(3)]
    for given in (folder, str(folder / "*.parquet"), str(folder / "part-[0-2].parquet"), names, [names[2], *names]):
        store = FileTable(given)
        assert counted(store, "a", "b", "c") == CELLS
        assert store.rows() == 6
    assert counted(FileTable(names[0]), "a") == [(1, 1), (2, 1)]


@pytest.mark.parametrize("part", [1, 2, 3, 5, 100])
def test_parts_do_not_change_the_count(folder: Path, part: int) -> None:
    TABLE.write_parquet(folder / "all.parquet")
    assert counted(FileTable(folder / "all.parquet", part=part), "a", "b", "c") == CELLS
    assert counted(FileTable(folder / "part-*.parquet", part=part), "a", "b", "c") == CELLS


def test_the_folders_of_a_partitioned_table_are_columns(tmp_path: Path) -> None:
    for year, place in (("2023", "A%20b"), ("2024", "__HIVE_DEFAULT_PARTITION__")):
        inside = tmp_path / f"year={year}" / f"place={place}"
        inside.mkdir(parents=True)
        TABLE.write_parquet(inside / "0.parquet")
        (inside / "_SUCCESS").touch()
        (inside / ".hidden.parquet").touch()
    store = FileTable(tmp_path)
    assert list(store.schema()) == ["a", "b", "c", "year", "place"]
    assert counted(store, "year", "place") == [("2023", "A b", 6), ("2024", None, 6)]
    assert counted(FileTable(tmp_path / "year=*" / "*" / "*.parquet"), "year") == [("2023", 6), ("2024", 6)]
    assert "year" not in FileTable(tmp_path / "year=2023" / "place=A%20b" / "0.parquet").schema()


def test_files_must_be_alike(tmp_path: Path) -> None:
    TABLE.write_parquet(tmp_path / "0.parquet")
    TABLE.select("c", "b", "a").write_parquet(tmp_path / "1.parquet")
    assert len(counted(FileTable(tmp_path), "a", "b", "c")) == len(CELLS)
    TABLE.with_columns(pl.col("a").cast(pl.Int32)).write_parquet(tmp_path / "2.parquet")
    with pytest.raises(ReadError, match=r'"a" has another type'):
        FileTable(tmp_path)
    TABLE.rename({"a": "z"}).write_parquet(tmp_path / "2.parquet")
    with pytest.raises(ReadError, match='lacks "a" and adds "z"'):
        FileTable(tmp_path)


def test_categories_of_several_files_are_texts(tmp_path: Path) -> None:
    for i, values in enumerate((["x", "y"], ["y", "z"])):
        pl.DataFrame({"a": pl.Series(values, dtype=pl.Categorical), "b": pl.Series([None, None])}).write_parquet(
            tmp_path / f"{i}.parquet"
        )
    assert counted(FileTable(tmp_path), "a", "b") == [("x", None, 1), ("y", None, 2), ("z", None, 1)]


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 not")
    (tmp_path / "x.xlsx").touch()
    TABLE.clear().write_parquet(tmp_path / "none.parquet")
    pl.DataFrame({"*": [1]}).write_parquet(tmp_path / "star.parquet")
    (tmp_path / "empty").mkdir()
    for name, error, words in (
        ("bad.parquet", ReadError, "damaged"),
        ("x.xlsx", ReadError, "streamed"),
        ("none.parquet", EmptyTable, "no rows"),
        ("star.parquet", ColumnError, "rename"),
        ("empty", ReadError, "no file"),
        ("bed.parquet", ReadError, "did you mean"),
        ("q*.parquet", ReadError, "no file"),
    ):
        with pytest.raises(error, match=words):
            FileTable(tmp_path / name)


def test_a_damaged_page_is_a_read_error_without_cells(tmp_path: Path) -> None:
    pl.DataFrame({"a": [f"secret{i}" for i in range(5000)]}).write_parquet(
        tmp_path / "in.parquet", compression="uncompressed"
    )
    data = bytearray((tmp_path / "in.parquet").read_bytes())
    data[4:60] = bytes(56)
    (tmp_path / "in.parquet").write_bytes(bytes(data))
    with pytest.raises(ReadError, match="damaged") as caught:
        counted(FileTable(tmp_path / "in.parquet"), "a")
    assert "secret" not in str(caught.value)


class Interrupt(BaseException):
    """As Ctrl-C, but for this test alone."""


def test_an_interrupted_count_goes_on(tmp_path: Path) -> None:
    pl.DataFrame({"a": [i % 7 for i in range(1000)]}).write_parquet(tmp_path / "in.parquet")
    work = tmp_path / "work"
    seen: list[float | None] = []

    def stop(message: str, share: float | None) -> None:
        if share and share > 0.55:
            raise Interrupt

    with pytest.raises(Interrupt):
        counted(FileTable(tmp_path / "in.parquet", part=100), "a", work=work, say=stop)
    saved = sorted(work.rglob("*.parquet"))
    assert [p.name for p in saved] == [f"{i}-0-0-{100 * (i + 1)}.parquet" for i in range(6)]
    assert all(pl.read_parquet(p)[COUNT].sum() == 100 for p in saved)
    found = counted(
        FileTable(tmp_path / "in.parquet", part=100), "a", work=work, say=lambda message, share: seen.append(share)
    )
    assert found == counted(FileTable(tmp_path / "in.parquet"), "a")
    assert seen[-1] == 1.0
    assert seen == sorted(seen)
    assert not work.exists()
    # another table, or other columns, start anew
    pl.DataFrame({"a": [9] * 1000}).write_parquet(tmp_path / "in.parquet")
    assert counted(FileTable(tmp_path / "in.parquet", part=100), "a", work=work) == [(9, 1000)]


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["parquet", "csv", "csv.gz"])
def test_a_count_goes_on_from_wherever_it_was_interrupted(tmp_path: Path, ending: str) -> None:
    files = []
    for i, rows in enumerate((130, 1, 270)):
        files.append(tmp_path / f"{i}.{ending}")
        frame = pl.DataFrame({"a": [f"{j * 7 % 13}" for j in range(rows)], "b": ['x "y"\nz'] * rows})
        data = frame.write_csv().encode()
        if ending == "parquet":
            frame.write_parquet(files[-1], row_group_size=40)
        else:
            files[-1].write_bytes(gzip.compress(data, mtime=0) if ending == "csv.gz" else data)
    work, store = tmp_path / "work", FileTable(files, part=23, block=400)
    expected, kept = counted(store, "a", "b"), []
    assert sum(n for *_, n in expected) == 401
    for limit in range(1, 1000):
        calls: list[float | None] = []

        def stop(message: str, share: float | None, calls: list[float | None] = calls, limit: int = limit) -> None:
            calls.append(share)
            if len(calls) == limit:
                raise Interrupt

        try:
            assert counted(store, "a", "b", work=work, say=stop) == expected
            break
        except Interrupt:
            kept.append(sum(pl.read_parquet(p)[COUNT].sum() for p in work.rglob("*.parquet")))
        assert counted(store, "a", "b", work=work) == expected
        assert not work.exists()
    assert len(kept) > 9
    assert kept == sorted(kept)
    assert kept[0] < 100 < 390 < kept[-1]


def test_an_interrupted_count_is_saved_within_a_part(tmp_path: Path) -> None:
    pl.DataFrame({"a": [i % 7 for i in range(600_000)]}).write_parquet(tmp_path / "in.parquet")
    work = tmp_path / "work"

    def stop(message: str, share: float | None) -> None:
        if share and share > 0.4:
            raise Interrupt

    with pytest.raises(Interrupt):
        counted(FileTable(tmp_path / "in.parquet"), "a", work=work, say=stop)
    saved = list(work.rglob("*.parquet"))
    assert len(saved) == 1
    assert 200_000 < pl.read_parquet(saved[0])[COUNT].sum() < 600_000
    for path in (work, saved[0].parent):
        assert path.stat().st_mode & 0o077 == 0


def test_counts_leave_each_other_alone(tmp_path: Path) -> None:
    work, stores = tmp_path / "work", {}
    for name in ("one", "two"):
        pl.DataFrame({"a": [f"{name} {i % 7}" for i in range(1000)]}).write_parquet(tmp_path / f"{name}.parquet")
        stores[name] = FileTable(tmp_path / f"{name}.parquet", part=100)

    def stop(message: str, share: float | None) -> None:
        if share and share > 0.5:
            raise Interrupt

    with pytest.raises(Interrupt):
        counted(stores["one"], "a", work=work, say=stop)
    saved = set(work.rglob("*.parquet"))
    assert saved

    def meanwhile(message: str, share: float | None) -> None:
        if share and share > 0.8:  # the same count in another run, while this one has it
            assert counted(stores["one"], "a", work=work) == counted(stores["one"], "a")
            assert saved <= set(work.rglob("*.parquet"))

    assert counted(stores["two"], "a", work=work) == counted(stores["two"], "a")  # another table, to the same target
    assert saved == set(work.rglob("*.parquet"))
    with pytest.raises(PolicyError):
        stores["two"].count(["a"], quiet, 3, work)
    assert saved == set(work.rglob("*.parquet"))
    assert counted(stores["one"], "a", work=work, say=meanwhile) == counted(stores["one"], "a")
    assert not work.exists()


def test_too_many_cells_are_refused_while_counting(tmp_path: Path) -> None:
    pl.DataFrame({"a": range(100)}).write_parquet(tmp_path / "in.parquet")
    with pytest.raises(PolicyError, match="max_cells=99"):
        FileTable(tmp_path / "in.parquet").count(["a"], quiet, 99)
    with pytest.raises(PolicyError, match="max_cells=99"):  # no part alone has too many
        FileTable(tmp_path / "in.parquet", part=50).count(["a"], quiet, 99)
    assert FileTable(tmp_path / "in.parquet", part=50).count(["a"], quiet, 100).height == 100


def test_a_sample_is_from_all_over_the_table(tmp_path: Path) -> None:
    for i in range(2):
        pl.DataFrame({"a": range(1000 * i, 1000 * i + 1000)}).write_parquet(tmp_path / f"{i}.parquet")
    store = FileTable(tmp_path)
    assert store.sample(80)["a"].to_list()[::10] == [0, 250, 500, 750, 1000, 1250, 1500, 1750]
    assert store.sample(80).height == 80
    assert store.sample(5000).height == 2000


def test_weights_and_fingerprint(folder: Path) -> None:
    pl.DataFrame(
        {"w": [0.5, 1], "t": ["1", "2"], "z": [0, 1], "n": [None, 1.0], "i": [1.0, float("inf")]}
    ).write_parquet(folder / "w.parquet")
    store = FileTable(folder / "w.parquet")
    assert [store.positive(name) for name in "wtzni"] == [True, True, False, False, False]
    assert store.fingerprint(None) is None
    same = store.fingerprint(b"key")
    assert same == store.fingerprint(b"key") != store.fingerprint(b"other")
    assert str(same).startswith("hmac-sha256-files:")
    assert same != FileTable(folder / "part-0.parquet").fingerprint(b"key")


def test_maps_cells_and_lost_tuples(tmp_path: Path) -> None:
    TABLE.write_parquet(tmp_path / "in.parquet")
    store = FileTable(tmp_path / "in.parquet")
    maps = {"a": pl.DataFrame({"a": [1, 2, None], LABEL + "a": ["one", "two", "none"]})}
    gone = pl.DataFrame({"a": [None], "b": ["y"]}, schema={"a": pl.Int64, "b": pl.String})
    plan = Plan(("b", "a", "c"), ("a", "b"), ("b",), maps, None, gone)
    store.recode(plan, tmp_path / "out.parquet", "parquet", quiet)
    out = pl.read_parquet(tmp_path / "out.parquet")
    assert out["b"].to_list() == ["x", "x", None, None, None]  # sorted, missing last
    assert out["a"].to_list() == ["one", "one", "two", "two", "two"]
    assert out.columns == ["b", "a", "c"]
    cells = pl.DataFrame({"a": [2, None], "b": [None, "y"], LABEL + "b": ["L", "M"]}, schema_overrides={"a": pl.Int64})
    written = store.recode(Plan(("b", "c"), ("a", "b"), (), {}, cells), tmp_path / "cells.csv", "csv", quiet)
    assert (tmp_path / "cells.csv").read_text() == "b,c\nL,0.0\nL,0.0\nL,1.0\nM,\n"
    assert sorted(written.count(["b"], quiet).rows()) == [("L", 3), ("M", 1)]


def test_a_value_that_the_plan_does_not_know_is_an_error(tmp_path: Path) -> None:
    TABLE.write_parquet(tmp_path / "in.parquet")
    plan = Plan(("a",), ("a",), (), {"a": pl.DataFrame({"a": [1, None], LABEL + "a": ["one", "none"]})})
    with pytest.raises(ReadError, match="changed"):
        FileTable(tmp_path / "in.parquet").recode(plan, tmp_path / "out.parquet", "parquet", quiet)


@pytest.mark.parametrize("format", ["csv", "tsv"])
@pytest.mark.parametrize(
    "frame",
    [
        pl.DataFrame(
            {"=f": ["=1", "+x", "-5", None, "a\nb", 'q"q', "a,b\tc", "'="], "n": [1.0, -0.0, None, 2.5, 1e9, 0, 1, 2]}
        ),
        pl.DataFrame({"alone": ["a", None, "b"]}),
    ],
)
def test_text_is_written_as_in_memory_and_read_back(tmp_path: Path, frame: pl.DataFrame, format: str) -> None:
    write(frame.lazy(), tmp_path / "stream", format, RowOrder("input"))
    write_table(frame, tmp_path / "table", format)
    assert (tmp_path / "stream").read_bytes() == (tmp_path / "table").read_bytes()
    found = ScannedFile(tmp_path / "stream", format).count(frame.columns, quiet)
    assert found[COUNT].sum() == frame.height
    assert set(found[frame.columns[0]]) == set(frame[frame.columns[0]])


def test_formats_that_do_not_stream_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="parquet"):
        write(TABLE.lazy(), tmp_path / "x", "xlsx", RowOrder())
    with pytest.raises(OutputError, match="cannot be written"):
        write(TABLE.lazy(), tmp_path / "no" / "x", "csv", RowOrder())


CSV = 'name;text;n\nA;"two\nlines; ""quoted""";01\n\nB;;2\nÄ;"=x";\n' + "".join(f"C{i};plain;{i}\n" for i in range(50))


@pytest.mark.slow
@pytest.mark.parametrize("block", [7, 40, 1 << 20])
@pytest.mark.parametrize("how", ["utf-8", "utf-8-sig", "utf-16", "gz", "crlf"])
def test_text_is_read_as_the_whole_file_would_be(tmp_path: Path, block: int, how: str) -> None:
    text = CSV.replace("\n", "\r\n") if how == "crlf" else CSV
    data = text.encode("utf-8" if how in ("gz", "crlf") else how)
    file = tmp_path / ("in.csv.gz" if how == "gz" else "in.csv")
    file.write_bytes(gzip.compress(data) if how == "gz" else data)
    store = FileTable(file, block=block)
    assert store.sample(MANY).equals(read(file))
    assert counted(store, "text", "n") == sorted(read(file).group_by("text", "n").agg(pl.len()).rows(), key=str)


def test_text_in_another_encoding_is_refused_or_named(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(CSV.encode("cp1252"))
    with pytest.raises(ReadError, match="encoding="):
        FileTable(tmp_path / "in.csv")
    store = FileTable(tmp_path / "in.csv", encoding="cp1252")
    assert store.sample(MANY).equals(read(tmp_path / "in.csv"))


def test_faults_of_text_are_named_with_their_line(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("a,b\n1,2\n3\n")
    with pytest.raises(ReadError, match="has 1 field"):
        counted(FileTable(tmp_path / "in.csv"), "a")
    (tmp_path / "in.csv").write_text('a,b\n1,"2\n3,4\n')
    with pytest.raises(ReadError):
        counted(FileTable(tmp_path / "in.csv"), "a")
    (tmp_path / "in.csv").write_bytes(b"a,b\n1,\x002\n")
    with pytest.raises(ReadError, match="null byte"):
        FileTable(tmp_path / "in.csv")
    (tmp_path / "in.csv").write_text("")
    with pytest.raises(ReadError, match="empty"):
        FileTable(tmp_path / "in.csv")
