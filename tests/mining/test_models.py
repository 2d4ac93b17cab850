"""Trees and naive Bayes: every rule, and every sum and difference of rules, counted person by person."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import chain, combinations, combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import sfumato as sf
from sfumato.cli import main
from sfumato.errors import ColumnError, Infeasible, PolicyError
from sfumato.mining.labelled import labelled_rows
from sfumato.mining.values import MiningProblem
from tests.fuzz import FUZZ
from tests.mining.test_mine import rewritten


def patients(rows: int = 300, seed: int = 0) -> pl.DataFrame:
    """People whose disease goes with their age and job; some ages and jobs are missing."""
    rng = np.random.default_rng(seed)
    age, job = (
        rng.integers(18, 80, rows),
        rng.choice(["nurse", "baker", "priest", "clerk"], rows, p=[0.4, 0.3, 0.02, 0.28]),
    )
    chance = 1 / (1 + np.exp(-(age - 45) / 8 + (job == "baker")))
    ill = np.where(rng.random(rows) < chance, "flu", np.where(rng.random(rows) < 0.3, "ulcer", "cold"))
    table = pl.DataFrame({"age": age, "job": job, "ill": ill})
    gone = pl.Series(rng.random(rows) < 0.05)
    return table.with_columns(
        age=pl.when(gone).then(None).otherwise("age"), job=pl.when(gone).then(None).otherwise("job")
    )


def meets(person: dict[str, Any], condition: str) -> bool:
    """Whether somebody meets a condition, as a reader understands it; a missing number counts as larger."""
    name, sign, value = condition.split(" ", 2)
    own = person[name]
    if sign in ("=", "!="):
        return (("(missing)" if own is None else str(own)) == value) is (sign == "=")
    return (own is not None and own <= float(value)) is (sign == "<=")


def covered(release: Any, people: list[dict[str, Any]]) -> list[tuple[str, list[dict[str, Any]]]]:
    """The class that each rule names, and the people that it is about."""
    rules = release.tables["rules"]
    found = []
    for row in rules.iter_rows(named=True):
        conditions = [row[name] for name in rules.columns if name.startswith("if ") and row[name] is not None]
        found.append((row["then"], [one for one in people if all(meets(one, c) for c in conditions)]))
    return found


@pytest.mark.parametrize("counts", [True, False])
@pytest.mark.parametrize("k", [1, 5, 40])
def test_every_rule_is_about_k_people(counts: bool, k: int) -> None:
    for seed in range(2 * FUZZ):
        table = patients(1000, seed)
        people = table.to_dicts()
        release = sf.mine(table, target="ill", k=k, l=2, counts=counts)
        rules = covered(release, people)
        assert sum(len(group) for _, group in rules) == len(people)  # everybody has one rule
        for then, group in rules:
            own = [one["ill"] for one in group]
            assert len(group) >= k
            assert len({*own}) >= 2
            assert own.count(then) == max(map(own.count, own))
        if not counts:
            assert {*release.tables} == {"rules"}
            assert release.verification.promises[0].how == "by construction"
            continue
        told: dict[int, dict[str, int]] = {}
        for leaf, ill, n in release.tables["counts"].iter_rows():
            told.setdefault(leaf, {})[ill] = n
        for leaf, (_, group) in zip(release.tables["rules"]["leaf"], rules, strict=True):
            own = [one["ill"] for one in group]
            assert told[leaf] == {ill: own.count(ill) for ill in own}
        # nodes above leaves, siblings, and what is left of all people: sums of published numbers, and their differences
        for ill in ("flu", "cold", "ulcer"):
            every = [each.get(ill, 0) for each in told.values()]
            for size in range(1, min(3, len(every)) + 1):
                sums = [sum(some) for some in combinations(every, size)]
                assert all(n == 0 or n >= k for m in sums for n in (m, sum(every) - m))


def test_a_tree_predicts_better_than_guessing_and_worse_the_larger_k_is() -> None:
    table = patients(2000)
    right = [sf.mine(table, target="ill", k=k).solution.accuracy for k in (5, 50, 150)]
    assert right[0] >= right[1] >= right[2]
    found = sf.mine(table, target="ill", k=5).solution
    assert found.accuracy > found.majority + 0.05


@pytest.mark.parametrize("miner", ["k-anonymous-tree", "pooled-naive-bayes"])
def test_both_ways(miner: str) -> None:
    """Of a third of the people, who taught neither model."""
    table = patients(1500)
    found = sf.mine(table, target="ill", miner=miner, k=20, compare=True)
    first, other = (one["accuracy"] for one in found.compared.values())
    majority = found.solution.majority
    assert first > majority
    assert other > majority - 0.1
    assert first != other


def test_a_value_that_taught_nothing_tells_nothing() -> None:
    """Cooks have flu and priests colds, and a few more have colds; of two who are held out one is the only smith."""
    taught = [("cook", "flu")] * 15 + [("cook", "cold")] * 5 + [("priest", "flu")] * 5 + [("priest", "cold")] * 16
    miner = sf.PooledNaiveBayes("ill")
    for last, right in ((("smith", "flu"), 0.5), (("smith", "cold"), 1.0)):
        table = pl.DataFrame([*taught, ("cook", "flu"), last], schema=["job", "ill"], orient="row")
        rows = labelled_rows(MiningProblem(5, 1, table=table), "ill")
        assert miner.held_out_accuracy(rows, 5, 1, np.array([41, 42])) == right


def test_numbers_of_conditions_are_round() -> None:
    """Values are in tens and fives: between 30 and 45, 40 parts them, which nobody has."""
    table = pl.DataFrame({"age": [30] * 20 + [45] * 20, "ill": ["flu"] * 20 + ["cold"] * 20})
    rules = sf.mine(table, target="ill", k=5).tables["rules"]
    assert rules["if 1"].to_list() == ["age <= 40", "age > 40"]


@pytest.mark.parametrize("k", [1, 5, 25])
def test_every_pooled_count_is_of_k_people(k: int, tmp_path: Path) -> None:
    table = patients(1000, seed=k)
    release = sf.mine(table, target="ill", miner="pooled-naive-bayes", k=k)
    classes = dict(release.tables["classes"].iter_rows())
    people = table.to_dicts()
    assert classes == {ill: sum(one["ill"] == ill for one in people) for ill in classes}
    counts = release.tables["counts"]
    assert counts["people"].min() >= k
    for (column, ill), group in counts.group_by("column", "then"):
        each = dict(group.select("value", "people").iter_rows())
        assert sum(each.values()) == classes[ill]
        own = [one[column] for one in people if one["ill"] == ill]
        if column == "job":
            assert all(n == own.count(value) for value, n in each.items() if value[0] != "(")
        for size in range(1, 4):
            some = [sum(one) for one in combinations(each.values(), size)]
            assert all(classes[ill] - n == 0 or classes[ill] - n >= k for n in some)
    assert "priest" not in counts["value"].to_list() or k < 25
    assert sf.verify(release.save(tmp_path / "out")).outcome == "holds"


FAULTS: dict[str, tuple[str, Callable[[pl.DataFrame], pl.DataFrame], str]] = {
    "a number below k": ("counts", lambda t: t.with_columns(people=pl.lit(4)), "below 5"),
    "a leaf without counts": ("counts", lambda t: t.filter(pl.col("leaf") > 1), "not those of the rules"),
    "a rule less": ("rules", lambda t: t.filter(pl.col("leaf") > 1), "not those of a tree"),
    "another class": ("rules", lambda t: t.with_columns(then=pl.lit("ulcer")), "another class"),
    "one class in a leaf": (
        "counts", lambda t: t.filter(pl.col("people") == pl.col("people").max().over("leaf")), "fewer than 2 classes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_of_a_tree_is_found(fault: str, tmp_path: Path) -> None:
    name, change, note = FAULTS[fault]
    folder = sf.mine(patients(), target="ill", k=5, l=2).save(tmp_path / "out")
    assert rewritten(folder, name, lambda table: table).outcome == "holds"
    found = rewritten(folder, name, change)
    assert found.outcome == "broken"
    assert note in str(found.promises[1].note)


@pytest.mark.parametrize(
    ("name", "change", "note"),
    [
        ("counts", lambda t: t.with_columns(people=pl.col("people") + (pl.col("value") == "baker")), "add up"),
        ("classes", lambda t: t.with_columns(people=pl.col("people") + 1), "add up"),
        ("counts", lambda t: pl.concat([t, t.head(1)]), "counted twice"),
    ],
)
def test_a_planted_fault_of_counts_is_found(name: str, change: Any, note: str, tmp_path: Path) -> None:
    folder = sf.mine(patients(), target="ill", k=5, miner="pooled-naive-bayes").save(tmp_path / "out")
    found = rewritten(folder, name, change)
    assert found.outcome == "broken"
    assert note in str(found.promises[1].note)


@pytest.mark.parametrize(
    ("asked", "error", "what"),
    [
        ({"target": "disease"}, ColumnError, "disease"),
        ({"target": "ill", "k": 400}, Infeasible, "have fewer than 400 people"),
        ({"target": "ill", "l": 4}, Infeasible, "fewer than l = 4"),
        ({"target": "job"}, ColumnError, "missing in some rows"),
        ({"target": "ill", "features": ["ill"]}, ColumnError, "no column to predict"),
        ({"target": "ill", "depth": 0}, PolicyError, "depth is out of range"),
        ({"target": "ill", "support": 5}, PolicyError, "support"),
        ({"target": "ill", "miner": "pooled-naive-bayes", "l": 2}, PolicyError, "leaves of a tree"),
        ({"miner": "k-anonymous-tree"}, PolicyError, "target"),
        ({"target": "ill", "miner": sf.KAnonymousTree("ill")}, PolicyError, "has its parameters"),
    ],
)
def test_bad_input_is_refused(asked: dict[str, Any], error: type[Exception], what: str) -> None:
    with pytest.raises(error, match=what) as found:
        sf.mine(patients(), **({"k": 5} | asked))
    assert "priest" not in str(found.value)


@pytest.mark.slow
def test_in_the_shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    patients().write_csv(tmp_path / "p.csv")
    out = str(tmp_path / "out")
    asked = ["mine", str(tmp_path / "p.csv"), "--target", "ill", "--k", "5", "--l", "2", "-o", out]
    assert main([*asked, "--compare"]) == 0
    assert "right about people held out" in capsys.readouterr().out
    assert main(["verify", out]) == 0
    capsys.readouterr()
    assert main([*asked, "--no-counts", "--depth", "2", "--overwrite", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["tables"].keys() == {"rules"}
    again = [
        "mine",
        str(tmp_path / "p.csv"),
        "--target",
        "ill",
        "--k",
        "5",
        "--miner",
        "pooled-naive-bayes",
        "--bins",
        "4",
    ]
    assert main([*again, "-o", out, "--overwrite"]) == 0
    assert main(["verify", out]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("miner", [sf.KAnonymousTree("ill"), sf.KAnonymousTree("ill", counts=False),
                                   sf.PooledNaiveBayes("ill")])  # fmt: skip
def test_all_worlds_of_a_model_keep_k(miner: Any) -> None:
    """Every table of six people with two columns and a class: of all that give the same model none has a rule, or a
    count, of fewer than k of them."""
    kinds = [{"sex": sex, "town": town, "ill": ill} for sex in "FM" for town in "xy" for ill in ("cold", "flu")]
    worlds: dict[str, list[tuple[dict[str, str], ...]]] = {}
    for world in combinations_with_replacement(kinds, 6):
        try:
            made = miner(MiningProblem(2, table=pl.DataFrame(world)))
        except Infeasible:
            continue
        worlds.setdefault(json.dumps({name: frame.rows() for name, frame in made.frames.items()}), []).append(world)
    assert max(map(len, worlds.values())) > 1
    for shown, fitting in worlds.items():
        told = json.loads(shown)
        for world in fitting:
            for row in told.get("rules", ()):
                own = [one for one in world if all(meets(one, condition) for condition in row[1:-1] if condition)]
                assert len(own) >= 2
            if "classes" not in told:
                continue
            for column in {row[0] for row in told["counts"]}:
                named = [row[1] for row in told["counts"] if row[0] == column]
                for ill in ("cold", "flu"):
                    for some in chain.from_iterable(combinations({*named} - {"(other)"}, n) for n in (1, 2)):
                        people = sum(one["ill"] == ill and one[column] in some for one in world)
                        assert people == 0 or people >= 2
