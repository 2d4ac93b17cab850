"""Baskets as letters, counted in plain Python that shares nothing with the package."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import chain, combinations

import numpy as np
import polars as pl

from sfumato.criteria.sets.published import PublishedSet, PublishedTable
from sfumato.mining.values import Itemsets, Transactions

Basket = frozenset[str]
LETTERS = "abcdefghijkl"
# s(B, C) = 5 and s(A, B, C) = 4: one basket has B and C, and not A
WORKED = [*["ABC"] * 4, "BC", *["A"] * 3, *["B"] * 3, *["C"] * 2]


def transactions(baskets: Sequence[Collection[str]], items: Sequence[str]) -> Transactions:
    """Baskets of some items, as columns of bits."""
    code = {item: i for i, item in enumerate(items)}
    pairs = [(i, code[item]) for i, basket in enumerate(baskets) for item in sorted(basket)]
    owner, item = np.array(pairs, np.int64).reshape(-1, 2).T
    return Transactions.of(owner, item, len(baskets), tuple(items))


def parts(items: Iterable[str]) -> Iterable[Basket]:
    """Every set of some of these items."""
    every = sorted(items)
    found = chain.from_iterable(combinations(every, size) for size in range(len(every) + 1))
    return map(frozenset, found)


def support(baskets: Iterable[Collection[str]], present: Basket, absent: Basket = frozenset()) -> int:
    """How many baskets have all of some items, and none of others."""
    return sum(present <= {*basket} and not absent & {*basket} for basket in baskets)


def named(itemsets: Itemsets, texts: Sequence[str]) -> dict[Basket, int]:
    """The supports of itemsets, the empty one too."""
    return {**itemsets.named(texts), frozenset(): int(itemsets.support[0])}


def published(supports: dict[Basket, int]) -> PublishedSet:
    """Itemsets as they are published."""
    longest = max(map(len, supports))
    rows = [[*sorted(items), *[None] * (longest - len(items)), str(often)] for items, often in supports.items()]
    names = [f"item {i + 1}" for i in range(longest)]
    texts = pl.DataFrame(rows, schema=dict.fromkeys([*names, "support"], pl.String), orient="row")
    roles = dict.fromkeys(names, "item") | {"support": "count"}
    return PublishedSet({"itemsets": PublishedTable("itemsets", texts, roles)})


def random_baskets(rng: np.random.Generator, items: int, most: int) -> list[Basket]:
    """A few baskets of rare and frequent items; some are empty."""
    share = rng.uniform(0.1, 0.9, items)
    drawn = (rng.random((int(rng.integers(1, most + 1)), items)) < share).tolist()
    return [frozenset(letter for letter, there in zip(LETTERS, row, strict=False) if there) for row in drawn]
