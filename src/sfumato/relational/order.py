"""The order that baskets leave in: a function of their released items alone, so that it tells nothing of the input."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl

from sfumato.relational.values import Baskets

WORD = 62  # bits of a number that several items are put into


def numbered(baskets: Baskets, labels: Sequence[str]) -> pl.DataFrame:
    """Baskets by their number and their items: basket, item. All numbers have as many digits, so that they stand in
    order as texts, too.

    The items of a basket are sorted by their texts, byte by byte; baskets are compared item by item, one before those
    that go on after all of its items.

    >>> numbered(Baskets(np.array([0, 2, 3]), np.array([0, 1, 1])), ["b", "a"]).rows()
    [(1, 'a'), (2, 'a'), (2, 'b')]
    """
    texts = pl.Series(labels, dtype=pl.String)
    order = texts.arg_sort().to_numpy()
    rank = np.empty(len(order), np.int32)
    rank[order] = np.arange(len(order), dtype=np.int32)
    ranked = baskets.mapped(rank, len(rank))
    place = np.argsort(_places(ranked, len(rank)), kind="stable")
    number, first = np.empty(ranked.height, np.int64), 1
    while ranked.height > 9 * first:
        first *= 10
    number[place] = first + np.arange(ranked.height)
    rows = pl.DataFrame({"basket": number[ranked.basket()], "item": ranked.item}).sort("basket", "item")
    item = pl.Series("item", texts.gather(order).gather(rows.get_column("item")))
    return pl.DataFrame([rows.get_column("basket"), item])


def _places(baskets: Baskets, items: int) -> np.ndarray:
    """How many baskets come before each; baskets that are alike have the same place."""
    bits = (items + 1).bit_length()
    many = max(1, WORD // bits)  # items that one number holds
    size = np.diff(baskets.start)
    place = np.zeros(baskets.height, np.int64)
    alike, at = np.arange(baskets.height), 0  # baskets that share their place so far with others
    while at < size[alike].max(initial=0):
        word = np.zeros(len(alike), np.int64)
        for i in range(at, at + many):
            word <<= bits
            there = i < size[alike]
            word[there] += baskets.item[baskets.start[alike[there]] + i] + 1
        order = np.lexsort((word, place[alike]))
        shared, word = place[alike[order]], word[order]
        group = _begins(np.diff(shared, prepend=-1) != 0)
        same = _begins((np.diff(shared, prepend=-1) != 0) | (np.diff(word, prepend=-1) != 0))
        place[alike[order]] = shared + same - group
        at += many
        alike = alike[order][np.bincount(same, minlength=len(same))[same] > 1]
    return place


def _begins(new: np.ndarray) -> np.ndarray:
    """Where the run begins that each entry is in."""
    return np.maximum.accumulate(np.where(new, np.arange(len(new)), 0))
