"""What both sides measure is what the definitions say; what is closed under merging and what under supersets."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.criteria import (
    CRITERIA,
    AlphaK,
    DeltaDisclosure,
    DistinctLDiversity,
    EntropyLDiversity,
    KAnonymity,
    RecursiveCLDiversity,
    TCloseness,
    XYLinkability,
)
from sfumato.criteria.search_distance import SEARCHED
from sfumato.testing.classes import WORDS as TREE
from tests.conformance.test_criteria import ASKED

values = st.sampled_from(["a", "b", "c", "d", "e", "f", None])
one_class = st.lists(values, min_size=1, max_size=8)
many = st.lists(one_class, min_size=1, max_size=6)


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


def test_what_is_closed_how():
    closed = {name: variant.example.monotonicity for name, variant in CRITERIA.items()}
    by_size = {"k-anonymity", "distinct-l-diversity", "xy-anonymity", "k-map", "differential-privacy"}
    assert {name for name, how in closed.items() if how == "superset"} == by_size
    assert {name for name, how in closed.items() if how == "none"} == {
        "population-uniqueness",
        "confident-delta-presence",
    }
    assert DeltaDisclosure("s", 1, "skipped").monotonicity == "none"


def test_a_skipped_value_keeps_delta_disclosure_from_merging(search):
    """Two classes that lack a value each satisfy; together they have it, too rarely."""
    asked, classes = DeltaDisclosure("s", 1.5, "skipped"), [["a"] * 3 + ["b"] * 3, ["a"] * 3 + ["c"]]
    assert asked.holds(search(classes, ["c"] * 6)).tolist() == [True, True]
    assert asked.holds(search([classes[0] + classes[1]], ["c"] * 6)).tolist() == [False]


OF_VALUES = [a for a in ASKED if a.monotonicity == "merge" and not a.of_population]
VACUOUS = [EntropyLDiversity("s", 1), AlphaK(1, 2, "s"), XYLinkability("s", 1)]


@pytest.mark.parametrize("asked", [a for a in OF_VALUES if a not in VACUOUS], ids=str)
def test_those_closed_under_merging_are_not_closed_under_supersets(search, asked):
    if isinstance(asked, TCloseness):
        asked = replace(asked, t=asked.t / 2)
    good = ["a", "b", "c", "d", "e", "f"] * 2
    fake = search([good, good + ["a"] * 90], ["b", "c", "d", "e", "f"] * 90, TREE)
    assert asked.holds(fake).tolist() == [True, False]
