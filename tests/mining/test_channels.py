"""Inference channels: the worked example, all patterns by brute force, and all worlds that fit what is published."""

from __future__ import annotations

from itertools import combinations_with_replacement, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.criteria.sets import KAnonymousPatterns
from sfumato.criteria.sets.supports import bounded_patterns as audited
from sfumato.criteria.sets.supports import patterns
from sfumato.errors import PolicyError
from sfumato.mining.additive import Additive
from sfumato.mining.bounds import bounded_patterns
from sfumato.mining.frequent import frequent_itemsets
from sfumato.mining.suppressive import Suppressive
from sfumato.mining.values import inference_channels
from tests.fuzz import FUZZ, examples
from tests.mining.conftest import (
    LETTERS,
    WORKED,
    Basket,
    named,
    parts,
    published,
    random_baskets,
    support,
    transactions,
)

BLOCKINGS = [Additive(), Suppressive()]


def channels(supports: dict[Basket, int], baskets: list[Basket], k: int) -> set[tuple[Basket, Basket, int]]:
    """The inference channels of some baskets, by their definition."""
    found = {(part, whole, support(baskets, part, whole - part)) for whole in supports for part in parts(whole)}
    return {one for one in found if 0 < one[2] < k}


def test_worked_example() -> None:
    """One basket of 13 has B and C without A: a channel for k = 2, which either way blocks."""
    data = transactions(WORKED, "ABC")
    itemsets = frequent_itemsets(data, 4)
    assert named(itemsets, "ABC")[frozenset("BC")] == 5
    assert named(itemsets, "ABC")[frozenset("ABC")] == 4
    found = inference_channels(itemsets, 2)
    [(present, whole, people)] = zip(found.present, found.whole, found.people, strict=True)
    assert (itemsets.items(present).tolist(), itemsets.items(whole).tolist(), people) == ([1, 2], [0, 1, 2], 1)
    more = Additive()(data, 2, 4)
    assert more.height == 14  # one more basket of B and C
    assert named(frequent_itemsets(more, 4), "ABC")[frozenset("BC")] == 6
    fewer = Suppressive()(data, 2, 4)
    assert fewer.height == 13
    assert int(data.support.sum() - fewer.support.sum()) == 1  # one item was taken out
    for blocked in (more, fewer):
        assert not len(inference_channels(frequent_itemsets(blocked, 4), 2))


@pytest.mark.parametrize("block", BLOCKINGS)
def test_brute_force_over_all_patterns(block: Additive | Suppressive) -> None:
    """Itemsets, channels and what is left of them after blocking, counted basket by basket."""
    for seed in range(25 * FUZZ):
        rng = np.random.default_rng(seed)
        items = int(rng.integers(1, 7))
        baskets = random_baskets(rng, items, 30)
        k = int(rng.integers(1, min(4, len(baskets)) + 1))
        least = k + int(rng.integers(0, 3))
        data = transactions(baskets, LETTERS[:items])
        itemsets = frequent_itemsets(data, least)
        own = named(itemsets, LETTERS)
        assert own == {one: n for one in parts(LETTERS[:items]) if (n := support(baskets, one)) >= least or not one}
        found = inference_channels(itemsets, k)
        letters = [frozenset(LETTERS[code] for code in itemsets.items(i).tolist()) for i in range(len(itemsets))]
        told = {
            (letters[i], letters[j], n) for i, j, n in zip(*map(np.ndarray.tolist, vars(found).values()), strict=True)
        }
        assert told == channels(own, baskets, k)
        blocked = block(data, k, least)
        left = [frozenset(LETTERS[i] for i in np.flatnonzero(row)) for row in blocked.table()]
        after = named(frequent_itemsets(blocked, least), LETTERS)
        assert not channels(after, left, k)
        if len(after) == 1:
            continue
        audit = KAnonymousPatterns(k).audit(published(after))
        assert audit.holds
        assert audit.measured == min(
            n for one in after for part in parts(one) if (n := support(left, part, one - part))
        )
        if isinstance(block, Additive):
            assert after.keys() == own.keys()
            assert all(after[one] >= own[one] for one in own)
        else:
            assert all(support(left, one) <= support(baskets, one) for one in own)


