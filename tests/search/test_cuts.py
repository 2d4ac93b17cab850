"""Cuts: every valid one and no other, and what the kernels find of a cut is what judge finds."""

from __future__ import annotations

import itertools
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.core.labels import at_level
from sfumato.errors import PolicyError
from sfumato.search.cuts import cuts
from sfumato.search.cuts.annealing import Annealing
from sfumato.search.cuts.cuts import CutSpace, Trials, by_gaps, by_tree
from sfumato.search.cuts.genetic import Genetic
from sfumato.search.cuts.kernels import BRED, MOVED, MUTATIONS, breed, move
from sfumato.search.problem import Problem, judge, same_print
from tests.fuzz import examples
from tests.search.lattices import posed, problems

CALM = list(HealthCheck)
TREE = sf.wide([(v, v[0], "ab" if v[0] in "ab" else "c", "*") for v in ("a1", "a2", "b1", "b2", "c1")])
LOSSES = [
    "lm", "ncp", "precision", "non-uniform-entropy", "discernibility", "c-avg",
    *[sf.LM(aggregate=how, weights={"a": 3.0}) for how in ("sum", "geometric", "maximum")],
]  # fmt: skip


def trials(problem: Problem, gaps: int = 128) -> Trials:
    with ThreadPoolExecutor(1) as pool:
        return Trials(problem, gaps, pool)


def random_cuts(space: CutSpace, count: int, seed: int = 0) -> np.ndarray:
    """Valid bits: those that need a bit which is not set are cleared."""
    rng = np.random.default_rng(seed)
    bits = (rng.random((count, space.bits)) < rng.random((count, 1))).astype(np.uint8)
    for b, up in enumerate(space.moves.up):
        if up >= 0:
            bits[:, b] &= bits[:, up]
    return bits


def is_valid(space: CutSpace, bits: np.ndarray) -> bool:
    return all(up < 0 or bits[up] or not bits[b] for b, up in enumerate(space.moves.up))


def groups(labels: Any) -> frozenset[frozenset[int]]:
    """The codes that share a label."""
    return frozenset(frozenset(np.flatnonzero(labels.of == one).tolist()) for one in np.unique(labels.of))


def table(rows: int, seed: int, missing: bool = False) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    values = ["a1", "a2", "b1", "b2", "c1"]
    found = pl.DataFrame(
        {
            "a": rng.choice(values, rows),
            "b": rng.integers(0, 12, rows),
            "c": rng.choice(list("xyz"), rows),
            "s": rng.choice(list("pqr"), rows),
        }
    )
    empty = pl.Series(rng.random(rows) < 0.15)
    return found.with_columns(pl.when(empty).then(None).otherwise(pl.col("b")).alias("b")) if missing else found


def subtrees(of: np.ndarray, level: int, codes: tuple[int, ...]) -> set[frozenset[frozenset[int]]]:
    """All ways to cut a hierarchy below one of its nodes."""
    found = {frozenset([frozenset(codes)])}
    if level > 0:
        children = {label: tuple(c for c in codes if of[level - 1, c] == label) for label in of[level - 1, list(codes)]}
        ways = [subtrees(of, level - 1, child) for child in children.values()]
        found |= {frozenset().union(*parts) for parts in itertools.product(*ways)}
    return found


def every_way(column: cuts.Column) -> list[np.ndarray]:
    strings = (np.array(bits, dtype=np.uint8) for bits in itertools.product((0, 1), repeat=len(column.up)))
    return [b for b in strings if all(up < 0 or b[up] or not b[i] for i, up in enumerate(column.up))]


def test_tree_has_every_cut_once() -> None:
    problem = posed({"a": ["a1", "a2", "b1", "b2", "c1"]}, ["a"], sf.KAnonymity(2), hierarchies={"a": TREE})
    (attribute,) = problem.attributes
    column = by_tree(attribute, 0, attribute.ladder.height)
    found = [groups(column.labels(bits)) for bits in every_way(column)]
    expected = subtrees(attribute.ladder.of, attribute.ladder.height, tuple(range(5)))
    assert len(found) == len(set(found)) == column.cuts == 6  # root | ab c | and a, b whole or not
    assert set(found) == expected


def test_tree_of_a_label_is_its_lowest_node() -> None:
    problem = posed({"a": ["a1", "a2", "c1"]}, ["a"], sf.KAnonymity(2), hierarchies={"a": TREE})
    column = by_tree(problem.attributes[0], 0, 3)
    assert sorted(column.labels(np.array([0], dtype=np.uint8)).text) == ["*"]
    assert sorted(column.labels(np.array([1, 0], dtype=np.uint8)).text) == ["a", "c1"]  # not "ab", not "c"


