"""Classes audited in buckets, and all at once: the same promises, whatever the criterion."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.microdata import encode
from sfumato.criteria import CRITERIA
from sfumato.criteria.known_population import MEMBERSHIP
from sfumato.engines.protocol import COUNT
from sfumato.release.parts.verify import all_sizes, findings, joined
from sfumato.release.verify import summary, verify_table, wide_of

pytestmark = pytest.mark.slow

NAMES = ["a", "b"]


def counted(rows: int, seed: int, needed: tuple[str, ...]) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {"a": rng.choice(["x", "y", "z", None], rows).tolist(), "b": rng.choice(["1", "2", None], rows).tolist()}
        | {name: rng.choice(["flu", "cold", "HIV", None], rows, p=[0.4, 0.3, 0.2, 0.1]).tolist() for name in needed},
        schema=dict.fromkeys([*NAMES, *needed], pl.String),
    )
    return frame.group_by(frame.columns).agg(pl.len().cast(pl.Int64).alias(COUNT))


def in_buckets(
    table: pl.DataFrame, buckets: int, require: list[Any], whole: Any, trees: Any
) -> tuple[list[Any], dict[str, Any]]:
    needed = [name for criterion in require for name in criterion.needs]
    distribution = {
        name: {value or "": n for value, n in table.group_by(name).agg(pl.col(COUNT).sum()).iter_rows()}
        for name in needed
    }
    wide = {name: wide_of(tree) for name, tree in trees.items()}
    key = table.select(NAMES).hash_rows(seed=1) % buckets
    told = [
        findings(table.filter(key == i), NAMES, needed, require, {**distribution, **whole}, wide)
        for i in key.unique().to_list()
    ]
    sizes = all_sizes(told)
    return joined(told, sizes, NAMES, require, distribution, whole, wide), summary(sizes, NAMES)


@pytest.mark.parametrize("name", [n for n, one in CRITERIA.items() if MEMBERSHIP not in one.example.needs])
@pytest.mark.parametrize("given_whole", [False, True])
@pytest.mark.parametrize(("rows", "seed"), [(60, 1), (900, 2)])
def test_buckets_are_put_together(name: str, given_whole: bool, rows: int, seed: int) -> None:
    example = CRITERIA[name].example
    table = counted(rows, seed, example.needs)
    assert table.height > 5
    trees = {c: sf.flat().build(encode(table.get_column(c))[0]) for c in example.needs}
    whole = {c: {"flu": 500, "cold": 300, "HIV": 300, "": 90} for c in example.needs} if given_whole else {}
    promises, sizes = in_buckets(table, 4, [example], whole, trees)
    once = verify_table(table.drop(COUNT), [NAMES], [example], row_counts=table[COUNT], whole=whole, hierarchies=trees)
    assert tuple(promises) == once.promises
    assert (sizes,) == once.classes


@given(st.integers(1, 400), st.integers(0, 50), st.integers(1, 9), st.integers(1, 8))
def test_any_number_of_buckets(rows: int, seed: int, buckets: int, k: int) -> None:
    require = [sf.KAnonymity(k), sf.EntropyLDiversity("s", 1.7), sf.TCloseness("s", 0.2), sf.SampleUniqueness(0.1)]
    table = counted(rows, seed, ("s",))
    promises, sizes = in_buckets(table, buckets, require, {}, {})
    once = verify_table(table.drop(COUNT), [NAMES], require, row_counts=table[COUNT])
    assert tuple(promises) == once.promises
    assert (sizes,) == once.classes
