"""Lightning: exact where it finishes, honest where it is cut, and quick to a solution in a large lattice."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.lattice import lattice
from sfumato.search.lattice.lightning import Lightning
from sfumato.search.lattice.optimal import Optimal, group_bound
from sfumato.search.lattice.state import Descent, LatticeState
from sfumato.search.problem import Problem, Solution
from tests.conformance.test_anonymize_then_verify import CALM, smallest_class, tables
from tests.fuzz import examples, slow_but
from tests.search.lattices import nine, posed, problems


def solve(search: Any, problem: Problem) -> Solution | None:
    try:
        return search(problem)
    except sf.errors.Infeasible as no:
        assert "suppressed" in no.closest
        return None


def wide(rows: int, columns: int, seed: int = 7) -> pl.DataFrame:
    """Correlated columns of 5 to 50 values: each follows one of three hidden factors."""
    rng = np.random.default_rng(seed)
    factors, table = rng.normal(size=(3, rows)), {}
    for i in range(columns):
        values, load = int(rng.integers(5, 51)), rng.uniform(0.3, 0.9)
        x = load * factors[i % 3] + np.sqrt(1 - load**2) * rng.normal(size=rows)
        code = np.searchsorted(np.quantile(x, np.sort(rng.uniform(size=values - 1))), x)
        table[f"q{i:02}"] = code if i % 2 else np.array([f"v{j:02}" for j in range(values)])[code]
    return pl.DataFrame(table)


@settings(max_examples=examples(120), suppress_health_check=CALM)
@given(problem=problems(), start=st.sampled_from(["both", "top", "bottom"]), stepping=st.sampled_from([1, 2, 5, 1000]))
def test_finished_it_is_optimal(problem: Problem, start: str, stepping: int) -> None:
    """With time enough it is the optimum, ties included, under any criteria, losses and sets."""
    best = solve(Optimal(), problem)
    found = solve(Lightning(start=start, stepping=stepping), problem)
    assert (best is None) == (found is None)
    if best is None or found is None:
        return
    assert found.optimal
    assert found.reproducible
    assert found.levels == best.levels
    assert found.verdict.loss == pytest.approx(best.verdict.loss, abs=1e-12)
    assert found.bound == pytest.approx(best.verdict.loss, abs=1e-9)


@settings(max_examples=examples(80), suppress_health_check=CALM)
@given(problem=problems(), nodes=st.integers(1, 12), start=st.sampled_from(["both", "top", "bottom"]))
def test_cut_it_is_honest(problem: Problem, nodes: int, start: str) -> None:
    """Cut by its nodes, it repeats, is never better than the optimum, and its bound never above it."""
    best, search = solve(Optimal(), problem), Lightning(nodes=nodes, start=start)
    found, again = solve(search, problem), solve(search, problem)
    if found is None or again is None:
        assert found is again is None
        return
    assert best is not None
    assert found.verdict.satisfied
    assert found.levels == again.levels
    assert found.reproducible
    assert found.bound is not None
    assert found.bound - 1e-9 <= best.verdict.loss <= found.verdict.loss + 1e-9
    assert not found.optimal or found.levels == best.levels


@settings(max_examples=examples(80), suppress_health_check=CALM)
@given(problem=problems(), seconds=st.sampled_from([1e-9, 5.0]))
def test_no_solution_is_below_the_bound(problem: Problem, seconds: float) -> None:
    best = solve(Optimal(), problem)
    with ThreadPoolExecutor(1) as pool:
        bound = group_bound(problem, seconds, pool)
    assert bound >= 0
    assert best is None or bound <= best.verdict.loss + 1e-9


@pytest.mark.parametrize("aggregate", ["mean", "sum", "geometric", "maximum"])
def test_bound_by_groups(aggregate: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups of one or two columns: below the optimum, above nothing at all, whatever the aggregate."""
    monkeypatch.setattr("sfumato.search.lattice.optimal.LARGEST", (4, 24))
    table = wide(300, 4)
    loss = sf.LM(aggregate=aggregate, weights={"q00": 2.0})
    problem = posed(table, table.columns, sf.KAnonymity(10), 6, loss)
    best = Optimal()(problem)
    with ThreadPoolExecutor(1) as pool:
        bound = group_bound(problem, None, pool)
    assert 0 < bound < best.verdict.loss


