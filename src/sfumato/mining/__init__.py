"""Mine and anonymise: what is learned of people leaves, and no pattern in it is of a few of them.

`MINERS` has what can be learned.
"""

from __future__ import annotations

from sfumato.core.registry import Registry, Variant
from sfumato.mining.k_anonymous_tree import KAnonymousTree
from sfumato.mining.patterns import FrequentItemsets
from sfumato.mining.pooled_naive_bayes import PooledNaiveBayes
from sfumato.mining.values import Miner

__all__ = ["MINERS", "FrequentItemsets", "KAnonymousTree", "PooledNaiveBayes"]

_OURS: tuple[Variant[Miner], ...] = (
    Variant(FrequentItemsets, example=FrequentItemsets(20), cite="Atzori et al. 2008", words="Itemsets and rules"),
    Variant(
        KAnonymousTree,
        example=KAnonymousTree("disease"),
        cite="Friedman, Wolff and Schuster 2008",
        words="Decision tree",
    ),
    Variant(
        PooledNaiveBayes, example=PooledNaiveBayes("disease"), cite="Domingos and Pazzani 1997", words="Naive Bayes"
    ),
)
MINERS = Registry("miners", "miner", (Miner,), {v.name: v for v in _OURS})
