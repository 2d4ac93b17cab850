"""Dates, numbers and missing values as people write them: each form read right, and refused where it is open."""

from __future__ import annotations

import warnings
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.engines.files.forms import Forms, read_forms, suggest_missing
from sfumato.errors import ColumnError, ReadError


def forms(values: Any, **options: Any) -> Any:
    """The column "x", or all columns, in plain forms."""
    table = pl.DataFrame(values if isinstance(values, dict) else {"x": values})
    found = read_forms(table, Forms(**options), "t.csv")[0].to_dict(as_series=False)
    return found if isinstance(values, dict) else found["x"]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["16.10.1961", "1.2.2020"], ["1961-10-16", "2020-02-01"]),
        (["16/10/1961", "01/02/2020"], ["1961-10-16", "2020-02-01"]),
        (["10/16/1961", "01/02/2020"], ["1961-10-16", "2020-01-02"]),
        (["1961/10/16", "2020/1/2"], ["1961-10-16", "2020-01-02"]),
        (["16-10-1961", "01-02-2020"], ["1961-10-16", "2020-02-01"]),
        (["01.02.2020", "05.06.2020"], ["2020-02-01", "2020-06-05"]),  # nobody writes month.day.year
        (["01/01/2020", "02/02/2020"], ["2020-01-01", "2020-02-02"]),  # either way the same days
        (["16.10.1961 8:05", "1.2.2020"], ["1961-10-16T08:05:00", "2020-02-01T00:00:00"]),
        (["1/30/2020 8:05 PM", "1/5/2020 12:00 am"], ["2020-01-30T20:05:00", "2020-01-05T00:00:00"]),
        (["16.10.1961 00:00", "1.2.2020 00:00:00"], ["1961-10-16", "2020-02-01"]),
        (["16.10.1961", "?", None, "k.A."], ["1961-10-16", None, None, None]),
        (["1961-10-16", "NA"], ["1961-10-16", None]),
    ],
)
def test_dates_are_read_by_the_whole_column(written: list[str], read: list[str]) -> None:
    assert forms(written) == read


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["5 May 2020", "17 june 1999"], ["2020-05-05", "1999-06-17"]),
        (["May 5, 2020", "Dec. 31st, 1999"], ["2020-05-05", "1999-12-31"]),
        (["5. Mai 2020", "1. März 1960", "31. Jänner 1960"], ["2020-05-05", "1960-03-01", "1960-01-31"]),
        (["5 maggio 2020", "1° gen 1999"], ["2020-05-05", "1999-01-01"]),
        (["05-MAY-2020", "31-DEC-1999", "?"], ["2020-05-05", "1999-12-31", None]),
        (["05MAY2020:", "31DEC1999"], ["05MAY2020:", "31DEC1999"]),
        (["2020-May-05", "1999-Dec-31"], ["2020-05-05", "1999-12-31"]),
        (["5 May 2020 8:05 PM", "6 May 2020"], ["2020-05-05T20:05:00", "2020-05-06T00:00:00"]),
        (["16.10.61", "1.2.05"], ["1961-10-16", "2005-02-01"]),
        (["10/16/61", "03/04/05"], ["1961-10-16", "2005-03-04"]),
        (["16-Oct-61", "03-Apr-05"], ["1961-10-16", "2005-04-03"]),
        (["5 May 2020", "5 Elm 2020"], ["5 May 2020", "5 Elm 2020"]),  # a street
        (["31 Feb 2020", "1 May 2020"], ["31 Feb 2020", "1 May 2020"]),
    ],
)
def test_months_by_name_and_years_of_two_digits(written: list[str], read: list[str]) -> None:
    assert forms(written) == read


def test_two_digits_are_of_the_hundred_years_up_to_now() -> None:
    now = date.today().year
    short = [f"{year % 100:02d}" for year in (now, now - 99)]
    frame, found = read_forms(pl.DataFrame({"born": [f"16.10.{year}" for year in short]}), Forms(), "t.csv")
    assert [day[:4] for day in frame["born"]] == [str(now), str(now - 99)]
    assert found.notes()[1] == f'years of two digits are {now - 99} to {now} in "born"'
    assert found.record() == {"dates": {"born": "dmy"}, "years_up_to": {"born": now}}


def test_two_digits_that_may_lie_ahead_stay_text() -> None:
    now = date.today().year
    ends = [f"31.12.{year % 100:02d}" for year in (now - 2, now, now + 3)]
    for name, text in (("contract_end", True), ("birth_date", False)):
        frame, found = read_forms(pl.DataFrame({name: ends}), Forms(), "t.csv")
        assert (frame[name].to_list() == ends) is text
        assert (found.left == {name: "its years of two digits may be of two centuries"}) is text


