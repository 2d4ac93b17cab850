"""Baskets as letters, and what an attacker would do with them: plain Python that shares nothing with the package."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

import numpy as np
import polars as pl

from sfumato.core.hierarchy import Hierarchy, grow
from sfumato.criteria.sets import HKPCoherence, KMAnonymity
from sfumato.criteria.sets.published import PublishedSet, PublishedTable
from sfumato.relational.values import BasketProblem, Baskets, ItemTree

Basket = Sequence[str] | frozenset[str]
WORKED = tuple(map(frozenset, ("abc", "ab", "ac", "bc", "abd", "ad")))  # of the literature's example
LETTERS = "abcdefgh"


def supports(baskets: Sequence[Basket], most: int) -> Counter[tuple[str, ...]]:
    """How many baskets have each set of one to `most` items."""
    found: Counter[tuple[str, ...]] = Counter()
    for basket in baskets:
        for size in range(1, most + 1):
            found.update(combinations(sorted(set(basket)), size))
    return found


def problem(baskets: Sequence[Basket], hierarchy: Hierarchy, promise: KMAnonymity | HKPCoherence) -> BasketProblem:
    """The problem of some baskets of letters, whose items are those that occur."""
    items = sorted(set().union(*baskets))
    code = {item: i for i, item in enumerate(items)}
    owner = np.array([i for i, basket in enumerate(baskets) for _ in set(basket)])
    item = np.array([code[item] for basket in baskets for item in set(basket)])
    tree = ItemTree.of(hierarchy, items)
    return BasketProblem(Baskets.of(owner, item, len(items)), tuple(items), tree, promise)


def random_baskets(rng: np.random.Generator, items: int, most: int) -> list[frozenset[str]]:
    """A few baskets that are not empty, of rare and frequent items."""
    share = rng.uniform(0.1, 0.8, items)
    drawn = (rng.random((int(rng.integers(2, most + 1)), items)) < share).tolist()
    found = [frozenset(letter for letter, there in zip(LETTERS, row, strict=False) if there) for row in drawn]
    return [basket for basket in found if basket] or [frozenset("a")]


def random_hierarchy(rng: np.random.Generator, items: int) -> Hierarchy:
    """A hierarchy of two levels of groups below its root; a group may be alone in its group."""
    low = np.sort(rng.integers(0, max(1, items // 2), items))
    high = np.searchsorted(np.unique(low), low) // 2
    names = [f"low {i}" for i in range(items)], [f"high {i}" for i in range(items)]
    return grow("item", list(LETTERS[:items]), [(low, names[0]), (high, names[1])])


def published(rows: pl.DataFrame) -> PublishedSet:
    """Published baskets: a column "basket" and a column "item"."""
    texts = rows.select(pl.col("basket", "item").cast(pl.String))
    return PublishedSet({"baskets": PublishedTable("baskets", texts, {"basket": "group", "item": "item"})})
