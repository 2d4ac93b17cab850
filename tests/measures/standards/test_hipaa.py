"""HIPAA Safe Harbor: each of the eighteen by name and by value, and what may stay."""

from __future__ import annotations

import datetime as dt
import sys
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.names import DIRECT
from sfumato.measures.standards import hipaa, profile
from sfumato.measures.standards.hipaa import NAMES, TITLES, by_name
from sfumato.measures.standards.values import (
    RESTRICTED,
    age_fault,
    birth_year_fault,
    date_fault,
    luhn,
    validator,
    vin,
    zip_fault,
)


def found(**columns: list[Any]) -> list[tuple[int, str, float]]:
    return [(f.identifier, f.how, round(f.share, 4)) for f in hipaa(columns)]


def found_in(year: int, **columns: list[Any]) -> list[tuple[int, str, float]]:
    return [(f.identifier, f.how, round(f.share, 4)) for f in hipaa(columns, year=year)]


def test_eighteen_titles_and_every_direct_word_has_its_number() -> None:
    assert list(TITLES) == list(range(1, 19))
    assert set(NAMES) >= DIRECT
    assert set(NAMES.values()) == set(TITLES)


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("First Name", 1),
        ("Nachname", 1),
        ("name", 1),
        ("patient_name", 1),
        ("home_address", 2),
        ("county", 2),
        ("month", 3),
        ("homePhone", 4),
        ("fax_no", 5),
        ("E-Mail Address", 6),
        ("SSN", 7),
        ("medical_record_number", 8),
        ("MRN", 8),
        ("member-id", 9),
        ("account number", 10),
        ("drivers license", 11),
        ("license_plate", 12),
        ("VIN", 12),
        ("device id", 13),
        ("url", 14),
        ("ip_address", 15),
        ("fingerprint", 16),
        ("photo", 17),
        ("UserID", 18),
        ("lname", 1),
        ("hometown", 2),
        ("admit_month", 3),
        ("visit weekday", 3),
        ("acct", 10),
        ("case_no", 18),
        ("city_size", None),
        ("image_finding", None),
        ("tumor_location", None),
        ("months_since_discharge", None),
        ("country_name", None),
        ("disease name", None),
        ("state", None),
        ("hours_per_month", None),
        ("sex", None),
    ],
)
def test_by_name(name: str, number: int | None) -> None:
    assert by_name(name) == number


@pytest.mark.slow
@pytest.mark.parametrize(
    ("values", "number"),
    [
        (["a@b.org", "x"], 6),
        (["see https://x.org/a", "none"], 14),
        (["call 536-22-8145 now", "none"], 7),
        (["192.168.0.1", "10.0.0.7"], 15),
        (["2001:db8::1", "fe80::1"], 15),
        (["DE89 3704 0044 0532 0130 00"], 10),
        (["4111111111111111", "5500005555555559"], 10),
        (["00:1B:44:11:3A:B7"], 13),
        (["490154203237518"], 13),
        (["1M8GDM9AXKP042788"], 12),
        (["13053-1234"], 2),
        (["12 Baker Street", "5 Elm Ave"], 2),
        (["+1 212 555 0188", "(212) 555-0123"], 4),
        (["MRN-123456", "MRN-123457"], 8),
        (["1EG4-TE5-MK73"], 9),
        (["943 476 5919"], 9),
        (["scan_1.jpg"], 17),
        (["123e4567-e89b-12d3-a456-426614174000"], 18),
        (["2024-02-13"], 3),
        (["13/02/2024"], 3),
        (["Feb 2024"], 3),
        (["2024-Q1"], 3),
        (["219099999", "457555462", "078051120"], 7),
        ([219099999, 457555462, 178051120], 7),
        (["219 09 9999", "457 55 5462"], 7),
        (["219-09-9999"], 7),  # known from an advertisement, and entered by somebody
        (["call 212-555-0187 please", "none"], 4),
        (["reach her at +44 20 7946 0958", "none"], 4),
        (["2125550187", "4155550199"], 4),
        (["login from 10.1.2.3.", "none"], 15),
        (["example.com/patient/12", "none"], 14),
        (["see praxis.de/kartei", "none"], 14),
        (["42.3601, -71.0589", "40.7,-74.0"], 2),
        (["(42.3601, -71.0589)"], 2),
        (["42° 21' N"], 2),
        (["1234567893", "1245319599"], 11),
        (["a 92-year-old woman", "none"], 3),
        (["aged 95, well", "none"], 3),
        (["20200314", "20191201"], 3),
        (["March 4", "12. Mai"], 3),
        (["Jan-20", "Feb-20"], 3),
        (["Jan", "Feb", "May"], 3),
        (["2020 03 04", "2020_05_06"], 3),
        (["2020w12", "2020q1"], 3),
        (["call her: 6175550199", "none"], 4),
        (["MRN 1234567 seen", "none"], 8),
        (["lives in Ithaca, NY 14850", "none"], 2),
        (["lives at 12 Main Street", "none"], 2),
        (["Mrs. Baker came alone", "none"], 1),
        ([f"{a} {b}" for a in ("Ann", "Bob", "Eve", "Tom") for b in ("Lee", "Hall", "King", "Hill", "Cole")], 1),
    ],
)
def test_by_value(values: list[str], number: int) -> None:
    assert number in [f.identifier for f in hipaa({"x": values})]
    assert all(f.how == "value" for f in hipaa({"x": values}))


