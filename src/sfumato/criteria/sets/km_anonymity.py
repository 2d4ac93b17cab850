"""k^m-anonymity: M. Terrovitis, N. Mamoulis and P. Kalnis, Privacy-preserving anonymization of set-valued data,
PVLDB 1(1), 2008."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

from sfumato.core.parameters import Whole
from sfumato.core.protocols import Side
from sfumato.core.wording import count
from sfumato.criteria.audit import Finding
from sfumato.criteria.sets.itemsets import published_baskets, supports
from sfumato.criteria.sets.model import SetModel
from sfumato.criteria.sets.published import PublishedSet


@dataclass(frozen=True)
class KMAnonymity(SetModel):
    """Any m items of a basket are together in at least k baskets.

    Parameters: `k`, how many baskets an attacker is left with at least; `m`, how many items of a basket the attacker
    knows at most.

    >>> KMAnonymity(5, 2).sentence()
    'Whoever knows up to 2 items of a basket finds at least 5 baskets that have them, or none.'
    """

    k: Annotated[int, Whole(1)]
    m: Annotated[int, Whole(1)]

    bounded_by: ClassVar[str] = "k"
    side: ClassVar[Side] = "at least"

    def sentence(self) -> str:
        """The promise in words."""
        if self.k == 1:
            return "A basket may be the only one with its items: k = 1 promises nothing."
        known = "one item" if self.m == 1 else f"up to {self.m} items"
        them = "it" if self.m == 1 else "them"
        return f"Whoever knows {known} of a basket finds at least {self.k} baskets that have {them}, or none."

    def audit(self, published: PublishedSet) -> Finding:
        """What the published baskets say: the fewest baskets that have some m items together."""
        baskets = published_baskets(published)
        least, rare = baskets.height, 0
        for found in supports(baskets, self.m):
            least = min(least, int(found.baskets.min()))
            rare += int((found.baskets < self.k).sum())
        note = f"{count(rare, 'set')} of items {'is' if rare == 1 else 'are'} in fewer than {self.k} baskets"
        return Finding(not rare and least >= self.k, least, self.k, 0, note if rare else None)
