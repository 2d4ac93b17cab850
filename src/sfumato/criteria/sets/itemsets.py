"""Itemsets of published baskets, counted from their printed texts: each promise about baskets is audited by these."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from sfumato.criteria.sets.published import PublishedSet, only
from sfumato.errors import PolicyError

MOST = 4_000_000  # rows that are held at a time, about


class Supports(NamedTuple):
    """Some itemsets: how many baskets have each, and in how many of these the same private item is, at most."""

    items: np.ndarray  # a row of codes each, which ends in -1 where it has fewer
    baskets: np.ndarray
    private: np.ndarray


@dataclass(frozen=True, eq=False)
class PublishedBaskets:
    """Baskets with their different items, as codes: basket i has `item[start[i]:start[i + 1]]`, in order.

    Codes from `public` on are of private items.
    """

    start: np.ndarray
    item: np.ndarray
    texts: tuple[str, ...]  # of each code
    public: int

    @property
    def height(self) -> int:
        """How many baskets there are."""
        return len(self.start) - 1

    @staticmethod
    def of(basket: pl.Series, item: pl.Series, private: Collection[str] = ()) -> PublishedBaskets:
        """The baskets of a column that numbers them and a column of items; an item that stands twice counts once."""
        pairs = pl.DataFrame({"basket": basket.rank("dense").cast(pl.Int64) - 1, "item": item.fill_null("")})
        pairs = pairs.with_columns(basket=pl.col("basket").fill_null(-1))  # a basket of its own
        known = pairs.select(pl.col("item").unique()).with_columns(
            secret=pl.col("item").is_in(pl.Series(list(private), dtype=pl.String).implode())
        )
        known = known.sort("secret", "item").with_row_index("code")
        codes = pairs.join(known, on="item", how="left").select("basket", pl.col("code").cast(pl.Int64)).unique()
        codes = codes.sort("basket", "code")
        number = codes.get_column("basket").to_numpy()
        start = np.append(np.flatnonzero(np.diff(number, prepend=-2)), len(number))
        public = known.height - int(known.get_column("secret").sum())
        return PublishedBaskets(start, codes.get_column("code").to_numpy(), tuple(known.get_column("item")), public)


def published_baskets(published: PublishedSet, private: Collection[str] = ()) -> PublishedBaskets:
    """The baskets of a published set: the table with a column of items beside one that numbers their baskets.

    The numbers must say nothing: they follow each other in the order of the items of the baskets.
    """
    found = [table for table in published.tables.values() if table.columns("item") and table.columns("group")]
    if len(found) != 1:
        what = "baskets are one table with a column of items and one that numbers the baskets"
        raise PolicyError(what, got=f"{len(found)} such tables")
    [table] = found
    own = {re.escape(table.column(role)): role for role in ("group", "item")}
    only(published, {table.name: own})
    number, item = table.numbers(table.column("group")), table.texts.get_column(table.column("item"))
    if number is None:
        raise PolicyError("the numbers of the baskets are no whole numbers")
    if item.null_count():
        raise PolicyError("an item is missing")
    if not tells_nothing(number, item):
        raise PolicyError("the baskets are numbered otherwise than in the order of their items")
    return PublishedBaskets.of(number, item, private)


def tells_nothing(number: pl.Series, item: pl.Series) -> bool:
    """Whether baskets are numbered one after another in the order of their items: each has its items sorted by text,
    and they are compared from the first item on, a basket before those that go on after all of its items. All numbers
    have as many digits, and are as short as that allows.

    >>> tells_nothing(pl.Series([2, 1, 1]), pl.Series(["b", "b", "a"])), tells_nothing(pl.Series([1]), pl.Series(["a"]))
    (True, True)
    >>> tells_nothing(pl.Series([2, 1]), pl.Series(["a", "b"]))
    False
    """
    baskets = PublishedBaskets.of(number, item)
    first = 1
    while baskets.height > 9 * first:
        first *= 10
    if number.n_unique() and (number.min(), number.max()) != (first, first + baskets.height - 1):
        return False
    size = np.diff(baskets.start)
    left = np.arange(1, baskets.height)  # each is compared with the one before
    place = 0
    while len(left):
        here, before = (
            np.where(place < size[at], baskets.item[np.minimum(baskets.start[at] + place, len(baskets.item) - 1)], -1)
            for at in (left, left - 1)
        )
        if (here < before).any():
            return False
        left = left[(here == before) & (here >= 0)]
        place += 1
    return True


def supports(baskets: PublishedBaskets, most: int, rows: int = MOST) -> Iterator[Supports]:
    """Every itemset of one to `most` public items that some basket has.

    They come in parts, each once. Those with the same first item are found together, from all places of the item in the
    baskets: each is followed to all later items of its basket.
    """
    item = baskets.item
    size = np.diff(baskets.start)
    end = np.repeat(baskets.start[1:], size)  # of the basket of each place
    open_items = np.bincount(np.repeat(np.arange(baskets.height), size)[item < baskets.public],
                             minlength=baskets.height)  # fmt: skip
    public_end = np.repeat(baskets.start[:-1] + open_items, size)
    by_item = np.argsort(item, kind="stable")
    by_item = by_item[: int((item < baskets.public).sum())]
    if not len(by_item):
        return
    upto = np.cumsum(_ways(public_end - np.arange(len(item)) - 1, most)[by_item])
    last = np.append(np.flatnonzero(np.diff(item[by_item])), len(by_item) - 1)  # places where an item ends
    low = 0
    while low < len(by_item):
        base = upto[low - 1] if low else 0.0
        left = last[last >= low]
        fits = left[upto[left] - base <= rows]
        high = int(fits[-1] if len(fits) else left[0]) + 1
        yield from _from(by_item[low:high], item, public_end, end, most)
        low = high


def _ways(after: np.ndarray, most: int) -> np.ndarray:
    """How many itemsets begin at a place with so many later items."""
    found, way = np.ones(len(after)), np.ones(len(after))
    for size in range(1, most):
        way = way * np.maximum(after - size + 1, 0) / size
        found += way
    return found


def _from(
    place: np.ndarray, item: np.ndarray, public_end: np.ndarray, end: np.ndarray, most: int
) -> Iterator[Supports]:
    """The itemsets that begin at some places."""
    known, number, often = np.unique(item[place], return_inverse=True, return_counts=True)
    sets = known[:, np.newaxis]
    for size in range(1, most + 1):
        private = np.zeros(len(sets), np.int64)
        if (end > public_end).any():
            at, here = _followed(place, public_end[place], end[place])
            each = pl.DataFrame({"number": number[here], "item": item[at]}).group_by("number", "item").len()
            worst = each.group_by("number").agg(pl.col("len").max())
            private[worst.get_column("number").to_numpy()] = worst.get_column("len").to_numpy()
        yield Supports(np.pad(sets, ((0, 0), (0, most - size)), constant_values=-1), often, private)
        if size == most:
            return
        place, here = _followed(place, place + 1, public_end[place])
        if not len(place):
            return
        found = pl.DataFrame({"number": number[here], "item": item[place]})
        counted = found.group_by("number", "item").len().sort("number", "item").with_row_index("new")
        above, last, often = (counted.get_column(name).to_numpy() for name in ("number", "item", "len"))
        if size + 1 < most or (end > public_end).any():
            joined = found.join(counted, on=["number", "item"], how="left", maintain_order="left")
            number = joined.get_column("new").to_numpy().astype(np.int64)
        sets = np.column_stack([sets[above], last])


def _followed(place: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All places from `low` up to `high`, for each place, and which one each is for."""
    many = high - low
    here: Any = np.repeat(np.arange(len(place)), many)
    step = np.arange(len(here)) - np.repeat(np.cumsum(many) - many, many)
    return low[here] + step, here
