from __future__ import annotations

import csv
import datetime as dt
import hashlib

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.printed import coded, printed_frame
from sfumato.engines.files import bytes as files_bytes
from sfumato.engines.files.bytes import FORMATS, hashed_runs, read_back, read_runs, sha256, text_of, write_table
from sfumato.engines.files.read import read
from sfumato.engines.guard import guard, guarded_frame
from sfumato.errors import ColumnError, EmptyTable, OutputError, ReadError
from tests.fuzz import examples

TYPED = pl.DataFrame(
    {
        "text": ["=1+1", None, "", "a,b", 'say "hi"', "line\nbreak", "\r", " x ", "'=1", "-5"],
        "whole": [1, -5, None, 4, 5, 6, 7, 8, 9, 10],
        "big": [10**17, None, 3, 4, 5, 6, 7, 8, 9, 10],
        "real": [1.0, -0.0, None, float("nan"), 0.1, 2.5, 1e300, 1e-7, 3.0, 4.0],
        "fine": [0.1 + 0.2, 1.0, float("inf"), float("-inf"), 2.0, None, 1.0, 1.0, 1.0, 1.0],
        "flag": [True, False, None, True, True, True, True, True, True, True],
        "day": [dt.date(2024, 2, 29), None, *[dt.date(1500, 1, 1)] * 8],
        "time": [dt.datetime(2024, 2, 29, 13, 45), None, *[dt.datetime(2024, 1, 1, 0, 0, 0, 5)] * 8],
        "kind": pl.Series(["a", None, *["b"] * 8], dtype=pl.Categorical),
        "=name": ["x"] * 10,
        "a,\n\"b\"": ["x"] * 10,
        "": ["x"] * 10,
    }
)  # fmt: skip


@pytest.mark.parametrize("format", FORMATS)
def test_a_file_holds_the_printed_form_of_every_type(tmp_path, format):
    path = tmp_path / f"t.{format}"
    write_table(TYPED, path, format)
    assert read_back(path, format).equals(printed_frame(TYPED))


@pytest.mark.parametrize("format", FORMATS)
def test_the_same_table_gives_the_same_bytes(tmp_path, format):
    write_table(TYPED, tmp_path / "a", format)
    write_table(TYPED, tmp_path / "b", format)
    assert sha256(tmp_path / "a") == sha256(tmp_path / "b")


CELL = st.one_of(
    st.none(),
    st.text(),
    st.text(alphabet="'=+-@\t\r\n \"',;|x\ufeff\0_", max_size=6),
    st.sampled_from(
        ["", "''", '"', '""', "\n", "\r\n", "<r>x</r>", "_x0041_", "&amp;", "null", "NaN", "1.10", "\ufeffx"]
    ),
)
TABLES = st.integers(1, 3).flatmap(
    lambda width: st.tuples(
        st.lists(CELL.map(lambda name: name or ""), min_size=width, max_size=width, unique=True),
        st.lists(st.tuples(*[CELL] * width), max_size=6),
    )
)


@pytest.mark.slow
@pytest.mark.parametrize("format", FORMATS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(100))
@given(table=TABLES)
def test_nasty_text_comes_back_exactly(tmp_path, format, table):
    names, rows = table
    frame = pl.DataFrame({name: pl.Series([row[i] for row in rows], dtype=pl.String) for i, name in enumerate(names)})
    path = tmp_path / f"t.{format}"
    cells = [*names, *(cell or "" for row in rows for cell in row)]
    assume(format != "xlsx" or not {"\ufffe", "\uffff"} & set("".join(cells)))
    write_table(frame, path, format)
    expected = {name: [row[i] or None for row in rows] for i, name in enumerate(names)}
    assert read_back(path, format).to_dict(as_series=False) == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(50))
@given(values=st.lists(st.one_of(st.none(), st.floats(), st.floats(-1e6, 1e6).map(lambda x: round(x, 2))), min_size=1))
def test_numbers_come_back_exactly_from_excel(tmp_path, values):
    frame = pl.DataFrame({"x": pl.Series(values, dtype=pl.Float64)})
    write_table(frame, tmp_path / "t.xlsx", "xlsx")
    assert read_back(tmp_path / "t.xlsx", "xlsx").equals(printed_frame(frame))


