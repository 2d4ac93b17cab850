"""What summaries and solutions show of themselves: a few lines, in a notebook a table, and never a value of a cell."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

import pytest

import sfumato as sf
from sfumato.core.wording import FACTS, Described

SECRET = "Quincke"
TABLE: dict[str, list[Any]] = {
    "age": [30, 30, 41, 41, 52, 52],
    "zip": ["10115", "10115", "10117", "10117", "10119", "10119"],
    "disease": [SECRET, "flu", SECRET, "flu", SECRET, "flu"],
}


@pytest.fixture(scope="module")
def shown() -> dict[str, Any]:
    asked = ["k-anonymity 2", f"alpha-k 0.5 2 disease {SECRET}"]
    release = sf.anonymize(TABLE, quasi=["age", "zip"], sensitive=["disease"], require=asked, search="optimal")
    return {
        "risk": sf.risk(release),
        "utility": sf.utility(TABLE, release, queries=5),
        "attack": sf.attack(release, trials=10),
        "verify": sf.verify(
            release.table, quasi=["age", "zip"], require=["k-anonymity 2", "alpha-k 0.5 2 disease flu"]
        ),
        "solution": release.solution,
        "release": release,
    }


@pytest.mark.parametrize("kind", ["risk", "utility", "attack", "verify", "solution", "release"])
def test_a_few_lines_without_a_value(shown: dict[str, Any], kind: str) -> None:
    text, html = repr(shown[kind]), shown[kind]._repr_html_()
    assert len(text.splitlines()) <= FACTS + 2
    assert html.startswith("<table>")
    HTMLParser().feed(html)
    for value in (SECRET, "flu", "10115"):
        assert value not in text + html


def test_the_first_lines(shown: dict[str, Any]) -> None:
    assert repr(shown["release"]).startswith("<Release of 6 rows, 0 suppressed, loss 0.0000, k-anonymity, alpha-k")
    assert "<caption>Release of 6 rows</caption>" in shown["release"]._repr_html_()
    assert {kind: repr(value).splitlines()[0] for kind, value in shown.items() if kind != "release"} == {
        "risk": "6 rows by age and zip",
        "utility": "6 rows by age and zip",
        "attack": f"{len(shown['attack'])} attacks tried",
        "verify": "6 rows: holds",
        "solution": "Solution by levels, 0 rows suppressed",
    }
    assert "  k-anonymity: holds, measured 2, bound 2" in repr(shown["verify"])
    assert "  age: level 0" in repr(shown["solution"])


def test_summaries_are_still_mappings(shown: dict[str, Any]) -> None:
    assert shown["risk"] == dict(shown["risk"])
    assert shown["risk"]["prosecutor"]["highest"] == 0.5


def test_facts_are_escaped_and_counted_where_there_are_many() -> None:
    class Long(Described):
        def described(self) -> tuple[str, list[tuple[str, str]]]:
            return "a < b", [(f"<{i}>", "&") for i in range(FACTS + 3)]

    assert repr(Long()).splitlines()[-1] == "  and: 3 more"
    assert "<caption>a &lt; b</caption><tr><th>&lt;0&gt;</th><td>&amp;</td></tr>" in Long()._repr_html_()


def test_a_notebook_shows_no_figure_that_tells_of_suppressed_rows() -> None:
    table = {"q": [1] * 6 + [2] * 6 + [3] * 2, "d": [*"aaabbb", *"aabbbb", *"cc"]}
    require = [sf.KAnonymity(4), sf.TCloseness("d", 0.5)]
    release = sf.anonymize(table, quasi=["q"], require=require, suppression=3, search="optimal", levels={"q": 0})
    hidden, published = release.verification.promises[1].measured, release.manifest["promises"][1]["measured"]
    assert (hidden, published) == (pytest.approx(1 / 6), pytest.approx(1 / 12))
    html = release._repr_html_()
    assert "measured 0.08333" in html
    assert "0.1667" not in html
