"""Clustering searches: their papers' rules on small tables, brute force, other criteria, nasty tables."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.cells import classes_of
from sfumato.core.policy import Policy, holds
from sfumato.errors import Infeasible, PolicyError
from sfumato.losses import LM, NCP
from sfumato.search.clustering.clusters import ClusterSpace, boxes, lay_out
from sfumato.search.clustering.kernels import k_member, seeded
from sfumato.search.problem import CellSplit, deal, make_problem, split_cells
from tests.fuzz import FUZZ, examples, slow_but
from tests.rows import as_they_came

TREE = sf.wide([("p1", "p", "*"), ("p2", "p", "*"), ("q1", "q", "*"), ("q2", "q", "*"), ("q3", "q", "*")])
NAMES = ("k-member", "one-pass-k-means", "top-down", "bottom-up", "refined", "alpha-k-local", "auto")


def table(seed: int, rows: int) -> pl.DataFrame:
    rng = random.Random(seed)
    return pl.DataFrame(
        {
            "a": [rng.choice(["p1", "p2", "q1", "q2", "q3"]) for _ in range(rows)],
            "b": [rng.randint(20, 40) for _ in range(rows)],
            "c": [rng.choice("mf") for _ in range(rows)],
            "s": [rng.choice(["flu", "asthma", "ulcer", "cold"]) for _ in range(rows)],
        }
    )


def release(frame: pl.DataFrame, search: Any, require: Any, **more: Any) -> sf.Release:
    options = {"sensitive": ["s"], "hierarchies": {"a": TREE}, "loss": "ncp", "ends": "exact"} | more
    return sf.anonymize(frame, quasi=["a", "b", "c"], require=require, search=search, **options)


def problem(frame: pl.DataFrame, k: int, loss: Any = None) -> Any:
    policy = Policy((("a", "b", "c"),), (sf.KAnonymity(k),), 0, loss or NCP())
    return make_problem(frame, policy, {"a": TREE}, {})


@pytest.mark.parametrize("seed", range(4))
def test_the_space_costs_what_the_loss_says(seed: int) -> None:
    """The cost of boxes, summed, is the loss of the partition that they are."""
    for loss in (LM(), NCP(), LM(leaves="hierarchy"), LM(weights={"a": 2, "b": 0.5})):
        found = problem(table(seed, 30), 3, loss)
        for labels in ("ranges", "hierarchy"):
            space = ClusterSpace(found.attributes, loss, labels)
            points = space.points(found)
            of = np.random.default_rng(seed).integers(0, 5, len(points))
            of = np.unique(of, return_inverse=True)[1]
            partition = space.partition(points, of)
            by_box = (space.costs(*boxes(points, of))[of] * found.cells.count).sum() / found.rows
            weights = np.array([loss.weight(a) for a in found.attributes])
            cost = [
                (loss.cost(partition.labels[a.name])[partition.labels[a.name].of[of]] * found.cells.count).sum()
                for a in found.attributes
            ]
            assert by_box == pytest.approx((np.array(cost) * weights).sum() / found.rows, abs=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_wide_columns_cost_the_same_as_tabled_ones(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = problem(table(seed, 60).with_columns(pl.Series("b", [None, *range(59)])), 3)
    for labels in ("ranges", "hierarchy"):
        tabled = ClusterSpace(found.attributes, NCP(), labels)
        points = tabled.points(found)
        of = np.random.default_rng(seed).integers(0, 8, len(points))
        of = np.unique(of, return_inverse=True)[1]
        names = [column.attribute.name for column in tabled.columns]
        cost = tabled.costs(*boxes(points, of))
        monkeypatch.setattr("sfumato.search.clustering.clusters.LARGEST_TABLE", 1)
        wide = ClusterSpace(found.attributes, NCP(), labels)
        order = [names.index(column.attribute.name) for column in wide.columns]
        lo, hi = boxes(points[:, order], of)
        assert wide.costs(lo, hi) == pytest.approx(cost, abs=1e-5)
        monkeypatch.undo()


def plain_k_member(points: np.ndarray, cost: Any, k: int) -> list[set[int]]:
    """Byun's greedy, row by row."""
    left, clusters = list(range(len(points))), []
    last = 0
    while len(left) >= k:
        start = max(left, key=lambda i: (round(cost({last, i}), 5), -left.index(i)))
        members = {start}
        left.remove(start)
        while len(members) < k:
            last = min(left, key=lambda i: (round(cost(members | {i}), 5), left.index(i)))
            members.add(last)
            left.remove(last)
        clusters.append(members)
    return clusters


