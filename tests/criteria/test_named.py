"""Criteria by name, their parameters, and what is refused."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import json
import pkgutil

import numpy as np
import pytest

import sfumato.criteria
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
    PersonalKAnonymity,
    PersonalLDiversity,
    PopulationUniqueness,
    RecursiveCLDiversity,
    SampleUniqueness,
    TCloseness,
    criterion,
    parse,
)
from sfumato.errors import PolicyError


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("k-anonymity 10", KAnonymity(10)),
        ("k-anonymity k=10", KAnonymity(10)),
        ("k-anonymity 10 quasi=age,zip", KAnonymity(10, quasi=["age", "zip"])),
        ("k-anonymity quasi=age 10 quasi='home zip'", KAnonymity(10, quasi=["age", "home zip"])),
        ("""distinct-l-diversity disease 3 quasi='"a,b", c'""", DistinctLDiversity("disease", 3, quasi=["a,b", "c"])),
        ("distinct-l-diversity disease 3", DistinctLDiversity("disease", 3)),
        ("entropy-l-diversity disease 2.5", EntropyLDiversity("disease", 2.5)),
        ("entropy-l-diversity 'main disease' 3", EntropyLDiversity("main disease", 3)),
        ('entropy-l-diversity l=3 attribute="main disease"', EntropyLDiversity("main disease", 3)),
        ("recursive-cl-diversity disease 4 3", RecursiveCLDiversity("disease", 4, 3)),
        ("t-closeness disease 0.2 ordered", TCloseness("disease", 0.2, "ordered")),
        ("t-closeness attribute=disease t=0.2", TCloseness("disease", 0.2)),
        ("t-closeness attribute=a=b t=1e-1", TCloseness("a=b", 0.1)),
        ("t-closeness t=0.2 disease kl", TCloseness("disease", 0.2, "kl")),
        ("alpha-k 0.5 3 disease", AlphaK(0.5, 3, "disease")),
        ("alpha-k 0.5 3 disease HIV 'type 2 diabetes'", AlphaK(0.5, 3, "disease", ("HIV", "type 2 diabetes"))),
        ("alpha-k 0.5 3 disease values=HIV values=flu", AlphaK(0.5, 3, "disease", ("HIV", "flu"))),
        ("distinct-l-diversity 2020 3", DistinctLDiversity("2020", 3)),
        ("beta-likeness disease 2 enhanced", BetaLikeness("disease", 2, "enhanced")),
        ("delta-disclosure disease 1.5 absent=skipped", DeltaDisclosure("disease", 1.5, "skipped")),
        ("k-map 20 0.1", KMap(20, 0.1)),
        ("k-map 20 0.1 poisson 0.01", KMap(20, 0.1, "poisson", 0.01)),
        ("personal-k-anonymity 'own k' 3", PersonalKAnonymity("own k", 3)),
        ("personal-l-diversity disease wish=l", PersonalLDiversity("disease", "l")),
        ("average-risk 0.05", AverageRisk(0.05)),
        ("sample-uniqueness t=0", SampleUniqueness(0)),
        ("population-uniqueness 0.01 0.1 snb", PopulationUniqueness(0.01, 0.1, "snb")),
    ],
)
def test_parse(line, expected):
    assert parse(line) == expected


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "empty"),
        ("k-anonimity 10", 'did you mean "k-anonymity"'),
        ("k-anonymity", "k-anonymity needs k"),
        ("k-anonymity 1.5", "whole number >= 1"),
        ("k-anonymity ten", "whole number >= 1"),
        ("k-anonymity 1_0", "whole number >= 1"),
        ("k-anonymity 10 20", "more than 1 parameters"),
        ("k-anonymity 10 quasi=", "must be a set of columns; got no column"),
        ("k-anonymity 10 quasi=age,age", "k-anonymity: quasi must be a set of columns; got a column twice"),
        ("k-anonymity 10 k=20", '"k" is given twice'),
        ("t-closeness atribute=disease t=0.2", 'did you mean "attribute"'),
        ("t-closeness disease 0.2 orderd", 'did you mean "ordered"'),
        ("t-closeness disease nan", "a number >= 0"),
        ("entropy-l-diversity 'main disease 3", "closing"),
        ("k-map 20", "k-map takes a sampling fraction"),
        ("k-map 20 0.1 nan", "zero-truncated-poisson"),
        ("k-map 2000000000000 0.1", "<= 1099511627776"),
        ("population-uniqueness 0.01 0.1 pitmann", 'did you mean "pitman"'),
        ("beta-likeness disease 1 enhancd", 'did you mean "enhanced"'),
        ("average-risk 0", "a number > 0 and <= 1"),
    ],
)
def test_parse_refuses(line, says):
    with pytest.raises(PolicyError, match=says):
        parse(line)


OVER = [dataclasses.replace(v.example, quasi=["age", "zip"]) for v in CRITERIA.values()]


@pytest.mark.parametrize("asked", [*(v.example for v in CRITERIA.values()), AlphaK(0.5, 2, "s", ["x"]), *OVER], ids=str)
def test_parameters_are_json_and_build_the_same_criterion(asked):
    parameters = json.loads(json.dumps(asked.parameters()))
    assert criterion(asked.model, **parameters) == asked
    assert hash(criterion(asked.model, **parameters)) == hash(asked)
    assert asked.quasi in (None, ("age", "zip"))
    assert asked.sentence().endswith(".")
    assert asked.of_population or asked.needs == tuple(
        getattr(asked, name) for name in ("attribute", "wish") if hasattr(asked, name)
    )


def test_the_table_is_named_after_its_classes():
    assert {name: variant.make.__name__ for name, variant in CRITERIA.items()} == {
        "k-anonymity": "KAnonymity",
        "distinct-l-diversity": "DistinctLDiversity",
        "entropy-l-diversity": "EntropyLDiversity",
        "recursive-cl-diversity": "RecursiveCLDiversity",
        "t-closeness": "TCloseness",
        "alpha-k": "AlphaK",
        "beta-likeness": "BetaLikeness",
        "delta-disclosure": "DeltaDisclosure",
        "delta-presence": "DeltaPresence",
        "confident-delta-presence": "ConfidentDeltaPresence",
        "k-map": "KMap",
        "personal-k-anonymity": "PersonalKAnonymity",
        "personal-l-diversity": "PersonalLDiversity",
        "xy-anonymity": "XYAnonymity",
        "xy-linkability": "XYLinkability",
        "average-risk": "AverageRisk",
        "sample-uniqueness": "SampleUniqueness",
        "population-uniqueness": "PopulationUniqueness",
        "differential-privacy": "DifferentialPrivacy",
    }
    for name, variant in CRITERIA.items():
        assert variant.example.model == name
        assert variant.cite[-4:].isdigit()
        assert variant.summary


def test_all_faults_of_the_parameters_are_told_at_once():
    with pytest.raises(PolicyError) as error:
        criterion("recursive-cl-diversity", atribute="s", c=3)
    assert error.value.faults == (
        'unknown parameter "atribute"; did you mean "attribute"?',
        "recursive-cl-diversity needs attribute and l",
    )


@pytest.mark.parametrize(
    "make",
    [
        *(lambda k=k: KAnonymity(k) for k in (0, -1, 2.0, 2.5, True, "3", None, float("nan"))),
        *(lambda l=l: DistinctLDiversity("s", l) for l in (0, 1.5, True)),
        *(lambda l=l: EntropyLDiversity("s", l) for l in (0.99, float("inf"), float("nan"), True, "3")),
        *(lambda c=c: RecursiveCLDiversity("s", c, 2) for c in (0, -1, float("inf"), True)),
        *(lambda l=l: RecursiveCLDiversity("s", 2, l) for l in (0, 1.5, False)),
        *(lambda t=t: TCloseness("s", t) for t in (-0.1, 1.1, float("nan"), True)),
        lambda: TCloseness("s", -0.1, "kl"),
        lambda: TCloseness("s", 0.1, "euclidean"),
        lambda: TCloseness("s", 0.1, None),
        *(lambda a=a: AlphaK(a, 2, "s") for a in (0, 1.01, -1, True)),
        lambda: AlphaK(0.5, 0, "s"),
        *(lambda v=v: AlphaK(0.5, 2, "s", v) for v in ([], [True], [""], [1.5], {"a": 1})),
        *(lambda a=a: DistinctLDiversity(a, 2) for a in ("", None, 3)),
        *(lambda d=d: DeltaDisclosure("s", d) for d in (0, float("inf"), 10**400, True)),
        *(lambda f=f: KMap(5, f) for f in (0, 1.1, float("nan"))),
    ],
)
def test_parameters_out_of_range_are_refused(make):
    with pytest.raises(PolicyError):
        make()


def test_parameters_at_the_edge_are_allowed():
    assert KAnonymity(np.int64(3)) == KAnonymity(3)
    assert type(KAnonymity(np.int64(3)).k) is int
    assert type(EntropyLDiversity("s", np.float32(2)).l) is float
    assert EntropyLDiversity("s", 3).parameters()["l"] == 3
    assert TCloseness("s", 0).t == 0
    assert TCloseness("s", 1).t == 1
    assert TCloseness("s", 7, "kl").t == 7
    assert AlphaK(1, 1, "s", "HIV").values == ("HIV",)
    assert AlphaK(1, 1, "s", [3, "x"]).values == ("3", "x")


def test_least_size_is_what_a_class_needs():
    assert KAnonymity(7).least_size == 7
    assert DistinctLDiversity("s", 3).least_size == 3
    assert EntropyLDiversity("s", 3).least_size == 3
    assert EntropyLDiversity("s", 3.01).least_size == 4
    assert TCloseness("s", 0.1).least_size == 1
    assert AlphaK(0.1, 3, "s").least_size == 10
    assert AlphaK(0.3, 3, "s").least_size == 4
    assert AlphaK(0.1, 3, "s", ["x"]).least_size == 3
    assert KMap(5, 1).least_size == 5
    assert KMap(50, 0.1).least_size == 10
    assert AverageRisk(0.05).least_size == 1


@pytest.mark.parametrize("k", [1, 2, 3])
def test_sentences_count_the_others(k):
    assert KAnonymity(3).sentence() == "Every record shares its quasi-identifiers with at least 2 others."
    assert KAnonymity(2).sentence().endswith("at least 1 other.")
    assert ("shares" in AlphaK(0.5, k, "s").sentence()) == (k > 1)


def test_a_value_to_guard_must_occur_and_is_never_named(search, released):
    asked = AlphaK(0.5, 2, "s", ["a", "secret"])
    with pytest.raises(PolicyError, match='1 of 2 values to guard do not occur in column "s"') as error:
        asked.holds(search([["a", "b"]]))
    assert "secret" not in str(error.value)
    found = asked.audit(released([["a", "b"]]))  # in a release it may be gone with suppressed rows
    assert found.holds
    assert (
        found.note == 'the smallest class has 2 records, k is 2; 1 of 2 guarded values do not occur in the released "s"'
    )


def test_a_hierarchical_distance_needs_a_hierarchy(search, released):
    asked = TCloseness("s", 0.5, "hierarchical")
    with pytest.raises(PolicyError, match='hierarchy of "s"'):
        asked.holds(search([["a", "b"]]))
    with pytest.raises(PolicyError, match="needs a hierarchy"):
        asked.audit(released([["a", "b"]]))
    with pytest.raises(PolicyError, match="lacks 1 of the 2 released values"):
        asked.audit(released([["a", "b"]], tree={"a": ["a", "*"]}))
    with pytest.raises(PolicyError, match="one root"):
        asked.audit(released([["a", "b"]], tree={"a": ["a", "x"], "b": ["b", "y"]}))


@pytest.mark.parametrize("name", [m.name for m in pkgutil.iter_modules(sfumato.criteria.__path__)] + [""])
def test_doctests(name):
    module = importlib.import_module("sfumato.criteria" + (f".{name}" if name else ""))
    assert doctest.testmod(module).failed == 0