@pytest.mark.slow
@pytest.mark.parametrize(
    "values",
    [
        ["flu", "cold"],
        ["2024", "1999"],
        ["2020s", "1990s"],
        ["[20, 30)", "30-39"],
        [1, 2, 3],
        [1.5, 2.25],
        [True, False],
        ["1.2.3", "10.1.2"],  # a version, neither an address nor a date
        ["*", "***"],
        ["4111111111111112"] * 2,  # the check digit is wrong
        ["12345678901234567"] * 2,
        [219099999] * 20 + [457555462] * 20,  # nine digits, but they repeat: an amount, no number of a person
        ["666123456", "900123456"],  # no area of social security numbers
        ["1234567890", "1245319590"],  # ten digits with a wrong check digit
        ["(1.5, 2.5)", "(2.5, 3.5)"],  # ranges
        ["version 1.2.3 of it", "300.1.2.3 is none"],
        ["5 approx.mg/kg", "he came.In the end"],
        ["aged 90 or older", "90 years old or older"],
        ["12345678", "87654321"],
        ["MARCH1", "SEPT9"],  # genes
        ["Heart Failure", "Lung Cancer"] * 20,
        ["5 OR 10000 units", "dose"],
        ["May", "May"],
    ],
)
def test_what_is_no_identifier(values: list[Any]) -> None:
    assert hipaa({"x": values}) == ()


def test_shares_and_names_and_values_together() -> None:
    assert found(email=["a@b.org", "c@d.org", None, "*"]) == [(6, "name and value", 0.5)]
    assert found(Name=["Ann", None, "*", "Bob"]) == [(1, "name", 0.5)]
    assert found(Name=["*", "*"]) == []
    assert found(note=["fine", "fine", "fine", "write a@b.org"]) == [(6, "value", 0.25)]


def test_zip_codes() -> None:
    assert found(zip=["13053", "14850", "130**", "14*"]) == [(2, "value", 0.5)]
    assert found(zip=[13053, 2138, 130, 36]) == [(2, "value", 0.75)]  # as a number 36 was 036
    assert found(PLZ=["80331"]) == [(2, "value", 1.0)]
    assert found(zip=["000", "130", "148"]) == []
    assert found(zip=[130.0, 36.0, None, 148.0]) == [(2, "value", 0.25)]  # read as floats
    assert found(zip=["130.0", "148.0"]) == found(zip=[130.0, 148.0]) == []
    assert found(zip=[13053.0, 2138.0]) == [(2, "value", 1.0)]
    assert zip_fault("36.0", number=True)
    assert len(RESTRICTED) == 17
    for prefix in RESTRICTED:
        assert zip_fault(prefix)
        assert zip_fault(prefix + "**")
        assert zip_fault(f"[{prefix}00, {prefix}99]")
    assert not zip_fault("[03600, 03799]")  # two areas together
    assert not zip_fault("[13000, 13100)")
    assert zip_fault("[13000, 13050)")
    assert zip_fault("**053")
    assert zip_fault("{13053, 13068}")
    assert zip_fault("SW1A 1AA")


@pytest.mark.parametrize(
    ("values", "share"),
    [
        (["13053", "14850"], 1.0),
        ([13053, 14851, 2138], 0.0),  # two of three have five digits: they may be anything
        (["1305*", "1485*", None], 0.6667),
        ([52000, 61500, 48000, 39990], 0.0),  # round: amounts
        ([13053], 0.0),  # one number
        (["130", "148"], 0.0),
    ],
)
def test_five_digits_where_no_name_says_what_they_are(values: list[Any], share: float) -> None:
    assert [f[2] for f in found(x=values)] == ([share] if share else [])
    assert found(salary=values) == found(diagnosis=values) == []  # the name says what they are
    assert "ZIP codes or coordinates among other numbers" in profile("hipaa", {"x": values}).statement