def test_level_bounds_hold() -> None:
    problem = posed(
        {"a": ["a1", "a2", "b1", "b2", "c1"]}, ["a"], sf.KAnonymity(2), hierarchies={"a": TREE}, levels={"a": (1, 2)}
    )
    space = CutSpace(problem, 128)
    texts = {tuple(sorted(space.columns[0].labels(bits).text)) for bits in every_way(space.columns[0])}
    assert texts == {("ab", "c"), ("a", "b", "c")}


def test_gaps_have_every_interval() -> None:
    problem = posed({"b": [1, 2, 4, 8]}, ["b"], sf.KAnonymity(2))
    column = by_gaps(problem.attributes[0], 128)
    texts = {column.labels(bits).text for bits in every_way(column)}
    assert len(texts) == column.cuts == 8
    assert ("[1, 2]", "[4, 8]") in texts
    assert ("[1, 8]",) in texts


def test_many_values_are_cut_at_quantiles() -> None:
    numbers = [None, None, *range(500)]
    problem = posed({"b": numbers}, ["b"], sf.KAnonymity(2))
    column = by_gaps(problem.attributes[0], 9)
    assert len(column.up) <= 9
    labels = column.labels(np.ones(len(column.up), np.uint8))
    assert labels.text[labels.of[-1]] is None  # missing values can be apart
    assert np.bincount(labels.of)[:-1].max() <= 2 * 500 / 9
    assert by_gaps(problem.attributes[0], 1000).cuts == 2.0**500


@settings(max_examples=examples(60), deadline=None, suppress_health_check=CALM)
@given(problem=problems())
def test_levels_are_cuts(problem: Problem) -> None:
    space = CutSpace(problem, 128)
    for node in itertools.product(
        *(range(low, high + 1) for low, high in zip(space.lattice.least, space.lattice.greatest, strict=True))
    ):
        bits = space.at_levels(node)
        assert is_valid(space, bits)
        for (labels, _), attribute, level in zip(space.labels(bits), problem.attributes, node, strict=True):
            assert groups(labels) == groups(at_level(attribute, level))


@pytest.mark.slow
@pytest.mark.parametrize("loss", LOSSES, ids=str)
@pytest.mark.parametrize("suppression", [0, 12, 200])
def test_kernels_agree_with_judge(loss: Any, suppression: int) -> None:
    problem = posed(
        table(200, 1, missing=True), ["a", "b", "c"], sf.KAnonymity(4), suppression, loss, {"a": TREE, "c": sf.flat()}
    )
    agree(problem, 60)


@pytest.mark.slow
@pytest.mark.parametrize(
    "more",
    [sf.EntropyLDiversity("s", 2), sf.TCloseness("s", 0.2), sf.AlphaK(0.6, 3, "s"), sf.DistinctLDiversity("s", 3)],
    ids=lambda c: c.model,
)
@pytest.mark.parametrize("loss", ["lm", "discernibility"])
@pytest.mark.parametrize("quasi", [["a", "b", "c"], [["a", "b"], ["b", "c"]]], ids=["one set", "two sets"])
def test_settling_agrees_with_judge(more: Any, loss: str, quasi: Any) -> None:
    problem = posed(table(120, 2), quasi, [sf.KAnonymity(3), more], 30, loss, {"a": TREE})
    agree(problem, 40)


def test_wide_keys_agree_with_judge() -> None:
    rng = np.random.default_rng(3)
    wide = pl.DataFrame({f"q{i:02}": rng.integers(0, 12, 90) for i in range(26)})
    problem = posed(wide, wide.columns, sf.KAnonymity(2), 60)
    found = trials(problem)
    fine = np.ones((1, found.space.bits), np.uint8)
    found.weigh(fine)
    parts = [int(n) for n in found.work[1].parts]
    assert math.prod(parts) > 2**62  # keys are numbered on the way
    few = posed(wide, wide.columns[:6], sf.KAnonymity(2), 60)
    found = trials(few)
    found.weigh(np.ones((1, found.space.bits), np.uint8))
    assert len(found.work[1].rows) < math.prod(int(n) for n in found.work[1].parts) < 2**62  # one hash
    agree(problem, 30)
    agree(few, 30)


@pytest.mark.parametrize("loss", ["lm", "non-uniform-entropy"])
def test_quantiles_agree_with_judge(loss: str) -> None:
    problem = posed(table(300, 4, missing=True), ["a", "b", "c"], sf.KAnonymity(4), 60, loss, {"a": TREE})
    assert len(trials(problem, 4).sheet.count) < len(problem.cells)  # cells of the same leaves are one
    agree(problem, 40, 4)


