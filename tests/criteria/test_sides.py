"""Search side, released side and definition agree on any classes; every criterion is closed as it declares."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.criteria import (
    CRITERIA,
    AlphaK,
    AverageRisk,
    BetaLikeness,
    DeltaDisclosure,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    KMap,
    PopulationUniqueness,
    RecursiveCLDiversity,
    SampleUniqueness,
    TCloseness,
)
from sfumato.criteria.search_distance import SEARCHED
from tests.fuzz import examples

TREE = {
    "a": ["a", "x", "u", "*"],
    "b": ["b", "x", "u", "*"],
    "c": ["c", "y", "u", "*"],
    "d": ["d", "z", "v", "*"],
    "e": ["e", "x", "v", "*"],  # the label x again, under another parent: another node
    "f": ["f", "f", "f", "*"],  # a branch with one child at every level
    None: [None, None, None, "*"],
}
ASKED = [
    *(KAnonymity(k) for k in (1, 2, 5)),
    *(DistinctLDiversity("s", l) for l in (1, 2, 4)),
    *(EntropyLDiversity("s", l) for l in (1, 2, 2.5, 4)),
    *(RecursiveCLDiversity("s", c, l) for c, l in ((0.5, 1), (1, 2), (2, 2), (3.5, 3))),
    *(TCloseness("s", t, d) for t in (0, 0.15, 0.5) for d in ("equal", "ordered", "hierarchical", "kl")),
    *(AlphaK(alpha, 2, "s") for alpha in (0.3, 0.5, 1)),
    AlphaK(0.4, 1, "s", values=["a"]),
    AlphaK(0.25, 2, "s", values=["a", "b"]),
    *(BetaLikeness("s", beta, kind) for beta in (0.1, 1, 3) for kind in ("basic", "enhanced")),
    *(DeltaDisclosure("s", delta, absent) for delta in (0.5, 1, 2.5) for absent in ("violates", "skipped")),
    *(KMap(k, f, e) for k, f in ((3, 0.1), (5, 1)) for e in ("poisson", "zero-truncated-poisson")),
]
OF_TABLE = [
    *(AverageRisk(t) for t in (0.2, 0.5, 1)),
    *(SampleUniqueness(t) for t in (0, 0.25, 1)),
    *(PopulationUniqueness(t, f, e) for t in (0, 0.2) for f in (0.05, 0.4) for e in ("dankar", "snb")),
]
values = st.sampled_from(["a", "b", "c", "d", "e", "f", None])
one_class = st.lists(values, min_size=1, max_size=8)
many = st.lists(one_class, min_size=1, max_size=6)
both = pytest.mark.parametrize("asked", ASKED, ids=str)


def guarded_values(asked):
    return list(asked.values or ()) if isinstance(asked, AlphaK) else []


@pytest.mark.slow
@both
@settings(max_examples=examples(30))
@given(classes=many, suppressed=st.lists(values, max_size=5))
def test_search_and_release_agree(search, released, asked, classes, suppressed):
    suppressed = [*suppressed, *guarded_values(asked)]  # a value to guard must occur in the table
    holds = asked.holds(search(classes, suppressed, TREE))
    assert holds.dtype == np.bool_
    assert holds.shape == (len(classes),)
    found = asked.audit(released(classes, suppressed, TREE))
    assert found.holds == bool(holds.all())
    assert found.failing_classes == int((~holds).sum())
    assert found.bound == asked.bound
    assert all(len(one) >= asked.least_size for one, good in zip(classes, holds, strict=True) if good)


@pytest.mark.slow
@pytest.mark.parametrize("asked", OF_TABLE, ids=str)
@settings(max_examples=examples(30))
@given(classes=many)
def test_search_and_release_agree_on_the_table(search, released, asked, classes):
    sizes = search(classes).size
    found = asked.audit(released(classes))
    assert found.holds == asked.holds_table(sizes)
    assert found.failing_classes == 0
    assert found.bound == asked.bound
    assert asked.holds_table(np.maximum(sizes, asked.enough_size))


@given(classes=many, suppressed=st.lists(values, max_size=5))
def test_measured_is_what_the_worst_class_achieves(released, classes, suppressed):
    groups = released(classes, suppressed, TREE)
    counts = [Counter(one) for one in classes]

    def measured(asked):
        return asked.audit(groups).measured

    assert measured(KAnonymity(3)) == min(map(len, classes))
    assert measured(DistinctLDiversity("s", 3)) == min(map(len, counts))
    entropy = [-sum(n / c.total() * math.log(n / c.total()) for n in c.values()) for c in counts]
    assert measured(EntropyLDiversity("s", 3)) == pytest.approx(math.exp(min(entropy)))
    falling = [sorted(c.values(), reverse=True) for c in counts]
    ratios = [r[0] / sum(r[1:]) if r[1:] else math.inf for r in falling]
    assert measured(RecursiveCLDiversity("s", 3, 2)) == pytest.approx(max(ratios))
    assert measured(AlphaK(0.5, 1, "s")) == pytest.approx(max(r[0] / sum(r) for r in falling))


def by_definition(name, one, whole):
    """The distance, term by term, in fractions."""
    order = [v for v in TREE if v in set(whole)]
    p = {v: Fraction(one.count(v), len(one)) for v in order}
    q = {v: Fraction(whole.count(v), len(whole)) for v in order}
    if name == "equal":
        return sum(abs(p[v] - q[v]) for v in order) / 2
    if name == "kl":
        return sum(float(p[v]) * math.log(p[v] / q[v]) for v in order if p[v])
    if name == "ordered":
        gaps = [abs(sum(p[v] - q[v] for v in order[: i + 1])) for i in range(len(order))]
        return sum(gaps) / max(len(order) - 1, 1)
    cost = Fraction(0)
    for height in (1, 2, 3):
        for node in {tuple(TREE[v][height:]) for v in order}:
            children = {tuple(TREE[v][height - 1 :]) for v in order if tuple(TREE[v][height:]) == node}
            extra = [sum(p[v] - q[v] for v in order if tuple(TREE[v][height - 1 :]) == child) for child in children]
            cost += Fraction(height, 3) * min(sum(e for e in extra if e > 0), -sum(e for e in extra if e < 0))
    return cost


@pytest.mark.slow
@pytest.mark.parametrize("name", ["equal", "ordered", "hierarchical", "kl"])
@given(classes=many, suppressed=st.lists(values, max_size=5))
def test_distances_are_as_defined(search, released, name, classes, suppressed):
    whole = [v for one in classes for v in one] + suppressed
    fake = search(classes, suppressed, TREE)
    expected = [float(by_definition(name, one, whole)) for one in classes]
    assert SEARCHED[name](fake.size, fake.only) == pytest.approx(expected, abs=1e-12)
    found = TCloseness("s", 1, name).audit(released(classes, suppressed, TREE))
    assert found.measured == pytest.approx(max(expected), abs=1e-9)


@pytest.mark.slow
@both
@settings(max_examples=examples(30))
@given(classes=many, others=st.lists(values, max_size=6))
def test_closed_as_declared(search, asked, classes, others):
    others = [*others, *guarded_values(asked)]
    alone = asked.holds(search(classes, others, TREE)) & (asked.monotonicity != "none")
    for i, j in itertools.combinations(range(len(classes)), 2):
        if alone[i] and alone[j] if asked.monotonicity == "merge" else alone[i] or alone[j]:
            rest = [one for n, one in enumerate(classes) if n not in (i, j)]
            assert asked.holds(search([classes[i] + classes[j], *rest], others, TREE))[0]


def test_what_is_closed_how():
    closed = {name: variant.example.monotonicity for name, variant in CRITERIA.items()}
    by_size = {"k-anonymity", "distinct-l-diversity", "k-map"}
    assert {name for name, how in closed.items() if how == "superset"} == by_size
    assert {name for name, how in closed.items() if how == "none"} == {"population-uniqueness"}
    assert DeltaDisclosure("s", 1, "skipped").monotonicity == "none"


def test_a_skipped_value_keeps_delta_disclosure_from_merging(search):
    """Two classes that lack a value each satisfy; together they have it, too rarely."""
    asked, classes = DeltaDisclosure("s", 1.5, "skipped"), [["a"] * 3 + ["b"] * 3, ["a"] * 3 + ["c"]]
    assert asked.holds(search(classes, ["c"] * 6)).tolist() == [True, True]
    assert asked.holds(search([classes[0] + classes[1]], ["c"] * 6)).tolist() == [False]


VACUOUS = [EntropyLDiversity("s", 1), AlphaK(1, 2, "s")]


@pytest.mark.parametrize("asked", [a for a in ASKED if a.monotonicity == "merge" and a not in VACUOUS], ids=str)
def test_those_closed_under_merging_are_not_closed_under_supersets(search, asked):
    if isinstance(asked, TCloseness):
        asked = replace(asked, t=asked.t / 2)
    good = ["a", "b", "c", "d", "e", "f"] * 2
    fake = search([good, good + ["a"] * 90], ["b", "c", "d", "e", "f"] * 90, TREE)
    assert asked.holds(fake).tolist() == [True, False]


def test_every_variant_is_tested_here():
    assert {asked.model for asked in [*ASKED, *OF_TABLE]} == set(CRITERIA)
    assert {asked.model for asked in OF_TABLE} == {n for n, v in CRITERIA.items() if hasattr(v.make, "holds_table")}


def test_a_class_without_rows_satisfies_nothing(search):
    fake = search([["a", "b"], ["c"]], ["d"], TREE)
    fake.size = np.array([0, 2, 0, 1])
    fake.only.start = np.array([0, 0, 2, 2, 3])
    for asked in ASKED:
        if not guarded_values(asked):
            holds = asked.holds(fake)
            assert not holds[0]
            assert not holds[2]
            plain = asked.holds(search([["a", "b"], ["c"]], ["d"], TREE))
            assert holds[[1, 3]].tolist() == plain.tolist()
