"""Itemsets that nobody can have, since two of their items are values of one attribute: known to be in no basket without
being published, they take part in patterns by inclusion and exclusion."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from sfumato.core.wording import count
from sfumato.errors import TooManyCells
from sfumato.mining.frequent import WIDEST, linked
from sfumato.mining.values import Itemsets

MOST_SETS = 500_000


def with_exclusive(itemsets: Itemsets, attribute: np.ndarray, most: int = MOST_SETS) -> Itemsets:
    """The itemsets, and those with several values of one attribute of which every part that somebody can have is here.

    They are made size by size, each of two that differ in their last item, as the candidates of Apriori are.
    """
    if not (attribute >= 0).any() or len(itemsets) == 1:
        return itemsets
    span = len(attribute)
    own = {tuple(row[:size]): often for row, size, often in zip(
        itemsets.sets.tolist(), itemsets.size.tolist(), itemsets.support.tolist(), strict=True)}  # fmt: skip
    last = itemsets.sets[itemsets.size == 1, 0].astype(np.int64)
    above, sets, facet = np.zeros(len(last), np.int64), last[:, np.newaxis], np.zeros((len(last), 1), np.int64)
    levels = [(np.array([-1]), np.array([-1]), itemsets.support[:1])]
    levels.append((above, last, itemsets.support[1 : len(last) + 1]))
    start, many = 1, 1 + len(last)
    while True:
        pairs = siblings(above, 10 * most)
        if pairs is None:
            _refuse(most)
        one, other = pairs
        key = above * span + last  # ascending
        made, parts = np.column_stack([sets[one], last[other]]), np.empty((len(one), sets.shape[1] + 1), np.int64)
        parts[:, -1], parts[:, -2] = one, other
        fits = np.ones(len(one), bool)
        for place in range(sets.shape[1] - 1):  # without an item that both of the pair have
            wanted = facet[one, place] * span + last[other]
            parts[:, place] = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
            fits &= key[parts[:, place]] == wanted
        made, parts = made[fits], parts[fits]
        kinds = np.sort(np.where(attribute[made] < 0, -1 - np.arange(made.shape[1]), attribute[made]), axis=1)
        clash = (kinds[:, 1:] == kinds[:, :-1]).any(axis=1).tolist()
        often = np.array([0 if no else own.get(tuple(row), -1) for row, no in zip(made.tolist(), clash, strict=True)],
                         np.int64)  # fmt: skip
        there = often >= 0
        if not there.any():
            break
        sets, facet = made[there], parts[there] + start
        start, above, last = start + len(last), facet[:, -1], sets[:, -1]
        levels.append((above, last, often[there]))
        many += len(last)
        if many > most or sets.shape[1] > WIDEST:
            _refuse(most)
    size = np.repeat(np.arange(len(levels)), [len(one[0]) for one in levels])
    return linked(size, *(np.concatenate(column) for column in zip(*levels, strict=True)))


def siblings(above: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray] | None:
    """All pairs of itemsets that differ in their last item alone, by their places; None where there are more."""
    after = np.searchsorted(above, above, side="right") - np.arange(len(above)) - 1
    if int(after.sum()) > most:
        return None
    one = np.repeat(np.arange(len(above)), after)
    step = np.arange(len(one)) - np.repeat(np.cumsum(after) - after, after)
    return one, one + 1 + step


def _refuse(most: int) -> NoReturn:
    what = f"the values of the columns make more than {count(most, 'pattern')}"
    hint = "name fewer columns, group their values, or ask for a larger support or shorter itemsets (longest)"
    raise TooManyCells(what, hint=hint)
