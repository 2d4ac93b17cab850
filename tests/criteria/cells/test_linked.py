"""Cells of several published tables: which are the same, and what follows for those that one of them hides."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from sfumato.criteria.cells.linked import LinkedTable, link_tables, linked_cells
from sfumato.criteria.cells.published import PublishedCells
from sfumato.criteria.sets.linked_hidden_cells import audit_linked, few_in_differences, joined
from sfumato.errors import HierarchyError, PolicyError

COUNTY = {"A": "c1", "I": "c1", "B": "c4", "J": "c10", "K": "c10"}
SIZE = {"A": "big", "B": "big", "I": "small", "J": "small", "K": "small"}


def table(
    name: str, cells: dict[str, list[object]], edges: dict[str, dict[str, str]] | None = None
) -> tuple[LinkedTable, PublishedCells]:
    frame = pl.DataFrame(cells)
    made = LinkedTable.of(name, frame, [column for column in frame.columns if column != "value"], edges)
    return made, PublishedCells.of(frame, made.published())


def county(*values: int | None) -> tuple[LinkedTable, PublishedCells]:
    return table("county", {"region": ["*", "c1", "c4", "c10"], "value": [*values]}, {"region": COUNTY})


def size(*values: int | None) -> tuple[LinkedTable, PublishedCells]:
    return table("size", {"region": ["*", "big", "small"], "value": [*values]}, {"region": SIZE})


def test_regions_are_computed_from_counties_and_sizes() -> None:
    both = [county(34, 14, 7, 13), size(34, 18, 16)]
    links = link_tables([one for one, _ in both])
    assert links.size == 8
    assert (links.first < 0).sum() == 2  # A, and I
    cells = joined(both, True)
    assert len(few_in_differences(cells, 5)) == 1  # I has 3
    assert len(few_in_differences(cells, 3)) == 0
    found = audit_linked(cells, 5)
    assert found.intervals.select("region", "low", "high", "exposed").rows() == [("I", 3, 3, True)]
    linked, cells = county(34, 14, None, None)
    hidden = audit_linked(joined([(linked, replace(cells, least=1)), size(34, 18, 16)], True), 5)
    assert (hidden.hidden, hidden.exposed) == (2, 0)  # B is county 4, and may be anything up to 18
    assert hidden.intervals.sort("region").select("low", "high").rows() == [(2, 16), (4, 18)]


def test_a_cell_that_another_table_publishes_is_exposed() -> None:
    sex = table("sex", {"sex": ["*", "f", "m"], "value": [34, None, None]})
    both = table("both", {"sex": ["*", "f", "m"], "value": [34, 20, 14]})
    found = audit_linked(joined([sex, both], True))
    assert found.exposed == 2
    assert found.intervals.select("low", "high").rows() == [(20, 20), (14, 14)]


def test_a_total_that_is_its_only_part_is_one_cell() -> None:
    cells: dict[str, list[object]] = {
        "town": ["*", "Norway", "Oslo", "Italy", "Rome", "Bari"], "value": [9, 2, 2, 7, None, None],
    }  # fmt: skip
    towns = table("towns", cells, {"town": {"Oslo": "Norway", "Rome": "Italy", "Bari": "Italy"}})
    found = joined([towns], True)
    assert found.values.size == 5
    assert audit_linked(found).intervals.select("low", "high").rows() == [(0, 7), (0, 7)]


@pytest.mark.parametrize(
    ("columns", "amount"),
    [([["a", "b"], ["b", "c"]], 2), ([["a", "b"], ["b", "c"], ["a", "c"]], 4), ([["a"], ["b"]], 2)],
)
def test_the_table_behind_is_needed_where_columns_go_round(columns: list[list[str]], amount: int) -> None:
    tables = []
    for i, names in enumerate(columns):
        texts = pl.DataFrame({"*": ["*", "x", "y"]})
        frame = texts.rename({"*": names[0]})
        for name in names[1:]:
            frame = frame.join(texts.rename({"*": name}), how="cross")
        tables.append(LinkedTable.of(f"t{i}", frame, names))
    assert len(link_tables(tables).grids) == amount


def test_tables_that_cannot_be_linked_are_refused() -> None:
    other = table("other", {"region": ["*", "A"], "value": [3, 3]})
    with pytest.raises(HierarchyError, match="has other values"):
        link_tables([county(34, 14, 7, 13)[0], other[0]])
    tables = [county(34, 14, 7, 13), size(33, 17, 16)]
    with pytest.raises(PolicyError, match="different values of the same cells"):
        linked_cells(link_tables([one for one, _ in tables]), [cells for _, cells in tables], whole=True)
