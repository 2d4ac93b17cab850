"""The criteria that rest on risk measures: hand-worked classes on both sides, closure, and the estimates of ARX."""

from __future__ import annotations

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfumato.criteria.audit import Groups
from sfumato.criteria.average_risk import AverageRisk
from sfumato.criteria.beta_likeness import BetaLikeness
from sfumato.criteria.delta_disclosure import DeltaDisclosure
from sfumato.criteria.k_map import KMap
from sfumato.criteria.population_uniqueness import (
    ESTIMATORS,
    PopulationUniqueness,
    dankar,
    digamma,
    pitman,
    snb,
    zayatz,
)
from sfumato.criteria.released_uniqueness import RELEASED_UNIQUENESS
from sfumato.criteria.sample_uniqueness import SampleUniqueness
from sfumato.errors import PolicyError
from tests.fuzz import examples

values = st.sampled_from(["a", "b", "c", "d", None])
many = st.lists(st.lists(values, min_size=1, max_size=8), min_size=1, max_size=6)
BY_CLASS = [
    *(BetaLikeness("s", beta, kind) for beta in (0.1, 0.5, 1, 3) for kind in ("basic", "enhanced")),
    *(DeltaDisclosure("s", delta, absent) for delta in (0.5, 1, 2, 3) for absent in ("violates", "skipped")),
    *(KMap(k, f, e) for k, f in ((3, 0.1), (5, 1), (40, 0.05)) for e in ("poisson", "zero-truncated-poisson")),
]
OF_TABLE = [
    *(AverageRisk(t) for t in (0.2, 0.5, 1)),
    *(SampleUniqueness(t) for t in (0, 0.25, 1)),
    *(PopulationUniqueness(t, f) for t in (0, 0.2) for f in (0.05, 0.4)),
]


def of_sizes(sizes):
    keys = pl.DataFrame({"q": [str(i) for i, n in enumerate(sizes) for _ in range(n)]})
    return Groups(keys, {})


def by_definition(asked, one, whole):
    """Whether a class satisfies, by fractions."""
    q = {v: Fraction(whole.count(v), len(whole)) for v in whole}
    p = {v: Fraction(one.count(v), len(one)) for v in q}
    if isinstance(asked, BetaLikeness):
        gains = {v: (p[v] - q[v]) / q[v] for v in q if p[v] > q[v]}
        cap = {v: -math.log(q[v]) if asked.kind == "enhanced" else math.inf for v in q}
        return all(gains[v] <= Fraction(asked.beta).limit_denominator(1000) and gains[v] <= cap[v] for v in gains)
    ratios = [p[v] / q[v] for v in q if p[v] or asked.absent == "violates"]
    if asked.delta in (1, 2, 3):  # exactly
        return all(Fraction(1, 2**asked.delta) < r < 2**asked.delta for r in ratios)
    return all(r > 0 and abs(math.log2(r)) < asked.delta for r in ratios)


@pytest.mark.slow
@pytest.mark.parametrize("asked", [a for a in BY_CLASS if not isinstance(a, KMap)], ids=str)
@settings(max_examples=examples(40))
@given(classes=many, suppressed=st.lists(values, max_size=5))
def test_classes_satisfy_as_defined(search, released, asked, classes, suppressed):
    whole = [v for one in classes for v in one] + suppressed
    expected = [by_definition(asked, one, whole) for one in classes]
    assert asked.holds(search(classes, suppressed)).tolist() == expected
    found = asked.audit(released(classes, suppressed))
    assert found.holds == all(expected)
    assert found.failing_classes == expected.count(False)


def test_what_is_closed_how():
    assert BetaLikeness("s", 1).monotonicity == "merge"
    assert DeltaDisclosure("s", 1).monotonicity == "merge"
    assert KMap(5, 0.1).monotonicity == "superset"
    assert PopulationUniqueness(0.1, 0.1).monotonicity == "none"


