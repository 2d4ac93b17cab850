from __future__ import annotations

import datetime as dt
import sys
import zipfile

import polars as pl
import pytest

from sfumato.engines.files.forms import ReadWarning
from sfumato.engines.files.read import read, write_xlsx
from sfumato.errors import ColumnError, EmptyTable, MissingExtra, ReadError

TABLE = pl.DataFrame({"age": [30.0, None, 41.0], "cost": [1.5, 2.0, None], "town": ["Rome", "", "Paris"]})


def test_parquet_keeps_its_types(tmp_path):
    frame = pl.DataFrame(
        {"a": [1, None], "b": [dt.date(2024, 1, 1), None], "c": pl.Series(["x", "y"], dtype=pl.Categorical)}
    )
    frame.write_parquet(tmp_path / "t[1].parquet")
    assert read(tmp_path / "t[1].parquet").equals(frame)
    (tmp_path / "bad.parquet").write_bytes(b"PAR1 secret PAR1")
    with pytest.raises(ReadError, match=r"bad\.parquet") as caught:
        read(tmp_path / "bad.parquet")
    assert "secret" not in str(caught.value)
    frame.head(0).write_parquet(tmp_path / "empty.parquet")
    with pytest.raises(EmptyTable):
        read(tmp_path / "empty.parquet")


@pytest.mark.parametrize(
    ("name", "writer"),
    [("t.sav", "write_sav"), ("t.zsav", "write_sav"), ("t.dta", "write_dta"), ("t.xpt", "write_xport")],
)
def test_statistics_packages(tmp_path, name, writer):
    pyreadstat = pytest.importorskip("pyreadstat")
    options = {"compress": True} if name.endswith("zsav") else {}
    getattr(pyreadstat, writer)(TABLE, str(tmp_path / name), **options)
    frame = read(tmp_path / name)
    # whole numbers are integers again, an empty text is missing
    assert frame.to_dict(as_series=False) == {
        "age": [30, None, 41],
        "cost": [1.5, 2.0, None],
        "town": ["Rome", None, "Paris"],
    }
    assert frame.schema["age"] == pl.Int64


@pytest.mark.parametrize("name", ["t.sav", "t.dta", "t.xpt", "t.sas7bdat", "t.xlsx"])
def test_a_damaged_file_says_only_its_name(tmp_path, name):
    (tmp_path / name).write_bytes(b"secret" * 100)
    with pytest.raises(ReadError, match=name) as caught:
        read(tmp_path / name)
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__


@pytest.mark.parametrize(
    ("name", "library", "extra"),
    [("t.xlsx", "fastexcel", "excel"), ("t.sav", "pyreadstat", "stats"), ("t.xpt", "pyreadstat", "stats")],
)
def test_a_missing_library_names_its_extra(tmp_path, monkeypatch, name, library, extra):
    (tmp_path / name).write_bytes(b"x")
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtra, match=rf"sfumato\[{extra}\]"):
        read(tmp_path / name)


@pytest.fixture
def book(tmp_path):
    xlsxwriter = pytest.importorskip("xlsxwriter")

    def make(sheets: dict[str, list[list[object]]]):
        path = tmp_path / "t.xlsx"
        with xlsxwriter.Workbook(str(path), {"default_date_format": "yyyy-mm-dd"}) as book:
            for name, rows in sheets.items():
                sheet = book.add_worksheet(name)
                for i, row in enumerate(rows):
                    for j, cell in enumerate(row):
                        if cell is not None:
                            sheet.write(i, j, cell)
        return path

    return make


def test_excel(book):
    path = book(
        {
            "people": [["name", "age", "cost", None], ["Ann", 30, 1.5, "x"], [], ["Bob", 41, 2, None]],
            "other": [["a"], [1]],
        }
    )
    frame = read(path)
    assert frame.columns == ["name", "age", "cost", "column_4"]
    assert frame.rows() == [("Ann", 30, 1.5, "x"), ("Bob", 41, 2.0, None)]
    assert frame.schema["age"] == pl.Int64
    assert read(path, sheet="other").rows() == [(1,)]
    assert read(path, sheet=1).columns == ["a"]
    assert read(path, sheet="other", header=False).rows() == [("a",), ("1",)]
    with pytest.raises(ReadError, match='did you mean "other"'):
        read(path, sheet="others")


def test_excel_with_faults(book):
    with pytest.raises(ColumnError, match="columns 1 and 2"):
        read(book({"s": [["a", "a"], [1, 2]]}))
    with pytest.raises(EmptyTable):
        read(book({"s": [["a", "b"]]}))
    with pytest.raises(EmptyTable):
        read(book({"s": []}))


def test_excel_days_are_dates(book):
    path = book(
        {"s": [["born", "seen"], [dt.date(1961, 10, 16), dt.datetime(2024, 1, 2, 8)], [dt.date(1975, 4, 3), None]]}
    )
    assert read(path).rows() == [(dt.date(1961, 10, 16), dt.datetime(2024, 1, 2, 8)), (dt.date(1975, 4, 3), None)]


