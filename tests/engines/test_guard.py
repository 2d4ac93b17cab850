from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.engines.guard import guard, guard_names, guarded_text, unguard, unguard_names

NASTY = st.text(alphabet="'=+-@\t\r\n 1.5eE,aé＝", max_size=8)


@pytest.mark.parametrize(
    "cell",
    [
        "=1+1",
        "+cmd|' /C calc'!A0",
        "-2+3",
        "@SUM(A1)",
        "\t=1",
        "\r=1",
        "\n=1",
        " =1",
        "\u00a0=1",
        "＝1+1",
        "'=1",
        "-",
        "-a",
    ],
)
def test_what_a_spreadsheet_could_run_gets_one_apostrophe(cell):
    assert guard(pl.Series([cell])).to_list() == ["'" + cell]


NUMBERS = ["-5", "+5.2", "-1e3", "-.5", "-5,2", " -5"]
LABELS = ["[20, 30)", "[-20, 30)", "< 18", ">= 90", "{a, b}", "*", "", "a=b", "'s-Gravenhage"]


@pytest.mark.parametrize("cell", NUMBERS + LABELS)
def test_plain_numbers_and_labels_stay(cell):
    assert guard(pl.Series([cell])).to_list() == [cell]


@given(st.lists(st.one_of(st.none(), NASTY, st.text()), max_size=20))
def test_unguard_is_the_inverse(cells):
    series = pl.Series("x", cells, pl.String)
    assert unguard(guard(series)).to_list() == cells


@given(NASTY, NASTY)
def test_two_texts_never_become_one(a, b):
    x, y = guard(pl.Series([a, b])).to_list()
    assert (x == y) == (a == b)


@given(NASTY)
def test_nothing_guarded_starts_a_formula(cell):
    (safe,) = guard(pl.Series([cell])).to_list()
    assert safe.lstrip()[:1] not in list("=+-@＝") or safe.strip(" 0123456789+-.,eE") == ""


def test_names_are_guarded_too():
    names = ["=a", "b", "'=a", "-1"]
    assert guard_names(names) == ["'=a", "b", "''=a", "-1"]
    assert unguard_names(guard_names(names)) == names


def test_missing_stays_missing_and_infinity_is_guarded():
    assert guard(pl.Series(["=1", None])).to_list() == ["'=1", None]
    assert guarded_text(pl.Series([float("-inf"), -1.5])).to_list() == ["'-inf", "-1.5"]
