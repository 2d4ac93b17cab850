"""Every search that tells its steps finds with a trace what it finds without, and tells what it declares."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.policy import Policy
from sfumato.errors import Infeasible, PolicyError
from sfumato.losses import loss as parse_loss
from sfumato.search import search_name
from sfumato.search.events import Event
from sfumato.search.problem import Columns, Levels, Partition, Problem, Solution, counted, make_problem
from tests.fuzz import examples
from tests.search.lattices import TREE, problems

TRACING = [name for name, one in sf.SEARCHES.items() if one.example.traces]
SAME_CHECKS = {"ola", "datafly", "mondrian", "k-member", "top-down", "mdav", "k-optimize"}
LOSSES = ["lm", "ncp", "discernibility"]
REQUIRED = [
    [],
    [sf.DistinctLDiversity("s", 2)],
    [sf.EntropyLDiversity("s", 1.7)],
    [sf.TCloseness("s", 0.4)],
]


def found(search: Any, problem: Problem) -> Solution | str:
    """What a search finds, or why it finds nothing."""
    try:
        return search(problem)  # type: ignore[no-any-return]
    except (Infeasible, PolicyError) as no:
        return str(no)


def traced(search: Any, problem: Problem) -> tuple[Solution | str, list[Event]]:
    events: list[Event] = []
    return found(search, replace(problem, trace=events.append)), events


def same(name: str, fast: Solution | str, slow: Solution | str) -> None:
    """Two runs found the same."""
    if isinstance(fast, str) or isinstance(slow, str):
        assert fast == slow
        return
    assert fast.verdict == slow.verdict
    assert fast.optimal == slow.optimal
    np.testing.assert_array_equal(fast.kept, slow.kept)
    assert fast.checks == slow.checks or name not in SAME_CHECKS
    one, other = fast.recoding, slow.recoding
    if isinstance(one, Levels):
        assert isinstance(other, Levels)
        assert one.levels == other.levels
        return
    if isinstance(one, Columns):
        assert isinstance(other, Columns)
    else:
        assert isinstance(one, Partition)
        assert isinstance(other, Partition)
        np.testing.assert_array_equal(one.class_of_cell, other.class_of_cell)
    for column, labels in one.labels.items():
        assert [labels.text[i] for i in labels.of] == [other.labels[column].text[i] for i in other.labels[column].of]


@st.composite
def tables(draw: st.DrawFn, required: Any = REQUIRED, losses: Any = LOSSES) -> Problem:
    """Small tables of numbers and categories, with missing values and equal rows, as a search that splits sees them."""
    rows = draw(st.integers(1, 24))
    columns = {
        "a": st.integers(0, 9),
        "b": st.sampled_from([1.5, 2.5, 8.0, None]),
        "c": st.sampled_from(["a1", "a2", "b1", "b2", "c1"]),
    }
    names = draw(st.sampled_from([["a"], ["a", "b"], ["a", "b", "c"]]))
    table = {name: draw(st.lists(columns[name], min_size=rows, max_size=rows)) for name in names}
    table["s"] = draw(st.lists(st.sampled_from("pqr"), min_size=rows, max_size=rows))
    schema = {"a": pl.Int64, "b": pl.Float64, "c": pl.String, "s": pl.String}
    frame = pl.DataFrame(table, schema={name: schema[name] for name in table})
    require = (sf.KAnonymity(draw(st.integers(1, 4))), *draw(st.sampled_from(required)))
    loss = parse_loss(draw(st.sampled_from(losses)))
    policy = Policy((tuple(names),), require, draw(st.sampled_from([0, 0, 2, 0.3])), loss)
    trees = {"c": TREE} if "c" in names and draw(st.booleans()) else {}
    return jointly(frame, policy, trees)


def jointly(frame: pl.DataFrame, policy: Policy, trees: Any) -> Problem:
    """A problem whose cells agree in the sensitive values, too, as the pipeline poses it to searches that split."""
    from sfumato.core.microdata import microdata

    problem = make_problem(frame, policy, trees, {})
    roles = dict.fromkeys(policy.columns, "quasi") | dict.fromkeys(policy.as_they_are, "sensitive")
    micro = microdata(frame, roles, trees)
    cells, _ = counted(micro, policy.columns, policy.as_they_are, jointly=bool(policy.as_they_are))
    return replace(problem, cells=cells)


OTHERS = [
    sf.Samarati(prefer="loss"),
    sf.Samarati(by="vectors"),
    sf.Mondrian(cut="lower-median", dimension="first"),
    sf.Mondrian(labels="mean"),
    sf.TopDown(seed=7, labels="hierarchy"),
    sf.KOptimize(start="root"),
]


def posed_for(search: Any) -> st.SearchStrategy[Problem]:
    """Problems that a search takes."""
    if isinstance(search, sf.KOptimize):
        return tables([[]], ["discernibility"])
    return problems(st.sampled_from(REQUIRED)) if search.code == "AG_TS" else tables()


@pytest.mark.parametrize("search", [*(sf.SEARCHES[name].example for name in TRACING), *OTHERS], ids=str)
def test_a_trace_changes_nothing(search: Any) -> None:
    name = search_name(search)

    @settings(max_examples=examples(100), deadline=None)
    @given(posed_for(search))
    def check(problem: Problem) -> None:
        slow, events = traced(search, problem)
        same(name, found(search, problem), slow)
        assert {type(event) for event in events} <= {*search.traces}
        assert all(event.sentence().endswith(".") for event in events)
        assert events or isinstance(slow, str)
        assert traced(search, problem)[1] == events

    check()