def test_short_dates_that_fit_two_orders_are_refused_and_codes_are_none() -> None:
    with pytest.raises(ReadError, match=r'with the day or the month first\. Hint: pass dates="dmy" or dates="mdy"'):
        forms(["01/02/19", "03/04/20"])
    with pytest.raises(ReadError, match="with the day, the month or the year first"):
        forms(["01-02-03", "04-05-06"])
    assert forms(["01-02-03", "04-05-06"], dates="ymd") == ["2001-02-03", "2004-05-06"]
    assert forms({"sort_code": ["01-02-03", "04-05-06"]}) == {"sort_code": ["01-02-03", "04-05-06"]}


@pytest.mark.parametrize(
    ("written", "shapes"),
    [
        (["16.10.1961", "1961-10-16"], "00.00.yyyy and yyyy-00-00"),
        (["16.10.1961", "16.10.61", "5 May 2020"], "00.00.00, 00.00.yyyy and months by name"),
        (["16/10/1961", "16-10-1961"], "00-00-yyyy and 00/00/yyyy"),
        (["5 May 2020", "May 5, 2020"], "months by name"),
    ],
)
def test_dates_in_several_forms_stay_text_and_are_named_by_their_shapes(written: list[str], shapes: str) -> None:
    frame, found = read_forms(pl.DataFrame({"seen": written}), Forms(), "t.csv")
    assert frame["seen"].to_list() == written
    assert found.notes() == [f'"seen" is read as text: its dates are written in several forms ({shapes})']
    assert not found.record()


def test_a_few_values_that_are_no_dates_are_told() -> None:
    written = [f"{day:02d}.05.2020" for day in range(1, 30)] + ["05/2020"]
    assert read_forms(pl.DataFrame({"x": written}), Forms(), "t.csv")[1].left == {
        "x": "most of its values are dates, and some are not"
    }
    assert not read_forms(pl.DataFrame({"x": ["flat 7", "12.05.2020"] * 30}), Forms(), "t.csv")[1].left


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (["3,5", "4", "-0,25"], ["3.5", "4", "-0.25"]),
        (["1.234,56", "7,5"], ["1234.56", "7.5"]),
        (["1,234.56", "7.5", "12"], ["1234.56", "7.5", "12"]),
        (["1.234.567", "1.234"], ["1234567", "1234"]),
        (["1 234", "12"], ["1234", "12"]),
        (["1\u00a0234,5", "12"], ["1234.5", "12"]),
        (["1'234.50", "12"], ["1234.50", "12"]),
        (["12 %", "3,5 %"], ["12", "3.5"]),
        (["€ 12", "€ 13.50"], ["12", "13.50"]),
        (["$12.50", "-$1,200.00", "($5.00)"], ["12.50", "-1200.00", "-5.00"]),
        (["12 EUR", "1.300,00 EUR"], ["12", "1300.00"]),
        (["\u22125,5", "3,25-"], ["-5.5", "-3.25"]),
        (["(5)", "7"], ["-5", "7"]),
        (["5-", "7"], ["-5", "7"]),
        (["\u22125", "7"], ["-5", "7"]),
        (["31", " 7 ", "-", "NULL", "#N/A"], ["31", "7", None, None, None]),
    ],
)
def test_numbers_are_read_by_the_whole_column(written: list[str], read: list[str]) -> None:
    assert forms(written) == read


@pytest.mark.parametrize(
    "written",
    [
        ["31", "N/A", "old"],  # one text makes a column of text
        ["NA", "?"],
        ["16.10.1961", "10.16.1961"],
        ["16.10.1961", "16/10/1961"],
        ["31.02.2020", "01.03.2020"],
        ["12 EUR", "13 USD"],
        ["12 EUR", "13"],
        ["01,5", "02,5"],  # a leading zero is of a code
        ["1,23,456", "3"],
        ["1.2.3.4", "10.0.0.1"],
        ["1e5", "2.500"],
        ["*", "31"],  # a label of a release
        ["[20, 30)", "[30, 40)"],
    ],
)
def test_what_is_not_one_form_stays_as_it_is(written: list[str]) -> None:
    assert forms(written) == written


def test_codes_by_their_name_stay_as_they_are() -> None:
    table = {"Telefon": ["555 123 456"], "icd": ["250,1"], "zip": ["12.345"], "amount": ["555 123 456"]}
    assert forms(table) == table | {"amount": ["555123456"]}


@pytest.mark.parametrize("many", [1, 3_000])
def test_codes_lose_the_decimals_that_a_program_gave_them(many: int) -> None:
    table = {"zip": ["80331.0", "1067.0", None], "sex": ["1.0", "2.0", "1.0"], "age": ["41.0", "42.0", "43.0"]}
    table |= {"icd9": ["250.0", "401.0", "401.0"], "region": ["1.0", "2.5", "3.0"]}  # say something, or are no codes
    codes = {"zip": ["80331", "1067", None], "sex": ["1", "2", "1"]}
    frame = pl.DataFrame({name: values * many for name, values in table.items()})
    read, found = read_forms(frame, Forms(), "t.csv")
    assert read.head(3).to_dict(as_series=False) == table | codes
    assert found.notes() == ['codes are read without the decimals that a program gave them in "zip" and "sex"']


