"""Iterated lattice recoding: below ARX on Adult, never above the best level vector, never below the best partition."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.lattice import lattice
from sfumato.search.iterated.iterated import Iterated
from sfumato.search.iterated.nodes import LabelCosts, nodes_by_cost
from sfumato.search.lattice.kernels import group_cells
from sfumato.search.lattice.optimal import Optimal
from sfumato.search.problem import Levels, Partition, Problem, Solution, judge
from tests.conformance.test_anonymize_then_verify import CALM, smallest_class, tables
from tests.fuzz import examples
from tests.search.lattices import NINE, posed, problems
from tests.search.test_lightning import wide

VARIANTS = st.builds(
    Iterated,
    share=st.sampled_from([None, None, 0.05, 0.5, 1.0]),
    labels=st.sampled_from(["hierarchy", "ranges"]),
)


def adult(shared: Path, k: int = 5, loss: Any = None, without: str = "") -> Problem:
    table = sf.read(shared / "data/arx/adult.csv")
    quasi = [name for name in NINE if name != without]
    trees = {c: str(shared / f"data/arx/adult_hierarchy_{c}.csv") for c in quasi}
    return posed(
        table, quasi, sf.KAnonymity(k), 0, loss or sf.LM(leaves="hierarchy", aggregate="geometric"), trees
    )  # fmt: skip


def solve(search: Any, problem: Problem) -> Solution | None:
    try:
        return search(problem)
    except sf.errors.Infeasible as no:
        assert "suppressed" in no.closest
        return None


def columns_of(problem: Problem, recoding: Any) -> list[Any]:
    """Labels and label of each cell of a partition, for judge."""
    labels = [recoding.labels[a.name] for a in problem.attributes]
    return [(label, label.of[recoding.class_of_cell]) for label in labels]


def same(one: Solution, other: Solution) -> bool:
    """Whether two solutions print the same."""
    if isinstance(one.recoding, Levels) or isinstance(other.recoding, Levels):
        return one.levels == other.levels
    first, second = (
        [[labels.text[i] for i in labels.of[found.recoding.class_of_cell]] for labels in found.recoding.labels.values()]
        for found in (one, other)
    )
    return first == second and bool((one.kept == other.kept).all())


@settings(max_examples=examples(120), suppress_health_check=CALM, deadline=None)
@given(problem=problems(), search=VARIANTS)
def test_never_worse_than_the_best_level_vector(problem: Problem, search: Iterated) -> None:
    """Any criteria, losses and bounds: it satisfies, repeats, and loses no more than Optimal; both refuse alike."""
    if len(problem.sets) > 1:
        with pytest.raises(sf.errors.PolicyError, match="one set"):
            search(problem)
        return
    if isinstance(problem.policy.loss, sf.Height):
        try:
            assert search(problem).levels is not None or search(problem).verdict.satisfied
        except (sf.errors.PolicyError, sf.errors.Infeasible):
            return
    best, found = solve(Optimal(), problem), solve(search, problem)
    if best is not None:
        assert found is not None
        assert found.verdict.loss <= best.verdict.loss + 1e-9
    if found is None:
        return
    assert found.verdict.satisfied
    assert found.reproducible
    assert not found.optimal
    assert found.verdict.suppressed == problem.cells.count[~found.kept].sum() <= problem.limit
    again = search(problem)
    assert same(found, again)
    if isinstance(found.recoding, Partition):
        kept, verdict, _ = judge(problem, columns_of(problem, found.recoding))
        assert (kept == found.kept).all()
        assert verdict.loss == pytest.approx(found.verdict.loss, abs=1e-12)


@settings(max_examples=examples(80), suppress_health_check=CALM, deadline=None)
@given(problem=problems(more=st.just([])), search=VARIANTS)
def test_levels_are_respected(problem: Problem, search: Iterated) -> None:
    if len(problem.sets) > 1 or isinstance(problem.policy.loss, sf.Height):
        return
    found = solve(search, problem)
    if found is None or not isinstance(found.recoding, Partition):
        return
    for i, a in enumerate(problem.attributes):
        labels = found.recoding.labels[a.name]
        number = labels.of[found.recoding.class_of_cell]
        covers = (labels.lo[number] <= problem.cells.codes[i]) & (problem.cells.codes[i] <= labels.hi[number])
        assert covers[found.kept].all()
        if a.name in problem.levels:
            low, high = problem.levels[a.name]
            assert labels.fixed_level is not None
            assert (low <= labels.fixed_level[number[found.kept]]).all()
            assert (labels.fixed_level[number[found.kept]] <= high).all()


def partitions(items: list[int]) -> Iterator[list[list[int]]]:
    """All partitions of a few items."""
    if not items:
        yield []
        return
    for rest in partitions(items[1:]):
        yield [[items[0]], *rest]
        for i, part in enumerate(rest):
            yield [*rest[:i], [items[0], *part], *rest[i + 1 :]]


def least_loss(problem: Problem, k: int) -> float:
    """The least LM of all partitions of the cells with up to the limit suppressed, by plain counting."""
    cells, rows = problem.cells, problem.rows

    def cost(part: list[int]) -> float:
        x = 0.0
        for i, a in enumerate(problem.attributes):
            codes = cells.codes[i, part]
            level = next(up for up in a.ladder.of if len(set(up[codes].tolist())) == 1)
            if len(a.categories) > 1:
                x += (int((level == level[codes[0]]).sum()) - 1) / (len(a.categories) - 1)
        return x / len(problem.attributes)

    best = np.inf
    for parts in partitions(list(range(len(cells)))):
        size = [int(cells.count[part].sum()) for part in parts]
        small = sum(n for n in size if n < k)
        if small <= problem.limit and small < rows:
            total = sum(n * (cost(part) if n >= k else 1.0) for n, part in zip(size, parts, strict=True))
            best = min(best, total / rows)
    return best


@settings(max_examples=examples(60), suppress_health_check=CALM, deadline=None)
@given(
    rows=st.lists(st.tuples(st.sampled_from(["a1", "a2", "b1", "b2"]), st.sampled_from("xyz")), min_size=1, max_size=9),
    k=st.integers(1, 4),
    suppression=st.sampled_from([0, 0, 1, 3]),
    search=VARIANTS,
)
def test_never_better_than_the_best_partition(
    rows: list[tuple[str, str]], k: int, suppression: int, search: Iterated
) -> None:
    trees = {"a": sf.wide([(v, v[0], "*") for v in ("a1", "a2", "b1", "b2")]), "b": sf.flat()}
    table = {"a": [a for a, _ in rows], "b": [b for _, b in rows]}
    problem = posed(table, ["a", "b"], sf.KAnonymity(k), suppression, "lm", trees)
    if len(problem.cells) > 7:
        return
    best, found = least_loss(problem, k), solve(search, problem)
    assert (found is None) == (best == np.inf)
    if found is not None:
        assert found.verdict.loss >= best - 1e-9


@settings(max_examples=examples(80), suppress_health_check=CALM, deadline=None)
@given(table=tables(), k=st.integers(1, 4), suppression=st.sampled_from([0, 1, 0.3, 1.0]), search=VARIANTS)
def test_whatever_the_table(table: dict[str, list[Any]], k: int, suppression: float, search: Iterated) -> None:
    names = [name for name in table if name.startswith("q")]
    frame = {name: table[name] for name in names}
    try:
        release = sf.anonymize(frame, quasi=names, require=sf.KAnonymity(k), search=search, suppression=suppression)
    except (sf.errors.Infeasible, sf.errors.ColumnError) as no:
        assert str(no)
        return
    assert release.verification.holds
    assert smallest_class(release.table, names) >= k


@settings(max_examples=examples(80), suppress_health_check=CALM, deadline=None)
@given(
    rows=st.lists(st.tuples(st.integers(0, 9), st.sampled_from("uvwxyz")), min_size=4, max_size=20),
    k=st.integers(2, 4),
    suppression=st.integers(1, 4),
    search=VARIANTS,
)
def test_suppressed_values_do_not_show(rows: list[tuple[int, str]], k: int, suppression: int, search: Iterated) -> None:
    """Learned labels are made of values: none of a value that only suppressed rows have."""
    table = {"n": [n for n, _ in rows], "t": [f"value-{t}" for _, t in rows]}
    try:
        release = sf.anonymize(
            table, quasi=["n", "t"], require=sf.KAnonymity(k), search=search, suppression=suppression
        )
    except sf.errors.Infeasible:
        return
    if release.table.height == len(rows):
        return
    solution = release.solution
    if isinstance(solution.recoding, Partition):
        codes = release.cell_codes[1, solution.kept]
        gone = set(range(len(set(table["t"])))) - set(codes.tolist())
        assert not gone
    printed = " ".join(str(text) for text in release.table["t"].to_list())
    there = {release.microdata.attribute("t").categories.text[i] for i in release.cell_codes[1, solution.kept].tolist()}
    assert all(value in there or value not in printed for value in set(table["t"]))


@pytest.mark.slow
def test_adult(shared: Path) -> None:
    """Nine columns, nothing suppressed: ARX reaches 0.0577 in 4.0 s and 0.0531 in 18.8 s."""
    problem = adult(shared)
    Iterated()(problem)  # compiles
    found = Iterated()(problem)
    assert found.verdict.satisfied
    assert found.verdict.suppressed == 0
    assert found.verdict.loss < 0.0500
    assert Iterated(labels="ranges")(problem).verdict.loss < 0.0415
    rounds = Iterated(share=0.05)(problem)
    assert found.verdict.loss < rounds.verdict.loss < 0.0531
    assert isinstance(rounds.recoding, Partition)
    assert isinstance(found.recoding, Partition)
    assert len(level_vectors(rounds)) < len(level_vectors(found))
    assert Iterated(share=0.05, rounds=3)(problem).verdict.loss > rounds.verdict.loss


def level_vectors(solution: Solution) -> set[tuple[int, ...]]:
    assert isinstance(solution.recoding, Partition)
    levels = [labels.level[labels.of] for labels in solution.recoding.labels.values()]
    return set(zip(*(level.tolist() for level in levels), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(("k", "gcp"), [(2, 0.0135), (10, 0.0500), (100, 0.1420)])
def test_adult_without_occupation(shared: Path, k: int, gcp: float) -> None:
    found = Iterated()(adult(shared, k, "ncp", "occupation"))
    assert found.verdict.satisfied
    assert found.verdict.loss < gcp


@pytest.mark.slow
@pytest.mark.parametrize(
    "criterion",
    [
        sf.DistinctLDiversity("occupation", 3),
        sf.EntropyLDiversity("occupation", 2.5),
        sf.TCloseness("occupation", 0.3),
    ],
)
def test_criteria_on_adult(shared: Path, criterion: Any) -> None:
    """Criteria that look inside the classes, through the verb, which verifies."""
    table = sf.read(shared / "data/arx/adult.csv").sample(3000, seed=1)
    quasi = ["sex", "age", "race", "marital-status", "education"]
    trees = {c: str(shared / f"data/arx/adult_hierarchy_{c}.csv") for c in quasi}
    options = {"quasi": quasi, "sensitive": ["occupation"], "rest": "release", "require": [sf.KAnonymity(5), criterion]}
    release = sf.anonymize(table, **options, hierarchies=trees, search="iterated")
    best = sf.anonymize(table, **options, hierarchies=trees, search="optimal")
    assert release.verification.holds
    assert release.table.height == table.height
    assert release.solution.verdict.loss < best.solution.verdict.loss


def test_range_is_narrow() -> None:
    """Ages as the range of the values in a class, others by their hierarchy."""
    table = {"age": [31, 32, 33, 58, 59, 59], "job": ["p1", "p2", "p1", "q1", "q2", "q2"]}
    trees = {"age": sf.intervals(20, 40), "job": sf.wide([(v, v[0], "*") for v in ("p1", "p2", "q1", "q2")])}
    options = {"quasi": ["age", "job"], "require": sf.KAnonymity(3), "hierarchies": trees, "ends": "exact"}
    release = sf.anonymize(table, **options, search=Iterated(labels="ranges"))
    assert release.table["age"].unique(maintain_order=True).to_list() == ["[31, 33]", "[58, 59]"]
    assert release.table["job"].unique(maintain_order=True).to_list() == ["p", "q"]


def test_few_left_over_join() -> None:
    """One row of its own joins a class where nothing may be suppressed, and stays out where that loses less."""
    tree = {"a": sf.wide([("x", "x1", "*"), ("y", "x1", "*"), ("z", "z1", "*")])}
    table = {"a": ["x"] * 50 + ["y"] * 3 + ["z"]}
    joined = sf.anonymize(table, quasi=["a"], require=sf.KAnonymity(2), hierarchies=tree, search="iterated")
    assert joined.table["a"].value_counts().sort("a").rows() == [("*", 4), ("x", 50)]
    without = sf.anonymize(
        table, quasi=["a"], require=sf.KAnonymity(2), hierarchies=tree, search="iterated", suppression=1
    )
    assert without.table["a"].value_counts().sort("a").rows() == [("x", 50), ("y", 3)]


@pytest.mark.slow
def test_lattice_too_large_to_list() -> None:
    """Chains through a large lattice: verified, repeatable, and far below the best level vectors found."""
    table = wide(1_000, 20)
    options = {"quasi": table.columns, "require": sf.KAnonymity(5), "suppression": 0.02}
    one = sf.anonymize(table, **options, search="iterated")
    two = sf.anonymize(table, **options, search="iterated")
    other = sf.anonymize(table, **options, search=sf.Lightning(nodes=300))
    assert one.verification.holds
    assert one.solution.reproducible
    assert one.table.equals(two.table)
    assert one.solution.verdict.loss < other.solution.verdict.loss


def test_keys_wider_than_64_bits() -> None:
    """Groups by keys that would wrap are the groups by all columns."""
    rng = np.random.default_rng(5)
    codes = rng.integers(0, 2, (40, 300)).astype(np.int32) * 1000
    codes[:, 150:] = codes[:, :150]
    maps = np.arange(1001, dtype=np.int32)
    at, size = np.zeros(40, np.int64), np.full(40, 1001)
    slot, rows, keys = np.empty(300, np.uint64), np.empty(1200, np.int64), np.empty(1200, np.uint64)
    group_cells(codes, np.ones(300, np.int64), 300, maps, at, size, slot, rows, keys)
    assert (slot[:150] == slot[150:]).all()
    assert len(set(slot.tolist())) == len({tuple(column) for column in codes.T.tolist()})
    assert (rows[slot] == 2).all()


def test_nodes_rise_to_the_top() -> None:
    for columns in (3, 12):
        table = wide(200, columns)
        problem = posed(table, table.columns, sf.KAnonymity(2))
        space, costs = lattice(problem.attributes, {}), LabelCosts.of(problem, problem.attributes)
        nodes = nodes_by_cost(space, costs)
        assert tuple(nodes[-1]) == space.greatest
        assert len(np.unique(nodes, axis=0)) == len(nodes) == (space.size if columns == 3 else len(nodes))
        mean = costs.of_nodes(costs.mean, nodes)
        assert (np.diff(mean) >= 0).all()


@pytest.mark.slow
def test_time_limit() -> None:
    table = wide(5_000, 8)
    problem = posed(table, table.columns, sf.KAnonymity(5))
    found = Iterated(seconds=1e-6)(problem)
    assert found.verdict.satisfied
    assert found.verdict.suppressed == 0
    assert not found.reproducible
    assert found.verdict.loss >= Iterated()(problem).verdict.loss


def test_progress_rises() -> None:
    said: list[float] = []
    table = wide(1_000, 5)
    sf.anonymize(
        table, quasi=table.columns, require=sf.KAnonymity(4), search="iterated",
        progress=lambda message, share: said.append(share) if message == "releasing classes" else None,
    )  # fmt: skip
    assert len(said) > 3
    assert said == sorted(said)
    assert said[-1] <= 1


def test_infeasible() -> None:
    with pytest.raises(sf.errors.Infeasible) as no:
        Iterated()(posed({"a": ["x", "y"]}, ["a"], sf.KAnonymity(3)))
    assert no.value.closest["suppressed"] == 2


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"seconds": 0}, "seconds"),
        ({"share": 0}, "share"),
        ({"share": 1.5}, "share"),
        ({"share": 0.1, "rounds": 0}, "rounds"),
        ({"rounds": 3}, "share"),
        ({"labels": "mean"}, "ranges, hierarchy"),
    ],
)
def test_parameters(wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(sf.errors.PolicyError, match=said):
        Iterated(**wrong)


def test_every_row_as_it_is_where_nothing_is_required() -> None:
    table = pl.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "z"]})
    release = sf.anonymize(table, quasi=["a", "b"], require=sf.KAnonymity(1), search="iterated")
    assert release.table.equals(table)
    assert list(itertools.chain(*release.table.rows())) == [1, "x", 2, "y", 3, "z"]
