"""Edits of a hierarchy: worked by hand, refused with all faults, and any of them give one that files hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.hierarchy import Hierarchy, HierarchyNote
from sfumato.errors import HierarchyError
from sfumato.hierarchies import edits
from tests.fuzz import examples

TOWNS = Hierarchy(
    "town",
    (("a", "b", "c", "d"), ("north", "south", "east"), ("west", "rest"), ("*",)),
    np.array([[0, 1, 2, 3], [0, 1, 2, 2], [0, 0, 1, 1], [0, 0, 0, 0]]),
)


def test_each_edit_gives_what_is_worked_by_hand_and_leaves_the_old_one() -> None:
    before = TOWNS.paths()
    assert edits.merge_groups(TOWNS, 1, ["north", "south"], "west").labels[1] == ("west", "east")
    assert edits.group_labels(TOWNS, 0, ["d"], "far").labels[1] == ("north", "south", "east", "far")
    assert edits.group_labels(TOWNS, 0, ["c", "d"], "far").labels[1] == ("north", "south", "far")
    assert edits.group_labels(TOWNS, 2, ["rest"], "no west").labels[2:] == (
        ("west", "rest"),
        ("west", "no west"),
        ("*",),
    )
    split = edits.split_group(TOWNS, 1, "east", {"near": ["c"], "far": ["d"]})
    assert split.paths()[3] == ("d", "far", "rest", "*")
    assert edits.rename_label(TOWNS, 3, "*", "all").paths()[0] == ("a", "north", "west", "all")
    moved = edits.move_group(TOWNS, 1, "south", "rest")
    assert [path[2] for path in moved.paths()] == ["west", "rest", "rest", "rest"]
    emptied = edits.move_group(edits.move_group(TOWNS, 0, "a", "south"), 1, "south", "rest")
    assert emptied.labels == (TOWNS.leaves, ("south", "east"), ("rest",), ("*",))
    assert edits.insert_level(TOWNS, 1).labels[1] == TOWNS.leaves
    parts = {"i": ["north"], "ii": ["south"], "iii": ["east"]}
    assert edits.insert_level(TOWNS, 2, parts).labels == (*TOWNS.labels[:2], ("i", "ii", "iii"), *TOWNS.labels[2:])
    assert edits.remove_level(TOWNS, 1).labels == (TOWNS.leaves, ("west", "rest"), ("*",))
    assert TOWNS.paths() == before


def test_cut_points_of_numbers_and_dates() -> None:
    ages = sf.intervals(5, 20).build(_categories("age", ["3", "18", "25", "40", "61"]))
    cut = edits.set_cut_points(ages, 1, [18, 20, 40, "60"])
    assert [path[1] for path in cut.paths()] == ["< 18", "[18, 20)", "[20, 40)", "[40, 60)", ">= 60"]
    days = ["2023-12-31", "2024-01-01", "2024-06-30"]
    dates = sf.flat().build(_categories("seen", days))
    halves = edits.set_cut_points(edits.insert_level(dates, 1), 1, ["2024-01-01", "2024-04-01"])
    assert [path[1] for path in halves.paths()] == ["< 2024-01-01", "[2024-01-01, 2024-04-01)", ">= 2024-04-01"]


@pytest.mark.parametrize(
    ("edit", "faults"),
    [
        (lambda: edits.merge_groups(TOWNS, 0, ["a", "b"], "x"), ["got 0; allowed: 1 to 2"]),
        (lambda: edits.merge_groups(TOWNS, 1, ["north", "nowhere"], "east"), ["1 of 2 labels", "already"]),
        (lambda: edits.merge_groups(TOWNS, 1, ["south", "east"], "x"), ["2 different groups of level 2"]),
        (lambda: edits.merge_groups(TOWNS, 1, ["south"], " x"), ["two different groups", "a text on one line"]),
        (
            lambda: edits.split_group(TOWNS, 1, "east", {"x": ["c", "a"], "y": []}),
            ["a label at least", "not among", "1 of the labels"],
        ),
        (lambda: edits.split_group(TOWNS, 1, "east", {"x": ["c", "d"], "y": ["c"]}), ["in two parts"]),
        (lambda: edits.rename_label(TOWNS, 1, "north", "south"), ["already"]),
        (lambda: edits.rename_label(TOWNS, 3, "*", "a"), ["its own parent"]),
        (lambda: edits.rename_label(TOWNS, "one", "*", "a"), ["got 'one'"]),
        (lambda: edits.move_group(TOWNS, 2, "west", "*"), ["allowed: 0 to 1"]),
        (lambda: edits.move_group(TOWNS, 0, "e", "nowhere"), ["are not of level 0", "are not of level 1"]),
        (lambda: edits.insert_level(TOWNS, 2, {"x": ["north"], "y": ["south", "east"]}), ["several of level 3"]),
        (lambda: edits.insert_level(TOWNS, 2, ["x"]), ["got list"]),
        (lambda: edits.remove_level(TOWNS, 3), ["allowed: 1 to 2"]),
        (lambda: edits.set_cut_points(TOWNS, 1, [3]), ["only numbers and dates"]),
        (lambda: edits.group_labels(TOWNS, 0, ["a", "c"], "x"), ["in 2 different groups of level 1"]),
        (lambda: edits.group_labels(TOWNS, 0, ["d"], "east"), ["a group of that label already"]),
        (lambda: edits.group_labels(TOWNS, 2, ["west"], "rest"), ["a group of that label already"]),
        (lambda: edits.group_labels(TOWNS, 0, [], "x"), ["has a label at least"]),
        (lambda: edits.group_labels(TOWNS, 3, ["*"], "x"), ["no such level"]),
    ],
)  # fmt: skip
def test_what_would_break_it_is_refused_with_all_faults_and_no_label(edit: Any, faults: list[str]) -> None:
    with pytest.raises(HierarchyError, match='the hierarchy of "town" cannot be changed so') as error:
        edit()
    told = error.value.faults
    assert len(told) == len(faults)
    assert all(part in fault for part, fault in zip(faults, told, strict=True)), told
    assert not any(f'"{label}"' in str(error.value) for label in ("nowhere", "north", "south"))


@pytest.mark.parametrize(
    ("cuts", "fault"),
    [([20, 10], "must rise"), ([], "must rise"), (["x"], "finite numbers"), ([21], "1 group of level 1 would lie")],
)
def test_cut_points_that_are_refused(cuts: list[Any], fault: str) -> None:
    ages = sf.intervals(5, 10, 20).build(_categories("age", ["3", "18", "20", "23"]))
    with pytest.raises(HierarchyError, match=fault):
        edits.set_cut_points(ages, 2, cuts)


def test_the_tree_counts_leaves_and_rows_and_is_plain() -> None:
    root = edits.hierarchy_tree(TOWNS, rows=[5, 1, 0, 2])
    west, rest = root.children
    assert (root.label, root.level, root.leaves, root.rows) == ("*", 3, 4, 8)
    assert (west.rows, rest.leaves, rest.children[0].children[1].label) == (6, 2, "d")
    assert json.loads(json.dumps(root.to_dict()))["children"][0]["rows"] == 6
    assert edits.hierarchy_tree(TOWNS).rows is None
    with pytest.raises(HierarchyError, match="must be as many"):
        edits.hierarchy_tree(TOWNS, rows=[1])


def _categories(name: str, values: list[str]) -> Any:
    from sfumato.core.microdata import encode

    return encode(pl.Series(name, values))[0]


LABELS = st.text(st.characters(codec="utf-8", categories=("L", "N", "P", "S")), min_size=1, max_size=3)


@st.composite
def edited(draw: Any) -> tuple[Hierarchy, Hierarchy]:
    """A hierarchy over some numbers or words, and what is left of it after some edits, those refused passed over."""
    numbers = draw(st.booleans())
    leaves = [str(i) for i in range(draw(st.integers(2, 9)))]
    start = sf.flat().build(_categories("x", leaves if numbers else [f"v{one}" for one in leaves]))
    found = start
    for _ in range(draw(st.integers(1, 12))):
        level = draw(st.integers(0, found.height))
        here, below = found.labels[level], found.labels[max(level - 1, 0)]
        label, other = draw(st.sampled_from(here)), draw(LABELS)
        some = draw(st.lists(st.sampled_from(below), unique=True))
        parts = {other: some, draw(LABELS): [one for one in below if one not in some]}
        above = draw(st.sampled_from(found.labels[min(level + 1, found.height)]))
        cuts = sorted(draw(st.sets(st.integers(0, 9), min_size=1)))
        calls: list[tuple[Any, ...]] = [
            (edits.insert_level,),
            (edits.insert_level, parts),
            (edits.remove_level,),
            (edits.rename_label, label, other),
            (edits.merge_groups, here[:2], other),
            (edits.group_labels, here[:2], other),
            (edits.split_group, label, parts),
            (edits.move_group, label, above),
            (edits.set_cut_points, cuts),
        ]
        edit, *arguments = draw(st.sampled_from(calls))
        try:
            found = edit(found, level, *arguments)
        except HierarchyError as error:
            assert error.faults
    return start, found


@settings(max_examples=examples(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(edited())
def test_any_edits_give_a_hierarchy_that_files_and_releases_take(
    tmp_path: Path, pair: tuple[Hierarchy, Hierarchy]
) -> None:
    start, found = pair
    assert found.leaves == start.leaves
    for level in range(found.height):  # each level a coarsening of the one below, which the class checks too
        assert len({(path[level], path[level + 1]) for path in found.paths()}) == len(found.labels[level])
    assert len(found.labels[-1]) == 1
    assert all(len(set(level)) == len(level) for level in found.labels)
    sf.write_wide(found, tmp_path / "x.csv")
    again = sf.file(tmp_path / "x.csv").build(_categories("x", list(found.leaves)))
    assert sorted(again.paths()) == sorted(found.paths())
    assert edits.hierarchy_tree(found).leaves == len(found.leaves)


@pytest.mark.filterwarnings(f"ignore::{HierarchyNote.__module__}.HierarchyNote")
def test_a_release_takes_what_was_edited() -> None:
    towns = edits.merge_groups(TOWNS, 1, ["north", "south"], "west")
    table = {"town": ["a", "b", "c", "d"] * 3 + ["a"], "ill": ["x", "y"] * 6 + ["x"]}
    release = sf.anonymize(
        table, quasi=["town"], sensitive=["ill"], unprotected=["ill"], require=sf.KAnonymity(6), search="optimal",
        hierarchies={"town": towns},
    )  # fmt: skip
    assert set(release.data["town"]) == {"west", "east"}
