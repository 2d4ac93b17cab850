"""Made-up baskets: inference channels of more than ten thousand itemsets, found and blocked either way."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.figures import Figure, figure
from sfumato.mining.additive import Additive
from sfumato.mining.frequent import frequent_itemsets
from sfumato.mining.suppressive import Suppressive
from sfumato.mining.values import Transactions, inference_channels

GROUP = "mining"
BASKETS, ITEMS, KINDS, OF_A_KIND = 100_000, 200, 85, 7
LACKING = 0.006  # the share of the items of a kind that a basket lacks
SUPPORT, K = 700, 5
LIMIT = 10.0  # seconds


def run() -> list[Figure]:
    """CPU seconds of mining, of finding channels, and of blocking them."""
    few = bought(2000)
    for block in (Additive(), Suppressive()):  # compiles
        inference_channels(frequent_itemsets(block(few, K, 40), 40), K)
    data = bought(BASKETS)
    itemsets = frequent_itemsets(data, SUPPORT)
    channels = inference_channels(itemsets, K)
    about = f"{len(itemsets) - 1:,} itemsets of {BASKETS // 1000}k baskets"
    ways: dict[str, Callable[[], Any]] = {
        f"{about}: mined": lambda: frequent_itemsets(data, SUPPORT),
        f"{about}: their {len(channels):,} channels found, k = {K}": lambda: inference_channels(itemsets, K),
        f"{about}: blocked by additive": lambda: Additive()(data, K, SUPPORT),
        f"{about}: blocked by suppressive": lambda: Suppressive()(data, K, SUPPORT),
    }
    return [figure(GROUP, name, _seconds(way), target=LIMIT) for name, way in ways.items()]


def _seconds(way: Callable[[], Any]) -> list[float]:
    found = []
    for _ in range(3):
        began = time.process_time()
        way()
        found.append(time.process_time() - began)
    return found


def bought(baskets: int) -> Transactions:
    """Baskets of two of some kinds, whose items nearly all go together, and of a few items by chance."""
    rng = np.random.default_rng(1)
    kinds = np.array([rng.choice(ITEMS, OF_A_KIND, replace=False) for _ in range(KINDS)])
    together = kinds[rng.integers(KINDS, size=(baskets, 2))].reshape(baskets, -1)
    there = rng.random(together.shape) >= LACKING
    basket = np.broadcast_to(np.arange(baskets)[:, None], together.shape)[there]
    more = rng.integers(0, 5, baskets)
    owner = np.concatenate([basket, np.repeat(np.arange(baskets), more)])
    item = np.concatenate([together[there], rng.integers(ITEMS, size=int(more.sum()))])
    return Transactions.of(owner, item, baskets, tuple(f"item {i}" for i in range(ITEMS)))
