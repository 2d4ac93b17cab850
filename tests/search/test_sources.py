"""What the lattice searches find of a node from cells that were rolled up before, and of many nodes at once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.core.lattice import lattice
from sfumato.search.lattice.state import LatticeState
from sfumato.search.problem import judge, level_columns
from tests.search.lattices import posed

REQUIRED: dict[str, Any] = {
    "sizes": [],
    "beta": [sf.BetaLikeness("s", 0.8)],
    "delta": [sf.DeltaDisclosure("s", 1.5, "skipped")],
    "kl": [sf.TCloseness("s", 0.2, "kl")],
    "two": [sf.EntropyLDiversity("s", 2), sf.DistinctLDiversity("t", 3)],
    "table": [sf.AverageRisk(0.1), sf.RecursiveCLDiversity("s", 2, 2)],
}


@pytest.mark.parametrize("loss", ["lm", "non-uniform-entropy", "discernibility"])
@pytest.mark.parametrize("name", REQUIRED)
def test_a_node_is_judged_as_from_the_cells(name: str, loss: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sources are rolled up at once; where the loss of a row depends on its value, along attributes at their root only.
    In one case the sensitive attributes count as ones with too many values for a table."""
    monkeypatch.setattr("sfumato.search.lattice.state.OFTEN", 1)
    monkeypatch.setattr("sfumato.search.lattice.state.AT_ONCE", 1 << 12)
    if loss == "lm":
        monkeypatch.setattr("sfumato.search.lattice.checker.DENSE", 10)
    rng = np.random.default_rng(3)
    table = pl.DataFrame({c: rng.integers(0, n, 400) for c, n in {"a": 16, "b": 8, "c": 3, "s": 4, "t": 6}.items()})
    trees = {"a": sf.intervals(2, 4, 8), "b": sf.intervals(2, 4), "c": sf.flat()}
    problem = posed(table, ["a", "b", "c"], [sf.KAnonymity(4), *REQUIRED[name]], 60, loss, trees)
    space = lattice(problem.attributes, problem.levels)
    nodes = space.nodes().astype(np.int64)
    with ThreadPoolExecutor(1) as pool:
        walk = LatticeState(problem, space, pool)
        for _ in range(2):  # the second time from sources that the first one made
            found = walk.examine(nodes)
            for b, node in enumerate(nodes):
                _, verdict, statistics = judge(problem, level_columns(problem, node.tolist()))
                assert found.good[b] == verdict.satisfied
                if verdict.satisfied:
                    assert found.suppressed[b] == verdict.suppressed
                    assert found.loss[b] == pytest.approx(verdict.loss, abs=1e-12)
                    assert found.classes[b] == statistics.kept_classes
    assert 0 < found.good.sum() < len(nodes)
    assert len(walk.sources) > 10 if loss != "non-uniform-entropy" else len(walk.sources) == 2