@pytest.mark.parametrize("seed", range(5))
def test_k_member_is_the_greedy_of_the_paper(seed: int) -> None:
    """The kernel's clusters cost at each step what the plain greedy's do: where no two rows tie they are the same."""
    rng = np.random.default_rng(seed)
    frame = pl.DataFrame({"x": rng.permutation(40) * 7 % 1009, "y": rng.random(40), "z": rng.random(40)})
    found = make_problem(frame, Policy((("x", "y", "z"),), (sf.KAnonymity(4),), 0, NCP()), {}, {})
    space = ClusterSpace(found.attributes, NCP())
    points = space.points(found)

    def cost(members: set[int]) -> float:
        inside = points[sorted(members)]
        return float(space.costs(inside.min(axis=0)[None], inside.max(axis=0)[None])[0])

    of = np.full(40, -1)
    k_member(points, np.arange(40), np.array([0, 40]), 0, 1, 4, np.zeros(0, np.int64), 4, of, *space.arrays)
    found_sets = [set(np.flatnonzero(of == c).tolist()) for c in range(of.max() + 1)]
    assert found_sets == plain_k_member(points, cost, 4)


def partitions(rows: list[int], k: int) -> Any:
    """All partitions into parts of at least k."""
    if not rows:
        yield []
        return
    first, rest = rows[0], rows[1:]
    for size in range(k - 1, len(rest) + 1):
        if 0 < len(rest) - size < k:
            continue
        for others in itertools.combinations(rest, size):
            part = [first, *others]
            left = [r for r in rest if r not in others]
            for more in partitions(left, k):
                yield [part, *more]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_no_clustering_is_better_than_all_partitions(seed: int) -> None:
    frame = table(seed, 8)
    found = problem(frame, 2)
    rows, _ = split_cells(found, found.rows + 1)
    space = ClusterSpace(found.attributes, NCP())
    points = space.points(rows)
    best = np.inf
    for parts in partitions(list(range(8)), 2):
        of = np.empty(8, np.int64)
        for c, part in enumerate(parts):
            of[part] = c
        best = min(best, float(space.costs(*boxes(points, of))[of].sum()) / 8 / 3)
    for name in NAMES:
        loss = release(frame, name, sf.KAnonymity(2)).solution.verdict.loss
        assert loss >= best - 1e-6
    assert release(frame, sf.Refined(rounds=60), sf.KAnonymity(2)).solution.verdict.loss == pytest.approx(
        best, abs=1e-6
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("labels", ["ranges", "hierarchy"])
def test_classes_have_k_rows_and_no_more_than_they_need(name: str, labels: str) -> None:
    frame = table(7, 101)
    search = sf.SEARCHES[name].make(**({"labels": labels} if hasattr(sf.SEARCHES[name].example, "labels") else {}))
    found = release(frame, search, sf.KAnonymity(5))
    assert found.verification.holds
    assert found.table.height == 101
    assert found.solution.verdict.suppressed == 0
    if name in ("k-member", "one-pass-k-means", "bottom-up"):
        split = found.solution.recoding.split
        sizes = np.bincount(found.solution.recoding.class_of_cell, weights=split.count)
        assert sizes.min() >= 5
        assert sizes.max() < 5 * 2 + 5


@pytest.mark.slow
@pytest.mark.parametrize("start", ["mondrian", "optimal", "k-member", "top-down", "iterated", "datafly", "genetic"])
def test_refined_is_never_worse_than_its_start(start: str) -> None:
    for seed in range(3):
        frame = table(seed, 60)
        before = release(frame, start, sf.KAnonymity(3)).solution.verdict.loss
        after = release(frame, sf.Refined(start=start, rounds=4), sf.KAnonymity(3)).solution.verdict.loss
        assert after <= before + 1e-9


def test_refined_keeps_on_improving() -> None:
    frame = table(3, 400)
    found = [release(frame, sf.Refined(rounds=n), sf.KAnonymity(4)).solution for n in (1, 10, 30, 60)]
    losses = [solution.verdict.loss for solution in found]
    assert losses[3] < losses[0]
    assert losses == sorted(losses, reverse=True)
    assert found[0].improving is None
    assert 0 < found[3].improving < losses[0] / losses[3] - 1


def test_the_same_seed_gives_the_same_classes_and_another_may_not() -> None:
    frame = table(5, 200)
    one, two = (release(frame, sf.Refined(rounds=5, seed=1), sf.KAnonymity(4)) for _ in range(2))
    assert one.table.equals(two.table)
    assert one.solution.reproducible
    timed = release(frame, sf.Refined(seconds=0.2), sf.KAnonymity(4))
    assert not timed.solution.reproducible


REQUIRE: list[Any] = [
    [sf.KAnonymity(3), sf.DistinctLDiversity("s", 2)],
    [sf.KAnonymity(3), sf.EntropyLDiversity("s", 1.8)],
    [sf.KAnonymity(3), sf.RecursiveCLDiversity("s", 2, 2)],
    [sf.AlphaK(0.5, 3, "s")],
    [sf.KAnonymity(3), sf.TCloseness("s", 0.4)],
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("require", slow_but(range(len(REQUIRE)), 0))
def test_every_criterion(name: str, require: int) -> None:
    for seed in range(FUZZ):
        found = release(table(seed, 80), name, REQUIRE[require])
        assert found.verification.holds
        assert found.table.height == 80


def test_rows_of_a_cell_are_dealt_by_what_else_is_released_of_them() -> None:
    split = CellSplit(np.array([0, 0, 1]), np.array([1, 2, 1]))
    assert deal(np.array([0, 1, 0, 0]), split, np.zeros(4, np.int64)).tolist() == [0, 2, 1, 1]
    halves = CellSplit(np.array([0, 0]), np.array([4, 4]))
    alike = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    assert np.bincount(alike * 2 + deal(np.zeros(8, np.int64), halves, alike)).tolist() == [2, 2, 2, 2]
    many = np.arange(8)
    places = np.random.default_rng(0).permutation(8)
    assert (
        deal(np.zeros(8, np.int64), halves, many[places]).tolist()
        == deal(np.zeros(8, np.int64), halves, many)[places].tolist()
    )


def test_a_split_cell_keeps_its_sensitive_values_apart() -> None:
    """Rows alike in everything but the sensitive value may be dealt to different classes, never mixed up."""
    frame = pl.DataFrame({"x": [1, 1, 1, 1, 9, 9], "s": ["a", "a", "b", "b", "a", "b"], "row": range(6)})
    found = sf.anonymize(
        frame, quasi=["x"], sensitive=["s"], require=[sf.KAnonymity(2), sf.DistinctLDiversity("s", 2)], search="refined"
    )
    there = as_they_came(found)
    assert there["s"].to_list() == frame["s"].to_list()
    assert there["row"].to_list() == list(range(6))
    assert found.verification.holds


def jobs() -> pl.DataFrame:
    rows = [
        ("cat1", "1975", "4350", "HIV"),
        ("cat1", "1955", "4350", "HIV"),
        ("cat1", "1955", "5432", "flu"),
        ("cat1", "1955", "5432", "fever"),
        ("cat2", "1975", "4350", "flu"),
        ("cat2", "1975", "4350", "fever"),
    ]
    return pl.DataFrame(rows, schema=["job", "birth", "postcode", "illness"], orient="row")


def blanked(found: sf.Release) -> int:
    stars = found.table.select(pl.col("job", "birth", "postcode").cast(pl.String) == "*")
    return int(sum(stars[c].sum() for c in stars.columns))


FLAT = {"job": sf.flat(), "birth": sf.flat(), "postcode": sf.flat()}


def test_the_hiv_pair_must_break_up() -> None:
    """The classic table: 2-anonymous with two cells suppressed, which leaves HIV, HIV; (0.5, 2) takes six cells."""
    options: dict[str, Any] = {"quasi": ["job", "birth", "postcode"], "sensitive": ["illness"], "hierarchies": FLAT}
    options["search"] = sf.Refined(labels="hierarchy", rounds=40)
    loose = sf.anonymize(jobs(), require=sf.KAnonymity(2), **options)
    assert blanked(loose) == 2
    assert not sf.verify(loose.table, quasi=options["quasi"], require=sf.AlphaK(0.5, 2, "illness")).holds
    strict = sf.anonymize(jobs(), require=sf.AlphaK(0.5, 2, "illness"), **options)
    assert strict.verification.holds
    assert blanked(strict) == 6
    local = sf.anonymize(jobs(), require=sf.AlphaK(0.5, 2, "illness"), **options | {"search": "alpha-k-local"})
    assert local.verification.holds
    assert blanked(local) >= 6


def test_the_whole_table_must_satisfy() -> None:
    frame = table(1, 20).with_columns(pl.lit("flu").alias("s"))
    for name in NAMES:
        with pytest.raises(Infeasible):
            release(frame, name, sf.DistinctLDiversity("s", 2))


def test_refusals() -> None:
    frame = table(1, 20)
    for name in ("k-member", "refined", "alpha-k-local", "top-down"):
        with pytest.raises(PolicyError, match="set"):
            sf.anonymize(frame, quasi=[["a"], ["b"]], rest="release", require=sf.KAnonymity(2), search=name)
        with pytest.raises(PolicyError, match="levels"):
            release(frame, name, sf.KAnonymity(2), levels={"b": (1, 2)})
    for wrong in ({"block": 1}, {"block": True}, {"labels": "words"}):
        with pytest.raises(PolicyError):
            sf.KMember(**wrong)
    for wrong in ({"rounds": 0}, {"seconds": 0}, {"seed": -1}, {"start": "nothing"}):
        with pytest.raises(PolicyError):
            sf.Refined(**wrong)


NASTY = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1), st.sampled_from([0, 1, 2, 3]), st.integers(0, 5))
WORDS = st.one_of(st.none(), st.text(max_size=3), st.sampled_from(["a", "b", "ä", "", "*", "[1, 2]"]))


