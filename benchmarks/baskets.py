"""Made-up baskets: half a million of about eight items of a thousand, and what it costs to make and verify them."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks.figures import Figure, figure

GROUP = "baskets"
BASKETS, ITEMS, SIZE = 500_000, 1000, 8
GROUPS = (10, 100)  # items of a group, and of a group of groups
LIMIT = 60.0  # CPU seconds, reading and verifying included


def run() -> list[Figure]:
    """k^m-anonymity for pairs and triples, and coherence, from frame to verified release."""
    _seconds(_bought(200), k=2, m=3, hierarchy=_groups())  # compiles
    bought, fewer = _bought(BASKETS), _bought(BASKETS // 10)
    private = [f"item {i:03}" for i in range(0, ITEMS, 100)]
    return [
        _figure("k^m-anonymity, k=5, m=2, 500k baskets, CPU", bought, k=5, m=2, hierarchy=_groups()),
        _figure("k^m-anonymity, k=5, m=3, 50k baskets, CPU", fewer, k=5, m=3, hierarchy=_groups()),
        _figure("coherence, k=5, p=2, ten private items, 50k baskets, CPU", fewer, h=0.8, k=5, p=2, private=private),
    ]


def _figure(about: str, table: pl.DataFrame, **asked: Any) -> Figure:
    seconds, loss = _seconds(table, **asked)
    return figure(GROUP, about, [seconds], target=LIMIT, loss=loss)


def _seconds(table: pl.DataFrame, **asked: Any) -> tuple[float, float]:
    """CPU seconds of a release, and its loss."""
    began = time.process_time()
    made = sf.anonymize_baskets(table, basket="basket", item="item", **asked)
    return time.process_time() - began, made.solution.loss


def _bought(baskets: int) -> pl.DataFrame:
    """Baskets of items whose frequencies follow Zipf's law."""
    rng = np.random.default_rng(1)
    size = np.maximum(rng.poisson(SIZE, baskets), 1)
    share = 1 / np.arange(1, ITEMS + 1)
    item = rng.permutation(ITEMS)[rng.choice(ITEMS, int(size.sum()), p=share / share.sum())]
    names = pl.Series([f"item {i:03}" for i in range(ITEMS)])
    return pl.DataFrame({"basket": np.repeat(np.arange(baskets), size), "item": names.gather(item)})


def _groups() -> object:
    """The item hierarchy: groups of ten, and of a hundred."""
    few, many = GROUPS
    return sf.wide([(f"item {i:03}", f"group {i // few:02}", f"range {i // many}", "*") for i in range(ITEMS)])
