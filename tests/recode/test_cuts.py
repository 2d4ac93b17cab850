"""The cuts of a hierarchy that was given, as steps that ends of ranges are rounded to."""

from __future__ import annotations

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.hierarchy import Categories, Hierarchy, grow
from sfumato.core.microdata import Attribute, encode, microdata
from sfumato.hierarchies import parse
from sfumato.hierarchies.bounds import cuts_of
from sfumato.release.steps import Cuts, steps_of, with_cuts

BANDS = {str(age): "0-17" if age < 18 else "18-64" if age < 65 else "65+" for age in range(120)}


def steps(values: Any, spec: Any, released: Any = None) -> tuple[Cuts, Attribute]:
    """The steps of a column under a hierarchy, from the rows that are released alone."""
    frame = pl.DataFrame({"x": values})
    micro = microdata(frame, {"x": "quasi"}, {"x": parse(spec)})
    attribute, codes = micro.attribute("x"), micro.codes["x"]
    rows = codes if released is None else codes[np.asarray(released)]
    count = np.bincount(rows, minlength=len(attribute.categories))
    present = np.flatnonzero(count)
    return with_cuts(steps_of(attribute.categories, present, present), attribute, count), attribute


def ends(found: Cuts, attribute: Attribute, value: str, step: int) -> tuple[str, str]:
    """What a value is rounded to, downward and upward; the places of the ends are where the texts say."""
    code = np.array([attribute.categories.text.index(value)])
    low, high = found.low(step, code), found.high(step, code)
    place = found.place[code]
    assert found.positions(step, low, False) <= place <= found.positions(step, high, True)
    return found.texts(step, low, False)[0], found.texts(step, high, True)[0]


def levels(found: Cuts) -> list[int]:
    return np.flatnonzero(found.given).tolist()


@pytest.mark.parametrize(
    ("kind", "label", "expected"),
    [
        ("integer", "[18, 65)", ("18", "64")),
        ("integer", "(17, 64]", ("18", "64")),
        ("integer", "]17; 65[", ("18", "64")),
        ("integer", "18-64", ("18", "64")),
        ("integer", "-9..-5", ("-9", "-5")),
        ("integer", "[17.5, 64.5)", ("18", "64")),
        ("integer", "< 18", (None, "17")),
        ("integer", "<= 17", (None, "17")),
        ("integer", ">= 65", ("65", None)),
        ("integer", "> 64", ("65", None)),
        ("integer", "65+", ("65", None)),
        ("integer", "[65, inf)", ("65", None)),
        ("integer", "1970s", ("1970", "1979")),
        ("decimal", "[1.50, 2)", ("1.5", "2")),
        ("decimal", "[0, 1e3]", ("0", "1000")),
        ("date", "1970", ("1970-01-01", "1970-12-31")),
        ("date", "1970s", ("1970-01-01", "1979-12-31")),
        ("date", "1972-02", ("1972-02-01", "1972-02-29")),
        ("date", "1970-Q4", ("1970-10-01", "1970-12-31")),
        ("date", "1970-W01", ("1969-12-29", "1970-01-04")),
        ("date", "9990s", ("9990-01-01", "9999-12-31")),
        ("date", "[1970-01-01, 1980-01-01)", ("1970-01-01", "1979-12-31")),
        ("date", "[1970-01-01, 1979-12-31]", ("1970-01-01", "1979-12-31")),
        ("date", "< 1970-01-01", (None, "1969-12-31")),
        ("datetime", "1970-01-02", ("1970-01-02", "1970-01-02")),
        ("datetime", "[1970-01-01, 1970-01-03)", ("1970-01-01", "1970-01-02")),
        ("datetime", "[1970-01-01T08:00, 1970-01-01T12:30:05)", ("1970-01-01T08:00", "1970-01-01T12:30:05")),
        ("datetime", "[1970-01-01T00:00:00, 1970-01-02T00:00:00]", ("1970-01-01", "1970-01-02T00:00")),
    ],
)
def test_ranges_are_read(kind: str, label: str, expected: tuple[str | None, str | None]) -> None:
    found = cuts_of(label, kind)
    assert found is not None
    assert tuple(cut and cut[1] for cut in found) == expected


@pytest.mark.parametrize(
    ("kind", "label"),
    [
        ("integer", "30"),
        ("integer", "*"),
        ("integer", None),
        ("integer", "[39, 30]"),
        ("integer", "2010-15"),
        ("integer", "476**"),
        ("integer", "young"),
        ("decimal", "1e-5"),
        ("decimal", "[1e400, 1e401]"),
        ("date", "1970-13"),
        ("date", "[1970-01-01T08:00, 1970-01-02]"),
        ("datetime", "[1970-01-01T08:00:00+01:00, 1970-01-01T09:00:00+01:00]"),
        ("text", "[1, 2]"),
    ],
)
def test_other_labels_are_no_ranges(kind: str, label: str | None) -> None:
    assert cuts_of(label, kind) is None