@pytest.mark.parametrize("written", [["1.5", "2,5"], ["1,234.5", "2.345,6"]])
def test_numbers_in_several_forms_stay_text_and_are_told(written: list[str]) -> None:
    table, found = read_forms(pl.DataFrame({"x": written}), Forms(), "t.csv")
    assert table["x"].to_list() == written
    assert found.notes() == ['"x" is read as text: its numbers are written in several forms']


def test_points_between_are_of_day_month_year_unless_told_otherwise() -> None:
    assert forms(["01.02.2020"]) == ["2020-02-01"]
    assert forms(["01.02.2020"], dates="mdy") == ["2020-01-02"]
    assert forms({"x": ["01.02.2020"], "y": ["10/16/1961"]})["x"] == ["2020-02-01"]


@pytest.mark.parametrize("written", [["01/02/2020", "05/06/2020"], ["01-02-2020", "5-6-2020 10:00"]])
def test_dates_with_the_day_or_the_month_first_are_refused(written: list[str]) -> None:
    with pytest.raises(
        ReadError, match=r't\.csv: the dates in "x".*dates="dmy" or dates="mdy".*verbatim=\["x"\]'
    ) as told:
        forms(written)
    assert "2020" not in str(told.value)
    assert forms(written, dates="dmy")[0][:10] == "2020-02-01"
    assert forms(written, dates="mdy")[0][:10] == "2020-01-02"
    assert forms(written, verbatim=["x"]) == written


def test_another_column_decides_the_order_of_dates() -> None:
    assert forms({"x": ["01/02/2020"], "y": ["16/10/1961"]})["x"] == ["2020-02-01"]
    with pytest.raises(ReadError, match='the dates in "x"'):
        forms({"x": ["01/02/2020"], "y": ["16/10/1961"], "z": ["10/16/1961"]})


def test_days_that_both_orders_read_alike_decide_nothing() -> None:
    assert forms({"y": ["01/01/2020", "02/02/2020"]})["y"] == ["2020-01-01", "2020-02-02"]
    with pytest.raises(ReadError, match='the dates in "x"'):
        forms({"x": ["01/02/1980", "03/04/1981"], "y": ["01/01/2020", "02/02/2020"]})


@pytest.mark.parametrize(("written", "comma", "point"), [("1,234", "1.234", "1234"), ("1.234", "1234", "1.234")])
def test_a_mark_that_is_decimal_or_of_thousands_is_refused(written: str, comma: str, point: str) -> None:
    with pytest.raises(ReadError, match=r'the numbers in "x".*decimal="comma" or decimal="point"') as told:
        forms([written, "12"])
    assert "234" not in str(told.value)
    assert forms([written, "12"], decimal="comma") == [comma, "12"]
    assert forms([written, "12"], decimal="point") == [point, "12"]
    assert forms([written, "12"], decimal=",") == [comma, "12"], "as pandas writes it"
    assert forms([written, "12"], decimal=".") == [point, "12"]
    assert forms({"x": [written], "y": ["3,5"]})["x"] == [comma]
    assert forms({"x": [written], "y": ["3.5"]})["x"] == [point]
    with pytest.raises(ReadError, match='the numbers in "x"'):
        forms({"x": [written], "y": ["3.5"], "z": ["3,5"]})


def test_the_options_decide_nothing_that_the_values_decide() -> None:
    assert forms(["16/10/1961"], dates="mdy") == ["1961-10-16"]
    assert forms(["3,5"], decimal="point") == ["3.5"]


def test_declared_missing_values_are_missing_in_columns_of_any_type() -> None:
    table = {"x": ["a", "N/A", " ? "], "n": [1, 99, 3]}
    assert forms(table, missing=["N/A", "?"]) == {"x": ["a", None, None], "n": [1, 99, 3]}
    assert forms(table, missing={"n": ["99"]}) == table | {"n": [1, None, 3]}
    with pytest.raises(ColumnError, match='no column "m"'):
        forms(table, missing={"m": ["99"]})


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("dates", "german", "dates is unknown; got 'german'; allowed: dmy"),
        ("decimal", ";", "decimal is unknown"),
        ("missing", "NA", "missing must be a list"),
        ("missing", [9], "missing must be a list"),
        ("verbatim", "x", "verbatim must be a list"),
    ],
)
def test_options_are_checked(option: str, value: Any, message: str) -> None:
    with pytest.raises(ReadError, match=message):
        forms(["1"], **{option: value})


