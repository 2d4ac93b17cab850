"""How many cells there will be is told from a sample: near for even tables, never below what was seen."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from sfumato.errors import PolicyError
from sfumato.measures.table import estimate
from sfumato.release.request import memory, refuse_size

ROWS = 200_000


@pytest.mark.parametrize("domain", [100, 20_000, 1_000_000])
def test_an_even_table_is_hardly_estimated_too_small_and_at_most_half_too_large(domain: int) -> None:
    table = pl.DataFrame({"a": np.random.default_rng(1).integers(0, domain, ROWS)})
    real = table["a"].n_unique()
    found = estimate(table[: ROWS // 10], ["a"], dict(table.schema), ROWS)
    assert 0.9 * real <= found <= 1.5 * real


def test_a_skewed_table_is_estimated_within_a_factor_of_three() -> None:
    table = pl.DataFrame({"a": np.random.default_rng(1).zipf(1.3, ROWS)})
    real = table["a"].n_unique()
    found = estimate(table[: ROWS // 10], ["a"], dict(table.schema), ROWS)
    assert real / 3 <= found <= 3 * real


def test_the_estimate_is_between_the_sample_and_the_rows() -> None:
    table = pl.DataFrame({"a": range(1000)})
    assert estimate(table, ["a"], dict(table.schema), 1000) == 1000
    assert 1000 <= estimate(table, ["a"], dict(table.schema), 10**6) <= 10**6
    assert estimate(table.clear(), ["a"], dict(table.schema), 0) == 0


def test_a_refusal_gives_advice_and_no_values() -> None:
    table = pl.DataFrame({"street": [f"s{i}" for i in range(1000)], "sex": ["F", "M"] * 500})
    with pytest.raises(PolicyError, match=r'max_cells=500.*"street" \(1,000') as caught:
        refuse_size(table, table.columns, 2000, 500)
    assert "s17" not in str(caught.value)
    refuse_size(table, ["sex"], 500, 500)


def test_memory_follows_cells() -> None:
    assert memory(2_000_000, 5) - memory(1_000_000, 5) == memory(1_000_000, 5) - memory(0, 5)
    assert 1e9 < memory(5_000_000, 5) < 4 * 2**30