def test_csv_is_what_every_reader_expects(tmp_path):
    write_table(pl.DataFrame({"age": ["[20, 30)", None], "=x": ["=1", 'a"b'], "n": [1, None]}), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_bytes() == b'age,\'=x,n\n"[20, 30)",\'=1,1\n,"a""b",\n'
    with (tmp_path / "t.csv").open(newline="") as file:
        assert list(csv.reader(file)) == [["age", "'=x", "n"], ["[20, 30)", "'=1", "1"], ["", 'a"b', ""]]


def test_a_lone_missing_value_is_not_a_blank_line(tmp_path):
    write_table(pl.DataFrame({"a": ["x", None, "y"]}), tmp_path / "t.csv")
    assert (tmp_path / "t.csv").read_bytes() == b'a\nx\n""\ny\n'
    assert read(tmp_path / "t.csv").get_column("a").to_list() == ["x", None, "y"]


PIECES = ["_", "x", "_x000D_", "_x005F", "_x005F_", "000d_", "\r", "\n", "\r\n", "\x01", "<r>", "</r>", "a", " ", "&"]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(20))
@given(
    values=st.lists(st.lists(st.sampled_from(PIECES), min_size=1, max_size=7).map("".join), min_size=1, max_size=300)
)
def test_returns_and_what_looks_like_their_escape_come_back_from_excel(tmp_path, values):
    frame = pl.DataFrame({"c": values, values[0]: values}) if values[0] != "c" else pl.DataFrame({"c": values})
    write_table(frame, tmp_path / "t.xlsx", "xlsx")
    assert read_back(tmp_path / "t.xlsx", "xlsx").equals(frame)


def test_a_return_in_a_release_in_excel(tmp_path):
    table = {"age": [30, 30, 41, 41], "note": ["a\rb", "_x005F\r", "\r\n", "_x005F_x000D_"]}
    release = sf.anonymize(table, quasi=["age"], insensitive=["note"], require=sf.KAnonymity(2))
    release.save(tmp_path / "out", format="xlsx")
    assert sf.verify(tmp_path / "out").holds
    assert sorted(read(tmp_path / "out" / "data.xlsx").get_column("note")) == sorted(guard(pl.Series(table["note"])))


def test_a_lone_missing_value_in_excel_is_a_row(tmp_path):
    write_table(pl.DataFrame({"a": ["x", None, "y", None]}), tmp_path / "t.xlsx", "xlsx")
    assert read(tmp_path / "t.xlsx").get_column("a").to_list() == ["x", None, "y", None]


def test_slices_join_without_a_seam(tmp_path, monkeypatch):
    monkeypatch.setattr("sfumato.engines.files.bytes.SLICE", 3)
    write_table(TYPED, tmp_path / "t.csv")
    assert read_back(tmp_path / "t.csv").equals(printed_frame(TYPED))


def test_the_guard_can_be_left_on(tmp_path):
    write_table(pl.DataFrame({"=a": ["=1"]}), tmp_path / "t.csv")
    assert read_back(tmp_path / "t.csv", guarded=False).to_dict(as_series=False) == {"'=a": ["'=1"]}
    write_table(pl.DataFrame({"=a": ["=1", "'=1"]}), tmp_path / "t.parquet", "parquet")
    assert read_back(tmp_path / "t.parquet", "parquet").to_dict(as_series=False) == {"=a": ["=1", "'=1"]}


def test_parquet_lists_no_category_that_no_row_has(tmp_path):
    column = pl.Series(["rare", "a"], dtype=pl.Enum(["a", "rare"]))
    write_table(pl.DataFrame({"x": column}).tail(1), tmp_path / "t.parquet", "parquet")
    assert b"rare" not in (tmp_path / "t.parquet").read_bytes()
    assert read_back(tmp_path / "t.parquet", "parquet").rows() == [("a",)]


