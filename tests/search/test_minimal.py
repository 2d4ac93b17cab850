"""All k-minimal generalisations: worked by hand, as the study has them, and against every node judged alone."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings

import sfumato as sf
from sfumato.core.lattice import Lattice
from sfumato.search.lattice import minimal as module
from sfumato.search.lattice.minimal import bisection, decide, downward, heights, minimal_nodes, upward
from sfumato.search.problem import Problem
from tests.fuzz import examples
from tests.search.lattices import every, five, minimal, posed, problems, study

# Race has one level above the values (person), ZIP two (0213*/0214*, 021**). With k = 2 the rows in classes of one are:
# (0,0) all five differ: 5.  (0,1) asian 0213* twice, three alone: 3.  (0,2) asian three times, two alone: 2.
# (1,0) 02138 and 02139 twice, 02141 alone: 1.  (1,1) 0213* four times, 0214* alone: 1.  (1,2) nobody: 0.
ALONE = {(0, 0): 5, (0, 1): 3, (0, 2): 2, (1, 0): 1, (1, 1): 1, (1, 2): 0}


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(0, [(1, 2)]), (1, [(1, 0)]), (2, [(0, 2), (1, 0)]), (3, [(0, 1), (1, 0)]), (4, [(0, 1), (1, 0)])],
)
def test_race_and_zip(limit: int, expected: list[tuple[int, int]]) -> None:
    found = minimal_nodes(five(2, limit))
    assert [node.levels for node in found.nodes] == expected
    assert [node.suppressed for node in found.nodes] == [ALONE[node] for node in expected]
    assert [node.height for node in found.nodes] == [sum(node) for node in expected]
    satisfied = [alone <= limit for alone in ALONE.values()]
    assert found.satisfied.tolist() == satisfied
    status = found.status()
    assert {"satisfied", "violated"} >= {s for s in status if s != "pruned"}
    assert found.checks == sum(s != "pruned" for s in status) == int(found.checked.sum())


def test_race_and_zip_of_three() -> None:
    """k = 3, two rows may go: (0,2) keeps the three asians, (1,1) the four of 0213*; (0,1) and (1,0) keep nobody."""
    found = minimal_nodes(five(3, 2))
    assert [(n.levels, n.suppressed, n.classes) for n in found.nodes] == [((0, 2), 2, 1), ((1, 1), 1, 1)]


def test_no_release_is_empty() -> None:
    """All five rows may be suppressed, but a release keeps a class: (0,0) has none."""
    assert [node.levels for node in minimal_nodes(five(2, 5)).nodes] == [(0, 1), (1, 0)]


def test_the_study(shared: Path) -> None:
    found = minimal_nodes(study(shared))
    assert (len(found.satisfied), int(found.satisfied.sum())) == (60, 20)
    expected = {
        (4, 0, 0, 1): (1.114145, 13), (4, 0, 1, 0): (2.000597, 9), (4, 1, 0, 0): (2.000928, 14),
        (1, 0, 1, 2): (2.055445, 7), (2, 1, 1, 1): (2.235980, 16), (3, 1, 0, 2): (2.257184, 15),
    }  # fmt: skip
    assert {node.levels: (round(node.loss, 6), node.suppressed) for node in found.nodes} == expected
    assert found.best is not None
    assert found.best.levels == (4, 0, 0, 1)
    assert found.best.loss == pytest.approx(1.1141447295714, abs=1e-9)
    assert found.checks < 60


@settings(max_examples=examples(150))
@given(problems())
def test_every_node_is_told_right(problem: Problem) -> None:
    """Also for criteria that do not prune where rows may be suppressed: there every node is checked."""
    verdicts, found = every(problem), minimal_nodes(problem)
    assert found.satisfied.tolist() == [verdict.satisfied for verdict in verdicts.values()]
    assert [node.levels for node in found.nodes] == minimal(verdicts)
    for node in found.nodes:
        assert node.suppressed == verdicts[node.levels].suppressed
        assert node.loss == pytest.approx(verdicts[node.levels].loss, abs=1e-9)
    assert found.checks <= len(verdicts)


def test_criteria_that_do_not_prune_are_checked_everywhere() -> None:
    table = {"a": list("xxyyzz"), "s": list("pqpqpp")}
    found = minimal_nodes(posed(table, ["a"], sf.EntropyLDiversity("s", 2), 2))
    assert found.checked.all()


def test_a_lattice_that_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 5)
    with pytest.raises(sf.errors.PolicyError, match="6 nodes; allowed: at most 5"):
        minimal_nodes(five(2, 0))


def test_bisection_visits_every_height_once() -> None:
    for top in range(12):
        assert sorted(bisection(top)) == list(range(top + 1))


def test_closures() -> None:
    mask = np.zeros((3, 4), np.bool_)
    mask[1, 2] = True
    assert upward(mask).astype(int).tolist() == [[0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]]
    assert downward(mask).astype(int).tolist() == [[1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 0]]
    assert heights(Lattice((0, 1), (2, 4))).tolist() == [[0, 1, 2, 3], [1, 2, 3, 4], [2, 3, 4, 5]]


def test_pruning_asks_few_questions() -> None:
    """A chain of 64 levels is settled by bisection."""
    asked = []

    def test(steps: np.ndarray) -> np.ndarray:
        asked.extend(steps[:, 0].tolist())
        return np.asarray(steps[:, 0] >= 23)

    assert decide(Lattice((0,), (63,)), test).tolist() == [-1] * 23 + [1] * 41
    assert len(asked) <= 7