def test_skipping_absent_values_is_not_closed_under_merging(search):
    """q(b) = 2/5: b is as frequent in the second class, absent from the first, and half as frequent in both."""
    asked = DeltaDisclosure("s", 0.9, "skipped")
    classes, rest = [["a"] * 5, ["a"] * 3 + ["b"] * 2], ["a"] * 4 + ["b"] * 6
    assert asked.monotonicity == "none"
    assert asked.holds(search(classes, rest)).tolist() == [True, True]
    assert asked.holds(search([classes[0] + classes[1]], rest)).tolist() == [False]


def test_beta_by_hand(search, released):
    """Four rows of eight; q(a) = 1/4: a class with half a gains (1/2 - 1/4)/(1/4) = 1."""
    one, rest = ["a", "a", "b", "b"], ["b", "b", "c", "c"]
    for beta, good in ((1, True), (0.99, False)):
        asked = BetaLikeness("s", beta)
        assert asked.holds(search([one], rest)).tolist() == [good]
        assert asked.audit(released([one], rest)).holds == good
    assert BetaLikeness("s", 5).audit(released([one], rest)).measured == pytest.approx(1, abs=1e-12)


def test_enhanced_beta_caps_common_values(search, released):
    """q(b) = 1/2, so b may gain ln 2 = 0.69 at most: (1 - 1/2)/(1/2) = 1 is too much, however large beta is."""
    one, rest = ["b", "b", "b", "b"], ["a", "a", "c", "c"]
    assert BetaLikeness("s", 5).holds(search([one], rest))[0]
    assert not BetaLikeness("s", 5, "enhanced").holds(search([one], rest))[0]
    found = BetaLikeness("s", 5, "enhanced").audit(released([one], rest))
    assert not found.holds
    assert "-ln q" in found.note


def test_delta_by_hand(search, released):
    """q = 1/2 each; p(a) = 3/4: log2(3/2) = 0.585, and p(b) = 1/4: abs(log2(1/2)) = 1, so delta must be above 1."""
    one, rest = ["a", "a", "a", "b"], ["a", "b", "b", "b"]
    for delta, good in ((1, False), (1.001, True)):
        asked = DeltaDisclosure("s", delta)
        assert asked.holds(search([one], rest)).tolist() == [good]
        assert asked.audit(released([one], rest)).holds == good
    assert DeltaDisclosure("s", 3).audit(released([one], rest)).measured == pytest.approx(1)


def test_delta_of_an_absent_value(search, released):
    one, rest = ["a", "a"], ["a", "b"]
    assert not DeltaDisclosure("s", 9).holds(search([one], rest))[0]
    assert DeltaDisclosure("s", 9).audit(released([one], rest)).measured == math.inf
    assert DeltaDisclosure("s", 9, "skipped").holds(search([one], rest))[0]
    assert DeltaDisclosure("s", 9, "skipped").audit(released([one], rest)).measured == pytest.approx(math.log2(4 / 3))


def test_a_value_that_the_given_distribution_lacks():
    groups = Groups(pl.DataFrame({"q": ["x", "x"]}), {"s": pl.Series(["a", "z"])}, {"s": {"a": 4}})
    for asked in (BetaLikeness("s", 100), DeltaDisclosure("s", 100), DeltaDisclosure("s", 100, "skipped")):
        found = asked.audit(groups)
        assert not found.holds
        assert found.measured == math.inf


def test_k_map_by_hand():
    """A population class of 20 at 10%: P(X >= 6) = 0.0166, P(X >= 5) = 0.0527 by Poisson(2); truncated: over 0.8647."""
    assert KMap(20, 0.1, "poisson").least_size == 6
    assert KMap(20, 0.1, "poisson", 0.06).least_size == 5
    assert KMap(20, 0.1, "zero-truncated-poisson", 0.06).least_size == 6  # 0.0527/0.8647 = 0.0609
    assert KMap(20, 0.1, "zero-truncated-poisson", 0.061).least_size == 5
    assert KMap(20, 1).least_size == 20  # the sample is the population
    assert KMap(1, 0.5).least_size == 1


