"""Visiting nodes one by one in compiled code finds what checking many at a time finds."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.compiled import workers
from sfumato.core.lattice import lattice
from sfumato.errors import Infeasible
from sfumato.search.lattice import visit
from sfumato.search.lattice.optimal import Optimal
from sfumato.search.lattice.state import LatticeState
from tests.fuzz import FUZZ
from tests.search.lattices import posed

REQUIRED: dict[str, list[Any]] = {
    "sizes": [],
    "beta": [sf.BetaLikeness("s", 0.8)],
    "delta": [sf.DeltaDisclosure("s", 1.5, "skipped")],
    "kl": [sf.TCloseness("s", 0.1, "kl")],
    "two": [sf.BetaLikeness("s", 1.5), sf.DeltaDisclosure("s", 2)],
}
TREES = {"a": sf.intervals(2, 4, 8), "b": sf.intervals(2, 4), "c": sf.flat(), "d": sf.intervals(3)}


def table(seed: int, rows: int = 600) -> pl.DataFrame:
    """Four quasi-identifiers and a sensitive column that depends on one of them."""
    rng = np.random.default_rng(seed)
    columns = {c: rng.integers(0, n, rows) for c, n in {"a": 16, "b": 8, "c": 3, "d": 6}.items()}
    return pl.DataFrame({**columns, "s": (columns["a"] // 6 + rng.integers(0, 3, rows)) % 4})


@pytest.mark.parametrize("limit", [0, 20, 90])
@pytest.mark.parametrize("loss", ["lm", "non-uniform-entropy"])
@pytest.mark.parametrize("name", REQUIRED)
def test_it_finds_the_same_optimum(name: str, loss: str, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(FUZZ):
        problem = posed(table(seed), list("abcd"), [sf.KAnonymity(4), *REQUIRED[name]], limit, loss, TREES)
        with workers() as pool:
            assert visit.visitor(LatticeState(problem, lattice(problem.attributes, {}), pool))
        found = []
        for use in (visit.visitor, lambda _: None):
            monkeypatch.setattr("sfumato.search.lattice.optimal.visitor", use)
            try:
                found.append(Optimal()(problem))
            except Infeasible as fault:
                found.append(fault.closest)
        if isinstance(found[0], dict):
            assert found[0] == found[1]
            continue
        one, many = found
        assert one.recoding.levels == many.recoding.levels
        assert (one.verdict.loss, one.verdict.suppressed) == (many.verdict.loss, many.verdict.suppressed)
        assert one.optimal
        assert one.bound == pytest.approx(one.verdict.loss, abs=1e-12)


@pytest.mark.parametrize("name", ["sizes", "delta"])
def test_a_limited_search_has_a_bound_and_room_may_run_out(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    problem = posed(table(1), list("abcd"), [sf.KAnonymity(4), *REQUIRED[name]], 60, "lm", TREES)
    best = Optimal()(problem).verdict.loss
    monkeypatch.setattr(visit, "ROOM", 700)  # the cells themselves, and a few more
    assert Optimal()(problem).verdict.loss == best
    for nodes in (1, 2, 7, 20):
        found = Optimal(nodes=nodes)(problem)
        assert found.checks <= nodes
        assert found.bound is not None
        assert found.bound <= best <= found.verdict.loss


def test_many_cells_or_much_suppression_are_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    with workers() as pool:
        for limit, few in ((300, visit.FEW_CELLS), (20, 100)):
            monkeypatch.setattr(visit, "FEW_CELLS", few)
            problem = posed(table(1), list("abcd"), [sf.KAnonymity(4)], limit, "lm", TREES)
            assert visit.visitor(LatticeState(problem, lattice(problem.attributes, {}), pool)) is None