def test_columns_of_any_name_are_read() -> None:
    assert forms(
        {
            "*": ["3,5"],
            "^a$": ["NA"],
            "value": [
                "1",
            ],
        }
    ) == {"*": ["3.5"], "^a$": ["NA"], "value": ["1"]}


@pytest.mark.parametrize("rare", ["N/A", "1,5", "1.5"])
def test_one_cell_in_many_rows_counts(rare: str) -> None:
    ages = [str(i % 90) for i in range(9_999)]
    found = forms([*ages[:5_001], rare, *ages[5_001:]])
    assert found[5_001] == {"N/A": None}.get(rare, "1.5")
    days = [f"2020-01-{1 + i % 28:02}" for i in range(9_999)]
    assert forms([*days, "N/A"])[-1] is None
    notes = read_forms(pl.DataFrame({"x": [*days, "16.10.1961"]}), Forms(), "t.csv")[1].notes()
    assert notes == ['"x" is read as text: its dates are written in several forms (00.00.yyyy and yyyy-00-00)']


def test_texts_that_may_be_missing_are_suggested() -> None:
    assert suggest_missing(pl.Series(["a", "?", "N/A", "none", None])) == ["?", "N/A"]
    assert suggest_missing(pl.Series([1])) == []


@pytest.fixture
def hospital(tmp_path: Path) -> Path:
    """Forty rows as a German hospital writes them."""
    file = tmp_path / "hospital.csv"
    rows = [
        f"{i % 28 + 1:02}.0{i % 9 + 1}.19{60 + i % 4};{60 + i % 3},5;0{4100 + i % 2};k.A.;{'ab'[i % 2]}"
        for i in range(40)
    ]
    file.write_text("\n".join(["born;weight;plz;cost;ill", *rows]).replace("k.A.", "1.200,50 €", 30) + "\n", "utf-8")
    return file


ASKED: dict[str, Any] = {
    "quasi": ["born", "plz"],
    "sensitive": ["ill"],
    "unprotected": ["ill"],
    "rest": "release",
    "k": 4,
}
READING = {"dates": {"born": "dmy"}, "units": ["cost"]}


@pytest.mark.parametrize("stream", [False, True])
def test_a_release_says_how_its_file_was_read(hospital: Path, tmp_path: Path, stream: bool) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        data = sf.scan(hospital) if stream else hospital
        release = sf.anonymize(data, **ASKED, search="mondrian", to=tmp_path / "out")
    assert release.manifest["input"]["reading"] == READING
    told = [str(w.message) for w in caught if w.category is sf.ReadWarning]
    assert told[0] == 'hospital.csv: dates are read as day, month, year in "born"'
    assert told[-1].endswith('read as missing in "cost"')
    assert sf.verify(tmp_path / "out").holds
    labels = "".join(p.read_text("utf-8") for p in (tmp_path / "out").glob("data.csv"))
    assert stream or ("1200.50" in labels and "€" not in labels)


def test_a_plain_file_is_read_without_a_word(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("age,born\n" + "31,1961-10-16\n" * 8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        release = sf.anonymize(tmp_path / "t.csv", quasi=["age", "born"], k=2)
    assert "reading" not in release.manifest["input"]


def test_a_streamed_file_that_changes_its_form_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "t.csv"
    file.write_text("day,n\n" + "16.10.1961,1\n" * 200_000 + "1961-10-16,1\n")
    with pytest.warns(sf.ReadWarning):
        table = sf.scan(file)
    with pytest.raises(ReadError, match=r'"day" is not written as in the first rows.*verbatim=\["day"\]'):
        table.count(["day"], lambda message, share: None, 100)
    assert sf.scan(file, verbatim=["day"]).count(["day"], lambda message, share: None, 100).height == 2


def test_forms_are_not_for_streamed_parquet(tmp_path: Path) -> None:
    pl.DataFrame({"a": ["N/A", "b"]}).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(ReadError, match="not for Parquet files that are streamed"):
        sf.scan(tmp_path / "t.parquet", missing=["N/A"])
    with pytest.warns(sf.ReadWarning, match="1 cell is read as missing"):
        assert sf.read(tmp_path / "t.parquet", missing=["N/A"])["a"].to_list() == [None, "b"]


def test_verify_counts_what_is_printed(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("day,n\n1.1.2020,1\n01.01.2020,1\n")
    assert not sf.verify(tmp_path / "t.csv", quasi=["day"], require=sf.KAnonymity(2)).holds


def test_a_frame_that_was_read_remembers_how(hospital: Path) -> None:
    with pytest.warns(sf.ReadWarning):
        frame = sf.read(hospital)
    assert sf.anonymize(frame, **ASKED, search="mondrian").manifest["input"]["reading"] == READING
    assert "reading" not in sf.anonymize(frame.clone(), **ASKED, search="mondrian").manifest["input"]