@settings(max_examples=examples(40), deadline=None)
@given(
    rows=st.lists(
        st.tuples(NASTY, WORDS, st.floats(width=32) | st.none(), st.sampled_from("uvw")), min_size=1, max_size=25
    ),
    k=st.integers(1, 6),
    name=st.sampled_from(NAMES),
    diverse=st.booleans(),
)
def test_nasty_tables_end_verified_or_in_an_error(rows: Any, k: int, name: str, diverse: bool) -> None:
    frame = pl.DataFrame(rows, schema={"x": pl.Int64, "y": pl.String, "z": pl.Float64, "s": pl.String}, orient="row")
    require = [sf.KAnonymity(k), *([sf.DistinctLDiversity("s", 2)] if diverse else [])]
    try:
        found = sf.anonymize(frame, quasi=["x", "y", "z"], sensitive=["s"], require=require, search=name)
    except (Infeasible, sf.errors.SfumatoError) as no:
        assert not isinstance(no, sf.errors.BrokenPromise)
        return
    assert found.verification.holds
    assert sf.verify(found.table, quasi=["x", "y", "z"], require=require).holds


@pytest.mark.slow
def test_many_rows_in_blocks() -> None:
    """Blocks, windows and threads: the classes are the same however many rows there are to a block."""
    rng = np.random.default_rng(0)
    n = 20_000
    frame = pl.DataFrame({"x": rng.integers(0, 2000, n), "y": rng.integers(0, 700, n), "z": rng.choice(list("abc"), n)})
    for search in (sf.KMember(block=500), sf.BottomUp(block=50), sf.OnePassKMeans(block=500), sf.Refined(rounds=2)):
        found = sf.anonymize(frame, quasi=["x", "y", "z"], require=sf.KAnonymity(5), search=search)
        assert found.verification.classes[0]["smallest"] >= 5


