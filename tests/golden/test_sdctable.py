"""What sdcTable 0.34 and easySdcTable publish of their own examples, beside the audit and the protections here.

From the vignette "The problem of singletons and zeros" of easySdcTable and from the tests of sdcTable: tables, patterns
and bounds. Their cells are protected from an outsider, so contributors are left out here (coalition=0).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf

ONES = [[0, 1, 7, 1, 0], [2, 0, 0, 2, 8]]  # data1a of the vignette
MORE_ONES = [[1, 1, 7, 1, 0], [1, 0, 0, 2, 8]]  # data1b
LARGE = [[30, 47, 64, 89], [90, 124, 5, 31], [92, 100, 59, 85], [800, 991, 651, 685]]
ASKED = {"w": "abc", "x": "ac", "y": "bd", "z": "bd"}  # the unsafe cells of LARGE


def grid(rows: str, columns: str, counts: Any) -> dict[str, list[Any]]:
    """A table with its totals."""
    inner = np.array(counts)
    full = np.vstack([np.column_stack([inner, inner.sum(1)]), [*inner.sum(0), inner.sum()]])
    labels = [*columns, "*"]
    return {
        "row": [row for row in [*rows, "*"] for _ in labels],
        "column": labels * len(full),
        "value": full.ravel().tolist(),
    }


def hidden(table: dict[str, list[Any]], cells: Sequence[tuple[str, str]]) -> dict[str, list[Any]]:
    """The table as it is published with these cells hidden."""
    at = zip(table["row"], table["column"], table["value"], strict=True)
    return table | {"value": [None if (row, column) in cells else value for row, column, value in at]}


def cells(pattern: str) -> list[tuple[str, str]]:
    """Cells by row: "r:ABM" for three of row r."""
    return [(row, column) for row, columns in (one.split(":") for one in pattern.split()) for column in columns]


@pytest.mark.parametrize(
    ("counts", "pattern", "found"),
    [
        (ONES, "1:BM 2:AM *:ABM", "1:BM *:B"),  # SIMPLEHEURISTIC: "easy to reveal"
        (ONES, "1:BHM 2:AM *:ABHM", ""),  # detectSingletons = TRUE
        (MORE_ONES, "1:ABM 2:AMW *:ABMW", "1:ABM *:B"),  # detectSingletons = TRUE: "must be 1"
        (MORE_ONES, "1:ABHM 2:AMW *:ABHMW", ""),  # threshold = 4
        (MORE_ONES, "1:ABHM 2:AM *:ABHM", ""),  # Gauss
    ],
)
def test_patterns_that_reveal_ones(counts: Any, pattern: str, found: str) -> None:
    audit = sf.audit_table(hidden(grid("12", "ABHMW", counts), cells(pattern)), least=1)
    exposed = audit.intervals.filter("exposed")
    assert {*cells(found)} <= {*exposed.select("row", "column").iter_rows()}
    assert bool(audit.exposed) == bool(found)


@pytest.mark.parametrize("method", ["exact", "modular", "hypercube", "network-flow"])
def test_no_more_cells_are_hidden(method: str) -> None:
    table = sf.read_table(grid("12", "ABHMW", ONES))
    safe = sf.protect(table, sf.MinimumFrequency(3), method, cost="cells", coalition=0)
    assert safe.audit().exposed == 0
    assert safe.data["value"].null_count() == 9


def test_two_of_three_is_no_protection_here() -> None:
    """Gauss hides 10 cells of MORE_ONES; everybody then knows that a count of 2 is 1 or 2, and a rule asks for more."""
    pattern = cells("1:ABHM 2:AM *:ABHM")
    audit = sf.audit_table(hidden(grid("12", "ABHMW", MORE_ONES), pattern), least=1)
    assert audit.intervals.filter(row="2", column="M").select("low", "high").rows() == [(1, 2)]
    table = sf.read_table(grid("12", "ABHMW", MORE_ONES))
    safe = sf.protect(table, sf.MinimumFrequency(3), cost="cells", coalition=0)
    assert safe.data["value"].null_count() == len(pattern) + 2
    [(low, high)] = safe.audit().intervals.filter(row="2", column="M").select("low", "high").rows()
    assert low <= 1
    assert high >= 3


def test_bounds_of_an_attack() -> None:
    """A cell that two rows and two columns give away, and its bounds once another is hidden."""
    unsafe = [(row, column) for row, columns in ASKED.items() for column in columns]
    table = grid("wxyz", "abcd", LARGE)
    audit = sf.audit_table(hidden(table, unsafe))
    assert audit.intervals.filter("exposed").select("row", "column", "low", "high").rows() == [("w", "b", 47, 47)]
    audit = sf.audit_table(hidden(table, [*unsafe, ("x", "b")]))
    assert audit.exposed == 0
    [bounds] = audit.intervals.filter(row="w", column="b").select("low", "high").rows()
    assert bounds == (0, 141)


def test_one_more_cell_is_enough() -> None:
    asked = [{"row": row, "column": column} for row, columns in ASKED.items() for column in columns]
    table = sf.read_table(grid("wxyz", "abcd", LARGE))
    safe = sf.protect(table, sf.MinimumFrequency(3), cost="cells", hide=asked, coalition=0)
    assert safe.data["value"].null_count() == len(asked) + 1
    assert safe.audit().exposed == 0


@pytest.mark.parametrize("method", ["exact", "modular", "hypercube", "network-flow"])
def test_one_cell_is_protected_by_three(method: str) -> None:
    """The table of microdata1, with one cell to hide."""
    counts = [[8, 18], [19, 14], [10, 14], [8, 9]]
    table = sf.read_table(grid("ABCD", "fm", counts))
    safe = sf.protect(table, sf.MinimumFrequency(3), method, cost="cells", hide=[{"row": "A", "column": "f"}])
    assert safe.data["value"].null_count() == 4


def test_one_more_cell_protects_linked_tables() -> None:
    """Regions by county and by size: each table is safe with its five small cells hidden, both together tell one."""
    people = {
        "region": [one for one, size in zip("ABIJKLMN", (2, 2, 8, 8, 3, 3, 3, 7), strict=True) for _ in range(size)]
    }
    county = sf.wide([(one, "county-1" if one in "ABIJ" else "county-2", "*") for one in "ABIJKLMN"])
    size = sf.wide([(one, "big" if one in "LM" else "small", "*") for one in "ABIJKLMN"])
    tables = [sf.tabulate(people, by=["region"], hierarchies={"region": one}) for one in (county, size)]
    for table in tables:
        alone = sf.protect(table, sf.MinimumFrequency(4), cost="cells", coalition=0)
        assert "".join(alone.data.filter(pl.col("value").is_null())["region"]) == "ABKLM"
    both = sf.protect(sf.TableSet(tables), sf.MinimumFrequency(4), cost="cells", coalition=0)
    for frame in both.data.values():
        assert "".join(frame.filter(pl.col("value").is_null())["region"]) == "ABKLMN"
    assert both.audit().exposed == 0
