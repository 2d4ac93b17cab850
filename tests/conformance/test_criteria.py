"""Every criterion, with weak and strict parameters, through the conformance suite, which finds those that lie."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest

import sfumato as sf
from sfumato.core.protocols import BY_CONSTRUCTION, ClassesView, Flags, Monotonicity
from sfumato.criteria.audit import Finding, Groups
from sfumato.testing import check_criterion, checks_of, parametrize_with_checks, registered
from sfumato.testing.classes import search_side
from sfumato.testing.criteria import (
    check_criterion_empty_class,
    check_criterion_limits,
    check_criterion_monotonicity,
    check_criterion_sides,
    check_criterion_suppression,
    hold_to_limits,
)
from tests.fuzz import FUZZ

ASKED: list[Any] = [
    *(sf.KAnonymity(k) for k in (1, 2, 5)),
    sf.DifferentialPrivacy(0.5, 0.3),  # k is 2
    *(sf.DistinctLDiversity("s", l) for l in (1, 2, 4)),
    *(sf.EntropyLDiversity("s", l) for l in (1, 2, 2.5, 4)),
    *(sf.RecursiveCLDiversity("s", c, l) for c, l in ((0.5, 1), (1, 2), (2, 2), (3.5, 3))),
    *(sf.TCloseness("s", t, d) for t in (0, 0.15, 0.5) for d in ("equal", "ordered", "hierarchical", "kl")),
    *(sf.AlphaK(alpha, 2, "s") for alpha in (0.3, 0.5, 1)),
    *(sf.XYAnonymity("s", k) for k in (1, 2, 4)),
    *(sf.XYLinkability("s", h) for h in (0.3, 0.5, 1)),
    *(sf.DeltaPresence("v.csv", low, high) for low, high in ((0, 0.5), (0, 1), (0.2, 0.6))),
    *(sf.KMap(k, population="v.csv") for k in (1, 3)),
    *(sf.ConfidentDeltaPresence("v.csv", 99, low, 0.9, 0.8) for low in (0, 0.1)),
    sf.AlphaK(0.4, 1, "s", values=["a"]),
    sf.AlphaK(0.25, 2, "s", values=["a", "b"]),
    *(sf.BetaLikeness("s", beta, kind) for beta in (0.1, 0.5, 1, 3) for kind in ("basic", "enhanced")),
    *(sf.DeltaDisclosure("s", delta, absent) for delta in (0.5, 1, 2.5, 3) for absent in ("violates", "skipped")),
    *(sf.KMap(k, f, e) for k, f in ((3, 0.1), (5, 1), (40, 0.05)) for e in ("poisson", "zero-truncated-poisson")),
]
PERSONAL: list[Any] = [
    *(sf.PersonalKAnonymity("s", k) for k in (1, 4)),
    *(sf.PersonalLDiversity("s", "s", l) for l in (1, 2)),
]
BY_VALUE: list[Any] = [
    *(sf.TCloseness("s", 0.7, d, reference={"a": 3, "b": 1, "1": 0.5, "": 1}) for d in ("equal", "kl")),
    *(sf.TCloseness("s", 0.4, "ordered", reference=r) for r in ({"a": 2, "b": 1, "zz": 0}, {"2": 2, "10": 1, "15": 1})),
    *(sf.BetaLikeness("s", 3, kind, reference={"a": 2, "b": 2, "c": 1, "d": 0}) for kind in ("basic", "enhanced")),
    *(sf.DistinctLDiversity("s", l, per={"a": 3, "b": 4}) for l in (1, 2)),
    sf.EntropyLDiversity("s", 1.5, per={"a": 2, "d": 3}),
    sf.RecursiveCLDiversity("s", 3, 2, per={"a": 1, "d": 0.5}),
    *(sf.TCloseness("s", 0.6, d, per={"a": 0.3}) for d in ("equal", "ordered", "hierarchical", "kl")),
    sf.TCloseness("s", 0.8, reference={"a": 1, "1": 1}, per={"b": 0.5}),
    sf.AlphaK(0.6, 2, "s", per={"a": 0.2}),
    sf.AlphaK(0.6, 2, "s", values=["b"], per={"a": 0.2}),
]
OF_TABLE: list[Any] = [
    *(sf.AverageRisk(t) for t in (0.2, 0.5, 1)),
    *(sf.SampleUniqueness(t) for t in (0, 0.25, 1)),
    *(sf.PopulationUniqueness(t, f, e) for t in (0, 0.2) for f in (0.05, 0.4) for e in ("dankar", "snb")),
]


@pytest.mark.slow
@parametrize_with_checks(*(v.example for v in sf.CRITERIA.values() if v.example.how != BY_CONSTRUCTION))
def test_examples(check: Any) -> None:
    check()


@pytest.mark.slow
@pytest.mark.parametrize("asked", [*ASKED, *PERSONAL, *BY_VALUE, *OF_TABLE], ids=str)
def test_weak_and_strict(asked: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    check_criterion_sides(asked)
    monkeypatch.setattr("sfumato.testing.criteria.TRIALS", 15 * FUZZ)
    check_criterion_monotonicity(asked)
    check_criterion_suppression(asked)
    check_criterion_limits(asked)
    check_criterion_empty_class(asked)


def test_one_of_them_in_plain_pytest() -> None:
    check_criterion(sf.DistinctLDiversity("s", 2))


@pytest.mark.parametrize(
    ("criterion", "holds"),
    [
        (sf.BetaLikeness("s", 1), [True, True, False]),  # p = 2 q: a gain of exactly 1
        (sf.BetaLikeness("s", 0.5), [True, False, False]),
        (sf.DeltaDisclosure("s", 1, "skipped"), [True, False, False]),  # strict: a tie fails
        (sf.DeltaDisclosure("s", 1), [True, False, False]),
        (sf.DeltaDisclosure("s", 2.001, "skipped"), [True, True, True]),
        (sf.DeltaDisclosure("s", 2.001), [True, False, False]),
        (sf.TCloseness("s", math.log(2), "kl"), [True, True, False]),
        (sf.TCloseness("s", math.log(4), "kl"), [True, True, True]),
        (sf.TCloseness("s", 0, "kl"), [True, False, False]),
    ],
    ids=str,
)
def test_limits_per_value_at_ties(criterion: Any, holds: list[bool]) -> None:
    classes = search_side([["a", "b", "c", "d"], ["a", "b"] * 3, ["a"] * 6], [*"bbbbbbcccccccccddddddddd"])
    assert criterion.holds(classes).tolist() == holds
    by_limits, least = hold_to_limits(criterion, classes)
    assert by_limits.tolist() == holds
    assert least.tolist() == np.where(holds, 0, criterion.least_suppressed(classes)).tolist()


@pytest.mark.parametrize("seed", range(4))
def test_limits_per_value_of_random_classes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    many = [[*"abcdefghijklmnop"[: rng.integers(1, 17)]] for _ in range(12)]
    classes = search_side([rng.choice(of, rng.integers(1, 300)).tolist() for of in many])
    for criterion in (
        sf.BetaLikeness("s", 2),
        sf.BetaLikeness("s", 1, "enhanced"),
        sf.BetaLikeness("s", 3, reference={"a": 3, "b": 1, "z": 2}),
        sf.DeltaDisclosure("s", 2),
        sf.DeltaDisclosure("s", 1.5, "skipped"),
        sf.TCloseness("s", 0.3, "kl"),
    ):
        by_limits, least = hold_to_limits(criterion, classes)
        assert by_limits.tolist() == criterion.holds(classes).tolist()
        assert least.tolist() == np.where(by_limits, 0, criterion.least_suppressed(classes)).tolist()


def test_every_variant_is_tried() -> None:
    assert {asked.model for asked in [*ASKED, *PERSONAL, *OF_TABLE]} == set(sf.CRITERIA)
    assert {asked.model for asked in OF_TABLE} == {n for n, v in sf.CRITERIA.items() if v.example.about_table}


@dataclass(frozen=True)
class EvenClass(sf.KAnonymity):
    """Every class has an even number of rows."""

    monotonicity: ClassVar[Monotonicity] = "superset"  # two and one are three

    @property
    def least_size(self) -> int:
        return 2

    def holds(self, classes: ClassesView) -> Flags:
        return np.asarray((classes.size > 0) & (classes.size % 2 == 0))

    def audit(self, groups: Groups) -> Finding:
        failing = groups.sizes.filter(groups.sizes["size"] % 2 == 1).height
        return Finding(failing == 0, 2, self.k, failing)


@dataclass(frozen=True)
class KindlyAudited(sf.KAnonymity):
    """k-anonymity, of which verify is told that it always holds."""

    def audit(self, groups: Groups) -> Finding:
        return Finding(True, self.k, self.k, 0)


@dataclass(frozen=True)
class SmallerThanSaid(sf.KAnonymity):
    """k-anonymity that says that it takes one row more."""

    @property
    def least_size(self) -> int:
        return self.k + 1


@dataclass(frozen=True)
class Wasteful(sf.KAnonymity):
    """k-anonymity that says that a failing class is lost, and one row of the others."""

    def least_suppressed(self, classes: ClassesView) -> np.ndarray:
        return np.where(self.holds(classes), 1, classes.size)


@dataclass(frozen=True)
class EmptyToo(sf.KAnonymity):
    """k-anonymity that takes no rows for enough."""

    def holds(self, classes: ClassesView) -> Flags:
        return np.asarray((classes.size >= self.k) | (classes.size == 0))


@dataclass(frozen=True)
class Forgetful(sf.KAnonymity):
    """k-anonymity whose parameters do not make it again."""

    def parameters(self) -> dict[str, Any]:
        return {"k": self.k + 1}


@dataclass(frozen=True)
class SecretlyCompared(sf.TCloseness):
    """t-closeness that says that it looks at no other class."""

    uses_overall_distribution: ClassVar[bool] = False


@dataclass(frozen=True)
class SecretlyRead(sf.DistinctLDiversity):
    """l-diversity that says that it needs no histogram."""

    @property
    def needs(self) -> tuple[str, ...]:
        return ()


def test_a_criterion_that_hides_what_it_looks_at_is_found() -> None:
    for make, example, words in (
        (SecretlyCompared, SecretlyCompared("s", 0.3), "it uses the overall distribution"),
        (SecretlyRead, SecretlyRead("s", 2), "which it does not declare to need"),
    ):
        with registered(make, example), pytest.raises(AssertionError, match=words):
            check_criterion(example)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (EvenClass, "holds from least_size rows on|not closed as declared"),
        (KindlyAudited, "audit and holds differ"),
        (Wasteful, "least_suppressed is 1 of"),
        (SmallerThanSaid, "least_size is 3"),
        (EmptyToo, "a class without rows satisfies it"),
        (Forgetful, "its parameters make another value"),
    ],
)
def test_a_criterion_that_lies_is_found(make: Any, words: str) -> None:
    with registered(make, make(2)), pytest.raises(AssertionError, match=words):
        check_criterion(make(2))
    assert make(2).model not in sf.CRITERIA


def test_what_is_not_registered_or_no_variant_is_said() -> None:
    with pytest.raises(AssertionError, match=r"EvenClass is no criterion by name: use sf\.register or an entry point"):
        check_criterion(EvenClass(2))
    with pytest.raises(AssertionError, match="str keeps no contract: as a criterion it lacks model, bound"):
        checks_of("k-anonymity")
    with pytest.raises(AssertionError, match="LM as a criterion lacks model"):
        check_criterion(sf.LM())
