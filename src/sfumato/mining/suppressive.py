"""Suppressive blocking of inference channels: supports are lowered, as the way that M. Atzori, F. Bonchi, F. Giannotti
and D. Pedreschi set beside the additive one in Blocking anonymity threats raised by frequent itemset mining, ICDM 2005.

A channel from I to J ends either where J and what lies between are lowered until k baskets have I without the rest of
J, or where I is lowered until none has. Items are taken out of single baskets for that, the cheaper way of the two,
from the smallest baskets, for all channels that are still open, those of small itemsets first; then channels are looked
for again. Each round takes items away, so rounds end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from sfumato.core.progress import check_cancelled
from sfumato.mining.exclusive import with_exclusive
from sfumato.mining.frequent import frequent_itemsets
from sfumato.mining.values import Transactions, inference_channels, places


@dataclass(frozen=True)
class Suppressive:
    """Lower the supports of itemsets with channels: take single items out of baskets."""

    cite: ClassVar[str] = "Atzori et al. 2005"

    def __call__(self, data: Transactions, k: int, support: int, longest: int | None = None) -> Transactions:
        """The baskets with fewer items, whose itemsets of that support have no channel between them."""
        while True:
            found = with_exclusive(frequent_itemsets(data, support, longest), data.attribute)
            channels = inference_channels(found, k)
            if not len(channels):
                return data
            size = found.size[channels.whole]
            data = data.copy()
            for place in np.argsort(size, kind="stable"):  # those of larger ones may end with smaller ones
                check_cancelled()
                whole, present = (found.items(int(one[place])) for one in (channels.whole, channels.present))
                block(data, present, np.setdiff1d(whole, present), k)


def block(data: Transactions, present: np.ndarray, absent: np.ndarray, k: int) -> None:
    """Take items out of baskets, such that none or k have all of some items and none of others.

    >>> data = Transactions.of(np.array([0, 0, 1, 1, 2]), np.array([0, 1, 0, 1, 0]), 3, ("a", "b"))
    >>> block(data, np.array([0]), np.array([1]), 2)
    >>> data.support.tolist()
    [2, 2]
    """
    having = data.having(present)
    matching = data.matching(present, absent)
    people = int(np.bitwise_count(matching).sum())
    if not 0 < people < k:
        return
    pattern, others = places(matching), places(having & ~matching)
    size, wanted = data.sizes, k - people
    order = size[others] * len(size) + others  # the smallest first, and of these the first
    if wanted < len(others):
        others = others[np.argpartition(order, wanted)[:wanted]]
    chosen = others[np.argsort(size[others] * len(size) + others)]
    loses = data.rows(chosen)[:, absent].sum(axis=1)
    cost, instead = (2.0 ** size[chosen] * (1 - 0.5**loses)).sum(), (2.0 ** size[pattern]).sum() / 2
    if len(present) and (len(chosen) < wanted or instead < cost):
        often = np.bitwise_count(data.bits[present]).sum(axis=1)
        data.take_out(present[[int(np.argmax(often))]], pattern)  # the one that many have remains frequent
        return
    data.take_out(absent, chosen)
