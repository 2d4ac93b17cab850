"""Mine and anonymise: frequent itemsets and rules whose supports allow no pattern of a few people.

What leaves is what mining gives of baskets that were changed a little: of more baskets, or of baskets with fewer items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np
import polars as pl

from sfumato.core.compiled import warn_of_compiling
from sfumato.core.parameters import Declared, OneOf, Share, Whole, check_fields, settle
from sfumato.core.progress import check_cancelled
from sfumato.core.registry import field_values
from sfumato.core.wording import count, percent
from sfumato.criteria.sets import KAnonymousPatterns
from sfumato.errors import Infeasible, PolicyError
from sfumato.mining.additive import Additive
from sfumato.mining.bounds import bounded_patterns
from sfumato.mining.exclusive import with_exclusive
from sfumato.mining.frequent import frequent_itemsets
from sfumato.mining.hiding import NamedRule, hide_rule, is_hidden
from sfumato.mining.rules import AssociationRules, association_rules
from sfumato.mining.suppressive import Suppressive
from sfumato.mining.values import Itemsets, MinedTables, MiningProblem, Transactions, inference_channels

BLOCKINGS: dict[str, Additive | Suppressive] = {"additive": Additive(), "suppressive": Suppressive()}
ROUNDS = 50  # of hiding and blocking, each of which may undo a little of the other
SHARES = 4  # digits of a confidence and of a lift


@dataclass(frozen=True)
class RuleTexts(Declared):
    """AssociationRules, as texts or as they are."""

    type: ClassVar[str] = "list"

    def __call__(self, value: Any, what: str) -> tuple[NamedRule, ...]:
        listed = [value] if isinstance(value, str | NamedRule) else value
        if not isinstance(listed, list | tuple):
            raise PolicyError(f"{what} must be a list of rules", got=type(value).__name__, allowed='"bread -> milk"')
        return tuple(one if isinstance(one, NamedRule) else NamedRule.parse(one) for one in listed)


@dataclass(frozen=True)
class FrequentItemsets:
    """Itemsets that many people have, and association rules, from which no pattern of fewer than k people follows.

    support: how many people have an itemset at least, no fewer than k. confidence: the share of the people with the
        left side of a rule that have the right one too, at least. longest: the items of an itemset at most.
    block: how inference channels end, by raised supports ("additive", of baskets unless given) or by lowered ones
        ("suppressive", of tables always). hide: rules that are not to leave, as "bread, butter -> milk".
    """

    support: Annotated[int, Whole(1)]
    confidence: Annotated[float, Share()] = 0.5
    longest: Annotated[int | None, Whole(1, 20)] = None
    block: Annotated[str | None, OneOf(("additive", "suppressive"))] = None
    hide: Annotated[Sequence[Any], RuleTexts()] = ()

    of: ClassVar[str] = "patterns"

    def __post_init__(self) -> None:
        check_fields(self, "frequent-itemsets")
        settle(self, hide=tuple(self.hide))

    def __call__(self, problem: MiningProblem) -> MinedTables:
        """The published itemsets and rules."""
        data, k = problem.transactions(), problem.k
        if problem.l > 1:
            raise PolicyError("l is about the leaves of a tree, and this mines itemsets", hint="leave l out")
        if self.support < k:
            what = "support is below k: an itemset itself would be a pattern of too few people"
            raise PolicyError(what, got=self.support, allowed=f"a whole number >= {k}")
        columns = bool((data.attribute >= 0).any())
        block = self.block or ("suppressive" if columns else "additive")
        if columns and block == "additive":
            what = "additive blocking makes up people without a value in some columns, who show in a table"
            raise PolicyError(what, got="block=additive", allowed="suppressive")
        if data.height < k:
            raise Infeasible(f"k = {k} needs as many people", got=count(data.height, "person", "people"),
                             hint="take a smaller k")  # fmt: skip
        warn_of_compiling(problem.report_progress)
        problem.report_progress("mining itemsets", None)
        for rule in self.hide:
            rule.codes(data.texts)  # its items occur
        data = data.only(np.flatnonzero(data.support >= self.support))  # others are in no itemset
        before = frequent_itemsets(data, self.support, self.longest)
        if len(before) == 1:
            raise Infeasible(f"no item is in {self.support} baskets", hint="ask for a smaller support")
        problem.report_progress("blocking inference channels", None)
        safe = self._safe(data, k, BLOCKINGS[block])
        after = frequent_itemsets(safe, self.support, self.longest)
        if len(after) == 1:
            raise Infeasible("no itemset is left once channels are blocked", hint="take a smaller k")
        rules = association_rules(after, self.confidence)
        frames = {"itemsets": itemset_frame(after, data.texts)}
        if len(rules):
            frames["rules"] = rule_frame(after, rules, data.texts)
        true = association_rules(before, self.confidence)
        bounded = bounded_patterns(after, data.attribute, self.support, self.longest, k)
        solution = solution_of(data, before, safe, after, rules, true, k, bounded)
        method = {
            "mined": "frequent itemsets", "blocking": block, "support": self.support,
            "confidence": self.confidence, "itemsets": len(after) - 1, "rules": len(rules),
        }  # fmt: skip
        roles = {name: {c: _role(c) for c in frame.columns} for name, frame in frames.items()}
        return MinedTables(frames, roles, KAnonymousPatterns(k, columns, self.support, self.longest), method, solution)

    def _safe(self, data: Transactions, k: int, block: Additive | Suppressive) -> Transactions:
        """The baskets of which what is published is the mining: without channels, and without the rules to hide."""
        rules = [rule for rule in self.hide if {*rule.left, rule.then} <= {*data.texts}]  # others are none
        for _ in range(ROUNDS):
            check_cancelled()
            for rule in rules:
                data = hide_rule(data, rule, self.support, self.confidence)
            data = block(data, k, self.support, self.longest)
            if all(is_hidden(data, rule, self.support, self.confidence) for rule in rules):
                return data
        what = "blocking channels brings a hidden rule back, again and again"
        raise Infeasible(what, hint='take block="suppressive", or another support')


def _role(column: str) -> str:
    return {"support": "count", "confidence": "insensitive", "lift": "insensitive"}.get(column, "item")


@dataclass(frozen=True, eq=False)
class PatternSolution:
    """What mining and blocking did, for the owner alone: it compares with the original.

    `channels` were open and are blocked; `added` people were made up (additive) and `taken` items taken out
    (suppressive, and to hide rules). `accuracy` is the share of the frequent itemsets and rules that are published, of
    all that are true or published; `support_error` the mean error of a support, as a share of the true one. `bounded`
    patterns have an itemset that is not published, and still are certainly of few people; None where none was sought.
    """

    channels: int
    added: int
    taken: int
    accuracy: float
    rule_accuracy: float
    support_error: float
    bounded: int | None
    itemsets: Itemsets  # the true ones
    published: Itemsets

    def plain(self) -> dict[str, Any]:
        """Its figures."""
        return {name: value for name, value in field_values(self).items() if not isinstance(value, Itemsets)}

    def lines(self) -> list[str]:
        """Its figures in words."""
        changed = [count(self.added, "basket") + " added"] if self.added else []
        changed += [count(self.taken, "item") + " taken out"] if self.taken else []
        right = f"{percent(self.accuracy)} of the itemsets and {percent(self.rule_accuracy)} of the rules are right"
        left = [f"{count(self.bounded, 'pattern')} of few people can be bounded: take a larger support, or k"]
        return [
            f"{count(self.channels, 'inference channel')} blocked: {', '.join(changed) or 'nothing changed'}",
            f"{right}, supports are off by {percent(self.support_error)}",
            *(left if self.bounded else []),
        ]


def solution_of(
    data: Transactions,
    before: Itemsets,
    safe: Transactions,
    after: Itemsets,
    rules: AssociationRules,
    true: AssociationRules,
    k: int,
    bounded: int | None,
) -> PatternSolution:
    """What changed from the baskets to those whose mining is published."""
    channels = len(inference_channels(with_exclusive(before, data.attribute), k))
    old, new, texts = before.named(data.texts), after.named(data.texts), data.texts
    added = safe.height - data.height
    items = int(data.support.sum()), int(safe.table()[: data.height].sum())
    return PatternSolution(
        channels, added, items[0] - items[1], jaccard(old, new),
        jaccard(true.named(before, texts), rules.named(after, texts)), support_error(old, new), bounded, before,
        after,
    )  # fmt: skip


def jaccard(true: Any, found: Any) -> float:
    """The share of all that is true or found that is both."""
    true, found = set(true), set(found)
    return len(true & found) / len(true | found) if true | found else 1.0


def support_error(true: dict[Any, int], found: dict[Any, int]) -> float:
    """The mean error of the supports of the true itemsets, as a share of each: 1 where an itemset is not there."""
    if not true:
        return 0.0
    return float(np.mean([abs(found.get(one, 0) - often) / often for one, often in true.items()]))


def _item_columns(sets: np.ndarray, texts: Sequence[str], name: str) -> dict[str, pl.Series]:
    """A column for each place in an itemset; missing where it has fewer items."""
    labels = pl.Series([*texts, None], dtype=pl.String)
    return {f"{name} {i + 1}": labels.gather(np.where(codes < 0, len(texts), codes)) for i, codes in enumerate(sets.T)}


def itemset_frame(itemsets: Itemsets, texts: Sequence[str]) -> pl.DataFrame:
    """A row for each itemset, the empty one too, whose support is the number of all baskets."""
    return pl.DataFrame({**_item_columns(itemsets.sets, texts, "item"), "support": itemsets.support})


def rule_frame(itemsets: Itemsets, rules: AssociationRules, texts: Sequence[str]) -> pl.DataFrame:
    """A row for each rule."""
    left = itemsets.sets[rules.left][:, : itemsets.sets.shape[1] - 1]
    return pl.DataFrame({
        **_item_columns(left, texts, "if"),
        "then": pl.Series([*texts], dtype=pl.String).gather(rules.then),
        "support": itemsets.support[rules.whole],
        "confidence": rules.confidence.round(SHARES),
        "lift": rules.lift.round(SHARES),
    })  # fmt: skip