def test_excel_has_numbers_where_they_are_exact_and_never_a_formula(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    write_table(TYPED, tmp_path / "t.xlsx", "xlsx")
    book = openpyxl.load_workbook(tmp_path / "t.xlsx")
    header, first, *rest = book["data"].iter_rows()
    kinds = {h.value: cell.data_type for h, cell in zip(header, first, strict=True)}
    assert (kinds["text"], kinds["whole"], kinds["big"], kinds["real"], kinds["fine"]) == ("s", "n", "s", "n", "s")
    assert kinds["flag"] == "b"
    assert all(cell.data_type != "f" for row in [first, *rest] for cell in row)
    assert first[0].value == "'=1+1"
    assert book.properties.created == dt.datetime(2000, 1, 1)


def test_excel_has_limits(tmp_path, monkeypatch):
    with pytest.raises(OutputError, match=r'"a".*32767'):
        write_table(pl.DataFrame({"a": ["x" * 32_768]}), tmp_path / "t.xlsx", "xlsx")
    with pytest.raises(OutputError, match=r'"a".*32767'):
        write_table(pl.DataFrame({"a": ["𝄞" * 16_384]}), tmp_path / "t.xlsx", "xlsx")
    write_table(pl.DataFrame({"a": ["x" * 32_767]}), tmp_path / "t.xlsx", "xlsx")
    assert read_back(tmp_path / "t.xlsx", "xlsx").item() == "x" * 32_767
    for frame in (pl.DataFrame({"a": ["x\ufffe"]}), pl.DataFrame({"\uffff": [1]})):
        with pytest.raises(OutputError, match="characters"):
            write_table(frame, tmp_path / "u.xlsx", "xlsx")
    monkeypatch.setattr("sfumato.engines.files.read.ROWS", 3)
    with pytest.raises(OutputError, match="too large for Excel"):
        write_table(pl.DataFrame({"a": [1, 2, 3, 4]}), tmp_path / "u.xlsx", "xlsx")
    assert not (tmp_path / "u.xlsx").exists()


@pytest.mark.parametrize("format", FORMATS)
def test_what_cannot_be_written(tmp_path, format):
    with pytest.raises(ColumnError, match='"odd"'):
        write_table(pl.DataFrame({"odd": [[1]]}), tmp_path / "t", format)
    with pytest.raises(EmptyTable, match="no columns"):
        write_table(pl.DataFrame(), tmp_path / "t", format)
    with pytest.raises(OutputError, match="cannot be written"):
        write_table(pl.DataFrame({"a": [1]}), tmp_path / "nowhere" / "t", format)


def test_unknown_formats(tmp_path):
    with pytest.raises(OutputError, match='did you mean "parquet"'):
        write_table(TYPED, tmp_path / "t", "parket")
    with pytest.raises(ReadError, match='did you mean "parquet"'):
        read_back(tmp_path / "t", "parket")


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"\na\nsecret\n",
        b"=a,'=a\n1,secret\n",
        b"a,b\nsecret\n",
        b"a,b\n1,2,secret\n",
        b"a,a\n1,2\n",
        b"a,b\n\xff,secret\n",
        b'a,b\n"secret,2\n',
    ],
)
def test_a_tampered_file_is_refused_without_its_content(tmp_path, content):
    (tmp_path / "t.csv").write_bytes(content)
    with pytest.raises(ReadError) as caught:
        read_back(tmp_path / "t.csv")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("format", ["parquet", "xlsx"])
def test_a_tampered_binary_file_is_refused(tmp_path, format):
    (tmp_path / "t").write_bytes(b"secret")
    with pytest.raises(ReadError) as caught:
        read_back(tmp_path / "t", format)
    assert "secret" not in str(caught.value)
    with pytest.raises(ReadError, match="does not exist"):
        read_back(tmp_path / "u", format)


def test_sha256(tmp_path):
    (tmp_path / "t").write_bytes(b"abc")
    assert sha256(tmp_path / "t") == hashlib.sha256(b"abc").hexdigest()
    with pytest.raises(ReadError, match="cannot be read"):
        sha256(tmp_path / "u")


@pytest.mark.parametrize(("format", "separator"), [("csv", ","), ("tsv", "\t")])
def test_texts_held_as_numbers_are_written_as_texts(tmp_path, format, separator):
    words = ["=1+1", None, "", "a,b", 'say "hi"', "line\nbreak", "\r", " x ", "'=1", "-5", "a\tb", "plain"]
    rng = np.random.default_rng(1)
    wide = pl.DataFrame({f"c{i}": [words[j] for j in rng.integers(0, len(words), 500)] for i in range(7)})
    wide = wide.with_columns(pl.Series("real", rng.normal(size=500)), pl.Series("whole", rng.integers(-9, 9, 500)))
    for table in (wide, wide.select("c0")):
        held = pl.DataFrame([coded(column) for column in table.iter_columns()])
        assert held.schema["c0"] == pl.Enum(sorted(word for word in words if word is not None))
        for name, frame in (("texts", table), ("numbers", held)):
            write_table(frame, tmp_path / name, format)
        written = (tmp_path / "texts").read_bytes()
        header = (separator.join(table.columns) + "\n").encode()
        assert written == header + bytes(text_of(guarded_frame(table), separator))
        assert (tmp_path / "numbers").read_bytes() == written


