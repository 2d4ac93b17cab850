"""What every builder promises, on values chosen to be awkward."""

from __future__ import annotations

import datetime as dt
import tempfile
import warnings
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sfumato.core.hierarchy import (
    Categories,
    Hierarchy,
    HierarchyNote,
    Recipe,
    by_label,
    grow,
    parents,
    write_edges,
    write_wide,
)
from sfumato.errors import HierarchyError
from sfumato.hierarchies import dates, file, flat, intervals, learned, levels, order, redact, tree, wide

Column = Callable[..., Categories]

NASTY = [
    "",
    " ",
    "*",
    "**",
    "{a, b}",
    "a, b",
    "a",
    "b",
    "a..b",
    "[20, 30)",
    "< 18",
    'x"y',
    ",",
    ";",
    "\ufeff",
    "\n",
    "*",
]
NASTY += [
    "-1",
    "007",
    "é",
    "e\u0301",
    "😀",
    "x" * 300,
    "a (2)",
    "nan",
    "NULL",
    "\t|",
    "  a",
    "a  ",
    "\u2028",
    "\x00",
    '"',
]
texts = st.lists(st.sampled_from(NASTY) | st.text(max_size=12), max_size=30, unique=True).map(sorted)
integers = st.lists(st.integers(-(2**70), 2**70) | st.integers(-50, 50), max_size=60, unique=True).map(sorted)
decimals = st.lists(st.decimals(-1000, 1000, allow_nan=False, places=3), max_size=40, unique=True).map(sorted)
floats = st.lists(st.floats(allow_nan=False), max_size=60, unique_by=lambda v: v + 0.0).map(sorted)
days = st.lists(st.dates(), max_size=40, unique=True).map(sorted)
moments = st.lists(st.datetimes(), max_size=40, unique=True).map(sorted)


def check(recipe: Recipe, categories: Categories) -> Hierarchy:
    """Covers the values, nested, one root, labels apart within a level, the same when built again."""
    built = recipe.build(categories)
    values = [text for text in categories.text if text is not None]
    assert set(values) <= set(built.leaves)
    assert len(built.labels[-1]) == 1
    assert built.ancestor.shape == (built.height + 1, len(built.leaves))
    for level, labels in enumerate(built.labels):
        assert len(set(labels)) == len(labels)
        if level < built.height:
            up = parents(built.ancestor, level)
            assert (up[built.ancestor[level]] == built.ancestor[level + 1]).all()
    again = recipe.build(categories)
    assert again.labels == built.labels
    assert np.array_equal(again.ancestor, built.ancestor)
    return built


@given(texts, st.data())
def test_builders_on_text(column: Column, values: list[str], data: st.DataObject) -> None:
    counts = data.draw(st.lists(st.integers(1, 1000), min_size=len(values), max_size=len(values)))
    categories = column(values, count=counts, missing=data.draw(st.booleans()))
    check(flat(), categories)
    check(levels("*"), categories)
    check(redact("right", data.draw(st.sampled_from("*#a"))), categories)
    check(redact("left"), categories)
    check(redact("left", steps=[1, 3, 4]), categories)
    check(learned(), categories)
    check(learned(3), categories)
    if values:
        labels = st.sampled_from([text for text in NASTY if text])
        check(order(data.draw(st.permutations(values)), fanouts=[2, 3]), categories)
        mapping = {value: data.draw(labels) for value in values}
        check(levels(mapping), categories)
        check(levels(mapping, {label: data.draw(labels) for label in mapping.values()}), categories)
        check(wide([(value, label, "root") for value, label in mapping.items()]), categories)
        check(tree([(value, "no such value") for value in values]), categories)


@given(integers, st.data())
def test_builders_on_integers(column: Column, values: list[int], data: st.DataObject) -> None:
    categories = column(values, kind="integer", missing=data.draw(st.booleans()))
    width, factor = data.draw(st.integers(1, 2**60)), data.draw(st.integers(2, 9))
    origin = data.draw(st.integers(-100, 100))
    built = check(intervals(width, width * factor, origin=origin), categories)
    for path, value in zip(built.paths(), values, strict=True):
        for label, step in zip(path[1:-1], (width, width * factor), strict=True):
            low, high = map(int, label.strip("[)").split(", "))
            assert low <= value < high == low + step
            assert (low - origin) % step == 0
    bottom, top = sorted(data.draw(st.tuples(st.integers(-60, 60), st.integers(-60, 60))))
    coded = check(intervals(width, bottom=bottom, top=top), categories)
    for path, value in zip(coded.paths(), values, strict=True):
        assert (path[1] == f"< {bottom}") == (value < bottom)
        assert (path[1] == f">= {top}") == (value >= max(top, bottom))
    check(intervals(top=top), categories)
    check(redact(), categories)
    inside(check(learned(), categories), [Decimal(value) for value in values])