@pytest.mark.parametrize("spec", [sf.intervals(cuts=[[18, 65]]), BANDS])
def test_a_level_is_a_step_and_the_grid_serves_where_it_is_open(spec: Any) -> None:
    found, attribute = steps(range(1, 104), spec)
    (at,) = levels(found)
    assert 20 < found.sizes[at] < 50
    assert found.sizes == sorted(found.sizes)
    assert not found.given[-1]
    assert ends(found, attribute, "18", at) == ("18", "64")
    assert ends(found, attribute, "64", at) == ("18", "64")
    assert ends(found, attribute, "5", at) == ("0", "17")
    assert ends(found, attribute, "103", at) == ("65", "119")  # the grid of 20, and not the oldest person


def test_every_level_counts_and_decimals_end_at_the_cut() -> None:
    values = [64.0, *(x / 10 for x in range(3, 900, 7))]
    found, attribute = steps(values, sf.intervals(7, 21, origin=1))
    fine, coarse = levels(found)
    assert (found.sizes[fine], found.sizes[coarse]) == (7, 21)
    assert ends(found, attribute, "9.4", fine) == ("8", "15")
    assert ends(found, attribute, "9.4", coarse) == ("1", "22")
    assert ends(found, attribute, "64.0", coarse) == ("64", "64")  # [43, 64] covers it, and so does [64, 85]


def test_dates_and_times() -> None:
    days = [dt.date(1961, 1, 1) + dt.timedelta(days=17 * i) for i in range(800)]
    found, attribute = steps(days, sf.dates("week"))
    (week,) = levels(found)
    assert ends(found, attribute, "1961-01-01", week) == ("1960-12-26", "1961-01-01")  # a Sunday
    found, attribute = steps(days, sf.dates("year", "decade"))
    year, decade = levels(found)
    assert ends(found, attribute, "1961-01-18", year) == ("1961-01-01", "1961-12-31")
    assert ends(found, attribute, "1961-01-18", decade) == ("1960-01-01", "1969-12-31")
    times = [dt.datetime(2020, 1, 1) + dt.timedelta(minutes=37 * i) for i in range(800)]
    found, attribute = steps(times, sf.dates("day", "month"))
    assert ends(found, attribute, "2020-01-01T00:37:00", levels(found)[0]) == ("2020-01-01", "2020-01-01")
    zone = pl.Series("x", times).dt.replace_time_zone("Europe/Berlin", ambiguous="earliest")
    assert not levels(steps(zone, sf.dates("day", "month"))[0])  # clocks are set back


def test_narrow_labels_and_labels_that_do_not_cover_their_value_are_not_used() -> None:
    assert not levels(steps(range(90), sf.intervals(2))[0])  # every second value would be an end
    found, attribute = steps(range(10, 90), sf.intervals(10, bottom=18))
    (at,) = levels(found)
    assert ends(found, attribute, "18", at) == ("15", "19")  # not [18, 20)
    assert ends(found, attribute, "25", at) == ("20", "29")
    wrong = {str(x): "[0, 49]" if x < 60 else "[50, 99]" for x in range(100)}
    found, attribute = steps(range(100), wrong)
    (at,) = levels(found)
    assert ends(found, attribute, "49", at) == ("0", "49")
    low, high = ends(found, attribute, "55", at)
    assert int(low) <= 55 <= int(high) != 49


def test_a_value_of_more_digits_than_floats_hold_is_in_no_cut() -> None:
    beyond = "20.00000000000000000001"
    found, attribute = steps([*map(str, np.arange(1, 20, 0.25)), beyond], sf.levels({beyond: "[10, 20]"} | _tens()))
    (at,) = levels(found)
    assert ends(found, attribute, "19.75", at)[1] == "20"
    assert float(ends(found, attribute, beyond, at)[1]) > 20


def _tens() -> dict[str, str]:
    return {str(x): "[0, 10)" if x < 10 else "[10, 20]" for x in np.arange(1, 20, 0.25)}


def test_labels_that_are_no_ranges_keep_a_level_out_where_they_are_released() -> None:
    named = {str(x): "child" if x < 18 else "[18, 64]" if x < 65 else ">= 65" for x in range(100)}
    values = list(range(100))
    assert not levels(steps(values, named)[0])
    assert levels(steps(values, named, released=values[18:])[0])


def test_what_is_made_from_the_table_is_no_step() -> None:
    values = list(range(0, 200, 2))
    learned = sf.hierarchies.learned().build(encode(pl.Series("x", values))[0])
    assert learned.learned
    assert learned.restrict(learned.leaves[:50]).learned

    class Quantiles:
        """A recipe of somebody else's, which may cut wherever the table has values."""

        def build(self, categories: Categories) -> Hierarchy:
            half = np.arange(len(categories)) >= len(categories) // 2
            return grow("x", [str(x) for x in categories.text], [(half.astype(int), ["[0, 99]", "[100, 199]"])])

        def describe(self) -> str:
            return "quantiles"

    for spec in (learned, sf.hierarchies.learned(), Quantiles(), "flat"):
        assert not levels(steps(values, spec)[0])


def test_steps_are_those_of_released_values() -> None:
    values = [*range(20, 80), 3, 104, 250]
    found, some = steps(values, sf.intervals(7, 21), released=range(60))
    alone, own = steps(values[:60], sf.intervals(7, 21))
    assert found.sizes == alone.sizes
    for at in range(len(found.sizes)):
        assert all(ends(found, some, str(x), at) == ends(alone, own, str(x), at) for x in range(20, 80))
