"""Datafly: the worked example of its paper, and its path against a plain one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.lattice import lattice
from sfumato.search.lattice.datafly import Datafly
from sfumato.search.lattice.optimal import Optimal
from sfumato.search.problem import Problem, judge, level_columns
from tests.conformance.test_anonymize_then_verify import CALM, smallest_class, tables
from tests.fuzz import examples
from tests.rows import as_they_came
from tests.search.lattices import nine, posed, problems

PATIENTS = {
    "race": ["black"] * 6 + ["white"] * 6,
    "birth": [
        "1965-09-20", "1965-02-14", "1965-10-23", "1965-08-24", "1964-11-07", "1964-12-01",
        "1964-10-23", "1965-03-15", "1964-08-13", "1964-05-05", "1967-02-13", "1967-03-21",
    ],
    "gender": ["male"] * 2 + ["female"] * 4 + ["male", "female"] + ["male"] * 4,
    "zip": ["02141"] * 2 + ["02138"] * 5 + ["02139"] * 3 + ["02138"] * 2,
}  # fmt: skip
TREES = {"birth": sf.dates("year"), "zip": sf.redact("right"), "race": sf.flat(), "gender": sf.flat()}


def patients(suppression: int, **more: Any) -> Problem:
    return posed(PATIENTS, list(PATIENTS), sf.KAnonymity(2), suppression, "lm", TREES, **more)


def test_the_twelve_patients() -> None:
    """Birth dates have most values, 12: they become years. Two rows are then alone, no more than k, and go."""
    solution = Datafly()(patients(2))
    assert solution.levels == {"race": 0, "birth": 1, "gender": 0, "zip": 0}
    assert solution.verdict.suppressed == 2
    assert solution.checks == 2
    release = sf.anonymize(
        PATIENTS, quasi=list(PATIENTS), require=sf.KAnonymity(2), suppression=2, search="datafly", hierarchies=TREES
    )
    assert release.table.height == 10
    there = as_they_came(release)
    assert there.row(0) == ("black", "1965", "male", "02141")
    assert there.row(9) == ("white", "1967", "male", "02138")
    assert not {("white", "1964", "male", "02138"), ("white", "1965", "female", "02139")} & set(release.table.rows())


def test_without_suppression_it_goes_on() -> None:
    """Three years and three ZIPs: the first column goes on, to its root. Then ZIP, which has most values. Then all
    have two, and the first goes: one white woman was still alone."""
    solution = Datafly()(patients(0))
    assert solution.levels == {"race": 1, "birth": 2, "gender": 0, "zip": 1}
    assert solution.verdict.suppressed == 0
    assert solution.checks == 5


def test_levels_bind_it() -> None:
    """Birth stays a year, neither more nor less, so that ZIP goes first, then race."""
    solution = Datafly()(patients(0, levels={"birth": (1, 1)}))
    assert solution.levels == {"race": 1, "birth": 1, "gender": 0, "zip": 1}
    assert solution.checks == 3


def test_the_root_may_fail() -> None:
    with pytest.raises(sf.errors.Infeasible, match="most general levels") as no:
        Datafly()(posed({"a": ["x", "y", "y"], "s": ["p", "p", "p"]}, ["a"], sf.DistinctLDiversity("s", 2), 1))
    assert no.value.closest["suppressed"] == 3


def plain(problem: Problem) -> tuple[int, ...] | None:
    """The algorithm once more, node by node, each judged alone."""
    space = lattice(problem.attributes, problem.levels)
    node = list(space.least)
    while True:
        if judge(problem, level_columns(problem, node))[1].satisfied:
            return tuple(node)
        free = [i for i, (level, top) in enumerate(zip(node, space.greatest, strict=True)) if level < top]
        if not free:
            return None
        distinct = {i: len(set(problem.attributes[i].ladder.of[node[i]].tolist())) for i in free}
        node[next(i for i in free if distinct[i] == max(distinct.values()))] += 1


@settings(max_examples=examples(200), suppress_health_check=CALM)
@given(problem=problems())
def test_plain(problem: Problem) -> None:
    """Its node is that of the plain algorithm, it satisfies the policy, and it is no better than the optimum."""
    expected = plain(problem)
    if expected is None:
        with pytest.raises(sf.errors.Infeasible):
            Datafly()(problem)
        return
    solution = Datafly()(problem)
    assert tuple((solution.levels or {}).values()) == expected
    assert solution.verdict.satisfied
    assert not solution.optimal
    assert Optimal()(problem).verdict.loss <= solution.verdict.loss + 1e-9


@settings(max_examples=examples(100), suppress_health_check=CALM)
@given(table=tables(), k=st.integers(1, 4), suppression=st.sampled_from([0, 1, 0.3, 1.0]))
def test_whatever_the_table(table: dict[str, list[Any]], k: int, suppression: float) -> None:
    names = [name for name in table if name.startswith("q")]
    frame = {name: table[name] for name in names}
    try:
        release = sf.anonymize(frame, quasi=names, require=sf.KAnonymity(k), search="datafly", suppression=suppression)
    except (sf.errors.Infeasible, sf.errors.ColumnError) as no:
        assert str(no)
        return
    assert release.verification.holds
    assert smallest_class(release.table, names) >= k


def test_adult(shared: Path) -> None:
    problem = nine(shared, 0.04)
    solution = Datafly()(problem)
    assert solution.verdict.suppressed <= problem.limit
    assert Optimal()(problem).verdict.loss < solution.verdict.loss < 0.31
