"""Every search of the table: a verified release or a reason, the guarantee that it states, the same result twice."""

from __future__ import annotations

import random
from dataclasses import fields, replace
from typing import Any

import polars as pl
import pytest

import sfumato as sf
from sfumato.errors import Infeasible, PolicyError
from tests.fuzz import FUZZ, slow_but

TREES = {
    "a": sf.wide([(v, v[0], "*") for v in ("p1", "p2", "q1", "q2", "q3")]),
    "b": sf.intervals(2, 4, 8),
    "c": sf.flat(),
}
POLICIES: list[tuple[list[Any], float]] = [
    ([sf.KAnonymity(2)], 0),
    ([sf.KAnonymity(3)], 0.2),
    ([sf.KAnonymity(2), sf.DistinctLDiversity("s", 2)], 0.2),
    ([sf.KAnonymity(2), sf.EntropyLDiversity("s", 1.5)], 0),
    ([sf.KMap(5, 0.2)], 0.2),
    ([sf.KAnonymity(2), sf.BetaLikeness("s", 1.5)], 0.1),
    ([sf.DeltaDisclosure("s", 2, "skipped")], 0),
    ([sf.AverageRisk(0.3)], 0),
    ([sf.AverageRisk(0.3), sf.DistinctLDiversity("s", 2)], 0.2),
    ([sf.SampleUniqueness(0.1)], 0.2),
    ([sf.KAnonymity(1), sf.PopulationUniqueness(0.05, 0.2)], 0),
]


def tables(seed: int) -> list[pl.DataFrame]:
    rng = random.Random(seed)
    found = []
    for _ in range(FUZZ):
        n = rng.randint(8, 40)
        columns = {"a": ("p1", "p2", "q1", "q2", "q3"), "b": range(8), "c": ("m", "n"), "s": ("flu", "asthma", "ulcer")}
        found.append(pl.DataFrame({name: [rng.choice(values) for _ in range(n)] for name, values in columns.items()}))
    return found


def brief(search: Any) -> Any:
    """The example of a search, made quick: few trials or rounds, or a second, where it has such a limit."""
    names = {f.name for f in fields(search)}
    if "evaluations" in names:
        return replace(search, seconds=None, evaluations=400)
    if isinstance(search, sf.Refined):
        return replace(search, rounds=3)
    return replace(search, **{"seconds": 1.0} if "seconds" in names else {})


def loss_for(search: str) -> str:
    return "discernibility" if search == "k-optimize" else "lm"


def release(table: pl.DataFrame, search: Any, require: list[Any], suppression: float, loss: str) -> sf.Release:
    options = {"sensitive": ["s"], "hierarchies": TREES, "suppression": suppression, "loss": loss}
    return sf.anonymize(table, quasi=["a", "b", "c"], require=require, search=search, **options)


@pytest.mark.parametrize("policy", slow_but(range(len(POLICIES)), 0))
@pytest.mark.parametrize("name", sf.SEARCHES)
def test_verified_or_refused(name: str, policy: int) -> None:
    require, suppression = POLICIES[policy]
    search = brief(sf.SEARCHES[name].example)
    for table in tables(policy):
        try:
            found = release(table, search, require, suppression, loss_for(name))
        except (Infeasible, PolicyError) as no:
            assert str(no)
            continue
        assert found.verification.holds
        assert found.solution.verdict.suppressed <= found.policy.limit(table.height)
        if search.code == "AG_TS" and found.solution.levels is not None:  # no level vector beats the best one
            best = release(table, "optimal", require, suppression, loss_for(name)).solution
            assert found.solution.verdict.loss >= best.verdict.loss - 1e-9
            if found.solution.optimal:
                assert found.solution.verdict.loss == pytest.approx(best.verdict.loss, abs=1e-9)
        if found.solution.bound is not None:
            assert found.solution.bound <= found.solution.verdict.loss + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("name", sf.SEARCHES)
def test_k_alone_is_always_reached(name: str) -> None:
    """Every search but suppression of rows alone can 2-anonymise any table of two rows and more."""
    if name == "tuple-suppression":
        return
    for table in tables(9):
        assert release(
            table, brief(sf.SEARCHES[name].example), [sf.KAnonymity(2)], 0, loss_for(name)
        ).verification.holds


@pytest.mark.slow
@pytest.mark.parametrize("name", sf.SEARCHES)
def test_the_same_result_twice(name: str) -> None:
    table, search = tables(4)[0], brief(sf.SEARCHES[name].example)
    try:
        first, second = (release(table, search, [sf.KAnonymity(2)], 0.3, loss_for(name)) for _ in range(2))
    except (Infeasible, PolicyError):
        assert name == "tuple-suppression"
        return
    if first.solution.reproducible and second.solution.reproducible:
        assert first.table.equals(second.table)
        assert first.manifest == second.manifest


@pytest.mark.parametrize("name", sf.SEARCHES)
def test_a_search_says_what_it_is(name: str) -> None:
    search = sf.SEARCHES[name].example
    assert search.code in {"AG_TS", "AG_", "AG_CS", "CG_", "_CS", "_TS", "_AS", "any"}
    assert search.guarantee in {"exact", "k-minimal", "heuristic", "approximation", "as picked"}
    first = (type(search).__doc__ or "").strip().splitlines()[0]
    assert first.endswith(f"({search.code}, {search.guarantee}).")
    assert sf.SEARCHES[name].cite