@settings(max_examples=examples(100), suppress_health_check=CALM)
@given(problem=problems(), seed=st.integers(0, 99))
def test_descent_checks_as_walk_does(problem: Problem, seed: int) -> None:
    """Classes split from those above are the classes counted from the cells."""
    rng = np.random.default_rng(seed)
    space = lattice(problem.attributes, problem.levels)
    low, high = np.array(space.least), np.array(space.greatest)
    with ThreadPoolExecutor(1) as pool:
        descent, walk = Descent(problem, space, pool), LatticeState(problem, space, pool)
        for _ in range(3):
            node = rng.integers(low, high + 1)
            free = np.flatnonzero(node > low)
            if not len(free):
                continue
            nodes, found, worth = descent.below(node, free, node[free] - 1)
            plain = walk.examine(nodes)
            assert found.good.tolist() == plain.good.tolist()
            assert found.loss.tolist() == pytest.approx(plain.loss.tolist())
            assert found.suppressed.tolist() == plain.suppressed.tolist()
            assert worth[found.good].all()


@pytest.mark.slow
def test_adult(shared: Path) -> None:
    """Nine columns: both directions finish, at the optimum."""
    problem = nine(shared, 0.04)
    best = Optimal()(problem)
    for start in ("top", "bottom"):
        found = Lightning(seconds=60, start=start)(problem)
        assert found.optimal
        assert found.levels == best.levels


@pytest.mark.slow
def test_twenty_columns() -> None:
    """A lattice that cannot be finished: a verified release soon, a better one later, a bound and a gap."""
    table = wide(20_000, 20)
    options = {"quasi": table.columns, "require": sf.KAnonymity(5), "suppression": 0.02}
    soon = sf.anonymize(table, **options, search=Lightning(nodes=100))
    later = sf.anonymize(table, **options, search=Lightning(nodes=600))
    for release in (soon, later):
        assert release.verification.holds
        assert smallest_class(release.table, table.columns) >= 5
        assert not release.solution.optimal
        assert 0 < release.solution.bound < release.solution.verdict.loss < 1
    assert later.solution.verdict.loss < soon.solution.verdict.loss


def test_time_limit() -> None:
    table = wide(5_000, 20)
    problem = posed(table, table.columns, sf.KAnonymity(5), 0.02)
    found = Lightning(seconds=0.2)(problem)
    assert found.verdict.satisfied
    assert not found.optimal
    assert not found.reproducible
    assert found.seconds < 5


@pytest.mark.slow
def test_thirty_columns_with_exact_keys() -> None:
    """6^30 nodes do not fit in 64 bits: every node is still told from every other."""
    rng = np.random.default_rng(1)
    table = pl.DataFrame({f"q{i:02}": rng.integers(0, 40, 400) for i in range(30)})
    for start in ("top", "bottom"):
        problem = posed(table, table.columns, sf.KAnonymity(3), 0.1)
        found = Lightning(nodes=400, start=start)(problem)
        assert found.verdict.satisfied
        assert found.checks >= 400


def test_progress_rises() -> None:
    said: list[float] = []
    table = wide(500, 6)
    search = Lightning(nodes=200)
    sf.anonymize(
        table, quasi=table.columns, require=sf.KAnonymity(4), search=search,
        progress=lambda message, share: said.append(share) if message == "searching the lattice" else None,
    )  # fmt: skip
    assert len(said) > 3
    assert said == sorted(said)
    assert said[-1] <= 1


