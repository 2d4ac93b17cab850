"""Cell suppression by forest and by greedy cover, and the forest for generalisation: factors, releases, edge cases."""

from __future__ import annotations

import functools
import math
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.search.clustering.clusters import ClusterSpace
from sfumato.search.problem import Problem
from sfumato.search.suppression.forest import ForestGeneralisation, ForestSuppression, cut
from sfumato.search.suppression.greedy import GreedySuppression
from sfumato.search.suppression.minimal import MinimalSuppression
from tests.conformance.test_anonymize_then_verify import CALM, criteria, smallest_class, tables
from tests.fuzz import examples
from tests.rows import as_they_came
from tests.search.lattices import posed

JOBS = {
    "job": ["cat1", "cat1", "cat1", "cat1", "cat2", "cat2"],
    "birth": ["1975", "1955", "1955", "1955", "1975", "1975"],
    "postcode": ["4350", "4350", "5432", "5432", "4350", "4350"],
}
SMALL = st.lists(st.tuples(*[st.integers(0, 2)] * 3), min_size=4, max_size=8)
Row = tuple[Any, ...]


def best_partition(rows: int, k: int, cost: Callable[[tuple[int, ...]], float]) -> float:
    """The least cost of all partitions of the rows into classes of at least k, by trying all."""

    @functools.cache
    def best(left: frozenset[int]) -> float:
        if not left:
            return 0.0
        first, *others = sorted(left)
        found = math.inf
        for bits in range(1 << len(others)):
            members = (first, *(r for i, r in enumerate(others) if bits >> i & 1))
            if k <= len(members) < 2 * k:
                found = min(found, cost(members) + best(left.difference(members)))
        return found

    return best(frozenset(range(rows)))


def cells_in_differing_columns(rows: list[Row]) -> int:
    """What a class loses: all cells of the columns in which its rows are not the same."""
    return sum(len(rows) for column in zip(*rows, strict=True) if len(set(column)) > 1)


def frame(rows: list[Row]) -> pl.DataFrame:
    return pl.DataFrame({f"q{i}": list(column) for i, column in enumerate(zip(*rows, strict=True))})


def blanks(release: sf.Release) -> int:
    return sum(release.table[name].null_count() for name in release.policy.columns)


def factor_of_forest(k: int) -> float:
    return max(2 * k - 1, 3 * k - 5)


def factor_of_greedy(k: int) -> float:
    proven = (2 * k - 1) * (2 * k - 2) / k * sum(1 / i for i in range(1, 2 * k))
    return min(proven, 3 * k * (1 + math.log(k)))


@settings(max_examples=examples(80), deadline=None, suppress_health_check=CALM)
@given(rows=SMALL, k=st.integers(2, 4))
def test_within_the_factor_of_the_optimum(rows: list[Row], k: int) -> None:
    best = best_partition(len(rows), k, lambda members: cells_in_differing_columns([rows[r] for r in members]))
    for search, factor in ((ForestSuppression(), factor_of_forest(k)), (GreedySuppression(), factor_of_greedy(k))):
        release = sf.anonymize(frame(rows), quasi=[f"q{i}" for i in range(3)], require=sf.KAnonymity(k), search=search)
        assert best <= blanks(release) <= factor * best
        assert smallest_class(release.table, release.table.columns) >= k
    assert factor_of_forest(k) <= 3 * k - 3


@settings(max_examples=examples(100), deadline=None, suppress_health_check=CALM)
@given(rows=SMALL, k=st.integers(2, 3), loss=st.sampled_from(["lm", "ncp"]), given_tree=st.booleans())
def test_generalisation_within_the_factor(rows: list[Row], k: int, loss: str, given_tree: bool) -> None:
    """q0 along a hierarchy, q1 as a range, q2 as categories in order."""
    table = frame(rows).with_columns(pl.col("q0", "q2").replace_strict({0: "a1", 1: "a2", 2: "b"}))
    tree = {"q0": sf.wide([("a1", "a", "*"), ("a2", "a", "*"), ("b", "b", "*")])} if given_tree else {}
    problem = posed(table, ["q0", "q1", "q2"], sf.KAnonymity(k), 0, loss, tree)
    space = ClusterSpace(problem.attributes, problem.policy.loss)
    place = {tuple(t): p for t, p in zip(_texts(problem), space.points(problem), strict=True)}
    points = np.array([place[tuple(map(str, row))] for row in table.iter_rows()])

    def cost(members: tuple[int, ...]) -> float:
        box = points[list(members)]
        return len(members) * float(space.costs(box.min(axis=0)[None], box.max(axis=0)[None])[0])

    found = ForestGeneralisation()(problem)
    best = best_partition(len(rows), k, cost)
    lost = sum(found.verdict.per_attribute.values()) * len(rows)
    assert best - 1e-4 <= lost <= factor_of_forest(k) * best + 1e-4


def _texts(problem: Problem) -> list[list[str]]:
    words = [
        [a.categories.text[c] or "" for c in codes]
        for a, codes in zip(problem.attributes, problem.cells.codes, strict=True)
    ]
    return [list(row) for row in zip(*words, strict=True)]


