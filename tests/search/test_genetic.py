"""Genetic: reaches the best of all cuts where those can be listed, never more; limits, seeds, any policy."""

from __future__ import annotations

import itertools
import time
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import ColumnError, Infeasible, PolicyError
from sfumato.search.cuts import cuts
from sfumato.search.cuts.cuts import CutSpace
from sfumato.search.cuts.genetic import Genetic
from sfumato.search.lattice.optimal import Optimal
from sfumato.search.problem import Columns, Problem, judge
from tests.conformance.test_anonymize_then_verify import criteria, tables
from tests.fuzz import FUZZ, examples
from tests.search.lattices import nine, posed, problems

CALM = list(HealthCheck)
TREES = {"a": sf.wide([(v, v[0], "*") for v in ("p1", "p2", "q1", "q2", "q3")]), "c": sf.flat()}
POLICIES: list[tuple[Any, list[Any], float, Any]] = [
    (["a", "b", "c"], [sf.KAnonymity(2)], 0, "lm"),
    (["a", "b", "c"], [sf.KAnonymity(3)], 0.2, "lm"),
    (["a", "b", "c"], [sf.KAnonymity(3)], 0.2, sf.LM(aggregate="geometric", leaves="hierarchy")),
    (["a", "b", "c"], [sf.KAnonymity(3)], 0.1, "non-uniform-entropy"),
    (["a", "b", "c"], [sf.KAnonymity(3)], 0.3, "discernibility"),
    (["a", "b", "c"], [sf.KAnonymity(2)], 0.1, "c-avg"),
    (["a", "b", "c"], [sf.KAnonymity(2), sf.EntropyLDiversity("s", 1.8)], 0.3, "lm"),
    (["a", "b", "c"], [sf.KAnonymity(2), sf.TCloseness("s", 0.3)], 0, "ncp"),
    (["a", "b", "c"], [sf.AlphaK(0.6, 2, "s")], 0.2, "discernibility"),
    ([["a", "b"], ["b", "c"]], [sf.KAnonymity(3)], 0.2, "lm"),
]


def small(policy: tuple[Any, list[Any], float, Any], seed: int) -> Problem:
    """A table of few values: its cuts can all be judged."""
    quasi, require, suppression, loss = policy
    rng = np.random.default_rng(seed)
    values = {"a": ["p1", "p2", "q1", "q2", "q3"], "b": [1, 2, 3, 5, 8], "c": ["m", "n"], "s": ["u", "v", "w"]}
    rows = int(rng.integers(8, 40))
    table = pl.DataFrame({name: rng.choice(some, rows) for name, some in values.items()})
    return posed(table, quasi, require, suppression, loss, TREES)


def best_of_all(problem: Problem) -> float | None:
    """The least loss of all cuts that satisfy the policy, judged one by one."""
    space = CutSpace(problem, 128)
    losses = []
    for bits in itertools.product((0, 1), repeat=space.bits):
        if all(up < 0 or bits[up] or not bits[b] for b, up in enumerate(space.moves.up)):
            _, verdict, _ = judge(problem, space.labels(np.array(bits, dtype=np.uint8)))
            losses += [verdict.loss] if verdict.satisfied else []
    return min(losses, default=None)


def reaches_the_best(search: Any, number: int) -> None:
    for seed in range(number, number + 100 * FUZZ, 100):
        problem = small(POLICIES[number], seed)
        best = best_of_all(problem)
        if best is None:
            with pytest.raises(Infeasible):
                search(problem)
            continue
        solution = search(problem)
        assert solution.verdict.satisfied
        assert not solution.optimal
        assert solution.reproducible
        assert solution.verdict.loss == pytest.approx(best, abs=1e-9)


def ends_well(search: Any, problem: Problem) -> None:
    """A valid cut of column labels, not better than the best of all, or a reason why there is none."""
    try:
        solution = search(problem)
    except PolicyError:
        assert isinstance(problem.policy.loss, sf.Height)
        return
    except Infeasible as no:
        assert no.closest["suppressed"] > min(problem.limit, problem.rows - 1)
        assert best_of_all(problem) is None
        return
    assert isinstance(solution.recoding, Columns)
    assert solution.verdict.satisfied
    assert solution.verdict.suppressed <= problem.limit
    assert solution.checks > 0
    best = best_of_all(problem)
    assert best is not None
    assert solution.verdict.loss >= best - 1e-9


def keeps_promises(name: str, search: Any, table: dict[str, list[Any]], k: int, more: list[Any], limit: float) -> None:
    names = [column for column in table if column.startswith("q")]
    options = {"sensitive": ["s"], "rest": "release", "require": [sf.KAnonymity(k), *more], "suppression": limit}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.RoleWarning)
        try:
            release = sf.anonymize(table, quasi=names, search=search, **options)
        except (Infeasible, ColumnError) as no:
            assert str(no)
            return
    assert release.verification.holds
    assert release.solution.verdict.suppressed <= release.policy.limit(len(table["s"]))
    assert release.manifest["policy"]["search"]["name"] == name


def same_labels(one: Any, two: Any) -> bool:
    return all(
        labels.text == two.recoding.labels[name].text and np.array_equal(labels.of, two.recoding.labels[name].of)
        for name, labels in one.recoding.labels.items()
    )