@settings(max_examples=examples(120), suppress_health_check=CALM)
@given(table=tables(), k=st.integers(1, 4), suppression=st.sampled_from([0, 1, 0.3, 1.0]))
def test_whatever_the_table(table: dict[str, list[Any]], k: int, suppression: float) -> None:
    names = [name for name in table if name.startswith("q")]
    frame = {name: table[name] for name in names}
    try:
        release = sf.anonymize(
            frame, quasi=names, require=sf.KAnonymity(k), search="lightning", suppression=suppression
        )
    except (sf.errors.Infeasible, sf.errors.ColumnError) as no:
        assert str(no)
        return
    assert release.verification.holds
    assert smallest_class(release.table, names) >= k


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"seconds": 0}, "seconds"),
        ({"nodes": -1}, "nodes"),
        ({"start": "side"}, "top, bottom"),
        ({"stepping": 0}, "stepping"),
    ],
)
def test_parameters(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(sf.errors.PolicyError, match=said):
        Lightning(**wrong)


def test_infeasible() -> None:
    """Two rows that may not differ in their class, three wanted: the closest verdict says how far it is."""
    with pytest.raises(sf.errors.Infeasible) as no:
        Lightning()(posed({"a": ["x", "y"]}, ["a"], sf.KAnonymity(3)))
    assert no.value.closest["suppressed"] == 2


@pytest.mark.parametrize(
    ("suppression", "seed"),
    slow_but([(1.0, 7), (1.0, 3), (0.05, 7)]),
)
def test_both_directions_are_never_worse_than_either(
    suppression: float, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """14 columns: which direction is better depends on the table, and around the better there is better still."""
    monkeypatch.setattr("sfumato.search.lattice.lightning.group_bound", lambda *asked: 0.0)  # which takes most time
    problem = posed(table := wide(300, 14, seed), table.columns, sf.KAnonymity(5), suppression=suppression)
    losses = {
        start: Lightning(seconds=None, nodes=60, start=start)(problem).verdict.loss
        for start in ("top", "bottom", "both")
    }
    assert losses["both"] <= min(losses["top"], losses["bottom"]) + 1e-12
    assert Lightning(seconds=None, nodes=60)(problem).verdict.loss == losses["both"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", [3, 7])
def test_most_of_the_time_goes_to_the_better_direction(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that ticks whenever it is read: a short trial each way, then the side that found less loss."""
    monkeypatch.setattr("sfumato.search.lattice.lightning.group_bound", lambda *asked: 0.0)
    problem = posed(table := wide(300, 14, seed), table.columns, sf.KAnonymity(5), suppression=1.0)
    walks: dict[str, Solution] = {}
    for start in ("top", "bottom", "both"):
        ticks = iter(range(10**9))
        monkeypatch.setattr("time.perf_counter", lambda ticks=ticks: next(ticks) / 100)
        walks[start] = Lightning(seconds=10, start=start)(problem)
        assert not walks[start].reproducible
    losses = {start: found.verdict.loss for start, found in walks.items()}
    assert losses["both"] < max(losses["top"], losses["bottom"])
    assert losses["both"] <= min(losses["top"], losses["bottom"]) * 1.01


def test_a_trial_goes_on_where_it_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limited by nodes, each direction of both finds what it finds by itself, dives cut by the trial included."""
    monkeypatch.setattr("sfumato.search.lattice.lightning.group_bound", lambda *asked: 0.0)
    monkeypatch.setattr("sfumato.search.lattice.lightning.improve", lambda walk: None)
    problem = posed(table := wide(300, 14), table.columns, sf.KAnonymity(5), suppression=1.0)
    for nodes in (60, 250, 1000):
        top, bottom, both = (
            Lightning(seconds=None, nodes=nodes, start=start)(problem) for start in ("top", "bottom", "both")
        )
        assert both.verdict.loss == min(top.verdict.loss, bottom.verdict.loss)
        assert both.checks == top.checks + bottom.checks
