"""Made-up baskets: half a million of about eight items of a thousand, and what it costs to make and verify them."""

from __future__ import annotations

import numpy as np
import polars as pl

import sfumato as sf
from benchmarks.figures import Figure, cpu, figure

GROUP = "baskets"
BASKETS, ITEMS, SIZE = 500_000, 1000, 8
GROUPS = (10, 100)  # items of a group, and of a group of groups
LIMIT = 60.0  # CPU seconds, reading and verifying included


def run() -> list[Figure]:
    """k^m-anonymity for pairs and triples, and coherence."""
    sf.anonymize_baskets(_bought(200), basket="basket", item="item", k=2, m=3, hierarchy=_groups())  # compiles
    bought, fewer = _bought(BASKETS), _bought(BASKETS // 10)
    found = []
    for table, k, m, limit in ((bought, 5, 2, LIMIT), (bought, 50, 2, LIMIT), (fewer, 5, 3, LIMIT)):
        seconds, made = cpu(
            lambda table=table, k=k, m=m: sf.anonymize_baskets(
                table, basket="basket", item="item", k=k, m=m, hierarchy=_groups()
            )
        )
        about = f"k^m-anonymity, k={k}, m={m}, {table['basket'].n_unique() // 1000}k baskets, CPU"
        found.append(figure(GROUP, about, [seconds], target=limit, search=round(made.solution.seconds, 1),
                            loss=made.solution.loss))  # fmt: skip
    private = [f"item {i:03}" for i in range(0, ITEMS, 100)]
    seconds, made = cpu(
        lambda: sf.anonymize_baskets(fewer, basket="basket", item="item", h=0.8, k=5, p=2, private=private)
    )
    about = f"coherence, k=5, p=2, 10 private items, {BASKETS // 10_000}k baskets, CPU"
    found.append(figure(GROUP, about, [seconds], target=LIMIT, loss=made.solution.loss))
    return found


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