def test_codes_of_counties_and_of_what_is_done() -> None:
    assert found(fips=["36061", "06037"]) == [(2, "value", 1.0)]
    assert found(fips=["36", "06"]) == []
    assert found(zip4=["1234", "9876"]) == [(2, "value", 1.0)]
    assert found(cpt=["99213", "99214"] * 10) == []
    assert found(ndc=["0002-8215-01", "0003-0293-05"] * 10) == []
    assert found(number_of_visits=[1, 2, 3] * 10) == []
    assert found(gene_signature_score=[0.5, 0.25]) == []


@pytest.mark.parametrize("label", ["3/4", "13.4.", "2020-123", "24121975", "12241975", "241275"])
def test_days_without_a_year_or_signs_by_the_name_of_their_column(label: str) -> None:
    assert found(visit_date=[label, "2020"]) == [(3, "value", 0.5)]
    assert found(ratio=[label, "2020"]) == []


def test_coordinates_in_two_columns() -> None:
    lat, lon = [42.3601, 40.7128, 41.8781], [-71.0589, -74.0060, -87.6298]
    assert found(x=lat, y=lon) == [(2, "value", 1.0)] * 2
    assert found(y=lon, x=lat) == [(2, "value", 1.0)] * 2
    assert found(x=list(map(str, lat)), y=lon) == [(2, "value", 1.0)] * 2
    assert found(x=lat) == []  # one alone may be anything
    assert found(x=lat, sex=["f", "m", "f"], y=lon) == []
    assert found(x=lat, weight=lon) == []  # a name that says otherwise
    assert found(x=[0.1234, 0.2345], y=[0.3456, 0.4567]) == []  # shares
    assert found(x=lon, y=[-171.0589, -174.0060, -187.6298]) == []  # beyond the earth
    assert found(x=[42.4, 40.7], y=[-71.1, -74.0]) == []  # to a tenth of a degree
    assert found(x=["POINT(-71.05 42.36)", None]) == [(2, "value", 0.5)]


@pytest.mark.parametrize(
    "label",
    [
        "01/2020", "1/2020", "01-2020", "05.2020", "2020/01", "5. Mai 2020", "5 mai 2020", "05-MAY-2020", "05MAY2020",
        "5 de mayo de 2020", "1er février 2020", "May 5th, 2020", "märz 2020", "Q1 2020", "2020 Q1", "2020.05.17",
        "3-Jan-20",
    ],
)  # fmt: skip
def test_dates_as_others_write_them(label: str) -> None:
    assert date_fault(label)
    assert found(x=[label, "2020"]) == [(3, "value", 0.5)]


@pytest.mark.parametrize(
    "label", ["2020", "1/2", "12/1500", "Marathon 2020", "3 may 7", "1.2020", "mayor 2020", "2020-2021", "[2019, 2020)"]
)
def test_no_dates(label: str) -> None:
    assert not date_fault(label)


def test_months_without_a_separator() -> None:
    assert found(x=["202001", "201912"]) == [(3, "value", 1.0)]
    assert found(x=[202001, 201912, 202013]) == []  # there is no thirteenth month
    assert found(admission=[202001, 7]) == [(3, "value", 0.5)]
    assert found(x=[202001.0, 201912.0]) == [(3, "value", 1.0)]


@pytest.mark.parametrize("name", ["date", "visit_date", "Geburtsdatum", "discharge", "timestamp"])
def test_dates_that_programs_count(name: str) -> None:
    """Days of Excel, seconds and milliseconds of Unix; years and small numbers may stay."""
    assert found(**{name: [43831, 43832]})[0][0] == 3
    assert found(**{name: [1577836800, 2020]}) == [(3, "value", 0.5)]
    assert found(**{name: ["1577836800000", "43831.5"]})[0][2] == 1.0
    assert found(**{name: [2019, 2020]}) == []
    assert found(**{name: [1, 2, 30]}) == []
    assert found(discharge_cost=[43831, 52017]) == []  # the name says more
    assert "counts in days or seconds" in profile("hipaa", {"x": [1577836800]}).statement


def test_dates() -> None:
    day = dt.date(2024, 2, 13)
    assert found(seen=[day, None]) == [(3, "value", 0.5)]
    assert found(seen=[dt.date(2024, 1, 1), dt.date(2023, 1, 1)]) == []  # years kept as dates
    assert found(seen=[dt.datetime(2024, 2, 13, 8, 30)]) == [(3, "value", 1.0)]
    assert found(birth_date=[19240213, 19500101]) == [(3, "value", 1.0)]
    assert not date_fault("[2020-01-01, 2020-12-31]")
    assert not date_fault("[2020-01-01, 2022-01-01)")
    assert date_fault("[2020-01-01, 2020-06-30]")
    assert not date_fault("536-22-8145")


