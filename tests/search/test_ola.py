"""OLA: all k-minimal nodes and the best of them, against every node judged alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.search.lattice.minimal import minimal_nodes
from sfumato.search.lattice.ola import OLA, ola
from sfumato.search.problem import Problem
from tests.conformance.test_anonymize_then_verify import CALM, smallest_class, tables
from tests.fuzz import examples
from tests.search.lattices import every, five, minimal, nine, posed, problems, prunable, refused, study


def test_race_and_zip() -> None:
    """Two rows may go (see test_minimal.py). The top satisfies. Half-way up, at height 1, (0,1) violates, so what is
    above it is searched: (0,2) and (1,1) satisfy. Then (1,0) does; (0,0) is below (0,1), and never checked."""
    found = ola(five(2, 2))
    assert [node.levels for node in found.nodes] == [(0, 2), (1, 0)]
    assert found.checked.reshape(2, 3).astype(int).tolist() == [[0, 1, 1], [1, 1, 1]]
    assert found.checks == 5
    assert OLA()(five(2, 2)).levels == {"race": 1, "zip": 0}


def test_the_study(shared: Path) -> None:
    problem = study(shared)
    solution = OLA()(problem)
    assert tuple((solution.levels or {}).values()) == (4, 0, 0, 1)
    assert solution.verdict.loss == pytest.approx(1.1141447295714, abs=1e-9)
    assert [n.levels for n in ola(problem).nodes] == [n.levels for n in minimal_nodes(problem).nodes]
    assert solution.checks < 60


@pytest.mark.slow
@pytest.mark.parametrize("suppression", [0.0, 0.04])
def test_nine_columns(suppression: float, shared: Path) -> None:
    problem = nine(shared, suppression)
    found, expected = ola(problem), minimal_nodes(problem)
    assert [n.levels for n in found.nodes] == [n.levels for n in expected.nodes]
    assert (found.satisfied == expected.satisfied).all()
    assert len(found.nodes) == (27 if suppression == 0 else 987)
    assert found.checks < len(found.satisfied) / 4


@settings(max_examples=examples(150))
@given(problems())
def test_finds_the_minimal_nodes_and_the_best(problem: Problem) -> None:
    if not prunable(problem):
        refused(OLA(), problem, "ola")
        refused(ola, problem, "ola")
        return
    verdicts = every(problem)
    wanted = minimal(verdicts)
    assert [node.levels for node in ola(problem).nodes] == wanted
    if not wanted:
        with pytest.raises(sf.errors.Infeasible):
            OLA()(problem)
        return
    solution = OLA()(problem)
    best = min(verdicts[node].loss for node in wanted)
    assert solution.verdict.loss == pytest.approx(best, abs=1e-9)
    optimum = min(verdict.loss for verdict in verdicts.values() if verdict.satisfied)
    assert solution.bound is not None
    assert solution.bound <= optimum + 1e-9
    if solution.optimal or problem.limit == 0:
        assert best == pytest.approx(optimum, abs=1e-9)
    if problem.limit == 0:
        assert solution.optimal


def test_with_suppression_the_best_may_not_be_minimal() -> None:
    """Raw, the pair a stays and the two others go: LM (0 + 2)/4 = 0.5. Generalised to `not a`, all stay, and the two
    others lose (2 - 1)/(3 - 1) each: 0.25. Both satisfy, the raw vector is the minimal one, and OLA says so."""
    tree = sf.wide([("a", "a", "*"), ("b", "not a", "*"), ("c", "not a", "*")])
    problem = posed({"q": ["a", "a", "b", "c"]}, ["q"], sf.KAnonymity(2), 2, "lm", {"q": tree})
    solution = OLA()(problem)
    assert solution.levels == {"q": 0}
    assert solution.verdict.loss == pytest.approx(0.5)
    assert not solution.optimal
    assert sf.Optimal()(problem).verdict.loss == pytest.approx(0.25)


@settings(max_examples=examples(100), suppress_health_check=CALM)
@given(tables(), st.integers(1, 4), st.sampled_from([0, 1, 0.3]))
def test_nasty_tables(table: dict[str, list[Any]], k: int, suppression: float) -> None:
    names = [name for name in table if name.startswith("q")]
    drop = [name for name in table if name == "unique"]
    try:
        release = sf.anonymize(
            table, quasi=names, identifying=drop, rest="release", require=sf.KAnonymity(k), search=OLA(),
            suppression=suppression,
        )  # fmt: skip
    except (sf.errors.Infeasible, sf.errors.ColumnError) as no:
        assert str(no)
        return
    assert release.verification.holds
    assert smallest_class(release.table, names) >= k