@settings(max_examples=examples(300), deadline=None)
@given(seed=st.integers(0, 10**6), rows=st.integers(2, 120), k=st.integers(1, 9))
def test_trees_are_cut_small(seed: int, rows: int, k: int) -> None:
    """Any forest of trees with k rows at least: classes of k to max(2k - 1, 3k - 5) rows, within a tree each."""
    rng = np.random.default_rng(seed)
    wide = rng.integers(1, 6)
    out = np.array([-1, *(max(0, v - int(rng.integers(1, wide + 1))) for v in range(1, max(rows, k)))])
    if rng.random() < 0.3:
        out = np.where(out >= 0, rng.integers(0, np.maximum(np.arange(len(out)), 1)), -1)
    of, count = cut(out, k)
    sizes = np.bincount(of, minlength=count)
    assert sizes.min() >= k
    assert sizes.max() <= max(2 * k - 1, 3 * k - 5, 1)


def test_the_jobs() -> None:
    """Two cells by local recoding, where a column of six goes by global recoding."""
    for search in ("forest-suppression", "greedy-suppression", "minimal-suppression"):
        release = sf.anonymize(JOBS, quasi=list(JOBS), require=sf.KAnonymity(2), search=search)
        assert as_they_came(release)["birth"].to_list() == [None, None, "1955", "1955", "1975", "1975"]
        assert blanks(release) == 2
    assert blanks(sf.anonymize(JOBS, quasi=list(JOBS), require=sf.KAnonymity(2), search="attribute-suppression")) in (
        0,
        6,
    )


def test_the_jobs_with_alpha() -> None:
    """(0.5, 2)-anonymity takes six cells at least: the pair with HIV must break up."""
    table = JOBS | {"illness": ["HIV", "HIV", "flu", "fever", "flu", "fever"]}
    for search in ("forest-suppression", "greedy-suppression", "minimal-suppression"):
        require = sf.AlphaK(0.5, 2, "illness")
        release = sf.anonymize(table, quasi=list(JOBS), sensitive=["illness"], require=require, search=search)
        assert release.verification.holds
        assert blanks(release) >= 6


def test_rows_of_a_cell_part() -> None:
    """One row of five equal ones is enough for the row beside them: three would be left."""
    table = {"a": ["x"] * 5 + ["y"], "b": ["p"] * 6}
    for search in ("forest-suppression", "greedy-suppression", "minimal-suppression"):
        release = sf.anonymize(table, quasi=["a", "b"], require=sf.KAnonymity(2), search=search)
        assert Counter(release.table["a"].to_list()) == {"x": 4, None: 2}, search


@pytest.mark.slow
def test_blocks_of_large_tables() -> None:
    """More rows than a block has: every class still has k rows, and cells are few beside what a column would be."""
    rng = np.random.default_rng(3)
    table = pl.DataFrame({f"q{i}": rng.integers(0, 3 + i, 9000) for i in range(6)})
    for search in ("forest-suppression", "greedy-suppression", "forest-generalisation"):
        release = sf.anonymize(table, quasi=table.columns, require=sf.KAnonymity(3), search=search)
        assert release.verification.holds
        assert release.solution.verdict.loss < 0.45


@settings(max_examples=examples(150), deadline=None, suppress_health_check=CALM)
@given(
    table=tables(), k=st.integers(1, 4), more=criteria,
    search=st.sampled_from([ForestSuppression(), GreedySuppression(), ForestGeneralisation(), MinimalSuppression()]),
)  # fmt: skip
def test_whatever_the_table(table: dict[str, list[Any]], k: int, more: list[Any], search: Any) -> None:
    names = [name for name in table if name.startswith("q")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sf.RoleWarning)
        try:
            release = sf.anonymize(
                table, quasi=names, sensitive=["s"], rest="release", require=[sf.KAnonymity(k), *more], search=search
            )
        except (sf.errors.Infeasible, sf.errors.ColumnError) as no:
            assert str(no)
            return
    assert release.verification.holds
    assert release.table.height == len(table["s"])
    assert smallest_class(release.table, names) >= k


def test_what_is_refused() -> None:
    two = posed(JOBS, [["job"], ["birth"]], sf.KAnonymity(2))
    high = posed(JOBS, ["job"], sf.KAnonymity(2), 0, "height")
    bounded = posed(JOBS, ["job"], sf.KAnonymity(2), levels={"job": (0, 1)})
    few = posed(JOBS, ["job"], sf.KAnonymity(7))
    for search in (ForestSuppression(), GreedySuppression(), ForestGeneralisation(), MinimalSuppression()):
        for problem, match in ((two, "one quasi-identifier set"), (high, "height"), (bounded, "levels")):
            with pytest.raises(sf.errors.PolicyError, match=match):
                search(problem)
        with pytest.raises(sf.errors.Infeasible, match="whole table"):
            search(few)
    with pytest.raises(sf.errors.PolicyError, match="labels"):
        ForestGeneralisation("sets")
