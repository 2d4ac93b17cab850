"""Additive blocking of inference channels, after M. Atzori, F. Bonchi, F. Giannotti and D. Pedreschi, Blocking
anonymity threats raised by frequent itemset mining, ICDM 2005; Anonymity preserving pattern discovery, VLDB
Journal 17, 2008.

The support of an itemset with channels, and of all its parts, is raised, as if there were more baskets with these items
alone. Where the paper raises it by k, this raises it until the rarest of its patterns has k baskets, from the largest
itemsets to the empty one: those that are raised later leave the patterns of larger ones as they are. So none is left
after one pass.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.core.compiled import kernel
from sfumato.core.progress import stoppable
from sfumato.mining.exclusive import with_exclusive
from sfumato.mining.frequent import frequent_itemsets
from sfumato.mining.values import Transactions, patterns


@dataclass(frozen=True)
class Additive:
    """Raise the supports of itemsets with channels, and of their parts, as if there were more baskets."""

    cite: ClassVar[str] = "Atzori et al. 2005"

    def __call__(self, data: Transactions, k: int, support: int, longest: int | None = None) -> Transactions:
        """More baskets, whose itemsets of that support are the same, without a channel between them."""
        found = with_exclusive(frequent_itemsets(data, support, longest), data.attribute)
        raised = stoppable(_raise, found.size, found.facet, found.support.copy(), k)
        return data.with_baskets(found.sets[raised > 0], raised[raised > 0])


@kernel
def _raise(size: np.ndarray, facet: np.ndarray, support: np.ndarray, k: int, stop: np.ndarray) -> np.ndarray:
    """How many baskets with its items alone each itemset takes."""
    longest = size.max()
    part, found = np.empty(1 << longest, np.int64), np.empty(1 << longest, np.int64)
    raised = np.zeros(len(size), np.int64)
    for many in range(longest, -1, -1):
        least = np.full(len(size), k, np.int64)
        opened = np.zeros(len(size), np.bool_)
        for place in range(len(size)):
            if stop[0]:
                break
            if size[place] < many:
                continue
            patterns(place, size[place], facet, support, part, found)
            for mask in range(1 << size[place]):
                at = part[mask]
                if size[at] == many:
                    least[at] = min(least[at], found[mask])
                    opened[at] |= 0 < found[mask] < k
        for place in range(len(size)):
            if opened[place]:
                raised[place] = k - least[place]
                patterns(place, size[place], facet, support, part, found)
                for mask in range(1 << size[place]):
                    support[part[mask]] += raised[place]
    return raised
