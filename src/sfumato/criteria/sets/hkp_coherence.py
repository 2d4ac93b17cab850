"""(h,k,p)-coherence: Y. Xu, K. Wang, A. W.-C. Fu and P. S. Yu, Anonymizing transaction databases for publication,
KDD 2008."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from sfumato.core.parameters import Declared, Share, Whole, is_text
from sfumato.core.protocols import Side
from sfumato.core.wording import count, percent
from sfumato.criteria.audit import SLACK, Finding
from sfumato.criteria.sets.itemsets import published_baskets, supports
from sfumato.criteria.sets.model import SetModel
from sfumato.criteria.sets.published import PublishedSet
from sfumato.errors import PolicyError


@dataclass(frozen=True)
class Items(Declared):
    """Items as they print."""

    type: ClassVar[str] = "list"

    def __call__(self, value: Any, what: str) -> tuple[str, ...]:
        listed = [value] if isinstance(value, str) else list(value) if isinstance(value, list | tuple) else None
        if listed is None or not all(is_text(one) and one for one in listed):
            raise PolicyError(f"{what} must be a list of items", got=type(value).__name__, allowed="texts")
        return tuple(sorted(set(listed)))


@dataclass(frozen=True)
class HKPCoherence(SetModel):
    """Any p public items of a basket are in at least k baskets, and no private item is in more than a share h of these.

    Parameters: `h`, how sure an attacker may become of a private item, as a share; `k`, how many baskets an attacker is
    left with at least; `p`, how many public items of a basket the attacker knows at most; `private`, the items that
    nobody shall learn, all others being public.

    >>> HKPCoherence(0.8, 5, 1).sentence()[:61]
    'Whoever knows one public item of a basket finds at least 5 ba'
    """

    h: Annotated[float, Share()]
    k: Annotated[int, Whole(1)]
    p: Annotated[int, Whole(1)]
    private: Annotated[tuple[str, ...], Items()] = ()

    bounded_by: ClassVar[str] = "k"
    side: ClassVar[Side] = "at least"

    def sentence(self) -> str:
        """The promise in words."""
        known, them = ("one public item", "it") if self.p == 1 else (f"up to {self.p} public items", "them")
        least = f"at least {count(self.k, 'basket')} that {'has' if self.k == 1 else 'have'} {them}, or none"
        most = f"and no private item in more than {percent(self.h)} of these"
        return f"Whoever knows {known} of a basket finds {least}, {most}."

    def audit(self, published: PublishedSet) -> Finding:
        """What the published baskets say: the fewest baskets that have some p public items together, and the largest
        share of such baskets that have the same private item."""
        baskets = published_baskets(published, self.private)
        least, rare, telling, most = baskets.height, 0, 0, 0.0
        for found in supports(baskets, self.p):
            share = found.private / found.baskets
            least = min(least, int(found.baskets.min()))
            most = max(most, float(share.max()))
            rare += int((found.baskets < self.k).sum())
            telling += int((share > self.h + SLACK).sum())
        notes = [f"at most {percent(most)} of the baskets with the same public items have the same private item"]
        if rare:
            notes.append(f"{count(rare, 'set')} of public items {'is' if rare == 1 else 'are'} in too few baskets")
        if telling:
            notes.append(f"{count(telling, 'set')} of public items {'tells' if telling == 1 else 'tell'} too much")
        return Finding(not rare and not telling and least >= self.k, least, self.k, 0, "; ".join(notes))