@given(decimals, st.data())
def test_builders_on_decimals(column: Column, values: list[Decimal], data: st.DataObject) -> None:
    categories = column([format(value, "f") for value in values], kind="decimal")
    width = data.draw(st.sampled_from(["0.1", "0.003", "2.5", "7"]))
    built = check(intervals(width, origin="0.05"), categories)
    inside(built, values)
    cuts = sorted(set(data.draw(st.lists(st.sampled_from(values or [Decimal(1)]), min_size=1, max_size=5))))
    inside(check(intervals(cuts=[cuts, cuts[:1]]), categories), values)
    inside(check(learned(), categories), values)


@given(floats)
def test_builders_on_floats(column: Column, values: list[float]) -> None:
    categories = column([repr(value + 0.0) for value in values], kind="decimal")
    inside(check(learned(), categories), [Decimal(repr(value)) for value in values])


def inside(built: Hierarchy, values: list[Decimal]) -> None:
    """Every interval that is printed holds the values under it."""
    for path, value in zip(built.paths(), values, strict=True):
        for label in path[1:-1]:
            if label.startswith("< "):
                assert value < Decimal(label[2:])
            elif label.startswith(">= "):
                assert value >= Decimal(label[3:])
            else:
                if label == path[0]:  # infinite
                    continue
                low, high = label.strip("[)]").split(", ")
                assert Decimal(low) <= value <= Decimal(high)
                assert value < Decimal(high) or label.endswith("]")


@given(days)
def test_builders_on_days(column: Column, values: list[dt.date]) -> None:
    categories = column(values, kind="date")
    check(dates("day", "month", "quarter", "year", "decade"), categories)
    check(dates("week"), categories)
    built = check(learned(), categories)
    for path in built.paths():
        for label in path[1:-1]:
            ends = label.strip("[)<>= ").split(", ")
            assert all(dt.date.fromisoformat(end) for end in ends)
            assert label.startswith("< ") or ends[0] <= path[0]
            assert label.startswith(">= ") or path[0] < ends[-1]


@given(moments)
def test_builders_on_times(column: Column, values: list[dt.datetime]) -> None:
    categories = column(values, kind="datetime")
    check(dates(), categories)
    built = check(learned(), categories)
    for path in built.paths():
        for label in path[1:-1]:
            ends = [dt.datetime.fromisoformat(end) for end in label.strip("[)<>= ").split(", ")]
            value = dt.datetime.fromisoformat(path[0])
            assert label.startswith("< ") or ends[0] <= value
            assert label.startswith(">= ") or value < ends[-1]


@st.composite
def trees(draw: st.DrawFn) -> Hierarchy:
    """Any hierarchy over awkward names, padded leaves and repeated levels included."""
    leaves = draw(st.lists(st.sampled_from(NASTY) | st.text(max_size=4), min_size=1, max_size=8, unique=True))
    labels, grown = list(leaves), []
    for _ in range(draw(st.integers(0, 3))):
        up = {label: label if draw(st.booleans()) else draw(st.sampled_from(NASTY)) for label in sorted(set(labels))}
        labels = [up[label] for label in labels]
        grown.append(by_label(labels))
    return grow("x", leaves, grown, root=draw(st.sampled_from(["*", "*", "*", "all", " *", ""])))


@given(trees(), st.sampled_from([";", ",", "\t", "|"]), st.booleans())
def test_files_read_back_exactly_or_are_not_written(
    column: Column, made: Hierarchy, delimiter: str, edges: bool
) -> None:
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", HierarchyNote)
        path = Path(folder) / "h.csv"
        try:
            (write_edges if edges else write_wide)(made, path, delimiter)
        except HierarchyError:
            assert not path.exists()
            return
        back = file(path).build(column(list(made.leaves)))
        assert back.labels == made.labels
        assert np.array_equal(back.ancestor, made.ancestor)


@given(st.lists(st.sampled_from(NASTY), min_size=1, max_size=6, unique=True))
def test_plain_trees_are_always_written(column: Column, leaves: list[str]) -> None:
    made = grow("x", leaves, [by_label([f"group {len(leaf)}" for leaf in leaves])], root="everything")
    with tempfile.TemporaryDirectory() as folder:
        for write in (write_edges, write_wide):
            write(made, Path(folder) / "h.csv")
            assert file(Path(folder) / "h.csv").build(column(leaves)).paths() == made.paths()