def test_a_field_knows_what_is_a_class_already() -> None:
    frame = pl.DataFrame({"x": [1] * 5 + [2, 3, 4]})
    field = lay_out(make_problem(frame, Policy((("x",),), (sf.KAnonymity(3),), 0, NCP()), {}, {}), "k-member")
    assert field.whole.tolist() == [True, False, False, False]
    everything = classes_of(field.problem.cells, np.zeros(4, np.int32), 1)
    assert holds(field.problem.policy.require, everything).tolist() == [True]
    assert seeded(1, 2) != seeded(2, 1)


def test_refined_prints_as_asked_and_refuses_wildcards() -> None:
    frame = table(2, 120)
    tree = sf.intervals(5, 10)
    options: dict[str, Any] = {"hierarchies": {"a": TREE, "b": tree}}
    found = release(frame, sf.Refined(start="mondrian", labels="hierarchy", rounds=1), sf.KAnonymity(3), **options)
    assert not any("[" in text and "]" in text for text in found.table["b"].cast(pl.String))
    with pytest.raises(PolicyError, match="wildcard"):
        sf.Refined(start=sf.MinimalSuppression(rule="wildcard"))


def test_a_start_may_be_named_with_its_parameters() -> None:
    made = sf.Refined(start={"name": "mondrian", "cut": "best"})
    assert made.start == sf.Mondrian(cut="best")
    assert sf.Refined(start={"method": "k-member", "block": 500}).start == sf.KMember(block=500)
    with pytest.raises(PolicyError, match="unknown parameter"):
        sf.Refined(start={"name": "mondrian", "colour": "red"})


@pytest.mark.slow
def test_the_default_is_good_on_continuous_columns_too() -> None:
    rng = np.random.default_rng(0)
    frame = pl.DataFrame({"x": rng.normal(size=5000), "y": rng.normal(size=5000)})
    loss = {
        name: sf.anonymize(frame, quasi=["x", "y"], k=2, search=name, labels="ranges").solution.verdict.loss
        for name in ("auto", "mondrian", "iterated")
    }
    assert loss["auto"] < loss["mondrian"]
    assert loss["auto"] < loss["iterated"]


def test_suppressed_rows_of_the_first_search_leave_no_gap() -> None:
    """Numbers of clusters with gaps would make the kernels read beyond their arrays."""
    for seed in range(4):
        found = release(table(seed, 90), sf.Refined(start="optimal", rounds=2), sf.KAnonymity(4), suppression=0.3)
        assert found.verification.holds
