"""A table that was counted elsewhere, and what is wrong with it: said by its position, never by its values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.errors import SfumatoError

TOWNS = {"town": ["*", "Rome", "Bari"]}
FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "a total": (
        TOWNS | {"value": [99, 5, 3]}, 'a total is not the sum of its parts; got the first along "town", in row 1',
    ),
    "a count below zero": (TOWNS | {"value": [2, 5, -3]}, "a count is negative; got the first in row 3"),
    "a missing cell": ({"a": ["*", "*", "x"], "b": ["*", "u", "*"], "value": [3, 3, 3]}, "lacks 1 cell"),
    "a hidden cell": (TOWNS | {"value": [99, None, 3]}, "1 cell has no number; got the first in row 2"),
    "a word": (TOWNS | {"value": ["99", "secret", "3"]}, "1 cell has no number"),
    "a cell twice": ({"town": ["*", "Rome", "Rome"], "value": [9, 5, 4]}, "a cell is there more than once"),
    "no total": ({"town": ["Rome", "Bari"], "value": [5, 4]}, '"town" has no total'),
    "sums of nobody": (TOWNS | {"value": [9.5, 5.5, 4.0]}, 'needs a column "contributors"'),
    "contributors": (TOWNS | {"value": [9.5, 5.5, 4.0], "contributors": [3, 2, None]}, '"contributors" needs a number'),
    "largest": (
        TOWNS | {"value": [9.5, 5.5, 4.0], "contributors": [3, 2, 1], "largest_1": [5, 3, 4], "largest_2": [4, 4, 0]},
        '"largest_2" is larger than "largest_1"; got the first in row 2',
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_what_is_wrong_is_said_by_position(fault: str) -> None:
    cells, words = FAULTS[fault]
    with pytest.raises(SfumatoError) as told:
        sf.read_table(cells)
    assert words in str(told.value)
    assert "99" not in str(told.value)
    assert "secret" not in str(told.value)


def test_hierarchies_that_are_no_trees_are_refused(tmp_path: Path) -> None:
    cells = {"town": ["*", "Europe", "Italy", "Rome", "Bari"], "value": [9, 9, 5, 5, 4]}
    for text, words in (
        ("Rome,Italy\nRome,Europe\n", "has two parents"),
        ("Rome,Italy\nItaly,Rome\n", "circle"),
        ("Rome,Italy,*\nBari,Europe,*\nItaly,Europe,*", "has two parents"),
    ):
        (tmp_path / "above.csv").write_text(text, "utf-8")
        with pytest.raises(SfumatoError, match=words):
            sf.read_table(cells, hierarchies={"town": str(tmp_path / "above.csv")})
    (tmp_path / "above.csv").write_text("Rome,Italy\nItaly,Europe\nBari,Europe\n", "utf-8")  # a level is skipped
    found = sf.read_table(cells, hierarchies={"town": str(tmp_path / "above.csv")})
    assert found.dimensions[0].depth.tolist() == [0, 1, 2, 2, 3]
    (tmp_path / "wide.csv").write_text("Rome,Italy,Europe,*\nBari,Bari,Europe,*\n", "utf-8")
    again = sf.read_table(cells, hierarchies={"town": str(tmp_path / "wide.csv")})
    assert again.dimensions[0].parent.tolist() == found.dimensions[0].parent.tolist()
    for rows, words in (
        ([("Rome", "Italy", "*"), ("Rome", "Lazio", "*")], "different levels above"),
        ([("Rome", "Italy", "Europe", "*"), ("Bari", "Italy", "Asia", "*")], "under two labels"),
        ([("Rome", "Italy", "*"), ("Bari", "", "*")], "column 2 is empty"),
    ):
        with pytest.raises(SfumatoError, match=words):
            sf.tabulate({"town": ["Rome", "Bari"]}, by=["town"], hierarchies={"town": sf.wide(rows)})


def test_tables_that_are_audited_together_have_to_add_up() -> None:
    with pytest.raises(SfumatoError, match='the first in "2" along "sex", in row 1'):
        sf.audit_table([TOWNS | {"value": [9, 5, 4]}, {"sex": ["*", "f", "m"], "value": [9, 5, 3]}])
    with pytest.raises(SfumatoError, match="different values of the same cells; got 1 cell"):
        sf.audit_table([TOWNS | {"value": [9, 5, 4]}, {"sex": ["*", "f", "m"], "value": [8, 5, 3]}])
    with pytest.raises(SfumatoError, match="no table to audit"):
        sf.audit_table([])