@given(st.integers(0, 10**6), st.sampled_from([8, 12]), st.integers(2, 6))
@settings(max_examples=examples(40), deadline=None)
def test_patterns_of_up_to_twelve_items(seed: int, items: int, k: int) -> None:
    """Every pattern over all items: 3 ** 12 of them, by kernel and by the audit's own code, against the baskets."""
    rng = np.random.default_rng(seed)
    baskets = random_baskets(rng, items, 60)
    data = transactions(baskets, LETTERS[:items])
    itemsets = frequent_itemsets(data, 1)
    rows = data.table()
    own = named(itemsets, LETTERS)
    found = inference_channels(itemsets, k)
    sizes = sum(int(((one > 0) & (one < k)).sum()) for one in patterns({tuple(sorted(i)): n for i, n in own.items()}))
    assert len(found) == sizes
    for at in rng.permutation(len(found))[:20]:
        present, whole = itemsets.items(found.present[at]), itemsets.items(found.whole[at])
        absent = np.setdiff1d(whole, present)
        assert (rows[:, present].all(axis=1) & ~rows[:, absent].any(axis=1)).sum() == found.people[at]


def test_additive_blocking_changes_least() -> None:
    """No cheaper baskets could be added, by the sum of all changes: every way to add some is tried."""
    tried = 0
    for seed in range(30 * FUZZ):
        rng = np.random.default_rng(seed)
        baskets = random_baskets(rng, 3, 20)
        own = named(frequent_itemsets(transactions(baskets, "abc"), 3), "abc")
        if len(baskets) < 2 or len(own) < 2:
            continue
        blocked = named(frequent_itemsets(Additive()(transactions(baskets, "abc"), 2, 3), 3), "abc")
        change = sum(blocked[one] - own[one] for one in own)
        pairs = [(part, whole - part) for whole in own for part in parts(whole)]
        people = np.array([support(baskets, present, absent) for present, absent in pairs])
        adds = np.array([[present <= one and not absent & one for one in own] for present, absent in pairs], np.int64)
        ways = np.array(list(product(range(3), repeat=len(own))))
        after = people[:, np.newaxis] + adds @ ways.T
        safe = ((after == 0) | (after >= 2)).all(axis=0)
        assert change == (ways[safe] @ [2 ** len(one) for one in own]).min()
        tried += change > 0
    assert tried > 5


@pytest.mark.parametrize("block", BLOCKINGS)
def test_all_worlds(block: Additive | Suppressive) -> None:
    """Of up to eight baskets: every original that fits all that is published, and what is certain of them."""
    kinds = list(parts("abc"))
    for seed in range(12 * FUZZ):
        rng = np.random.default_rng(seed)
        baskets = random_baskets(rng, 3, 6)
        k = 2
        if len(baskets) < k:
            continue
        least = 2 + seed % 2
        blocked = block(transactions(baskets, "abc"), k, least)
        if blocked.height > 8:
            continue
        shown = named(frequent_itemsets(blocked, least), "abc")
        worlds = [
            world
            for world in combinations_with_replacement(kinds, blocked.height)
            if all((n := support(world, one)) == shown.get(one, n) and (one in shown or n < least) for one in kinds)
        ]
        assert worlds
        for whole in shown:
            for part in parts(whole):
                people = {support(world, part, whole - part) for world in worlds}
                assert len(people) == 1  # it follows from what is published,
                assert people.isdisjoint(range(1, k))  # and is nobody, or k people


def test_what_is_published_is_what_mining_gives_of_a_world_without_channels() -> None:
    """Nobody can tell it from a truth that needed no blocking: done once more, nothing changes."""
    for seed in range(10 * FUZZ):
        rng = np.random.default_rng(seed)
        data = transactions(random_baskets(rng, 5, 30), LETTERS[:5])
        for block in BLOCKINGS:
            if data.height < 2:
                continue
            once = block(data, 2, 3)
            again = block(once, 2, 3)
            assert again.height == once.height
            assert np.array_equal(again.support, once.support)


SAFE = {"": 14, "A": 7, "B": 9, "C": 8, "AB": 4, "AC": 4, "BC": 6, "ABC": 4}


def shown(changed: dict[str, int] | None = None, without: str = "-") -> dict[Basket, int]:
    return {frozenset(items): n for items, n in {**SAFE, **(changed or {})}.items() if items != without}


