"""Patterns over published itemsets: how many baskets have some items and none of others, by inclusion and exclusion."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from sfumato.criteria.sets.published import PublishedSet
from sfumato.errors import PolicyError

ITEMSETS, RULES = "itemsets", "rules"  # what the tables are called
MOST = 2_000_000  # patterns that are held at a time, and itemsets that there may be
WIDEST = 20

Itemset = tuple[str, ...]


def published_supports(published: PublishedSet) -> dict[Itemset, int]:
    """The support of each published itemset, its items in order; the empty one has that of all baskets."""
    table = published.table(ITEMSETS)
    often = table.numbers(table.column("count"))
    if not table.columns("item"):
        raise PolicyError(f'the table "{ITEMSETS}" has no column of items')
    if often is None:
        raise PolicyError(f'a support of the table "{ITEMSETS}" is no whole number')
    found: dict[Itemset, int] = {}
    for row, support in zip(table.texts.select(table.columns("item")).iter_rows(), often.to_list(), strict=True):
        items = tuple(sorted(item for item in row if item is not None))
        if len({*items}) < len(items) or items in found:
            raise PolicyError("an itemset is published twice, or an item is twice in one")
        found[items] = support
    return found


def with_impossible(supports: Mapping[Itemset, int]) -> dict[Itemset, int]:
    """The same with the itemsets that are in no basket, as they have two values of one column: "sex=F" and "sex=M".

    Of the others of their items each part is published.
    """
    found = dict(supports)
    level: list[Itemset] = [items for items in supports if len(items) == 1]
    while level:
        known, after = {*level}, dict[Itemset, list[str]]()
        for items in sorted(level):
            after.setdefault(items[:-1], []).append(items[-1])
        level = []
        for first, ends in after.items():
            for place, one in enumerate(ends):
                for other in ends[place + 1 :]:
                    both: Itemset = (*first, one, other)
                    if any(both[:i] + both[i + 1 :] not in known for i in range(len(first))):
                        continue
                    if len({item.partition("=")[0] for item in both}) < len(both):
                        found[both] = 0
                    if both in found:
                        level.append(both)
        if len(found) > MOST or (level and len(level[0]) > WIDEST):
            raise PolicyError("the itemsets make too many patterns to look at")
    return found


def patterns(supports: Mapping[Itemset, int]) -> Iterator[np.ndarray]:
    """The baskets of every pattern: for each itemset and each part of it, how many have this and nothing else of it.

    A PolicyError where a part of an itemset is not published: its patterns would be open.
    """
    order = sorted(supports, key=len)
    if not order or order[0] != () or len(order[-1]) > WIDEST:
        raise PolicyError("the number of all baskets is not published, or an itemset is too large to look at")
    place = {items: i for i, items in enumerate(order)}
    value = np.array([supports[items] for items in order], np.int64)
    without = np.zeros((len(order), len(order[-1])), np.int64)
    for i, items in enumerate(order):
        for j in range(len(items)):
            at = place.get(items[:j] + items[j + 1 :])
            if at is None:
                raise PolicyError("an itemset is published, and a part of it is not")
            without[i, j] = at
    sizes = np.array(list(map(len, order)))
    for size in range(len(order[-1]) + 1):
        rows = np.flatnonzero(sizes == size)
        step = max(1, MOST >> size)
        for low in range(0, len(rows), step):
            own = rows[low : low + step]
            part = np.empty((len(own), 1 << size), np.int64)
            part[:, -1] = own
            for mask in reversed(range((1 << size) - 1)):
                lacking = (~mask & (mask + 1)).bit_length() - 1  # its first item that is not there
                part[:, mask] = without[part[:, mask | 1 << lacking], lacking]
            found = value[part].reshape(len(own), *(2,) * size)
            for axis in range(1, size + 1):
                absent = (slice(None),) * axis + (0,)
                found[absent] -= found[(slice(None),) * axis + (1,)]
            yield found.reshape(len(own), -1)


def bounded_patterns(
    supports: Mapping[Itemset, int], least: int, longest: int | None, k: int, columns: bool
) -> int | None:
    """How many patterns with an itemset that is not published are certainly of 1 to k-1 people; None where there are
    too many itemsets to look at.

    Nothing has fewer than no baskets, and an itemset of up to `longest` items that is not published is in fewer than
    `least`. Each is looked at by itself, where all of its parts are published.

    >>> found = {(): 5, ("a",): 3, ("b",): 3}
    >>> bounded_patterns(found, 2, None, 2, False)  # a and b are in one of five together
    1
    """
    found, looked = 0, 0
    level: dict[Itemset, list[str]] = {}
    for size in range(2, max(map(len, supports)) + 2):
        level = {}
        for items in sorted(items for items in supports if len(items) == size - 1):
            level.setdefault(items[:-1], []).append(items[-1])
        rows: list[list[int]] = []
        for first, ends in level.items():
            looked += len(ends) ** 2
            if looked > MOST:
                return None
            for place, one in enumerate(ends):
                for other in ends[place + 1 :]:
                    both = (*first, one, other)
                    if both in supports or any(both[:i] + both[i + 1 :] not in supports for i in range(size - 2)):
                        continue
                    if columns and len({item.partition("=")[0] for item in both}) < size:
                        continue
                    looked += 1 << size
                    if looked > MOST:
                        return None
                    masks = range((1 << size) - 1)
                    own = [supports[tuple(both[i] for i in range(size) if mask >> i & 1)] for mask in masks]
                    rows.append([*own, 0])
        if rows:
            most = least - 1 if longest is None or size <= longest else None
            found += _certain(np.array(rows, np.int64), size, most, k)
    return found


def _certain(value: np.ndarray, size: int, most: int | None, k: int) -> int:
    """The patterns that are certainly of 1 to k-1 baskets, of itemsets whose own support is put as 0: each pattern has
    it once more, or once less."""
    cube = value.reshape(-1, *(2,) * size)
    for axis in range(1, size + 1):
        cube[(slice(None),) * axis + (0,)] -= cube[(slice(None),) * axis + (1,)]
    base = cube.reshape(len(value), -1)
    more = np.array([(size - mask.bit_count()) % 2 == 0 for mask in range(1 << size)])
    low = np.maximum(-base[:, more], 0).max(axis=1, keepdims=True)
    high = base[:, ~more].min(axis=1, keepdims=True)
    if most is not None:
        high = np.minimum(high, most)
    least, largest = np.where(more, base + low, base - high), np.where(more, base + high, base - low)
    return int(((least >= 1) & (largest < k)).sum())
