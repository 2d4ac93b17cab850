"""Published tables are read cell by cell, and what is wrong with them is named by position, never by value."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.criteria.cells.published import PublishedCells, TableDimension, infer_dimensions
from sfumato.errors import ColumnError, HierarchyError, PolicyError, ReadError
from tests.criteria.cells.enumerated import flat, nested


def frame(**columns: list[object]) -> pl.DataFrame:
    given: dict[str, list[object]] = {"a": ["x", "*", "y"], "value": [1, 3, None]}
    return pl.DataFrame({**given, **columns}, strict=False)


def test_cells_are_put_in_place() -> None:
    found = PublishedCells.of(frame(), infer_dimensions(frame(), ["a"]))
    assert found.dimensions[0].labels == ("*", "x", "y")
    assert np.array_equal(found.values, [3, 1, np.nan], equal_nan=True)
    assert found.rows is not None
    assert found.rows.tolist() == [1, 0, 2]
    assert found.hidden_cells.tolist() == [2]
    assert found.labelled(np.array([2]))["a"].to_list() == ["y"]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": ["x", "*", "x"]}, "a cell is there more than once"),
        ({"a": ["x", "*", "z"]}, '"a" has a label that its dimension does not have; got row 2'),
        ({"value": [-1, 3, 4]}, "a published count is negative; got row 0"),
        ({"value": [1, 3.5, 2]}, "a published count is no whole number; got row 1"),
        ({"value": [1, 3, float("nan")]}, "has a NaN; got row 2"),
        ({"value": ["1", "2", "3"]}, "no column of numbers"),
        ({"value": [1.0, float("inf"), None]}, "infinite; got row 1"),
        ({"value": [1.0, 1e300, None]}, "too large; got row 1"),
    ],
)
def test_faulty_frames(columns: dict[str, list[object]], message: str) -> None:
    with pytest.raises(ReadError, match=message):
        PublishedCells.of(frame(**columns), [flat("a", "x", "y")])


def test_missing_cells_and_columns() -> None:
    with pytest.raises(ReadError, match="lacks 1 cell"):
        PublishedCells.of(frame().head(2), [flat("a", "x", "y")])
    with pytest.raises(ColumnError, match='no column "b"'):
        PublishedCells.of(frame(), [flat("b", "x")])
    with pytest.raises(ColumnError, match='no column "b"'):
        infer_dimensions(frame(), ["b"])


def test_hierarchies_from_edges() -> None:
    table = pl.DataFrame({"a": ["*", "g", "h", "g1", "g2"], "b": ["m", "f", "*", "m", "f"]})
    tree, other = infer_dimensions(table, ["a", "b"], {"a": {"g1": "g", "g2": "g"}})
    assert tree == TableDimension("a", ("*", "g", "h", "g1", "g2"), (-1, 0, 0, 1, 1))
    assert other.parent == (-1, 0, 0)
    assert tree.within.sum(1).tolist() == [5, 3, 1, 1, 1]
    assert infer_dimensions(table, ["a"], {"a": [("g1", "g"), ("g1", "g")]})[0].labels[0] == "*"


@pytest.mark.parametrize(
    ("edges", "message"),
    [
        ([("x", "g"), ("x", "h")], "two parents"),
        ([("x", "y"), ("y", "x")], "circle"),
        ([("*", "x"), ("x", "*"), ("y", "*")], "circle"),
    ],
)
def test_faulty_hierarchies(edges: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(HierarchyError, match=message):
        infer_dimensions(frame(), ["a"], {"a": edges})


def test_no_total() -> None:
    with pytest.raises(HierarchyError, match="has no total"):
        infer_dimensions(pl.DataFrame({"a": ["x", "y"]}), ["a"])
    with pytest.raises(PolicyError, match="no dimension"):
        infer_dimensions(frame(), ["a"], {"b": {}})
    with pytest.raises(HierarchyError, match="parents before their children"):
        TableDimension("a", ("*", "x", "y"), (-1, 2, 0))
    with pytest.raises(HierarchyError, match="twice"):
        TableDimension("a", ("*", "x", "x"), (-1, 0, 0))


def test_totals_that_do_not_add_up() -> None:
    dimensions = (nested("a", 2, 1),)
    table = pl.DataFrame({"a": ["g0.1", "g0.0", "g0", "g1", "g1.0", "*"], "value": [2, 1, 4, 5, 5, 9]})
    published = PublishedCells.of(table, dimensions)
    (fault,) = published.additivity_faults()
    assert (fault.dimension, fault.parent, fault.row) == ("a", "g0", 2)
    assert not published.additivity_faults(absolute=1)
    hidden = PublishedCells.of(table.with_columns(value=pl.Series([None, 1, 4, 5, 5, 9])), dimensions)
    assert not hidden.additivity_faults()
    near = table.with_columns(value=pl.Series([2.0, 1, 3 + 1e-12, 5, 5, 8]))
    assert not PublishedCells.of(near, dimensions, whole=False).additivity_faults()
    far = table.with_columns(value=pl.Series([2.0, 1, 3 + 1e-6, 5, 5, 8 + 1e-6]))
    assert len(PublishedCells.of(far, dimensions, whole=False).additivity_faults()) == 1