def repeats_with_its_seed(search: Any, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also with another number of threads; another seed goes another way."""
    problem = nine(shared, 0.04)
    search = replace(search, seconds=None, evaluations=1500)
    first, second = search(problem), search(problem)
    assert first.reproducible
    assert same_labels(first, second)
    assert first.checks == second.checks
    for module in (cuts, __import__(type(search).__module__, fromlist=["x"])):
        monkeypatch.setattr(module, "WORTH_A_THREAD", 10**12, raising=False)
    assert same_labels(first, search(problem))
    others = [replace(search, seed=seed)(problem) for seed in (1, 2, 3)]
    assert any(other.verdict.loss != first.verdict.loss for other in others)


def beats_full_domain(search: Any, shared: Path) -> None:
    """On Adult, nine columns: cuts include all level vectors, and far better ones are found soon."""
    for suppression in (0, 0.04):
        problem = nine(shared, suppression)
        optimal = Optimal()(problem)
        found = replace(search, seconds=None, evaluations=6000)(problem)
        assert found.verdict.suppressed <= problem.limit
        assert found.verdict.loss < 0.95 * optimal.verdict.loss
        assert found.checks <= 6000


def stops_in_time(search: Any, shared: Path) -> None:
    problem = nine(shared, 0.04, sf.TCloseness("occupation", 0.2))
    search(problem)  # compile
    began = time.perf_counter()
    solution = replace(search, evaluations=None, seconds=0.3)(problem)
    assert time.perf_counter() - began < 5
    assert not solution.reproducible
    assert solution.verdict.satisfied


def infeasible_at_once(search: Any) -> None:
    table = {"a": [1, 2, 3, 4] * 5, "s": ["x"] * 19 + ["y"]}
    began = time.perf_counter()
    with pytest.raises(Infeasible, match="no cut satisfies") as no:
        search(posed(table, ["a"], [sf.DistinctLDiversity("s", 3)], 5))
    assert no.value.closest == {"suppressed": 20}
    assert time.perf_counter() - began < 5


def finds_a_part(search: Any) -> None:
    """The whole table fails, but without the rows of one value the rest holds."""
    table = {"a": ["p"] * 6 + ["q"] * 6, "s": ["u"] * 6 + ["u", "v"] * 3}
    problem = posed(table, ["a"], sf.AlphaK(0.5, 2, "s"), 6, hierarchies={"a": sf.flat()})
    solution = search(problem)
    assert solution.verdict.suppressed == 6
    assert solution.recoding.labels["a"].text == ("p", "q")


def takes_columns_of_one_value(search: Any) -> None:
    solution = search(posed({"a": ["x"] * 4, "b": [7] * 4}, ["a", "b"], sf.KAnonymity(4)))
    assert solution.verdict.loss == 0
    assert solution.recoding.labels["b"].text == ("7",)


def tells_progress(search: Any) -> None:
    told: list[tuple[str, float | None]] = []
    problem = replace(small(POLICIES[1], 3), progress=lambda message, share: told.append((message, share)))
    search(problem)
    assert told
    assert all(share is not None and 0 <= share <= 1 for _, share in told)


def keeps_levels(search: Any) -> None:
    """Bounded levels hold for every label, and an ordered column is then cut along its hierarchy."""
    table = {"age": list(range(20, 60)), "c": ["m", "n"] * 20}
    bounds = {"age": (1, 2), "c": (0, 0)}
    trees = {"age": sf.intervals(5, 10, 20), "c": sf.flat()}
    release = search(posed(table, ["age", "c"], sf.KAnonymity(2), 0, "lm", trees, bounds))
    labels = release.recoding.labels
    assert set(labels["c"].text) == {"m", "n"}
    assert set(labels["age"].fixed_level.tolist()) <= {1, 2}
    assert release.verdict.satisfied


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(POLICIES)))
def test_reaches_the_best_of_all_cuts(number: int) -> None:
    reaches_the_best(Genetic(seconds=None), number)


@settings(max_examples=examples(40), deadline=None, suppress_health_check=CALM)
@given(problem=problems())
def test_ends_well(problem: Problem) -> None:
    ends_well(Genetic(seconds=None, patience=50, population=40), problem)


@settings(max_examples=examples(120), deadline=None, suppress_health_check=CALM)
@given(
    table=tables(), k=st.integers(1, 5), more=criteria, limit=st.sampled_from([0, 1, 0.1, 0.5, 1.0]),
)  # fmt: skip
def test_release_keeps_its_promises(table: dict[str, list[Any]], k: int, more: list[Any], limit: float) -> None:
    keeps_promises("genetic", Genetic(seconds=None, evaluations=400, population=40), table, k, more, limit)


@pytest.mark.slow
def test_repeats_with_its_seed(shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repeats_with_its_seed(Genetic(), shared, monkeypatch)


@pytest.mark.slow
def test_beats_full_domain(shared: Path) -> None:
    beats_full_domain(Genetic(), shared)


@pytest.mark.slow
def test_stops_in_time(shared: Path) -> None:
    stops_in_time(Genetic(evaluations=100), shared)


@pytest.mark.parametrize(
    "check", [infeasible_at_once, finds_a_part, takes_columns_of_one_value, tells_progress, keeps_levels]
)
def test_behaviour(check: Any) -> None:
    check(Genetic(seconds=None, patience=100))


def test_stops_when_every_cut_was_met() -> None:
    problem = small(POLICIES[1], 3)
    solution = Genetic(seconds=None, patience=10**6)(problem)
    assert solution.reproducible
    assert solution.verdict.loss == pytest.approx(best_of_all(problem) or 0, abs=1e-9)


@pytest.mark.parametrize("wrong", [{"population": 2}, {"population": 2.5}, {"crossover": 1.1}, {"mutation": -0.1}])
def test_parameters(wrong: dict[str, Any]) -> None:
    with pytest.raises(PolicyError, match=next(iter(wrong))):
        Genetic(**wrong)


def test_height_is_refused() -> None:
    with pytest.raises(PolicyError, match="height"):
        Genetic()(small((["a", "b"], [sf.KAnonymity(2)], 0, "height"), 1))
