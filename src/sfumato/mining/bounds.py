"""What bounds tell of itemsets that are not published: T. Calders and B. Goethals, Mining all non-derivable frequent
itemsets, PKDD 2002. No pattern has fewer than no baskets, and what is not published has less than the support.

The itemsets looked at are those all parts of which are published. Where their support is bounded so closely that a
pattern with all of their items is certainly of 1 to k-1 people, that follows without being published.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sfumato.core.progress import check_cancelled
from sfumato.mining.exclusive import siblings
from sfumato.mining.values import Itemsets

MOST = 5_000_000  # pairs of itemsets, and numbers that are held at a time


def bounded_patterns(
    itemsets: Itemsets, attribute: np.ndarray, support: int, longest: int | None, k: int
) -> int | None:
    """How many patterns bounds show to be of 1 to k-1 people; None where there are too many itemsets to look at.

    >>> from sfumato.mining.frequent import frequent_itemsets
    >>> from sfumato.mining.values import Transactions
    >>> data = Transactions.of(np.array([0, 1, 2, 2, 3, 4]), np.array([0, 0, 0, 1, 1, 1]), 5, ("a", "b"))
    >>> bounded_patterns(frequent_itemsets(data, 2), data.attribute, 2, None, 2)  # a and b are in one of five together
    1
    """
    found = 0
    for size in range(2, itemsets.sets.shape[1] + 2):
        beyond = longest is not None and size > longest  # may be in any number of baskets
        facets = _border(itemsets, size, attribute)
        if facets is None:
            return None
        step = max(1, MOST >> size)
        for low in range(0, len(facets), step):
            check_cancelled()
            found += _certain(itemsets, facets[low : low + step], None if beyond else support - 1, k)
    return found


def _border(itemsets: Itemsets, size: int, attribute: np.ndarray) -> np.ndarray | None:
    """The itemsets of a size that are not published, and of which every part is: each by the places of its parts."""
    start = int(np.searchsorted(itemsets.size, size - 1))
    rows = slice(start, int(np.searchsorted(itemsets.size, size)))
    if rows.stop - rows.start < 2:
        return np.empty((0, size), np.int64)
    above, last = itemsets.facet[rows, size - 2].astype(np.int64), itemsets.sets[rows, size - 2].astype(np.int64)
    pairs = siblings(above, MOST)
    if pairs is None:
        return None
    one, other = pairs
    span = int(itemsets.sets.max()) + 1
    key, parts = above * span + last, np.empty((len(one), size), np.int64)
    parts[:, -1], parts[:, -2] = one, other
    fits = np.ones(len(one), bool)
    for place in range(size - 2):
        wanted = itemsets.facet[rows][one, place] * span + last[other]
        parts[:, place] = np.minimum(np.searchsorted(key, wanted), len(key) - 1)
        fits &= key[parts[:, place]] == wanted
    larger = slice(rows.stop, int(np.searchsorted(itemsets.size, size + 1)))
    if larger.stop > larger.start:
        own = itemsets.facet[larger, size - 1].astype(np.int64) * span + itemsets.sets[larger, size - 1]
        wanted = (one + start) * span + last[other]
        fits &= own[np.minimum(np.searchsorted(own, wanted), len(own) - 1)] != wanted
    made = np.column_stack([itemsets.sets[rows][one, : size - 1], last[other]])
    kinds = np.sort(np.where(attribute[made] < 0, -1 - np.arange(size), attribute[made]), axis=1)
    return parts[fits & (kinds[:, 1:] != kinds[:, :-1]).all(axis=1)] + start


def _certain(itemsets: Itemsets, facets: np.ndarray, most: int | None, k: int) -> int:
    """The patterns of itemsets without a support that are certainly of 1 to k-1 people."""
    size = facets.shape[1]
    full = (1 << size) - 1
    part = np.zeros((len(facets), 1 << size), np.int64)
    for mask, low in _masks(size):
        part[:, mask] = facets[:, low] if mask | 1 << low == full else itemsets.facet[part[:, mask | 1 << low], low]
    value = itemsets.support[part]
    value[:, full] = 0  # x, which each pattern has once more or once less
    cube = value.reshape(len(facets), *(2,) * size)
    for axis in range(1, size + 1):
        cube[(slice(None),) * axis + (0,)] -= cube[(slice(None),) * axis + (1,)]
    even = np.array([(size - mask.bit_count()) % 2 == 0 for mask in range(full + 1)])
    low = np.maximum((-value[:, even]).max(axis=1), 0)[:, np.newaxis]
    high = value[:, ~even].min(axis=1)[:, np.newaxis]
    high = high if most is None else np.minimum(high, most)
    least, largest = np.where(even, value + low, value - high), np.where(even, value + high, value - low)
    return int(((least >= 1) & (largest < k)).sum())


def _masks(size: int) -> Iterator[tuple[int, int]]:
    """Every part of a set, by the bits of its items, after those that are larger, and the first item it lacks."""
    for mask in reversed(range((1 << size) - 1)):
        yield mask, (~mask & (mask + 1)).bit_length() - 1