def test_a_planted_fault_is_found() -> None:
    assert KAnonymousPatterns(2).audit(published(shown())).holds
    found = KAnonymousPatterns(2).audit(published(shown({"ABC": 3})))
    assert (found.holds, found.measured, found.note) == (False, 1, "4 patterns are of fewer than 2 people")
    found = KAnonymousPatterns(2).audit(published(shown({"": 15})))  # one support too many
    assert found.note == "1 pattern is of fewer than 2 people"


@pytest.mark.parametrize(
    ("supports", "what"),
    [
        (shown({"ABC": 9}), "no baskets have the published supports"),
        (shown(without="AB"), "a part of it is not"),
        (shown(without=""), "the number of all baskets is not published"),
    ],
)
def test_supports_that_no_baskets_have_prove_nothing(supports: dict[Basket, int], what: str) -> None:
    with pytest.raises(PolicyError, match=what):
        KAnonymousPatterns(2).audit(published(supports))


def test_values_of_one_column_are_never_together() -> None:
    """Seven of ten have one town, two another: one has neither, though no published itemset has both towns."""
    towns = {frozenset(): 10, frozenset(["town=x"]): 7, frozenset(["town=y"]): 2}
    assert KAnonymousPatterns(2, columns=False).audit(published(towns)).holds
    assert not KAnonymousPatterns(2, columns=True).audit(published(towns)).holds


def test_what_bounds_tell_is_counted() -> None:
    """What the promise leaves open: patterns with an itemset that is not published, by all worlds that fit what is.

    Whatever is counted is certain; worlds may tell more, where several such itemsets bound each other.
    """
    kinds, told = list(parts("abc")), 0
    for seed in range(150 * FUZZ):
        rng = np.random.default_rng(seed)
        baskets = random_baskets(rng, 3, 7)
        k, least = 2 + seed % 2, 3
        if len(baskets) < k:
            continue
        blocked = Suppressive()(transactions(baskets, "abc"), k, least)
        itemsets = frequent_itemsets(blocked, least)
        shown = named(itemsets, "abc")
        found = bounded_patterns(itemsets, blocked.attribute, least, None, k)
        assert found is not None
        if not found:
            continue
        worlds = [
            world
            for world in combinations_with_replacement(kinds, blocked.height)
            if all((n := support(world, one)) == shown.get(one, n) and (one in shown or n < least) for one in kinds)
        ]
        border = [one for one in kinds if one not in shown and all(one - {x} in shown for x in one)]
        people = [{support(world, part, whole - part) for world in worlds} for whole in border for part in parts(whole)]
        assert found <= sum(some <= {*range(1, k)} for some in people)
        told += found
    assert told


def test_verify_notes_what_bounds_tell() -> None:
    """Of five baskets three have a and three b: one has both, for the itemset of both would be published else."""
    baskets = [frozenset(one) for one in ("a", "a", "ab", "b", "b")]
    release = sf.mine({"item": [[*one] for one in baskets]}, item="item", k=2, support=2)
    assert {*named_of(release)} == {frozenset(), frozenset("a"), frozenset("b")}
    [promise] = release.verification.promises
    assert (promise.holds, promise.parameters["support"]) == (True, 2)
    assert promise.note == "1 pattern beyond the published itemsets can be bounded to fewer than 2 people"
    assert "of which all combinations are published" in promise.sentence
    with pytest.raises(PolicyError, match="rarer, or longer"):
        KAnonymousPatterns(2, support=4).audit(published(named_of(release)))
    told = 0
    for seed in range(60 * FUZZ):
        rng = np.random.default_rng(seed)
        longest = (None, 2)[seed % 2]
        data = transactions(random_baskets(rng, 5, 25), "abcde")
        itemsets = frequent_itemsets(data, 4, longest)
        k = 2 + seed % 3
        own = bounded_patterns(itemsets, data.attribute, 4, longest, k)
        supports = {tuple(sorted(one)): n for one, n in named(itemsets, "abcde").items()}
        assert audited(supports, 4, longest, k, columns=False) == own
        told += own or 0
    assert told


def named_of(release: sf.MinedRelease) -> dict[Basket, int]:
    """The supports of a release."""
    rows = release.tables["itemsets"].iter_rows()
    return {frozenset(item for item in row[:-1] if item is not None): row[-1] for row in rows}
