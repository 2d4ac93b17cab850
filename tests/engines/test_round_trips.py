"""What is written is read by pandas, openpyxl and Sfumato itself as it was."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import polars as pl
import pytest

from sfumato.core.printed import printed_frame
from sfumato.engines.files.bytes import read_back, write_table
from sfumato.engines.files.read import read

TABLE = pl.DataFrame(
    {
        "Größe": [1.5, -0.25, None],
        "n": [1, -2, 3],
        "born": [dt.date(1961, 10, 16), None, dt.date(1975, 4, 3)],
        "seen": [dt.datetime(2024, 1, 2, 8, 30), dt.datetime(2024, 1, 3), None],
        "plz": ["01067", "80331", None],
        "note": ['say "hi"; a, b', "line\nbreak", " Zürich "],
        "label": ["[20, 30)", "{a, b}", "*"],
        "ok": [True, False, None],
    }
)


@pytest.mark.parametrize(("format", "separator"), [("csv", ","), ("tsv", "\t")])
def test_pandas_reads_delimited_text_without_loss(tmp_path: Path, format: str, separator: str) -> None:
    pandas = pytest.importorskip("pandas")
    write_table(TABLE, tmp_path / "t", format)
    assert not (tmp_path / "t").read_bytes().startswith(b"\xef\xbb\xbf")  # R takes a mark for a part of a name
    found = pandas.read_csv(tmp_path / "t", sep=separator, dtype={"plz": str}, parse_dates=["born", "seen"])
    assert list(found["Größe"].dropna()) == [1.5, -0.25]
    assert list(found["n"]) == [1, -2, 3]
    assert [d.date() for d in found["born"].dropna()] == [dt.date(1961, 10, 16), dt.date(1975, 4, 3)]
    assert list(found["seen"].dropna()) == [dt.datetime(2024, 1, 2, 8, 30), dt.datetime(2024, 1, 3)]
    assert list(found["plz"].dropna()) == ["01067", "80331"]
    assert list(found["note"]) == TABLE["note"].to_list()
    assert list(found["label"]) == TABLE["label"].to_list()


def test_parquet_keeps_types_for_pandas(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    write_table(TABLE, tmp_path / "t.parquet", "parquet")
    found = pandas.read_parquet(tmp_path / "t.parquet")
    assert list(found["plz"][:2]) == ["01067", "80331"]
    assert found["born"][0] == dt.date(1961, 10, 16)


@pytest.mark.parametrize("typed", [True, False])
def test_excel_has_numbers_and_days_as_such(tmp_path: Path, typed: bool) -> None:
    """Also of a table that came as text."""
    openpyxl = pytest.importorskip("openpyxl")
    table = TABLE if typed else printed_frame(TABLE)
    write_table(table, tmp_path / "t.xlsx", "xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx")["data"]
    rows = [[cell.value for cell in row] for row in sheet.iter_rows(min_row=2)]
    assert rows[0][:3] == [1.5, 1, dt.datetime(1961, 10, 16)]
    assert sheet["C2"].number_format == "yyyy-mm-dd"
    assert [row[4] for row in rows] == ["01067", "80331", None]
    assert read_back(tmp_path / "t.xlsx", "xlsx").equals(printed_frame(TABLE))
    assert read(tmp_path / "t.xlsx")["born"].to_list() == TABLE["born"].to_list()


@pytest.mark.parametrize(
    "values",
    [
        ["1.50", "2.25"],
        ["+5", "6"],
        ["007", "8"],
        ["nan", "1.0"],
        ["inf", "1.0"],
        ["1e300", "1.0"],
        ["1234567890123456", "1"],
        ["1899-12-31", "1900-03-01"],
        ["2024-02-30", "2024-01-01"],
        ["2024-1-1", "2024-01-02"],
        ["true", "false"],
        [None, None],
        ["0.1", None],
        ["-0.0", "1.0"],
    ],
)
def test_text_comes_back_from_excel_as_it_was(tmp_path: Path, values: list[str | None]) -> None:
    table = pl.DataFrame({"x": pl.Series(values, dtype=pl.String), "y": ["a", "b"]})
    write_table(table, tmp_path / "t.xlsx", "xlsx")
    assert read_back(tmp_path / "t.xlsx", "xlsx").equals(printed_frame(table))
