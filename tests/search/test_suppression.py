"""Suppression alone: rows (_TS) and columns (_AS), against all choices tried one by one."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.search.problem import Problem, judge, level_columns
from sfumato.search.suppression.whole import AttributeSuppression, TupleSuppression
from tests.conformance.test_anonymize_then_verify import CALM, smallest_class, tables
from tests.fuzz import examples
from tests.rows import as_they_came
from tests.search.lattices import nine, posed, problems

JOBS = {
    "job": ["cat1", "cat1", "cat1", "cat1", "cat2", "cat2"],
    "birth": ["1975", "1955", "1955", "1955", "1975", "1975"],
    "postcode": ["4350", "4350", "5432", "5432", "4350", "4350"],
    "illness": ["HIV", "HIV", "flu", "fever", "flu", "fever"],
}
QUASI = ["job", "birth", "postcode"]


def test_rows_of_small_classes_go() -> None:
    release = sf.anonymize(
        JOBS, quasi=QUASI, sensitive=["illness"], require=sf.KAnonymity(2), search="tuple-suppression", suppression=2
    )
    assert release.table.drop("illness").rows() == [("cat1", "1955", "5432")] * 2 + [("cat2", "1975", "4350")] * 2
    assert release.solution.optimal
    assert release.solution.verdict.suppressed == 2
    assert release.solution.verdict.loss == pytest.approx(2 / 6)
    with pytest.raises(sf.errors.Infeasible, match=r"2 of 6 rows.*at most 1") as no:
        TupleSuppression()(posed(JOBS, QUASI, sf.KAnonymity(2), 1))
    assert no.value.closest == {"suppressed": 2}


def test_rows_go_to_a_fixpoint() -> None:
    """A row that goes for one set leaves the class of another too small."""
    table = {"a": ["x", "x", "y", "z", "z"], "b": ["p", "q", "q", "r", "r"]}
    solution = TupleSuppression()(posed(table, [["a"], ["b"]], sf.KAnonymity(2), 3))
    assert solution.verdict.suppressed == 3  # y is alone; then one q is left, so x goes; then p
    assert solution.optimal


def test_rows_alone_means_no_levels() -> None:
    with pytest.raises(sf.errors.PolicyError, match='"job" must be'):
        TupleSuppression()(posed(JOBS, QUASI, sf.KAnonymity(2), 6, levels={"job": (1, 1)}))


def test_fewest_columns_of_the_jobs() -> None:
    """Birth alone: 2-anonymous. (0.5, 2)-anonymity takes any two columns: that of most weight stays."""
    solution = AttributeSuppression()(posed(JOBS, QUASI, sf.KAnonymity(2)))
    assert [name for name, level in (solution.levels or {}).items() if level] == ["birth"]
    assert solution.verdict.loss == pytest.approx(1 / 3)
    options = {"quasi": QUASI, "sensitive": ["illness"], "require": sf.AlphaK(0.5, 2, "illness")}
    for stays in QUASI:
        loss = sf.LM(weights={stays: 2.0})
        release = sf.anonymize(JOBS, **options, search="attribute-suppression", loss=loss)
        for name in QUASI:
            assert as_they_came(release)[name].to_list() == (JOBS[name] if name == stays else ["*"] * 6)
        assert release.solution.optimal
        assert release.solution.verdict.loss == pytest.approx(2 / 4)


def brute(problem: Problem) -> tuple[int, float] | None:
    """The fewest columns dropped and the least loss among those, by trying every choice."""
    choices = []
    for a in problem.attributes:
        low, high = problem.levels.get(a.name, (0, a.ladder.height))
        choices.append(sorted({level for level in (0, a.ladder.height) if low <= level <= high}))
    found = []
    for node in itertools.product(*choices):
        verdict = judge(problem, level_columns(problem, node))[1]
        if verdict.satisfied:
            dropped = sum(n == a.ladder.height > 0 for n, a in zip(node, problem.attributes, strict=True))
            found.append((dropped, round(verdict.loss, 9)))
    return min(found) if found else None


@pytest.mark.slow
@settings(max_examples=examples(300), suppress_health_check=CALM)
@given(problem=problems())
def test_fewest_columns_by_brute_force(problem: Problem) -> None:
    for a in problem.attributes:
        low, high = problem.levels.get(a.name, (0, a.ladder.height))
        if low > 0 and high < a.ladder.height:
            with pytest.raises(sf.errors.PolicyError, match="keeps"):
                AttributeSuppression()(problem)
            return
    expected = brute(problem)
    if expected is None:
        with pytest.raises(sf.errors.Infeasible):
            AttributeSuppression()(problem)
        return
    solution = AttributeSuppression()(problem)
    assert solution.optimal
    levels = list((solution.levels or {}).values())
    dropped = sum(n == a.ladder.height > 0 for n, a in zip(levels, problem.attributes, strict=True))
    assert (dropped, solution.verdict.loss) == (expected[0], pytest.approx(expected[1], abs=1e-8))


@pytest.mark.slow
@pytest.mark.parametrize("limit", [0, 60])
def test_eight_columns_by_brute_force(limit: int) -> None:
    rng = np.random.default_rng(limit)
    table = pl.DataFrame({f"q{i}": rng.integers(0, rng.integers(2, 7), 300) for i in range(8)})
    problem = posed(table, table.columns, sf.KAnonymity(4), limit, sf.LM(weights={"q3": 3.0}))
    solution = AttributeSuppression()(problem)
    expected = brute(problem)
    assert expected is not None
    assert sum(n > 0 for n in (solution.levels or {}).values()) == expected[0]
    assert solution.verdict.loss == pytest.approx(expected[1], abs=1e-8)
    assert solution.checks < 2**8


def test_columns_of_adult(shared: Path) -> None:
    problem = nine(shared, 0.04)
    solution = AttributeSuppression()(problem)
    assert solution.optimal
    assert sum(n > 0 for n in (solution.levels or {}).values()) == 4
    assert solution.checks < 2**9


def test_cut_by_time() -> None:
    rng = np.random.default_rng(5)
    table = pl.DataFrame({f"q{i:02}": rng.integers(0, 4, 20_000) for i in range(16)})
    problem = posed(table, table.columns, sf.KAnonymity(3), 0.05)
    solution = AttributeSuppression(seconds=0.05)(problem)
    assert solution.verdict.satisfied
    assert not solution.optimal
    assert not solution.reproducible
    with pytest.raises(sf.errors.PolicyError, match="seconds"):
        AttributeSuppression(seconds=-1)


def test_no_column_may_go() -> None:
    problem = posed({"a": ["x", "y"]}, ["a"], sf.KAnonymity(2), levels={"a": (0, 0)})
    with pytest.raises(sf.errors.Infeasible) as no:
        AttributeSuppression()(problem)
    assert no.value.closest == {"dropped": [], "suppressed": 2}


@settings(max_examples=examples(150), suppress_health_check=CALM)
@given(
    table=tables(), k=st.integers(1, 4), suppression=st.sampled_from([0, 1, 0.3, 1.0]),
    search=st.sampled_from(["tuple-suppression", "attribute-suppression"]),
)  # fmt: skip
def test_whatever_the_table(table: dict[str, list[Any]], k: int, suppression: float, search: str) -> None:
    names = [name for name in table if name.startswith("q")]
    frame = {name: table[name] for name in names}
    try:
        release = sf.anonymize(frame, quasi=names, require=sf.KAnonymity(k), search=search, suppression=suppression)
    except (sf.errors.Infeasible, sf.errors.ColumnError) as no:
        assert str(no)
        return
    assert release.verification.holds
    assert smallest_class(release.table, names) >= k