def test_ages_over_89() -> None:
    assert found(age=[89, 90, 101, 30]) == [(3, "value", 0.5)]
    assert found(age=["[80, 90)", "90+", ">= 90", "*"]) == []
    assert found(alter=["90-94", "30"]) == [(3, "value", 0.5)]
    assert found(age=["{91, 92}", "{30, 31}"]) == [(3, "value", 0.5)]
    assert found(age=["over 95", "30"]) == [(3, "value", 0.5)]
    assert found(age=["[85, 95]", "[80, 89]", "90 or older"]) == [(3, "value", 0.3333)]
    assert age_fault("9*")
    assert not age_fault("8*")
    assert not age_fault("[90, inf)")


@pytest.mark.parametrize(
    "label",
    ["{91, 92}", "over 95", "older than 90", "über 95", "95 or older", "> 90", "[85, 95]", "85-95", "80..90", "< 95",
     "1**", "[80, 90]", "[80, 120]", "99.5", "1080 months", "90-95 years", "90s"],
)  # fmt: skip
def test_what_tells_an_age_over_89(label: str) -> None:
    assert age_fault(label)


@pytest.mark.parametrize(
    "label",
    ["90 or older", "90 and over", "90 oder älter", "over 89", "> 89", ">= 80", "[90, inf)", "[80, 90)", "80-89",
     "< 90", "under 90", "89.5", "{30, 31}", "95 months", "100 weeks", "400 days", "12-95 months", "eighty", "*"],
)  # fmt: skip
def test_what_tells_no_age_over_89(label: str) -> None:
    assert not age_fault(label)


def test_ages_in_months_weeks_and_days() -> None:
    assert found(age_months=[95, 240]) == found(**{"age in months": ["95-100", 300]}) == []
    assert found(AgeMonths=[1080, 240]) == [(3, "value", 0.5)]
    assert found(age_days=[400, 20_000]) == found(age_weeks=[100]) == []
    assert found(age=["95 months", "3 years"]) == []
    assert found(age_months=["92 years", "30"]) == [(3, "value", 0.5)]
    assert found(note=["aged 95 months", "fine"]) == []
    assert found(note=["aged 95", "fine"]) == [(3, "value", 0.5)]


def test_every_range_of_ages_by_counting() -> None:
    """A range may stay where it has no age over 89, or goes on for ever from 90 or below."""
    for low in range(84, 94):
        assert age_fault(f">= {low}") == (low > 90)
        assert age_fault(f"> {low}") == (low + 1 > 90)
        for high in range(low + 1, 96):
            for text, ages in ((f"[{low}, {high}]", range(low, high + 1)), (f"[{low}, {high})", range(low, high))):
                assert age_fault(text) == any(age > 89 for age in ages), text


def test_ages_with_their_unit() -> None:
    assert found(age=["92 years", "30 years"]) == [(3, "value", 0.5)]
    assert found(age=["90-94 yrs", "30 y/o"]) == [(3, "value", 0.5)]
    assert found(alter=["91 Jahre", "45 Jahre"]) == [(3, "value", 0.5)]
    assert found(age=["30 years", "89 years old", ">= 90"]) == []


@pytest.mark.parametrize("name", ["admission", "discharge", "death", "last visit"])
def test_dates_without_separators_by_the_name_of_their_column(name: str) -> None:
    assert found(**{name: ["20200314", "unknown", "unknown"]}) == [(3, "value", 0.3333)]
    assert found(**{name: [20200314, 20191201]}) == [(3, "value", 1.0)]


def test_the_statement_says_what_cannot_be_recognised() -> None:
    said = profile("hipaa", {"c": ["John Smith", "Mary Jones"]}).statement
    assert "Not recognisable by value are names of people" in said
    unread = profile("hipaa", {"birth_year": [1910, 1980]})
    assert 'Whether "birth_year" tells ages over 89 was not examined' in unread.statement
    assert unread.details["not examined"] == ["birth_year"]
    read = profile("hipaa", {"birth_year": [1910, 1980]}, year=2024)
    assert not read.holds
    assert "not examined" not in read.statement


def test_birth_years_need_a_year_to_compare_with() -> None:
    table = {"birth_year": [1920, 1990]}
    assert hipaa(table) == ()
    assert [f.share for f in hipaa(table, year=2024)] == [0.5]


