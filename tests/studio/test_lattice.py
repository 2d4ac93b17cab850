"""The lattice as a worker answers: nodes worked out by hand, their losses, and the rows that one would release."""

from __future__ import annotations

import json

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import Cancelled
from sfumato.studio.tasks import lattice
from sfumato.studio.tasks.search import released

TABLE = {
    "name": [f"person {i}" for i in range(6)],
    "age": [31, 31, 31, 58, 58, 72],
    "sex": ["F", "F", "F", "M", "M", None],
    "disease": ["flu", "flu", "flu", "flu", "gout", "gout"],
}  # classes by age and sex: three rows, two, and one alone
pytestmark = pytest.mark.filterwarnings("ignore:nothing protects", "ignore:not among the quasi-identifiers")
POLICY = {
    "input": {"path": "t.csv"},
    "roles": {"identifying": ["name"], "quasi": ["age", "sex"], "sensitive": ["disease"]},
    "hierarchies": {"age": {"intervals": [50, 100]}, "sex": {"levels": ["*"]}},
    "require": [{"model": "k-anonymity", "k": 2}],
}


def quiet(message, share=None):
    pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("lattice")
    pl.DataFrame(TABLE).write_csv(found / "t.csv")
    (found / "private").mkdir()
    return found


@pytest.fixture
def asked(folder):
    return lambda **more: {"tables": POLICY | more, "folder": str(folder)}


def nodes(found):
    """By kind: twice the place across, the height and the number of each node."""
    flat = {kind: json.loads(some) for kind, some in found["series"].items()}
    return {kind: [tuple(some[i : i + 3]) for i in range(0, len(some), 3)] for kind, some in flat.items()}


def test_the_lattice_has_the_nodes_worked_out_by_hand(asked):
    found = lattice.picture(asked(), {}, {"age": 2, "sex": 1}, False, quiet)
    assert (found["nodes"], found["satisfied"], found["minimal"], found["one_of"]) == (8, 3, 1, 1)
    drawn = nodes(found)
    assert [one[2] for one in drawn["minimal"]] == [3]  # ages in fifties, without sex
    assert [one[2] for one in drawn["chosen"]] == [5]
    assert sorted(one[:2] for some in drawn.values() for one in some) == [
        (-1, 1), (-1, 2), (-1, 3), (0, 0), (0, 4), (1, 1), (1, 2), (1, 3),
    ]  # fmt: skip
    assert [(row["height"], row["nodes"], row["satisfied"]) for row in found["rows"]] == [
        (0, 1, 0), (1, 2, 0), (2, 2, 1), (3, 2, 1), (4, 1, 1),
    ]  # fmt: skip
    assert json.loads(found["names"])["3"] == "1,1"


def test_a_filter_of_levels_and_a_list(asked):
    every, some = (lattice.picture(asked(), only, None, False, quiet) for only in ({}, {"sex": 1}))
    assert (every["shown"], some["shown"]) == (8, 4)
    edges = json.loads(some["edges"])
    assert edges == [2, 0, 1, 0, 2, 2, 0, 2, 0, 3, 2, 0, 3, 0, 4]  # from height 1 to 2, and on to 4
    listed = lattice.listed(asked(), {"sex": 1}, None, 0, None, quiet)
    assert [one["vector"] for one in listed["nodes"]] == [[1, 1]]


def test_losses_of_all_nodes_are_those_of_their_releases(asked):
    found = lattice.picture(asked(search={"loss": "lm"}), {}, None, True, quiet)
    drawn = nodes(found)
    assert {kind.split("_")[0] for kind in drawn} == {"violated", "satisfied", "minimal"}
    frame = pl.DataFrame(TABLE)
    for kind, some in drawn.items():
        if kind.startswith("violated"):
            continue
        step = int(kind.split("_")[1])
        for *_, number in some:
            levels = dict(zip(("age", "sex"), divmod(number, 2), strict=True))
            made = sf.anonymize(
                frame, identifying=["name"], quasi=["age", "sex"], insensitive=["disease"], k=2, loss="lm",
                hierarchies={"age": sf.intervals(50, 100), "sex": sf.levels(["*"])}, search="optimal",
                levels={name: (level, level) for name, level in levels.items()},
            )  # fmt: skip
            low, high = found["scale"][step], found["scale"][step + 1]
            assert low - 1e-9 <= made.solution.verdict.loss <= high + 1e-9


def test_more_nodes_than_can_be_drawn_are_thinned_and_the_chosen_one_stays(asked, monkeypatch):
    monkeypatch.setattr(lattice, "DRAWN", 3)
    monkeypatch.setattr(lattice, "DRAWN_WITH_EDGES", 3)
    found = lattice.picture(asked(), {}, {"age": 1, "sex": 1}, False, quiet)
    assert (found["shown"], found["one_of"]) == (8, 3)
    drawn = nodes(found)
    assert sum(map(len, drawn.values())) == 6  # one of each height, and the chosen one
    assert [one[2] for one in drawn["chosen"]] == [3]
    assert sum(row["nodes"] for row in found["rows"]) == 8  # counts are those of all


def test_a_node_tells_its_rows_loss_and_risk(asked):
    policy = asked(search={"suppression": 1})
    found = lattice.node(policy, 0, None, quiet)  # nothing blurred: one row is alone and left out
    assert (found["satisfies"], found["suppressed"], found["limit"]) == (True, 1, 1)
    assert (found["classes"], found["smallest"], found["risk"], found["average_risk"]) == (2, 2, 0.5, 0.4)
    assert found["head"] == ["age", "sex", "disease"]  # no name of a person
    assert sorted(found["table"]) == [["31", "F", "flu"]] * 3 + [["58", "M", "flu"], ["58", "M", "gout"]]


def test_a_node_that_leaves_nothing_has_no_rows(asked):
    found = lattice.node(asked(require=[{"model": "k-anonymity", "k": 4}]), 0, None, quiet)
    assert (found["suppressed"], found["table"]) == (6, [])


@pytest.mark.parametrize("number", [3, 5, 7])
def test_rows_of_a_node_are_rows_of_its_release(asked, number):
    found = lattice.node(asked(), number, None, quiet)
    levels = {one["name"]: [one["level"], one["level"]] for one in found["columns"]}
    release = released(asked(levels=levels, search={"method": "optimal"}), quiet)
    made = [[None if cell is None else str(cell) for cell in row] for row in release.table.select(found["head"]).rows()]
    assert sorted(map(str, found["table"])) == sorted(map(str, made))


def test_measuring_losses_can_be_cancelled(asked):
    def stop(message, share=None):
        if message == "measuring the losses":
            raise Cancelled

    policy = asked(search={"loss": "ncp"})
    lattice.picture(policy, {}, None, False, stop)
    with pytest.raises(Cancelled):
        lattice.picture(policy, {}, None, True, stop)
