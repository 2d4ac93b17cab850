"""k-anonymous patterns: M. Atzori, F. Bonchi, F. Giannotti and D. Pedreschi, Anonymity preserving pattern discovery,
VLDB Journal 17, 2008."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar

from sfumato.core.parameters import Whole, YesNo
from sfumato.core.protocols import Side
from sfumato.core.wording import count
from sfumato.criteria.audit import Finding
from sfumato.criteria.sets.model import SetModel
from sfumato.criteria.sets.published import PublishedSet, only
from sfumato.criteria.sets.supports import (
    ITEMSETS,
    RULES,
    Itemset,
    bounded_patterns,
    patterns,
    published_supports,
    with_impossible,
)
from sfumato.errors import PolicyError

DIGITS = 4  # of a confidence or lift
NEAR = 10**-DIGITS
SHAPES = {
    ITEMSETS: {r"item \d+": "item", "support": "count"},
    RULES: {r"if \d+|then": "item", "support": "count", "confidence|lift": "insensitive"},
}


@dataclass(frozen=True)
class KAnonymousPatterns(SetModel):
    """No pattern of published itemsets is one of 1 to k-1 people.

    A pattern is some items that are there and others that are not: "bread and no milk". Its people follow from
    supports by inclusion and exclusion, where all itemsets of these items are published. Of an itemset that is not
    published its parts, and the support that it lacks, leave bounds, which may be close: how many patterns are
    certainly of few people nevertheless is measured where `support` is given, and noted.

    Parameters: `k`, how many people a pattern has at least, where it has any; `columns`, whether items are values of
    columns, as "sex=F", of which everybody has one each at most; `support` and `longest`, which itemsets are published:
    those that so many people have at least, of so many items at most.

    >>> KAnonymousPatterns(5).sentence()[:53]
    'Of items of which all combinations are published, eve'
    """

    k: Annotated[int, Whole(1)]
    columns: Annotated[bool, YesNo()] = False
    support: Annotated[int | None, Whole(1)] = None
    longest: Annotated[int | None, Whole(1)] = None

    bounded_by: ClassVar[str] = "k"
    side: ClassVar[Side] = "at least"

    def sentence(self) -> str:
        """The promise in words."""
        what = "Of items of which all combinations are published, every pattern of some that are there and others not"
        return f"{what} is of {count(self.k, 'person', 'people')} or of none."

    def audit(self, published: PublishedSet) -> Finding:
        """What the published supports say: the fewest people of a pattern that has any."""
        only(published, SHAPES)
        supports = published_supports(published)
        _check_rules(published, supports)
        least, rare, impossible = supports.get((), 0), 0, 0
        for found in patterns(with_impossible(supports) if self.columns else supports):
            some = found[found > 0]
            least = min(least, int(some.min(initial=least)))
            rare += int((some < self.k).sum())
            impossible += int((found < 0).sum())
        if impossible:
            raise PolicyError("no baskets have the published supports: a pattern would have fewer than none")
        few = f"{count(rare, 'pattern')} {'is' if rare == 1 else 'are'} of fewer than {self.k} people"
        notes = [*([few] if rare else []), *self._bounded(supports)]
        return Finding(not rare and least >= self.k, least, self.k, 0, "; ".join(notes) or None)

    def _bounded(self, supports: Mapping[Itemset, int]) -> list[str]:
        """A note of patterns beyond the published itemsets, which the promise is not about."""
        if self.support is None:
            return []
        few = [items for items, often in supports.items() if items and often < self.support]
        if few or any(len(items) > (self.longest or len(items)) for items in supports):
            raise PolicyError("an itemset is published that is rarer, or longer, than those that are said to be")
        found = bounded_patterns(supports, self.support, self.longest, self.k, self.columns)
        if found is None:
            return ["the itemsets are too many to look at the bounds of others"]
        beyond = f"{count(found, 'pattern')} beyond the published itemsets"
        return [f"{beyond} can be bounded to fewer than {self.k} people"] if found else []


def _check_rules(published: PublishedSet, supports: Mapping[Itemset, int]) -> None:
    """Refuse rules whose figures are not those of the published supports: they would tell about others."""
    if RULES not in published.tables:
        return
    table = published.tables[RULES]
    told = table.texts.select("support", "confidence", "lift").iter_rows()
    for items, (often, *shares) in zip(table.texts.select(table.columns("item")).iter_rows(), told, strict=True):
        *before, then = items
        whole = tuple(sorted(item for item in items if item is not None))
        first = tuple(sorted(item for item in before if item is not None))
        if then is None or whole not in supports or first not in supports:
            raise PolicyError("a rule is of itemsets that are not published")
        own, having, alone, every = supports[whole], supports[first], supports[then,], supports[()]
        try:
            confidence, lift = map(float, shares)
            right = abs(confidence - own / having) < NEAR and abs(lift - own * every / having / alone) < NEAR * 10
        except (TypeError, ValueError, ZeroDivisionError):
            right = False
        if often != str(own) or not right:
            raise PolicyError("the figures of a rule are not those of the published supports")