def test_ranges_of_birth_years_by_counting() -> None:
    """In 2024 those born in 1934 or before are over 89; "1934 or before" may stay, and what is coarser."""
    for low in range(1928, 1940):
        assert birth_year_fault(str(low), 2024) == (low <= 1934)
        assert birth_year_fault(f"<= {low}", 2024) == birth_year_fault(f"{low} or earlier", 2024) == (low < 1934)
        assert birth_year_fault(f"< {low}", 2024) == birth_year_fault(f"before {low}", 2024) == (low - 1 < 1934)
        for high in range(low, 1942):
            assert birth_year_fault(f"[{low}, {high}]", 2024) == (low <= 1934)
    for label in ("1930s", "193*", "{1930, 1950}", "1930.0", "1930-1939", "[1930-01-01, 1949-12-31]", ">= 1930"):
        assert birth_year_fault(label, 2024)
    for label in ("1940s", "194*", "{1940, 1950}", "1940-1949", "*", "unknown", "19**x"):
        assert not birth_year_fault(label, 2024)
    assert found_in(2024, birth_year=["1930s", "1980s"]) == [(3, "value", 0.5)]
    assert found_in(2024, dob=["1930", "1980"]) == [(3, "value", 0.5)]
    assert 'Whether "dob" tells' in profile("hipaa", {"dob": ["1930", "1980"]}).statement
    assert "not examined" not in profile("hipaa", {"birth_weight": [3.1, 2.9]}).statement


def test_other_unique_codes_are_the_eighteenth() -> None:
    assert found(record_no=list(range(30))) == [(18, "value", 1.0)]
    assert found(code=[f"K{i * 7919 % 1000:03d}x" for i in range(40)]) == [(18, "value", 1.0)]
    assert found(note=["word " * 20]) == [(18, "value", 1.0)]


def test_a_flag_is_no_identifier() -> None:
    assert found(phone=[True, False]) == []
    assert found(email=["yes", "no", "yes"]) == []
    assert found(photo=[0, 1, 1]) == []


def test_findings_name_no_value() -> None:
    table = {"Name": ["Ann Smith"], "mail": ["ann@smith.org"], "zip": ["13053"], "dob": ["1950-02-03"]}
    text = repr(profile("hipaa", table).to_dict())
    for word in ("Ann", "smith.org", "13053", "1950"):
        assert word not in text


def test_profile_holds_for_a_release_and_not_for_the_original() -> None:
    before = profile("hipaa", {"name": ["Ann"], "zip": ["13053"], "age": [95]})
    assert not before.holds
    assert [f.identifier for f in before.checks] == [1, 2, 3]
    assert "1, 2, 3" in before.statement
    after = profile("hipaa", {"zip": ["130**"], "age": [">= 90"], "sex": ["f"]})
    assert after.holds
    assert "actual knowledge" in after.statement


def test_check_digits() -> None:
    assert luhn("79927398713")
    assert not luhn("79927398710")
    assert not luhn("")
    assert vin("1HGCM82633A004352")
    assert not vin("1HGCM82633A004353")
    assert not vin("IOQ" + "1" * 14)  # letters that no such number has


def test_without_the_libraries_patterns_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("stdnum", "stdnum.luhn", "stdnum.us.ssn", "stdnum.iban", "stdnum.gb.nhs", "phonenumbers"):
        monkeypatch.setitem(sys.modules, name, None)
    validator.cache_clear()
    try:
        assert found(x=["536-22-8145"]) == [(7, "value", 1.0)]
        assert found(x=["+1 212 555 0188"]) == [(4, "value", 1.0)]
        assert "python-stdnum" in profile("hipaa", {"x": ["flu"]}).statement
    finally:
        validator.cache_clear()


CELL = st.one_of(st.none(), st.text(max_size=12), st.integers(-(2**70), 2**70), st.floats(), st.dates(), st.booleans())


@given(st.sampled_from(["x", "zip", "age", "birth year", "date", "Ñame"]), st.lists(CELL, min_size=1, max_size=6))
def test_nasty_columns(name: str, cells: list[Any]) -> None:
    for finding in hipaa({name: cells}, year=2024):
        assert 0 < finding.share <= 1
        assert 1 <= finding.identifier <= 18


def test_a_wide_frame_of_other_kinds() -> None:
    frame = pl.DataFrame({"t": [dt.time(8, 30)], "d": [dt.timedelta(days=3)], "c": ["a"]}).with_columns(
        pl.col("c").cast(pl.Categorical)
    )
    assert hipaa(frame) == ()