@pytest.mark.parametrize("estimator", ["poisson", "zero-truncated-poisson"])
@settings(max_examples=examples(40))
@given(
    k=st.integers(1, 400),
    fraction=st.floats(0.001, 1),
    significance=st.sampled_from([0.01, 0.05, 0.2]),
    sizes=st.lists(st.integers(1, 40), min_size=1, max_size=5),
)
def test_k_map_agrees_with_its_audit(estimator, k, fraction, significance, sizes):
    asked = KMap(k, fraction, estimator, significance)
    found = asked.audit(of_sizes(sizes))
    assert found.holds == (min(sizes) >= asked.least_size)
    assert found.failing_classes == sum(n < asked.least_size for n in sizes)
    assert (found.measured >= k) == found.holds
    assert found.measured >= min(sizes)


@pytest.mark.parametrize("asked", OF_TABLE, ids=str)
@settings(max_examples=examples(30))
@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=12))
def test_table_and_release_agree(asked, sizes):
    found = asked.audit(of_sizes(sizes))
    assert found.holds == asked.holds_table(np.array(sizes))
    assert found.failing_classes == 0
    assert found.bound == asked.t
    if min(sizes) >= asked.enough_size:
        assert found.holds


@pytest.mark.parametrize("asked", [AverageRisk(0.3), SampleUniqueness(0.2)], ids=str)
@given(sizes=st.lists(st.integers(1, 9), min_size=2, max_size=12), data=st.data())
def test_merging_classes_keeps_average_risk_and_sample_uniqueness(asked, sizes, data):
    if asked.holds_table(np.array(sizes)):
        i = data.draw(st.integers(0, len(sizes) - 2))
        assert asked.holds_table(np.array([*sizes[:i], sizes[i] + sizes[i + 1], *sizes[i + 2 :]]))


@pytest.mark.parametrize("asked", [AverageRisk(0.3), SampleUniqueness(0.2)], ids=str)
@given(sizes=st.lists(st.integers(1, 6), min_size=1, max_size=8))
def test_leaving_out_the_smallest_classes_first_is_the_cheapest_way(asked, sizes):
    """The rule that a policy needs: the fewest rows to leave out are those of the smallest classes."""
    rising = sorted(sizes)
    ours = next((sum(rising[:m]) for m in range(len(sizes)) if asked.holds_table(np.array(rising[m:]))), None)
    best = min(
        (
            sum(sizes) - sum(kept)
            for m in range(1, len(sizes) + 1)
            for kept in itertools.combinations(sizes, m)
            if asked.holds_table(np.array(kept))
        ),
        default=None,
    )
    assert ours == best


def test_table_criteria_by_hand():
    """Classes of 1, 1, 2, 4: 4 classes / 8 rows = 0.5, and 2 of 8 rows stand alone."""
    sizes = np.array([1, 1, 2, 4])
    groups = of_sizes(sizes)
    assert AverageRisk(0.5).holds_table(sizes)
    assert not AverageRisk(0.49).holds_table(sizes)
    assert AverageRisk(0.49).audit(groups).measured == 0.5
    assert SampleUniqueness(0.25).holds_table(sizes)
    assert not SampleUniqueness(0.24).holds_table(sizes)
    assert SampleUniqueness(0.24).audit(groups).measured == 0.25
    for asked in (AverageRisk(1), SampleUniqueness(1), PopulationUniqueness(1, 0.5)):
        assert not asked.holds_table(np.zeros(0, np.int64))  # a table without rows satisfies nothing


def test_no_class_alone_breaks_a_promise_about_the_table(search):
    fake = search([["a"], ["a", "b"]])
    fake.size = np.array([0, 1])
    for asked in OF_TABLE:
        assert asked.holds(fake).tolist() == [False, True]
        assert asked.needs == ()
        assert asked.least_size == 1


def test_zayatz_by_hand():
    """Three classes of 1, 1, 2 in 4 rows of a population of 8: j = 2 leaves one record with 2 * 4/7 the weight."""
    assert zayatz(np.array([1, 1, 2]), 0.5) == pytest.approx(0.5 * 2 / (2 + 8 / 7))


