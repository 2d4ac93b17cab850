"""Several quasi-identifier sets, checked set by set: against every node judged alone."""

from __future__ import annotations

import random
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.core.policy import ClassStatistics
from sfumato.search.lattice.minimal import minimal_nodes
from sfumato.search.lattice.optimal import Optimal
from sfumato.search.problem import judge, level_columns
from tests.fuzz import FUZZ
from tests.search.lattices import every, posed

SETS = [["a", "b"], ["b", "c"], ["c", "d"]]
TREE = sf.wide([(v, v[0], "*") for v in ("p1", "p2", "q1", "q2", "q3")])


def drawn(seed: str, rows: int = 60) -> pl.DataFrame:
    """A table of four columns, in which some values are rare."""
    rng = random.Random(seed)
    values = ["p1"] * 5 + ["p2", "p2", "q1", "q2", "q3"]
    return pl.DataFrame({name: [rng.choice(values) for _ in range(rows)] for name in "abcds"})


@pytest.mark.parametrize("limit", [0, 3, 12])
@pytest.mark.parametrize("more", [[], [sf.TCloseness("s", 0.35)], [sf.AverageRisk(0.2)]], ids=["k", "t", "average"])
@pytest.mark.parametrize("loss", ["lm", "discernibility"])
def test_optimal_is_the_best_of_all_nodes(limit: int, more: list[Any], loss: str) -> None:
    for trial in range(FUZZ):
        trees = dict.fromkeys("abcd", TREE)
        problem = posed(drawn(f"{limit} {trial}"), SETS, [sf.KAnonymity(3), *more], limit, loss, trees)
        verdicts = every(problem)
        best = min(v.loss for v in verdicts.values() if v.satisfied)
        found = Optimal()(problem)
        assert found.optimal
        assert found.verdict.satisfied
        assert found.verdict.loss == pytest.approx(best, abs=1e-12)


def test_suppression_in_one_set_goes_on_in_another() -> None:
    """Alone, (x, 1) goes from the first set; then one row of (1, u) is left in the second, which goes too."""
    table = {"a": ["x", "y", "y", "y"], "b": [1, 1, 2, 2], "c": ["u", "u", "v", "v"]}
    problem = posed(table, [["a"], ["b", "c"]], sf.KAnonymity(2), 2, levels=dict.fromkeys("abc", (0, 0)))
    solution = Optimal()(problem)
    assert solution.verdict.suppressed == 2
    assert solution.kept.tolist() == [False, False, True]


def test_samarati_counts_classes_over_all_sets() -> None:
    trees = dict.fromkeys("abcd", TREE)
    problem = posed(drawn("samarati"), SETS, sf.KAnonymity(3), 12, "lm", trees)
    found = sf.Samarati(prefer="distinct", among="minimal")(problem)

    def classes(node: tuple[int, ...]) -> int:
        statistics: ClassStatistics = judge(problem, level_columns(problem, node))[2]
        return statistics.kept_classes

    nodes = [node.levels for node in minimal_nodes(problem).nodes]
    assert len(nodes) > 1
    assert classes(tuple(found.levels.values())) == max(map(classes, nodes))


@pytest.mark.parametrize("limit", [0, 3, 12])
@pytest.mark.parametrize("more", [[], [sf.TCloseness("s", 0.35, quasi=("b", "c"))]], ids=["k", "t"])
@pytest.mark.parametrize("loss", ["lm", "discernibility"])
def test_optimal_is_the_best_where_each_set_has_a_k_of_its_own(limit: int, more: list[Any], loss: str) -> None:
    require = [sf.KAnonymity(2), sf.KAnonymity(6, quasi=("a", "b")), sf.KAnonymity(9, quasi=("c", "d")), *more]
    for trial in range(FUZZ):
        problem = posed(drawn(f"{limit} {trial}"), SETS, require, limit, loss, dict.fromkeys("abcd", TREE))
        best = min(v.loss for v in every(problem).values() if v.satisfied)
        found = Optimal()(problem)
        assert found.optimal
        assert found.verdict.loss == pytest.approx(best, abs=1e-12)
        if not limit:
            subsets = sf.Incognito()(problem)
            assert subsets.verdict.loss == pytest.approx(best, abs=1e-12)


def test_a_set_without_criteria_asks_for_nothing() -> None:
    table = {"a": ["x", "x", "y"], "b": ["u", "u", "u"]}
    problem = posed(table, [["b"], ["a"]], sf.KAnonymity(3, quasi=("b",)), levels={"a": (0, 0), "b": (0, 0)})
    assert Optimal()(problem).verdict.suppressed == 0
