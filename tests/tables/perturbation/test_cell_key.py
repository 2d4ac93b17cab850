"""Cell-key perturbation: one cell has one value in every table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest

from sfumato.core.progress import quiet
from sfumato.engines.tables import engine_of
from sfumato.errors import PolicyError
from sfumato.tables.count import count_table
from sfumato.tables.perturbation import CellKey
from sfumato.tables.values import StatTable
from tests.tables.perturbation.problems import SPEC, counts_table, problem_of, sums_table


def keyed(data: Mapping[str, Any], by: list[str]) -> StatTable:
    """A table whose cells have the sums of their records' keys."""
    return count_table(engine_of(data), by, None, {}, None, None, None, "id", 3, quiet, 10**6)


def records(n: int, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    data = {name: rng.integers(0, 3, n).astype(str).tolist() for name in "abcdef"}
    return {**data, "id": list(range(n))}


def test_same_cell_in_fifty_tables_has_one_value() -> None:
    data = records(60, 0)
    seen: dict[tuple[tuple[str, str], ...], set[float]] = {}
    tables = [list(by) for size in (1, 2, 3) for by in combinations("abcdef", size)]
    tables += [by[::-1] for by in tables if len(by) == 2]
    assert len(tables) >= 50
    for by in tables:
        table = keyed(data, by)
        changed = CellKey()(problem_of(table)).changed
        assert changed is not None
        for cell, value in zip(np.ndindex(table.shape), changed, strict=True):
            named = [(one.name, one.labels[k]) for one, k in zip(table.dimensions, cell, strict=True) if k]
            seen.setdefault(tuple(sorted(named)), set()).add(value)
    assert len(seen) > 500
    assert all(len(values) == 1 for values in seen.values())


def test_the_same_records_have_one_key_and_another_owner_others(monkeypatch: pytest.MonkeyPatch) -> None:
    data = records(40, 3)
    table = keyed(data, ["a", "b"])
    keys = table.keys
    assert keys is not None
    assert keys[0, 0] == keys[1:, 1:].sum(dtype=np.uint64)  # modulo 1
    turned = {name: column[::-1] for name, column in data.items()}  # the order of rows has no say
    again = keyed(turned, ["a", "b"]).keys
    assert again is not None
    assert (keys == again).all()
    monkeypatch.setenv("SFUMATO_KEY", "somebody else's")
    other = keyed(data, ["a", "b"]).keys
    assert other is not None
    assert not (keys == other)[table.count > 0].any()


def test_bounds_and_forbidden_counts() -> None:
    rng = np.random.default_rng(1)
    table = counts_table(rng.integers(0, 6, (8, 9)) + np.eye(8, 9, dtype=int))
    table = replace(table, keys=rng.integers(0, 2**64, table.shape, dtype=np.uint64))
    method = CellKey(largest=4, variance=2.5, forbidden=3)
    found = method(problem_of(table))
    assert found.changed is not None
    value = table.value.ravel()
    assert (np.abs(found.changed - value) <= 4).all()
    assert (found.changed[value == 0] == 0).all()
    assert not np.isin(found.changed, (1, 2)).any()
    assert (found.changed >= 0).all()
    assert found.facts["largest_change"] <= 4
    assert not method.additive
    assert "1 to 2" in method.statement()


def test_mean_over_keys_is_zero() -> None:
    rng = np.random.default_rng(2)
    table = counts_table(SPEC)
    total = np.zeros(table.value.size)
    for _ in range(1000):
        changed = CellKey(3, 1.0)(
            problem_of(replace(table, keys=rng.integers(0, 2**64, table.shape, dtype=np.uint64)))
        ).changed
        assert changed is not None
        total += changed - table.value.ravel()
    assert np.abs(total / 1000).max() < 5 / np.sqrt(1000)


def test_needs_keys_and_counts() -> None:
    with pytest.raises(PolicyError, match="record="):
        CellKey()(problem_of(counts_table(SPEC)))
    with pytest.raises(PolicyError, match="counts"):
        CellKey()(problem_of(sums_table({("x",): [1.5], ("y",): [2.0]})))
    with pytest.raises(PolicyError, match="variance"):
        CellKey(largest=3, variance=1.0, forbidden=3)
