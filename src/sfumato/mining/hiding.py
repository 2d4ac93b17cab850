"""Hiding of association rules: V. S. Verykios, A. K. Elmagarmid, E. Bertino, Y. Saygin and E. Dasseni, Association rule
hiding, IEEE Transactions on Knowledge and Data Engineering 16(4), 2004, algorithm 1.b.

The right side of a rule is taken out of baskets that have the whole rule, the smallest first, until the confidence or
the support of the rule is below its threshold.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.core.wording import as_flag, from_flag
from sfumato.errors import PolicyError
from sfumato.mining.values import Transactions, places


@dataclass(frozen=True)
class NamedRule:
    """A rule that somebody names, written as "bread, butter -> milk".

    >>> NamedRule.parse("bread, butter -> milk").left
    ('bread', 'butter')
    """

    left: tuple[str, ...]
    then: str

    def __str__(self) -> str:
        return f"{as_flag(self.left)} -> {as_flag([self.then])}"

    @staticmethod
    def parse(text: str) -> NamedRule:
        """A rule from its text."""
        left, arrow, right = text.rpartition("->") if isinstance(text, str) else ("", "", "")
        given, then = tuple(sorted({*from_flag(left)})), from_flag(right)
        if not arrow or not given or len(then) != 1 or then[0] in given or "" in (*given, *then):
            what = "this is no rule with one item on the right"
            raise PolicyError(what, allowed='"bread, butter -> milk"')
        return NamedRule(given, then[0])

    def codes(self, texts: Sequence[str]) -> tuple[np.ndarray, int]:
        """The items as codes; a PolicyError where one of them does not occur."""
        known = {text: code for code, text in enumerate(texts)}
        if not {*self.left, self.then} <= known.keys():
            what = "a rule that is to be hidden has an item that does not occur"
            raise PolicyError(what, hint="items match by their printed form")
        return np.array(sorted(known[item] for item in self.left)), known[self.then]


def hide_rule(data: Transactions, rule: NamedRule, support: int, confidence: float) -> Transactions:
    """The baskets without the right side of a rule in as few of them as make it no rule.

    >>> data = Transactions.of(np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 0, 1]), 3, ("a", "b"))
    >>> hide_rule(data, NamedRule(("a",), "b"), 1, 0.9).support.tolist()
    [3, 2]
    """
    left, then = rule.codes(data.texts)
    having = data.having(left)
    whole = places(having & data.bits[then])
    before = int(np.bitwise_count(having).sum())
    below = math.ceil(confidence * before - 1e-9 * before)  # of the baskets with the left side, a rule has so many
    excess = len(whole) - max(support, below) + 1
    if excess <= 0:
        return data
    smallest = whole[np.argsort(data.sizes[whole], kind="stable")[:excess]]
    return data.without(np.array([then]), smallest)


def is_hidden(data: Transactions, rule: NamedRule, support: int, confidence: float) -> bool:
    """Whether a rule is none at some thresholds."""
    left, then = rule.codes(data.texts)
    having = data.having(left)
    whole, before = int(np.bitwise_count(having & data.bits[then]).sum()), int(np.bitwise_count(having).sum())
    return whole < support or whole < confidence * before - 1e-9 * before