ROWS = ["1,a", "1,a", "1,a", '2,"b, c"', '2,"b, c"', "3,", "3,", "3,"]


@pytest.mark.parametrize(
    ("text", "short"),
    [
        ("\n".join(["x,y", *ROWS]) + "\n", 3),
        ("\n".join(["x,y", *ROWS]), 3),  # no line feed at the end
        ("\n".join(['"x","y, z"', *ROWS]) + "\n", 3),
        ("\n".join(["x,y", *["x,y"] * 4]) + "\n", 1),  # rows like the header
        ("\n".join(["x,y", *["1,é"] * 4]) + "\n", 1),
        ("\n".join(["x", *['""'] * 4]) + "\n", 1),
        ("\n".join(["x,y", "'=1,a", "'=1,a", "-5,a", "-5,a"]) + "\n", 2),
        ("\n".join(["x,y", "1,a", "2,a", "3,a", "3,a"]) + "\n", None),  # no shorter
        ("\n".join(["x,y", *['1,"a\nb"'] * 4]) + "\n", None),
        ("\n".join(["x,y", *['1,"\na"', '1,"\na"'] * 2]) + "\n", None),
        ("\n".join(["x,y", '1,"\n\n\n\n\n\n\n', '"']) + "\n", None),
        ("\n".join(['"x\n\n\n\n\n\n",y', *ROWS[:3]]) + "\n", None),
        ("\n".join(["x,y", *ROWS]).replace("\n", "\r\n"), None),
        ("\n".join(["x,y", "1,a", "1,a", "", "1,a", "1,a"]) + "\n\n", None),
        ("\n".join(["x,y", *['1,"a\rb"'] * 4]) + "\n", None),
        ("x,y\n", None),
        ("x,y", None),
    ],
)
def test_runs_of_equal_lines_are_the_rows_of_a_file(tmp_path, text, short):
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode())
    every = read_back(path)
    digest, runs = hashed_runs(path, "csv")
    assert digest == sha256(path)
    frame, often = read_runs(path, runs=runs)
    assert (None if often is None else len(often)) == short
    rows = frame if often is None else frame[np.repeat(np.arange(frame.height), often)]
    assert rows.equals(every)


@pytest.mark.parametrize(
    "text", [b"x,y\n1,a\n1,a\n1,a\n1,a,b\n", b'x,y\n1,a\n1,a\n1,a\n1,"a"b"\n', b"x,y\n1,\xff\n1,\xff"]
)
def test_runs_name_the_line_at_fault(tmp_path, text):
    path = tmp_path / "t.csv"
    path.write_bytes(text)
    found = []
    for runs in (None, hashed_runs(path, "csv")[1]):
        with pytest.raises(ReadError) as error:
            read_runs(path, runs=runs)
        found.append(str(error.value))
    assert found[0] == found[1]


@pytest.mark.parametrize("lines", [1, 2, 3, 7, 100])
def test_rows_that_are_alike_and_follow_one_another_are_written_as_others_are(tmp_path, monkeypatch, lines):
    rng = np.random.default_rng(3)
    words = pl.Series(["a", "=1", 'b "c", d', None, "e\nf"])
    frame = pl.DataFrame({name: words.gather(rng.integers(0, 5, 9).repeat(5)) for name in "xyz"})
    write_table(frame, tmp_path / "rows.csv")
    monkeypatch.setattr(files_bytes, "LINES", lines)
    write_table(frame.with_columns(map(coded, frame.iter_columns())), tmp_path / "runs.csv")
    assert (tmp_path / "runs.csv").read_bytes() == (tmp_path / "rows.csv").read_bytes()
    assert read_back(tmp_path / "runs.csv").equals(frame)