def test_excel_titles_are_skipped_and_told(book):
    rows = [["Patients 2024"], [], ["name", "age", "town"], ["Ann", 31, "Rome"], ["Bob", 47, "Rome"]]
    with pytest.warns(ReadWarning, match="2 lines above the header are skipped"):
        assert read(book({"s": rows})).rows() == [("Ann", 31, "Rome"), ("Bob", 47, "Rome")]
    assert read(book({"s": rows}), skip=3, header=False).columns == ["column_1", "column_2", "column_3"]
    assert read(book({"s": rows[3:]}), columns=["name", "age", "town"]).height == 2


def test_a_workbook_that_begins_with_a_cover_page_is_refused(book):
    table = [["name", "age", "town"], ["Ann", 31, "Rome"], ["Bob", 47, "Rome"]]
    path = book({"About": [["Report"], [], ["Author", "Ann"]], "Data": table})
    with pytest.raises(ReadError, match=r'page about the others.*allowed: About, Data.*sheet="\.\.\."'):
        read(path)
    assert read(path, sheet="Data").height == 2
    with pytest.warns(ReadWarning, match='sheet "Data" is read, the first of 2'):
        read(book({"Data": table, "More": table}))


SURVEY = pl.DataFrame({"sex": [1.0, 2.0, 9.0, 1.0], "age": [30.0, 99.0, 45.0, -9.0], "view": [1.0, 2.0, 3.0, 4.0]})
LABELS = {"sex": {1: "male", 2: "female", 9: "no answer"}, "view": {1: "never", 4: "always"}}


def test_spss_labels_stand_for_codes_and_declared_values_are_missing(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    missing = {"age": [99, {"lo": -9, "hi": -1}]}
    pyreadstat.write_sav(SURVEY, str(tmp_path / "t.sav"), variable_value_labels=LABELS, missing_ranges=missing)
    with pytest.warns(ReadWarning) as told:
        frame = read(tmp_path / "t.sav")
    assert frame.to_dict(as_series=False) == {
        "sex": ["male", "female", "no answer", "male"],
        "age": [30, None, 45, None],
        "view": [1, 2, 3, 4],
    }
    assert [str(note.message) for note in told] == [
        't.sav: values declared missing are read as missing in "age"',
        't.sav: value labels stand in place of codes in "sex"',
        't.sav: codes are kept in "view", where not every value has a label of its own',
    ]
    with pytest.warns(ReadWarning, match="declared missing"):
        assert read(tmp_path / "t.sav", value_labels=False)["sex"].to_list() == [1, 2, 9, 1]
    with pytest.warns(ReadWarning):
        assert read(tmp_path / "t.sav", missing={"sex": ["no answer"]})["sex"].null_count() == 1
    with pytest.raises(ReadError, match="value_labels: not an option of format csv"):
        read(tmp_path / "t.sav", format="csv", value_labels=False)


def test_spss_labels_that_two_codes_share_are_not_used(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    pyreadstat.write_sav(SURVEY, str(tmp_path / "t.sav"), variable_value_labels={"sex": {1: "a", 2: "b", 9: "a"}})
    with pytest.warns(ReadWarning, match='codes are kept in "sex"'):
        assert read(tmp_path / "t.sav")["sex"].to_list() == [1, 2, 9, 1]


def test_stata_labels_and_missing_letters(tmp_path):
    pyreadstat = pytest.importorskip("pyreadstat")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"sex": [1, 2, "a", 1], "age": [30, 99, 45, "z"]})
    pyreadstat.write_dta(
        frame,
        str(tmp_path / "t.dta"),
        variable_value_labels={"sex": {1: "male", 2: "female"}},
        missing_user_values={"sex": ["a"], "age": ["z"]},
    )
    with pytest.warns(ReadWarning, match='declared missing are read as missing in "sex" and "age"'):
        assert read(tmp_path / "t.dta").rows() == [("male", 30), ("female", 99), (None, 45), ("male", None)]


def test_excel_cells_that_say_missing_among_numbers_are_told(book):
    path = book({"s": [["age", "n", "town"], [31, 1, "Rome"], ["N/A", None, "Oslo"], ["k.A.", 2, "N/A"]]})
    with pytest.warns(ReadWarning, match='2 cells are read as missing in "age"$'):
        assert read(path).rows() == [("31", 1, "Rome"), (None, None, "Oslo"), (None, 2, "N/A")]
    with pytest.warns(ReadWarning, match='some cells are read as missing in "age"$'):
        assert read(book({"s": [["age", "n"], [31, 1], ["N/A", 2]]})).rows() == [(31, 1), (None, 2)]


def test_a_workbook_that_is_made_to_fill_memory_is_refused(tmp_path, monkeypatch):
    write_xlsx(pl.DataFrame({"a": [1, 2]}), tmp_path / "plain.xlsx")
    with zipfile.ZipFile(tmp_path / "plain.xlsx") as plain, zipfile.ZipFile(tmp_path / "bomb.xlsx", "w", 8) as bomb:
        for name in plain.namelist():
            filling = b" " * (1 << 22) if name.endswith("sheet1.xml") else b""
            bomb.writestr(name, plain.read(name) + filling)
    assert read(tmp_path / "bomb.xlsx").height == 2  # what is small does no harm
    monkeypatch.setattr("sfumato.engines.files.read.UNPACKED", 1 << 20)
    assert read(tmp_path / "plain.xlsx").height == 2
    with pytest.raises(ReadError, match="made to fill memory"):
        read(tmp_path / "bomb.xlsx")