def test_pitman_is_at_the_summit_of_its_likelihood():
    sizes = np.array([1] * 20 + [2] * 6 + [3] * 2 + [7])
    rows, classes = sizes.sum(), len(sizes)

    def likelihood(theta, alpha):
        ends = sum(math.log(theta + i * alpha) for i in range(1, classes))
        whole = sum(math.log(theta + i) for i in range(1, rows))
        return ends - whole + sum(math.log(i - alpha) for n in sizes for i in range(1, n))

    grid = [(math.exp(t) - a, a) for t in np.arange(0, 5, 0.02) for a in np.arange(0.02, 0.98, 0.02)]
    theta, alpha = max(grid, key=lambda x: likelihood(*x))
    share = math.gamma(theta + 1) / math.gamma(theta + alpha) * (rows / 0.1) ** (alpha - 1)
    assert pitman(sizes, 0.1) == pytest.approx(share, rel=0.05)


def test_snb_meets_its_two_moments():
    """With a and b found, the expected one- and two-record classes of the sample are those seen."""
    rng = np.random.default_rng(0)
    population = 1 + rng.negative_binomial(0.8, 0.3, size=20_000)
    drawn = rng.binomial(population, 0.6)
    assert snb(drawn[drawn > 0], 0.6) == pytest.approx((population == 1).sum() / population.sum(), abs=0.01)


@pytest.mark.parametrize("name", ESTIMATORS)
@settings(max_examples=examples(30))
@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=40), fraction=st.sampled_from([0.001, 0.05, 0.1, 0.4, 1.0])
)
def test_estimates_agree_on_both_sides(name, sizes, fraction):
    found = ESTIMATORS[name](np.array(sizes), fraction)
    counts = {n: sizes.count(n) for n in sizes}
    assert found == pytest.approx(RELEASED_UNIQUENESS[name](counts, fraction), abs=1e-9, nan_ok=True)
    assert math.isnan(found) or 0 <= found <= 1
    if 1 not in sizes:
        assert found == 0


def test_everybody_unique():
    for name, estimate in ESTIMATORS.items():
        assert estimate(np.ones(5, np.int64), 0.05 if name == "pitman" else 0.5) == pytest.approx(1, abs=1e-9)


def test_adult_as_arx_estimates_it(shared):
    case = next(c for c in json.loads((shared / "oracles/arx-adult.json").read_text())["cases"] if c["id"] == "f_risk")
    sizes = np.repeat(*np.array(case["histogram_size_count"]).T)
    expected = case["population_uniqueness"]
    fraction = case["rows"] / case["population_size"]
    assert pitman(sizes, fraction) == pytest.approx(expected["PITMAN"]["fraction_of_population_unique"], rel=1e-9)
    assert zayatz(sizes, fraction) == pytest.approx(expected["ZAYATZ"]["fraction_of_population_unique"], rel=1e-9)
    assert dankar(sizes, fraction) == pytest.approx(expected["DANKAR"]["fraction_of_population_unique"], rel=1e-9)
    for name, other in case["population_uniqueness_other_sampling_fractions"].items():
        fraction = float(name.rsplit("_", 1)[1])
        assert pitman(sizes, fraction) == pytest.approx(other["PITMAN"]["fraction"], rel=1e-9)
        assert zayatz(sizes, fraction) == pytest.approx(other["ZAYATZ"]["fraction"], rel=1e-9)
        if other["dankar_selected_model"] == "PITMAN":
            assert dankar(sizes, fraction) == pytest.approx(other["DANKAR"]["fraction"], rel=1e-9)
        else:  # theirs has no SNB, which is the smaller one
            assert dankar(sizes, fraction) <= other["DANKAR"]["fraction"]
    uniques, risk = case["sample_uniqueness"]["fraction"], case["reidentification"]["average_risk"]
    assert SampleUniqueness(uniques).holds_table(sizes)
    assert not SampleUniqueness(uniques - 1e-9).holds_table(sizes)
    assert AverageRisk(risk).holds_table(sizes)
    assert not AverageRisk(risk - 1e-9).holds_table(sizes)


