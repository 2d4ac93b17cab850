"""k-Optimize: agrees with all sets of splits on small tables, bounds what it did not finish, trees, missing values."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.microdata import microdata
from sfumato.errors import ColumnError, Infeasible, PolicyError
from sfumato.search.cuts import k_optimize
from sfumato.search.cuts.k_optimize import KOptimize, along_tree, order_of
from sfumato.search.problem import Columns, Problem, Solution, counted
from tests.conformance.test_anonymize_then_verify import tables
from tests.fuzz import examples
from tests.search.lattices import NINE, posed

CALM = list(HealthCheck)
TREE = sf.wide([(v, v[0], "*") for v in ("p1", "q1", "q2", "p2", "r")])


def with_labels(table: dict[str, Any] | pl.DataFrame, problem: Problem, seen: str) -> Problem:
    """The problem with the histogram of a class attribute."""
    frame = table if isinstance(table, pl.DataFrame) else pl.DataFrame(table)
    quasi = problem.policy.columns
    micro = microdata(frame.select(*quasi, seen), dict.fromkeys(quasi, "quasi") | {seen: "sensitive"}, {})
    cells, _ = counted(micro, quasi, [seen])
    return replace(problem, cells=cells)


def cost_of(problem: Problem, of: list[np.ndarray], seen: str | None) -> int | None:
    """The cost of a label per code and column, class by class; None where too many rows are suppressed."""
    cells, k, classes = problem.cells, problem.policy.k, {}
    for i in range(len(cells)):
        labels = tuple(int(per_code[codes[i]]) for per_code, codes in zip(of, cells.codes, strict=True))
        votes = classes.setdefault(labels, Counter())
        if seen is None:
            votes[0] += int(cells.count[i])
            continue
        h = cells.histograms[seen]
        for j in range(h.start[i], h.start[i + 1]):
            votes[int(h.value[j])] += int(h.count[j])
    gone = sum(v.total() for v in classes.values() if v.total() < k)
    if gone > problem.limit or gone == problem.rows:
        return None
    kept = [v for v in classes.values() if v.total() >= k]
    if seen is None:
        return sum(v.total() ** 2 for v in kept) + gone * problem.rows
    return sum(v.total() - max(v.values()) for v in kept) + gone


def least_of_all(problem: Problem, seen: str | None) -> int:
    """The least cost of all sets of splits."""
    ways = []
    for attribute in problem.attributes:
        order, of = order_of(attribute), []
        for bits in itertools.product((0, 1), repeat=len(order) - 1):
            per_code = np.empty(len(order), np.int64)
            per_code[order] = np.cumsum([0, *bits])
            of.append(per_code)
        ways.append(of)
    costs = [cost_of(problem, list(of), seen) for of in itertools.product(*ways)]
    return min(c for c in costs if c is not None)


def found(problem: Problem, solution: Solution, seen: str | None) -> int | None:
    assert isinstance(solution.recoding, Columns)
    return cost_of(problem, [solution.recoding.labels[a.name].of for a in problem.attributes], seen)


VALUES = {
    "a": st.integers(0, 4),
    "t": st.sampled_from(["p1", "p2", "q1", "q2", "r", None]),
    "c": st.sampled_from("xyz"),
}


@st.composite
def small(draw: st.DrawFn) -> tuple[dict[str, list[Any]], int, Any]:
    """A table of few values, k, and suppression."""
    rows = draw(st.integers(1, 24))
    names = list(VALUES)[: draw(st.integers(1, 3))]
    table = {name: draw(st.lists(VALUES[name], min_size=rows, max_size=rows)) for name in names}
    table["s"] = draw(st.lists(st.sampled_from("uvw"), min_size=rows, max_size=rows))
    return table, draw(st.integers(1, min(rows, 5))), draw(st.sampled_from([0, 0, 1, 3, 0.2, 1.0]))


@pytest.mark.slow
@settings(max_examples=examples(60), deadline=None, suppress_health_check=CALM)
@given(
    case=small(),
    tree=st.booleans(),
    start=st.sampled_from(["descent", "root"]),
    burst=st.sampled_from([1, 40, 1_000_000]),
)
def test_agrees_with_all_sets_of_splits(
    case: tuple[dict[str, list[Any]], int, Any], tree: bool, start: str, burst: int
) -> None:
    """With and without first descents, and however often the open nodes are put away."""
    table, k, suppression = case
    frame = pl.DataFrame(table, schema_overrides={"t": pl.String} if "t" in table else None)
    quasi = [name for name in table if name != "s"]
    trees = {"t": TREE} if tree and "t" in table else {}
    problem = posed(frame, quasi, sf.KAnonymity(k), suppression, "discernibility", trees)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(k_optimize, "BURST", burst)
        solution = KOptimize(seconds=None, start=start)(problem)
        assert solution.optimal
        assert solution.reproducible
        assert solution.verdict.satisfied
        assert solution.verdict.loss == solution.bound == least_of_all(problem, None) == found(problem, solution, None)
        labelled = with_labels(frame, problem, "s")
        solution = KOptimize("classification", "s", seconds=None, start=start)(labelled)
        assert found(labelled, solution, "s") == least_of_all(labelled, "s")
        assert solution.verdict.satisfied
        assert not solution.optimal
        assert solution.bound is None


def random_table(seed: int, rows: int, sizes: dict[str, int]) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    return pl.DataFrame({name: np.minimum(rng.geometric(0.2, rows), n) for name, n in sizes.items()})


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "k", "suppression"), [(0, 3, 0), (1, 4, 5), (2, 2, 1.0), (3, 60, 1.0)])
def test_agrees_on_more_rows(seed: int, k: int, suppression: float) -> None:
    frame = random_table(seed, 130, {"a": 6, "b": 4, "c": 3})
    problem = posed(frame, ["a", "b", "c"], sf.KAnonymity(k), suppression, "discernibility")
    solution = KOptimize(seconds=None)(problem)
    assert solution.optimal
    assert solution.verdict.loss == solution.bound == least_of_all(problem, None)


def test_a_class_of_over_half_of_the_table_may_be_worth_suppressing() -> None:
    """Ten alike and one apart: to suppress the one costs 11, to keep it in the class 121 - 100 = 21."""
    problem = posed({"a": [1] * 10 + [2]}, ["a"], sf.KAnonymity(2), 1, "discernibility")
    solution = KOptimize()(problem)
    assert solution.verdict.loss == 111
    assert solution.verdict.suppressed == 1
    assert solution.optimal


@pytest.mark.slow
def test_cut_short_it_has_the_best_so_far_and_a_bound() -> None:
    frame = random_table(5, 3000, {"a": 30, "b": 30, "c": 30, "d": 30})
    problem = posed(frame, list("abcd"), sf.KAnonymity(5), 0.01, "discernibility")
    solution = KOptimize(seconds=0.2)(problem)
    assert not solution.optimal
    assert not solution.reproducible
    assert solution.verdict.satisfied
    assert solution.bound is not None
    assert 0 < solution.bound < solution.verdict.loss < 3000**2 / 10


@pytest.mark.slow
def test_bounds_of_a_search_cut_short_are_never_above_the_optimum() -> None:
    for seed in range(6):
        frame = random_table(seed, 80, {"a": 5, "b": 4, "c": 3})
        problem = posed(frame, list("abc"), sf.KAnonymity(3), (0, 4)[seed % 2], "discernibility")
        best = least_of_all(problem, None)
        tree = k_optimize._Tree(problem, KOptimize(), problem.limit)
        while tree.open:
            assert min(tree.open[0][0], tree.best) <= best <= tree.best
            tree.burst(1, map)
        assert tree.best == best


def test_coarsened_columns() -> None:
    frame = random_table(3, 300, {"a": 12, "b": 4})
    problem = posed(frame, ["a", "b"], sf.KAnonymity(5), 0, "discernibility")
    exact, rough = KOptimize()(problem), KOptimize(coarsen=3)(problem)
    assert exact.optimal
    assert exact.verdict.loss == KOptimize(coarsen=20)(problem).verdict.loss
    assert KOptimize(coarsen=20)(problem).optimal  # all splits are in
    assert not rough.optimal
    assert rough.reproducible
    assert rough.bound is not None
    assert rough.bound <= exact.verdict.loss <= rough.verdict.loss
    assert isinstance(rough.recoding, Columns)
    assert len(rough.recoding.labels["a"].lo) <= 4
    missing = posed({"a": [*range(9), None, None]}, ["a"], sf.KAnonymity(2), 0, "discernibility")
    labels = KOptimize(coarsen=2)(missing).recoding.labels["a"]  # type: ignore[union-attr]
    assert len(labels.lo) == 3
    assert labels.text[-1] is None


def test_runs_of_a_hierarchy() -> None:
    """Nodes print as they are named, other runs as sets of nodes that count the leaves of their common ancestor."""
    table = {"t": ["p1"] * 3 + ["p2"] * 3 + ["q1"] + ["q2"] * 2 + ["r"] * 3}
    problem = posed(table, ["t"], sf.KAnonymity(3), 0, sf.Discernibility(), {"t": TREE})
    assert along_tree(problem.attributes[0])
    solution = KOptimize()(problem)
    assert isinstance(solution.recoding, Columns)
    labels = solution.recoding.labels["t"]
    assert {labels.text[n] for n in labels.of} == {"p1", "p2", "q", "r"}
    assert solution.verdict.loss == 4 * 9
    order = order_of(problem.attributes[0])
    part = np.array([0, 1, 1, 1, 2])  # p1 | p2 q1 q2 | r
    shown = np.ones(5, np.bool_)
    runs = k_optimize.of_runs(problem.attributes[0], order, part, shown)
    assert runs.text == ("p1", "{p2, q}", "r")
    assert runs.leaves.tolist() == [1, 5, 1]
    assert runs.covered.tolist() == [3, 6, 3]
    assert runs.level.tolist() == [0, 2, 0]
    assert k_optimize.of_runs(problem.attributes[0], order, np.zeros(5, np.int64), shown).text == ("*",)
    shown[problem.attributes[0].categories.text.index("q1")] = False
    apart = k_optimize.of_runs(problem.attributes[0], order, np.array([0, 1, 1, 2, 2]), shown)
    assert apart.text == ("p1", "p2", "{q, r}")  # no set names what only suppressed rows have


def test_missing_values_stand_last_and_mixed_they_say_nothing() -> None:
    alone = KOptimize()(posed({"a": [1, 1, 2, 2, None, None]}, ["a"], sf.KAnonymity(2), 0, "discernibility"))
    assert alone.recoding.labels["a"].text == ("1", "2", None)  # type: ignore[union-attr]
    mixed = KOptimize()(posed({"a": [1, 1, 2, 2, None]}, ["a"], sf.KAnonymity(2), 0, "discernibility"))
    assert mixed.recoding.labels["a"].text == ("1", "*")  # type: ignore[union-attr]
    tree = posed({"t": ["p1", "p1", "q1", "q1", None]}, ["t"], sf.KAnonymity(2), 0, "discernibility", {"t": TREE})
    labels = KOptimize()(tree).recoding.labels["t"]  # type: ignore[union-attr]
    assert labels.text == ("p1", "*")
    assert labels.star.tolist() == [False, True]


@pytest.mark.parametrize(
    ("wrong", "match"),
    [
        ({"loss": "lm"}, "loss of the policy"),
        ({"require": [sf.KAnonymity(2), sf.DistinctLDiversity("s", 2)]}, "k-anonymity only"),
        ({"quasi": [["a"], ["b"]]}, "one set"),
        ({"levels": {"a": 1}}, "no levels"),
    ],
)
def test_what_it_refuses(wrong: dict[str, Any], match: str) -> None:
    table = {"a": [1, 2, 3, 4], "b": [1, 1, 2, 2], "s": ["x", "y", "x", "y"]}
    options: dict[str, Any] = {"quasi": ["a", "b"], "sensitive": ["s"], "require": [sf.KAnonymity(2)]}
    options |= {"loss": "discernibility", "search": KOptimize()} | wrong
    with pytest.raises(PolicyError, match=match):
        sf.anonymize(table, **options)


def test_parameters() -> None:
    assert KOptimize("classification", "income").needs == ("income",)
    assert KOptimize().needs == ()
    for wrong in (
        {"cost": "lm"}, {"cost": "classification"}, {"class_attribute": "s"}, {"seconds": 0}, {"seconds": "5"},
        {"coarsen": 0}, {"coarsen": 2.0}, {"coarsen": True}, {"cost": "classification", "class_attribute": 3},
    ):  # fmt: skip
        with pytest.raises(PolicyError):
            KOptimize(**wrong)
    with pytest.raises(Infeasible):
        KOptimize()(posed({"a": [1, 2]}, ["a"], sf.KAnonymity(3), 2, "discernibility"))
    search = KOptimize("classification", "a")
    with pytest.raises(ColumnError):
        sf.anonymize({"a": [1, 1]}, quasi=["a"], require=sf.KAnonymity(2), search=search)


def test_classification_keeps_the_split_that_tells_the_labels_apart() -> None:
    table = {"hours": [30] * 9 + [31] * 11 + [44] * 12 + [45] * 8, "class": ["N"] * 20 + ["Y"] * 20}
    release = sf.anonymize(
        table, quasi=["hours"], insensitive=["class"], require=sf.KAnonymity(15), loss="lm",
        search=KOptimize("classification", "class"), ends="exact",
    )  # fmt: skip
    assert set(release.table["hours"]) == {"[30, 31]", "[44, 45]"}
    assert release.solution.bound is None


@settings(max_examples=examples(60), deadline=None, suppress_health_check=CALM)
@given(table=tables(), k=st.integers(1, 4), suppression=st.sampled_from([0, 2, 0.3]), seen=st.booleans())
def test_nasty_tables(table: dict[str, list[Any]], k: int, suppression: float, seen: bool) -> None:
    quasi = [name for name in table if name.startswith("q")]
    try:
        release = sf.anonymize(
            table, quasi=quasi, sensitive=["s"], insensitive=[n for n in table if n not in (*quasi, "s")],
            require=sf.KAnonymity(k), suppression=suppression, loss="discernibility",
            search=KOptimize("classification", "s", 0.5) if seen else KOptimize(seconds=0.5),
        )  # fmt: skip
    except (Infeasible, ColumnError) as no:
        assert str(no)
        return
    assert release.verification.holds
    assert seen or release.solution.bound is None or release.solution.bound <= release.solution.verdict.loss


def eight(shared: Path) -> dict[str, Any]:
    quasi = [name for name in NINE if name != "occupation"]
    trees = {c: str(shared / f"data/arx/adult_hierarchy_{c}.csv") for c in quasi}
    return {"quasi": quasi, "insensitive": ["occupation"], "loss": "discernibility", "hierarchies": trees}


@pytest.mark.slow
def test_adult(shared: Path) -> None:
    table = sf.read(shared / "data/arx/adult.csv")
    options = eight(shared) | {"require": sf.KAnonymity(5)}
    release = sf.anonymize(table, search=KOptimize(seconds=5.0), **options)
    assert release.verification.holds
    levels = sf.anonymize(table, search="optimal", **options).solution
    assert release.solution.verdict.loss <= levels.verdict.loss
    assert release.solution.bound is not None
    assert release.solution.bound <= release.solution.verdict.loss
    if release.solution.optimal:
        assert release.solution.verdict.loss == 3_665_492
