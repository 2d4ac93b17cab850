"""Searches of baskets: the worked example, every cut by brute force, and what an attacker finds in all small worlds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product

import numpy as np
import polars as pl
import pytest

from sfumato.core.hierarchy import Hierarchy, grow
from sfumato.criteria.sets import HKPCoherence, KMAnonymity
from sfumato.criteria.sets.itemsets import tells_nothing
from sfumato.errors import Infeasible, TooManyCells
from sfumato.relational import Apriori, MoleSuppression, OptimalCut
from sfumato.relational.mole_suppression import minimal_moles
from sfumato.relational.optimal_cut import number_of_cuts
from sfumato.relational.order import numbered
from sfumato.relational.values import BasketProblem, Baskets, ItemTree
from tests.fuzz import FUZZ
from tests.relational.conftest import (
    LETTERS,
    WORKED,
    problem,
    published,
    random_baskets,
    random_hierarchy,
    supports,
)

PAIRS = grow("item", list("abcd"), [(np.array([0, 0, 1, 1]), ["AB", "C"])])


def labels(found: BasketProblem, node_of_item: np.ndarray) -> dict[str, str]:
    """What stands for each item that stays."""
    return {item: found.tree.labels[v] for item, v in zip(found.items, node_of_item.tolist(), strict=True) if v >= 0}


def released(baskets: Sequence[frozenset[str]], stands: dict[str, str]) -> list[frozenset[str]]:
    """The baskets as they are released, in plain Python."""
    found = [frozenset(stands[item] for item in basket if item in stands) for basket in baskets]
    return [basket for basket in found if basket]


def cuts(tree: ItemTree, node: int = 0) -> Iterator[tuple[int, ...]]:
    """Every cut through a tree."""
    yield (node,)
    below = [child for child in range(tree.size) if tree.parent[child] == node]
    if below:
        for several in product(*(tuple(cuts(tree, child)) for child in below)):
            yield tuple(v for part in several for v in part)


def lost(found: BasketProblem, baskets: Sequence[frozenset[str]], nodes: Sequence[int], leaves: int) -> float:
    """The NCP of a cut, by its definition."""
    of = {found.items[i]: v for v in nodes for i in found.tree.below(v).tolist()}
    each = [0 if found.tree.leaves[of[item]] == 1 else found.tree.leaves[of[item]] / leaves
            for basket in baskets for item in basket]  # fmt: skip
    return float(np.mean(each))


def stands_of(found: BasketProblem, nodes: Sequence[int]) -> dict[str, str]:
    return {found.items[i]: found.tree.labels[v] for v in nodes for i in found.tree.below(v).tolist()}


@pytest.mark.parametrize("search", [Apriori(), OptimalCut()])
def test_worked_example(search: Apriori | OptimalCut) -> None:
    """k = 2: single items are safe; b and d are together in one basket only, and c and d become C."""
    alone = problem(WORKED, PAIRS, KMAnonymity(2, 1))
    assert labels(alone, search(alone).node_of_item) == {"a": "a", "b": "b", "c": "c", "d": "d"}
    found = problem(WORKED, PAIRS, KMAnonymity(2, 2))
    solution = search(found)
    assert labels(found, solution.node_of_item) == {"a": "a", "b": "b", "c": "C", "d": "C"}
    assert solution.loss == pytest.approx(5 / 14 * 2 / 4)  # five of 14 items become one of two of four
    counts = supports(released(WORKED, labels(found, solution.node_of_item)), 2)
    assert counts == {("a",): 5, ("b",): 4, ("C",): 5, ("a", "b"): 3, ("C", "a"): 4, ("C", "b"): 3}


def test_brute_force_over_all_cuts() -> None:
    """Apriori is always safe; the optimal search loses as little as the best of all safe cuts."""
    rng = np.random.default_rng(1)
    for _ in range(60 * FUZZ):
        items = int(rng.integers(2, 7))
        baskets, hierarchy = random_baskets(rng, items, 9), random_hierarchy(rng, items)
        k, m = int(rng.integers(1, min(5, len(baskets)) + 1)), int(rng.integers(1, 5))
        found = problem(baskets, hierarchy, KMAnonymity(k, m))
        every = list(cuts(found.tree))
        assert number_of_cuts(found.tree) == len(every)
        safe = [nodes for nodes in every if min(supports(released(baskets, stands_of(found, nodes)), m).values()) >= k]
        least = min(lost(found, baskets, nodes, items) for nodes in safe)
        apriori, optimal = Apriori()(found), OptimalCut()(found)
        for solution in (apriori, optimal):
            nodes = tuple(sorted({*solution.node_of_item.tolist()}))
            assert nodes in {tuple(sorted(one)) for one in safe}
            assert solution.loss == pytest.approx(lost(found, baskets, nodes, items))
        assert optimal.loss == pytest.approx(least)


def test_apriori_may_lose_more_than_need_be() -> None:
    """It mends each set by itself: here it ends with a group that the best cut does without."""
    groups = np.array([0, 0, 0, 1, 1, 2, 2])
    hierarchy = grow("item", list("abcdefg"), [(groups, list("xyz")), (groups // 2, ["xy", "z*"])])
    found = problem(tuple(map(frozenset, ("befg", "dfg", "ce"))), hierarchy, KMAnonymity(2, 2))
    assert Apriori()(found).loss == pytest.approx(0.5238095)
    assert OptimalCut()(found).loss == pytest.approx(0.3968254)


def candidates(known: Sequence[str], baskets: Sequence[frozenset[str]], stands: dict[str, str]) -> int:
    """How many released baskets somebody who knows original items finds that fit all of them."""
    return sum(all(stands.get(item) in basket for item in known) for basket in baskets)


def test_all_worlds() -> None:
    """Whatever up to m original items are known, none or at least k of the released baskets fit."""
    rng = np.random.default_rng(2)
    for _ in range(60 * FUZZ):
        items = int(rng.integers(2, 7))
        baskets, hierarchy = random_baskets(rng, items, 8), random_hierarchy(rng, items)
        k, m = int(rng.integers(2, 5)), int(rng.integers(1, 4))
        found = problem(baskets, hierarchy, KMAnonymity(k, m))
        if len(baskets) < k:
            for search in (Apriori(), OptimalCut()):
                with pytest.raises(Infeasible):
                    search(found)
            continue
        stands = labels(found, Apriori()(found).node_of_item)
        made = released(baskets, stands)
        for size in range(1, m + 1):
            for known in combinations(LETTERS[:items], size):
                fitting = candidates(known, made, stands)
                assert fitting == 0 or fitting >= k
                assert fitting or not any({*known} <= basket for basket in baskets)  # whose basket it is is there


def is_mole(items: Sequence[str], baskets: Sequence[frozenset[str]], promise: HKPCoherence) -> bool:
    """Whether too few baskets have some public items, or too many of these the same private one."""
    having = [basket for basket in baskets if {*items} <= basket]
    share = max((sum(e in basket for basket in having) for e in promise.private), default=0)
    return bool(having) and (len(having) < promise.k or share > promise.h * len(having) + 1e-9)


@pytest.mark.slow
def test_coherence_in_all_worlds() -> None:
    rng = np.random.default_rng(3)
    suppressed = 0
    for _ in range(80 * FUZZ):
        items = int(rng.integers(3, 8))
        baskets = random_baskets(rng, items, 10)
        private = tuple(item for item in "ab" if any(item in basket for basket in baskets))
        k, p = int(rng.integers(1, 4)), int(rng.integers(1, 4))
        promise = HKPCoherence(float(rng.choice([0.3, 0.5, 0.75, 1])), k, p, private)
        found = problem(baskets, Hierarchy("item", (tuple(LETTERS), ("*",)), np.stack([np.arange(8), np.zeros(8)])),
                        promise)  # fmt: skip
        public = sorted({*found.items} - {*private})
        sets = [c for size in range(1, p + 1) for c in combinations(public, size)]
        moles = {c for c in sets if is_mole(c, baskets, promise)}
        least = {c for c in moles if not any({*other} < {*c} for other in moles)}
        by_size, _ = minimal_moles(found, 10**6)
        assert {tuple(sorted(found.items[i] for i in column)) for some in by_size for column in some.T} == least
        stands = labels(found, MoleSuppression()(found).node_of_item)
        assert {*private} <= stands.keys()
        made = released(baskets, stands)
        assert not any(is_mole(c, made, promise) for c in sets)
        suppressed += len(stands) < len(found.items)
    assert suppressed


def test_mole_suppression_takes_what_is_worth_most() -> None:
    """Moles ab, ac and ad, each in one basket: a is in all of them, and goes though it occurs most."""
    baskets = tuple(map(frozenset, ("ab", "ac", "ad", "bcd", "bcd")))
    found = problem(baskets, Hierarchy("item", (tuple("abcd"), ("*",)), np.stack([np.arange(4), np.zeros(4)])),
                    HKPCoherence(1, 2, 2))  # fmt: skip
    solution = MoleSuppression()(found)
    assert labels(found, solution.node_of_item) == {"b": "b", "c": "c", "d": "d"}
    assert solution.loss == pytest.approx(3 / 12)


def test_optimal_refuses_large_hierarchies() -> None:
    found = problem(WORKED, PAIRS, KMAnonymity(2, 2))
    with pytest.raises(TooManyCells, match="got 5; allowed: 4"):
        OptimalCut(max_cuts=4)(found)
    assert OptimalCut(max_cuts=5)(found).optimal
    with pytest.raises(TooManyCells, match="max_sets"):
        Apriori(max_sets=9)(found)
    assert Apriori(max_sets=99)(found).checks


def test_numbers_of_baskets_tell_nothing() -> None:
    """The released table is the same, whatever order baskets and items came in."""
    rng = np.random.default_rng(4)
    for _ in range(20 * FUZZ):
        baskets = random_baskets(rng, 6, 30)
        one = problem(baskets, random_hierarchy(rng, 6), KMAnonymity(1, 1))
        names = ["é", "b", "zz", "", "a,b", "Z"][: len(one.items)]
        rows = numbered(one.baskets, names)
        other = problem([baskets[i] for i in rng.permutation(len(baskets))], random_hierarchy(rng, 6),
                        KMAnonymity(1, 1))  # fmt: skip
        assert rows.equals(numbered(other.baskets, names))
        assert int(rows["basket"].min()) == (1 if len(baskets) < 10 else 10)  # type: ignore[arg-type]
        wanted = sorted(sorted((names[one.items.index(i)] for i in b), key=str.encode) for b in baskets)
        wanted.sort(key=lambda basket: [item.encode() for item in basket])
        assert [group["item"].to_list() for group in rows.partition_by("basket")] == wanted


def test_numbers_of_baskets_of_many_items() -> None:
    """More items than one machine word holds, and baskets that go on where others end."""
    rng = np.random.default_rng(6)
    for _ in range(10 * FUZZ):
        drawn = [rng.integers(0, 3, int(rng.integers(1, 40))).cumsum() for _ in range(60)]
        baskets = [*drawn, *(one[: int(rng.integers(1, len(one) + 1))] for one in drawn)]
        owner = np.repeat(np.arange(len(baskets)), list(map(len, baskets)))
        made = Baskets.of(owner, np.concatenate(baskets), 100)
        rows = numbered(made, [f"{i:02}" for i in range(100)])
        wanted = sorted(sorted({f"{i:02}" for i in basket.tolist()}) for basket in baskets)
        assert [group["item"].to_list() for group in rows.partition_by("basket")] == wanted
        assert tells_nothing(rows["basket"], rows["item"])
        mixed = rows.with_columns(pl.col("basket").replace_strict({100: 101, 101: 100}, default=pl.col("basket")))
        assert tells_nothing(mixed["basket"], mixed["item"]) == (wanted[0] == wanted[1])


@pytest.mark.slow
def test_published_audit_counts_as_brute_force() -> None:
    rng = np.random.default_rng(5)
    for _ in range(40 * FUZZ):
        baskets = random_baskets(rng, 6, 12)
        m, k = int(rng.integers(1, 5)), int(rng.integers(1, 4))
        made = problem(baskets, random_hierarchy(rng, 6), KMAnonymity(k, m))
        counts = supports(baskets, m)
        rows = numbered(made.baskets, made.items)
        found = KMAnonymity(k, m).audit(published(rows))
        assert (found.measured, found.holds) == (min(counts.values()), min(counts.values()) >= k)
        promise = HKPCoherence(float(rng.choice([0.3, 0.5, 1])), k, m, ("a", "b"))
        sets = [c for size in range(1, m + 1) for c in combinations("cdef", size)]
        assert promise.audit(published(rows)).holds == (
            not any(is_mole(c, baskets, promise) for c in sets) and len(baskets) >= k
        )
