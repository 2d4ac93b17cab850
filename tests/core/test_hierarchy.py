from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sfumato.core.hierarchy import Hierarchy, by_label, grow, write_edges, write_wide
from sfumato.errors import HierarchyError, OutputError, PolicyError

DISEASE = Hierarchy(
    "disease",
    (("flu", "asthma", "ulcer"), ("lung", "stomach"), ("*",)),
    np.array([[0, 1, 2], [0, 0, 1], [0, 0, 0]]),
)


def test_reads_up_the_tree() -> None:
    assert DISEASE.height == 2
    assert DISEASE.leaves == ("flu", "asthma", "ulcer")
    assert DISEASE.label(1, 1) == "lung"
    assert DISEASE.path(2) == ("ulcer", "stomach", "*")
    assert DISEASE.paths() == [("flu", "lung", "*"), ("asthma", "lung", "*"), ("ulcer", "stomach", "*")]
    assert DISEASE.ancestor.dtype == np.int32


def test_is_frozen_and_does_not_touch_the_array_given() -> None:
    given = np.array([[0, 1], [0, 0]])
    built = Hierarchy("x", (("a", "b"), ("*",)), given)
    given[1] = 7
    assert built.ancestor.tolist() == [[0, 1], [0, 0]]
    with pytest.raises(ValueError, match="read-only"):
        built.ancestor[0, 0] = 3


@pytest.mark.parametrize(
    ("labels", "ancestor", "fault"),
    [
        ((), np.zeros((0, 0)), "no level"),
        ((("a", "b"), ("*",)), np.zeros((2, 3)), "shape"),
        ((("a", "b"), ("x", "y")), [[0, 1], [0, 1]], "no single root: the last level has 2 labels"),
        ((("a", "b"), ("*",)), [[1, 0], [0, 0]], "its own ancestor"),
        ((("a", "a"), ("*",)), [[0, 1], [0, 0]], "level 0: 1 labels stand twice"),
        ((("a", "b"), ("*",)), [[0, 1], [0, 1]], "outside 0..0"),
        ((("a", "b"), ("x", "y"), ("*",)), [[0, 1], [0, 0], [0, 0]], "level 1: a label has no leaf"),
        ((("a", "b"), ("x",), ("u", "v"), ("*",)), [[0, 1], [0, 0], [0, 1], [0, 0]], "not nested"),
        (((1, "b"), ("*",)), [[0, 1], [0, 0]], "not text"),
    ],
)
def test_refuses_what_is_no_tree(labels: object, ancestor: object, fault: str) -> None:
    with pytest.raises(HierarchyError, match=fault):
        Hierarchy("x", labels, np.array(ancestor))  # type: ignore[arg-type]


def test_tells_all_faults_at_once() -> None:
    with pytest.raises(HierarchyError) as caught:
        Hierarchy("x", (("a", "a"), ("x", "y")), np.array([[1, 0], [0, 1]]))
    assert len(caught.value.faults) == 3
    assert '"x"' in str(caught.value)


def test_restrict_keeps_the_order_asked_for() -> None:
    few = DISEASE.restrict(["ulcer", "flu"])
    assert few.paths() == [("ulcer", "stomach", "*"), ("flu", "lung", "*")]
    with pytest.raises(HierarchyError, match="does not cover 1 of 2 values") as caught:
        DISEASE.restrict(["flu", "secret"])
    assert "secret" not in str(caught.value)


def test_restrict_of_a_tree_of_one_node() -> None:
    one = Hierarchy("x", (("a",),), np.array([[0]]))
    assert one.height == 0
    assert one.restrict(["a"]).labels == one.labels


def test_locate() -> None:
    assert DISEASE.locate(["ulcer", "none", "flu"]).tolist() == [2, -1, 0]


def test_grow_keeps_groups_that_print_alike_apart() -> None:
    groups = np.array([2, 1, 0, 2])
    built = grow("x", ["1", "2", "3", "4"], [(groups, ["same", "same (2)", "same"])])
    assert built.labels[1] == ("same", "same (2)", "same (3)")
    assert built.ancestor[1].tolist() == [0, 1, 2, 0]


def test_grow_without_leaves() -> None:
    empty = grow("x", [], [by_label([])])
    assert empty.labels == ((), (), ("*",))
    assert empty.ancestor.shape == (3, 0)


def test_edge_form_collapses_padding(tmp_path: Path) -> None:
    padded = grow("x", ["a", "b", "c"], [by_label(["g", "g", "c"])])
    write_edges(padded, tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == "a,g\nb,g\nc,*\ng,*\n"


def test_wide_form(tmp_path: Path) -> None:
    built = grow("x", ["1", "2"], [by_label(["[0, 5)", 'say "5"'])])
    write_wide(built, tmp_path / "x.csv")
    assert (tmp_path / "x.csv").read_text() == '1;"[0, 5)";*\n2;"say ""5""";*\n'
    write_wide(built, tmp_path / "x.tsv", delimiter="\t")
    assert (tmp_path / "x.tsv").read_text().startswith('1\t"[0, 5)"\t*\n')


@pytest.mark.parametrize(
    ("leaves", "levels", "root", "fault"),
    [
        (["a", "b"], [["a", "a"]], "*", "1 names stand for more than one node"),
        (["a", "b"], [["x", "y"], ["u", "x"]], "*", "1 names stand for more than one node"),
        (["*", "b"], [], "*", "1 names stand for more than one node"),
        (["a", "b"], [["x", "y"], ["x", "y"]], "*", "repeats the label of an inner node"),
        (["a"], [["a"]], "a", "repeats the label of an inner node"),
        (["a", "b"], [["", "y"]], "*", "a label above the leaves is empty"),
        (["a", "b"], [], " *", "name of the root"),
        ([], [], "*", "no leaf below the root"),
    ],
)
def test_edge_form_refuses_what_it_cannot_say(
    tmp_path: Path, leaves: list[str], levels: list[list[str]], root: str, fault: str
) -> None:
    built = grow("x", leaves, [by_label(level) for level in levels], root=root)
    with pytest.raises(HierarchyError, match=fault):
        write_edges(built, tmp_path / "x.csv")
    assert not (tmp_path / "x.csv").exists()


@pytest.mark.parametrize(
    ("leaves", "levels", "root", "fault"),
    [
        (["*", "b"], [], "*", "a leaf has the name of the root"),
        (["a", "b"], [["", "y"]], "*", "a label above the leaves is empty"),
        (["a", "b"], [], "", "name of the root"),
        ([], [], "*", "no leaf below the root"),
    ],
)
def test_wide_form_refuses_what_it_cannot_say(
    tmp_path: Path, leaves: list[str], levels: list[list[str]], root: str, fault: str
) -> None:
    built = grow("x", leaves, [by_label(level) for level in levels], root=root)
    with pytest.raises(HierarchyError, match=fault):
        write_wide(built, tmp_path / "x.csv")
    assert not (tmp_path / "x.csv").exists()


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OutputError, match="cannot be written"):
        write_wide(DISEASE, tmp_path / "none" / "x.csv")
    with pytest.raises(HierarchyError, match="a label is not valid Unicode"):
        grow("x", ["\ud800"], [])


@pytest.mark.parametrize("delimiter", ["", ", ", '"', "\n", " "])
def test_delimiter_is_one_character(tmp_path: Path, delimiter: str) -> None:
    with pytest.raises(PolicyError, match="delimiter"):
        write_wide(DISEASE, tmp_path / "x.csv", delimiter=delimiter)
