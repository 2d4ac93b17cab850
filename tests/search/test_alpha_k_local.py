"""alpha-k-local has a kernel for shares, and counts parts of the rows in two ways for other criteria: all agree."""

from __future__ import annotations

import random
from typing import Any

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


@pytest.mark.parametrize(
    "require",
    [
        [sf.AlphaK(0.5, 4, "s")],
        [sf.AlphaK(0.4, 2, "s", ["p"]), sf.KAnonymity(5)],
        [sf.AlphaK(0.7, 3, "s", per={"r": 0.3}), sf.AlphaK(0.6, 2, "s", ["q"])],
    ],
    ids=["every value", "one value", "own bounds"],
)
def test_the_kernel_for_shares_finds_the_same_classes(monkeypatch: pytest.MonkeyPatch, require: list[Any]) -> None:
    rng = random.Random(str(require))
    columns = {name: rng.choices(range(9), k=400) for name in ("a", "b", "c")}
    table = pl.DataFrame(columns | {"s": rng.choices("pqqrt", k=400)})
    options = {"quasi": ["a", "b", "c"], "sensitive": ["s"], "require": require, "search": "alpha-k-local"}
    quick = sf.anonymize(table, **options)
    monkeypatch.setattr(alpha_k_local, "AT_ONCE", 100)  # the work is taken up again and again
    assert sf.anonymize(table, **options).table.equals(quick.table)
    monkeypatch.setattr(alpha_k_local, "ROOM", 0)
    plain = sf.anonymize(table, **options)
    assert plain.table.equals(quick.table)
    assert plain.solution.checks == quick.solution.checks > 10
