"""The worked examples of the definitions, and the classic tables, on both sides."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from sfumato.criteria import AlphaK, DistinctLDiversity, EntropyLDiversity, KAnonymity, RecursiveCLDiversity, TCloseness
from sfumato.criteria.search_distance import SEARCHED
from sfumato.release.verify import verify_table

RESPIRATORY = {v: [v, "respiratory infection", "respiratory", "*"] for v in ("flu", "bronchitis", "pneumonia")}
DIGESTIVE = {v: [v, "stomach disease", "digestive", "*"] for v in ("gastric ulcer", "gastritis", "stomach cancer")}
DISEASES = RESPIRATORY | DIGESTIVE

SALARIES = pl.DataFrame(
    {
        "zipcode": ["476**"] * 3 + ["4790*"] * 3 + ["476**"] * 3,
        "age": ["2*"] * 3 + [">=40"] * 3 + ["3*"] * 3,
        "salary": [3, 4, 5, 6, 11, 8, 7, 9, 10],
        "disease": [
            *("gastric ulcer", "gastritis", "stomach cancer"),
            *("gastritis", "flu", "bronchitis"),
            *("bronchitis", "pneumonia", "stomach cancer"),
        ],
    }
)
BY_CLASS = SALARIES.partition_by(["zipcode", "age"], maintain_order=True)


def both_distances(search, released, name, one, others, tree=None):
    """The distance of one class, by the formula of the search and as measured from released rows."""
    classes = search([one], others, tree)
    found = SEARCHED[name](classes.size, classes.only)
    measured = TCloseness("s", 1, name).audit(released([one], others, tree)).measured
    return [float(found[0]), measured]


@pytest.mark.parametrize(("one", "distance"), [(["3", "4", "5"], 0.375), (["6", "8", "11"], 1 / 6)])
def test_salaries_three_to_eleven_by_order(search, released, one, distance):
    others = [str(v) for v in range(3, 12) if str(v) not in one]
    assert both_distances(search, released, "ordered", one, others) == pytest.approx([distance] * 2, abs=1e-12)


@pytest.mark.parametrize(
    ("one", "distance"),
    [
        (["gastric ulcer", "gastritis", "stomach cancer"], 0.5),
        (["gastric ulcer", "stomach cancer", "pneumonia"], 5 / 18),
    ],
)
def test_diseases_by_hierarchy(search, released, one, distance):
    others = [v for v in DISEASES if v not in one]
    found = both_distances(search, released, "hierarchical", one, others, DISEASES)
    assert found == pytest.approx([distance] * 2, abs=1e-12)


def test_eight_of_ten_is_distinct_3_diverse_and_not_entropy_2_diverse(search, released):
    one = ["HIV"] * 8 + ["bronchitis", "pneumonia"]
    assert DistinctLDiversity("s", 3).holds(search([one])).tolist() == [True]
    assert EntropyLDiversity("s", 2).holds(search([one])).tolist() == [False]
    assert DistinctLDiversity("s", 3).audit(released([one])).holds
    found = EntropyLDiversity("s", 2).audit(released([one]))
    entropy = -(0.8 * math.log(0.8) + 0.2 * math.log(0.1))
    assert not found.holds
    assert found.measured == pytest.approx(math.exp(entropy), abs=1e-9)


def test_a_class_of_two_two_two_is_entropy_3_diverse_on_both_sides(search, released):
    one = ["a", "a", "b", "b", "c", "c"]
    assert EntropyLDiversity("s", 3).holds(search([one])).tolist() == [True]
    assert EntropyLDiversity("s", 3).audit(released([one])).holds
    assert not EntropyLDiversity("s", 3.0001).holds(search([one])).any()
    assert not EntropyLDiversity("s", 3.0001).audit(released([one])).holds


@pytest.mark.parametrize("n", [2, 3, 7, 11, 48, 49, 100, 999])
def test_exact_ties_pass_both_sides(search, released, n):
    one = [str(v) for v in range(n)] * 3
    assert EntropyLDiversity("s", n).holds(search([one])).all()
    assert EntropyLDiversity("s", n).audit(released([one])).holds
    assert AlphaK(1 / n, 1, "s").holds(search([one])).all()
    assert AlphaK(1 / n, 1, "s").audit(released([one])).holds
    half = [str(v) for v in range(n)], [str(v) for v in range(n, 2 * n)]
    assert TCloseness("s", 0.5).holds(search(half)).all()
    assert TCloseness("s", 0.5).audit(released(half)).holds


def test_a_tie_fails_the_strict_recursive_bound_also_where_rounding_would_let_it_pass(search, released):
    # 0.07 * 100 is 7.000000000000001 in floating point: 7 of the first value, 100 of the others, is a tie
    one = [v for v in "abcdefghijklmno" for _ in range(7)] + ["p", "p"]
    assert 0.07 * 100 > 7
    for c, holds in ((0.07, False), (0.0701, True)):
        assert RecursiveCLDiversity("s", c, 2).holds(search([one])).tolist() == [holds]
        assert RecursiveCLDiversity("s", c, 2).audit(released([one])).holds is holds


@pytest.mark.parametrize(("l", "ratio"), [(1, 4 / 8), (2, 4 / 4), (3, 4 / 1)])
def test_recursive_diversity_counts_the_tail_from_the_lth_value(search, released, l, ratio):
    one = ["a"] * 4 + ["b"] * 3 + ["c"]
    assert RecursiveCLDiversity("s", 9, l).audit(released([one])).measured == pytest.approx(ratio)
    for c, holds in ((ratio, False), (ratio * 1.01, True)):
        assert RecursiveCLDiversity("s", c, l).holds(search([one])).tolist() == [holds]
        assert RecursiveCLDiversity("s", c, l).audit(released([one])).holds is holds


def test_recursive_diversity_of_too_few_values_is_infinite(search, released):
    found = RecursiveCLDiversity("s", 1000, 3).audit(released([["a", "b"], ["a", "b", "c"]]))
    assert (found.holds, found.measured, found.failing_classes) == (False, math.inf, 1)
    assert RecursiveCLDiversity("s", 1000, 3).holds(search([["a", "b"], ["a", "b", "c"]])).tolist() == [False, True]


@pytest.mark.parametrize("name", ["equal", "ordered", "hierarchical", "kl"])
def test_one_value_alone_is_at_distance_zero(search, released, name):
    tree = {"a": ["a", "*"], "b": ["b", "*"]}
    assert both_distances(search, released, name, ["a", "a"], [], tree) == [0, 0]
    assert both_distances(search, released, name, ["a", "b"], ["a", "b"], tree) == pytest.approx([0, 0], abs=1e-12)
    assert both_distances(search, released, name, ["a"], [], {"a": ["a"]}) == [0, 0]


def test_a_missing_value_is_a_branch_of_its_own_below_the_root(search, released):
    tree = {"a": ["a", "x", "*"], "b": ["b", "x", "*"], None: [None, None, "*"]}
    # p = (1, 0, 0), q = (1/3, 1/3, 1/3): node x: pos 2/3, neg 1/3, half of 1/3; root: 1/3 moves to missing
    found = both_distances(search, released, "hierarchical", ["a"], ["b", None], tree)
    assert found == pytest.approx([1 / 2, 1 / 2], abs=1e-12)


def test_patients_masked_zip_and_banded_age():
    table = pl.DataFrame(
        {
            "zipcode": ["476**"] * 3 + ["4790*"] * 3 + ["476**"] * 3,
            "age": ["2*"] * 3 + [">=40"] * 3 + ["3*"] * 3,
            "disease": ["heart disease"] * 3 + ["flu", "heart disease", "cancer", "heart disease", "cancer", "cancer"],
        }
    )
    asked = [KAnonymity(3), KAnonymity(4), DistinctLDiversity("disease", 2)]
    k3, k4, l2 = verify_table(table, [["zipcode", "age"]], asked).promises
    assert (k3.holds, k3.measured, k4.holds) == (True, 3, False)
    assert (l2.holds, l2.measured) == (False, 1)  # the homogeneity attack
    assert l2.note == "1 of 3 classes fails"


def test_patients_with_sex_are_2_anonymous():
    age = ["20-29"] * 3 + ["40-59"] * 2 + ["30-39"] * 3
    table = pl.DataFrame({"zipcode": ["*"] * 8, "age": age, "sex": ["*"] * 3 + ["M"] * 2 + ["*"] * 3})
    found = verify_table(table, [["zipcode", "age", "sex"]], [KAnonymity(2), KAnonymity(3)])
    assert [(p.holds, p.measured) for p in found.promises] == [(True, 2), (False, 2)]


def test_salaries_are_3_anonymous_and_3_diverse_and_t_closeness_breaks_the_similarity_attack():
    asked = [
        KAnonymity(3),
        DistinctLDiversity("salary", 3),
        EntropyLDiversity("disease", 3),
        TCloseness("salary", 0.3, "ordered"),
        TCloseness("disease", 0.4, "hierarchical"),
    ]
    found = verify_table(SALARIES, [["zipcode", "age"]], asked, hierarchies={"disease": list(DISEASES.values())})
    assert [p.holds for p in found.promises] == [True, True, True, False, False]
    assert [p.measured for p in found.promises[3:]] == pytest.approx([0.375, 4 / 9])
    assert "in the released rows" in found.promises[3].note


@pytest.mark.parametrize(
    ("name", "column", "expected"),
    [("ordered", "salary", [0.375, 1 / 6, 0.2361]), ("hierarchical", "disease", [0.444, 0.296, 0.296])],
)
def test_salaries_class_by_class(search, released, name, column, expected):
    values = [[str(v) for v in part[column]] for part in BY_CLASS]
    tree = DISEASES if column == "disease" else None
    classes = search(values, tree=tree)
    assert SEARCHED[name](classes.size, classes.only) == pytest.approx(expected, abs=5e-4)
    for i, distance in enumerate(expected):
        others = [v for j, one in enumerate(values) for v in one if j != i]
        found = TCloseness("s", 1, name).audit(released([values[i]], others, tree))
        assert found.measured == pytest.approx(distance, abs=5e-4)


JOBS = [
    ("cat1", "1975", "4350", "HIV"),
    ("cat1", "1955", "4350", "HIV"),
    ("cat1", "1955", "5432", "flu"),
    ("cat1", "1955", "5432", "fever"),
    ("cat2", "1975", "4350", "flu"),
    ("cat2", "1975", "4350", "fever"),
]


@pytest.mark.parametrize(
    ("stars", "k", "alpha_k"),
    [
        ({}, False, False),
        ({(row, 1) for row in range(6)}, True, False),
        ({(row, column) for row in range(6) for column in (0, 1)}, True, True),
        ({(0, 1), (1, 1)}, True, False),
        ({(0, 0), (5, 0), (1, 0), (1, 1), (4, 0), (4, 1)}, True, True),
    ],
    ids=["as is", "birth", "job and birth", "two cells", "six cells"],
)
def test_jobs(stars, k, alpha_k):
    rows = [tuple("*" if (i, j) in stars else v for j, v in enumerate(row)) for i, row in enumerate(JOBS)]
    table = pl.DataFrame(rows, schema=["job", "birth", "postcode", "illness"], orient="row")
    asked = [KAnonymity(2), AlphaK(0.5, 2, "illness"), AlphaK(0.5, 2, "illness", values=["HIV"])]
    found = verify_table(table, [["job", "birth", "postcode"]], asked)
    assert [p.holds for p in found.promises] == [k, alpha_k, alpha_k]


@pytest.mark.slow
def test_many_classes_of_many_values_stay_sparse(search):
    # dense would be 100,000 classes times 100,000 values
    rng = np.random.default_rng(7)
    values = rng.integers(0, 100_000, 200_000)
    classes = [[str(a), str(b)] for a, b in values.reshape(-1, 2)]
    fake = search(classes, tree={str(v): [str(v), str(v // 1000), "*"] for v in range(100_000)})
    place = {v: i for i, v in enumerate(fake.only.text)}
    m, q = len(place), np.cumsum(fake.only.overall) / 200_000
    ordered = SEARCHED["ordered"](fake.size, fake.only)
    for i in (0, 1, 99_999):
        p = np.zeros(m)
        np.add.at(p, [place[v] for v in classes[i]], 0.5)
        assert ordered[i] == pytest.approx(np.abs(np.cumsum(p) - q).sum() / (m - 1), abs=1e-10)
    assert (SEARCHED["hierarchical"](fake.size, fake.only) < 1).all()
