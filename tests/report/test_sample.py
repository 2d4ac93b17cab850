"""The sample: rows that fit the released labels, made up from nothing else."""

from __future__ import annotations

import datetime as dt

import polars as pl
import pytest

import sfumato as sf
from sfumato.report import report
from sfumato.report.sections.sample import invented, sample

from .test_report import Outline

SEEDS = [f"{i} c" for i in range(60)]


@pytest.mark.parametrize("label", ["[30, 34]", "[30, 35)", "30-34", "30..34"])
def test_a_whole_number_lies_in_its_range(label: str) -> None:
    assert {int(invented(label, "integer", [], seed)) for seed in SEEDS} <= set(range(30, 35))


def test_other_labels() -> None:
    for seed in SEEDS:
        assert 0.5 <= float(invented("[0.5, 0.75)", "decimal", [], seed)) < 0.75
        assert invented("{a, b}", "text", [], seed) in ("a", "b")
        assert int(invented(">= 90", "integer", [], seed)) >= 90
        assert int(invented("< 20", "integer", [], seed)) < 20
        assert invented("1950s", "date", [], seed).startswith("195")
        assert invented("1956-Q2", "date", [], seed)[5:7] in ("04", "05", "06")
        assert dt.date.fromisoformat(invented("1956-02", "date", [], seed)).month == 2
        found = dt.date.fromisoformat(invented("[1956-02-27, 1956-03-02]", "date", [], seed))
        assert dt.date(1956, 2, 27) <= found <= dt.date(1956, 3, 2)
        assert invented("08***", "text", [], seed)[:2] == "08"
        assert invented("08***", "text", [], seed)[2:].isdigit()
        assert invented("*", "text", ["x"], seed) == "x"
        assert invented("*", "text", [], seed) == invented(None, "text", ["x"], seed) == "…"
        assert invented("[b, a", "text", [], seed) == "[b, a"
        assert invented("asthma", "text", [], seed) == "asthma"


def test_the_same_released_rows_give_the_same_sample_whatever_stood_behind_them() -> None:
    tables = [
        {"age": [30, 31, 32, 58, 57, 56] * 5, "sex": ["F", "M"] * 15},
        {"age": [34, 33, 30, 55, 59, 58] * 5, "sex": ["M", "F"] * 15},
    ]
    asked = {
        "quasi": ["age", "sex"],
        "k": 5,
        "search": "optimal",
        "hierarchies": {"age": "intervals:5,30", "sex": "flat"},
        "levels": {"age": (1, 1), "sex": (1, 1)},
    }
    made = [sf.anonymize(table, **asked) for table in tables]
    assert made[0].table.equals(made[1].table)
    first, second = (sample(one.manifest, one.table) for one in made)
    assert first == second
    assert first is not None
    assert "invented" in first


def test_it_is_marked_and_left_out_where_nothing_was_blurred() -> None:
    made = sf.anonymize({"age": list(range(20, 60)), "note": ["x"] * 40}, quasi=["age"], k=5)
    page = report(made.manifest, made.table)
    assert page.count(">before, invented<") == page.count(">after, released<") == 4
    assert "The rows before are invented" in Outline(page).text
    assert sample({"policy": {"quasi": []}}, pl.DataFrame({"a": [1]})) is None
    wide = pl.DataFrame({f"c{i}": ["a", "b"] for i in range(40)})
    columns = [{"name": name, "role": "quasi", "kind": "text"} for name in wide.columns]
    assert "32 more columns are not shown." in str(sample({"data": {"columns": columns}}, wide))
