"""alpha-k-local counts parts of the rows in two ways, which agree."""

from __future__ import annotations

import random

import polars as pl
import pytest

import sfumato as sf
from sfumato.search.mondrian import alpha_k_local


def test_both_ways_to_count_give_the_same_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random("alpha-k-local")
    table = pl.DataFrame(
        {name: rng.choices(range(12), k=300) for name in ("a", "b", "c")} | {"s": rng.choices("pqqr", k=300)}
    )
    require = [sf.AlphaK(0.6, 4, "s"), sf.TCloseness("s", 0.4)]
    options = {"quasi": ["a", "b", "c"], "sensitive": ["s"], "require": require, "search": "alpha-k-local"}
    dense = sf.anonymize(table, **options)
    monkeypatch.setattr(alpha_k_local, "DENSE", 0)
    plain = sf.anonymize(table, **options)
    assert dense.table.equals(plain.table)
    assert dense.solution.checks == plain.solution.checks > 1