def test_digamma():
    assert float(digamma(0.5)) == pytest.approx(-0.5772156649015329 - 2 * math.log(2), abs=1e-13)
    assert digamma(np.array([1.0, 2.0, 30.0]))[1:] == pytest.approx(
        [1 - 0.5772156649015329, sum(1 / i for i in range(1, 30)) - 0.5772156649015329], abs=1e-13
    )


def test_a_large_beta_does_not_loosen_the_cap(search, released):
    """The value of share 1/2 may gain ln 2 and gains 1, whatever beta is."""
    classes, suppressed = [["a"] * 4], ["b"] * 4
    for beta in (1, 1e9, 1e308):
        asked = BetaLikeness("s", beta, "enhanced")
        assert asked.holds(search(classes, suppressed)).tolist() == [False]
        assert not asked.audit(released(classes, suppressed)).holds
        assert BetaLikeness("s", beta).holds(search(classes, suppressed)).tolist() == [True]


def test_a_large_delta_has_a_sentence():
    assert "less than 2^2000 times" in DeltaDisclosure("s", 2000).sentence()
    assert "less than 2^1e+300 times" in DeltaDisclosure("s", 1e300).sentence()


@pytest.mark.parametrize(("classes", "rest", "ratio"), [((3, 3), (0, 3), 1.5), ((500, 500), (500, 502), 1.001)])
def test_a_tie_of_delta_fails_both_sides(search, released, classes, rest, ratio):
    """The first value has p/q = ratio, the other one is nearer to 1."""
    classes, rest = [["a"] * classes[0] + ["b"] * classes[1]], ["a"] * rest[0] + ["b"] * rest[1]
    for delta, holds in ((math.log2(ratio), False), (math.log2(ratio) * 1.0001, True)):
        asked = DeltaDisclosure("s", delta)
        assert asked.holds(search(classes, rest)).tolist() == [holds]
        assert asked.audit(released(classes, rest)).holds == holds


@settings(max_examples=examples(60))
@given(
    k=st.one_of(st.integers(1, 30), st.sampled_from([1000, 10**6])),
    fraction=st.sampled_from([1e-9, 0.01, 0.1, 0.5, 0.999, 1.0]),
    estimator=st.sampled_from(["poisson", "zero-truncated-poisson"]),
    significance=st.sampled_from([1e-6, 0.05, 0.5, 0.95]),
)
def test_k_map_asks_for_the_fewest_records_that_speak_for_k_people(k, fraction, estimator, significance):
    """The other side's tail, which is summed from below, agrees: that many records do, one less do not."""
    asked = KMap(k, fraction, estimator, significance)
    n = asked.least_size
    assert n == k or asked._tail(n, k) <= significance + 1e-9
    assert n == 1 or asked._tail(n - 1, k) > significance - 1e-9


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda: BetaLikeness("s", 0), "beta"),
        (lambda: BetaLikeness("s", 1, "strong"), "kind"),
        (lambda: BetaLikeness("", 1), "attribute"),
        (lambda: DeltaDisclosure("s", -1), "delta"),
        (lambda: DeltaDisclosure("s", 1, "ignored"), "absent"),
        (lambda: AverageRisk(0), "t is out of range"),
        (lambda: SampleUniqueness(1.5), "t is out of range"),
        (lambda: PopulationUniqueness(0.1, 0), "sampling_fraction"),
        (lambda: PopulationUniqueness(0.1, 0.1, "zipf"), "estimator"),
        (lambda: KMap(0, 0.1), "k is out of range"),
        (lambda: KMap(5, 0.1, "normal"), "estimator"),
        (lambda: KMap(5, 0.1, significance=1), "significance"),
    ],
)
def test_refusals(make, word):
    with pytest.raises(PolicyError, match=word):
        make()
