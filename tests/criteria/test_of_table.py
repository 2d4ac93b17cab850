"""Criteria about the table as a whole in a policy: which classes go, and what stands for them class by class."""

from __future__ import annotations

import doctest
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core import policy
from sfumato.core.cells import Cells, classes_of
from sfumato.core.policy import Policy, kept_classes, table_criteria
from sfumato.criteria.class_size_bound import ClassSizeBound
from sfumato.losses import LM
from sfumato.search.problem import by_class, judge, level_columns, make_problem

OF_TABLE = [
    *(sf.AverageRisk(t) for t in (0.2, 1 / 3, 0.5, 1)),
    *(sf.SampleUniqueness(t) for t in (0, 0.25)),
    *(sf.PopulationUniqueness(t, 0.3) for t in (0, 0.2)),
]


def of_sizes(sizes):
    """Classes of these sizes."""
    count = np.array(sizes, dtype=np.int64)
    of = np.arange(len(count), dtype=np.int32)
    return classes_of(Cells(("q",), of[None, :], count, (len(count),)), of, len(count))


@pytest.mark.parametrize(
    ("asked", "sizes", "stays"),
    [
        (sf.AverageRisk(0.5), [1, 2, 3], [1, 2, 3]),  # 3 classes, 6 rows
        (sf.AverageRisk(0.4), [1, 2, 3], [2, 3]),
        (sf.AverageRisk(0.4), [1, 1, 4], [4]),  # without one of the two 2/5 would do, but equals go together
        (sf.AverageRisk(0.3), [1, 2, 3], []),
        (sf.SampleUniqueness(0.2), [1, 4], [1, 4]),
        (sf.SampleUniqueness(0.1), [1, 4], [4]),
        (sf.SampleUniqueness(0.1), [1, 1], []),
        (sf.PopulationUniqueness(0.1, 0.5), [1, 1, 2], [2]),
    ],
)
def test_the_smallest_classes_go(asked, sizes, stays):
    assert np.array(sizes)[kept_classes([asked], of_sizes(sizes))].tolist() == stays


@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=15), asked=st.lists(st.sampled_from(OF_TABLE), min_size=1)
)
def test_what_stays_satisfies_and_no_smaller_size_does(sizes, asked):
    sizes = np.array(sizes)
    kept = kept_classes([*asked, sf.KAnonymity(2)][:: 1 if len(asked) % 2 else -1], of_sizes(sizes))
    enough = sizes[sizes >= 2]
    for least in np.unique(enough):
        if all(c.holds_table(enough[enough >= least]) for c in asked):
            assert kept.tolist() == (sizes >= least).tolist()
            return
    assert not kept.any()


@given(sizes=st.lists(st.integers(1, 9), min_size=1, max_size=15), asked=st.sampled_from(OF_TABLE))
def test_enough_rows_in_every_class_satisfy(sizes, asked):
    one = ClassSizeBound(asked)
    assert one.least_size == asked.enough_size
    if one.holds(of_sizes(sizes)).all():
        assert asked.holds_table(np.array(sizes))


def test_a_policy_by_class():
    plain = Policy((("q",),), (sf.KAnonymity(3), sf.DistinctLDiversity("s", 2)))
    assert plain.by_class is plain
    asked = replace(plain, require=(sf.KAnonymity(3), sf.AverageRisk(0.05), sf.PopulationUniqueness(0.1, 0.1)))
    assert table_criteria(asked.require) == list(asked.require[1:])
    strict = asked.by_class
    assert [c.model for c in strict.require] == [c.model for c in asked.require]
    assert strict.least_size == 20
    assert strict.by_class is strict
    assert [c.monotonicity for c in strict.require] == ["superset"] * 3
    assert strict.require[1].bound == 0.05
    assert strict.require[1].sentence() == asked.require[1].sentence()


def test_k_is_what_a_class_must_have():
    """C_avg divides by rows of the table, not by people of the population, nor by what a table criterion implies."""
    assert Policy((), (sf.KMap(50, 0.1),)).k == 10
    assert Policy((), (sf.KMap(50, 0.1), sf.KAnonymity(12))).k == 12
    assert Policy((), (sf.AlphaK(0.1, 3, "s"),)).k == 3
    assert Policy((), (sf.AverageRisk(0.05),)).k == Policy((), (sf.AverageRisk(0.05),)).by_class.k == 1


def test_several_sets_come_to_a_fixpoint():
    """What goes for one set makes smaller classes in the other: in the end both tables hold."""
    table = pl.DataFrame({"a": ["x"] * 6 + ["y", "z"], "b": ["u"] * 3 + ["v"] * 3 + ["w", "w"]})
    asked = sf.AverageRisk(0.34)
    problem = make_problem(table, Policy((("a",), ("b",)), (asked,), 1.0, LM()), {}, {})
    kept, verdict, _ = judge(problem, level_columns(problem, [0, 0]))
    assert verdict.suppressed == 2  # a: 3 classes of 8 rows; without y and z, which are alone, b has two of three
    assert int(problem.cells.count[kept].sum()) == 6


def test_a_problem_by_class_differs_in_its_policy_only():
    table = pl.DataFrame({"a": [1, 2, 3, 4]})
    problem = make_problem(table, Policy((("a",),), (sf.KAnonymity(2),), 0, LM()), {}, {})
    assert by_class(problem) is problem
    asked = replace(problem, policy=replace(problem.policy, require=(sf.SampleUniqueness(0.1),)))
    assert by_class(asked).policy.least_size == 2
    assert by_class(asked).cells is problem.cells


def test_doctests():
    assert doctest.testmod(policy).failed == 0