def agree(problem: Problem, count: int, gaps: int = 128) -> None:
    """What `weigh` says of random cuts is what judge says of their labels."""
    found = trials(problem, gaps)
    bits = random_cuts(found.space, count)
    value, over = found.weigh(bits)
    assert found.checks == count
    valid = 0
    for b in range(count):
        _, verdict, _ = judge(problem, found.space.labels(bits[b]))
        assert (over[b] == 0) == verdict.satisfied
        if verdict.satisfied:
            valid += 1
            assert value[b] == pytest.approx(verdict.loss, rel=1e-12, abs=1e-12)
    if valid:
        best = min(v for v, o in zip(value, over, strict=True) if o == 0)
        assert found.best[-1][0] == best
    assert valid or problem.limit == 0


def test_a_bar_saves_counting() -> None:
    problem = posed(table(200, 1), ["a", "b", "c"], sf.KAnonymity(4), 40, "lm", {"a": TREE})
    found = trials(problem)
    bits = random_cuts(found.space, 50)
    value, _ = found.weigh(bits)
    again = trials(problem)
    barred, over = again.weigh(bits, 0.5)
    assert 0 < again.checks < 50
    assert (value[over < 0] > 0.5).all()
    assert (barred[over == 0] == value[over == 0]).all()


def test_halves_are_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is found does not depend on how many threads look."""
    problem = posed(table(300, 5), ["a", "b", "c"], sf.KAnonymity(4), 40, "lm", {"a": TREE})
    results = []
    for worth in (1, 10**9):
        monkeypatch.setattr(cuts, "WORTH_A_THREAD", worth)
        with ThreadPoolExecutor(1) as pool:
            found = Trials(problem, 128, pool)
            results.append(found.weigh(random_cuts(found.space, 41)))
    assert np.array_equal(results[0], results[1])


@settings(max_examples=examples(60), deadline=None, suppress_health_check=CALM)
@given(problem=problems(), seed=st.integers(0, 1000))
def test_moves_and_children_are_valid(problem: Problem, seed: int) -> None:
    space = CutSpace(problem, 128)
    if not space.bits:
        return
    rng = np.random.default_rng(seed)
    people = random_cuts(space, 12, seed)
    met = set()
    for bits in people:
        for _ in range(20):
            move(bits, rng.random(MOVED), 0, space.moves)
            assert is_valid(space, bits)
            met.add(bits.tobytes())
    assert len(met) > 1 or space.cuts == 1
    children = np.empty((30, space.bits), np.uint8)
    draws = rng.random((30, BRED + MUTATIONS * (1 + MOVED) + 1))
    breed(people, np.arange(12), draws, 1.8, 0.8, 0.6, space.moves, children)
    assert all(is_valid(space, child) for child in children)
    for labels, _ in space.labels(children[0]):  # each code has one label, and labels of a cut print apart
        assert len(set(same_print(labels)[labels.of].tolist())) == len(labels.text)


def test_crossing_between_columns_takes_whole_columns() -> None:
    problem = posed(table(200, 1), ["a", "b", "c"], sf.KAnonymity(4), 0, "lm", {"a": TREE, "c": sf.flat()})
    space = CutSpace(problem, 128)
    people = np.stack([space.top, np.ones(space.bits, np.uint8)])
    draws = np.random.default_rng(0).random((200, BRED + MUTATIONS * (1 + MOVED) + 1))
    draws[:, 2], draws[:, 5], draws[:, 6] = 0.0, 0.0, 1.0  # cross, between columns, no mutation
    children = np.empty((200, space.bits), np.uint8)
    breed(people, np.arange(2), draws, 1.8, 0.8, 0.6, space.moves, children)
    parts = np.add.reduceat(children, space.at[:-1], axis=1)
    assert set(np.unique(parts / np.diff(space.at)).tolist()) == {0.0, 1.0}
    assert len(np.unique(parts, axis=0)) > 4


@pytest.mark.parametrize("search", [Genetic, Annealing])
def test_parameters_are_checked(search: Any) -> None:
    for wrong in (
        {"seconds": 0}, {"seconds": -1.0}, {"evaluations": 0}, {"patience": 0}, {"gaps": 0}, {"gaps": 10**6},
        {"seed": -1}, {"seed": 1.5}, {"seed": True},
    ):  # fmt: skip
        with pytest.raises(PolicyError, match=next(iter(wrong))):
            search(**wrong)
    assert replace(search(), seconds=None).seconds is None
