"""mine: publish what is learned of people, and nothing about a few of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from sfumato.core import parameters
from sfumato.core.forms import make_variant
from sfumato.core.masked import typed
from sfumato.core.progress import Progress, cancellable, quiet
from sfumato.criteria import KAnonymity
from sfumato.engines.memory.table import enter
from sfumato.engines.tables import store_of
from sfumato.errors import ColumnError, Infeasible, PolicyError
from sfumato.mining import MINERS, FrequentItemsets, KAnonymousTree, PooledNaiveBayes
from sfumato.mining.frequent import frequent_itemsets
from sfumato.mining.labelled import labelled_rows
from sfumato.mining.mined_release import MinedRelease, release_mined
from sfumato.mining.patterns import PatternSolution, jaccard, support_error
from sfumato.mining.rules import association_rules
from sfumato.mining.values import Miner, MiningProblem, Transactions
from sfumato.relational.basket_release import BasketRelease
from sfumato.verbs import anonymize
from sfumato.verbs.baskets import anonymize_baskets, basket_table

__all__ = ["mine"]

KNOWN = 2  # items that an attacker knows of a basket, where baskets are anonymised first


@cancellable
def mine(
    data: Any,
    *,
    k: int,
    l: int = 1,
    item: str | None = None,
    basket: str | None = None,
    features: Sequence[str] | None = None,
    target: str | None = None,
    miner: Any = None,
    compare: bool = False,
    progress: Progress | None = None,
    **parameters_of_miner: Any,
) -> MinedRelease:
    """Mine people's data and publish what is learned, so that nothing in it, and nothing that follows from it, is about
    fewer than k of them.

    Of baskets, or of a table whose values become items ("sex=F"), frequent itemsets and association rules: no pattern
    of items that are there and items that are not follows from the published supports with 1 to k-1 people. With a
    target the rules of a decision tree that was learned on the original, each about k people and l classes; or the
    counts that naive Bayes predicts by, each of k people.

    Parameters
    ----------
    data: a pandas, Polars or PyArrow frame, a dict of lists, or the path of a file. It is never modified.
    k: how many people a pattern or a leaf is of at least. l: how many values of the target a leaf has at least.
    item, basket: the columns of baskets, as for `anonymize_baskets`; without item, a row of the table is a person, and
        each value an item. features: the columns to learn from, all unless given.
    target: the column to predict; with it a tree is learned.
    miner: "frequent-itemsets" (unless target is given), "k-anonymous-tree" or "pooled-naive-bayes", or a value of
        theirs; their parameters may be given here: support, confidence, longest, block and hide of itemsets, depth and
        counts of a tree, bins of naive Bayes.
    compare: also the other way, to anonymise first and mine then, of itemsets, trees and naive Bayes: both are in
        `compared`.
    progress: as for `anonymize`.

    Returns
    -------
    A `MinedRelease`: `tables` are what leaves, `solution` says what it cost.

    Raises
    ------
    Infeasible: fewer than k people, or nothing that enough of them share.

    >>> import sfumato as sf
    >>> bought = {"item": [["bread", "milk"]] * 4 + [["bread"]]}
    >>> found = sf.mine(bought, item="item", k=2, support=3)
    >>> found.solution.channels, found.tables["itemsets"]["support"].to_list()
    (2, [4, 6, 4, 6])
    """
    k, l = parameters.whole_number(k, "k"), parameters.whole_number(l, "l")
    chosen = _miner(miner, target, parameters_of_miner)
    if store_of(data) is not None:
        raise PolicyError("what is mined is read into memory", hint="read the table, and pass the frame")
    report = progress or quiet
    if item is not None:
        if features is not None or target is not None:
            raise PolicyError("baskets have items, and no columns to learn from", hint="leave item out, or features")
        problem, source = _baskets(data, item, basket, k, l, report)
        policy: dict[str, Any] = {"item": item, "basket": source.columns[0]}
    else:
        if basket is not None:
            raise PolicyError("baskets need a column of items", hint="name it in item")
        problem, source = _rows(data, features, target, getattr(chosen, "target", None), k, l, report)
        policy = {"insensitive": list(source.columns)}
    made = release_mined(chosen, problem, source, policy)
    if not compare:
        return made
    report("anonymising, to mine then", None)
    if isinstance(chosen, KAnonymousTree | PooledNaiveBayes):
        return replace(made, compared=both_models(chosen, problem, source))
    if not isinstance(chosen, FrequentItemsets):
        raise PolicyError("only itemsets, trees and naive Bayes are compared with those of an anonymised table",
                          hint="leave compare out")  # fmt: skip
    return replace(made, compared=both_ways(chosen, problem, made.solution, source, policy))


def both_ways(
    miner: FrequentItemsets, problem: MiningProblem, own: PatternSolution, source: pl.DataFrame,
    policy: Mapping[str, Any],
) -> dict[str, dict[str, float]]:  # fmt: skip
    """How near to the truth mining comes that is anonymised, and mining of what was anonymised first: the share of the
    itemsets and rules that are true and found, of all that are true or found; the mean error of a support."""
    try:
        if problem.baskets is not None:
            first = anonymize_baskets(source, item=policy["item"], basket=policy["basket"], h=1.0, k=problem.k, p=KNOWN)
            assert isinstance(first, BasketRelease)  # without quasi-identifiers
            table = basket_table(first.data, policy["basket"], policy["item"])
            released, categories = table.coded(None)
            texts = tuple(text for text in categories.text if text is not None)
            data = Transactions.of(released.basket(), released.item.astype(np.int64), released.height, texts)
        else:
            blurred = anonymize(source, quasi=source.columns, require=KAnonymity(problem.k), search="mondrian")
            data = MiningProblem(problem.k, table=enter(blurred.data)[0]).transactions()
        found = frequent_itemsets(data, miner.support, miner.longest)
        rules = association_rules(found, miner.confidence)
        texts = data.texts
    except Infeasible:  # nothing can be released, and nothing is mined
        found, rules, texts = own.itemsets.only_empty(), None, ()
    true = problem.transactions().texts
    before, after = own.itemsets.named(true), found.named(texts)
    every = association_rules(own.itemsets, miner.confidence)
    told = set() if rules is None else rules.named(found, texts)
    return {
        "mine and anonymise": {
            "accuracy": own.accuracy, "rule_accuracy": own.rule_accuracy, "support_error": own.support_error,
        },
        "anonymise and mine": {
            "accuracy": jaccard(before, after), "rule_accuracy": jaccard(every.named(own.itemsets, true), told),
            "support_error": support_error(before, after),
        },
    }  # fmt: skip


def both_models(
    miner: KAnonymousTree | PooledNaiveBayes, problem: MiningProblem, source: pl.DataFrame
) -> dict[str, dict[str, float]]:
    """How often either model is right about a third of the people, who were held out: the one learned on the original
    rows of the others, and the one learned on their anonymised rows, asked by the anonymised rows of the third."""
    held = np.sort(np.random.default_rng(0).permutation(source.height)[: max(1, source.height // 3)])
    rows = labelled_rows(problem, miner.target)
    own = miner.held_out_accuracy(rows, problem.k, problem.l, held)
    quasi = [name for name in source.columns if name != miner.target]
    blurred = anonymize(
        source, quasi=quasi, insensitive=[miner.target], require=KAnonymity(problem.k), search="mondrian"
    )
    frame = enter(blurred.data)[0]
    released = labelled_rows(MiningProblem(problem.k, problem.l, table=frame), miner.target)
    there = np.flatnonzero(np.isin(np.asarray(blurred.rows), held))
    other = miner.held_out_accuracy(released, problem.k, problem.l, there)
    return {"mine and anonymise": {"accuracy": own}, "anonymise and mine": {"accuracy": other}}


def _miner(spec: Any, target: str | None, given: Mapping[str, Any]) -> Miner:
    """The miner that was named, with its parameters."""
    own = {name: value for name, value in given.items() if value is not None}
    if spec is not None and not isinstance(spec, str):
        if own or target is not None:
            raise PolicyError("a miner that is made has its parameters", hint="give them to the miner")
        return MINERS.value(spec)
    name = spec or ("frequent-itemsets" if target is None else "k-anonymous-tree")
    if target is not None:
        own["target"] = target
    if spec is None and target is None and "support" not in own:
        raise PolicyError("support is missing", allowed="how many people have an itemset at least", hint="support=20")
    found: Miner = make_variant(MINERS, "miner", name, own)
    return found


def _baskets(
    data: Any, item: str, basket: str | None, k: int, l: int, report: Progress
) -> tuple[MiningProblem, pl.DataFrame]:
    table = basket_table(data, basket, item)
    baskets, categories = table.coded(None)
    texts = tuple(text for text in categories.text if text is not None)
    held = Transactions.of(baskets.basket(), baskets.item.astype(np.int64), baskets.height, texts)
    return MiningProblem(k, l, held, None, report), table.rows


def _rows(
    data: Any, features: Sequence[str] | None, target: str | None, predicted: str | None, k: int, l: int,
    report: Progress,
) -> tuple[MiningProblem, pl.DataFrame]:  # fmt: skip
    frame, _ = enter(data)
    names = list(frame.columns if features is None else parameters.column_set(features, "features"))
    if target is not None:
        names = [name for name in names if name != target] + [parameters.column_name(target, "target")]
    parameters.known_columns(names, frame.columns)
    frame = frame.select(names)
    if any("=" in name or not name for name in names):
        raise ColumnError('the name of a column is empty, or has "=" in it, which parts names from values')
    learned = typed(frame, [predicted]) if predicted is not None else frame  # files have texts alone
    return MiningProblem(k, l, None, learned, report), frame
