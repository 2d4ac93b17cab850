"""Association rules: R. Agrawal, T. Imielinski and A. Swami, Mining association rules between sets of items in large
databases, SIGMOD 1993; lift: S. Brin, R. Motwani, J. D. Ullman and S. Tsur, SIGMOD 1997."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.mining.values import Itemsets


@dataclass(frozen=True, eq=False)
class AssociationRules:
    """Rules with one item on the right: the itemset of all items, that of the left, and the item; their confidence."""

    whole: np.ndarray
    left: np.ndarray
    then: np.ndarray
    confidence: np.ndarray
    lift: np.ndarray

    def named(self, itemsets: Itemsets, texts: Sequence[str]) -> set[tuple[frozenset[str], str]]:
        """The left and right side of each by the texts of its items."""
        pairs = zip(self.left.tolist(), self.then.tolist(), strict=True)
        return {(frozenset(texts[code] for code in itemsets.items(left).tolist()), texts[then]) for left, then in pairs}

    def __len__(self) -> int:
        return len(self.whole)


def association_rules(itemsets: Itemsets, confidence: float) -> AssociationRules:
    """The rules between itemsets that are right of at least such a share of the baskets that have their left side."""
    whole, place = np.nonzero((itemsets.sets >= 0) & (itemsets.size >= 2)[:, np.newaxis])
    left, then = itemsets.facet[whole, place].astype(np.int64), itemsets.sets[whole, place]
    often, having = itemsets.support[whole], itemsets.support[left]
    good = often >= confidence * having - 1e-9 * having
    whole, left, then, often, having = whole[good], left[good], then[good], often[good], having[good]
    alone = np.zeros(int(itemsets.sets.max(initial=0)) + 1, np.int64)
    single = itemsets.size == 1
    alone[itemsets.sets[single, 0] if single.any() else []] = itemsets.support[single]
    share = often / np.maximum(having, 1)
    lift = share * itemsets.support[0] / np.maximum(alone[then], 1)
    return AssociationRules(whole, left, then, share, lift)
